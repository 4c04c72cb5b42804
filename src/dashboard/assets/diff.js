// A unified diff of two texts. Policies are small, so a quadratic table of common lines is fast
// enough; beyond LINES_MAX everything between the equal ends is shown as replaced.

const CONTEXT = 3;
const LINES_MAX = 2000;

/** @returns {string[]} lines of the diff; none when the texts are equal */
export function unifiedDiff(name, before, after) {
  const edits = editsOf(before.split('\n'), after.split('\n'));
  const hunks = hunksOf(edits);
  return hunks.length ? [`--- ${name}`, `+++ ${name}`, ...hunks.flat()] : [];
}

/** @typedef {{sign: ' '|'-'|'+', line: string}} Edit */

/** @returns {Edit[]} */
function editsOf(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end))
    end++;
  const same = (line) => ({ sign: ' ', line });
  return [
    ...a.slice(0, start).map(same),
    ...between(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function between(a, b) {
  const removed = (line) => ({ sign: '-', line });
  const added = (line) => ({ sign: '+', line });
  if (a.length > LINES_MAX || b.length > LINES_MAX) return [...a.map(removed), ...b.map(added)];
  const common = commonLines(a, b);
  const edits = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push({ sign: ' ', line: a[i++] });
      j++;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      edits.push(removed(a[i++]));
    } else {
      edits.push(added(b[j++]));
    }
  }
  return edits;
}

/** A table: at [i][j] the highest number of lines that a[i…] and b[j…] can have in common. */
function commonLines(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] =
        a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

/** Groups edits with their context into hunks with headings. @param {Edit[]} edits */
function hunksOf(edits) {
  const hunks = [];
  let from = { old: 1, new: 1 };
  let i = 0;
  while (i < edits.length) {
    const next = edits.findIndex(({ sign }, at) => at >= i && sign !== ' ');
    if (next < 0) break;
    const start = Math.max(i, next - CONTEXT);
    const end = endOf(edits, next);
    from = { old: from.old + start - i, new: from.new + start - i };
    const hunk = edits.slice(start, end);
    const n = { old: count(hunk, '+'), new: count(hunk, '-') };
    hunks.push([
      `@@ -${from.old},${n.old} +${from.new},${n.new} @@`,
      ...hunk.map(({ sign, line }) => sign + line),
    ]);
    from = { old: from.old + n.old, new: from.new + n.new };
    i = end;
  }
  return hunks;
}

/** The end of a hunk: behind its last edit and context. Edits with less between them are joined. */
function endOf(edits, first) {
  let last = first;
  for (let i = first; i < edits.length && i <= last + 2 * CONTEXT; i++) {
    if (edits[i].sign !== ' ') last = i;
  }
  return Math.min(edits.length, last + CONTEXT + 1);
}

const count = (hunk, other) => hunk.filter(({ sign }) => sign !== other).length;
