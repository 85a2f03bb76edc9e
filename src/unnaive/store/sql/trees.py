"""Trees in SQL: the node where a row stops, its naive Bayes or its class shares; forests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.answer import ClassTree, Forest, NaiveBayesTree
from unnaive.answer.tree_kernels import WORD, ForestArrays
from unnaive.answer.trees import Tree
from unnaive.encode import Bins
from unnaive.store.sql.builder import (
    MOST_JOINS,
    Statement,
    Step,
    SumBuilder,
    add_up,
    case,
    is_null,
    op,
    ref,
    whole,
)
from unnaive.store.sql.columns import Columns

Value = exp.Expr | None  # None for zero
Below = Sequence[Value]  # the values of a node's children
MOST_LEVELS = 1000  # of a tree: engines plan longer chains of steps for minutes, or not at all


class Branches(Protocol):
    """What `TreeExpression` needs to know of a tree: children come after their parents."""

    @property
    def n_nodes(self) -> int: ...
    def children(self, node: int) -> list[int]: ...


class TreeExpression:
    """Folds trees from the leaves up, in as many steps as their depth needs."""

    def __init__(self, statement: Statement, tree: Branches) -> None:
        self.statement, self.tree = statement, tree
        self.steps: list[Step] = []
        self._check_depth()

    def _check_depth(self) -> None:
        depth = np.zeros(self.tree.n_nodes, dtype=np.intp)
        for node in range(self.tree.n_nodes):
            depth[self.tree.children(node)] = depth[node] + 1
        if depth.max() > MOST_LEVELS:
            raise ValueError(
                f"a tree of {depth.max():,} levels is too deep for one SQL statement, which may "
                f"have {MOST_LEVELS:,}; set max_depth and fit again."
            )

    def fold(
        self,
        prefix: str,
        combine: Callable[[int, Below], Value],
        finish: Callable[[exp.Expr], exp.Expr] = lambda value: value,
    ) -> str | None:
        """Return the value of the root, as a column; None for zero. Deep values are other columns.

        ``finish`` is applied to an expression before it becomes a column.
        """
        deepest = self.statement.dialect.deepest
        folded: dict[int, exp.Expr | None] = {}
        height: dict[int, int] = {}
        level: dict[int, int] = {}
        for node in range(self.tree.n_nodes - 1, -1, -1):
            children = self.tree.children(node)
            value = combine(node, [folded.pop(child) for child in children])
            level[node] = max((level[child] for child in children), default=0)
            height[node] = max((height[child] for child in children), default=0) + 1
            if value is not None and height[node] >= deepest and node > 0:
                column = self._step(level[node]).define(prefix, finish(value))
                value, height[node] = ref(column), 0
                level[node] += 1
            folded[node] = value
        root = folded[0]
        return None if root is None else self._step(level[0]).define(prefix, finish(root))

    def _step(self, level: int) -> Step:
        while len(self.steps) <= level:
            self.steps.append(self.statement.step("tree"))
        return self.steps[level]


def _tested(columns: Columns, tree: Tree) -> dict[int, str]:
    """Return the column of each attribute tested: a value for numbers, a slot for categories."""
    return {j: _tested_column(columns, tree, j) for j in np.unique(tree.attribute) if j >= 0}


def _tested_column(columns: Columns, tree: Tree | Forest, j: int) -> str:
    coder = tree.coders[j]
    return columns.value(j) if isinstance(coder, Bins) else columns.slot(j, coder)


def _slots_to(tree: Tree, node: int) -> list[NDArray[np.intp]]:
    """Return the slots that lead to each child of a discrete test, then those that end there."""
    j, start = tree.attribute[node], tree.route_start[node]
    values = tree.offsets[j + 1] - tree.offsets[j] - 2
    route = tree.route[start : start + values]
    places = [*range(len(tree.children(node))), -1]
    return [np.flatnonzero(route == place) + 1 for place in places]


def _no_value(tree: Tree, node: int) -> list[int]:
    """Return the slots of a missing and of an unseen value of the attribute that a node asks."""
    j = tree.attribute[node]
    return [0, int(tree.offsets[j + 1] - tree.offsets[j]) - 1]


def among(column: str, slots: Sequence[int] | NDArray[np.intp]) -> exp.Expr:
    if len(slots) == 1:
        return op(ref(column), "=", whole(slots[0]))
    return exp.In(this=ref(column), expressions=[whole(slot) for slot in slots])


# Naive Bayes at the nodes ------------------------------------------------------------------------


def route(columns: Columns, tree: Tree, divided: int = 0) -> str:
    """Return the node where a row stops, as a column.

    ``divided`` is added to the number where the row stops because its value is missing or was never
    seen, not because the node has no child for it.
    """
    tested, cut = _tested(columns, tree), columns.dialect.cut

    def combine(node: int, below: Below) -> exp.Expr:
        if not below:
            return whole(node)
        column = tested[int(tree.attribute[node])]
        ways: list[tuple[exp.Expr, exp.Expr]] = []
        if isinstance(tree.coders[tree.attribute[node]], Bins):
            ways.append((is_null(ref(column)), whole(node + divided)))
            limits = [op(ref(column), "<=", cut(limit)) for limit in tree.cuts(node).tolist()]
            ways += zip(limits, below[:-1], strict=True)  # type: ignore[arg-type]
            return case(ways, below[-1])
        for child, slots in zip(below, _slots_to(tree, node)[:-1], strict=True):
            assert child is not None
            ways.append((among(column, slots), child))
        if divided:
            ways.append((among(column, _no_value(tree, node)), whole(node + divided)))
        return case(ways, whole(node))

    node = TreeExpression(columns.statement, tree).fold("node", combine)
    assert node is not None
    return node


def score_tree(columns: Columns, tree: NaiveBayesTree) -> list[str]:
    """Return joint log probabilities by the naive Bayes where a row stops, as columns."""
    if tree.densities is not None:
        raise TypeError(
            "a tree with kernel densities cannot be written as SQL; fit an NBTreeClassifier."
        )
    slots = {j: columns.slot(j, coder) for j, coder in enumerate(tree.coders) if coder is not None}
    alone = tree.n_nodes == 1
    node = None if alone else route(columns, tree)
    double = columns.dialect.double
    first = [double(prior) for prior in tree.log_prior[0]]
    adder = SumBuilder(columns.statement, first if alone else [double(0.0)] * 0, "scores")
    if node is not None:
        prior = adder.step.look_up(ref(node), np.arange(tree.n_nodes), tree.log_prior)
        adder.totals = [double(0.0) if log is None else log for log in prior]
    for j, slot in slots.items():
        place = tree.place[:, tree.offsets[j] : tree.offsets[j + 1]]
        logs = tree.logs[place].reshape(-1, tree.log_prior.shape[1])
        key: exp.Expr = ref(slot)
        if node is not None:
            row = op(ref(node), "*", whole(place.shape[1]))
            key = op(row, "+", ref(slot))
        adder.add(adder.step.look_up(key, np.arange(len(logs)), logs))
    return adder.finish()


# Classes at the nodes ----------------------------------------------------------------------------


def answer_tree(columns: Columns, tree: ClassTree) -> list[str]:
    """Return probabilities of the classes.

    Most rows stop at one node, whose probabilities are looked up. Others have a share in every node
    that they may stop at. The least probability of a node's classes is summed once for all of them,
    so that the sum of a class visits only the nodes where it has more.
    """
    statement, double = columns.statement, columns.dialect.double
    n, tested = tree.n_nodes, _tested(columns, tree)
    if n == 1:
        step = statement.step("answers")
        return [step.define("p", double(sum_of_class)) for sum_of_class in tree.answer[0]]
    node = route(columns, tree, divided=n)

    def if_divided(value: exp.Expr) -> exp.Expr:
        return case([(op(ref(node), ">=", whole(n)), value)], double(0.0))

    tree_expression = TreeExpression(statement, tree)
    common = tree.answer.min(axis=1)
    sums = []
    for answer in [common, *(tree.answer - common[:, None]).T]:
        sharing = _FractionalRouting(columns, tree, tested, answer)
        sums.append(tree_expression.fold("d", sharing.combine, if_divided))
    step = statement.step("answers")
    probabilities = []
    for sum_of_class, looked_up in zip(
        sums[1:], step.look_up(ref(node), np.arange(n), tree.answer), strict=True
    ):
        parts: list[exp.Expr] = [] if looked_up is None else [looked_up]
        parts += [ref(part) for part in (sums[0], sum_of_class) if part is not None]
        probabilities.append(step.define("p", add_up(parts) if parts else double(0.0)))
    return probabilities


class _FractionalRouting:
    """One number of every node, summed over the nodes where a row stops, by its shares."""

    def __init__(
        self, columns: Columns, tree: ClassTree, tested: dict[int, str], answer: NDArray[np.float64]
    ) -> None:
        self.dialect, self.tree, self.tested = columns.dialect, tree, tested
        self.shares, self.answer = tree.share, answer
        self.statement = columns.statement

    def combine(self, node: int, below: Below) -> exp.Expr | None:
        if not below:
            self.statement.count(1)
            return self.dialect.double(self.answer[node]) if self.answer[node] else None
        j = int(self.tree.attribute[node])
        numeric = isinstance(self.tree.coders[j], Bins)
        ways = self._limits(node) if numeric else self._values(node)
        parts = []
        for child, value, way in zip(self.tree.children(node), below, ways, strict=False):
            if value is not None:
                parts.append(self._part(node, float(self.shares[child]), value, way))
        if not numeric and self.answer[node]:
            staying = _slots_to(self.tree, node)[-1]
            if len(staying):
                value = self.dialect.double(self.answer[node])
                here = among(self.tested[j], staying)
                parts.append(case([(here, value)], self.dialect.double(0.0)))
        return exp.Paren(this=add_up(parts)) if parts else None

    def _limits(self, node: int) -> list[exp.Expr]:
        """Return the conditions under which a number leads to each child."""
        column, cuts = self.tested[int(self.tree.attribute[node])], self.tree.cuts(node).tolist()
        cut = self.dialect.cut
        ways: list[exp.Expr] = []
        for k in range(len(cuts) + 1):
            sides: list[exp.Expr] = []
            if k > 0:
                sides.append(op(ref(column), ">", cut(cuts[k - 1])))
            if k < len(cuts):
                sides.append(op(ref(column), "<=", cut(cuts[k])))
            ways.append(exp.and_(*sides))
        return ways

    def _values(self, node: int) -> list[exp.Expr]:
        column = self.tested[int(self.tree.attribute[node])]
        return [among(column, slots) for slots in _slots_to(self.tree, node)[:-1]]

    def _part(self, node: int, share: float, value: exp.Expr, way: exp.Expr) -> exp.Expr:
        """Return the value of a child if the row goes there; times its share, if everywhere."""
        double = self.dialect.double
        if isinstance(value, (exp.Literal, exp.Cast)):
            return case(
                [
                    (self._everywhere(node), op(double(share), "*", value.copy())),
                    (way, value),
                ],
                double(0.0),
            )
        factor = case([(self._everywhere(node), double(share))], double(1.0))
        either = exp.or_(way, self._everywhere(node))
        return case([(either, op(factor, "*", value))], double(0.0))

    def _everywhere(self, node: int) -> exp.Expr:
        """Return whether the value is missing, or was never seen."""
        j = int(self.tree.attribute[node])
        if isinstance(self.tree.coders[j], Bins):
            return is_null(ref(self.tested[j]))
        return among(self.tested[j], _no_value(self.tree, node))


# Forests -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ForestTree:
    """One tree of a forest; its nodes are numbered from 0."""

    forest: Forest
    trees: ForestArrays
    tree: int

    @property
    def start(self) -> int:
        return int(self.trees.start[self.tree])

    @property
    def n_nodes(self) -> int:
        return int(self.trees.start[self.tree + 1]) - self.start

    def children(self, node: int) -> list[int]:
        first = int(self.trees.first_child[self.start + node])
        return [] if first < 0 else [first - self.start, first - self.start + 1]

    def slots_first(self, node: int) -> NDArray[np.intp]:
        """Return the slots of a category that go to the first child of a node."""
        at = self.start + node
        coder = self.forest.coders[self.trees.attribute[at]]
        assert coder is not None
        slots = np.arange(coder.size + 2)
        words = self.trees.route[self.trees.test[at] + slots // WORD].astype(np.int64)
        return np.flatnonzero((words >> (slots % WORD)) & 1)

    def shares(self) -> NDArray[np.float64]:
        """Return what the leaves say of each class; 0 at other nodes."""
        trees, n_classes = self.trees, self.forest.n_outputs
        out = np.zeros((self.n_nodes, n_classes))
        nodes = np.arange(self.start, self.start + self.n_nodes)
        first, last = trees.first_entry[nodes[0]], trees.first_entry[nodes[-1] + 1]
        leaf = np.repeat(
            np.arange(self.n_nodes), np.diff(trees.first_entry[nodes[0] : nodes[-1] + 2])
        )
        out[leaf, trees.entry_class[first:last]] = trees.entry_share[first:last]
        leaves = trees.first_child[nodes] < 0
        out[leaves] += trees.rest[nodes[leaves], None] * self.forest.prior
        return out


def mean_forest(columns: Columns, forest: Forest) -> list[str]:
    """Return the mean of the leaves that a row ends in, as a column for each class."""
    trees, double = forest.trees(), columns.dialect.double
    totals: list[exp.Expr] = [double(0.0) for _ in range(forest.n_outputs)]
    for first in range(0, forest.n_trees, MOST_JOINS):
        some = range(first, min(first + MOST_JOINS, forest.n_trees))
        several = [_ForestTree(forest, trees, t) for t in some]
        leaves = [_leaf(columns, tree) for tree in several]
        step = columns.statement.step("votes")
        for tree, leaf in zip(several, leaves, strict=True):
            said = step.look_up(ref(leaf), np.arange(tree.n_nodes), tree.shares())
            totals = [
                total if share is None else op(total, "+", share)
                for total, share in zip(totals, said, strict=True)
            ]
        totals = [ref(step.define("t", total)) for total in totals]
    step, n = columns.statement.step("means"), double(float(forest.n_trees))
    return [step.define("p", op(t, "/", n.copy())) for t in totals]


def _leaf(columns: Columns, tree: _ForestTree) -> str:
    """Return the leaf where a row ends in one tree, as a column."""
    trees = tree.trees

    def combine(node: int, below: Below) -> exp.Expr:
        if not below:
            return whole(node)
        first, second = below
        assert first is not None
        assert second is not None
        columns.statement.count(1)
        return case([(_goes_first(columns, tree, tree.start + node), first)], second)

    for j in sorted({int(j) for j in trees.attribute[tree.start :][: tree.n_nodes] if j >= 0}):
        _tested_column(columns, tree.forest, j)
    leaf = TreeExpression(columns.statement, tree).fold("leaf", combine)
    assert leaf is not None
    return leaf


def _goes_first(columns: Columns, tree: _ForestTree, at: int) -> exp.Expr:
    """Return whether a row goes to the first child of a node."""
    trees, j = tree.trees, int(tree.trees.attribute[at])
    coder, column = tree.forest.coders[j], _tested_column(columns, tree.forest, j)
    if not isinstance(coder, Bins):
        return among(column, tree.slots_first(at - tree.start))
    last = int(trees.test[at])
    if last == coder.size:  # all that have a value
        every = exp.Not(this=is_null(ref(column)))
        return exp.true() if trees.missing_first[at] else every
    below: exp.Expr
    below = op(ref(column), "<=", columns.dialect.cut(float(coder.cuts[last - 1])))
    return exp.or_(is_null(ref(column)), below) if trees.missing_first[at] else below
