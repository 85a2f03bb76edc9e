"""C4.5 the slow and obvious way: recursion over lists of rows, every estimate made anew.

A row is (values, class, weight); a missing value is None. A tree is a dict.
"""

from __future__ import annotations

from itertools import pairwise
from math import log2, sqrt
from statistics import NormalDist

GRAIN = 2**20


def bits(weights):
    """Bits to name the class of every row: n times the entropy."""
    n = sum(weights)
    return -sum(w * log2(w / n) for w in weights if w > 0)


def weights_of(rows, classes):
    return [sum(w for _, c, w in rows if c == k) for k in classes]


def pessimistic(n, errors, confidence):
    """Upper confidence limit of the errors among n rows."""
    if n <= 0:
        return 0.0
    if errors < 1:
        none = n * (1 - confidence ** (1 / n))
        return none if errors <= 0 else none + errors * (pessimistic(n, 1, confidence) - none)
    if errors + 0.5 >= n:
        return max(n, errors)
    z = NormalDist().inv_cdf(1 - confidence)
    f = (errors + 0.5) / n
    limit = f + z * z / (2 * n) + z * sqrt(f / n - f * f / n + z * z / (4 * n * n))
    return n * limit / (1 + z * z / n)


class C45:
    def __init__(
        self, kinds, domains, classes, n_rows, *, confidence=0.25, min_rows=2.0, release=8
    ):
        self.kinds, self.domains, self.classes = kinds, domains, classes
        self.confidence, self.min_rows, self.release = confidence, min_rows, release
        self.raising = True
        many = [k == "nominal" and len(d) >= 0.3 * n_rows for k, d in zip(kinds, domains)]
        self.ordinary = [True] * len(kinds) if all(many) else [not m for m in many]

    def tree(self, rows):
        return self.prune(self.collapse(self.grow(rows)))

    # Growing --------------------------------------------------------------------------------

    def grow(self, rows):
        weights = weights_of(rows, self.classes)
        node = {"rows": rows, "weights": weights, "test": None, "children": []}
        n = sum(weights)
        if n < 2 * self.min_rows or max(weights) >= n - 1e-3:
            return node
        tests = [self.judge(rows, j) for j in range(len(self.kinds))]
        gains = [t["gain"] for t, o in zip(tests, self.ordinary) if t is not None and o]
        average = sum(gains) / len(gains) if gains else 0.0
        best, worth = None, 0.0
        for test in tests:
            if test is None or test["gain"] < average - 1e-3 or test["info"] <= 1e-3:
                continue
            if test["gain"] / test["info"] > worth + 1e-12:
                best, worth = test, test["gain"] / test["info"]
        if best is not None:
            node["test"] = best
            children, _ = self.send(rows, best)
            node["children"] = [self.grow(own) for own in children]
        return node

    def judge(self, rows, j):
        """Gain and split information of asking attribute j, or None."""
        n = sum(w for _, _, w in rows)
        known = [row for row in rows if row[0][j] is not None]
        before = bits(weights_of(known, self.classes))
        if self.kinds[j] == "nominal":
            values = [v for v in self.domains[j] if any(row[0][j] == v for row in known)]
            parts = [[row for row in known if row[0][j] == v] for v in values]
            if sum(sum(w for _, _, w in part) >= self.min_rows for part in parts) < 2:
                return None
            after = sum(bits(weights_of(part, self.classes)) for part in parts)
            test = {"attribute": j, "values": values, "gain": (before - after) / n}
        else:
            best = self.threshold(rows, known, j)
            if best is None:
                return None
            gain, below, above, parts = best
            middle = 0.5 * below + 0.5 * above
            threshold = max(v for v in self.domains[j] if v <= middle)
            test = {"attribute": j, "threshold": threshold, "gain": gain / n}
        unknown = [row for row in rows if row[0][j] is None]
        test["info"] = bits([sum(w for _, _, w in part) for part in [*parts, unknown]]) / n
        return test

    def threshold(self, rows, known, j):
        """Gain, neighbouring values and sides of the best threshold, or None.

        Release 8 takes the greatest gain and lets it pay for the choice; release 7 the greatest
        gain ratio among thresholds of at least average gain, for nothing.
        """
        total = sum(w for _, _, w in known)
        n = sum(w for _, _, w in rows)
        least = min(max(0.1 * total / len(self.classes), self.min_rows), 25.0)
        tried = []
        for below, above in pairwise(sorted({row[0][j] for row in known})):
            parts = [[r for r in known if r[0][j] <= below], [r for r in known if r[0][j] > below]]
            sizes = [sum(w for _, _, w in part) for part in parts]
            if min(sizes) < least:
                continue
            after = sum(bits(weights_of(part, self.classes)) for part in parts)
            gain = bits(weights_of(known, self.classes)) - after
            tried.append((gain, bits([*sizes, n - total]), below, above, parts))
        if not tried:
            return None
        if self.release == 8:
            most = max(gain for gain, *_ in tried)
            gain, _, *where = next(t for t in tried if t[0] > most - 1e-9)
            gain -= log2(len(tried))
        else:
            average = sum(gain for gain, *_ in tried) / len(tried)
            fair = [t for t in tried if t[0] >= average - 1e-3 * n and t[1] > 1e-3 * n]
            most = max((t[0] / t[1] for t in fair), default=0.0)
            gain, _, *where = next((t for t in fair if t[0] / t[1] > most - 1e-12), tried[0])
        return None if gain <= 1e-9 else (gain, *where)

    def send(self, rows, test):
        """Rows of each child, unknown ones in shares, and rows whose value has no child."""
        j = test["attribute"]
        n_children = len(test["values"]) if "values" in test else 2
        children, stay = [[] for _ in range(n_children)], []
        for row in rows:
            value = row[0][j]
            if value is None:
                continue
            if "values" not in test:
                children[int(value > test["threshold"])].append(row)
            elif value in test["values"]:
                children[test["values"].index(value)].append(row)
            else:
                stay.append(row)
        sums = [sum(w for _, _, w in child) for child in children]
        total = sum(sums)
        for values, c, w in rows:
            if values[j] is None:
                for child, own in zip(children, sums):
                    share = own / total if total > 0 else 1 / n_children
                    part = int(w * share * GRAIN + 0.5) / GRAIN  # weights here are 1 at first
                    if part > 0:
                        child.append((values, c, part))
        return children, stay

    # Pruning --------------------------------------------------------------------------------

    def training_errors(self, node):
        if node["test"] is None:
            return sum(node["weights"]) - max(node["weights"])
        return sum(self.training_errors(child) for child in node["children"])

    def collapse(self, node):
        node["children"] = [self.collapse(child) for child in node["children"]]
        leaf = sum(node["weights"]) - max(node["weights"])
        if node["test"] is not None and self.training_errors(node) >= leaf - 1e-3:
            node["test"], node["children"] = None, []
        return node

    def leaf_errors(self, node):
        n = sum(node["weights"])
        return pessimistic(n, n - max(node["weights"]), self.confidence)

    def errors(self, node):
        if node["test"] is None:
            return self.leaf_errors(node)
        _, stay = self.send(node["rows"], node["test"])
        weights = weights_of(stay, self.classes)
        wrong = sum(weights) - weights[node["weights"].index(max(node["weights"]))]
        below = sum(self.errors(child) for child in node["children"])
        return below + pessimistic(sum(weights), wrong, self.confidence)

    def refilled(self, node, rows):
        """The same subtree for other rows."""
        out = {**node, "rows": rows, "weights": weights_of(rows, self.classes)}
        if node["test"] is not None:
            children, _ = self.send(rows, node["test"])
            out["children"] = [
                self.refilled(child, own) for child, own in zip(node["children"], children)
            ]
        return out

    def prune(self, node):
        if node["test"] is None:
            return node
        node["children"] = [self.prune(child) for child in node["children"]]
        largest = max(node["children"], key=lambda child: sum(child["weights"]))
        raised = None
        branch = float("inf")
        if self.raising and largest["test"] is not None:
            raised = self.refilled(largest, node["rows"])
            branch = self.errors(raised)
        tree, leaf = self.errors(node), self.leaf_errors(node)
        if leaf <= min(branch, tree) + 0.1:
            return {**node, "test": None, "children": []}
        if branch <= tree + 0.1:
            return self.prune(raised)
        return node
