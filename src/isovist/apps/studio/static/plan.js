// Plans as pictures: cells by code, coloured by theme, at several sizes so that walls are never lost.

import { toScreen } from "studio/marks.js";

/** @typedef {import("studio/marks.js").View} View */
/** @typedef {import("studio/marks.js").Palette} Palette */
/**
 * Cells of a plan by code (0 free, 1 wall, 2 unknown), highest row first, and where they are.
 * @typedef {{codes: Uint8Array, rows: number, columns: number, resolution: number,
 *   origin: number[]}} Plan
 */

const LEVELS = 5;

/**
 * @param {string} address Of an image whose grey values are codes.
 * @param {number} rows @param {number} columns
 * @returns {Promise<Uint8Array>}
 */
export async function readCodes(address, rows, columns) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = new OffscreenCanvas(columns, rows);
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (
    canvas.getContext("2d", { willReadFrequently: true })
  );
  pen.drawImage(image, 0, 0);
  const data = pen.getImageData(0, 0, columns, rows).data;
  const codes = new Uint8Array(rows * columns);
  for (let k = 0; k < codes.length; k++) codes[k] = data[4 * k];
  return codes;
}

/**
 * Two by two cells as one: a wall if one of them is, else free if one is.
 * @param {Uint8Array} codes @param {number} rows @param {number} columns
 */
function halved(codes, rows, columns) {
  const [high, wide] = [Math.ceil(rows / 2), Math.ceil(columns / 2)];
  const out = new Uint8Array(high * wide);
  for (let r = 0; r < high; r++) {
    for (let c = 0; c < wide; c++) {
      let best = 2;
      for (let k = 0; k < 4; k++) {
        const [y, x] = [2 * r + (k >> 1), 2 * c + (k & 1)];
        if (y >= rows || x >= columns) continue;
        const code = codes[y * columns + x];
        if (code === 1) best = 1;
        else if (code === 0 && best === 2) best = 0;
      }
      out[r * wide + c] = best;
    }
  }
  return { codes: out, rows: high, columns: wide };
}

/** A plan in the colours of one theme. */
export class Pictures {
  /** @param {Plan} plan */
  constructor(plan) {
    this.plan = plan;
    /** @type {Map<number, OffscreenCanvas>} */
    this.levels = new Map();
  }

  /**
   * The plan in cells that are about as large as pixels, and where its pixels go.
   * @param {View} view @param {Palette} palette
   */
  at(view, palette) {
    const { plan } = this;
    const cell = plan.resolution * view.scale;
    const level = Math.min(LEVELS - 1, Math.max(0, Math.floor(Math.log2(1.4 / cell))));
    let image = this.levels.get(level);
    if (!image) {
      let part = { codes: plan.codes, rows: plan.rows, columns: plan.columns };
      for (let k = 0; k < level; k++) part = halved(part.codes, part.rows, part.columns);
      image = coloured(part.codes, part.rows, part.columns, palette);
      this.levels.set(level, image);
    }
    const side = plan.resolution * 2 ** level * view.scale;
    const [x, y, yaw] = plan.origin;
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    // The first row is the highest: its corner is where the rows end.
    const high = plan.rows * plan.resolution;
    const [px, py] = toScreen(view, [x - s * high, y + c * high]);
    return { level, image, matrix: [side * c, -side * s, side * s, side * c, px, py] };
  }
}

/**
 * @param {Uint8Array} codes @param {number} rows @param {number} columns @param {Palette} palette
 */
function coloured(codes, rows, columns, palette) {
  const shades = [palette.free, palette.wall, palette.unknown].map((hex) => {
    const value = parseInt(hex.slice(1), 16);
    return (255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
  });
  const canvas = new OffscreenCanvas(columns, rows);
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const data = pen.createImageData(columns, rows);
  const words = new Int32Array(data.data.buffer);
  for (let k = 0; k < codes.length; k++) words[k] = shades[codes[k]] ?? shades[2];
  pen.putImageData(data, 0, 0);
  return canvas;
}
