"""Trees in SQL: the node where a row stops, its naive Bayes or its class shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from unnaive.answer import BayesTree, ClassTree, KernelTree
from unnaive.answer.tree import Tree
from unnaive.encode import Bins
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import case, is_null, op, ref, whole
from unnaive.store.sql.scores import Adder, Thinning, between, inside, place_of
from unnaive.store.sql.statement import Statement, Step, add_up

Value = exp.Expr | None  # None for zero
Below = Sequence[Value]  # the values of a node's children
MOST_LEVELS = 1000  # of a tree: engines plan longer chains of steps for minutes, or not at all


class Branches(Protocol):
    """What `Folder` needs to know of a tree: children come after their parents."""

    @property
    def n_nodes(self) -> int: ...
    def children(self, node: int) -> list[int]: ...


class Folder:
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
        """The value of the root, as a column; None for zero. Deep below it are other columns.

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
    """The column of each attribute that nodes test: a value for numbers, a slot for categories."""
    tested = {}
    for j in sorted({int(j) for j in tree.attribute if j >= 0}):
        coder = tree.coders[j]
        tested[j] = columns.value(j) if isinstance(coder, Bins) else columns.slot(j, coder)
    return tested


def _slots_to(tree: Tree, node: int) -> list[NDArray[np.intp]]:
    """Slots that lead to each child of a discrete test, and then those that end at the node."""
    j, start = tree.attribute[node], tree.route_start[node]
    values = tree.offsets[j + 1] - tree.offsets[j] - 2
    route = tree.route[start : start + values]
    places = [*range(len(tree.children(node))), -1]
    return [np.flatnonzero(route == place) + 1 for place in places]


def _no_value(tree: Tree, node: int) -> list[int]:
    """The slots of a missing and of an unseen value of the attribute that a node asks."""
    j = tree.attribute[node]
    return [0, int(tree.offsets[j + 1] - tree.offsets[j]) - 1]


def among(column: str, slots: Sequence[int] | NDArray[np.intp]) -> exp.Expr:
    if len(slots) == 1:
        return op(ref(column), "=", whole(slots[0]))
    return exp.In(this=ref(column), expressions=[whole(slot) for slot in slots])


# Naive Bayes at the nodes ------------------------------------------------------------------------


def route(columns: Columns, tree: Tree, divided: int = 0) -> str:
    """The node where a row stops, as a column.

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

    node = Folder(columns.statement, tree).fold("node", combine)
    assert node is not None
    return node


def score_tree(columns: Columns, tree: BayesTree, thinning: Thinning) -> list[str]:
    """Joint log probabilities by the naive Bayes where a row stops, as columns."""
    slots = {j: columns.slot(j, coder) for j, coder in enumerate(tree.coders) if coder is not None}
    densities = _Densities(columns, tree, thinning) if isinstance(tree, KernelTree) else None
    alone = tree.n_nodes == 1
    node = None if alone else route(columns, tree)
    if densities is not None:
        densities.prepare(node)
    double = columns.dialect.double
    first = [double(prior) for prior in tree.log_prior[0]]
    adder = Adder(columns.statement, first if alone else [double(0.0)] * 0, "scores")
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
        evidence = adder.step.look_up(key, np.arange(len(logs)), logs)
        if densities is not None:
            evidence = densities.join(adder.step, j, evidence)
        adder.add(evidence)
    return adder.finish()


class _Densities:
    """The kernel densities of a tree's numbers: which table a row uses depends on its node."""

    def __init__(self, columns: Columns, tree: KernelTree, thinning: Thinning) -> None:
        self.columns, self.tree, self.thinning = columns, tree, thinning
        self.numbers = [
            j for j, scale in enumerate(tree.scales) if scale is not None and tree.last[j].any()
        ]
        self.values = {j: columns.value(j) for j in self.numbers}
        self.places: dict[int, list[str]] = {}
        self.keys: dict[int, list[str]] = {}
        self.tables: dict[int, list[NDArray[np.float64]]] = {}

    def prepare(self, node: str | None) -> None:
        """Places among the nodes of a row's table, one for each number and class."""
        step = self.columns.statement.step("places")
        for j in self.numbers:
            if step.is_full:
                step = self.columns.statement.step("places")
            self._prepare(step, node, j)

    def _prepare(self, step: Step, node: str | None, j: int) -> None:
        tree, dialect = self.tree, self.columns.dialect
        scale = tree.scales[j]
        assert scale is not None
        having = np.flatnonzero(tree.last[j].max(axis=1))
        parts: list[list[float]] = [[] for _ in having]
        self.tables[j] = []
        for c in range(tree.last.shape[2]):
            tables, filled = [], 0
            for numbers, n in zip(parts, having, strict=True):
                table = tree.densities[tree.first[j, n, c] : tree.last[j, n, c]]
                every, logs = self.thinning(table, len(self.numbers))
                per_step = tree.per_step[j, n, c]
                numbers += [
                    1.0 / scale.half_range * per_step / every,
                    tree.start[j, n, c] * per_step / every,
                    float(len(logs) - 1),
                    float(filled),
                ]
                tables.append(logs)
                filled += len(logs)
            # The line from one table to the next is never walked: places end at the last node.
            self.tables[j].append(np.concatenate(tables))
        key = whole(int(having[0])) if node is None else ref(node)
        rows = [
            [whole(int(n)), *(dialect.number(v) for v in numbers)]
            for n, numbers in zip(having, parts, strict=True)
        ]
        given = step.join(key, rows)
        self.places[j], self.keys[j] = [], []
        for c in range(tree.last.shape[2]):
            widen, shift, last, first = given[4 * c : 4 * c + 4]
            place = place_of(self.columns, self.values[j], scale.low, widen, shift)
            limited = inside(self.columns, self.values[j], place, last)
            self.places[j].append(step.define("z", limited))
            self.keys[j].append(step.define("o", first))

    def join(
        self, step: Step, j: int, evidence: Sequence[exp.Expr | None]
    ) -> list[exp.Expr | None]:
        """The evidence of one attribute, with that of its density where it has one."""
        if j not in self.places:
            return list(evidence)
        dialect = self.columns.dialect
        out: list[exp.Expr | None] = []
        for log, z, first, logs in zip(
            evidence, self.places[j], self.keys[j], self.tables[j], strict=True
        ):
            # The sum of both would round up just below a node.
            key = op(dialect.floor(ref(z)), "+", ref(first))
            density = between(self.columns, step, z, key, logs)
            term: exp.Expr = exp.Coalesce(this=density, expressions=[dialect.double(0.0)])
            if log is not None:
                term = exp.Paren(this=op(log, "+", term))
            out.append(term)
        return out


# Classes at the nodes ----------------------------------------------------------------------------


def answer_tree(columns: Columns, tree: ClassTree) -> list[str]:
    """Probabilities of the classes.

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

    folder = Folder(statement, tree)
    common = tree.answer.min(axis=1)
    sums = []
    for answer in [common, *(tree.answer - common[:, None]).T]:
        sharing = _Sharing(columns, tree, tested, answer)
        sums.append(folder.fold("d", sharing.combine, if_divided))
    step = statement.step("answers")
    probabilities = []
    for sum_of_class, looked_up in zip(
        sums[1:], step.look_up(ref(node), np.arange(n), tree.answer), strict=True
    ):
        parts: list[exp.Expr] = [] if looked_up is None else [looked_up]
        parts += [ref(part) for part in (sums[0], sum_of_class) if part is not None]
        probabilities.append(step.define("p", add_up(parts) if parts else double(0.0)))
    return probabilities


class _Sharing:
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
        """When a number leads to each child."""
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
        """The value of a child if the row goes there; times its share, if it goes everywhere."""
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
        """Whether the value is missing, or was never seen."""
        j = int(self.tree.attribute[node])
        if isinstance(self.tree.coders[j], Bins):
            return is_null(ref(self.tested[j]))
        return among(self.tested[j], _no_value(self.tree, node))
