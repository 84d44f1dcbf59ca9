// Survey: where one scan is enough, with one sensor or two; layers, areas and look-alikes.

import { work } from "studio/server.js";
import { button, choice, fold, h, sensorFields, slider, tick } from "studio/dom.js";
import { rampColour } from "studio/marks.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

/** @type {Record<string, {words: string, ramp: string, low: number, high: number, log?: boolean, unit: string}>} */
const LAYERS = {
  unique: { words: "One scan is enough", ramp: "good", low: 0, high: 1, unit: " of the headings" },
  sigma: { words: "σ of the position", ramp: "bad", low: 0.02, high: 1, log: true, unit: " m" },
  alike: { words: "Look-alikes", ramp: "bad", low: 0, high: 1, unit: " similar" },
};
const ARCS = 30;

export class SurveyTab {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Survey";
    /** @type {any} */
    this.told = null;
    this.site = "";
    this.layer = "unique";
    this.alpha = 0.75;
    this.split = 0.5;
    this.compare = false;
    /** @type {{k: number, which: number} | null} */
    this.picked = null;
    this.sensors = [usual(10), usual(25)];
    this.count = 200;
    /** @type {AbortController | null} */
    this.job = null;
    this.home = h("div", { className: "answer" });
  }

  enter() {
    const { studio } = this;
    if (this.site !== studio.site.key) this.told = this.picked = null;
    const second = fold("Second sensor", true, ...sensorFields(this.sensors[1], studio.site.dimension, () => {}));
    second.hidden = !this.compare;
    /** @type {[string, string][]} */
    const layers = Object.entries(LAYERS).map(([key, { words }]) => [key, words]);
    studio.panel.replaceChildren(
      this.home,
      choice("Layer", layers, this.layer, (key) => { this.layer = key; this.tell(); studio.refresh(); }),
      slider("Opacity", "", { min: 0, max: 1, step: 0.05, value: this.alpha }, (value) => { this.alpha = value; studio.refresh(); }),
      fold("Sensor", !this.told, ...sensorFields(this.sensors[0], studio.site.dimension, () => {})),
      tick("Compare with a second sensor", this.compare, (on) => { this.compare = on; second.hidden = !on; }),
      second,
      slider("Simulated scans", "", { min: 40, max: 1000, step: 20, value: this.count }, (value) => (this.count = value)),
      h("div", { className: "row", "data-live": "" },
        button("Survey", () => this.run(), { className: "main" }), button("Stop", () => this.job?.abort())),
    );
    this.tell();
    studio.refresh();
  }

  leave() {
    this.job?.abort();
  }

  async run() {
    const { studio } = this;
    this.job?.abort();
    const job = (this.job = new AbortController());
    const lidars = this.sensors.slice(0, this.compare ? 2 : 1);
    try {
      this.told = await work("/survey", { site: studio.site.key, lidars, count: this.count }, (share) => studio.progress(share, "Surveying"), job.signal);
      this.site = studio.site.key;
      this.picked = null;
      studio.say(this.told.text.split("\n")[0]);
      this.tell();
    } catch (error) {
      if (!job.signal.aborted) studio.fail(error);
    }
    studio.progress(1);
    studio.refresh();
  }

  tell() {
    if (!this.told) {
      this.home.replaceChildren(h("p", {}, "Where on this map is one scan enough to know the place, and where is it not? Choose a sensor and start."));
      return;
    }
    const { words, ramp, low, high, unit } = LAYERS[this.layer];
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => rampColour(ramp, share)).join(",");
    const layers = this.told.layers;
    this.home.replaceChildren(
      ...(layers.length === 2 ? [h("p", { className: "share" }, this.told.report.text)] : [h("p", { className: "share" }, layers[0].share)]),
      h("div", { className: "legend", role: "img", "aria-label": `${words}, from ${low} to ${high}${unit}` },
        h("span", {}, `${low}`), h("i", { style: `background:linear-gradient(90deg,${stops})` }), h("span", {}, `${high}${unit}`)),
      layers.length === 2 ? slider("Left A, right B", "", { min: 0, max: 1, step: 0.01, value: this.split }, (value) => { this.split = value; this.studio.refresh(); }) : "",
      h("p", { className: "picked", "aria-live": "polite" }, this.words()),
      h("ol", { className: "areas" }, ...layers[0].areas.slice(0, 8).map((/** @type {any} */ area) =>
        h("li", {}, button(area.words, () => { this.pick([area.x, area.y]); this.studio.show([area.x, area.y]); }, { className: "link" })))),
      layers.length === 2
        ? h("table", {}, ...this.told.rows.map((/** @type {string[]} */ [name, ...cells]) => h("tr", {}, h("th", {}, name), ...cells.map((cell) => h("td", {}, cell)))))
        : h("pre", { className: "report" }, this.told.text),
    );
  }

  words() {
    if (!this.picked) return "Click a place: what it is taken for is linked by arcs.";
    const { k, which } = this.picked;
    const layer = this.told.layers[which];
    const [x, y] = layer.places[k];
    const { unique, sigma, alike } = layer.columns;
    const there = layer.aliases[k];
    const like = there[0] == null ? "" : `, looks most like (${there[0].toFixed(1)}, ${there[1].toFixed(1)}): ${Math.round(100 * alike[k])} % similar`;
    const firm = sigma[k] == null ? "" : `, σ ${sigma[k].toFixed(3)} m`;
    return `At (${x.toFixed(1)}, ${y.toFixed(1)}): ${Math.round(100 * unique[k])} % of the headings unique${firm}${like}.`;
  }

  /** @returns {Mark[]} */
  marks() {
    if (!this.told) return [];
    const { ramp, low, high, log } = LAYERS[this.layer];
    const two = this.told.layers.length === 2;
    const f = log ? Math.log : (/** @type {number} */ v) => v;
    /** @type {Mark[]} */
    const marks = this.told.layers.map((/** @type {any} */ layer, /** @type {number} */ which) => ({
      kind: "squares", points: layer.places, size: layer.spacing, ramp, alpha: this.alpha,
      values: layer.columns[this.layer].map((/** @type {number | null} */ v) => (v == null ? NaN : (f(Math.max(low, v)) - f(low)) / (f(high) - f(low)))),
      clip: two ? (which ? [this.split, 1.01] : [-0.01, this.split]) : undefined,
    }));
    const areas = this.told.layers[0].areas.slice(0, 8);
    marks.push(...areas.map((/** @type {any} */ area, /** @type {number} */ k) => ({ kind: "text", at: [area.x, area.y], label: `${k + 1}` })));
    if (this.picked) {
      const layer = this.told.layers[this.picked.which];
      const here = layer.places[this.picked.k];
      marks.push({ kind: "discs", points: [[...here, layer.spacing]], colour: "ink", hollow: true, width: 2 });
      const there = layer.aliases[this.picked.k];
      // Others that take this place for theirs.
      const near = layer.aliases
        .map((/** @type {number[]} */ to, /** @type {number} */ k) => ({ k, gap: to[0] == null ? Infinity : Math.hypot(to[0] - here[0], to[1] - here[1]) }))
        .filter((/** @type {any} */ row) => row.gap < 2 * layer.spacing)
        .slice(0, ARCS);
      for (const { k } of near) marks.push({ kind: "arc", at: here, to: layer.places[k], colour: "rival", width: 1, alpha: 0.5 });
      if (there[0] != null) marks.push({ kind: "arc", at: here, to: there, colour: "astray", width: 2.5 });
    }
    return marks;
  }

  /** @param {number[]} world @param {number} [which] */
  pick(world, which = 0) {
    const layer = this.told?.layers[which];
    if (!layer) return;
    let [best, least] = [-1, Infinity];
    for (const [k, [x, y]] of layer.places.entries()) {
      const gap = Math.hypot(x - world[0], y - world[1]);
      if (gap < least) [best, least] = [k, gap];
    }
    this.picked = least < 3 * layer.spacing ? { k: best, which } : null;
    const words = this.studio.panel.querySelector(".picked");
    if (words) words.textContent = this.words();
    this.studio.refresh();
  }

  /** @param {[number, number]} world @param {PointerEvent} event */
  grab(world, event) {
    if (!this.told) return null;
    const begin = [event.clientX, event.clientY];
    const { stage } = this.studio;
    const which = this.told.layers.length === 2 && event.offsetX > this.split * stage.view.width ? 1 : 0;
    const up = (/** @type {PointerEvent} */ end) => {
      if (Math.hypot(end.clientX - begin[0], end.clientY - begin[1]) < 5) this.pick(world, which);
    };
    stage.canvas.addEventListener("pointerup", up, { once: true });
    return null;
  }
}

/** @param {number} range */
const usual = (range) => ({ field_of_view: 360, beams: 360, range_max: range, noise: 0.05, clutter: 0, rings: 16 });
