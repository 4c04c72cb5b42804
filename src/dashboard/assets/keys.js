// Keyboard shortcuts: / searches, g and a letter goes to a page, p pauses, t changes the colours,
// ? lists them. Users can switch them off, since speech input types them by accident.

import { make, makeButton, toolbar } from './make.js';
import { remember, remembered } from './store.js';
import { toggleTheme } from './theme.js';

const PAGES = {
  o: '/',
  p: '/pods',
  r: '/policies',
  n: '/nodes',
  s: '/sources',
  l: '/latency',
  c: '/changes',
  w: '/what-if',
};
const SECOND_KEY_MS = 1500;

/** @param {{toggle: () => void}} live */
export function addKeys(live) {
  const isOn = () => remembered('keys') !== 'off';
  const help = makeHelp(isOn);
  let goesUntil = 0; // g was typed; the next key says where

  const single = {
    '/': () => document.querySelector('input[type=search]')?.select(),
    g: () => (goesUntil = performance.now() + SECOND_KEY_MS),
    p: live.toggle,
    t: toggleTheme,
    '?': () => help.showModal(),
  };

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || help.open)
      return;
    if (!isOn() && event.key !== '?') return;
    const isSecond = performance.now() < goesUntil;
    goesUntil = 0;
    const act = isSecond ? go(event.key) : single[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

const go = (key) => PAGES[key] && (() => location.assign(PAGES[key]));

/** A checkbox does not count: that of the help keeps the focus for a moment after it is closed. */
const isTyping = (target) =>
  Boolean(target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]'));

function makeHelp(isOn) {
  const rows = [
    ['/', 'search for a pod or node'],
    ...Object.entries(PAGES).map(([key, path]) => [`g ${key}`, labelOf(path)]),
    ['p', 'pause and resume updates'],
    ['t', 'light or dark'],
    ['?', 'this list'],
  ];
  const box = make('input', {
    type: 'checkbox',
    id: 'keys-on',
    change: () => remember('keys', box.checked ? null : 'off'),
  });
  box.checked = isOn();
  const dialog = make(
    'dialog',
    { id: 'help', 'aria-labelledby': 'help-title' },
    make('h2', { id: 'help-title' }, 'Keys'),
    make(
      'dl',
      {},
      ...rows.map(([keys, what]) =>
        make(
          'div',
          {},
          make('dt', {}, ...keys.split(' ').map((key) => make('kbd', {}, key))),
          make('dd', {}, what),
        ),
      ),
    ),
    make('p', {}, make('label', {}, box, ' use these keys')),
    makeButton('Close', {}, () => dialog.close()),
  );
  document.body.append(dialog);
  toolbar()?.append(
    makeButton('?', { id: 'help-button', title: 'keys (?)', 'aria-label': 'Keys' }, () =>
      dialog.showModal(),
    ),
  );
  return dialog;
}

/** The page's name in the navigation. */
function labelOf(path) {
  const link = [...document.querySelectorAll('nav a')].find((a) => a.getAttribute('href') === path);
  return link ? link.textContent.trim() : path;
}
