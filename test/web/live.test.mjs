// Pages update automatically, and do not disturb the reader.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NODES, pod } from './cluster.mjs';
import { raise, recordedBerth, shotPath } from './stage.mjs';
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
    // the event of a browser when the page becomes visible again
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

const SOON = { timeout: 5000 }; // the banner is correct within 5 seconds
const banner = (of, look) => of.locator(`#health-summary.${look}`);

test('pods that policies keep pending turn the banner amber, with a link to them', async () => {
  await page.goto('/');
  await banner(page, 'degraded').waitFor(SOON);
  const text = await page.locator('#health-summary p').textContent();
  const pending = Number(/policies keep (\d+) pods pending/.exec(text)?.[1]);
  assert.ok(pending > 0, text);
  await page.locator('#health-summary p').getByRole('link', { name: 'Show' }).click();
  await page.locator('#paging', { hasText: `${pending} pods.` }).waitFor();
});

test('without berth the banner is grey with the age of the page, and ages count on', async () => {
  const own = await recordedBerth();
  const left = await openPage(stage.browser, own.url);
  await left.goto('/');
  await banner(left, 'degraded').waitFor();
  const seconds = async () => {
    const text = await left.locator('#decisions time').first().textContent();
    const [, min, s] = /^(?:(\d+) min ?)?(?:(\d+) s)? ago$/.exec(text);
    return 60 * Number(min ?? 0) + Number(s ?? 0);
  };
  const before = await seconds();
  process.kill(own.process.pid, 'SIGKILL');
  await banner(left, 'unknown').waitFor(SOON);
  await left
    .locator('#health-summary', { hasText: /berth is not answering: this page is \d+ s old/ })
    .waitFor();
  await left.waitForFunction((age) => {
    const text = document.getElementById('health-summary').textContent;
    return Number(/(\d+) s old/.exec(text)[1]) > age;
  }, 2);
  assert.ok((await seconds()) > before, 'ages stay as they were');
  await left.screenshot({ path: shotPath('gone') });
  await own.gone();
  await left.context().close();
});

test('a berth that hangs is noticed, and that it goes on, too', async () => {
  await page.goto('/');
  await banner(page, 'degraded').waitFor();
  process.kill(stage.berth.process.pid, 'SIGSTOP');
  try {
    await banner(page, 'unknown').waitFor(SOON);
  } finally {
    process.kill(stage.berth.process.pid, 'SIGCONT');
  }
  await banner(page, 'degraded').waitFor(SOON);
});

test('a paused page shows how old it is', async () => {
  await page.locator('#pause').click();
  await page.locator('#health-summary.unknown', { hasText: 'paused: this page is' }).waitFor(SOON);
  await page.locator('#pause').click();
  await banner(page, 'degraded').waitFor(SOON);
});
