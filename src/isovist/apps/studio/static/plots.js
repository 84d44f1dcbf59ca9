// Two plots over the time of a drive: λ_min and the probability of the best place.

import { h } from "studio/dom.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("uplot")} UPlot */

const HEIGHT = 110;

export class Plots {
  constructor() {
    this.home = h("div", { className: "plots" });
    /** @type {UPlot[]} */
    this.plots = [];
    /** @type {(number | null)[][]} */
    this.rows = [[], [], []];
  }

  /** @param {Studio} studio */
  async make(studio) {
    this.remove();
    if (!studio.hasVendor) {
      this.home.replaceChildren(h("p", { className: "fine" }, "This installation has no plots. Run `make studio` to add them."));
      return;
    }
    if (!document.querySelector("link[data-plots]")) {
      document.head.append(h("link", { rel: "stylesheet", href: "/static/vendor/uPlot.min.css", "data-plots": "" }));
    }
    const { default: UPlot } = await import("uplot");
    this.remove();
    const { palette } = studio.stage;
    const width = Math.max(200, this.home.clientWidth || 320);
    const axis = { stroke: palette.soft, grid: { stroke: palette.soft + "33", width: 1 }, font: "11px system-ui", size: 34 };
    /** @param {string} title @param {string} colour @param {any} scale @param {any} [extra] */
    const plot = (title, colour, scale, extra = {}) =>
      new UPlot({
        width, height: HEIGHT, title, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: false }, y: scale },
        axes: [{ ...axis, size: 24 }, { ...axis, ...extra, size: 46 }],
        series: [{}, { stroke: colour, width: 1.5, points: { show: false } }],
      }, [[], []], this.home);
    this.plots = [
      plot("probability of the best place", palette.best, { range: [0, 1.02] }),
      plot("λ_min in 1/m², over s", palette.ahead, { distr: 3 }, { values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map((v) => (v == null ? "" : v.toExponential(0).replace("e+", "e"))) }),
    ];
    for (const [k, words] of ["Probability of the best place over time", "λ_min over time"].entries()) {
      this.plots[k].ctx.canvas.setAttribute("role", "img");
      this.plots[k].ctx.canvas.setAttribute("aria-label", words);
    }
    this.draw();
  }

  remove() {
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.home.replaceChildren();
  }

  /** @param {any[]} updates */
  data(updates) {
    const start = updates[0]?.update.time ?? 0;
    this.rows = [
      updates.map(({ update }) => update.time - start),
      updates.map(({ update }) => update.estimates[0]?.probability ?? 0),
      updates.map(({ update }) => (update.lambda_min > 0 ? update.lambda_min : null)),
    ];
    this.draw();
  }

  draw() {
    for (const [k, plot] of this.plots.entries()) {
      plot.setData(/** @type {any} */ ([this.rows[0], this.rows[k + 1]]));
    }
  }

  /** @param {number} index The moment that is shown. */
  mark(index) {
    for (const plot of this.plots) {
      const left = plot.valToPos(this.rows[0][index] ?? 0, "x");
      plot.setCursor({ left, top: 10 }, false);
    }
  }
}
