// From a value to a colour. Lightness alone tells high from low, so it works for every kind of
// sight; in the dark the scale is turned round, so that what is high always stands out from the
// page.

const STOPS = [
  [255, 255, 217],
  [199, 233, 180],
  [65, 182, 196],
  [34, 94, 168],
  [8, 29, 88],
];
const STEPS = 64; // as many colours; more, nobody sees

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
 * What a value is on the scale, 0 to STEPS - 1.
 * @param {number} highest what the last step stands for
 */
export function stepOf(value, highest) {
  const share = highest > 0 ? value / highest : 0;
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
}
