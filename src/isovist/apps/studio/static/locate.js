// Locate: a scan that was dropped, or one of a virtual robot that is moved by mouse.

import { ask } from "studio/server.js";
import { bar, button, degrees, fold, h, sensorFields, slider, tick, verdict } from "studio/dom.js";
import { libraryOf, shownOf, turnTo } from "studio/library.js";
import { carried } from "studio/marks.js";
import { placeMarks, row } from "studio/places.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

/** @type {Record<string, string>} Colour of a beam by its letter. */
const FITS = { 1: "fits", 0: "astray" };
/** @type {Record<string, string>} */
const REFUTES = { "-": "astray", "+": "fits", 0: "plain" };

const REST = 300; // ms after which a robot that is held still is looked at closely

export class Locate {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Locate";
    /** @type {any} */
    this.told = null;
    this.busy = false;
    /** @type {{live: boolean, prove: boolean} | null} */
    this.next = null;
    this.chosen = 0;
    this.home = h("div", { className: "answer" });
    this.shown = { beams: true, search: false, proof: true };
    this.answers = 0;
    this.unfolded = false;
    this.failed = false; // then the next answer takes the message away
    this.resting = 0;
  }

  get state() {
    return this.studio.state;
  }

  enter() {
    this.told = null;
    this.chosen = 0;
    this.panel();
    this.ask(false);
  }

  leave() {
    clearTimeout(this.resting);
  }

  /** Ask where the robot is; while one question is under way, only the latest waits. */
  async ask(live = false, prove = false) {
    if (this.busy) {
      this.next = { live, prove };
      return;
    }
    this.busy = true;
    const { site, state } = this.studio;
    const library = prove ? "" : libraryOf(this.studio); // a proof is of one map
    const about = { site: site.key, library, live, prove, search: this.shown.search };
    const robot = { robot: state.robot, lidar: state.lidar, mount: state.mount, seed: state.seed };
    try {
      if (prove) this.studio.progress(0.5, "Searching the whole map");
      const told = await ask("/locate", { ...about, ...(state.scan ? { scan: state.scan } : robot) });
      if (site === this.studio.site) {
        this.told = told;
        if (told.truth?.z != null) state.robot.z ??= told.truth.z;
        this.answers += 1;
        if (this.failed) this.studio.toast("");
        this.failed = false;
        if (!live) this.studio.say(`${told.answer.verdict}. ${told.answer.advice}`);
      }
    } catch (error) {
      this.failed = true;
      this.studio.fail(error);
    } finally {
      this.busy = false;
      if (prove) this.studio.progress(1);
    }
    if (this.chosen >= (this.told?.answer.estimates.length ?? 0)) this.chosen = 0;
    const next = this.next;
    this.next = null;
    if (next) this.ask(next.live, next.prove);
    if (this.studio.tab === this) this.tell();
    this.studio.refresh();
    if (!next) turnTo(this.studio, this.told);
  }

  /** @returns {Mark[]} */
  marks() {
    const { state } = this.studio;
    /** @type {Mark[]} */
    const marks = [];
    const told = this.told;
    if (told) {
      const { estimates, verdict: said } = told.answer, { places, ends, sensor } = told.scene;
      if (this.shown.search && told.search) {
        const { places: points, worth } = told.search;
        marks.push({ kind: "squares", points, values: worth, size: this.studio.site.spacing, ramp: "bad", alpha: 0.55 });
      }
      const regions = told.answer.proof?.complete ? told.answer.proof.regions : [];
      if (this.shown.proof && regions.length) {
        const points = regions.map((/** @type {any} */ r) => [r.x, r.y, r.radius]);
        marks.push({ kind: "discs", points, colour: "best", alpha: 0.3 });
      }
      const drawn = shownOf(this.studio, estimates);
      const at = drawn(this.chosen) ? estimates[this.chosen] : null;
      if (this.shown.beams && at && ends.length) {
        const letters = this.chosen ? places[this.chosen].refutes : places[0].fits;
        const names = this.chosen ? REFUTES : FITS;
        const pose = row(at);
        const points = ends.map((/** @type {number[]} */ end) => carried(pose, end));
        const colours = [...letters].map((letter) => names[letter]);
        marks.push({ kind: "beams", at: carried(pose, sensor.slice(0, 2)), points, colours });
      }
      marks.push(...placeMarks(estimates, places, said === "unique", drawn));
      if (this.chosen && at) {
        marks.push({ kind: "robot", pose: row(at), colour: "rival", label: `${this.chosen + 1}: ${places[this.chosen].chance}` });
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
  put(place) {
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
    this.look(last);
    if (last) this.studio.save();
  }

  /** @param {boolean} last Whether nothing moves any more: then, or after a rest, all is asked. */
  look(last) {
    clearTimeout(this.resting);
    if (!last) this.resting = window.setTimeout(() => this.ask(false), REST);
    this.ask(!last);
  }

  /** @param {KeyboardEvent} event @returns {boolean} Whether it meant something. */
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

  /** @param {number} k Which of the places is looked at. */
  choose(k) {
    if (this.chosen === k) return;
    this.chosen = k;
    this.studio.refresh();
    const rows = this.studio.panel.querySelectorAll(".places .bar[data-k]");
    for (const row of rows) row.classList.toggle("chosen", row.getAttribute("data-k") === String(k));
    const against = this.studio.panel.querySelector(".against");
    if (against) against.textContent = this.against();
  }

  against() {
    if (!this.chosen || !this.told) return "";
    const letters = [...this.told.scene.places[this.chosen].refutes];
    const against = letters.filter((letter) => letter === "-").length;
    const number = this.chosen + 1;
    return `${against} of ${letters.length} beams speak against place ${number}, for place 1.`;
  }

  /** Controls, made once; the answer above them changes with every answer. */
  panel() {
    const { state, panel, site } = this.studio;
    const again = (/** @type {boolean} */ last) => {
      this.look(last);
      if (last) this.studio.save();
    };
    /** @param {"beams" | "search" | "proof"} name */
    const layer = (name) =>
      tick(name, this.shown[name], (on) => {
        this.shown[name] = on;
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
      h("p", { className: "fine", "data-live": "" }, this.studio.solid ? "A double click puts the robot there; [ ] turn it. From above (2D) it can be dragged." : "Drag the robot; with shift it turns. Shift and arrows, and [ ], do the same."),
      fold("Sensor", false, ...sensorFields(state.lidar, site.dimension, again),
        button("Another throw of the noise", () => { state.seed += 1; again(true); })),
      fold("Where the sensor sits", false, mount("x", "Ahead", " m", 1), mount("y", "To the left", " m", 1),
        mount("yaw", "Turned", " rad", 3.1)),
    ];
    const scan = [
      h("p", { className: "row", "data-live": "" }, h("span", {}, `Scan ${state.scanName}`), button("Back to the virtual robot", back)),
    ];
    panel.replaceChildren(
      this.home,
      h("div", { className: "row", "data-live": "" }, layer("beams"), layer("search"), layer("proof"),
        site.dimension === 2 ? button("Prove", () => this.ask(false, true), { title: "Search the whole map for other places" }) : ""),
      ...(state.scan ? scan : robot),
    );
    this.tell();
  }

  /** The answer in words. */
  tell() {
    const told = this.told;
    if (!told) {
      const wait = "Describing the map and asking. The very first answer on a machine compiles for a while.";
      this.home.replaceChildren(h("p", { className: "fine" }, wait));
      return;
    }
    const { answer, scene } = told;
    /** @type {HTMLElement[]} */
    const lines = answer.estimates.map((/** @type {any} */ estimate, /** @type {number} */ k) => this.line(estimate, scene.places[k], k));
    const alive = lines.filter((_, k) => k === 0 || !answer.estimates[k].refuted);
    const dead = lines.filter((line) => !alive.includes(line));
    const others = dead.length === 1 ? "1 place that the scan refutes" : `${dead.length} places that the scan refutes`;
    const folded = h("details", { open: this.unfolded, className: "refuted", ontoggle: () => (this.unfolded = folded.open) }, h("summary", {}, others), ...dead);
    const times = Object.entries(answer.timing_ms).map(([name, ms]) => `${name} ${Number(ms).toFixed(0)}`);
    this.home.replaceChildren(
      verdict(answer.verdict, (answer.map ? `on ${answer.map}, ` : "") + told.fit, answer.advice),
      h("p", { className: "against", "aria-live": "polite" }, this.against()),
      h("div", { className: "places", onpointerleave: () => this.choose(0) }, ...alive,
        bar("–", answer.none, told.none, "none of these", "plain"), dead.length ? folded : ""),
      told.off ? h("p", { className: "truth" }, told.off) : "",
      told.why ? h("p", {}, told.why.text) : "",
      ...answer.hints.map((/** @type {any} */ hint) => h("p", { className: "hint" }, hint.text)),
      told.proof ? h("p", { className: "proof" }, `Proof: ${told.proof}.`) : "",
      h("p", { className: "fine" }, `${times.join(", ")} ms; pose of the ${answer.frame}${told.live ? "; at first sight" : ""}`),
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
    line.classList.toggle("chosen", k === this.chosen);
    return line;
  }
}
