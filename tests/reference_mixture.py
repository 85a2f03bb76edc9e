"""Slow, obvious twin of hierarchical mixtures, straight from Wiering's sections 2 and 3."""

from __future__ import annotations

import math


def log_sum(logs):
    top = max(logs)
    return top + math.log(sum(math.exp(x - top) for x in logs))


class NBC:
    """A naive Bayes of counters. ``start(unit, attribute, value)`` is a counter's first content;
    attribute None is the counter of the unit itself.
    """

    def __init__(self, n_units, domains, gamma, start):
        self.n_units, self.domains, self.gamma = n_units, domains, gamma
        self.c = [start(u, None, None) for u in range(n_units)]
        self.cf = [
            [{v: start(u, j, v) for v in values} for j, values in enumerate(domains)]
            for u in range(n_units)
        ]

    def log_shares(self, row):
        """Log P(unit | row): missing (None) and unknown values are not used."""
        joint = []
        tot = sum(self.c) + self.gamma * self.n_units
        for u in range(self.n_units):
            score = math.log((self.c[u] + self.gamma) / tot)
            for j, value in enumerate(row):
                own = self.cf[u][j]
                if value in own:
                    whole = sum(own.values()) + self.gamma * len(own)
                    score += math.log((own[value] + self.gamma) / whole)
            joint.append(score)
        whole = log_sum(joint)
        return [s - whole for s in joint]

    def update(self, row, unit, weight):
        self.c[unit] += weight
        for j, value in enumerate(row):
            if value in self.cf[unit][j]:
                self.cf[unit][j][value] += weight


class Mixture:
    """A tree of NBCs. Models are numbered level by level, the root is 0, as their children are."""

    def __init__(self, layers, n_classes, domains, sigma, gamma, start, bernoulli=False):
        self.sigma, self.bernoulli = sigma, bernoulli
        self.children, level, nodes = {}, [0], 1
        for branches in layers:
            below = []
            for gate in level:
                self.children[gate] = list(range(nodes, nodes + branches))
                below += self.children[gate]
                nodes += branches
            level = below
        self.experts = level
        self.models = {
            node: NBC(
                len(self.children[node]) if node in self.children else n_classes, domains, gamma,
                lambda u, j, v, node=node: start(node, u, j, v),
            )
            for node in range(nodes)
        }  # fmt: skip

    def shares(self, row):
        return {node: model.log_shares(row) for node, model in self.models.items()}

    def learn(self, row, label, weight, judge=None, round_to=None):
        """One generalized EM step; ``judge`` is the mixture whose shares judge the row."""
        shares = (judge or self).shares(row)
        likely = {}  # log probability that a node produced the label

        def ask(node):
            if node in self.children:
                logs = [
                    g + ask(child)
                    for g, child in zip(shares[node], self.children[node], strict=True)
                ]
                likely[node] = log_sum(logs)
            else:
                given = shares[node][label]
                likely[node] = given if self.bernoulli else -self.sigma * (1.0 - math.exp(given))
            return likely[node]

        ask(0)

        def tell(node, blame):
            own = blame if round_to is None else math.floor(blame / round_to + 0.5) * round_to
            if node not in self.children:
                self.models[node].update(row, label, weight * own)
                return
            children = self.children[node]
            best = max(range(len(children)), key=lambda k: likely[children[k]])
            self.models[node].update(row, best, weight * own)
            for g, child in zip(shares[node], children, strict=True):
                tell(child, blame * math.exp(g + likely[child] - likely[node]))

        tell(0, 1.0)

    def responsibilities(self, row):
        shares, found = self.shares(row), {0: 0.0}
        for gate, children in self.children.items():
            for g, child in zip(shares[gate], children, strict=True):
                found[child] = found[gate] + g
        return [math.exp(found[e]) for e in self.experts]

    def probabilities(self, row):
        shares, trust = self.shares(row), self.responsibilities(row)
        n_classes = len(shares[self.experts[0]])
        return [
            sum(t * math.exp(shares[e][c]) for t, e in zip(trust, self.experts, strict=True))
            for c in range(n_classes)
        ]
