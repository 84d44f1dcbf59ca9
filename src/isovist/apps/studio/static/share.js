// Share: a link that restores the view, a picture, or one file that opens without the studio.

import { fetchFile } from "studio/server.js";
import { h } from "studio/dom.js";

/** @typedef {import("studio/main.js").Studio} Studio */

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {Blob} blob @returns {Promise<string>} */
const dataUrl = (blob) =>
  new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.readAsDataURL(blob);
  });

/** @param {Studio} studio The present view as one page of HTML. */
export async function asPage(studio) {
  const { stage, site, tab, space } = studio;
  const panel = /** @type {HTMLElement} */ (studio.panel.cloneNode(true));
  for (const link of panel.querySelectorAll("button.link")) link.replaceWith(link.textContent ?? "");
  for (const live of panel.querySelectorAll("[data-live], canvas, .plots")) live.remove();
  const image = stage.plan ? await dataUrl(await (await fetch(`/sites/${site.key}/plan.png`)).blob()) : null;
  const { rows, columns, resolution, origin } = site;
  return fetchFile("/share", {
    title: `${tab.name}: ${site.name}`,
    site: { rows, columns, resolution, origin, bounds: stage.bounds },
    image: studio.is3d ? null : image,
    picture: studio.is3d ? space.picture() : null,
    marks: stage.marks,
    panel: panel.innerHTML,
    view: { x: stage.view.x, y: stage.view.y, scale: stage.view.scale },
  });
}

/** @param {Studio} studio @returns {Promise<Blob>} */
export async function asPng(studio) {
  if (studio.is3d) return (await fetch(studio.space.picture())).blob();
  studio.stage.paint();
  return new Promise((done) => studio.stage.canvas.toBlob((blob) => done(/** @type {Blob} */ (blob)), "image/png"));
}

/** @param {Studio} studio @param {HTMLElement} menu @param {HTMLElement} opener */
export function shareMenu(studio, menu, opener) {
  const name = () => `isovist-${studio.tab.name.toLowerCase()}`;
  /** @type {[string, () => Promise<void>][]} */
  const items = [
    ["Copy a link to this view", async () => {
      studio.save();
      await navigator.clipboard.writeText(location.href);
      studio.toast("The link is copied. It works while the studio runs.", false);
    }],
    ["Picture (PNG)", async () => save(await asPng(studio), `${name()}.png`)],
    ["Drawing (SVG)", async () => {
      if (studio.is3d) throw new Error("A 3D view can be shared as PNG or as a page.");
      save(new Blob([studio.stage.svg()], { type: "image/svg+xml" }), `${name()}.svg`);
    }],
    ["Page that opens offline (HTML)", async () => save(await asPage(studio), `${name()}.html`)],
  ];
  /** @param {boolean} open */
  const show = (open) => {
    menu.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (open) menu.querySelector("button")?.focus();
  };
  menu.replaceChildren(
    ...items.map(([words, act]) =>
      h("button", { role: "menuitem", onclick: () => {
        show(false);
        act().catch((error) => studio.showError(error));
      } }, words)),
  );
  menu.addEventListener("keydown", (event) => {
    const all = [...menu.querySelectorAll("button")];
    const at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "Escape") {
      show(false);
      opener.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      all[(at + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length].focus();
      event.preventDefault();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    const target = /** @type {Node} */ (event.target);
    if (!menu.contains(target) && !opener.contains(target)) show(false);
  });
  opener.addEventListener("click", () => show(menu.hidden));
}
