// Files and folders that the user drops on the page.

import { button } from "studio/dom.js";
import { RefusedError } from "studio/server.js";

/** @typedef {{file: File, path: string}} DroppedFile */

/**
 * Return the files of an entry, with the name of their folder.
 * @param {FileSystemEntry} entry @param {string} [folder]
 * @returns {Promise<DroppedFile[]>}
 */
async function filesIn(entry, folder = "") {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => /** @type {FileSystemFileEntry} */ (entry).file(done, fail));
    return [{ file: /** @type {File} */ (file), path: folder + entry.name }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {DroppedFile[]} */
  const files = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const batch = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!batch.length) return files;
    for (const child of batch) files.push(...(await filesIn(child, `${folder}${entry.name}/`)));
  }
}

/**
 * Listen for drops; a curtain covers the page meanwhile.
 * @param {HTMLElement} curtain @param {(files: DroppedFile[]) => void} onFiles
 * @param {(error: unknown) => void} fail Called when a folder cannot be read.
 */
export function listenForDrops(curtain, onFiles, fail) {
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
    const files = [...(event.dataTransfer?.files ?? [])];
    const entries = items.map((item) => item.webkitGetAsEntry());
    if (entries.length && entries.every((entry) => entry)) {
      try {
        const nested = await Promise.all(entries.map((entry) => filesIn(/** @type {FileSystemEntry} */ (entry))));
        onFiles(nested.flat());
      } catch (error) {
        fail(error);
      }
    } else {
      onFiles(files.map((file) => ({ file, path: file.name })));
    }
  });
}

/**
 * Offer the topics of a bag as buttons in the error message.
 * @param {unknown} error @param {(topic: string) => void} onChoice
 */
export function offerTopics(error, onChoice) {
  if (!(error instanceof RefusedError) || error.code !== "several_topics") return;
  const buttons = error.topics.map((topic) => button(topic, () => onChoice(topic)));
  document.getElementById("toast")?.append(document.createElement("br"), ...buttons);
}
