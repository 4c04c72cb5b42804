// Counts ages on between two updates, and also if berth no longer answers: "5 s ago" must not stay.
// An age starts from the text that berth has drawn, so the clocks need not agree.

const EVERY_MS = 1000;
const UNITS = { s: 1, min: 60, h: 3600, d: 86400 };
const AGO = /^([\d,]+) (s|min|h|d)(?: (\d+) (s|min|h))? ago$/;

/** By <time>: its last text, the age that the server wrote, and when. */
const drawn = new WeakMap();

export function startAges() {
  setInterval(countOn, EVERY_MS);
}

function countOn() {
  if (document.hidden || !getSelection().isCollapsed) return; // a change would end the user's selection
  for (const element of document.querySelectorAll('time')) {
    const before = drawn.get(element);
    const text = element.textContent;
    if (!before || before.shown !== text) {
      drawn.set(element, { shown: text, seconds: secondsOf(text), at: performance.now() });
      continue;
    }
    if (before.seconds === null) continue; // "in 5 s", "long ago"
    before.shown = agoOf(before.seconds + (performance.now() - before.at) / 1000);
    if (before.shown !== text) element.firstChild.data = before.shown;
  }
}

function secondsOf(text) {
  const match = AGO.exec(text);
  if (!match) return null;
  const [, whole, unit, rest, less] = match;
  return Number(whole.replaceAll(',', '')) * UNITS[unit] + (rest ? Number(rest) * UNITS[less] : 0);
}

const agoOf = (seconds) => `${durationOf(seconds)} ago`;

/** Like html_duration() of the server: two units at most. */
export function durationOf(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const [unit, less] = whole < 3600 ? ['min', 's'] : whole < 86400 ? ['h', 'min'] : ['d', 'h'];
  const rest = Math.floor((whole % UNITS[unit]) / UNITS[less]);
  const first = Math.floor(whole / UNITS[unit]).toLocaleString('en-GB');
  return `${first} ${unit}${rest ? ` ${rest} ${less}` : ''}`;
}
