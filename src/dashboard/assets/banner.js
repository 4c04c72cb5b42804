// The banner shows the current health of berth, which every update has. Without an update for some
// seconds it shows the age of the page instead.

import { durationOf } from './ages.js';

const EVERY_MS = 500;
const SILENT_MS = 3500; // updates come once a second
const LOOKS = {
  healthy: ['✓', 'healthy'],
  degraded: ['‼', 'degraded'],
  bypassed: ['×', 'bypassed'],
  'not ready': ['×', 'not-ready'],
};

/**
 * @param {() => boolean} isPaused whether the user has paused updates
 */
export function startBanner(isPaused) {
  let isGone = false; // the stream of updates has ended
  let knownAt = performance.now(); // the time of the data on the page
  setInterval(look, EVERY_MS);

  function look() {
    const ageMs = performance.now() - knownAt;
    if (isGone || ageMs > SILENT_MS) showUnknown(ageMs / 1000, isPaused());
  }

  return {
    /** An update has come: {health, text}. */
    update({ health, text }) {
      isGone = false;
      if (isPaused()) return;
      knownAt = performance.now();
      showHealth(health, text);
    },
    gone() {
      isGone = true;
      look();
    },
  };
}

function parts() {
  const banner = document.getElementById('health-summary');
  return {
    banner,
    symbol: banner?.querySelector('.symbol'),
    text: banner?.querySelector('strong'),
  };
}

function set(look, symbolText, words) {
  const { banner, symbol, text } = parts();
  if (!text) return;
  const className = `health-summary ${look}`;
  if (banner.className !== className) banner.className = className;
  if (symbol.textContent !== symbolText) symbol.textContent = symbolText;
  if (text.textContent !== words) text.textContent = words;
}

function showHealth(health, words) {
  const [symbol, look] = LOOKS[health] ?? LOOKS.degraded;
  set(look, symbol, words);
}

function showUnknown(seconds, isPaused) {
  const why = isPaused ? 'paused' : 'not answering';
  set('unknown', '?', `${why}: this page is ${durationOf(seconds)} old`);
}
