// Space: the walls of a map in 3D as points, with the same marks among them; orbit, zoom, slice.

import { bytes } from "studio/server.js";
import { h, slider } from "studio/dom.js";

/** @typedef {import("studio/main.js").Studio} Studio */
/** @typedef {import("studio/marks.js").Mark} Mark */
/** @typedef {typeof import("three")} Three */

/** Points that are drawn of a view that begins to move; more as long as frames come in time. */
const FEW = 40000;
/** Time of a frame that moves, in ms: the clock of most screens. */
const FRAME = 1000 / 60;
/** A view that has not moved for so long is drawn in full, in ms. */
const REST_MS = 180;

export class Space {
  /** @param {Studio} studio @param {HTMLElement} home */
  constructor(studio, home) {
    this.studio = studio;
    this.home = home;
    this.key = "";
    this.ready = false;
    this.count = 0;
    this.frames = 0;
    this.cut = 1;
    this.shown = FEW;
    this.last = 0;
    this.moved = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.rest = undefined;
    /** @type {Three | null} */
    this.three = null;
  }

  /** Load three.js and make the scene, once. */
  async begin() {
    if (this.three) return;
    const three = (this.three = await import("three"));
    const { OrbitControls } = await import("three/addons/controls/OrbitControls.js");
    this.renderer = new three.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.domElement.setAttribute("role", "img");
    this.renderer.domElement.setAttribute("aria-label", "The map in space. Drag to orbit, wheel to zoom.");
    this.home.append(this.renderer.domElement);
    this.scene = new three.Scene();
    this.camera = new three.PerspectiveCamera(50, 1, 0.1, 5000);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.draw(true));
    this.group = new three.Group();
    this.scene.add(this.group);
    this.slice = slider("Cut off above", "", { min: 0.02, max: 1, step: 0.02, value: 1 }, (value) => {
      this.cut = value;
      this.clip();
    });
    this.home.append(h("div", { className: "slice" }, this.slice));
    this.renderer.localClippingEnabled = true;
    this.plane = new three.Plane(new three.Vector3(0, 0, -1), 1e6);
    this.renderer.domElement.addEventListener("dblclick", (event) => this.moveRobot(event));
    new ResizeObserver(() => this.resize()).observe(this.home);
    this.resize();
  }

  /** @param {MouseEvent} event Put the robot where the pointer meets its height. */
  moveRobot(event) {
    const { three, camera, renderer } = this;
    if (!three || !camera || !renderer) return;
    const box = renderer.domElement.getBoundingClientRect();
    const at = new three.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    const ray = new three.Raycaster();
    ray.setFromCamera(at, camera);
    const level = new three.Plane(new three.Vector3(0, 0, 1), -(this.studio.state.robot.z ?? 1));
    const hit = ray.ray.intersectPlane(level, new three.Vector3());
    if (hit) this.studio.tab.moveRobot?.([hit.x, hit.y]);
  }

  /** @param {any} site */
  async open(site) {
    await this.begin();
    this.recolour();
    if (this.key === site.key) return this.draw();
    this.setCloud(new Float32Array(await bytes(`/sites/${site.key}/points`)), site.resolution);
    this.key = site.key;
    this.ready = true;
  }

  /** @param {Float32Array} points One after another, in m. @param {number} side Of a cell, in m. */
  setCloud(points, side) {
    const { three, scene } = this;
    if (!three || !scene) return;
    this.count = points.length / 3;
    shuffle(points);
    if (this.cloud) {
      scene.remove(this.cloud);
      release(this.cloud);
    }
    const shape = new three.BufferGeometry();
    shape.setAttribute("position", new three.BufferAttribute(points, 3));
    shape.computeBoundingBox();
    const box = /** @type {import("three").Box3} */ (shape.boundingBox);
    this.low = box.min.z;
    this.high = box.max.z;
    const shades = new Float32Array(points.length);
    for (let k = 0; k < points.length; k += 3) {
      const share = (points[k + 2] - this.low) / Math.max(0.1, this.high - this.low);
      shades.set([0.1 + 0.35 * share, 0.24 + 0.42 * share, 0.38 + 0.4 * share], k);
    }
    shape.setAttribute("color", new three.BufferAttribute(shades, 3));
    const look = new three.PointsMaterial({ size: 1.7 * side, vertexColors: true, clippingPlanes: this.plane ? [this.plane] : [] });
    this.cloud = new three.Points(shape, look);
    scene.add(this.cloud);
    this.middle = box.getCenter(new three.Vector3());
    this.span = box.getSize(new three.Vector3()).length();
    this.fit();
    this.cut = 0.62;
    const field = this.slice?.querySelector("input");
    if (field) field.value = "0.62";
    this.clip();
  }

  /** Show the whole map. */
  fit() {
    const { camera, controls, middle, span } = this;
    if (!camera || !controls || !middle || !span) return;
    controls.target.copy(middle);
    camera.position.set(middle.x - 0.12 * span, middle.y - 0.55 * span, middle.z + 0.6 * span);
    controls.update();
    this.draw();
  }

  clip() {
    if (this.plane && this.low != null && this.high != null) {
      this.plane.constant = this.low + this.cut * (this.high - this.low) + 0.05;
      const shown = this.slice?.querySelector("output");
      if (shown) shown.textContent = `${this.plane.constant.toFixed(1)} m`;
    }
    this.draw();
  }

  recolour() {
    if (this.scene && this.three) this.scene.background = new this.three.Color(this.studio.stage.palette.free);
  }

  /**
   * The marks that have a meaning in space: robots, beams, dots and ways.
   * @param {Mark[]} marks
   */
  setMarks(marks) {
    const { three, group } = this;
    if (!three || !group) return;
    for (const child of [...group.children]) {
      group.remove(child);
      if (child instanceof three.Mesh || child instanceof three.Points || child instanceof three.Line) release(child);
    }
    const palette = /** @type {Record<string, string>} */ (/** @type {unknown} */ (this.studio.stage.palette));
    for (const mark of marks) {
      const colour = palette[mark.colour ?? "ink"];
      if (mark.kind === "robot" && mark.pose) {
        const [x, y, yaw, z = 0] = mark.pose;
        const cone = new three.Mesh(
          new three.ConeGeometry(0.28, 0.9, 5),
          new three.MeshBasicMaterial({ color: colour, wireframe: mark.hollow ?? false }),
        );
        cone.rotation.z = yaw - Math.PI / 2;
        cone.position.set(x, y, z);
        group.add(cone);
      }
      if (mark.kind === "line" && mark.points?.[0]?.length === 3) {
        const shape = new three.BufferGeometry();
        shape.setAttribute("position", new three.BufferAttribute(new Float32Array(mark.points.flat()), 3));
        group.add(new three.Line(shape, new three.LineBasicMaterial({ color: colour })));
      }
      if ((mark.kind === "beams" || mark.kind === "dots") && mark.points?.[0]?.length === 3) {
        const shape = new three.BufferGeometry();
        shape.setAttribute("position", new three.BufferAttribute(new Float32Array(mark.points.flat()), 3));
        const shades = mark.points.flatMap((_, k) => new three.Color(palette[mark.colours?.[k] ?? mark.colour ?? "ink"]).toArray());
        shape.setAttribute("color", new three.BufferAttribute(new Float32Array(shades), 3));
        group.add(new three.Points(shape, new three.PointsMaterial({ size: 3, sizeAttenuation: false, vertexColors: true })));
      }
    }
    this.draw();
  }

  resize() {
    const { clientWidth, clientHeight } = this.home;
    if (!this.renderer || !this.camera || !clientWidth || !clientHeight) return;
    this.renderer.setSize(clientWidth, clientHeight);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  /**
   * Draw at the next frame.  While the view moves only so many points are drawn as frames have
   * time for, an even sample of them; when it rests, all.
   * @param {boolean} [moving]
   */
  draw(moving = false) {
    if (moving) {
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.draw(), REST_MS);
    }
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      if (this.home.hidden || !this.renderer || !this.scene || !this.camera) return;
      const spent = now - this.last;
      this.last = now;
      if (moving && this.moved) {
        const share = spent < 1.1 * FRAME ? 1.1 : Math.max(0.3, FRAME / spent);
        this.shown = Math.min(this.count, Math.max(FEW / 16, Math.round(share * this.shown)));
      }
      this.moved = moving;
      this.cloud?.geometry.setDrawRange(0, moving ? this.shown : this.count);
      this.renderer.render(this.scene, this.camera);
      this.frames += 1;
    });
  }

  /** @returns {string} What is shown, as the address of an image. */
  picture() {
    if (!this.renderer || !this.scene || !this.camera) return "";
    this.cloud?.geometry.setDrawRange(0, this.count);
    this.renderer.render(this.scene, this.camera);
    return this.renderer.domElement.toDataURL("image/png");
  }
}

/**
 * Put points in an order of which every beginning is an even sample; the same each time.
 * @param {Float32Array} points One after another.
 */
function shuffle(points) {
  let state = 1;
  for (let k = points.length / 3 - 1; k > 0; k -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 4294967296) * (k + 1));
    for (let axis = 0; axis < 3; axis += 1) {
      const kept = points[3 * k + axis];
      points[3 * k + axis] = points[3 * other + axis];
      points[3 * other + axis] = kept;
    }
  }
}

/**
 * Give the memory of something that is no longer drawn back to the graphics card.
 * @param {import("three").Mesh | import("three").Points | import("three").Line} drawn
 */
function release(drawn) {
  drawn.geometry.dispose();
  for (const material of [drawn.material].flat()) material.dispose();
}
