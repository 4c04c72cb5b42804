// Light or dark: the theme of the system until the user chooses one (first.js).

import { makeButton, toolbar } from './make.js';
import { remember } from './store.js';

const root = document.documentElement;
const system = matchMedia('(prefers-color-scheme: dark)');
let button = null;

const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);

function show() {
  if (button) {
    const other = isDark() ? 'Light' : 'Dark';
    button.textContent = isDark() ? '☀' : '☾';
    button.setAttribute('aria-label', `${other} colours`);
    button.title = `${other} colours (t)`;
  }
  document.dispatchEvent(new Event('berth:theme')); // canvases are painted again
}

function choose(theme) {
  root.dataset.theme = theme;
  remember('theme', theme);
  show();
}

export function toggleTheme() {
  choose(isDark() ? 'light' : 'dark');
}

export function addThemeButton() {
  button = makeButton('', { id: 'theme' }, toggleTheme);
  toolbar()?.append(button);
  system.addEventListener('change', show);
  show();
}
