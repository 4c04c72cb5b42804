// The report of a replay, in words and tables.

import { make, number } from './make.js';
import { makeTable } from './table.js';

const CASES_SHOWN = 50;
const NODES_SHOWN = 20;

/** The words for each change, in the summary and in the table of decisions. */
const CHANGES = {
  equal: 'equal',
  'newly-rejected': 'newly rejected',
  'newly-passing': 'newly passing',
  nodes: 'with other nodes passing',
  reasons: 'with other reasons',
  best: 'another best node',
  scores: 'with other scores, the same best',
  nominated: 'with another verdict on the nominated node',
  skipped: 'not replayed',
};

/** @param {object} report the reply of /api/v1/what-if @returns {Node[]} the report as elements */
export function showSum(report) {
  return [
    summary(report),
    ...notices(report),
    ...(report.rules.length ? [rules(report.rules)] : []),
  ];
}

/** @returns {Node[]} the single decisions and nodes */
export function showCases(report) {
  return [
    ...(report.cases.length ? [cases(report.cases)] : []),
    ...(report.nodes.length ? [nodes(report.nodes)] : []),
  ];
}

function summary({ decisions, pods, moved, changes }) {
  const counts = Object.entries(CHANGES).filter(([name]) => changes[name] > 0);
  const said = counts.flatMap(([name, label], i) => [
    i ? ', ' : '',
    make('b', {}, number(changes[name])),
    ` ${label}`,
  ]);
  return make(
    'p',
    { class: 'answer' },
    `Of ${number(decisions)} decisions about ${number(pods)} pods: `,
    ...(said.length ? said : ['none']),
    '. ',
    make('b', {}, number(moved)),
    moved === 1 ? ' pod would be moved.' : ' pods would be moved.',
  );
}

function notices({ whole, unmeasured, skippedWhy }) {
  const texts = [
    !whole && 'Time ran out: the oldest decisions are missing. Replay fewer.',
    unmeasured > 0 &&
      `${unmeasured} metrics of the new policies have no recorded values: onMissing applies.`,
    skippedWhy && `Not replayed: ${skippedWhy}.`,
  ];
  return texts.filter(Boolean).map((text) => make('p', { class: 'notice' }, text));
}

function rules(list) {
  return makeTable(
    'what-if-rules',
    'Rules that cause it',
    ['Rule', '#Rejected before', '#Rejected then', '#Pods newly rejected', '#Pods newly passing'],
    list.map((rule) => [
      `${rule.policy}/${rule.rule}`,
      number(rule.rejectedBefore),
      number(rule.rejectedAfter),
      number(rule.newlyRejected),
      number(rule.newlyPassing),
    ]),
  );
}

function nodes(list) {
  const all = list.length <= NODES_SHOWN;
  return makeTable(
    'what-if-nodes',
    all
      ? 'How often each node scores highest'
      : `How often each node scores highest: the ${NODES_SHOWN} that change most`,
    ['Node', '#Before', '#Then'],
    list
      .slice(0, NODES_SHOWN)
      .map(({ node, bestBefore, bestAfter }) => [
        nodeLink(node),
        number(bestBefore),
        number(bestAfter),
      ]),
  );
}

function cases(list) {
  const all = list.length <= CASES_SHOWN;
  return makeTable(
    'what-if-cases',
    all
      ? 'Decisions that change'
      : `The newest ${CASES_SHOWN} of ${number(list.length)} decisions that change (the command has all)`,
    ['Pod', 'Verb', 'What changes', 'From', 'To', 'By'],
    list
      .slice(0, CASES_SHOWN)
      .map((one) => [
        podLink(one),
        one.verb,
        CHANGES[one.change] ?? one.change,
        ...fromTo(one),
        one.rule ?? '',
      ]),
  );
}

function fromTo({ verb, passedBefore, passedAfter, bestBefore, bestAfter, chosen, chosenLost }) {
  const lost = chosenLost ? `; ✗ ${chosen}, the chosen node, would be rejected` : '';
  if (verb === 'filter') return [passing(passedBefore), passing(passedAfter) + lost];
  return [bestBefore ? nodeLink(bestBefore) : 'none', bestAfter ? nodeLink(bestAfter) : 'none'];
}

const passing = (n) => (n === 1 ? '1 node passes' : `${number(n)} nodes pass`);

function podLink({ id, pod: { namespace, name } }) {
  const href = `/pod?${new URLSearchParams({ namespace, name, id })}`;
  return make('a', { class: 'pod', href }, `${namespace}/${name}`);
}

const nodeLink = (name) =>
  make('a', { class: 'node', href: `/node?${new URLSearchParams({ name })}` }, name);
