// A grid of cells on a canvas: where each is, and how it is painted.

import { stepOf } from './heat-scale.js';

const CELL_LEAST = 6; // CSS pixels
const CELL_MOST = 40;
const SCREEN_SHARE = 0.6; // of the window's height, if cells may be that large

/**
 * @typedef {{names: string[], values: (?number)[], isOff: (place: number) => boolean,
 *   highest: number}} Column
 */

export class HeatGrid {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    // All cells, painted once; show() copies them and draws a frame on top.
    this.cells = document.createElement('canvas');
    this.n = 0;
    this.columns = 1;
    this.cell = CELL_MOST;
  }

  /** Lays @n cells out over @width CSS pixels. */
  layOut(n, width) {
    const room = width * innerHeight * SCREEN_SHARE;
    const fitting = Math.floor(Math.sqrt(room / Math.max(n, 1)));
    this.n = n;
    this.cell = Math.min(CELL_MOST, Math.max(CELL_LEAST, fitting));
    this.columns = Math.max(1, Math.floor(width / this.cell));
    const height = Math.ceil(n / this.columns) * this.cell;
    const ratio = devicePixelRatio;
    this.canvas.width = Math.round(this.columns * this.cell * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.cells.width = this.canvas.width;
    this.cells.height = this.canvas.height;
    this.canvas.style.width = `${this.columns * this.cell}px`;
    this.canvas.style.height = `${height}px`;
    this.ratio = ratio;
  }

  /** Which cell is at these pixels of the canvas; -1: none. */
  at(x, y) {
    const column = Math.floor(x / this.cell);
    if (x < 0 || y < 0 || column >= this.columns) return -1;
    const place = Math.floor(y / this.cell) * this.columns + column;
    return place < this.n ? place : -1;
  }

  placeOf(place) {
    const row = Math.floor(place / this.columns);
    return { x: (place - row * this.columns) * this.cell, y: row * this.cell };
  }

  /**
   * @param {Column} column
   * @param {{scale: string[], ink: string, quiet: string, page: string}} colours
   */
  paint(column, colours) {
    const context = this.#begin(this.cells);
    const size = this.cell - (this.cell > 10 ? 2 : 1);
    for (let place = 0; place < this.n; place++) {
      const { x, y } = this.placeOf(place);
      const value = column.values[place];
      if (value === null) {
        context.strokeStyle = colours.quiet;
        context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      } else {
        context.fillStyle = colours.scale[stepOf(value, column.highest)];
        context.fillRect(x, y, size, size);
      }
      if (column.isOff(place)) strike(context, x, y, size, colours);
    }
  }

  /** Shows what was painted, with a frame around one cell, like focus elsewhere; -1: none. */
  show(place, colours) {
    const context = this.#begin(this.canvas);
    if (this.cells.height > 0) {
      context.drawImage(
        this.cells,
        0,
        0,
        this.canvas.width / this.ratio,
        this.canvas.height / this.ratio,
      );
    }
    if (place < 0) return;
    const { x, y } = this.placeOf(place);
    for (const [style, width] of [
      [colours.page, 5],
      [colours.ink, 2],
    ]) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.strokeRect(x, y, this.cell - 1, this.cell - 1);
    }
  }

  /** An empty canvas that is drawn on in CSS pixels. */
  #begin(canvas) {
    const context = canvas.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = 1;
    return context;
  }
}

/** Crosses a cell out in two strokes: one of them is visible on any colour. */
function strike(context, x, y, size, colours) {
  for (const [style, width] of [
    [colours.page, 3],
    [colours.ink, 1.5],
  ]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x + 1, y + 1);
    context.lineTo(x + size - 1, y + size - 1);
    context.stroke();
  }
  context.lineWidth = 1;
}
