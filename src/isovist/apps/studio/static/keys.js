// Keyboard shortcuts for everything that the mouse does.

import { h } from "studio/dom.js";

/** @typedef {import("studio/main.js").Studio} Studio */

const KEYS = [
  ["1 … 5", "tabs"], ["+ − 0", "zoom in, zoom out, fit the map"], ["arrows", "move the map (when it has focus)"],
  ["shift + arrows, [ ]", "move and turn the robot"], ["space , .", "play or pause, step back, step forward"],
  ["V", "3D or 2D view"], ["G", "grid"], ["T", "light or dark theme"], ["O", "open files"], ["S", "share"], ["?", "show these keys"],
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
    v: () => studio.site?.dimension === 3 && studio.show3d(!studio.is3d),
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
