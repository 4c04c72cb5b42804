// Pages stay up to date by themselves, and leave alone who reads them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NODES, pod } from './cluster.mjs';
import { raise } from './stage.mjs';
import { openPage, watch } from './browser.mjs';

const QUIET_MS = 2500; // more than two updates would have come by then

let stage;
let page;
before(async () => {
  stage = await raise();
  page = await openPage(stage.browser, stage.berth.url);
});
after(() => stage?.end());

const ask = (namespace, name, more) =>
  stage.berth.verb('filter', { Pod: pod(namespace, name, more), NodeNames: NODES });
const gpu = { requests: { 'nvidia.com/gpu': '2' }, labels: { 'example.com/accelerator': 'gpu' } };
const shows = (text) => page.locator('main').getByText(text, { exact: true }).first();

test('a new decision appears by itself', async () => {
  const said = watch(page);
  await page.goto('/');
  await page.locator('#live', { hasText: 'live' }).waitFor();
  await ask('live', 'first');
  await shows('live/first').waitFor();
  assert.deepEqual(said, []);
});

test('pause stops updates, resume catches up', async () => {
  await page.locator('#pause').click();
  await page.locator('#live', { hasText: 'paused' }).waitFor();
  await ask('live', 'second');
  await page.waitForTimeout(QUIET_MS);
  assert.equal(await shows('live/second').count(), 0);
  await page.locator('#pause').click();
  await shows('live/second').waitFor();
});

test('open details, focus and scroll position survive updates', async () => {
  await page.goto('/pod?namespace=ml&name=train-2');
  const reason = page.locator('details.reason').first();
  await reason.locator('summary').click();
  await reason.locator('summary').focus();
  await page.evaluate(() => scrollTo(0, 120));
  const attempts = page.locator('#attempt h2');
  assert.equal(await attempts.textContent(), 'Attempt 8 of 8');
  await ask('ml', 'train-2', gpu);
  await page.locator('#attempt h2', { hasText: 'Attempt 9 of 9' }).waitFor();
  assert.ok(await reason.evaluate((element) => element.open), 'it was closed');
  assert.equal(await page.evaluate(() => document.activeElement.localName), 'summary');
  assert.equal(await page.evaluate(() => scrollY), 120);
});

test('a sorted table stays sorted', async () => {
  await page.goto('/pods');
  const first = () => page.locator('#pods tbody tr').first().locator('a.pod').textContent();
  const heading = page.locator('#pods th', { hasText: /^Pod/ });
  await heading.getByRole('button').click();
  assert.equal(await heading.getAttribute('aria-sort'), 'ascending');
  const before = await first();
  await ask('zoo', 'newest');
  await page.locator('#pods a.pod', { hasText: 'zoo/newest' }).waitFor();
  assert.equal(await first(), before);
  assert.equal(before, 'batch/job-1');
});

test('a hidden page sends no requests', async () => {
  const hidden = await openPage(stage.browser, stage.berth.url);
  await hidden.addInitScript(() => {
    globalThis.isHidden = false;
    Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden });
  });
  await hidden.goto('/');
  await hidden.locator('#live', { hasText: 'live' }).waitFor();
  const setHidden = (value) =>
    hidden.evaluate((isHidden) => {
      globalThis.isHidden = isHidden;
      document.dispatchEvent(new Event('visibilitychange'));
    }, value);
  await setHidden(true);
  await hidden.waitForTimeout(300); // what was under way
  let asked = 0;
  hidden.on('request', () => asked++);
  await ask('live', 'unseen');
  await hidden.waitForTimeout(QUIET_MS);
  assert.equal(asked, 0);
  await setHidden(false);
  await hidden
    .locator('main')
    .getByText('live/unseen', { exact: true })
    .first()
    .waitFor();
  await hidden.context().close();
});

test('the page shows since when berth is unreachable', async () => {
  const lost = await openPage(stage.browser, stage.berth.url);
  await lost.goto('/');
  await lost.locator('#live', { hasText: 'live' }).waitFor();
  await lost.route('**/api/v1/events', (route) => route.abort());
  await lost.context().setOffline(true);
  await lost.evaluate(() => {
    // what a browser does when it comes back
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await lost
    .locator('#live', { hasText: /not connected since \d\d:\d\d:\d\d UTC/ })
    .waitFor();
  await lost.unroute('**/api/v1/events');
  await lost.context().setOffline(false);
  await lost.locator('#live', { hasText: 'live' }).waitFor();
  await lost.context().close();
});
