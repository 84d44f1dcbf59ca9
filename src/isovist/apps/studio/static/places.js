// Estimates as marks.

/** @typedef {import("studio/marks.js").Mark} Mark */

/** @param {Record<string, number>} pose @returns {number[]} */
export const row = (pose) => [pose.x, pose.y, pose.yaw, ...(pose.z == null ? [] : [pose.z])];

/** @param {Record<string, number>} pose @returns {number[]} */
export const place = (pose) => [pose.x, pose.y, ...(pose.z == null ? [] : [pose.z])];

/**
 * Return the marks of estimates, worst first, each with its ellipse.
 * @param {any[]} estimates Of `report`. @param {any[]} places Of the scene. @param {boolean} unique
 * @param {(k: number) => boolean} isDrawn Which estimates are on the current map.
 * @returns {Mark[]}
 */
export function placeMarks(estimates, places, unique, isDrawn = () => true) {
  /** @type {Mark[]} */
  const marks = [];
  for (const [k, estimate] of [...estimates.entries()].reverse()) {
    const best = k === 0;
    if (!isDrawn(k) || (!best && (unique || estimate.refuted))) continue;
    const [a, b, turn] = places[k].ellipse;
    const pose = row(estimate);
    marks.push({ kind: "ellipse", at: pose, half: [a, b], turn, colour: best ? "best" : "rival" });
    const label = unique ? undefined : `${k + 1}: ${places[k].chance}`;
    const alpha = best ? 1 : Math.max(0.45, Math.min(1, estimate.probability / estimates[0].probability));
    marks.push({ kind: "robot", pose, colour: best ? "best" : "rival", label, alpha });
  }
  return marks;
}
