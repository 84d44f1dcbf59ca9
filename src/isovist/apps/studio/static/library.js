// Several maps that were dropped together and are asked together.

/** @typedef {import("studio/main.js").Studio} Studio */

/**
 * Key of the library that the map came with; "" where it came alone.
 * @param {Studio} studio
 */
export const libraryOf = (studio) =>
  studio.sites.find(({ key }) => key === studio.site?.key)?.library ?? "";

/**
 * Which places of an answer are on the map that is shown.
 * @param {Studio} studio @param {any[]} estimates
 * @returns {(k: number) => boolean}
 */
export const shownOf = (studio, estimates) => (k) =>
  (estimates[k]?.map ?? studio.site.name) === studio.site.name;

/**
 * Show the map that an answer is of, with the scan that was dropped.
 * @param {Studio} studio @param {any} told
 */
export async function turnTo(studio, told) {
  const { scan, scanName } = studio.state;
  if (!scan || !told || told.site === studio.site.key) return;
  try {
    await studio.open(told.site, false);
    Object.assign(studio.state, { scan, scanName });
    studio.go(studio.tab);
  } catch (error) {
    studio.fail(error);
  }
}
