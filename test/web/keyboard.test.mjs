// All functions of the dashboard work without a mouse.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raise } from './stage.mjs';
import { openPage } from './browser.mjs';

let stage;
let page;
before(async () => {
  stage = await raise();
  page = await openPage(stage.browser, stage.berth.url);
});
after(() => stage?.end());

const focused = (what) => page.evaluate((name) => document.activeElement[name], what);

/** Presses Tab until @check(focused element) is true. */
async function tabTo(check, most = 80) {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(check)) return;
  }
  assert.fail(`not reached with ${most} tabs: ${check}`);
}

test('from the first key to the reason of a pending pod', async () => {
  await page.goto('/');
  await page.locator('#pause').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await focused('textContent'), 'Skip to the page');
  await page.keyboard.press('Enter');
  assert.equal(await focused('id'), 'main');
  await page.keyboard.press('/');
  assert.equal(await focused('id'), 'search');
  await page.keyboard.type('train');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?q=train');
  await page.locator('#pause').waitFor();
  await tabTo(() => document.activeElement.textContent === 'ml/train-3');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/pod?*');
  await tabTo(
    () =>
      document.activeElement.localName === 'summary' && document.activeElement.closest('.reason'),
  );
  await page.keyboard.press('Enter');
  assert.ok(await page.evaluate(() => document.activeElement.closest('details').open));
});

test('every focus stop is visible', async () => {
  for (const path of ['/', '/pods', '/policies']) {
    await page.goto(path);
    await page.locator('#pause').waitFor();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab');
      const seen = await page.evaluate(() => {
        const element = document.activeElement;
        if (element === document.body) return true;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) || element.outerHTML;
      });
      assert.equal(seen, true, path);
    }
  }
});

test('g and a letter goes to a page', async () => {
  await page.goto('/');
  for (const [key, path] of Object.entries({
    p: '/pods',
    r: '/policies',
    n: '/nodes',
    s: '/sources',
    l: '/latency',
    c: '/changes',
    w: '/what-if',
    o: '/',
  })) {
    await page.locator('#pause').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForURL(stage.berth.url + path);
  }
});

test('? lists the keys, Escape closes it, and they can be switched off', async () => {
  await page.goto('/');
  await page.locator('#pause').waitFor();
  const close = async () => {
    await page.keyboard.press('Escape');
    await page.locator('#help').waitFor({ state: 'hidden' });
  };
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await close();
  await page.keyboard.press('?');
  await page.locator('#keys-on').uncheck();
  await close();
  await page.keyboard.press('p');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'false');
  await page.keyboard.press('?');
  await page.locator('#keys-on').check();
  await close();
  await page.keyboard.press('p');
  assert.equal(await page.locator('#pause').getAttribute('aria-pressed'), 'true');
});

test('keys that are typed into a field are text', async () => {
  await page.goto('/');
  await page.locator('#pause').waitFor();
  await page.locator('#search').focus();
  await page.keyboard.type('pgt?/');
  assert.equal(await page.locator('#search').inputValue(), 'pgt?/');
  assert.ok(!(await page.locator('#help').isVisible()));
});

test('the grid of nodes: arrows move, Enter opens', async () => {
  await page.goto('/nodes');
  const tip = page.locator('#heat-tip');
  await page.locator('#heat canvas[role]').waitFor();
  await page.waitForFunction(() => document.querySelector('.heat-legend').childElementCount > 0);
  await page.locator('#heat canvas[role]').focus();
  assert.match(await tip.textContent(), /^node-01: /);
  for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight');
  assert.match(await tip.textContent(), /^node-07: /);
  await page.keyboard.press('End');
  assert.match(await tip.textContent(), /^node-60: /);
  await page.keyboard.press('Home');
  for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/node?name=node-07');
});
