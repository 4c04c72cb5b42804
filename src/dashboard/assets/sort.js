// Tables of data sort by a click on a heading, and stay sorted when the page is updated.

import { makeButton } from './make.js';

/** By id: the column, and 1 for up or -1 for down. @type {Map<string, {column: number, sign: number}>} */
const orders = new Map();

export function addSorting() {
  for (const table of document.querySelectorAll('table.data')) {
    if (table.tHead && table.tBodies[0]?.rows.length > 1) addButtons(table);
    const order = orders.get(keyOf(table));
    if (order) sort(table, order);
  }
}

const keyOf = (table) => table.closest('[id]')?.id ?? '';

function addButtons(table) {
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.dataset.own || !heading.textContent.trim() || heading.colSpan > 1) continue;
    heading.dataset.own = 'kept';
    const label = heading.textContent;
    heading.textContent = '';
    heading.append(makeButton(label, { class: 'sort' }, () => choose(table, heading.cellIndex)));
  }
}

/** Numbers sort from the highest down first, names from the first on. */
function choose(table, column) {
  const before = orders.get(keyOf(table));
  const sign = before?.column === column ? -before.sign : isNumeric(table, column) ? -1 : 1;
  const order = { column, sign };
  orders.set(keyOf(table), order);
  sort(table, order);
}

const isNumeric = (table, column) =>
  [...table.tBodies[0].rows].some((row) => row.cells[column]?.classList.contains('number'));

function sort(table, { column, sign }) {
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: valueOf(row.cells[column]) }));
  const sorted = [...rows].sort((a, b) => sign * compare(a.key, b.key));
  if (sorted.some(({ row }, place) => row !== rows[place].row)) {
    table.tBodies[0].append(...sorted.map(({ row }) => row));
  }
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.cellIndex === column) {
      heading.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
    } else {
      heading.removeAttribute('aria-sort');
    }
  }
}

const UNITS = {
  __proto__: null, // or "1valueOf" would have a unit
  ns: 1e-9,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  m: 60,
  h: 3600,
  d: 86400,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  '%': 1,
};

/** What a cell is sorted by: its own data-value, a time, a number with its unit, or its text. */
function valueOf(cell) {
  if (!cell) return '';
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const time = cell.querySelector('time[datetime]');
  if (time) return Date.parse(time.dateTime);
  const text = cell.textContent.trim();
  const parts = /^([-+]?[\d,]*\.?\d+)\s*([^\d\s]*)/.exec(text);
  if (!parts || (parts[2] && !(parts[2] in UNITS) && !cell.classList.contains('number')))
    return text;
  return Number(parts[1].replaceAll(',', '')) * (UNITS[parts[2]] ?? 1);
}

const names = new Intl.Collator('en', { numeric: true });

/** Numbers before texts, texts as people count (n9 before n10). */
function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number') return -1;
  if (typeof b === 'number') return 1;
  return names.compare(a, b);
}
