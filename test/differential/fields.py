"""Random expressions over the fields of pod, node and cluster: the grammar of gen.py, with fields for leaves."""

import gen
import random_cluster

KEYS = [*random_cluster.LABELS, "absent"]
# Forms over a list of records; gen.py alone has no records.
LOOPS = {
    "bool": [f"<records>.{name}(<var>, <bool>)" for name in ("all", "exists", "exists_one")] + [
        "node.spec.taints.all(t, pod.tolerates(t))", "node.spec.taints.all(t, pod.tolerates(t.text))",
        "node.spec.taints.exists(t, node.pods.exists(p, p.tolerates(t)))",
        "node.pods.all(p, p.tolerates('a=x:NoSchedule'))", "pod.selects(node)",
        "node.domain('zone').nodes.all(n, pod.selects(n))"],
    "int": ["<records>.filter(<var>, <bool>).size()", "<records>.map(<var>, <int>).sum()",
            "<records>.map(<var>, <bool>, <int>).sum()", "size(<records>)",
            "cluster.nodesByLabel('zone')[?node.metadata.labels[?'zone'].orValue('')].orValue(-1)",
            "cluster.domains('zone').map(d, d.pods.filter(p, p.spec.priority > <int>).size()).max()"],
    "double": ["<records>.map(<var>, <double>).sum()", "<records>.map(<var>, <bool>, <double>).sum()",
               "<records>.map(<var>, <double>).max()"],
    "string": ["<records>.map(<var>, <string>).join(',')"],
}


class Fields:
    """The paths from a record: {type: [suffix of the record's expression]}."""

    def __init__(self, variables, types):
        self.types, self.known = types, {}
        self.roots = [(name, type_) for name, type_ in variables.items() if type_ in types]
        self.roots += [("node", "Node"), ("node.domain('zone')", "Domain")]

    def of(self, record):
        if record not in self.known:
            self.known[record] = found = {}
            for field, (type_, can_be_absent) in self.types[record].items():
                self.collect(found, f".{field}", type_, can_be_absent)
        return self.known[record]

    def collect(self, found, path, type_, can_be_absent):
        def leaf(of, text):
            found.setdefault(of, []).append(text)

        if can_be_absent:
            leaf("bool", f"has(@{path})")
        if type_ in self.types:
            for of, texts in self.of(type_).items():
                found.setdefault(of, []).extend(t.replace("@", f"@{path}") if "@" in t else path + t for t in texts)
            return
        if type_ == random_cluster.AMOUNTS:
            for key in (".cpu", ".memory", ".milliCPU", "['nvidia.com/gpu']", "['example.com/absent']"):
                leaf("double", path + key)
            if path in (".allocatable", ".capacity"):  # whether the node has the resource
                leaf("bool", f"('nvidia.com/gpu' in @{path})")
        elif type_.startswith("map("):
            of = {"kubernetes.Quantity": "quantity"}.get(type_[12:-1], type_[12:-1])
            for key in ["cpu", "memory"] if of == "quantity" else KEYS:
                leaf(of, f"{path}['{key}']")
                leaf("bool", f"('{key}' in @{path})")
            leaf("int", f"size(@{path})")
            if of == "string":
                for key in KEYS:
                    leaf("string", f"{path}[?'{key}'].orValue('')")
                leaf("string", f"{path}[pod.metadata.labels[?'a'].orValue('b')]")
        else:
            leaf(type_, path)
            if type_.startswith("list("):
                leaf("int", f"size(@{path})")


class FieldExpression(gen.Expression):
    """An expression of type bool, int or double, as in rules."""

    def __init__(self, name, fields):
        self.fields = fields
        super().__init__(name)

    def choose(self):
        self.may_be_wrong = False
        self.variables = {}
        self.type = self.pick(["bool", "bool", "int", "double"])
        self.text = self.make(self.type, depth=self.random.randrange(0, 4))

    def roots(self):
        return self.fields.roots + [(name, type_) for name, type_ in self.locals if type_ in self.fields.types] * 3

    def paths(self, wanted):
        """All fields of types that @wanted accepts: (text, type)."""
        return [(text.replace("@", root) if "@" in text else root + text, type_)
                for root, record in self.roots() for type_, texts in self.fields.of(record).items()
                if wanted(type_) for text in texts]

    def leaf(self, type_):
        if type_ == "timestamp" and self.chance(0.3):
            return "now"
        names = [(name, its) for name, its in self.locals if its == type_]
        found = names if names and self.chance(0.4) else self.paths(lambda of: of == type_)
        return self.pick(found)[0] if found and self.chance(0.8) else self.literal(type_)

    def record_list(self):
        lists = self.paths(lambda of: of.startswith("list(") and of[5:-1] in self.fields.types)
        return self.pick(lists + [("cluster.domains('zone')", "list(Domain)")])

    def range(self, types, depth):
        if types == ["records"] or (len(types) > 1 and self.chance(0.5)):
            return self.record_list()
        return super().range(types, depth)

    def rule(self, type_):
        if type_ in LOOPS and len(self.locals) < 2 and self.chance(0.25):
            return self.pick(LOOPS[type_]).replace("<records>", "<over records>")
        return super().rule(type_)
