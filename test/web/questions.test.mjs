// Questions of an on-call engineer: each is answered on screen with at most three clicks from "/".
// The expected answers come from the recorded cluster (cluster.mjs), not from berth.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CORDONED, HOT, NODES, NOT_READY, SHOP_PODS, policies, scoreOfShop } from './cluster.mjs';
import { raise, shotPath } from './stage.mjs';
import { openPage, watch } from './browser.mjs';

const CLICKS_MOST = 3;
const PATIENCE_MS = 10000; // the limit for an answer, too

let stage;
before(async () => (stage = await raise()));
after(() => stage?.end());

/** A path from "/" that counts clicks, and texts sent with Enter. */
class Walk {
  static async begin() {
    const walk = new Walk();
    walk.page = await openPage(stage.browser, stage.berth.url);
    walk.said = watch(walk.page);
    walk.clicks = 0;
    await walk.page.goto('/');
    return walk;
  }

  async click(locator) {
    this.clicks++;
    await locator.click({ timeout: PATIENCE_MS });
  }

  link(name) {
    return this.click(this.page.getByRole('link', { name, exact: true }).first());
  }

  async search(text) {
    this.clicks++;
    await this.page.locator('#search').fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** The text is visible after scrolling, not only in the document. */
  async sees(...texts) {
    for (const text of texts) {
      const found =
        typeof text === 'string' ? (shown) => shown.includes(text) : (shown) => text.test(shown);
      const deadline = Date.now() + PATIENCE_MS;
      let shown = await this.text();
      while (!found(shown) && Date.now() < deadline) {
        await this.page.waitForTimeout(50);
        shown = await this.text();
      }
      assert.ok(found(shown), `not on screen: ${text}\n\n${shown}`);
    }
  }

  async text() {
    return (await this.page.locator('body').innerText()).replace(/\s+/g, ' ');
  }

  async end(name) {
    assert.ok(this.clicks <= CLICKS_MOST, `${this.clicks} clicks`);
    assert.deepEqual(this.said, []);
    await this.page.screenshot({ path: shotPath(`question-${name}`), fullPage: true });
    await this.page.context().close();
  }
}

const question = (number, text, walk) =>
  test(text, async () => {
    const made = await Walk.begin();
    await walk(made);
    await made.end(number);
  });

question(1, 'Is it us?', async (walk) => {
  const { policy } = await stage.berth.json('/api/v1/status');
  await walk.sees(
    'berth is degraded because policies keep 7 pods pending',
    'errors 0.0 %',
    `policy ${policy.digest.slice(0, 12)}`,
    'nodes 60',
    'pending pods 7',
    /filter p99 latency [\d.]+ (µs|ms) of 100 ms/,
    /metrics [\d.]+ (ms|s|min)/,
  );
});

question(2, 'Why is this pod pending?', async (walk) => {
  await walk.link('ml/train-1');
  await walk.sees(
    'pending',
    '0 of 60 nodes passed',
    '52 nodes: node is not in the gpu pool (policy gpu, rule pool)',
    '8 nodes: node has no free GPU (policy gpu, rule devices)',
    'Attempt 8 of 8',
    '52 node is not in the gpu pool, 8 node has no free GPU.', // like kubectl describe
    /retries when the cluster changes, at the latest at \d\d:\d\d:\d\d UTC/,
    '2 more nvidia.com/gpu free on the node: then node-53 passes',
    'berth explain --last ml/train-1',
  );
  await walk.click(
    walk.page.locator('details.reason', { hasText: 'no free GPU' }).locator('summary'),
  );
  await walk.sees(...NODES.slice(52), 'nvidia.com/gpu: -2 would remain free, 0 required');
});

/** The nodes of the first pods of shop, best first. */
const taking = NODES.slice(0, 36)
  .filter((name) => ![HOT, CORDONED, NOT_READY].includes(name))
  .sort((a, b) => scoreOfShop(b).score - scoreOfShop(a).score);

question(3, 'Why was this node chosen?', async (walk) => {
  await walk.search('web-5'); // leads to the pod of exactly this name
  const chosen = await walk.page.locator('.answer a.node').first().textContent();
  const { parts, score } = scoreOfShop(chosen);
  const said = Object.entries(parts)
    .map(([name, part]) => `${part.toFixed(1)} ${name}`)
    .join(' + ');
  const rank = taking.indexOf(chosen) + 1;
  assert.ok(rank > 1, 'kube-scheduler was to outweigh us');
  await walk.sees(
    `Chosen: ${chosen}: ${score.toFixed(1)} = ${said}, rank ${rank} of ${taking.length}`,
    `berth's first choice was ${taking[0]}`,
    "kube-scheduler's own scores outweighed berth's by at least",
    "berth's share of the total score",
    `${chosen} ← chosen`,
    'kube-scheduler did not send 10 of 60 nodes',
  );
});

question(4, 'Why not node X?', async (walk) => {
  await walk.search('shop/web-5');
  await walk.page.getByLabel('Node', { exact: true }).fill(HOT);
  await walk.click(walk.page.getByRole('button', { name: 'Why not?' }));
  await walk.sees(
    `${HOT}: ✗ rejected: node is hot`,
    'load is 0.97, must be at most 0.8',
    'The node as it was then',
    /metrics.load 0.97 0.97 .* ago 5 h/,
  );
});

question('4-node', 'Why not node X, by the node', async (walk) => {
  await walk.link('Nodes');
  await walk.link(HOT);
  await walk.sees(
    '✓ ready',
    'cool/hot',
    'load is 0.97, must be at most 0.8',
    'Recent verdicts',
    'edge/gateway-0',
  );
  assert.equal(await walk.page.locator('#node-verdicts tbody tr').count(), 20);
});

question(5, 'What would happen if I changed the threshold?', async (walk) => {
  await walk.link('What if');
  const text = walk.page.locator('textarea.policy');
  await text.fill(policies({ limit: 0.98 }));
  await walk.click(walk.page.locator('#what-if-run'));
  // With the new limit the hot node passes, so gateway-0 could be placed in each of its 12 attempts.
  await walk.sees('12 newly passing', 'edge/gateway-0', 'cool/hot', '300 decisions');
  await walk.sees('max: 0.98', '- - {name: hot', '+ - {name: hot', 'berth what-if --policy - ');
});

question('5-weight', 'What would happen if I changed the weight?', async (walk) => {
  await walk.link('What if');
  await walk.page.getByLabel('weight of score spread of policy general').fill('0.1');
  await walk.click(walk.page.locator('#what-if-run'));
  await walk.sees(/\d+ another best node/, 'shop/web-', '--set general.spread.weight=0.1');
});

question(6, 'Does berth slow down the scheduler?', async (walk) => {
  await walk.link('Latency');
  await walk.sees(
    /No: p99 latency of filter is [\d.]+ (µs|ms)/,
    /filter 180 /,
    /prioritize 120 /,
    'reading',
    'evaluating',
    'writing',
    'Deadline exceeded',
  );
});

question(7, 'What changed?', async (walk) => {
  await walk.link('Changes');
  await walk.sees('policies reloaded', '1 line added, 1 removed', 'berth started');
  await walk.click(walk.page.getByText('Show the difference').first());
  await walk.sees(
    '- - {name: hot, metricLimit: {metric: load, max: 0.9}',
    '+ - {name: hot, metricLimit: {metric: load, max: 0.8}',
  );
});

question(8, 'Which policy keeps pods pending?', async (walk) => {
  await walk.link('Policies');
  await walk.sees('7 pods are pending. Without policy edge 1 of 7 pending pods would have a node');
  const rows = await walk.page.locator('#policies tbody tr').allInnerTexts();
  const cells = new Map(
    rows.map((row) => row.split('\t').map((cell) => cell.trim())).map((row) => [row[0], row]),
  );
  assert.deepEqual([...cells.keys()].slice(0, 2), ['edge', 'cool']);
  assert.doesNotMatch(cells.get('gpu')[2], /[1-9]/); // without it there are no free GPUs either
  assert.equal(cells.get('cool')[2], '1 of 7 pending');
  assert.deepEqual(cells.get('gpu').slice(3, 6), ['48', (48 * 60).toLocaleString('en'), '48']);
  assert.equal(cells.get('general')[4], (SHOP_PODS * (14 + 2)).toLocaleString('en'));
});

question(9, 'Are the metrics current?', async (walk) => {
  await walk.link('Sources');
  await walk.sees(
    'load',
    'example.com/load',
    '60 of 60',
    '✓ every node has a value',
    'heat',
    'example.com/heat',
    '52 of 60',
    'some nodes have no value',
    /of 5 h/,
  );
});

question(10, 'Is the load balanced?', async (walk) => {
  await walk.link('Nodes');
  await walk.page.getByLabel('Colour by').selectOption({ label: 'load, as measured' });
  await walk.page.getByLabel('sort by').selectOption({ label: 'highest first' });
  await walk.click(walk.page.getByRole('button', { name: 'Show' }));
  await walk.sees(
    '60 nodes; load, as measured: lowest 0.1',
    'highest 0.97',
    '1 not ready',
    '1 cordoned',
  );
  assert.match(await walk.page.locator('#nodes tbody tr').first().innerText(), /^node-07\t/);
  await walk.page.locator('.heat-legend', { hasText: '0.97' }).waitFor();
  // The seventh cell of the first row.
  const cell = await walk.page.evaluate(() => {
    const canvas = document.querySelector('.heat-cells canvas');
    return { width: Math.min(40, canvas.clientWidth / 2) };
  });
  await walk.page.locator('.heat-cells canvas').hover({ position: { x: 6.5 * cell.width, y: 10 } });
  await walk.sees(`${HOT}: load, as measured 0.97`);
  walk.clicks++;
  await walk.page.locator('.heat-cells canvas').click({ position: { x: 6.5 * cell.width, y: 10 } });
  await walk.page.waitForURL('**/node?name=node-07');
});

question(11, 'Can I hand this to someone?', async (walk) => {
  await walk.link('ml/train-1');
  const link = await walk.page.locator('#permalink').getAttribute('href');
  assert.match(link, /^\/pod\?namespace=ml&name=train-1&at=\d{4}-/);
  const bundle = await walk.page.getByText('Download an anonymized bundle').getAttribute('href');
  const reply = await stage.berth.ask('GET', bundle);
  assert.equal(reply.status, 200);
  assert.deepEqual([...reply.bytes.subarray(0, 2)], [0x1f, 0x8b], 'no gzip');
  await walk.page.goto(link);
  await walk.sees('This link shows the state as of', 'Attempt 8 of 8');
});

test('Is berth the cause? Every page shows why it is not healthy', async () => {
  const page = await openPage(stage.browser, stage.berth.url);
  await page.goto('/policies');
  await stage.berth.writePolicy(
    'apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nspec: {}\n',
  );
  stage.berth.reload();
  await page
    .locator('#health-summary', { hasText: /degraded because the newest policy was rejected/ })
    .waitFor({ timeout: PATIENCE_MS });
  await page.screenshot({ path: shotPath('question-1-degraded') });
  await stage.berth.writePolicy(policies());
  stage.berth.reload();
  await page
    .locator('#health-summary', { hasText: 'degraded because policies keep' })
    .waitFor({ timeout: PATIENCE_MS });
  await page.context().close();
});
