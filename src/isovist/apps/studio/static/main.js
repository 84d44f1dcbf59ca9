// The studio: which map and which view are shown, what is dropped, and the state in the address.

import { get, send } from "studio/server.js";
import { h } from "studio/dom.js";
import { askTopic, dropped } from "studio/drop.js";
import { Explore } from "studio/explore.js";
import { Follow } from "studio/follow.js";
import { listenToKeys } from "studio/keys.js";
import { Locate } from "studio/locate.js";
import { readCodes } from "studio/plan.js";
import { shareMenu } from "studio/share.js";
import { Space } from "studio/space.js";
import { Stage } from "studio/stage.js";
import { SurveyTab } from "studio/survey.js";
import { Theory } from "studio/theory.js";

/**
 * A view of the studio.
 * @typedef {object} Tab
 * @property {string} name
 * @property {() => void} enter
 * @property {() => void} leave
 * @property {() => import("studio/marks.js").Mark[]} marks
 * @property {(world: [number, number], event: PointerEvent) => import("studio/stage.js").Drag | null} grab
 * @property {(event: KeyboardEvent) => boolean} [key]
 * @property {(place: [number, number]) => void} [put]  Put the robot somewhere.
 */

const PAUSE = 300; // ms

/** @param {string} id @returns {HTMLElement} */
const $ = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

export class Studio {
  constructor() {
    this.stage = new Stage($("plan"));
    this.space = new Space(this, $("space"));
    this.panel = $("panel");
    this.timeline = $("timeline");
    /** @type {any} */
    this.site = null;
    /** @type {{key: string, name: string, library: string}[]} */
    this.sites = [];
    /** @type {{key: string, name: string}[]} */
    this.logs = [];
    this.parts = false;
    this.solid = false;
    this.state = this.usual();
    /** @type {Tab[]} */
    this.tabs = [new Locate(this), new Follow(this), new SurveyTab(this), new Explore(this), new Theory(this)];
    this.tab = this.tabs[0];
  }

  usual() {
    return {
      tab: "locate", site: "", log: "drive", scan: "", scanName: "", seed: 0,
      /** @type {any} */
      robot: null,
      /** @type {{x: number, y: number, scale: number} | null} */
      view: null,
      lidar: { field_of_view: 270, beams: 541, range_max: 15, noise: 0.03, clutter: 0, rings: 16 },
      mount: { x: 0, y: 0, yaw: 0 },
      theory: { x: 1.3, y: 1.7, other_x: 4, other_y: 3.2, channels: 8, temperature: 0.5, profile: "softmax" },
    };
  }

  async begin() {
    this.theme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.listen();
    this.restore();
    try {
      const things = await this.list();
      if (things.logs.some((/** @type {any} */ log) => log.key === "log") && !location.hash.includes("log=")) this.state.log = "log";
      await this.open(this.state.site || things.first, false).catch(async (error) => {
        this.fail(error);
        this.state = { ...this.usual(), tab: this.state.tab };
        await this.open(things.first, false);
      });
    } catch (error) {
      this.fail(error);
    }
    const view = this.state.view;
    this.go(this.tabs.find((tab) => tab.name.toLowerCase() === this.state.tab) ?? this.tabs[0]);
    if (view) Object.assign(this.stage.view, view);
    this.stage.changed = () => this.save();
    this.refresh();
    document.body.dataset.ready = "yes";
  }

  /** What the server keeps. */
  async list() {
    const things = await get("/things");
    this.parts = things.parts;
    this.sites = things.sites;
    this.logs = things.logs;
    const field = /** @type {HTMLSelectElement} */ ($("site"));
    field.replaceChildren(...this.sites.map(({ key, name }) => h("option", { value: key }, name)));
    if (this.site) field.value = this.site.key;
    return things;
  }

  /**
   * Show a map.  Of several that are asked for, the one that was chosen last is shown.
   * @param {string} key @param {boolean} enter Whether the view begins anew.
   */
  async open(key, enter = true) {
    this.opening = key;
    this.progress(0.3, "Describing the map");
    try {
      const site = await get(`/sites/${key}`);
      const codes = await readCodes(`/sites/${key}/plan.png`, site.rows, site.columns);
      if (this.opening !== key) return;
      const changed = this.state.site !== key;
      this.site = { ...site, codes };
      this.state.site = key;
      if (changed || !this.state.robot) this.state.robot = site.start;
      if (changed) this.state.scan = "";
      if (site.dimension === 3 && changed) this.state.lidar.beams = 450;
    } finally {
      this.progress(1);
    }
    /** @type {HTMLSelectElement} */ ($("site")).value = key;
    $("solid").hidden = this.site.dimension !== 3;
    if (this.tab.name !== "Theory") this.restorePlan();
    await this.lift(this.site.dimension === 3 && this.parts);
    if (enter) this.go(this.tab);
  }

  restorePlan() {
    this.stage.setPlan(this.site, this.site.bounds);
  }

  /** @param {boolean} on Whether the map is seen in space. */
  async lift(on) {
    if (on && !this.parts) return this.toast("This installation has no view in space; `make studio` brings it.");
    this.solid = on;
    $("space").hidden = !on;
    $("plan").hidden = on;
    $("solid").textContent = on ? "2D" : "3D";
    if (on) await this.space.open(this.site);
    this.refresh();
  }

  /** @param {Tab} tab */
  go(tab) {
    if (this.site?.dimension === 3 && tab.name === "Explore") {
      this.toast(`${tab.name} is for maps of the plane; this one is in space.`);
      tab = this.tabs[0];
    }
    this.tab.leave();
    this.tab = tab;
    this.state.tab = tab.name.toLowerCase();
    for (const button of document.querySelectorAll("[role=tab]")) {
      const on = button.textContent === tab.name;
      button.setAttribute("aria-selected", String(on));
      /** @type {HTMLElement} */ (button).tabIndex = on ? 0 : -1;
    }
    this.panel.setAttribute("aria-label", tab.name);
    this.panel.scrollTop = 0;
    this.stage.setMarks([]);
    if (this.site) {
      if (tab.name === "Theory") this.lift(false);
      tab.enter();
    }
    this.save();
  }

  /** Draw what the view says. */
  refresh() {
    if (!this.site) return;
    const marks = this.tab.marks();
    this.stage.setMarks(marks);
    if (this.solid) this.space.setMarks(marks);
  }

  /** @param {[number, number]} place Bring a place to the middle. */
  show(place) {
    Object.assign(this.stage.view, { x: place[0], y: place[1] });
    this.stage.draw();
  }

  /** @param {unknown} error */
  fail(error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    this.toast(error instanceof Error ? error.message : String(error));
  }

  /** @param {string} words @param {boolean} [bad] */
  toast(words, bad = true) {
    $("toast").hidden = !words;
    $("toast").textContent = words;
    $("toast").className = bad ? "bad" : "";
    clearTimeout(this.hiding);
    if (words) this.hiding = setTimeout(() => this.toast(""), 9000);
  }

  /** @param {number} share @param {string} [words] */
  progress(share, words = "") {
    const box = $("progress");
    box.hidden = share >= 1;
    box.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    /** @type {HTMLElement} */ (box.firstElementChild).style.width = `${100 * share}%`;
    /** @type {HTMLElement} */ (box.lastElementChild).textContent = words;
  }

  /** @param {string} words For those who hear the page. */
  say(words) {
    $("said").textContent = words;
  }

  /** @param {string} theme */
  theme(theme) {
    document.documentElement.dataset.theme = theme;
    this.stage.setTheme(theme);
    this.space.recolour();
    if (this.site) this.refresh();
  }

  /** Put the state into the address, so that a reload or a link restores it. */
  save() {
    clearTimeout(this.saving);
    const { x, y, scale } = this.stage.view;
    this.state.view = { x, y, scale };
    this.saving = setTimeout(() => history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(this.state))}`), PAUSE);
  }

  /** Take the state from the address: all of it, or e.g. `tab=follow`. */
  restore() {
    try {
      const text = decodeURIComponent(location.hash.slice(1));
      const told = text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
      this.state = { ...this.state, ...told };
    } catch {
      this.toast("The link is damaged; the studio begins anew.");
    }
  }

  /** @param {{file: File, path: string}[]} files @param {string} [topic] Of a bag with several. */
  async take(files, topic = "") {
    if (!files.length) return;
    try {
      this.progress(0.02, "Reading");
      const cloud = files.length === 1 && /\.(ply|pcd|bin)$/i.test(files[0].path);
      const as = cloud && this.site?.dimension === 3 ? "scan" : "";
      const told = await send(files, { as, topic }, (share) => this.progress(share, "Describing the map"));
      this.toast("");
      await this.list();
      if (told.kind === "map") {
        await this.open(told.key);
      } else if (told.kind === "library") {
        await this.open(told.sites[0]);
        this.toast(`${told.name} that are asked together: drop a scan of one of them.`, false);
      } else if (told.kind === "scan") {
        Object.assign(this.state, { scan: told.key, scanName: told.name });
        this.go(this.tabs[0]);
      } else {
        this.state.log = told.key;
        this.go(this.tabs[1]);
      }
    } catch (error) {
      this.fail(error);
      askTopic(error, (chosen) => this.take(files, chosen));
    }
    this.progress(1);
  }

  listen() {
    const { stage } = this;
    document.querySelector(".tabs")?.append(
      ...this.tabs.map((tab, k) => h("button", { role: "tab", "aria-controls": "panel", title: `${tab.name} (${k + 1})`, onclick: () => this.go(tab) }, tab.name)),
    );
    document.querySelector(".tabs")?.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {KeyboardEvent} */ (event).key];
      if (!way) return;
      this.go(this.tabs[(this.tabs.indexOf(this.tab) + way + this.tabs.length) % this.tabs.length]);
      /** @type {HTMLElement | null} */ (document.querySelector("[role=tab][aria-selected=true]"))?.focus();
    });
    stage.grab = (world, event) => this.tab.grab(world, event);
    stage.hover = (world) => ($("readout").textContent = world ? `x ${world[0].toFixed(2)} m   y ${world[1].toFixed(2)} m` : "");
    $("closer").onclick = () => stage.zoom(1.4);
    $("farther").onclick = () => stage.zoom(1 / 1.4);
    $("whole").onclick = () => (this.solid ? this.space.fit() : stage.fit());
    $("solid").onclick = () => this.lift(!this.solid);
    $("theme").onclick = () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("theme", next);
      this.theme(next);
    };
    const files = /** @type {HTMLInputElement} */ ($("files"));
    $("open").onclick = () => files.click();
    files.onchange = () => {
      this.take([...(files.files ?? [])].map((file) => ({ file, path: file.name })));
      files.value = "";
    };
    /** @type {HTMLSelectElement} */ ($("site")).onchange = (event) =>
      this.open(/** @type {HTMLSelectElement} */ (event.target).value).catch((error) => this.fail(error));
    shareMenu(this, $("menu"), $("share"));
    dropped($("drop"), (found) => this.take(found), (error) => this.fail(error));
    listenToKeys(this);
  }
}

const studio = new Studio();
Object.assign(window, { studio }); // for whoever looks at it from the console, and for tests
studio.begin();
