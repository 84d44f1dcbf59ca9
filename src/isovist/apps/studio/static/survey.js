// Survey: where the pose is unique from one scan, with one or two sensors.

import { work } from "studio/server.js";
import { button, select, disclosure, h, sensorFields, slider, checkbox } from "studio/dom.js";
import { rampColour } from "studio/marks.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

/** @type {Record<string, {words: string, ramp: string, low: number, high: number, log?: boolean, unit: string}>} */
const LAYERS = {
  unique: { words: "Unique from one scan", ramp: "good", low: 0, high: 1, unit: " of headings" },
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
    this.result = null;
    this.site = "";
    this.layer = "unique";
    this.alpha = 0.75;
    this.split = 0.5;
    this.compare = false;
    /** @type {{k: number, which: number} | null} */
    this.selection = null;
    this.sensors = [sensorOf(10), sensorOf(25)];
    this.count = 200;
    /** @type {AbortController | null} */
    this.job = null;
    this.home = h("div", { className: "answer" });
  }

  enter() {
    const { studio } = this;
    if (this.site !== studio.site.key) this.result = this.selection = null;
    const second = disclosure("Second sensor", true, ...sensorFields(this.sensors[1], studio.site.dimension, () => {}));
    second.hidden = !this.compare;
    /** @type {[string, string][]} */
    const layers = Object.entries(LAYERS).map(([key, { words }]) => [key, words]);
    studio.panel.replaceChildren(
      this.home,
      select("Layer", layers, this.layer, (key) => { this.layer = key; this.render(); studio.refresh(); }),
      slider("Opacity", "", { min: 0, max: 1, step: 0.05, value: this.alpha }, (value) => { this.alpha = value; studio.refresh(); }),
      disclosure("Sensor", !this.result, ...sensorFields(this.sensors[0], studio.site.dimension, () => {})),
      checkbox("Compare with a second sensor", this.compare, (on) => { this.compare = on; second.hidden = !on; }),
      second,
      slider("Simulated scans", "", { min: 40, max: 1000, step: 20, value: this.count }, (value) => (this.count = value)),
      h("div", { className: "row", "data-live": "" },
        button("Survey", () => this.run(), { className: "main" }), button("Stop", () => this.job?.abort())),
    );
    this.render();
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
      this.result = await work("/survey", { site: studio.site.key, lidars, count: this.count }, (share) => studio.progress(share, "Surveying"), job.signal);
      this.site = studio.site.key;
      this.selection = null;
      studio.announce(this.result.text.split("\n")[0]);
      this.render();
    } catch (error) {
      if (!job.signal.aborted) studio.showError(error);
    }
    studio.progress(1);
    studio.refresh();
  }

  render() {
    if (!this.result) {
      this.home.replaceChildren(h("p", {}, "Where on this map is the pose unique from one scan? Choose a sensor and start."));
      return;
    }
    const { words, ramp, low, high, unit } = LAYERS[this.layer];
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => rampColour(ramp, share)).join(",");
    const layers = this.result.layers;
    this.home.replaceChildren(
      ...(layers.length === 2 ? [h("p", { className: "share" }, this.result.report.text)] : [h("p", { className: "share" }, layers[0].share)]),
      h("div", { className: "legend", role: "img", "aria-label": `${words}, from ${low} to ${high}${unit}` },
        h("span", {}, `${low}`), h("i", { style: `background:linear-gradient(90deg,${stops})` }), h("span", {}, `${high}${unit}`)),
      layers.length === 2 ? slider("Left A, right B", "", { min: 0, max: 1, step: 0.01, value: this.split }, (value) => { this.split = value; this.studio.refresh(); }) : "",
      h("p", { className: "picked", "aria-live": "polite" }, this.words()),
      h("ol", { className: "areas" }, ...layers[0].areas.slice(0, 8).map((/** @type {any} */ area) =>
        h("li", {}, button(area.words, () => { this.pick([area.x, area.y]); this.studio.show([area.x, area.y]); }, { className: "link" })))),
      layers.length === 2
        ? h("table", {}, ...this.result.rows.map((/** @type {string[]} */ [name, ...cells]) => h("tr", {}, h("th", {}, name), ...cells.map((cell) => h("td", {}, cell)))))
        : h("pre", { className: "report" }, this.result.text),
    );
  }

  words() {
    if (!this.selection) return "Click a place. Arcs link it to the places that look like it.";
    const { k, which } = this.selection;
    const layer = this.result.layers[which];
    const [x, y] = layer.places[k];
    const { unique, sigma, alike } = layer.columns;
    const alias = layer.aliases[k];
    const aliasText = alias[0] == null ? "" : `, looks most like (${alias[0].toFixed(1)}, ${alias[1].toFixed(1)}): ${Math.round(100 * alike[k])} % similar`;
    const sigmaText = sigma[k] == null ? "" : `, σ ${sigma[k].toFixed(3)} m`;
    return `At (${x.toFixed(1)}, ${y.toFixed(1)}): ${Math.round(100 * unique[k])} % of the headings unique${sigmaText}${aliasText}.`;
  }

  /** @returns {Mark[]} */
  marks() {
    if (!this.result) return [];
    const { ramp, low, high, log } = LAYERS[this.layer];
    const hasTwo = this.result.layers.length === 2;
    const f = log ? Math.log : (/** @type {number} */ v) => v;
    /** @type {Mark[]} */
    const marks = this.result.layers.map((/** @type {any} */ layer, /** @type {number} */ which) => ({
      kind: "squares", points: layer.places, size: layer.spacing, ramp, alpha: this.alpha,
      values: layer.columns[this.layer].map((/** @type {number | null} */ v) => (v == null ? NaN : (f(Math.max(low, v)) - f(low)) / (f(high) - f(low)))),
      clip: hasTwo ? (which ? [this.split, 1.01] : [-0.01, this.split]) : undefined,
    }));
    const areas = this.result.layers[0].areas.slice(0, 8);
    marks.push(...areas.map((/** @type {any} */ area, /** @type {number} */ k) => ({ kind: "text", at: [area.x, area.y], label: `${k + 1}` })));
    if (this.selection) {
      const layer = this.result.layers[this.selection.which];
      const here = layer.places[this.selection.k];
      marks.push({ kind: "discs", points: [[...here, layer.spacing]], colour: "ink", hollow: true, width: 2 });
      const alias = layer.aliases[this.selection.k];
      // Places that look most like the selected one.
      const confused = layer.aliases
        .map((/** @type {number[]} */ to, /** @type {number} */ k) => ({ k, gap: to[0] == null ? Infinity : Math.hypot(to[0] - here[0], to[1] - here[1]) }))
        .filter((/** @type {any} */ row) => row.gap < 2 * layer.spacing)
        .slice(0, ARCS);
      for (const { k } of confused) marks.push({ kind: "arc", at: here, to: layer.places[k], colour: "rival", width: 1, alpha: 0.5 });
      if (alias[0] != null) marks.push({ kind: "arc", at: here, to: alias, colour: "astray", width: 2.5 });
    }
    return marks;
  }

  /** @param {number[]} world @param {number} [which] */
  pick(world, which = 0) {
    const layer = this.result?.layers[which];
    if (!layer) return;
    let [best, minDistance] = [-1, Infinity];
    for (const [k, [x, y]] of layer.places.entries()) {
      const gap = Math.hypot(x - world[0], y - world[1]);
      if (gap < minDistance) [best, minDistance] = [k, gap];
    }
    this.selection = minDistance < 3 * layer.spacing ? { k: best, which } : null;
    const words = this.studio.panel.querySelector(".picked");
    if (words) words.textContent = this.words();
    this.studio.refresh();
  }

  /** @param {[number, number]} world @param {PointerEvent} event */
  grab(world, event) {
    if (!this.result) return null;
    const begin = [event.clientX, event.clientY];
    const { stage } = this.studio;
    const which = this.result.layers.length === 2 && event.offsetX > this.split * stage.view.width ? 1 : 0;
    const up = (/** @type {PointerEvent} */ end) => {
      if (Math.hypot(end.clientX - begin[0], end.clientY - begin[1]) < 5) this.pick(world, which);
    };
    stage.canvas.addEventListener("pointerup", up, { once: true });
    return null;
  }
}

/** @param {number} range */
const sensorOf = (range) => ({ field_of_view: 360, beams: 360, range_max: range, noise: 0.05, clutter: 0, rings: 16 });
