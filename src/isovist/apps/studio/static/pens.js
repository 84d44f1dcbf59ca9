// Pens: what marks are drawn with.  A canvas context is one; `SvgPen` writes the same as SVG.

/**
 * The part of a canvas context that marks use.
 * @typedef {Pick<CanvasRenderingContext2D, "fillStyle" | "strokeStyle" | "lineWidth" |
 *   "globalAlpha" | "font" | "textAlign" | "textBaseline" | "lineCap" | "lineJoin" | "setLineDash" |
 *   "beginPath" | "moveTo" | "lineTo" | "closePath" | "ellipse" | "quadraticCurveTo" | "fill" |
 *   "stroke" | "fillRect" | "fillText" | "strokeText">} Pen
 */

/** @param {string} text */
const escaped = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);

/** @param {number} value  Pixels, to a tenth. */
const px = (value) => `${Math.round(value * 10) / 10}`;

/** Writes what is drawn as elements of SVG. */
export class SvgPen {
  /** @param {number} width @param {number} height In pixels. */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {string[]} */
    this.parts = [];
    this.path = "";
    this.dash = "";
    this.fillStyle = this.strokeStyle = "#000";
    this.lineWidth = this.globalAlpha = 1;
    this.font = "12px sans-serif";
    /** @type {CanvasTextAlign} */
    this.textAlign = "left";
    /** @type {CanvasTextBaseline} */
    this.textBaseline = "alphabetic";
    /** @type {CanvasLineCap} */
    this.lineCap = "butt";
    /** @type {CanvasLineJoin} */
    this.lineJoin = "miter";
  }

  beginPath() {
    this.path = "";
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.path += `M${px(x)} ${px(y)}`;
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${px(x)} ${px(y)}`;
  }

  /** @param {number} cx @param {number} cy @param {number} x @param {number} y */
  quadraticCurveTo(cx, cy, x, y) {
    this.path += `Q${px(cx)} ${px(cy)} ${px(x)} ${px(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  /**
   * A whole ellipse.
   * @param {number} x @param {number} y @param {number} a @param {number} b @param {number} turn
   */
  ellipse(x, y, a, b, turn) {
    const [c, s] = [a * Math.cos(turn), a * Math.sin(turn)];
    const half = `${px(a)} ${px(b)} ${px((turn * 180) / Math.PI)} 1 1`;
    this.path +=
      `M${px(x + c)} ${px(y + s)}A${half} ${px(x - c)} ${px(y - s)}` +
      `A${half} ${px(x + c)} ${px(y + s)}Z`;
  }

  /** @param {number[]} lengths */
  setLineDash(lengths) {
    this.dash = lengths.length ? ` stroke-dasharray="${lengths.join(" ")}"` : "";
  }

  fill() {
    this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.opacity}/>`);
  }

  stroke() {
    const line = `stroke="${this.strokeStyle}" stroke-width="${px(this.lineWidth)}"`;
    this.parts.push(
      `<path d="${this.path}" fill="none" ${line} stroke-linecap="${this.lineCap}"` +
        ` stroke-linejoin="${this.lineJoin}"${this.dash}${this.opacity}/>`,
    );
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    const size = `width="${px(width)}" height="${px(height)}"`;
    this.parts.push(`<rect x="${px(x)}" y="${px(y)}" ${size} fill="${this.fillStyle}"${this.opacity}/>`);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end", end: "end" }[/** @type {string} */ (this.textAlign)];
    const line = this.textBaseline === "middle" ? ' dominant-baseline="middle"' : "";
    const style = `style="font:${escaped(this.font)}" text-anchor="${anchor ?? "start"}"${line}`;
    this.parts.push(
      `<text x="${px(x)}" y="${px(y)}" ${style} fill="${this.fillStyle}"${this.opacity}>${escaped(text)}</text>`,
    );
  }

  /** The halo of a text: left out, for an SVG is read large. */
  strokeText() {}

  /** @param {string} address @param {number[]} matrix Of pixels of the image on the page. @param {number} width @param {number} height */
  image(address, matrix, width, height) {
    this.parts.push(
      `<image href="${address}" width="${width}" height="${height}" preserveAspectRatio="none"` +
        ` style="image-rendering:pixelated" transform="matrix(${matrix.map((v) => v.toFixed(6)).join(" ")})"/>`,
    );
  }

  get opacity() {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha.toFixed(2)}"` : "";
  }

  /** @returns {string} The whole document. */
  text() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.parts.join("\n")}</svg>\n`;
  }
}
