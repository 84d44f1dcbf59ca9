// Places that may be right, as marks.

/** @typedef {import("studio/marks.js").Mark} Mark */

/** @param {Record<string, number>} pose @returns {number[]} */
export const row = (pose) => [pose.x, pose.y, pose.yaw, ...(pose.z == null ? [] : [pose.z])];

/** @param {Record<string, number>} pose @returns {number[]} */
export const place = (pose) => [pose.x, pose.y, ...(pose.z == null ? [] : [pose.z])];

/**
 * Marks of places that may be right, worst first, and the ellipse of the best.
 * @param {any[]} estimates Of `report`. @param {any[]} places Of the scene. @param {boolean} unique
 * @param {(k: number) => boolean} drawn Which of them are on the map that is shown.
 * @returns {Mark[]}
 */
export function placeMarks(estimates, places, unique, drawn = () => true) {
  /** @type {Mark[]} */
  const marks = [];
  for (const [k, estimate] of [...estimates.entries()].reverse()) {
    const best = k === 0;
    if (!drawn(k) || (!best && (unique || estimate.refuted))) continue;
    const [a, b, turn] = places[k].ellipse;
    const pose = row(estimate);
    marks.push({ kind: "ellipse", at: pose, half: [a, b], turn, colour: best ? "best" : "rival" });
    const label = unique ? undefined : `${k + 1}: ${places[k].chance}`;
    const alpha = best ? 1 : Math.max(0.45, Math.min(1, estimate.probability / estimates[0].probability));
    marks.push({ kind: "robot", pose, colour: best ? "best" : "rival", label, alpha });
  }
  return marks;
}
