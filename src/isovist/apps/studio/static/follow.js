// Follow: play back a log, and show what the tracker believes at each update.

import { stream } from "studio/server.js";
import { bar, button, select, degrees, h, verdict } from "studio/dom.js";
import { toMap } from "studio/marks.js";
import { place, placeMarks, row } from "studio/places.js";
import { Plots } from "studio/plots.js";
import { Timeline } from "studio/timeline.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

export class Follow {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Follow";
    /** @type {any[]} */
    this.updates = [];
    this.summary = "";
    this.index = 0;
    /** @type {AbortController | null} */
    this.job = null;
    /** @type {number[] | null} Where the user drags the robot. */
    this.dragged = null;
    /** @type {{at: number, x: number, y: number} | null} */
    this.jump = null;
    this.plots = new Plots();
    this.home = h("div", { className: "answer" });
    this.words = h("pre", { className: "report" });
  }

  enter() {
    const { studio } = this;
    studio.timeline.hidden = false;
    this.time = new Timeline(studio.timeline, (index) => this.show(index));
    this.time.time = (index) => (this.updates[index]?.update.time ?? 0) - (this.updates[0]?.update.time ?? 0);
    /** @type {[string, string][]} */
    const logs = studio.logs.map(({ key, name }) => [key, name]);
    const pick = select("Log", logs, studio.state.log, (key) => {
      studio.state.log = key;
      studio.save();
      this.jump = null;
      this.run();
    });
    const again = button("Start again", () => {
      this.jump = null;
      this.run();
    });
    studio.panel.replaceChildren(
      this.home,
      this.plots.home,
      h("p", { className: "fine", "data-live": "" }, "Drag the robot to another part of its path: it is kidnapped, and its odometry does not notice."),
      pick,
      h("div", { className: "row", "data-live": "" }, again),
      this.words,
    );
    this.plots.make(studio);
    this.run();
  }

  leave() {
    this.job?.abort();
    this.time?.play(false);
    this.studio.timeline.hidden = true;
  }

  async run() {
    const { studio, time } = this;
    if (!time) return;
    this.job?.abort();
    const job = (this.job = new AbortController());
    this.updates = [];
    this.summary = "";
    this.words.textContent = "";
    this.home.replaceChildren();
    this.index = 0;
    time.grow(0);
    const request = { site: studio.site.key, log: studio.state.log, ...(this.jump ? { carried: this.jump } : {}) };
    try {
      let length = 1;
      for await (const result of stream("/track", request, job.signal)) {
        if (result.length) length = result.length;
        if (result.update) this.updates.push(result);
        if (result.done) this.summary = result.done;
        const count = this.updates.length;
        if (result.done || count % 20 === 1) {
          studio.progress(result.done ? 1 : count / length, "Following");
          time.grow(count);
          this.plots.data(this.updates);
          if (count === 1 && this.jump === null) time.go(0);
          if (this.jump && count > this.jump.at && this.index < this.jump.at) time.go(this.jump.at);
        }
      }
      this.words.textContent = this.summary;
      time.go(this.jump ? Math.min(this.jump.at, this.updates.length - 1) : this.updates.length - 1);
      studio.announce(this.summary.split("\n")[0]);
    } catch (error) {
      studio.progress(1);
      if (!job.signal.aborted) studio.showError(error);
    }
  }

  /** @param {number} index */
  show(index) {
    this.index = index;
    const result = this.updates[index];
    if (result) {
      const { update, places } = result;
      const [best] = update.estimates;
      const words = best ? `${places[0].spread}, λ_min ${Number(update.lambda_min ?? 0).toPrecision(3)} per m²` : "";
      const off = update.error_m == null ? "" : `${update.error_m.toFixed(3)} m and ${update.error_deg.toFixed(2)}° from the truth; `;
      this.home.replaceChildren(
        verdict(update.verdict, words, update.advice),
        h("div", { className: "places" }, ...update.estimates.slice(0, 5).map((/** @type {any} */ e, /** @type {number} */ k) =>
          bar(`${k + 1}`, e.probability, places[k].chance, `x ${e.x.toFixed(3)} m, y ${e.y.toFixed(3)} m, yaw ${degrees(e.yaw)}`, k ? "rival" : "best"))),
        h("p", { className: "fine" }, `${off}${update.travelled_m.toFixed(1)} m driven, ${update.update_ms.toFixed(1)} ms`),
      );
      this.plots.mark(index);
    }
    this.studio.refresh();
  }

  /** @returns {Mark[]} */
  marks() {
    const result = this.updates[this.index];
    if (!result) return [];
    const { update, places, ends, truth } = result;
    const past = this.updates.slice(0, this.index + 1);
    /** @type {Mark[]} */
    const marks = [];
    const from = this.jump && this.index >= this.jump.at ? this.jump.at : 0;
    if (truth) {
      marks.push({ kind: "line", points: past.slice(from).map((u) => place(u.truth)), colour: "truth", width: 1, dashed: true, alpha: 0.6 });
    }
    const known = past.slice(from).filter((u) => u.update.verdict === "unique").map((u) => place(u.update.estimates[0]));
    marks.push({ kind: "line", points: known, colour: "way", width: 2 });
    const [best] = update.estimates;
    if (best) {
      const points = ends.map((/** @type {number[]} */ end) => toMap(row(best), end));
      marks.push({ kind: "dots", points, colour: "fits", size: 3 });
      marks.push(...placeMarks(update.estimates, places, update.verdict === "unique"));
    }
    if (truth) marks.push({ kind: "cross", at: [truth.x, truth.y], colour: "truth" });
    if (this.dragged) marks.push({ kind: "robot", pose: [...this.dragged, truth?.yaw ?? 0], colour: "astray", hollow: true });
    return marks;
  }

  /** @param {[number, number]} world */
  grab(world) {
    const result = this.updates[this.index];
    const at = result?.truth ?? result?.update.estimates[0];
    if (!at || Math.hypot(world[0] - at.x, world[1] - at.y) * this.studio.stage.view.scale > 26) return null;
    if (!result.truth) {
      this.studio.showError(new Error("The log has no true poses, so the robot cannot be moved."));
      return null;
    }
    this.time?.play(false);
    return (/** @type {[number, number]} */ to, /** @type {boolean} */ last) => {
      this.dragged = last ? null : [...to];
      if (last && Math.hypot(to[0] - at.x, to[1] - at.y) > 0.5) {
        this.jump = { at: Math.max(1, this.index), x: to[0], y: to[1] };
        this.run();
      }
      this.studio.refresh();
    };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    return timeKey(event, this.time);
  }
}

/**
 * Space plays or pauses; comma and full stop step.
 * @param {KeyboardEvent} event @param {Timeline | undefined} time
 */
export function timeKey(event, time) {
  if (!time) return false;
  if (event.key === " ") time.play(!time.playing);
  else if (event.key === ",") time.go(time.index - 1);
  else if (event.key === ".") time.go(time.index + 1);
  else return false;
  return true;
}
