// Requests to the server of the studio. Every failure is an Error with one sentence.

/** @typedef {(share: number) => void} Progress */

const NOT_RUNNING = "The studio does not answer. Check that it still runs in its terminal.";

/** A request that the server refused: a sentence for people, a code and a field for the page. */
export class RefusedError extends Error {
  /** @param {{ error: string, code?: string, field?: string | null, topics?: string[] }} refusal */
  constructor(refusal) {
    super(refusal.error);
    this.code = refusal.code ?? "failed";
    this.field = refusal.field ?? null;
    this.topics = refusal.topics ?? [];
  }
}

/**
 * @param {string} path @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Error(NOT_RUNNING);
  }
  if (answer.ok) return answer;
  const unknown = { error: `The studio answered ${answer.status}.` };
  throw new RefusedError(await answer.json().catch(() => unknown));
}

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await request(path)).json();

/** @param {string} path @returns {Promise<ArrayBuffer>} */
export const bytes = async (path) => (await request(path)).arrayBuffer();

/** @param {unknown} body @returns {RequestInit} */
const postOptions = (body) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export const ask = async (path, body) => (await request(path, postOptions(body))).json();

/** @param {string} path @param {unknown} body @returns {Promise<Blob>} */
export const fetchFile = async (path, body) => (await request(path, postOptions(body))).blob();

/**
 * Yield each line of a long answer.
 * @param {string} path @param {RequestInit} options
 */
async function* lines(path, options) {
  const answer = await request(path, options);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const parts = rest.split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const message = JSON.parse(part);
        if (message.error) throw new RefusedError(message);
        yield message;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const stream = (path, body, signal) => lines(path, { ...postOptions(body), signal });

/**
 * Return the result of long work, and report its progress meanwhile.
 * @param {string} path @param {RequestInit} options @param {Progress} progress
 * @returns {Promise<any>}
 */
async function resultOf(path, options, progress) {
  for await (const message of lines(path, options)) {
    if (message.done) return message.done;
    progress(message.progress);
  }
  throw new Error(NOT_RUNNING);
}

/** @param {string} path @param {unknown} body @param {Progress} progress @param {AbortSignal} [signal] */
export const work = (path, body, progress, signal) =>
  resultOf(path, { ...postOptions(body), signal }, progress);

/**
 * Upload files; return their kind, key and name.
 * @param {{file: File, path: string}[]} files @param {{as: string, topic: string}} how What they
 *   are and, of a bag, which of its topics is meant; "" where they say it themselves.
 * @param {Progress} progress
 * @returns {Promise<{kind: "map" | "library" | "scan" | "log", key: string, name: string, sites: string[]}>}
 */
export function send(files, how, progress) {
  const form = new FormData();
  for (const { file, path } of files) form.append("file", file, path);
  form.append("as", how.as);
  form.append("scan_topic", how.topic);
  return resultOf("/read", { method: "POST", body: form }, progress);
}
