// Explore: a lost robot drives until its pose is unique, and says why it drives there.

import { work } from "studio/server.js";
import { button, select, h, slider, verdict } from "studio/dom.js";
import { toMap } from "studio/marks.js";
import { placeMarks, row } from "studio/places.js";
import { timeKey } from "studio/follow.js";
import { Timeline } from "studio/timeline.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

export class Explore {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Explore";
    /** @type {any} */
    this.result = null;
    this.site = "";
    this.index = 0;
    this.settings = { rule: "rivals", seed: 0, limit: 40, lidar: { field_of_view: 360, range_max: 6 } };
    /** @type {AbortController | null} */
    this.job = null;
    this.home = h("div", { className: "answer" });
    this.words = h("pre", { className: "report" });
  }

  enter() {
    const { studio, settings } = this;
    if (this.site !== studio.site.key) this.result = null;
    studio.timeline.hidden = !this.result;
    this.time = new Timeline(studio.timeline, (index) => this.show(index));
    this.time.time = (index) => index / 4;
    /** @type {[string, string][]} */
    const rules = [["rivals", "where rival poses differ"], ["gramian", "where λ_min grows fastest"], ["random", "a random place"]];
    studio.panel.replaceChildren(
      this.home,
      select("Drive to", rules, settings.rule, (rule) => (settings.rule = rule)),
      slider("Field of view", "°", { min: 60, max: 360, step: 10, value: settings.lidar.field_of_view }, (v) => (settings.lidar.field_of_view = v)),
      slider("Range", " m", { min: 2, max: 20, step: 0.5, value: settings.lidar.range_max }, (v) => (settings.lidar.range_max = v)),
      slider("Seed", "", { min: 0, max: 50, step: 1, value: settings.seed }, (v) => (settings.seed = v)),
      h("div", { className: "row", "data-live": "" },
        button("Start", () => this.run(), { className: "main" }), button("Stop", () => this.job?.abort())),
      this.words,
    );
    if (this.result) this.begin();
    else this.home.replaceChildren(h("p", {}, "A robot starts where one scan is ambiguous, and drives until its pose is unique. Each path is proposed for a reason."));
    studio.refresh();
  }

  leave() {
    this.job?.abort();
    this.time?.play(false);
    this.studio.timeline.hidden = true;
  }

  async run() {
    const { studio } = this;
    this.job?.abort();
    const job = (this.job = new AbortController());
    studio.progress(0.02, "Searching for a start where one scan is ambiguous");
    try {
      this.result = await work("/explore", { site: studio.site.key, ...this.settings }, (share) => studio.progress(share, "Driving"), job.signal);
      this.site = studio.site.key;
      this.index = 0;
      this.begin();
      this.time?.play(true);
      studio.announce(this.result.text.split("\n").at(-1) ?? "");
    } catch (error) {
      if (!job.signal.aborted) studio.showError(error);
    }
    studio.progress(1);
    studio.refresh();
  }

  begin() {
    this.studio.timeline.hidden = false;
    this.words.textContent = this.result.text;
    this.time?.grow(this.result.run.steps.length);
    this.time?.go(this.index);
  }

  /** @param {number} index */
  show(index) {
    this.index = index;
    const step = this.result?.run.steps[index];
    if (step) {
      const scene = this.result.scene[index];
      const rivals = step.verdict === "unique" ? "" : `, ${step.estimates.length} poses`;
      this.home.replaceChildren(
        verdict(step.verdict, `after ${step.distance.toFixed(1)} m${rivals}`, scene.advice),
        h("p", { className: "because" }, scene.because || (index + 1 < this.result.run.steps.length ? "The robot turns, or drives at random." : "The robot has arrived.")),
      );
    }
    this.studio.refresh();
  }

  /** @returns {Mark[]} */
  marks() {
    const step = this.result?.run.steps[this.index];
    if (!step) return [];
    const scene = this.result.scene[this.index];
    const past = this.result.run.steps.slice(0, this.index + 1);
    /** @type {Mark[]} */
    const marks = [{ kind: "line", points: past.map((/** @type {any} */ s) => [s.truth.x, s.truth.y]), colour: "truth", width: 2 }];
    if (scene.ahead) marks.push({ kind: "line", points: scene.ahead, colour: "ahead", width: 2.5, dashed: true, arrow: true });
    const [best] = step.estimates;
    if (best) {
      marks.push({ kind: "dots", points: scene.ends.map((/** @type {number[]} */ end) => toMap(row(best), end)), colour: "fits" });
      marks.push(...placeMarks(step.estimates, scene.places, step.verdict === "unique"));
    }
    marks.push({ kind: "cross", at: [step.truth.x, step.truth.y], colour: "truth" });
    return marks;
  }

  grab() {
    return null;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    return this.result ? timeKey(event, this.time) : false;
  }
}
