// Makes tables like those of the server's pages.

import { make } from './make.js';

/**
 * @param {string} id
 * @param {string} caption
 * @param {string[]} columns those that begin with '#' hold numbers
 * @param {(Node|string|number)[][]} rows
 */
export function makeTable(id, caption, columns, rows) {
  const isNumber = columns.map((column) => column.startsWith('#'));
  const attributes = (i) => (isNumber[i] ? { class: 'number' } : {});
  const heading = (column, i) =>
    make('th', { scope: 'col', ...attributes(i) }, column.replace('#', ''));
  const label = (column, i) => (i > 0 ? { 'data-label': column.replace('#', '') } : {});
  const cell = (value, i) => make('td', { ...attributes(i), ...label(columns[i], i) }, value);
  return make(
    'div',
    { class: 'scroll', id, role: 'region', tabindex: 0, 'aria-labelledby': `caption-${id}` },
    make(
      'table',
      { class: 'data' },
      make('caption', { id: `caption-${id}` }, caption),
      make('thead', {}, make('tr', {}, ...columns.map(heading))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map(cell)))),
    ),
  );
}

/** A command to copy, like those of the pages. */
export function makeCommand(text) {
  return make(
    'div',
    { class: 'command' },
    make('pre', { tabindex: 0 }, make('code', {}, text)),
    make('button', { type: 'button', class: 'copy', 'data-copy': true, hidden: true }, 'Copy'),
  );
}

/** @param {string[]} lines of a unified diff; the first character gives the kind */
export function makeDiff(lines) {
  const tags = { '+': 'ins', '-': 'del', '@': 'b' };
  const parts = lines.flatMap((line) => [make(tags[line[0]] ?? 'span', {}, line), '\n']);
  return make(
    'pre',
    { class: 'diff', tabindex: 0, 'aria-label': 'The change as a patch' },
    ...parts,
  );
}
