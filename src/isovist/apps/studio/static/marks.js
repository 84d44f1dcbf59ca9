// The one drawing vocabulary: marks are plain data, in m and rad, with colours by name.  The same
// marks go to the canvas, to SVG, to a shared file and, with heights, to the view in space.

/** @typedef {import("studio/pens.js").Pen} Pen */
/** @typedef {number[]} Point  x, y and perhaps z, in m. */
/**
 * What part of the world is shown where: (x, y) in the middle, `scale` pixels per m.
 * @typedef {{x: number, y: number, scale: number, width: number, height: number}} View
 */
/**
 * @typedef {object} Mark
 * @property {"robot" | "ellipse" | "dots" | "beams" | "line" | "area" | "squares" | "discs" | "text" |
 *   "arc" | "cross"} kind
 * @property {Point[]} [points]
 * @property {Point} [at]
 * @property {Point} [to]
 * @property {number[]} [pose]  x, y, yaw and perhaps z.
 * @property {string} [colour]
 * @property {string[]} [colours]  One per point.
 * @property {number[]} [values]  One per point, from 0 to 1; NaN and null are left out.
 * @property {number[]} [half]  Half axes in m.
 * @property {number} [turn]  In rad.
 * @property {number} [size]  In m for robots and squares, in pixels for dots.
 * @property {number} [width]  In pixels.
 * @property {number} [alpha]
 * @property {boolean} [dashed]
 * @property {boolean} [arrow]
 * @property {boolean} [hollow]
 * @property {string} [label]
 * @property {string} [ramp]
 * @property {number[]} [clip]  Shares of the width between which it is drawn.
 */

/** Colours that also those can tell apart who see no red or no green (after Okabe and Ito). */
export const THEMES = {
  light: {
    ink: "#1d2b36", soft: "#55656f", paper: "#ffffff", unknown: "#dfe6ea", free: "#ffffff",
    wall: "#22303c", grid: "#0b2a3f", best: "#0072b2", rival: "#a4518a", truth: "#1d2b36",
    fits: "#009e73", astray: "#d55e00", plain: "#8a99a5", way: "#0072b2", ahead: "#b06f00",
    unique: "#00785a", ambiguous: "#8a5a00", lost: "#b23a00", isovist: "#0072b2", heat: "#d55e00",
  },
  dark: {
    ink: "#e8eef2", soft: "#a7b6c1", paper: "#121a21", unknown: "#1b252e", free: "#0d1318",
    wall: "#c8d5de", grid: "#9fc4de", best: "#56b4e9", rival: "#e39ac9", truth: "#ffffff",
    fits: "#35d0a5", astray: "#ff9a4d", plain: "#7b8a96", way: "#56b4e9", ahead: "#f0c04a",
    unique: "#35d0a5", ambiguous: "#f0b429", lost: "#ff8f66", isovist: "#56b4e9", heat: "#ffb066",
  },
};
/** @typedef {typeof THEMES.light} Palette */

/** @type {Record<string, number[][]>} Stops of colour ramps that get lighter evenly. */
const RAMPS = {
  good: [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]],
  bad: [[252, 253, 191], [254, 159, 109], [222, 73, 104], [140, 41, 129], [59, 15, 112]],
};

/** @param {string} name @param {number} share @returns {string} */
export function rampColour(name, share) {
  const stops = RAMPS[name] ?? RAMPS.good;
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(at));
  const mix = stops[k].map((v, i) => Math.round(v + (at - k) * (stops[k + 1][i] - v)));
  return `rgb(${mix.join(",")})`;
}

/** @param {View} view @param {number[]} point @returns {[number, number]} Pixels. */
export function toScreen(view, point) {
  return [
    view.width / 2 + (point[0] - view.x) * view.scale,
    view.height / 2 - (point[1] - view.y) * view.scale,
  ];
}

/** @param {View} view @param {number} px @param {number} py @returns {[number, number]} In m. */
export function toWorld(view, px, py) {
  return [view.x + (px - view.width / 2) / view.scale, view.y - (py - view.height / 2) / view.scale];
}

/** Places of a robot's outline, nose ahead, for a robot of length 1. */
const BODY = [[0.62, 0], [0.2, 0.38], [-0.42, 0.38], [-0.42, -0.38], [0.2, -0.38]];

/**
 * A point given in the frame of a pose, in the world.
 * @param {number[]} pose @param {number[]} p @returns {Point}
 */
export function toMap(pose, p) {
  const [c, s] = [Math.cos(pose[2]), Math.sin(pose[2])];
  const flat = [pose[0] + c * p[0] - s * p[1], pose[1] + s * p[0] + c * p[1]];
  return p.length > 2 ? [...flat, (pose[3] ?? 0) + p[2]] : flat;
}

/**
 * Draw marks one over another.
 * @param {Pen} pen @param {View} view @param {Mark[]} marks @param {Palette} palette
 */
export function drawMarks(pen, view, marks, palette) {
  pen.lineJoin = "round";
  for (const mark of marks) {
    const colour = /** @type {Record<string, string>} */ (palette)[mark.colour ?? "ink"] ?? palette.ink;
    pen.globalAlpha = mark.alpha ?? 1;
    pen.setLineDash(mark.dashed ? [6, 5] : []);
    pen.lineWidth = mark.width ?? 1.5;
    pen.strokeStyle = pen.fillStyle = colour;
    DRAW[mark.kind](pen, view, mark, palette, colour);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}

/** @param {Pen} pen @param {View} view @param {Point[]} points */
function trace(pen, view, points) {
  pen.beginPath();
  for (const [k, point] of points.entries()) {
    const [x, y] = toScreen(view, point);
    if (k) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  }
}

/**
 * A text that can be read on anything.
 * @param {Pen} pen @param {Palette} palette @param {string} text @param {number} x @param {number} y
 */
function write(pen, palette, text, x, y) {
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.lineWidth = 3;
  pen.strokeStyle = palette.paper;
  pen.strokeText(text, x, y);
  pen.fillStyle = palette.ink;
  pen.fillText(text, x, y);
}

/** @type {Record<Mark["kind"], (pen: Pen, view: View, mark: Mark, palette: Palette, colour: string) => void>} */
const DRAW = {
  robot(pen, view, mark, palette, colour) {
    const pose = mark.pose ?? [0, 0, 0];
    const size = Math.max(mark.size ?? 0.6, 20 / view.scale);
    trace(pen, view, BODY.map(([x, y]) => toMap(pose, [x * size, y * size])));
    pen.closePath();
    if (!mark.hollow) pen.fill();
    pen.strokeStyle = mark.hollow ? colour : palette.paper;
    pen.lineWidth = mark.hollow ? 2 : 1.2;
    pen.stroke();
    if (!mark.label) return;
    const [x, y] = toScreen(view, pose);
    pen.globalAlpha = 1;
    write(pen, palette, mark.label, x + 6 + 0.5 * size * view.scale, y - 8);
  },
  ellipse(pen, view, mark) {
    const [x, y] = toScreen(view, mark.at ?? [0, 0]);
    const [a, b] = (mark.half ?? [0, 0]).map((v) => Math.max(1.5, v * view.scale));
    pen.beginPath();
    pen.ellipse(x, y, a, b, -(mark.turn ?? 0), 0, 2 * Math.PI);
    pen.stroke();
  },
  dots(pen, view, mark, palette, colour) {
    const size = mark.size ?? 3;
    for (const [k, point] of (mark.points ?? []).entries()) {
      const name = mark.colours?.[k];
      if (mark.values) pen.fillStyle = rampColour(mark.ramp ?? "good", mark.values[k]);
      else pen.fillStyle = name ? /** @type {Record<string, string>} */ (palette)[name] : colour;
      const [x, y] = toScreen(view, point);
      pen.fillRect(x - size / 2, y - size / 2, size, size);
    }
  },
  beams(pen, view, mark, palette) {
    const [x0, y0] = toScreen(view, mark.at ?? [0, 0]);
    const names = new Set(mark.colours);
    pen.lineWidth = mark.width ?? 1;
    const alpha = pen.globalAlpha;
    for (const name of names) {
      pen.strokeStyle = pen.fillStyle = /** @type {Record<string, string>} */ (palette)[name];
      const some = (mark.points ?? []).filter((_, k) => mark.colours?.[k] === name);
      pen.beginPath();
      for (const point of some) {
        const [x, y] = toScreen(view, point);
        pen.moveTo(x0, y0);
        pen.lineTo(x, y);
      }
      pen.globalAlpha = 0.22 * alpha;
      pen.stroke();
      pen.globalAlpha = alpha;
      for (const point of some) {
        const [x, y] = toScreen(view, point);
        pen.fillRect(x - 1.75, y - 1.75, 3.5, 3.5);
      }
    }
  },
  line(pen, view, mark) {
    const points = mark.points ?? [];
    if (points.length < 2) return;
    trace(pen, view, points);
    pen.stroke();
    if (!mark.arrow) return;
    const [[x0, y0], [x1, y1]] = points.slice(-2).map((p) => toScreen(view, p));
    const angle = Math.atan2(y1 - y0, x1 - x0);
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x1, y1);
    for (const side of [-0.45, 0.45]) {
      pen.lineTo(x1 - 9 * Math.cos(angle + side), y1 - 9 * Math.sin(angle + side));
    }
    pen.closePath();
    pen.fill();
  },
  area(pen, view, mark) {
    trace(pen, view, mark.points ?? []);
    pen.closePath();
    pen.fill();
  },
  squares(pen, view, mark) {
    const half = ((mark.size ?? 0.25) * view.scale) / 2;
    const [from, to] = (mark.clip ?? [0, 1]).map((share) => share * view.width);
    for (const [k, point] of (mark.points ?? []).entries()) {
      const value = mark.values?.[k];
      const [x, y] = toScreen(view, point);
      if (value == null || Number.isNaN(value) || x < from || x >= to) continue;
      if (x < -half || y < -half || y > view.height + half) continue;
      pen.fillStyle = rampColour(mark.ramp ?? "good", value);
      // Whole pixels, so that neighbours neither overlap nor leave a gap.
      const [left, top] = [Math.round(x - half), Math.round(y - half)];
      pen.fillRect(left, top, Math.round(x + half) - left, Math.round(y + half) - top);
    }
  },
  discs(pen, view, mark) {
    for (const [px, py, radius] of mark.points ?? []) {
      const [x, y] = toScreen(view, [px, py]);
      const r = Math.max(2, radius * view.scale);
      pen.beginPath();
      pen.ellipse(x, y, r, r, 0, 0, 2 * Math.PI);
      if (mark.hollow) pen.stroke();
      else pen.fill();
    }
  },
  text(pen, view, mark, palette) {
    const [x, y] = toScreen(view, mark.at ?? [0, 0]);
    write(pen, palette, mark.label ?? "", x + 4, y);
  },
  arc(pen, view, mark) {
    const [x0, y0] = toScreen(view, mark.at ?? [0, 0]);
    const [x1, y1] = toScreen(view, mark.to ?? [0, 0]);
    const [dx, dy] = [x1 - x0, y1 - y0];
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.quadraticCurveTo(x0 + dx / 2 + dy * 0.18, y0 + dy / 2 - dx * 0.18, x1, y1);
    pen.stroke();
    pen.beginPath();
    pen.ellipse(x1, y1, 3.5, 3.5, 0, 0, 2 * Math.PI);
    pen.fill();
  },
  cross(pen, view, mark) {
    const [x, y] = toScreen(view, mark.at ?? [0, 0]);
    const r = mark.size ?? 8;
    pen.beginPath();
    for (const [dx, dy] of [[r, 0], [0, r]]) {
      pen.moveTo(x - dx, y - dy);
      pen.lineTo(x + dx, y + dy);
    }
    pen.lineWidth = mark.width ?? 2;
    pen.stroke();
  },
};
