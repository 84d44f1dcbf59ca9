// Libraries: several maps that were dropped together and are searched together.

/** @typedef {import("studio/main.js").Studio} Studio */

/**
 * Return the key of the library of the map, or "" if there is none.
 * @param {Studio} studio
 */
export const libraryOf = (studio) =>
  studio.sites.find(({ key }) => key === studio.site?.key)?.library ?? "";

/**
 * Return a function that says which estimates are on the current map.
 * @param {Studio} studio @param {any[]} estimates
 * @returns {(k: number) => boolean}
 */
export const isOnShownMap = (studio, estimates) => (k) =>
  (estimates[k]?.map ?? studio.site.name) === studio.site.name;

/**
 * Show the map of an answer, with the uploaded scan.
 * @param {Studio} studio @param {any} result
 */
export async function showMapOf(studio, result) {
  const { scan, scanName } = studio.state;
  if (!scan || !result || result.site === studio.site.key) return;
  try {
    await studio.open(result.site, false);
    Object.assign(studio.state, { scan, scanName });
    studio.go(studio.tab);
  } catch (error) {
    studio.showError(error);
  }
}
