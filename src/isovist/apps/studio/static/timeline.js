// A time line: play, pause, speed, scrub.

import { button, h } from "studio/dom.js";

export class Timeline {
  /**
   * @param {HTMLElement} home
   * @param {(index: number) => void} seek Called with the moment that is shown.
   */
  constructor(home, seek) {
    this.seek = seek;
    this.length = 0;
    this.index = 0;
    this.speed = 1;
    this.playing = false;
    this.last = 0;
    this.left = 0;
    /** @type {(index: number) => number} Time of a moment in s. */
    this.time = (index) => index / 10;
    this.toggle = button("▶", () => this.play(!this.playing), { "aria-label": "Play", title: "Play or pause (space)" });
    this.slide = h("input", { type: "range", min: "0", max: "0", value: "0", step: "1", "aria-label": "Moment" });
    this.slide.addEventListener("input", () => this.go(this.slide.valueAsNumber));
    this.words = h("output", {});
    const speeds = h("select", { "aria-label": "Speed" }, ...["0.5", "1", "2", "5", "20"].map((k) => h("option", { value: k }, `${k}×`)));
    speeds.value = "1";
    speeds.addEventListener("change", () => (this.speed = Number(speeds.value)));
    home.replaceChildren(this.toggle, this.slide, this.words, speeds);
  }

  /** @param {number} length How many moments there are by now. */
  grow(length) {
    this.length = length;
    this.slide.max = String(Math.max(0, length - 1));
    this.render();
  }

  /** @param {number} index */
  go(index) {
    this.index = Math.max(0, Math.min(this.length - 1, index));
    this.slide.value = String(this.index);
    this.render();
    this.seek(this.index);
  }

  render() {
    this.words.textContent = `${this.time(this.index).toFixed(1)} s   ${this.index + 1} of ${this.length}`;
  }

  /** @param {boolean} on */
  play(on) {
    this.playing = on;
    this.toggle.textContent = on ? "❚❚" : "▶";
    this.toggle.setAttribute("aria-label", on ? "Pause" : "Play");
    if (!on) return;
    if (this.index >= this.length - 1) this.go(0);
    this.last = performance.now();
    this.left = 0;
    requestAnimationFrame((now) => this.step(now));
  }

  /** @param {number} now In ms. */
  step(now) {
    if (!this.playing) return;
    this.left += (this.speed * (now - this.last)) / 1000;
    this.last = now;
    let next = this.index;
    while (next < this.length - 1) {
      const wait = Math.max(0.01, this.time(next + 1) - this.time(next));
      if (this.left < wait) break;
      this.left -= Math.min(wait, 2);
      next += 1;
    }
    if (next !== this.index) this.go(next);
    if (this.index >= this.length - 1) this.play(false);
    else requestAnimationFrame((at) => this.step(at));
  }
}
