// Elements of panels, each with its label.

/** @typedef {import("studio/marks.js").Mark} Mark */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element; properties that begin with "on" are listeners.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [props] @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list" && name !== "role") Object.assign(element, { [name]: value });
    else if (value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null && child !== false));
  return element;
}

let count = 0;

/**
 * A slider with its number beside it.
 * @param {string} label @param {string} unit
 * @param {{min: number, max: number, step: number, value: number}} range
 * @param {(value: number, last: boolean) => void} onChange
 */
export function slider(label, unit, range, onChange) {
  const id = `field-${++count}`;
  const field = h("input", { id, type: "range", ...range, value: String(range.value) });
  /** @param {number} value */
  const words = (value) => `${value}${unit}`;
  const output = h("output", { htmlFor: id }, words(range.value));
  field.addEventListener("input", () => {
    output.textContent = words(field.valueAsNumber);
    onChange(field.valueAsNumber, false);
  });
  field.addEventListener("change", () => onChange(field.valueAsNumber, true));
  return h("div", { className: "field", "data-live": "" }, h("label", { htmlFor: id }, label), field, output);
}

/**
 * A menu to select one of several options.
 * @param {string} label @param {[string, string][]} options Values and labels. @param {string} value
 * @param {(value: string) => void} onChange
 */
export function select(label, options, value, onChange) {
  const id = `field-${++count}`;
  const field = h("select", { id }, ...options.map(([key, words]) => h("option", { value: key }, words)));
  field.value = value;
  field.addEventListener("change", () => onChange(field.value));
  return h("div", { className: "field", "data-live": "" }, h("label", { htmlFor: id }, label), field);
}

/** @param {string} label @param {boolean} value @param {(value: boolean) => void} onChange */
export function checkbox(label, value, onChange) {
  const field = h("input", { type: "checkbox", checked: value });
  field.addEventListener("change", () => onChange(field.checked));
  return h("label", { className: "tick", "data-live": "" }, field, label);
}

/** @param {string} label @param {() => void} onChange @param {Record<string, any>} [props] */
export const button = (label, onChange, props = {}) =>
  h("button", { type: "button", "data-live": "", onclick: onChange, ...props }, label);

/** @type {Record<string, string>} A shape for each verdict, besides its colour. */
const SHAPES = { unique: "●", ambiguous: "◐", lost: "○" };

/** @param {string} verdict @param {string} words @param {string} advice */
export function verdict(verdict, words, advice) {
  return h(
    "div",
    { className: `verdict ${verdict}`, "data-verdict": verdict },
    h("strong", {}, `${SHAPES[verdict] ?? ""} ${verdict}`),
    h("span", {}, words),
    h("p", {}, advice),
  );
}

/**
 * A row with a bar for a probability.
 * @param {string} label @param {number} share @param {string} chance @param {string} [detail]
 * @param {string} [colour]
 */
export function bar(label, share, chance, detail = "", colour = "best") {
  const value = Math.round(share * 100);
  return h(
    "div",
    { className: "bar" },
    h("span", { className: "name" }, label),
    h(
      "span",
      { className: "track", role: "meter", "aria-label": `Probability of ${label}`, "aria-valuenow": value,
        "aria-valuemin": "0", "aria-valuemax": "100" },
      h("i", { className: colour, style: `width:${(100 * share).toFixed(1)}%` }),
    ),
    h("span", { className: "value" }, chance),
    detail && h("small", {}, detail),
  );
}

/** @param {string} title @param {boolean} open @param {...Child} children */
export const disclosure = (title, open, ...children) =>
  h("details", { open, "data-live": "" }, h("summary", {}, title), ...children);

/**
 * Sliders of a simulated sensor.
 * @param {Record<string, any>} lidar Changed in place. @param {number} dimension
 * @param {(last: boolean) => void} onChange
 */
export function sensorFields(lidar, dimension, onChange) {
  /** @type {[string, string, string, number, number, number][]} */
  const rows = [
    dimension === 3
      ? ["rings", "Rings", "", 1, 64, 1]
      : ["field_of_view", "Field of view", "°", 20, 360, 5],
    ["beams", dimension === 3 ? "Beams per ring" : "Beams", "", 20, 1080, 1],
    ["range_max", "Range", " m", 1, 40, 0.5],
    ["noise", "Noise σ", " m", 0, 0.2, 0.005],
    ["clutter", "Clutter", "", 0, 0.9, 0.05],
  ];
  return rows.map(([name, label, unit, min, max, step]) =>
    slider(label, unit, { min, max, step, value: lidar[name] }, (value, last) => {
      lidar[name] = value;
      onChange(last);
    }),
  );
}

/** @param {number} angle In rad. */
export const degrees = (angle) => `${((angle * 180) / Math.PI).toFixed(1)}°`;
