#!/usr/bin/env python3
"""Writes policies of many rules, for bench/policies.

    bench/rules/many.py N [--policies N] [--seed N]

Four of five rules are filters. They are of all kinds, over fifty label keys and with different
constants, so nearly all differ. Nearly every node passes each filter, so later filters are
evaluated too. A single policy applies to all pods; with --policies each applies to a namespace of
its own, as teams use them.
"""

import argparse
import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent))

from cluster import FEATURES, N_OWNERS, VALUES  # noqa: E402

ZONE, MACHINE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
TIERS = ("web", "api", "batch", "data")
SCORE_SHARE = 5  # every fifth rule


def label(key):
    return "node.metadata.labels[?'%s'].orValue('')" % key


class Writer:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.filters = (
            self.not_in, self.less_than, self.absent_or, self.pattern, self.prefix, self.headroom,
            self.free, self.share, self.max_pods, self.pods_by_label, self.young_pods, self.age,
            self.tier, self.annotation, self.taint)
        self.scores = (
            self.bin_pack, self.spread, self.balance, self.preference, self.room_left,
            self.few_pods, self.feature_points)

    def key(self):
        return self.rng.choice(FEATURES)

    def words(self, most):
        return self.rng.sample(VALUES, self.rng.randint(1, most))

    def app(self):
        return "svc-%d" % self.rng.randrange(N_OWNERS)

    def number(self, low, high):
        return "%.3f" % self.rng.uniform(low, high)

    # --- filters: (field, value) ---

    def not_in(self):
        return "nodeLabels", {self.key(): {"notIn": ["retired-%d" % self.rng.randrange(1000)]}}

    def less_than(self):
        key, most = self.key(), self.rng.randrange(100, 10000)
        return "expression", "!(%s.matches('^[0-9]+$')) || int(%s) < %d" % (
            label(key), label(key), most)

    def absent_or(self):
        key = self.key()
        words = ", ".join("'%s'" % word for word in (*VALUES, "w%d" % self.rng.randrange(1000)))
        return "expression", "!('%s' in node.metadata.labels) || %s in [%s]" % (
            key, label(key), words)

    def pattern(self):
        return "expression", "!%s.matches('^(old|bad)-%d[a-f]*$')" % (
            label(self.key()), self.rng.randrange(1000))

    def prefix(self):
        return "expression", "!%s.startsWith('x%d-')" % (label(MACHINE), self.rng.randrange(1000))

    def headroom(self):
        return "headroom", {"cpu": "%dm" % self.rng.randrange(1, 300),
                            "memory": "%dMi" % self.rng.randrange(1, 600)}

    def free(self):
        resource, least = self.rng.choice((("cpu", self.number(0.001, 0.2)),
                                           ("memory", self.number(1e6, 1e8))))
        return "expression", "node.free.%s - pod.requests.%s >= %s" % (resource, resource, least)

    def share(self):
        resource = self.rng.choice(("cpu", "memory"))
        return "expression", (
            "(node.requested.%s + pod.requests.%s) <= %s * node.allocatable.%s" % (
                resource, resource, self.number(0.97, 1), resource))

    def max_pods(self):
        return "maxPods", {"limit": self.rng.randrange(8, 60),
                           "podSelector": {"matchLabels": {"app.kubernetes.io/name": self.app()}}}

    def pods_by_label(self):
        return "expression", (
            "node.pods.filter(p, p.metadata.labels[?'app.kubernetes.io/name'].orValue('') == "
            "'%s').size() < %d" % (self.app(), self.rng.randrange(8, 60)))

    def young_pods(self):
        return "expression", (
            "node.pods.filter(p, now - p.metadata.creationTimestamp < duration('%ds')).size() < %d"
            % (self.rng.randrange(30, 200), self.rng.randrange(6, 20)))

    def age(self):
        return "expression", "now - node.metadata.creationTimestamp >= duration('%ds')" % (
            self.rng.randrange(1, 60))

    def tier(self):
        return "expression", "pod.metadata.labels[?'tier'].orValue('') != '%s' || %s != 'no-%d'" % (
            self.rng.choice(TIERS), label(self.key()), self.rng.randrange(1000))

    def annotation(self):
        key = "example.com/hold-%d" % self.rng.randrange(1000)
        return "expression", "node.metadata.annotations[?'%s'].orValue('') == ''" % key

    def taint(self):
        return "expression", "!node.spec.taints.exists(t, t.key == 'example.com/stop-%d')" % (
            self.rng.randrange(1000))

    # --- scores ---

    def bin_pack(self):
        return "binPack", {"cpu": self.rng.randint(1, 9), "memory": self.rng.randint(1, 9)}

    def spread(self):
        return "spread", {"cpu": self.rng.randint(1, 9), "memory": self.rng.randint(1, 9)}

    def balance(self):
        return "balance", self.rng.choice((["cpu", "memory"], ["memory", "cpu"]))

    def preference(self):
        return "nodeLabelPreference", {
            "key": self.key(), "values": {word: self.rng.randint(0, 100) for word in self.words(4)},
            "otherwise": self.rng.randint(0, 50)}

    def room_left(self):
        return "expression", (
            "math.least(100.0, 100.0 * math.greatest(0.0, node.free.cpu - pod.requests.cpu) / %s)"
            % self.number(4, 16))

    def few_pods(self):
        return "expression", (
            "100.0 / (1.0 + %s * double(node.pods.filter(p, p.metadata.labels[?'tier'].orValue('') "
            "== '%s').size()))" % (self.number(0.1, 2), self.rng.choice(TIERS)))

    def feature_points(self):
        return "expression", "%s == '%s' ? %s : %s" % (
            label(self.key()), self.rng.choice(VALUES), self.number(50, 100), self.number(0, 50))


def take_turns(makers, count):
    return [makers[i % len(makers)]() for i in range(count)]


def write_rules(out, prefix, rules, extra):
    for number, (field, value) in enumerate(rules):
        out.append("    - name: %s-%d" % (prefix, number))
        out.append("      %s: %s" % (field, json.dumps(value)))
        out.append("      " + extra(number))


def write_policy(out, writer, name, namespaces, n_rules):
    n_scores = n_rules // SCORE_SHARE
    out += ["---", "apiVersion: berth.dev/v1alpha1", "kind: PlacementPolicy",
            "metadata: {name: %s}" % name, "spec:"]
    if namespaces:
        out.append("  match: {namespaces: %s}" % json.dumps(namespaces))
    out.append("  filters:")
    write_rules(out, "filter", take_turns(writer.filters, n_rules - n_scores),
                lambda number: "reason: rule %s-%d does not want it" % (name, number))
    out.append("  scores:")
    write_rules(out, "score", take_turns(writer.scores, n_scores),
                lambda number: "weight: %d" % (1 + number % 4))


def make_policies(n_rules, n_policies=1, seed=7):
    writer, out = Writer(seed), []
    for i in range(n_policies):
        share = n_rules * (i + 1) // n_policies - n_rules * i // n_policies
        namespaces = ["team-%d" % i, "team-%d-batch" % i] if n_policies > 1 else None
        write_policy(out, writer, "many-%d" % i, namespaces, share)
    return "\n".join(out[1:]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", type=int, metavar="N")
    parser.add_argument("--policies", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    sys.stdout.write(make_policies(options.rules, options.policies, options.seed))


if __name__ == "__main__":
    main()
