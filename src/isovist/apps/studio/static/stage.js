// The stage: a plan that can be panned and zoomed, with marks on it.  Used by the studio and, as it
// is, by shared files.

import { SvgPen } from "studio/pens.js";
import { Pictures } from "studio/plan.js";
import { THEMES, drawMarks, toScreen, toWorld } from "studio/marks.js";

/** @typedef {import("studio/marks.js").Mark} Mark */
/** @typedef {import("studio/marks.js").View} View */
/** @typedef {import("studio/plan.js").Plan} Plan */
/**
 * What a drag that begins at a place does: called with the place while it goes on and at its end.
 * @typedef {(world: [number, number], last: boolean) => void} Drag
 */

const CLOSEST = 2000; // pixels per m
const STEPS = [1, 2, 5];

export class Stage {
  /** @param {HTMLElement} home Filled by the stage. */
  constructor(home) {
    this.home = home;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Map. Arrows move it, plus and minus zoom.");
    home.append(this.canvas);
    this.pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    /** @type {View} */
    this.view = { x: 0, y: 0, scale: 30, width: 300, height: 300 };
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {Plan | null} */
    this.plan = null;
    /** @type {Pictures | null} */
    this.pictures = null;
    this.bounds = [[0, 0], [1, 1]];
    this.theme = "light";
    this.grid = true;
    /** @type {(world: [number, number], event: PointerEvent) => Drag | null} */
    this.grab = () => null;
    /** @type {(world: [number, number] | null) => void} */
    this.hover = () => {};
    this.changed = () => {};
    this.pending = false;
    this.frames = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(home);
    this.resize();
  }

  get palette() {
    return this.theme === "dark" ? THEMES.dark : THEMES.light;
  }

  /** @param {Plan | null} plan @param {number[][]} bounds Corners of what is worth seeing, in m. */
  setPlan(plan, bounds) {
    this.plan = plan;
    this.bounds = bounds;
    this.pictures = plan && new Pictures(plan);
    this.fit();
  }

  /** @param {string} theme */
  setTheme(theme) {
    this.theme = theme;
    this.pictures = this.plan && new Pictures(this.plan);
    this.draw();
  }

  /** @param {Mark[]} marks */
  setMarks(marks) {
    this.marks = marks;
    this.draw();
  }

  /** Show the whole map. */
  fit() {
    const [[x0, y0], [x1, y1]] = this.bounds;
    const { width, height } = this.view;
    this.view.scale = Math.min(width / (x1 - x0), height / (y1 - y0)) * 0.94;
    this.view.x = (x0 + x1) / 2;
    this.view.y = (y0 + y1) / 2;
    this.draw();
    this.changed();
  }

  /** @param {number} factor @param {number} [px] @param {number} [py] What stays where it is. */
  zoom(factor, px = this.view.width / 2, py = this.view.height / 2) {
    const before = toWorld(this.view, px, py);
    const least = 20 / Math.max(this.bounds[1][0] - this.bounds[0][0], 1);
    this.view.scale = Math.min(CLOSEST, Math.max(least, this.view.scale * factor));
    const after = toWorld(this.view, px, py);
    this.view.x += before[0] - after[0];
    this.view.y += before[1] - after[1];
    this.draw();
    this.changed();
  }

  /** @param {number} dx @param {number} dy In pixels. */
  move(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.draw();
    this.changed();
  }

  resize() {
    const { clientWidth, clientHeight } = this.home;
    if (!clientWidth || !clientHeight) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    const first = this.view.width === 300 && this.view.height === 300;
    this.view.width = clientWidth;
    this.view.height = clientHeight;
    if (first) this.fit();
    else this.draw();
  }

  /** Draw at the next frame. */
  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const { pen, view, palette } = this;
    const ratio = this.canvas.width / view.width;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = this.plan ? palette.unknown : palette.free;
    pen.fillRect(0, 0, view.width, view.height);
    if (this.pictures) {
      const { level, image, matrix } = this.pictures.at(view, palette);
      pen.setTransform(...scaled(matrix, ratio));
      pen.imageSmoothingEnabled = level > 0;
      pen.drawImage(image, 0, 0);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.furnish(pen, false);
    drawMarks(pen, view, this.marks, palette);
    this.furnish(pen, true);
    this.frames += 1;
  }

  /**
   * The grid below the marks; the scale bar and north above them.
   * @param {import("studio/pens.js").Pen} pen @param {boolean} above
   */
  furnish(pen, above) {
    const { view, palette } = this;
    const step = niceStep(90 / view.scale);
    if (!above) {
      if (!this.grid) return;
      pen.beginPath();
      const [x0, y1] = toWorld(view, 0, 0);
      const [x1, y0] = toWorld(view, view.width, view.height);
      for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) {
        const [px] = toScreen(view, [x, 0]);
        pen.moveTo(px, 0);
        pen.lineTo(px, view.height);
      }
      for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) {
        const [, py] = toScreen(view, [0, y]);
        pen.moveTo(0, py);
        pen.lineTo(view.width, py);
      }
      pen.strokeStyle = palette.grid;
      pen.lineWidth = 1;
      pen.globalAlpha = 0.09;
      pen.stroke();
      pen.globalAlpha = 1;
      return;
    }
    const [x, y, long] = [16, view.height - 18, step * view.scale];
    pen.globalAlpha = 0.75;
    pen.fillStyle = palette.paper;
    pen.fillRect(x - 6, y - 22, long + 12, 28);
    pen.fillRect(12, 12, 28, 40);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = palette.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    for (const [px, py] of [[x, y - 5], [x, y], [x + long, y], [x + long, y - 5]]) pen.lineTo(px, py);
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    pen.fillText(step >= 1 ? `${step} m` : `${Math.round(step * 100)} cm`, x + long / 2, y - 7);
    const [nx, ny] = [26, 30];
    pen.beginPath();
    for (const [px, py] of [[nx, ny - 14], [nx + 6, ny + 4], [nx, ny], [nx - 6, ny + 4]]) {
      pen.lineTo(px, py);
    }
    pen.closePath();
    pen.fill();
    pen.fillText("y", nx, ny + 17);
  }

  /** @returns {string} What is shown as SVG; the plan as an image inside. */
  svg() {
    const pen = new SvgPen(Math.round(this.view.width), Math.round(this.view.height));
    pen.fillStyle = this.plan ? this.palette.unknown : this.palette.free;
    pen.fillRect(0, 0, pen.width, pen.height);
    if (this.pictures) {
      const { image, matrix } = this.pictures.at(this.view, this.palette);
      const canvas = document.createElement("canvas");
      canvas.width = image.width;
      canvas.height = image.height;
      canvas.getContext("2d")?.drawImage(image, 0, 0);
      pen.image(canvas.toDataURL("image/png"), matrix, image.width, image.height);
    }
    this.furnish(pen, false);
    drawMarks(pen, this.view, this.marks, this.palette);
    this.furnish(pen, true);
    return pen.text();
  }

  listen() {
    const { canvas } = this;
    /** @type {Map<number, [number, number]>} */
    const held = new Map();
    /** @type {Drag | null} */
    let drag = null;
    /** @param {PointerEvent | WheelEvent} event @returns {[number, number]} */
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, at(event));
      drag = held.size === 1 ? this.grab(toWorld(this.view, ...at(event)), event) : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = at(event);
      this.hover(toWorld(this.view, ...now));
      const before = held.get(event.pointerId);
      if (!before) return;
      held.set(event.pointerId, now);
      if (drag) {
        drag(toWorld(this.view, ...now), false);
      } else if (held.size === 2) {
        const other = [...held.entries()].find(([id]) => id !== event.pointerId)?.[1] ?? now;
        /** @param {[number, number]} p */
        const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.zoom(gap(now) / Math.max(1, gap(before)), other[0], other[1]);
      } else {
        this.move(now[0] - before[0], now[1] - before[1]);
      }
    });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      canvas.addEventListener(name, (event) => {
        if (drag) drag(toWorld(this.view, ...at(event)), true);
        drag = null;
        held.delete(event.pointerId);
      });
    }
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), ...at(event));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      /** @type {Record<string, [number, number]>} */
      const ways = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      const way = ways[event.key];
      if (!way || event.shiftKey || event.altKey) return;
      event.preventDefault();
      this.move(...way);
    });
  }
}

/** @param {number} least @returns {number} The next of 1, 2, 5, 10, … that is as long, in m. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((k) => k * power >= least) ?? 10) * power;
}

/** @param {number[]} m @param {number} k @returns {[number, number, number, number, number, number]} */
function scaled(m, k) {
  return [m[0] * k, m[1] * k, m[2] * k, m[3] * k, m[4] * k, m[5] * k];
}
