// The studio: the current map and tab, uploads, and the state in the URL.

import { get, send } from "studio/server.js";
import { h } from "studio/dom.js";
import { offerTopics, listenForDrops } from "studio/drop.js";
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
 * @property {(place: [number, number]) => void} [moveRobot]  Move the robot to a point.
 */

const SAVE_DELAY_MS = 300; // ms

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
    this.hasVendor = false;
    this.is3d = false;
    this.state = this.defaultState();
    /** @type {Tab[]} */
    this.tabs = [new Locate(this), new Follow(this), new SurveyTab(this), new Explore(this), new Theory(this)];
    this.tab = this.tabs[0];
  }

  defaultState() {
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
        this.showError(error);
        this.state = { ...this.defaultState(), tab: this.state.tab };
        await this.open(things.first, false);
      });
    } catch (error) {
      this.showError(error);
    }
    const view = this.state.view;
    this.go(this.tabs.find((tab) => tab.name.toLowerCase() === this.state.tab) ?? this.tabs[0]);
    if (view) Object.assign(this.stage.view, view);
    this.stage.changed = () => this.save();
    this.refresh();
    document.body.dataset.ready = "yes";
  }

  /** Update the lists of maps and logs. */
  async list() {
    const things = await get("/things");
    this.hasVendor = things.parts;
    this.sites = things.sites;
    this.logs = things.logs;
    const field = /** @type {HTMLSelectElement} */ ($("site"));
    field.replaceChildren(...this.sites.map(({ key, name }) => h("option", { value: key }, name)));
    if (this.site) field.value = this.site.key;
    return things;
  }

  /**
   * Show a map. If several are requested, the last one is shown.
   * @param {string} key @param {boolean} enter Whether the tab starts again.
   */
  async open(key, enter = true) {
    this.opening = key;
    this.progress(0.3, "Preparing the map");
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
    await this.show3d(this.site.dimension === 3 && this.hasVendor);
    if (enter) this.go(this.tab);
  }

  restorePlan() {
    this.stage.setPlan(this.site, this.site.bounds);
  }

  /** @param {boolean} on Whether to show the map in 3D. */
  async show3d(on) {
    if (on && !this.hasVendor) return this.toast("This installation has no 3D view. Run `make studio` to add it.");
    this.is3d = on;
    $("space").hidden = !on;
    $("plan").hidden = on;
    $("solid").textContent = on ? "2D" : "3D";
    if (on) await this.space.open(this.site);
    this.refresh();
  }

  /** @param {Tab} tab */
  go(tab) {
    if (this.site?.dimension === 3 && tab.name === "Explore") {
      this.toast(`${tab.name} needs a 2D map; this map is 3D.`);
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
      if (tab.name === "Theory") this.show3d(false);
      tab.enter();
    }
    this.save();
  }

  /** Draw the marks of the tab. */
  refresh() {
    if (!this.site) return;
    const marks = this.tab.marks();
    this.stage.setMarks(marks);
    if (this.is3d) this.space.setMarks(marks);
  }

  /** @param {[number, number]} place Centre the view on a point. */
  show(place) {
    Object.assign(this.stage.view, { x: place[0], y: place[1] });
    this.stage.draw();
  }

  /** @param {unknown} error */
  showError(error) {
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

  /** @param {string} words Text for screen readers. */
  announce(words) {
    $("said").textContent = words;
  }

  /** @param {string} theme */
  theme(theme) {
    document.documentElement.dataset.theme = theme;
    this.stage.setTheme(theme);
    this.space.recolour();
    if (this.site) this.refresh();
  }

  /** Store the state in the URL, so that a reload or a link restores it. */
  save() {
    clearTimeout(this.saving);
    const { x, y, scale } = this.stage.view;
    this.state.view = { x, y, scale };
    this.saving = setTimeout(() => history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(this.state))}`), SAVE_DELAY_MS);
  }

  /** Restore the state from the URL: all of it, or e.g. `tab=follow`. */
  restore() {
    try {
      const text = decodeURIComponent(location.hash.slice(1));
      const saved = text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
      this.state = { ...this.state, ...saved };
    } catch {
      this.toast("The link is damaged. The studio starts with its defaults.");
    }
  }

  /** @param {{file: File, path: string}[]} files @param {string} [topic] Topic of the scans, for a bag with several. */
  async readFiles(files, topic = "") {
    if (!files.length) return;
    try {
      this.progress(0.02, "Reading");
      const cloud = files.length === 1 && /\.(ply|pcd|bin)$/i.test(files[0].path);
      const as = cloud && this.site?.dimension === 3 ? "scan" : "";
      const upload = await send(files, { as, topic }, (share) => this.progress(share, "Preparing the map"));
      this.toast("");
      await this.list();
      if (upload.kind === "map") {
        await this.open(upload.key);
      } else if (upload.kind === "library") {
        await this.open(upload.sites[0]);
        this.toast(`${upload.name} are searched together. Drop a scan taken on one of them.`, false);
      } else if (upload.kind === "scan") {
        Object.assign(this.state, { scan: upload.key, scanName: upload.name });
        this.go(this.tabs[0]);
      } else {
        this.state.log = upload.key;
        this.go(this.tabs[1]);
      }
    } catch (error) {
      this.showError(error);
      offerTopics(error, (chosenTopic) => this.readFiles(files, chosenTopic));
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
    $("whole").onclick = () => (this.is3d ? this.space.fit() : stage.fit());
    $("solid").onclick = () => this.show3d(!this.is3d);
    $("theme").onclick = () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("theme", next);
      this.theme(next);
    };
    const files = /** @type {HTMLInputElement} */ ($("files"));
    $("open").onclick = () => files.click();
    files.onchange = () => {
      this.readFiles([...(files.files ?? [])].map((file) => ({ file, path: file.name })));
      files.value = "";
    };
    /** @type {HTMLSelectElement} */ ($("site")).onchange = (event) =>
      this.open(/** @type {HTMLSelectElement} */ (event.target).value).catch((error) => this.showError(error));
    shareMenu(this, $("menu"), $("share"));
    listenForDrops($("drop"), (files) => this.readFiles(files), (error) => this.showError(error));
    listenToKeys(this);
  }
}

const studio = new Studio();
Object.assign(window, { studio }); // for the console and for tests
studio.begin();
