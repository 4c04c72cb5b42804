"""Prints tables, and the targets that are met or missed."""

import json
import statistics
import sys


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def print_table(columns, rows):
    lines = [columns, *(["-" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def median(values):
    return statistics.median(values) if values else None


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


class Report:
    """@is_judged: false for sizes without a target."""

    def __init__(self, is_judged=True):
        self.is_judged, self.bars, self.figures = is_judged, [], {}

    def bar(self, text, value, limit, unit, at_most):
        if value is None or not self.is_judged:
            verdict = "SKIP"
        else:
            verdict = "MET" if (value <= limit if at_most else value >= limit) else "MISS"
        self.bars.append({"bar": text, "value": value, "limit": limit, "unit": unit,
                          "at_most": at_most, "verdict": verdict})

    def print_bars(self):
        print()
        for bar in self.bars:
            value = "not measured"
            if bar["value"] is not None:
                value = "%.3g %s" % (bar["value"], bar["unit"])
            print("%-4s  %s: %s (%s %g)" % (
                bar["verdict"], bar["bar"], value, "at most" if bar["at_most"] else "at least",
                bar["limit"]))
        if not self.is_judged:
            print("\nToo small to judge: it only shows that everything runs.")

    def print_json(self):
        print(json.dumps({**self.figures, "bars": self.bars}, indent=2))
