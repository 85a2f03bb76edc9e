"""Random answers, a model that has learned nothing else, and the plain reading of an answer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from helpers import mixed_table
from unnaive import (
    C45Classifier,
    FlexibleNBTreeClassifier,
    NBTreeClassifier,
    RandomForestClassifier,
)
from unnaive.answer import (
    Answer,
    ClassTree,
    Ensemble,
    EvidenceTable,
    Forest,
    GatedMixture,
    GroupedClasses,
    NaiveBayesStack,
    NaiveBayesTree,
)
from unnaive.answer.mixture import MixtureStructure
from unnaive.bayes import GaussianTerm, Scorer, TableTerm
from unnaive.bayes.scoring import PairTerm
from unnaive.counts import CountTable
from unnaive.encode import Bins, Categories
from unnaive.table import open_table

X, Y = mixed_table(200)
LABELS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


@cache
def columns() -> tuple[Any, tuple[Any, ...]]:
    """The schema of the table, and a coder for every column."""
    tree = C45Classifier().fit(X, Y)
    schema = tree.schema_
    source = open_table(tree, X, fitted=schema)
    coders = []
    for j, column in enumerate(schema):
        if column.kind == "numeric":
            values = source.block.numeric(j)
            coders.append(Bins(np.unique(np.quantile(values[~np.isnan(values)], [0.3, 0.6]))))
        else:
            coders.append(next(c for k, c in enumerate(tree.tree_.coders) if k == j))
    return schema, tuple(coders)


def table(rng: np.random.Generator, units: int, dense: bool = False) -> Scorer:
    """Random evidence; with normal densities for some numbers where that is asked for."""
    _, coders = columns()
    terms: list[Any] = []
    for coder in coders:
        if coder is None or rng.random() < 0.1:
            terms.append(None)
        elif dense and isinstance(coder, Bins) and rng.random() < 0.5:
            mean, variance = rng.normal(30, 10, units), rng.uniform(1, 400, units)
            terms.append(GaussianTerm(mean, variance, np.zeros(units), rng.normal(size=units)))
        else:
            logs = rng.normal(size=(coder.size + 2, units))
            logs[-1] = 0.0
            terms.append(TableTerm(coder, logs))
    return Scorer(np.log(rng.dirichlet(np.ones(units))), tuple(terms))


def pairs(rng: np.random.Generator, n: int) -> tuple[PairTerm, ...]:
    """Evidence of some pairs of columns, numbers in intervals of their own."""
    _, coders = columns()
    known = [j for j, coder in enumerate(coders) if coder is not None]
    terms = []
    for _ in range(int(rng.integers(0, 3))):
        a, b = sorted(rng.choice(known, 2, replace=False).tolist())
        own = tuple(Bins(coders[j].cuts[:1]) if isinstance(coders[j], Bins) else coders[j]
                    for j in (a, b))  # fmt: skip
        logs = rng.normal(size=(own[0].size + 2, own[1].size + 2, n))
        terms.append(PairTerm(a, b, own, logs))
    return tuple(terms)


def counts(units: int) -> CountTable:
    _, coders = columns()
    sizes = [0 if coder is None else coder.size for coder in coders]
    return CountTable.empty(units, sizes)


@cache
def trees(n: int) -> list[Any]:
    """Trees that tell n labels apart."""
    labels = np.arange(len(X)) * 11 % n if n != 3 else np.unique(Y, return_inverse=True)[1]
    return [
        model.fit(X, labels).answer_.root
        for model in (
            C45Classifier(min_rows=1),
            NBTreeClassifier(random_state=0, min_node_size=5),
            FlexibleNBTreeClassifier(random_state=0, min_node_size=5),
            RandomForestClassifier(n_estimators=3, random_state=0),
        )
    ]


def expression(rng: np.random.Generator, n: int, depth: int = 2) -> Any:
    """A random node that tells n labels apart."""
    kind = rng.integers(0, 8 if depth else 5)
    if kind == 0:
        scorer = table(rng, n, dense=True)
        return EvidenceTable(replace(scorer, pairs=pairs(rng, n)))
    if kind in (1, 2):
        names = tuple(f"bag {k}" for k in range(rng.integers(1, 5)))
        stack = NaiveBayesStack(table(rng, n * len(names)))
        return ensemble(rng, (stack,), names, n)
    if kind == 3:
        shape = MixtureStructure(tuple(rng.integers(1, 4, rng.integers(1, 3)).tolist()), n)
        return GatedMixture(shape, table(rng, shape.n_units), counts(shape.n_units))
    if kind == 4:
        return trees(n)[rng.integers(0, 4)]
    if kind in (5, 6):
        members = tuple(expression(rng, n, 0) for _ in range(rng.integers(1, 4)))
        if kind == 6:  # a calibration
            members = (expression(rng, n, depth - 1),)
        return ensemble(rng, members, tuple(f"model {k}" for k in range(len(members))), n)
    owner = np.sort(np.concatenate([np.arange(n), rng.integers(0, n, rng.integers(0, 4))]))
    method = str(rng.choice(["sum", "max"]))
    return GroupedClasses(owner.astype(np.intp), method, expression(rng, len(owner), depth - 1))


def ensemble(rng: np.random.Generator, members: Any, names: tuple[str, ...], n: int) -> Ensemble:
    """Members combined in a random way."""
    weights, intercept = rng.uniform(0.2, 2.0, len(names)), rng.normal(size=n)
    output = str(rng.choice(["probability", "log_probability", "vote"]))
    if output == "log_probability" or rng.random() < 0.5:
        return Ensemble(members, names, weights, intercept, output, "softmax")
    return Ensemble(members, names, weights, np.zeros(n), output, "mean")


def answer(seed: int) -> Answer:
    """A random answer about the columns of the mixed table."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    return Answer(columns()[0], LABELS[:n], expression(rng, n))


# The plain reading -------------------------------------------------------------------------------


def spoken(root: Any, row: pd.DataFrame) -> np.ndarray:
    """Probabilities of one row, from the definition of each node."""
    if isinstance(root, GroupedClasses):
        pairs = spoken(root.inner, row)
        classes = [pairs[root.class_index == c] for c in range(root.n_outputs)]
        if root.aggregation == "sum":
            return np.array([own.sum() for own in classes])
        best = np.array([own.max() for own in classes])
        return best / best.sum()
    if isinstance(root, Ensemble):
        total = _total(root, row)
        return softmax(total) if root.combine == "softmax" else total / root.weights.sum()
    block = open_table(C45Classifier(), row, fitted=columns()[0]).block
    if isinstance(root, (NaiveBayesTree, EvidenceTable)):
        return softmax(_scores(root, row))
    if isinstance(root, Forest):
        return _forest(root, block)
    if isinstance(root, ClassTree):
        return _class_shares(root, block, 0, 1.0)
    scores = root.scorer.joint(block)[0]
    return _mixture(root, scores)


def _total(root: Ensemble, row: pd.DataFrame) -> np.ndarray:
    """The weighted sum of what members give, and the intercept."""
    total, stack = root.intercept.copy(), root.members[0]
    if isinstance(stack, NaiveBayesStack):
        block = open_table(C45Classifier(), row, fitted=columns()[0]).block
        scores = np.split(stack.scorer.joint(block)[0], len(root.names))
        said = [softmax(each) for each in scores]
    else:
        said = [spoken(member, row) for member in root.members]
        scores = [_scores(member, row) for member in root.members]
    for weight, p, logs in zip(root.weights, said, scores, strict=True):
        if root.member_output == "vote":
            p = np.arange(len(p)) == p.argmax()  # noqa: PLW2901
        elif root.member_output == "log_probability":  # some have no least value
            p = np.log(np.maximum(p, 2.0**-52)) if logs is None else logs  # noqa: PLW2901
        total += weight * p
    return total


def _scores(root: Any, row: pd.DataFrame) -> np.ndarray | None:
    """Scores of one row, of nodes whose scores are never minus infinity."""
    if isinstance(root, Ensemble):
        return _total(root, row) if root.has_column_terms else None
    block = open_table(C45Classifier(), row, fitted=columns()[0]).block
    if isinstance(root, NaiveBayesTree):
        return root.scorer(int(root.apply(block)[0])).joint(block)[0]
    return root.scorer.joint(block)[0] if isinstance(root, EvidenceTable) else None


def _forest(root: Forest, block: Any) -> np.ndarray:
    """The mean of the leaves, found node by node."""
    mean, after = np.zeros(root.n_outputs), 0
    for start, end in zip(root.start, root.start[1:], strict=False):
        attribute, leaf = root.attribute[start:end], 0
        inner_before = np.cumsum(attribute >= 0) - (attribute >= 0)
        while attribute[leaf] >= 0:
            j, test = int(attribute[leaf]), int(root.test[start + leaf])
            coder = root.coders[j]
            if isinstance(coder, Bins):
                value = float(block.numeric(j)[0])
                gone, limit = np.isnan(value), [*coder.cuts, np.inf][test - 1]
                first = bool(root.missing_first[start + leaf]) if gone else value <= limit
            else:
                raw = block.categorical(j)
                slot = int(coder.slots(raw.values)[raw.slots[0]])
                first = bool(int(root.route[test + slot // 32]) >> slot % 32 & 1)
            leaf = 1 + 2 * int(inner_before[leaf]) + (0 if first else 1)
        before = after + int(root.n_entries[start : start + leaf].sum())
        weight = root.alpha * root.prior
        for k in range(before, before + int(root.n_entries[start + leaf])):
            weight[root.entry_class[k]] += root.entry_weight[k]
        mean += weight / weight.sum() / root.n_trees
        after += int(root.n_entries[start:end].sum())
    return mean


def _mixture(root: GatedMixture, scores: np.ndarray) -> np.ndarray:
    shape = root.shape
    units = shape.models()
    trust = np.zeros(shape.n_gates + shape.n_experts)
    trust[0] = 1.0
    for gate in range(shape.n_gates):
        shares = softmax(scores[units[gate]])
        for k, share in enumerate(shares):
            trust[shape.first[gate] + k] = trust[gate] * share
    experts = range(shape.n_gates, len(units))
    return sum(trust[e] * softmax(scores[units[e]]) for e in experts)


def _class_shares(root: ClassTree, block: Any, node: int, share: float) -> np.ndarray:
    children = root.children(node)
    if not children:
        return share * root.answer[node]
    j = int(root.attribute[node])
    coder = root.coders[j]
    weights = root.weight[children] / root.weight[children].sum()
    if isinstance(coder, Categories):
        raw = block.categorical(j)
        slot = int(coder.slots(raw.values)[raw.slots[0]])
        values = [root.value(child) for child in children]
        gone = slot in (0, coder.size + 1)
        place = values.index(slot) if slot in values else None
    else:
        value = float(block.numeric(j)[0])
        gone = np.isnan(value)
        place = None if gone else int(np.searchsorted(root.cuts(node), value))
    if gone:
        ways = zip(children, weights, strict=True)
        return sum(_class_shares(root, block, child, share * w) for child, w in ways)
    if place is None:
        return share * root.answer[node]
    return _class_shares(root, block, children[place], share)


def softmax(scores: np.ndarray) -> np.ndarray:
    out = np.exp(scores - scores.max())
    return out / out.sum()
