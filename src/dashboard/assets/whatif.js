// "What would happen if …?": sends the changes on the page to berth, which replays its last
// decisions with them and reports the differences. Nothing is applied.

import { unifiedDiff } from './diff.js';
import { make } from './make.js';
import { showCases, showSum } from './whatif-report.js';
import { makeCommand, makeDiff } from './table.js';

/** @param {() => void} decorate adds buttons to new elements */
export function startWhatIf(decorate) {
  const form = document.getElementById('what-if-form');
  if (!form) return;
  const button = document.getElementById('what-if-run');
  button.hidden = false;
  form.addEventListener('input', ({ target }) =>
    target.classList.toggle('changed', isChanged(target)),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault(); // replay() sends the request; the form itself must not
    button.disabled = true;
    await run(form, document.getElementById('what-if-result'));
    button.disabled = false;
    decorate();
  });
}

/** Amounts ("500m") are compared as they are written, numbers as numbers: 1.0 is 1. */
const isChanged = (field) => valueOf(field, field.value) !== valueOf(field, field.defaultValue);

const valueOf = (field, text) => (field.type === 'number' ? Number(text) : text);

/**
 * @returns {{texts: HTMLTextAreaElement[], edited: HTMLTextAreaElement[], set: Object, last:
 *   number}}
 */
function read(form) {
  const texts = [...form.querySelectorAll('textarea.policy')];
  const numbers = [...form.querySelectorAll('input[data-set]')].filter(isChanged);
  return {
    texts,
    edited: texts.filter(isChanged),
    set: Object.fromEntries(
      numbers.map((input) => [input.dataset.set, valueOf(input, input.value)]),
    ),
    last: Number(form.querySelector('#what-if-last').value),
  };
}

async function run(form, home) {
  const edits = read(form);
  home.replaceChildren(
    make('h2', {}, 'Result'),
    make('p', {}, 'Replaying decisions …'),
  );
  const { sum, cases } = await replay(edits);
  home.replaceChildren(make('h2', {}, 'Result'), ...sum, ...patch(edits), ...cases);
}

/** Posts the edits; the reply as elements. @returns {Promise<{sum: Node[], cases: Node[]}>} */
async function replay({ texts, edited, set, last }) {
  // The posted policies replace all those in force, so unedited texts are posted, too.
  const policies = texts.map((text) => ({ name: text.dataset.file, text: text.value }));
  const body = edited.length ? { policies, set } : { set };
  try {
    const reply = await fetch(`/api/v1/what-if?last=${last}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await reply.json();
    return reply.ok
      ? { sum: showSum(answer), cases: showCases(answer) }
      : failed(showErrors(answer));
  } catch {
    return failed([
      make('p', { class: 'problem' }, 'berth did not answer. Try again with fewer decisions.'),
    ]);
  }
}

const failed = (sum) => ({ sum, cases: [] });

/** The errors with their places, like those of compilers: file:line:column. */
function showErrors({ Error: text, diagnostics = [] }) {
  const items = diagnostics.map(({ level, file, line, column, source, message, hint }) =>
    make(
      'li',
      {},
      make('code', {}, `${file}:${line}:${column}`),
      `: ${level}: ${message}`,
      ...(source ? [make('pre', {}, make('code', {}, source))] : []),
      ...(hint ? [make('p', { class: 'quiet' }, hint)] : []),
    ),
  );
  return [
    make('p', { class: 'problem' }, text),
    ...(items.length ? [make('ul', {}, ...items)] : []),
  ];
}

/** The change as a patch, for the user to review and apply. */
function patch({ texts, edited, set, last }) {
  const lines = edited.flatMap((text) =>
    unifiedDiff(text.dataset.file, text.defaultValue, text.value),
  );
  const settings = Object.entries(set);
  if (!lines.length && !settings.length) {
    return [
      make(
        'p',
        { class: 'quiet' },
        'Nothing was changed: this is the result with the same policies.',
      ),
    ];
  }
  const words = [
    'berth what-if',
    ...(edited.length ? ['--policy -'] : []),
    ...settings.map(([key, value]) => `--set ${quote(`${key}=${value}`)}`),
    `--last ${last} --all --server ${location.origin}`,
    ...(edited.length ? [hereDocument(texts)] : []),
  ];
  const said = lines.length
    ? 'As a patch; apply it to the policy file to keep it:'
    : 'As settings; put them into the policy file to keep them:';
  const shown = lines.length
    ? makeDiff(lines)
    : make(
        'ul',
        {},
        ...settings.map(([key, value]) => make('li', {}, make('code', {}, `${key}: ${value}`))),
      );
  return [
    make('h3', {}, 'The change'),
    make('p', {}, said),
    shown,
    make('p', {}, 'Command line equivalent:'),
    makeCommand(words.join(' ')),
  ];
}

/**
 * The texts of the page, on standard input: the files have not changed. All of them, because they
 * replace all policies in force.
 */
function hereDocument(texts) {
  const all = texts.map(({ value }) => value.replace(/\n?$/, '\n')).join('---\n');
  let end = 'END';
  while (all.split('\n').includes(end)) end += '_';
  return `<<'${end}'\n${all}${end}`;
}

/** Quotes @text as one word of a shell. */
const quote = (text) =>
  /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
