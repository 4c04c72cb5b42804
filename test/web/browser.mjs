// The system's Chromium, controlled by playwright-core, without its own background services.

import { createRequire } from 'node:module';
import { join } from 'node:path';

// npm packages are outside of the tree; tools/web-test sets their folder.
const require = createRequire(
  join(process.env.BERTH_WEB ?? import.meta.dirname ?? '.', 'package.json'),
);
const { chromium } = require('playwright-core');
export const axeSource = require('axe-core').source;

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A new browser with an empty profile, which is deleted with the browser. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: FLAGS,
  });
}

/** Widths that pages must support. */
export const WIDTHS = { narrow: 320, desk: 1280, projector: 1920 };

const HEIGHTS = { 320: 640, 1280: 800, 1920: 1080 };

/**
 * A page in a new context, without cookies and storage of others.
 * @param {{width?: number, theme?: 'light'|'dark', script?: boolean}} [how]
 */
export async function openPage(
  browser,
  base,
  { width = 1280, theme = 'light', script = true } = {},
) {
  const context = await browser.newContext({
    baseURL: base,
    viewport: { width, height: HEIGHTS[width] ?? 800 },
    colorScheme: theme,
    javaScriptEnabled: script,
    reducedMotion: 'reduce',
  });
  return context.newPage();
}

/** A page must not write to the console, throw, open a dialog or break its CSP. */
export function watch(page) {
  const seen = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') seen.push(message.text());
  });
  page.on('pageerror', (error) => seen.push(`threw ${error.message}`));
  page.on('dialog', (dialog) => {
    seen.push(`dialog ${dialog.message()}`);
    dialog.dismiss();
  });
  return seen;
}
