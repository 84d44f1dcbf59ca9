// Keys: everything that the mouse does.

import { h } from "studio/dom.js";

/** @typedef {import("studio/main.js").Studio} Studio */

const KEYS = [
  ["1 … 5", "the views"], ["+ − 0", "closer, farther, the whole map"], ["arrows", "move the map (when it has the focus)"],
  ["shift + arrows, [ ]", "move and turn the robot"], ["space , .", "play, a step back, a step on"],
  ["V", "in space or from above"], ["G", "grid"], ["T", "light or dark"], ["O", "open files"], ["S", "share"], ["?", "these keys"],
];

/** @param {string} id @returns {HTMLElement} */
const $ = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {Studio} studio */
export function listenToKeys(studio) {
  const { stage } = studio;
  const dialog = /** @type {HTMLDialogElement} */ ($("keys"));
  const rows = KEYS.map(([key, words]) => h("tr", {}, h("th", {}, key), h("td", {}, words)));
  dialog.append(h("h2", {}, "Keys"), h("table", {}, ...rows), h("form", { method: "dialog" }, h("button", {}, "Close")));
  $("help").onclick = () => dialog.showModal();
  /** @type {Record<string, () => unknown>} */
  const acts = {
    "+": () => stage.zoom(1.4),
    "=": () => stage.zoom(1.4),
    "-": () => stage.zoom(1 / 1.4),
    0: () => $("whole").click(),
    t: () => $("theme").click(),
    o: () => $("open").click(),
    s: () => $("share").click(),
    "?": () => $("help").click(),
    v: () => studio.site?.dimension === 3 && studio.lift(!studio.solid),
    g: () => {
      stage.grid = !stage.grid;
      stage.draw();
    },
  };
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input, select, textarea, dialog[open] *");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && target.matches("button, summary")) return;
    const tab = studio.tabs[Number(event.key) - 1];
    const act = acts[event.key.toLowerCase()];
    if (!studio.tab.key?.(event)) {
      if (tab) studio.go(tab);
      else if (act) act();
      else return;
    }
    event.preventDefault();
  });
}
