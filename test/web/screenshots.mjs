// Pictures of the dashboard on the recorded cluster; tools/screenshots runs it.
//   screenshots.mjs FILE            the one for the README
//   screenshots.mjs --all FOLDER    every page: light and dark, 320, 1280 and 1920 px wide

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WIDTHS, openPage } from './browser.mjs';
import { PAGES, raise } from './stage.mjs';

const README = { path: PAGES['pod-placed'], width: WIDTHS.desk, height: 1400 };

async function open(page, path) {
  await page.goto(path);
  await page.locator('#live', { hasText: 'live' }).waitFor({ state: 'attached' }); // hidden where it is narrow
  await page.waitForFunction(
    () => !document.querySelector('#heat') || document.querySelector('.heat-legend')?.firstChild,
  );
}

async function takeOne({ browser, berth }, file) {
  const page = await openPage(browser, berth.url, { width: README.width });
  await page.setViewportSize({ width: README.width, height: README.height });
  await open(page, README.path);
  await page.screenshot({ path: file });
}

async function takeAll({ browser, berth }, folder) {
  await mkdir(folder, { recursive: true });
  for (const width of Object.values(WIDTHS)) {
    for (const theme of ['light', 'dark']) {
      const page = await openPage(browser, berth.url, { width, theme });
      for (const [name, path] of Object.entries(PAGES)) {
        await open(page, path);
        await page.screenshot({
          path: join(folder, `${name}-${theme}-${width}.png`),
          fullPage: true,
        });
      }
      await page.context().close();
    }
  }
}

const [first, second] = process.argv.slice(2);
const stage = await raise();
try {
  if (first === '--all') await takeAll(stage, second);
  else await takeOne(stage, first);
} finally {
  await stage.end();
}
