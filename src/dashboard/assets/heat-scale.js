// From a value to a colour. Colours differ in lightness, so that colour-blind users can read them;
// in the dark theme the scale is reversed, so that high values always contrast with the page.

const STOPS = [
  [255, 255, 217],
  [199, 233, 180],
  [65, 182, 196],
  [34, 94, 168],
  [8, 29, 88],
];
const STEPS = 64; // colours; more cannot be distinguished

/** @returns {string[]} STEPS colours, from low to high */
export function makeScale(isDark) {
  const stops = isDark ? [...STOPS].reverse() : STOPS;
  return Array.from({ length: STEPS }, (_, step) => between(stops, step / (STEPS - 1)));
}

function between(stops, share) {
  const place = share * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const mixed = stops[left].map((part, i) =>
    Math.round(part + (stops[left + 1][i] - part) * (place - left)),
  );
  return `rgb(${mixed.join(' ')})`;
}

/**
 * The step of a value, 0 to STEPS - 1.
 * @param {number} highest the value of the last step
 */
export function stepOf(value, highest) {
  const share = highest > 0 ? value / highest : 0;
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
}
