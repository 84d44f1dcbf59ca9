// Explore: a lost robot that drives until it knows where it is, and why it drives there.

import { work } from "studio/server.js";
import { button, choice, h, slider, verdict } from "studio/dom.js";
import { carried } from "studio/marks.js";
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
    this.told = null;
    this.site = "";
    this.index = 0;
    this.about = { rule: "rivals", seed: 0, limit: 40, lidar: { field_of_view: 360, range_max: 6 } };
    /** @type {AbortController | null} */
    this.job = null;
    this.home = h("div", { className: "answer" });
    this.words = h("pre", { className: "report" });
  }

  enter() {
    const { studio, about } = this;
    if (this.site !== studio.site.key) this.told = null;
    studio.timeline.hidden = !this.told;
    this.time = new Timeline(studio.timeline, (index) => this.show(index));
    this.time.time = (index) => index / 4;
    /** @type {[string, string][]} */
    const rules = [["rivals", "where rivals differ"], ["gramian", "where λ_min grows fastest"], ["random", "at random"]];
    studio.panel.replaceChildren(
      this.home,
      choice("It drives", rules, about.rule, (rule) => (about.rule = rule)),
      slider("Field of view", "°", { min: 60, max: 360, step: 10, value: about.lidar.field_of_view }, (v) => (about.lidar.field_of_view = v)),
      slider("Range", " m", { min: 2, max: 20, step: 0.5, value: about.lidar.range_max }, (v) => (about.lidar.range_max = v)),
      slider("Number of the start", "", { min: 0, max: 50, step: 1, value: about.seed }, (v) => (about.seed = v)),
      h("div", { className: "row", "data-live": "" },
        button("Get lost and drive", () => this.run(), { className: "main" }), button("Stop", () => this.job?.abort())),
      this.words,
    );
    if (this.told) this.begin();
    else this.home.replaceChildren(h("p", {}, "A robot wakes up where one scan is not enough, and drives until it knows its place. Each way is proposed for a reason."));
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
    studio.progress(0.02, "Looking for a place to get lost in");
    try {
      this.told = await work("/explore", { site: studio.site.key, ...this.about }, (share) => studio.progress(share, "Driving"), job.signal);
      this.site = studio.site.key;
      this.index = 0;
      this.begin();
      this.time?.play(true);
      studio.say(this.told.text.split("\n").at(-1) ?? "");
    } catch (error) {
      if (!job.signal.aborted) studio.fail(error);
    }
    studio.progress(1);
    studio.refresh();
  }

  begin() {
    this.studio.timeline.hidden = false;
    this.words.textContent = this.told.text;
    this.time?.grow(this.told.run.steps.length);
    this.time?.go(this.index);
  }

  /** @param {number} index */
  show(index) {
    this.index = index;
    const step = this.told?.run.steps[index];
    if (step) {
      const scene = this.told.scene[index];
      const rivals = step.verdict === "unique" ? "" : `, ${step.estimates.length} places`;
      this.home.replaceChildren(
        verdict(step.verdict, `after ${step.distance.toFixed(1)} m${rivals}`, scene.advice),
        h("p", { className: "because" }, scene.because || (index + 1 < this.told.run.steps.length ? "It looks around, or drives at random." : "It has arrived.")),
      );
    }
    this.studio.refresh();
  }

  /** @returns {Mark[]} */
  marks() {
    const step = this.told?.run.steps[this.index];
    if (!step) return [];
    const scene = this.told.scene[this.index];
    const past = this.told.run.steps.slice(0, this.index + 1);
    /** @type {Mark[]} */
    const marks = [{ kind: "line", points: past.map((/** @type {any} */ s) => [s.truth.x, s.truth.y]), colour: "truth", width: 2 }];
    if (scene.ahead) marks.push({ kind: "line", points: scene.ahead, colour: "ahead", width: 2.5, dashed: true, arrow: true });
    const [best] = step.estimates;
    if (best) {
      marks.push({ kind: "dots", points: scene.ends.map((/** @type {number[]} */ end) => carried(row(best), end)), colour: "fits" });
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
    return this.told ? timeKey(event, this.time) : false;
  }
}
