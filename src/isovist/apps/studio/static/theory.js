// Theory: the room of the paper.  Drag the point: what it sees, what its descriptor keeps of that.

import { ask } from "studio/server.js";
import { select, h, slider, checkbox } from "studio/dom.js";
import { drawMarks } from "studio/marks.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */

const POLAR = 260; // pixels
const ARROWS = 1.1; // m, of the longest arrow of J

export class Theory {
  /** @param {Studio} studio */
  constructor(studio) {
    this.studio = studio;
    this.name = "Theory";
    /** @type {any} */
    this.result = null;
    this.busy = this.again = this.failed = false;
    this.hasSecondPoint = true;
    this.hasShadow = true;
    this.canvas = h("canvas", { width: 2 * POLAR, height: 2 * POLAR, className: "polar", role: "img", "aria-label": "Range and weights over the direction" });
    this.home = h("div", { className: "answer" });
  }

  /** @returns {any} The points and the directional basis. */
  get settings() {
    return this.studio.state.theory;
  }

  enter() {
    const { studio, settings } = this;
    const again = (/** @type {boolean} */ last) => {
      this.ask();
      if (last) studio.save();
    };
    studio.stage.setPlan(null, [[0, 0], [6, 4]]);
    studio.panel.replaceChildren(
      h("p", { className: "fine" }, "The example room of the paper. Drag the points; all numbers are computed exactly."),
      slider("Directions n", "", { min: 3, max: 64, step: 1, value: settings.channels }, (value, last) => { settings.channels = value; again(last); }),
      slider("Temperature ε", "", { min: 0.05, max: 2, step: 0.05, value: settings.temperature }, (value, last) => { settings.temperature = value; again(last); }),
      select("Profile", [["softmax", "softmax"], ["bump", "bump"], ["cosine", "cosine power"]], settings.profile, (value) => { settings.profile = value; again(true); }),
      h("div", { className: "row", "data-live": "" },
        checkbox("second point", this.hasSecondPoint, (on) => { this.hasSecondPoint = on; this.ask(); }),
        checkbox("shadow term in J", this.hasShadow, (on) => { this.hasShadow = on; this.render(); studio.refresh(); })),
      this.canvas,
      this.home,
    );
    this.ask();
  }

  leave() {
    this.studio.restorePlan();
  }

  async ask() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    const { x, y, other_x, other_y, channels, temperature, profile } = this.settings;
    try {
      this.result = await ask("/theory", { x, y, channels, temperature, profile, ...(this.hasSecondPoint ? { other_x, other_y } : {}) });
      if (this.failed) this.studio.toast("");
      this.failed = false;
    } catch (error) {
      this.failed = true;
      this.studio.showError(error);
    }
    this.busy = false;
    if (this.again) {
      this.again = false;
      this.ask();
    }
    if (this.studio.tab !== this) return;
    this.render();
    this.studio.refresh();
  }

  get slopes() {
    return this.hasShadow ? this.result.J : this.result.J_without_shadow;
  }

  render() {
    const result = this.result;
    if (!result) return;
    this.polar();
    const most = Math.max(...result.F, ...(result.other?.F ?? []));
    const rows = result.F.map((/** @type {number} */ value, /** @type {number} */ k) => {
      const other = result.other?.F[k];
      const title = `F${k + 1} = ${value.toFixed(4)} m${other == null ? "" : `, at the other point ${other.toFixed(4)} m`}`;
      return h("span", { className: "column", title },
        h("i", { className: "best", style: `height:${(100 * value) / most}%` }),
        other == null ? "" : h("i", { className: "rival", style: `height:${(100 * other) / most}%` }));
    });
    const [s1, s2] = result.singular_values;
    const { rank, condition, norm } = result.gram;
    const lines = [
      ["point", `(${result.point.map((/** @type {number} */ v) => v.toFixed(3)).join(", ")}) m`],
      ["σ₁, σ₂ = μ of J", `${s1.toFixed(3)}, ${s2.toFixed(3)}`],
      ["Gram: rank, condition", `${rank} of ${result.F.length}, ${condition.toPrecision(3)}`],
      ["|f| = √(Fᵀ G⁻¹ F)", `${norm.toFixed(4)} m`],
      ...(result.other ? [["|f_p − f_q|", `${result.other.distance.toFixed(4)} m`], ["‖F_p − F_q‖₂", `${result.other.plain.toFixed(4)}`]] : []),
    ];
    this.home.replaceChildren(
      h("h2", {}, "F, channel by channel"),
      h("div", { className: "columns", role: "img", "aria-label": `F from ${Math.min(...result.F).toFixed(3)} to ${Math.max(...result.F).toFixed(3)} m` }, ...rows),
      h("table", {}, ...lines.map(([name, value]) => h("tr", {}, h("th", {}, name), h("td", {}, value)))),
    );
  }

  /** Draw the range, its reconstruction from the descriptor, and the weights, over the direction. */
  polar() {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const { palette } = this.studio.stage;
    const { result } = this;
    const reach = Math.max(...result.range) * 1.12;
    const view = { x: 0, y: 0, scale: POLAR / (2 * reach), width: POLAR, height: POLAR };
    /** @param {number[]} radii @param {number} [factor] */
    const around = (radii, factor = 1) =>
      [...radii, radii[0]].map((r, k) => {
        const angle = (2 * Math.PI * k) / radii.length;
        return [factor * r * Math.cos(angle), factor * r * Math.sin(angle)];
      });
    /** @type {Mark[]} */
    const marks = [
      { kind: "discs", points: [[0, 0, reach / 2.24], [0, 0, reach / 1.12]], colour: "soft", hollow: true, alpha: 0.35, width: 1 },
      { kind: "area", points: around(result.range), colour: "isovist", alpha: 0.15 },
      ...result.weights.map((/** @type {number[]} */ w) => ({ kind: "line", points: around(w, reach / 1.12), colour: "soft", width: 1, alpha: 0.6 })),
      { kind: "line", points: around(result.range), colour: "ink", width: 1.6 },
      { kind: "line", points: around(result.remembered), colour: "astray", width: 1.6 },
    ];
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, POLAR, POLAR);
    drawMarks(pen, view, marks, palette);
    pen.font = "11px system-ui";
    pen.textAlign = "left";
    for (const [k, [colour, words]] of [[palette.ink, "f(θ), the range"], [palette.astray, "f̂(θ), reconstructed from F"], [palette.soft, "weights w_i(θ)"]].entries()) {
      pen.fillStyle = colour;
      pen.fillText(words, 4, 14 + 13 * k);
    }
  }

  /** @returns {Mark[]} */
  marks() {
    const { result, settings } = this;
    /** @type {Mark[]} */
    const marks = [];
    if (result) {
      const [x, y] = result.point;
      if (result.other) marks.push({ kind: "area", points: result.other.outline, colour: "rival", alpha: 0.12 });
      marks.push({ kind: "area", points: result.outline, colour: "isovist", alpha: 0.16 });
      for (const [x0, y0, x1, y1] of result.shadows) {
        marks.push({ kind: "line", points: [[x, y], [x0, y0]], colour: "soft", width: 1, alpha: 0.6, dashed: true });
        marks.push({ kind: "line", points: [[x0, y0], [x1, y1]], colour: "ahead", width: 2 });
      }
      const remembered = result.remembered.map((/** @type {number} */ r, /** @type {number} */ k) => {
        const angle = (2 * Math.PI * k) / result.remembered.length;
        return [x + Math.max(0, r) * Math.cos(angle), y + Math.max(0, r) * Math.sin(angle)];
      });
      marks.push({ kind: "line", points: [...remembered, remembered[0]], colour: "astray", width: 1.4, alpha: 0.8 });
      for (const wall of result.walls) marks.push({ kind: "line", points: [wall.slice(0, 2), wall.slice(2)], colour: "wall", width: 3 });
      const slopes = this.slopes;
      const longest = Math.max(1e-9, ...slopes.map((/** @type {number[]} */ s) => Math.hypot(s[0], s[1])));
      for (const [k, [dx, dy]] of result.directions.entries()) {
        const base = [x + 0.28 * dx, y + 0.28 * dy];
        const [jx, jy] = slopes[k].map((/** @type {number} */ v) => (ARROWS * v) / longest);
        marks.push({ kind: "line", points: [base, [base[0] + jx, base[1] + jy]], colour: "fits", width: 1.6, arrow: true });
      }
    }
    if (this.hasSecondPoint) marks.push({ kind: "robot", pose: [settings.other_x, settings.other_y, 0], colour: "rival", size: 0.2, label: "q" });
    marks.push({ kind: "robot", pose: [settings.x, settings.y, 0], colour: "best", size: 0.2, label: "p" });
    return marks;
  }

  /** @param {[number, number]} world */
  grab(world) {
    const { settings, studio } = this;
    /** @param {number} x @param {number} y */
    const gap = (x, y) => Math.hypot(world[0] - x, world[1] - y) * studio.stage.view.scale;
    const first = gap(settings.x, settings.y) < 30;
    if (!first && !(this.hasSecondPoint && gap(settings.other_x, settings.other_y) < 30)) return null;
    return (/** @type {[number, number]} */ to, /** @type {boolean} */ last) => {
      Object.assign(settings, first ? { x: to[0], y: to[1] } : { other_x: to[0], other_y: to[1] });
      this.ask();
      if (last) studio.save();
      studio.refresh();
    };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, number[]>} */
    const ways = { ArrowLeft: [-0.05, 0], ArrowRight: [0.05, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] };
    const way = ways[event.key];
    if (!way || !event.shiftKey) return false;
    this.settings.x += way[0];
    this.settings.y += way[1];
    this.ask();
    this.studio.save();
    return true;
  }
}
