// Locate: an uploaded scan, or a simulated scan of a virtual robot that the user moves.

import { ask } from "studio/server.js";
import { bar, button, degrees, disclosure, h, sensorFields, slider, checkbox, verdict } from "studio/dom.js";
import { libraryOf, isOnShownMap, showMapOf } from "studio/library.js";
import { toMap } from "studio/marks.js";
import { placeMarks, row } from "studio/places.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

/** @type {Record<string, string>} Colour of a beam by its letter. */
const FITS = { 1: "fits", 0: "astray" };
/** @type {Record<string, string>} */
const REFUTES = { "-": "astray", "+": "fits", 0: "plain" };

const REST_MS = 300; // after this time without a move, the full search runs

export class Locate {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Locate";
    /** @type {any} */
    this.result = null;
    this.busy = false;
    /** @type {{live: boolean, prove: boolean} | null} */
    this.next = null;
    this.selected = 0;
    this.home = h("div", { className: "answer" });
    this.layers = { beams: true, search: false, proof: true };
    this.answers = 0;
    this.isRefutedOpen = false;
    this.failed = false; // if true, the next answer hides the error message
    this.restTimer = 0;
  }

  get state() {
    return this.studio.state;
  }

  enter() {
    this.result = null;
    this.selected = 0;
    this.panel();
    this.ask(false);
  }

  leave() {
    clearTimeout(this.restTimer);
  }

  /** Locate the scan. While a request is running, only the latest waits. */
  async ask(live = false, prove = false) {
    if (this.busy) {
      this.next = { live, prove };
      return;
    }
    this.busy = true;
    const { site, state } = this.studio;
    const library = prove ? "" : libraryOf(this.studio); // a proof is of one map
    const request = { site: site.key, library, live, prove, search: this.layers.search };
    const robot = { robot: state.robot, lidar: state.lidar, mount: state.mount, seed: state.seed };
    try {
      if (prove) this.studio.progress(0.5, "Proving: searching the whole map");
      const result = await ask("/locate", { ...request, ...(state.scan ? { scan: state.scan } : robot) });
      if (site === this.studio.site) {
        this.result = result;
        if (result.truth?.z != null) state.robot.z ??= result.truth.z;
        this.answers += 1;
        if (this.failed) this.studio.toast("");
        this.failed = false;
        if (!live) this.studio.announce(`${result.answer.verdict}. ${result.answer.advice}`);
      }
    } catch (error) {
      this.failed = true;
      this.studio.showError(error);
    } finally {
      this.busy = false;
      if (prove) this.studio.progress(1);
    }
    if (this.selected >= (this.result?.answer.estimates.length ?? 0)) this.selected = 0;
    const next = this.next;
    this.next = null;
    if (next) this.ask(next.live, next.prove);
    if (this.studio.tab === this) this.render();
    this.studio.refresh();
    if (!next) showMapOf(this.studio, this.result);
  }

  /** @returns {Mark[]} */
  marks() {
    const { state } = this.studio;
    /** @type {Mark[]} */
    const marks = [];
    const result = this.result;
    if (result) {
      const { estimates, verdict } = result.answer, { places, ends, sensor } = result.scene;
      if (this.layers.search && result.search) {
        const { places: points, worth } = result.search;
        marks.push({ kind: "squares", points, values: worth, size: this.studio.site.spacing, ramp: "bad", alpha: 0.55 });
      }
      const regions = result.answer.proof?.complete ? result.answer.proof.regions : [];
      if (this.layers.proof && regions.length) {
        const points = regions.map((/** @type {any} */ r) => [r.x, r.y, r.radius]);
        marks.push({ kind: "discs", points, colour: "best", alpha: 0.3 });
      }
      const isDrawn = isOnShownMap(this.studio, estimates);
      const at = isDrawn(this.selected) ? estimates[this.selected] : null;
      if (this.layers.beams && at && ends.length) {
        const letters = this.selected ? places[this.selected].refutes : places[0].fits;
        const names = this.selected ? REFUTES : FITS;
        const pose = row(at);
        const points = ends.map((/** @type {number[]} */ end) => toMap(pose, end));
        const colours = [...letters].map((letter) => names[letter]);
        marks.push({ kind: "beams", at: toMap(pose, sensor.slice(0, 2)), points, colours });
      }
      marks.push(...placeMarks(estimates, places, verdict === "unique", isDrawn));
      if (this.selected && at) {
        marks.push({ kind: "robot", pose: row(at), colour: "rival", label: `${this.selected + 1}: ${places[this.selected].chance}` });
      }
    }
    if (!state.scan) {
      marks.push({ kind: "robot", pose: row(state.robot), colour: "truth", hollow: true });
    }
    return marks;
  }

  /** @param {[number, number]} world @param {PointerEvent} event */
  grab(world, event) {
    const { state, stage } = this.studio;
    if (state.scan) return null;
    const { robot } = state;
    const gap = Math.hypot(world[0] - robot.x, world[1] - robot.y) * stage.view.scale;
    if (event.shiftKey) return this.turning();
    if (gap > 26) return null;
    const from = [robot.x - world[0], robot.y - world[1]];
    return (/** @type {[number, number]} */ to, /** @type {boolean} */ last) => {
      this.place({ ...robot, x: to[0] + from[0], y: to[1] + from[1], z: undefined, yaw: this.state.robot.yaw }, last);
    };
  }

  /** @param {[number, number]} place */
  moveRobot(place) {
    const { robot, scan } = this.state;
    if (!scan) this.place({ x: place[0], y: place[1], yaw: robot.yaw }, true);
  }

  turning() {
    return (/** @type {[number, number]} */ to, /** @type {boolean} */ last) => {
      const { robot } = this.state;
      this.place({ ...robot, yaw: Math.atan2(to[1] - robot.y, to[0] - robot.x) }, last);
    };
  }

  /** @param {any} robot @param {boolean} last */
  place(robot, last) {
    this.state.robot = robot;
    this.studio.refresh();
    this.update(last);
    if (last) this.studio.save();
  }

  /** @param {boolean} last Whether the drag has ended; then, or after a rest, the full search runs. */
  update(last) {
    clearTimeout(this.restTimer);
    if (!last) this.restTimer = window.setTimeout(() => this.ask(false), REST_MS);
    this.ask(!last);
  }

  /** @param {KeyboardEvent} event @returns {boolean} Whether the key was used. */
  key(event) {
    if (this.state.scan) return false;
    const { robot } = this.state;
    const step = 0.1;
    /** @type {Record<string, any>} */
    const moved = {
      ArrowUp: { x: robot.x, y: robot.y + step, yaw: robot.yaw },
      ArrowDown: { x: robot.x, y: robot.y - step, yaw: robot.yaw },
      ArrowLeft: { x: robot.x - step, y: robot.y, yaw: robot.yaw },
      ArrowRight: { x: robot.x + step, y: robot.y, yaw: robot.yaw },
    };
    if (event.shiftKey && moved[event.key]) {
      this.place(moved[event.key], true);
      return true;
    }
    if (event.key === "[" || event.key === "]") {
      this.place({ ...robot, yaw: robot.yaw + (event.key === "[" ? 0.1 : -0.1) }, true);
      return true;
    }
    return false;
  }

  /** @param {number} k Which estimate is selected. */
  choose(k) {
    if (this.selected === k) return;
    this.selected = k;
    this.studio.refresh();
    const rows = this.studio.panel.querySelectorAll(".places .bar[data-k]");
    for (const row of rows) row.classList.toggle("chosen", row.getAttribute("data-k") === String(k));
    const against = this.studio.panel.querySelector(".against");
    if (against) against.textContent = this.against();
  }

  against() {
    if (!this.selected || !this.result) return "";
    const letters = [...this.result.scene.places[this.selected].refutes];
    const against = letters.filter((letter) => letter === "-").length;
    const number = this.selected + 1;
    return `${against} of ${letters.length} beams favour pose 1 over pose ${number}.`;
  }

  /** Build the controls once; `render` updates the answer above them. */
  panel() {
    const { state, panel, site } = this.studio;
    const again = (/** @type {boolean} */ last) => {
      this.update(last);
      if (last) this.studio.save();
    };
    /** @param {"beams" | "search" | "proof"} name */
    const layer = (name) =>
      checkbox(name, this.layers[name], (on) => {
        this.layers[name] = on;
        if (name === "search") this.ask(false);
        else this.studio.refresh();
      });
    /** @param {"x" | "y" | "yaw"} name @param {string} label @param {string} unit @param {number} most */
    const mount = (name, label, unit, most) =>
      slider(label, unit, { min: -most, max: most, step: 0.05, value: state.mount[name] }, (value, last) => {
        state.mount[name] = value;
        again(last);
      });
    const back = () => {
      state.scan = "";
      this.studio.save();
      this.enter();
    };
    const robot = [
      h("p", { className: "fine", "data-live": "" }, this.studio.is3d ? "Double-click to move the robot; press [ or ] to turn it. In the 2D view you can drag it." : "Drag the robot to move it; hold Shift to turn it. Keys: Shift + arrows, [ and ]."),
      disclosure("Sensor", false, ...sensorFields(state.lidar, site.dimension, again),
        button("New noise", () => { state.seed += 1; again(true); })),
      disclosure("Sensor mount", false, mount("x", "Forward", " m", 1), mount("y", "Left", " m", 1),
        mount("yaw", "Yaw", " rad", 3.1)),
    ];
    const scan = [
      h("p", { className: "row", "data-live": "" }, h("span", {}, `Scan ${state.scanName}`), button("Back to the virtual robot", back)),
    ];
    panel.replaceChildren(
      this.home,
      h("div", { className: "row", "data-live": "" }, layer("beams"), layer("search"), layer("proof"),
        site.dimension === 2 ? button("Prove", () => this.ask(false, true), { title: "Search the whole map for other poses that fit" }) : ""),
      ...(state.scan ? scan : robot),
    );
    this.render();
  }

  /** Show the answer. */
  render() {
    const result = this.result;
    if (!result) {
      const wait = "Preparing the map and locating. The first answer on a machine takes longer: its code is compiled.";
      this.home.replaceChildren(h("p", { className: "fine" }, wait));
      return;
    }
    const { answer, scene } = result;
    /** @type {HTMLElement[]} */
    const lines = answer.estimates.map((/** @type {any} */ estimate, /** @type {number} */ k) => this.line(estimate, scene.places[k], k));
    const possible = lines.filter((_, k) => k === 0 || !answer.estimates[k].refuted);
    const refuted = lines.filter((line) => !possible.includes(line));
    const others = refuted.length === 1 ? "1 pose ruled out by the scan" : `${refuted.length} poses ruled out by the scan`;
    const folded = h("details", { open: this.isRefutedOpen, className: "refuted", ontoggle: () => (this.isRefutedOpen = folded.open) }, h("summary", {}, others), ...refuted);
    const times = Object.entries(answer.timing_ms).map(([name, ms]) => `${name} ${Number(ms).toFixed(0)}`);
    this.home.replaceChildren(
      verdict(answer.verdict, (answer.map ? `on ${answer.map}, ` : "") + result.fit, answer.advice),
      h("p", { className: "against", "aria-live": "polite" }, this.against()),
      h("div", { className: "places", onpointerleave: () => this.choose(0) }, ...possible,
        bar("–", answer.none, result.none, "none of these poses", "plain"), refuted.length ? folded : ""),
      result.off ? h("p", { className: "truth" }, result.off) : "",
      result.why ? h("p", {}, result.why.text) : "",
      ...answer.hints.map((/** @type {any} */ hint) => h("p", { className: "hint" }, hint.text)),
      result.proof ? h("p", { className: "proof" }, `Proof: ${result.proof}.`) : "",
      h("p", { className: "fine" }, `${times.join(", ")} ms; pose of the ${answer.frame}${result.live ? "; coarse search only" : ""}`),
    );
  }

  /** @param {any} estimate @param {any} place @param {number} k */
  line(estimate, place, k) {
    const height = estimate.z == null ? "" : `, z ${estimate.z.toFixed(3)} m`;
    const where = `${estimate.map ? `${estimate.map}: ` : ""}x ${estimate.x.toFixed(3)} m, y ${estimate.y.toFixed(3)} m${height}, yaw ${degrees(estimate.yaw)}`;
    const detail = `${where}\n${place.spread}, ${Math.round(100 * estimate.inliers)}% of the beams fit`;
    const line = bar(`${k + 1}`, estimate.probability, place.chance, detail, k ? "rival" : "best");
    line.tabIndex = 0;
    line.dataset.k = `${k}`;
    line.title = place.text;
    line.addEventListener("pointerenter", () => this.choose(k));
    line.addEventListener("focus", () => this.choose(k));
    line.classList.toggle("chosen", k === this.selected);
    return line;
  }
}
