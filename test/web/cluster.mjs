// The recorded cluster: 60 nodes, five policies, 300 decisions. Nothing is random, so the texts
// that pages must show are beside the data that causes them.

/** node-01 to node-36: general, to node-52: batch, to node-60: gpu. */
const pools = [
  ['general', 36],
  ['batch', 52],
  ['gpu', 60],
];
const nameOf = (i) => `node-${String(i).padStart(2, '0')}`;

export const NODES = Array.from({ length: 60 }, (_, i) => nameOf(i + 1));
export const HOT = 'node-07'; // load 0.97
export const CORDONED = 'node-20';
export const NOT_READY = 'node-21';

const loadOf = (i) => (nameOf(i) === HOT ? 0.97 : 0.1 + ((i * 7) % 13) * 0.05); // 0.1 to 0.7
const poolOf = (i) => pools.find(([, last]) => i <= last)[0];

/** @param {Date} now the time at which the loads were measured */
function node(i, now) {
  const name = nameOf(i);
  const allocatable = { cpu: '16', memory: '64Gi', pods: '110' };
  if (poolOf(i) === 'gpu') allocatable['nvidia.com/gpu'] = '4';
  const annotations = { 'example.com/load': `${loadOf(i).toFixed(2)},${now.toISOString()}` };
  if (i <= 52) annotations['example.com/heat'] = `${heatOf(i)},${now.toISOString()}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'example.com/pool': poolOf(i),
        'topology.kubernetes.io/zone': 'abc'[i % 3],
        ...(name === HOT ? { 'example.com/edge': 'yes' } : {}),
      },
      annotations,
    },
    spec: name === CORDONED ? { unschedulable: true } : {},
    status: {
      allocatable,
      capacity: allocatable,
      conditions: [{ type: 'Ready', status: name === NOT_READY ? 'False' : 'True' }],
    },
  };
}

/** @param {object} [more] labels, requests, nodeName */
export function pod(namespace, name, { labels = {}, requests, nodeName } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, uid: `uid-${namespace}-${name}`, labels },
    spec: {
      containers: [{ name: 'main', image: 'example.com/main:1', resources: { requests } }],
      ...(nodeName ? { nodeName } : {}),
    },
    status: { phase: nodeName ? 'Running' : 'Pending' },
  };
}

const CORES = 16;
const coresOf = (i) => (i * 3) % 11;
const gibOf = (i) => ((i * 5) % 40) + 1;
const heatOf = (i) => 30 + (i % 20);

/** Pods that run from the beginning: they use 0 to 10 cores, and all GPUs. */
function resident(i) {
  const requests = { cpu: String(coresOf(i)), memory: `${gibOf(i)}Gi` };
  if (poolOf(i) === 'gpu') requests['nvidia.com/gpu'] = '4';
  return pod('base', `resident-${i}`, { requests, nodeName: nameOf(i) });
}

export function cluster(now, placed = []) {
  const numbers = NODES.map((_, i) => i + 1);
  return [...numbers.map((i) => node(i, now)), ...numbers.map(resident), ...placed];
}

/** @param {{limit?: number}} [change] the highest load that cool allows */
export const policies = ({ limit = 0.8 } = {}) => `\
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: general}
spec:
  match: {namespaces: [shop]}
  filters:
    - {name: pool, nodeLabels: {example.com/pool: general}, reason: node is not in the general pool, unresolvable: true}
    - {name: ready, nodeReady: true, reason: node is not ready or cordoned, unresolvable: true}
  scores:
    - {name: spread, spread: {cpu: 1, memory: 1}, weight: 3}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: gpu}
spec:
  match: {podSelector: {matchLabels: {example.com/accelerator: gpu}}}
  filters:
    - {name: pool, nodeLabels: {example.com/pool: gpu}, reason: node is not in the gpu pool, unresolvable: true}
    - {name: devices, headroom: {nvidia.com/gpu: 0}, reason: node has no free GPU}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: batch}
spec:
  match: {namespaces: [batch]}
  filters:
    - {name: pool, nodeLabels: {example.com/pool: [batch, general]}, reason: node does not take batch jobs, unresolvable: true}
  scores:
    - {name: pack, binPack: {cpu: 1}, weight: 2}
  narrow: {to: 5}
---
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: edge}
spec:
  match: {namespaces: [edge]}
  filters:
    - {name: place, nodeLabels: {example.com/edge: "yes"}, reason: node is not at the edge, unresolvable: true}
---
# For every pod: none on hot nodes, the idlest first.
apiVersion: berth.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: cool}
spec:
  metrics:
    - {name: load, annotation: {key: example.com/load}, maxAge: 5h}
    - {name: heat, annotation: {key: example.com/heat}, maxAge: 5h}
  filters:
    - {name: hot, metricLimit: {metric: load, max: ${limit}}, onMissing: allow, reason: node is hot}
  scores:
    - {name: idle, metricScore: {metric: load, low: 0, high: 1, prefer: low}, onMissing: 50}
    - {name: chilled, metricScore: {metric: heat, low: 20, high: 60, prefer: low}, onMissing: 50}
`;

const cores = (cpu, gib) => ({ cpu: String(cpu), memory: `${gib}Gi` });

/** The score (0 to 100) of a node for its first pod of shop. */
export function scoreOfShop(name) {
  const i = NODES.indexOf(name) + 1;
  const free = ((CORES - coresOf(i) - 1) / CORES + (64 - gibOf(i) - 2) / 64) / 2;
  const parts = {
    spread: 100 * free * (3 / 5),
    idle: (100 * (1 - loadOf(i))) / 5,
    chilled: (100 * ((60 - heatOf(i)) / 40)) / 5,
  };
  return { parts, score: parts.spread + parts.idle + parts.chilled };
}

/** Sends a filter and, if more than one node passes, a prioritize. Returns the nodes in berth's order. */
async function place(berth, asked, offered) {
  const { NodeNames, Error: error } = await berth.verb('filter', {
    Pod: asked,
    NodeNames: offered,
  });
  if (error) throw new Error(error);
  const passed = NodeNames ?? [];
  if (passed.length < 2) return passed;
  const scores = await berth.verb('prioritize', { Pod: asked, NodeNames: passed });
  const byHost = new Map(scores.map(({ Host, Score }) => [Host, Score]));
  return [...passed].sort((a, b) => (byHost.get(b) ?? 0) - (byHost.get(a) ?? 0));
}

/** The last ten nodes are never candidates for pods of shop: kube-scheduler's own filters reject them. */
export const OFFERED_TO_SHOP = 50;
export const SHOP_PODS = 70;
export const BATCH_PODS = 50;
export const WAITING_FOR_GPUS = 6;

/** Nodes that pass kube-scheduler's own filters: ready, with this many free cores. */
const fitting = (free, cpu) =>
  NODES.filter((name) => free.get(name) >= cpu && name !== CORDONED && name !== NOT_READY);

/** Pods that are placed between two versions of the cluster file. */
const ROUND = 10;

/**
 * 300 decisions: 70 pods of shop and 50 of batch are placed (two decisions each), 6 are pending for
 * GPUs (8 attempts each), and one pod of edge because its node is hot (12 attempts).
 * @param {Date} now as for cluster()
 */
export async function feed(berth, now) {
  const placed = [];
  const free = new Map(NODES.map((name, i) => [name, CORES - coresOf(i + 1)]));
  const settle = async (asked, nodeName) => {
    free.set(
      nodeName,
      free.get(nodeName) - Number(asked.spec.containers[0].resources.requests.cpu),
    );
    placed.push({ ...asked, spec: { ...asked.spec, nodeName }, status: { phase: 'Running' } });
    if (placed.length % ROUND === 0) await tell(berth, cluster(now, placed));
  };
  for (let i = 1; i <= SHOP_PODS; i++) {
    const asked = pod('shop', `web-${i}`, { requests: cores(1, 2), labels: { app: 'web' } });
    const ranked = await place(berth, asked, NODES.slice(0, OFFERED_TO_SHOP));
    // For every fifth pod, kube-scheduler's own scores outweigh berth's.
    await settle(asked, ranked[i % 5 === 0 ? 8 : i % 4]);
  }
  for (let i = 1; i <= BATCH_PODS; i++) {
    const asked = pod('batch', `job-${i}`, { requests: cores(2, 1) });
    await settle(asked, (await place(berth, asked, fitting(free, 2)))[0]);
  }
  for (let attempt = 0; attempt < 8; attempt++) {
    for (let i = 1; i <= WAITING_FOR_GPUS; i++)
      await place(berth, pod('ml', `train-${i}`, GPU), NODES);
  }
  const gateway = pod('edge', 'gateway-0', { requests: cores(1, 1) });
  for (let attempt = 0; attempt < 12; attempt++) await place(berth, gateway, NODES);
}

const GPU = {
  requests: { ...cores(4, 16), 'nvidia.com/gpu': '2' },
  labels: { 'example.com/accelerator': 'gpu' },
};

/** Makes berth reload the cluster file. */
async function tell(berth, items) {
  const { generation } = (await berth.json('/api/v1/status')).cluster;
  await berth.writeCluster(items);
  berth.reload();
  await berth.until('/api/v1/status', ({ cluster: seen }) => seen.generation > generation);
}
