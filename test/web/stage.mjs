// Starts a berth with recorded decisions, and a browser.

import { join } from 'node:path';
import { Berth } from './berth.mjs';
import { cluster, feed, policies } from './cluster.mjs';
import { startBrowser } from './browser.mjs';

/** The recorded cluster: one change of policies, then 300 decisions. */
export async function recordedBerth() {
  const now = new Date();
  const berth = await Berth.start({ policy: policies({ limit: 0.9 }), cluster: cluster(now) });
  const before = (await berth.json('/api/v1/status')).policy.digest;
  await berth.writePolicy(policies());
  berth.reload();
  await berth.until('/api/v1/status', ({ policy }) => policy.digest !== before);
  await feed(berth, now);
  return berth;
}

/** The berth, the browser, and a function to end them. */
export async function raise(start = recordedBerth) {
  const browser = await startBrowser();
  const end = async () => {
    await browser.close();
    for (const berth of [...Berth.running]) await berth.stop();
  };
  try {
    return { berth: await start(), browser, end };
  } catch (error) {
    await end(); // or nothing would ever end
    throw error;
  }
}

export function shotPath(name) {
  return join(process.env.BERTH_WEB_SHOTS ?? 'build/web', `${name}.png`);
}

/** Every page by name; pages of one object use objects of the recorded cluster. */
export const PAGES = {
  overview: '/',
  pods: '/pods',
  'pod-waiting': '/pod?namespace=ml&name=train-1',
  'pod-placed': '/pod?namespace=shop&name=web-5',
  policies: '/policies',
  nodes: '/nodes',
  node: '/node?name=node-07',
  sources: '/sources',
  latency: '/latency',
  changes: '/changes',
  'what-if': '/what-if',
};
