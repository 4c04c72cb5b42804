// Every page, in both themes and with the smallest and largest width, is accessible, readable without a
// script, within its size limits, and loads nothing from other hosts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PAGES, raise, shotPath } from './stage.mjs';
import { WIDTHS, axeSource, openPage, watch } from './browser.mjs';

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";
const COMPRESSED_MOST = 200_000;

let stage;
before(async () => (stage = await raise()));
after(() => stage?.end());

async function violations(page) {
  await page.evaluate(axeSource);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const result = await page.evaluate((values) => globalThis.axe.run({ runOnly: values }), tags);
  return result.violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html} ${node.failureSummary}`)
        .join(' | ')}`,
  );
}

/** The width of a page beyond the window: only tables may scroll, in their own regions. */
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

for (const theme of ['light', 'dark']) {
  for (const width of [WIDTHS.narrow, WIDTHS.desk]) {
    test(`no page has an axe violation: ${theme}, ${width} px`, async () => {
      const page = await openPage(stage.browser, stage.berth.url, { width, theme });
      const said = watch(page);
      for (const [name, path] of Object.entries(PAGES)) {
        assert.equal((await page.goto(path)).status(), 200, path);
        await page.locator('#pause').waitFor(); // modules have run
        await page.screenshot({ path: shotPath(`${name}-${theme}-${width}`), fullPage: true });
        await page.evaluate(() =>
          document.querySelectorAll('details').forEach((d) => (d.open = true)),
        );
        assert.deepEqual(await violations(page), [], `${path}, ${theme}, ${width} px`);
        assert.equal(await overflow(page), 0, `${path} is wider than ${width} px`);
      }
      assert.deepEqual(said, []);
      await page.context().close();
    });
  }
}

test('nor have dialogs and menus', async () => {
  const page = await openPage(stage.browser, stage.berth.url);
  await page.goto('/what-if');
  await page.getByLabel('weight of score spread of policy general').fill('0.1');
  await page.locator('#what-if-run').click();
  await page.locator('#what-if-cases').waitFor();
  assert.deepEqual(await violations(page), [], 'a result');
  await page.getByLabel('weight of score spread of policy general').fill('3'); // as it was
  await page.locator('textarea.policy').fill('kind: Nonsense\n');
  await page.locator('#what-if-run').click();
  await page.locator('#what-if-result .problem').waitFor();
  await page.getByText(/policy\.yaml:1:7: error: kind must be PlacementPolicy/).waitFor();
  assert.deepEqual(await violations(page), [], 'an error');
  await page.locator('#help-button').click();
  assert.deepEqual(await violations(page), [], 'the keys');
  await page.context().close();
});

test('large screens get larger text, and no page is wider than the screen', async () => {
  const page = await openPage(stage.browser, stage.berth.url, { width: WIDTHS.projector });
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(path);
    await page.screenshot({ path: shotPath(`${name}-light-${WIDTHS.projector}`) });
    assert.equal(await overflow(page), 0, path);
  }
  const size = await page.evaluate(() => parseFloat(getComputedStyle(document.body).fontSize));
  assert.ok(size > 17, `letters of ${size} px`);
  await page.context().close();
});

test('the main tables can be read without a script', async () => {
  const page = await openPage(stage.browser, stage.berth.url, { script: false });
  const wanted = {
    '/': [
      'berth is degraded because policies keep 7 pods pending',
      'edge/gateway-0',
      '8 nodes: node has no free GPU · 52 nodes: node is not in the gpu pool',
    ],
    '/pods': ['ml/train-1', 'pending', 'shop/web-70'],
    '/pod?namespace=ml&name=train-1': ['pending', 'node has no free GPU', 'node-53'],
    '/policies': ['cool', 'edge', 'Nodes rejected'],
    '/nodes': ['node-07', 'node-60'],
    '/node?name=node-07': ['node-07', '0.97'],
    '/sources': ['load', '60 of 60', '52 of 60'],
    '/latency': ['filter', 'prioritize', 'p99'],
    '/changes': ['policy'],
  };
  for (const [path, texts] of Object.entries(wanted)) {
    await page.goto(path);
    const text = await page.locator('body').textContent();
    for (const part of texts) assert.ok(text.includes(part), `${path} has no "${part}"`);
    assert.equal(
      await page
        .locator('button:visible')
        .filter({ hasText: /Copy|Pause/ })
        .count(),
      0,
    );
  }
  await page.context().close();
});

test('every reply has a strict content security policy', async () => {
  for (const path of Object.values(PAGES)) {
    const { headers } = await stage.berth.ask('GET', path, undefined, { Accept: 'text/html' });
    assert.equal(headers['content-security-policy'], CSP, path);
    assert.equal(headers['x-content-type-options'], 'nosniff', path);
    assert.equal(headers['referrer-policy'], 'no-referrer', path);
    assert.match(headers['content-type'], /^text\/html; *charset=utf-8$/i, path);
  }
});

test('an injected script is not run', async () => {
  const page = await openPage(stage.browser, stage.berth.url);
  await page.addInitScript(() => {
    globalThis.refused = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      globalThis.refused.push(event.effectiveDirective),
    );
  });
  // Only once, because the page may fetch itself again while it is being closed.
  const changeOnce = async (route) => {
    const reply = await route.fetch();
    const evil =
      '<script>globalThis.hacked = 1</script><img src="x:" onerror="hacked = 2">' +
      '<p style="color: red">red</p>';
    const body = (await reply.text()).replace('<main', `${evil}<main`);
    await route.fulfill({ response: reply, body });
  };
  await page.route('**/pods', changeOnce, { times: 1 });
  await page.goto('/pods');
  await page.locator('#pause').waitFor();
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  const refused = await page.evaluate(() => globalThis.refused);
  for (const directive of ['script-src-elem', 'script-src-attr', 'style-src-attr']) {
    assert.ok(refused.includes(directive), `${directive} was not refused: ${refused}`);
  }
  // Trusted types: berth's own scripts cannot turn text into markup.
  const threw = await page.evaluate(() => {
    try {
      document.body.innerHTML = '<p>markup</p>';
      return false;
    } catch (error) {
      return error instanceof TypeError;
    }
  });
  assert.ok(threw, 'Trusted Types do not hold');
  await page.context().close();
});

test('no requests to other hosts, and small pages', async () => {
  const page = await openPage(stage.browser, stage.berth.url);
  const asked = new Set();
  page.on('request', (request) => asked.add(request.url()));
  for (const path of Object.values(PAGES)) {
    await page.goto(path);
    await page.locator('#pause').waitFor();
  }
  await page.context().close();
  const assets = [...asked].filter((url) => url.startsWith(`${stage.berth.url}/assets/`));
  const others = [...asked].filter((url) => !url.startsWith(`${stage.berth.url}/`));
  assert.deepEqual(others, []);
  assert.ok(assets.length > 5, `assets: ${assets}`);
  let bytes = 0;
  for (const url of assets) {
    const reply = await stage.berth.ask('GET', new URL(url).pathname, undefined, {
      'Accept-Encoding': 'gzip',
    });
    assert.equal(reply.headers['content-encoding'], 'gzip', url);
    bytes += reply.bytes.length;
  }
  const pages = await Promise.all(
    Object.values(PAGES).map((path) =>
      stage.berth.ask('GET', path, undefined, { Accept: 'text/html' }),
    ),
  );
  const largest = Math.max(...pages.map((reply) => gzipSync(reply.bytes).length));
  console.log(`assets: ${bytes} bytes compressed; the largest page: ${largest}`);
  assert.ok(bytes + largest <= COMPRESSED_MOST, `${bytes} and ${largest} bytes`);
});

test('the chosen theme is kept', async () => {
  const page = await openPage(stage.browser, stage.berth.url, { theme: 'light' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto('/');
  const light = await ground();
  await page.locator('#theme').click();
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.goto('/pods');
  assert.equal(await ground(), dark);
  await page.context().close();
});
