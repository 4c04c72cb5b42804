// Every page shows names and texts of users as plain text.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Berth } from './berth.mjs';
import { pod } from './cluster.mjs';
import { raise, shotPath } from './stage.mjs';
import { openPage, watch } from './browser.mjs';

const RTL = '\u202e'; // turns what follows round
const KEPT = 253; // of a name, the longest that Kubernetes has

/** [name, text on the page, which shows invisible characters] */
const NAMES = [
  ['<script>hacked=1</script>', '<script>hacked=1</script>'],
  ['"><img src=x onerror=hacked=2>', '"><img src=x onerror=hacked=2>'],
  ["'-hacked=3-'", "'-hacked=3-'"],
  ['javascript:hacked=4', 'javascript:hacked=4'],
  [
    '</title></style></textarea><svg onload=hacked=5>',
    '</title></style></textarea><svg onload=hacked=5>',
  ],
  [`abc${RTL}gpj.exe`, 'abc\\u202egpj.exe'],
  ['nul\u0000nul', 'nul\\x00nul'],
  ['line\nfeed', 'line\\x0afeed'],
  ['&lt;b&gt;&amp;', '&lt;b&gt;&amp;'],
  ['${hacked=6}{{hacked=7}}', '${hacked=6}{{hacked=7}}'],
  ['long'.repeat(1024), 'long'.repeat(8)],
];
/** berth rejects requests whose nodes have control characters in their names. */
const NODE_NAMES = NAMES.filter(([name]) => !/[\0-\x1f]/.test(name));
const REASON = '<img src=x onerror=hacked=8> "is" &amp; \'busy\'';

/**
 * Names of policies and rules only have letters, digits, '-', '_' and '.'. These are words with a
 * meaning in scripts, shells or pages.
 */
const WORDS = [
  '__proto__',
  'constructor',
  '1valueOf',
  '10toString',
  'x',
  'x-caption',
  '--help',
  '..',
  'long'.repeat(16).slice(1),
];
const FILE = '<img src=x onerror=hacked=10> "its" $HOME\'s file.yaml';

const policyOf = (word) => `\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: ${word}}
spec:
  params: {__proto__: 1, limit: 2}
  filters:
    - {name: ${word}, nodeLabels: {never: there}, reason: ${JSON.stringify(REASON)}}
  scores:
    - {name: even, spread: {cpu: 1}}
`;
const policy = WORDS.map(policyOf).join('---\n');
const other = `# </textarea><svg onload=hacked=11>\n${policyOf('other')}`;

const allocatable = { cpu: '4', memory: '8Gi', pods: '110' };
const nodes = NODE_NAMES.map(([name], i) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { [name.slice(0, 60)]: name.slice(0, 60), n: String(i) } },
  status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
}));

async function hostileBerth() {
  const berth = await Berth.start({ policy, cluster: nodes, more: { [FILE]: other } });
  for (const [name] of NAMES) {
    const asked = pod(name, name, { labels: { app: name } });
    await berth.verb('filter', { Pod: asked, NodeNames: NODE_NAMES.map(([node]) => node) });
    await berth.verb('prioritize', { Pod: asked, NodeNames: NODE_NAMES.map(([node]) => node) });
  }
  return berth;
}

let stage;
before(async () => (stage = await raise(hostileBerth)));
after(() => stage?.end());

const query = (name) => encodeURIComponent(name);

async function look(page, path) {
  await page.goto(path);
  await page.locator('#pause').waitFor();
  await page.waitForTimeout(50); // for an onerror that must not come
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined, path);
  assert.deepEqual(await page.evaluate(() => globalThis.refused), [], path);
  return page.locator('body').evaluate((body) => body.innerText);
}

async function watchedPage() {
  const page = await openPage(stage.browser, stage.berth.url);
  await page.addInitScript(() => {
    globalThis.refused = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.refused.push(`${event.effectiveDirective} ${event.sample}`);
    });
  });
  return page;
}

test('on the lists', async () => {
  const page = await watchedPage();
  const said = watch(page);
  for (const [path, names] of [
    ['/', NAMES],
    ['/pods', NAMES],
    ['/nodes', NODE_NAMES],
  ]) {
    const text = await look(page, path);
    await page.screenshot({ path: shotPath(`hostile${path.replaceAll('/', '-')}`) });
    for (const [, shown] of names)
      assert.ok(text.includes(shown), `${path} does not show ${shown}`);
  }
  for (const path of ['/policies', '/sources', '/latency', '/changes', '/what-if'])
    await look(page, path);
  assert.deepEqual(said, []);
  await page.context().close();
});

test('on their own pages', async () => {
  const page = await watchedPage();
  const said = watch(page);
  for (const [name, shown] of NAMES) {
    const kept = query(name.slice(0, KEPT));
    const ofPod = await look(page, `/pod?namespace=${kept}&name=${kept}`);
    assert.ok(ofPod.includes(shown), `the pod's page does not show ${shown}`);
    assert.ok(ofPod.includes(REASON), 'the reason');
    if (!NODE_NAMES.some(([node]) => node === name)) continue;
    const ofNode = await look(page, `/node?name=${query(name)}`);
    assert.ok(ofNode.includes(shown), `the node's page does not show ${shown}`);
    const why = await look(page, `/pod?namespace=${kept}&name=${kept}&node=${query(name)}`);
    assert.ok(why.includes(REASON));
  }
  assert.deepEqual(said, []);
  await page.context().close();
});

test('in search texts and hand-written addresses', async () => {
  const page = await watchedPage();
  const paths = ['/nodes?column=', '/pods?state=', '/pods?page=', '/pod?name=', '/node?name=none'];
  for (const [i, [name]] of NAMES.entries()) {
    await look(page, `/pods?q=${query(name)}`);
    await look(page, `/search?q=${query(name)}`);
    await look(page, paths[i % paths.length] + query(name));
  }
  await page.context().close();
});

test('in live updates', async () => {
  const page = await watchedPage();
  await page.goto('/');
  await page.locator('#live', { hasText: 'live' }).waitFor();
  const name = '<svg onload=hacked=9>late';
  await stage.berth.verb('filter', { Pod: pod(name, name), NodeNames: [NAMES[0][0]] });
  await page.locator('main').getByText(`${name}/${name}`).first().waitFor();
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.deepEqual(await page.evaluate(() => globalThis.refused), []);
  await page.context().close();
});

test('links are correct, and copied commands are one line', async () => {
  const page = await watchedPage();
  await page.goto('/pods');
  const links = await page
    .locator('a.pod')
    .evaluateAll((all) => all.map((link) => [...new URL(link.href).searchParams.values()].join()));
  for (const [name] of NAMES) {
    const kept = name.slice(0, KEPT);
    const href = `/pod?namespace=${query(kept)}&name=${query(kept)}`;
    assert.ok(links.includes([kept, kept].join()), `no link to ${name.slice(0, 40)}`);
    await page.goto(href);
    const commands = await page.locator('.command code').allTextContents();
    for (const command of commands) assert.ok(!/[\n\0\u202e]/.test(command), command.slice(0, 80));
  }
  await page.context().close();
});

test('policies and rules named like JavaScript properties', async () => {
  const page = await watchedPage();
  const said = watch(page);
  const words = [...WORDS, 'other'];
  const text = await look(page, '/policies');
  for (const word of words) assert.ok(text.includes(`${word}: 2 rules`), word);
  await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
  await page.screenshot({ path: shotPath('hostile-policies'), fullPage: true });
  const shared = await page.evaluate(() => {
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    return ids.filter((id, place) => ids.indexOf(id) !== place);
  });
  assert.deepEqual(shared, []);
  for (const word of words) {
    const rules = page.getByRole('region', { name: `Rules of ${word}`, exact: true });
    assert.deepEqual(await rules.locator('tbody th').allInnerTexts(), [word, 'even']);
  }
  await page.locator('#policies').getByRole('button', { name: 'Policy' }).click();
  const sorted = await page.locator('#policies tbody th').allInnerTexts();
  assert.deepEqual(sorted, words.sort(new Intl.Collator('en', { numeric: true }).compare));
  assert.deepEqual(said, []);
  await page.context().close();
});

test('in a what-if', async () => {
  const page = await watchedPage();
  const said = watch(page);
  await look(page, '/what-if');
  const result = page.locator('#what-if-result');
  for (const word of WORDS) {
    await page.getByLabel(`__proto__ of policy ${word}`, { exact: true }).fill('3');
    await page.getByLabel(`weight of score even of policy ${word}`, { exact: true }).fill('7');
  }
  await page.locator('#what-if-run').click();
  await result.locator('.command').waitFor();
  let command = await result.locator('.command code').innerText();
  for (const word of WORDS) {
    assert.ok(command.includes(` --set ${word}.params.__proto__=3 `), command);
    assert.ok(command.includes(` --set ${word}.even.weight=7 `), command);
  }
  const text = page.locator('textarea.policy').last();
  assert.equal(await text.inputValue(), other);
  await text.fill(`${other}# <svg onload=hacked=12>\n`);
  await page.locator('#what-if-run').click();
  await result.locator('pre.diff').waitFor();
  assert.ok((await result.innerText()).includes('+# <svg onload=hacked=12>'));
  // The policies of a what-if replace all others, so the command also has the unedited texts.
  command = await result.locator('.command code').innerText();
  assert.ok(command.includes(' --policy - '), command);
  assert.ok(command.includes(" <<'END'\n") && command.endsWith('\nEND'), command);
  const first = await page.locator('textarea.policy').first().inputValue();
  assert.ok(command.includes(`${first}---\n${other}# <svg onload=hacked=12>\nEND`), command);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.deepEqual(await page.evaluate(() => globalThis.refused), []);
  assert.deepEqual(said, []);
  await page.context().close();
});
