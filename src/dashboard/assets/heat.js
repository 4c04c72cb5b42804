// The nodes as a grid of coloured cells, to find outliers among thousands. The table of the page
// has the same values; arrow keys read the grid cell by cell.

import { HeatGrid } from './heat-grid.js';
import { makeScale } from './heat-scale.js';
import { make, number } from './make.js';

const AGAIN_MS = 5000; // values are fetched again at most this often
const HINT = 'Point at a cell, or use the arrow keys; a click or Enter opens the node.';
const KEYS = {
  ArrowLeft: () => -1,
  ArrowRight: () => 1,
  ArrowUp: (grid) => -grid.columns,
  ArrowDown: (grid) => grid.columns,
  Home: () => -Infinity,
  End: () => Infinity,
};

/** @param {{subscribe: (listener: () => void) => void}} live */
export function startHeat(live) {
  const home = document.getElementById('heat');
  if (home) new Heat(home).start(live);
}

class Heat {
  constructor(home) {
    this.home = home;
    this.canvas = make('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-label': 'Nodes as a grid; arrow keys move, Enter opens',
      'aria-describedby': 'heat-tip',
    });
    this.tip = make('p', { id: 'heat-tip', role: 'status' }, HINT);
    this.legend = make('div', { class: 'heat-legend' });
    this.grid = new HeatGrid(this.canvas);
    this.place = -1;
    this.fetchedAt = -Infinity;
  }

  start(live) {
    this.home.dataset.own = 'kept';
    this.home.replaceChildren(
      this.legend,
      make('div', { class: 'heat-cells' }, this.canvas),
      this.tip,
    );
    this.canvas.addEventListener('pointermove', (event) => this.#point(event));
    this.canvas.addEventListener('pointerleave', () => this.#leave());
    this.canvas.addEventListener('click', () => this.#open());
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
    this.canvas.addEventListener('focus', () => this.#choose(Math.max(this.place, 0)));
    this.canvas.addEventListener('blur', () => this.#choose(-1));
    document.addEventListener('berth:theme', () => this.#draw());
    new ResizeObserver(() => this.#layOut()).observe(this.home);
    live.subscribe(() => this.#fetch());
    this.#fetch();
  }

  async #fetch() {
    if (performance.now() - this.fetchedAt < AGAIN_MS) return;
    this.fetchedAt = performance.now();
    try {
      const reply = await fetch(this.home.dataset.src);
      if (!reply.ok) throw new Error(reply.statusText);
      this.#take(await reply.json());
    } catch {
      if (!this.column)
        this.tip.textContent = 'The values could not be loaded; see the table.';
    }
  }

  #take({ names, ready, cordoned, columns: [column] }) {
    const { label, values, highest, share } = column;
    this.column = {
      names,
      values,
      label,
      share,
      highest: share ? Math.max(1, highest ?? 0) : (highest ?? 0),
      isOff: (place) => !ready[place] || Boolean(cordoned[place]),
      said: (place) =>
        [!ready[place] && 'not ready', cordoned[place] && 'cordoned'].filter(Boolean),
    };
    this.place = Math.min(this.place, names.length - 1);
    this.#layOut();
  }

  #layOut() {
    if (!this.column) return;
    this.grid.layOut(this.column.names.length, this.canvas.parentElement.clientWidth);
    this.#draw();
  }

  #colours() {
    const style = getComputedStyle(this.home);
    const isDark = lightnessOf(style.color) > 0.5; // the ink is light
    return {
      scale: makeScale(isDark),
      ink: style.color,
      quiet: getComputedStyle(this.tip).color,
      page: style.backgroundColor,
    };
  }

  #draw() {
    if (!this.column) return;
    this.colours = this.#colours();
    this.grid.paint(this.column, this.colours);
    this.grid.show(this.place, this.colours);
    this.#drawLegend();
  }

  #drawLegend() {
    const { label, highest } = this.column;
    const swatches = make('canvas', { width: 64, height: 1, 'aria-hidden': 'true' });
    const context = swatches.getContext('2d');
    this.colours.scale.forEach((colour, step) => {
      context.fillStyle = colour;
      context.fillRect(step, 0, 1, 1);
    });
    this.legend.replaceChildren(
      make('span', {}, label),
      make('span', {}, this.#show(0)),
      swatches,
      make('span', {}, this.#show(highest)),
      make('span', { class: 'quiet' }, '□ not known   ╲ not ready or cordoned'),
    );
  }

  #show(value) {
    return this.column.share ? `${number(value * 100, 1)} %` : number(value);
  }

  #choose(place) {
    if (!this.column || place === this.place) return;
    this.place = place;
    this.canvas.classList.toggle('on', place >= 0);
    this.grid.show(place, this.colours);
    this.tip.textContent = place < 0 ? HINT : this.#say(place);
  }

  #say(place) {
    const { names, values, label } = this.column;
    const value = values[place] === null ? 'not known' : this.#show(values[place]);
    return [`${names[place]}: ${label} ${value}`, ...this.column.said(place)].join(', ');
  }

  #point(event) {
    this.#choose(this.grid.at(event.offsetX, event.offsetY));
  }

  #leave() {
    if (document.activeElement !== this.canvas) this.#choose(-1);
  }

  #key(event) {
    if (event.key === 'Enter') {
      this.#open();
      return;
    }
    const step = KEYS[event.key];
    if (!step || !this.column) return;
    event.preventDefault();
    const last = this.column.names.length - 1;
    this.#choose(Math.min(last, Math.max(0, this.place + step(this.grid))));
    this.#scrollTo(this.place);
  }

  #scrollTo(place) {
    const top = this.canvas.getBoundingClientRect().top + this.grid.placeOf(place).y;
    if (top < 0 || top + this.grid.cell > innerHeight) scrollBy({ top: top - innerHeight / 2 });
  }

  #open() {
    if (this.place < 0 || !this.column) return;
    location.assign(`/node?name=${encodeURIComponent(this.column.names[this.place])}`);
  }
}

function lightnessOf(colour) {
  const parts = /(\d+)\D+(\d+)\D+(\d+)/.exec(colour);
  return parts ? (Number(parts[1]) + Number(parts[2]) + Number(parts[3])) / 765 : 0;
}
