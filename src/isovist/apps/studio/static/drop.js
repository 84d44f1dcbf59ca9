// Files and folders that are dropped on the page.

import { button } from "studio/dom.js";
import { RefusedError } from "studio/server.js";

/** @typedef {{file: File, path: string}} Found */

/**
 * The files below an entry, with the name of the folder they lie in.
 * @param {FileSystemEntry} entry @param {string} [folder]
 * @returns {Promise<Found[]>}
 */
async function below(entry, folder = "") {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => /** @type {FileSystemFileEntry} */ (entry).file(done, fail));
    return [{ file: /** @type {File} */ (file), path: folder + entry.name }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {Found[]} */
  const found = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const inner of some) found.push(...(await below(inner, `${folder}${entry.name}/`)));
  }
}

/**
 * Listen for drops; a curtain shows that they are welcome.
 * @param {HTMLElement} curtain @param {(found: Found[]) => void} take
 * @param {(error: unknown) => void} fail Called when a folder cannot be read.
 */
export function dropped(curtain, take, fail) {
  addEventListener("dragover", (event) => {
    event.preventDefault();
    curtain.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) curtain.hidden = true;
  });
  addEventListener("drop", async (event) => {
    event.preventDefault();
    curtain.hidden = true;
    const items = [...(event.dataTransfer?.items ?? [])].filter((item) => item.kind === "file");
    const plain = [...(event.dataTransfer?.files ?? [])];
    const entries = items.map((item) => item.webkitGetAsEntry());
    if (entries.length && entries.every((entry) => entry)) {
      try {
        const found = await Promise.all(entries.map((entry) => below(/** @type {FileSystemEntry} */ (entry))));
        take(found.flat());
      } catch (error) {
        fail(error);
      }
    } else {
      take(plain.map((file) => ({ file, path: file.name })));
    }
  });
}

/**
 * Where a bag has several topics, let one be chosen in the message that says so.
 * @param {unknown} error @param {(topic: string) => void} chosen
 */
export function askTopic(error, chosen) {
  if (!(error instanceof RefusedError) || error.code !== "several_topics") return;
  const buttons = error.topics.map((topic) => button(topic, () => chosen(topic)));
  document.getElementById("toast")?.append(document.createElement("br"), ...buttons);
}
