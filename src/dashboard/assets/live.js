// Keeps the page current. After an event of the stream, the same page is fetched as a document
// (scripts in it do not run), and the elements marked data-live are updated. Nothing is fetched
// while the page is hidden or paused, or more than once a second.

import { startBanner } from './banner.js';
import { make, makeButton, toolbar } from './make.js';
import { morph } from './morph.js';

const LEAST_MS = 1000; // from one update to the next
const IDLE_MS = 5000; // between updates without news: only ages change
const SHARE = 20; // slow pages are fetched less often: they take a twentieth of berth's time
const RETRY_FIRST_MS = 1000;
const RETRY_MOST_MS = 30000;
const FETCH_MOST_MS = 15000;

/**
 * @param {() => void} decorate is called when the page has changed
 * @returns {{toggle: () => void, subscribe: (listener: () => void) => void}}
 */
export function startLive(decorate) {
  const listeners = [];
  const state = {
    paused: false,
    stream: null,
    gist: '',
    retryMs: RETRY_FIRST_MS,
    retry: 0,
    goneSince: null,
  };
  const banner = startBanner(() => state.paused);
  const button = makeButton('', { id: 'pause' }, toggle);
  const note = make('span', { id: 'live', role: 'status', 'data-own': 'added' });
  toolbar()?.append(note, button);

  let isDue = false; // the page does not show the newest state
  let isBusy = false;
  let earliest = 0;
  let timer = 0;

  function connect() {
    clearTimeout(state.retry);
    state.stream?.close();
    if (document.hidden) return;
    state.stream = new EventSource('/api/v1/events');
    state.stream.addEventListener('update', ({ data }) => {
      state.retryMs = RETRY_FIRST_MS;
      isDue ||= state.goneSince !== null;
      setGone(null);
      banner.update(JSON.parse(data).sentence);
      const gist = gistOf(data);
      isDue ||= gist !== state.gist || performance.now() > earliest + IDLE_MS;
      state.gist = gist;
      plan();
    });
    state.stream.addEventListener('error', onGone);
  }

  function onGone() {
    state.stream.close();
    setGone(state.goneSince ?? new Date());
    banner.gone();
    state.retry = setTimeout(connect, state.retryMs);
    state.retryMs = Math.min(state.retryMs * 2, RETRY_MOST_MS);
  }

  function setGone(since) {
    state.goneSince = since;
    show();
  }

  function show() {
    button.replaceChildren(
      make('span', { 'aria-hidden': 'true' }, state.paused ? '▶' : '❚❚'),
      make('span', { class: 'word' }, state.paused ? ' Resume' : ' Pause'),
    );
    button.setAttribute('aria-label', state.paused ? 'Resume' : 'Pause');
    button.title = state.paused ? 'resume updates (p)' : 'pause updates (p)';
    button.setAttribute('aria-pressed', String(state.paused));
    note.className = state.goneSince ? 'bad' : '';
    say(
      state.goneSince
        ? `✗ not connected since ${state.goneSince.toISOString().slice(11, 19)} UTC`
        : state.paused
          ? 'paused'
          : state.stream
            ? '● live'
            : '',
    );
  }

  /** Screen readers read out only new text. */
  function say(text) {
    if (note.textContent !== text) note.textContent = text;
  }

  function plan() {
    if (!isDue || isBusy || timer || state.paused || document.hidden) return;
    timer = setTimeout(refresh, Math.max(0, earliest - performance.now()));
  }

  async function refresh() {
    timer = 0;
    if (state.paused || document.hidden) return;
    if (isSelecting()) {
      earliest = performance.now() + LEAST_MS; // an update would end the user's selection
      plan();
      return;
    }
    isDue = false;
    isBusy = true;
    const began = performance.now();
    const fresh = await fetchDocument();
    isBusy = false;
    const took = performance.now() - began;
    earliest = began + Math.max(LEAST_MS, took * SHARE);
    if (fresh && !state.paused) update(fresh);
    plan();
  }

  function update(fresh) {
    const focused = document.activeElement;
    exchange(fresh);
    decorate();
    // Moving an element takes focus from it, even if sorting moves it back to its place.
    if (focused.isConnected && focused !== document.activeElement)
      focused.focus({ preventScroll: true });
    for (const listener of listeners) listener();
  }

  function toggle() {
    state.paused = !state.paused;
    isDue = !state.paused;
    show();
    plan();
  }

  document.addEventListener('visibilitychange', () => {
    isDue = true;
    if (document.hidden) state.stream?.close();
    else connect();
    plan();
  });
  // A page that the browser keeps for "back" must not hold one of its few connections.
  addEventListener('pagehide', () => state.stream?.close());
  addEventListener('pageshow', (event) => event.persisted && connect());

  connect();
  show();
  return { toggle, subscribe: (listener) => listeners.push(listener) };
}

/** The parts of an update that report events, without ages, to compare updates. */
function gistOf(data) {
  const { sentence, policyDigest, nodes, bypassed, requests, newest } = JSON.parse(data);
  return JSON.stringify([sentence, policyDigest, nodes, bypassed, requests, newest]);
}

function isSelecting() {
  const selection = getSelection();
  return (
    !selection.isCollapsed && Boolean(selection.anchorNode?.parentElement?.closest('[data-live]'))
  );
}

/**
 * Fetches the same page again; null if that fails.
 * @returns {Promise<?Document>}
 */
function fetchDocument() {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('GET', location.pathname + location.search);
    request.responseType = 'document';
    request.timeout = FETCH_MOST_MS;
    request.setRequestHeader('Accept', 'text/html');
    request.addEventListener('loadend', () => resolve(request.status ? request.response : null));
    request.send();
  });
}

/**
 * Updates the live elements. Elements correspond by id, and those without an id by their order.
 */
function exchange(fresh) {
  const there = [...document.querySelectorAll('[data-live]')].filter(isOutermost);
  const news = [...fresh.querySelectorAll('[data-live]')].filter(isOutermost);
  const nameless = news.filter((element) => !element.id);
  for (const old of there) {
    const element = old.id ? fresh.getElementById(old.id) : nameless.shift();
    if (element) morph(old, element);
  }
}

const isOutermost = (element) => !element.parentElement.closest('[data-live]');
