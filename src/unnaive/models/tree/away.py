"""Growing a tree of naive Bayes classifiers whose rows are on the workers of a cluster.

Breadth first, with a few passes for all large nodes of a level: weights by code and class in the
parts of every question, from which numbers are cut; weights by fold, from which naive Bayes is
estimated; which rows it gets right; and then rows move on. Rows of a node that is small come
together on one worker, which grows what is below. Only tables come here, and what is decided from
them is decided by the functions that `Grower` has for rows: the tree is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import BayesTree
from unnaive.bayes import validate
from unnaive.bayes.fold_tables import slot_offsets
from unnaive.common.threads import in_threads
from unnaive.density.estimate import FLOOR
from unnaive.models.tree import away_rows
from unnaive.models.tree.away_rows import AwayRows, Question, Shape, Step
from unnaive.models.tree.branches import Branch, Node, Number, TreeRows, flatten, is_luck
from unnaive.models.tree.build import Leaves
from unnaive.models.tree.decided import Test
from unnaive.models.tree.folded_rows import FoldedBlock
from unnaive.models.tree.grow import Grower, NewGrower
from unnaive.models.tree.view import TableView
from unnaive.table import Block, Source
from unnaive.table.records import LARGE, Records, as_they_are
from unnaive.table.storage import Storage

T = TypeVar("T")
SMALL = LARGE  # values (rows x columns) of a node that one worker grows alone
_NONE = np.empty(0, np.intp)  # rows that are here
CELLS = 1 << 24  # of tables that are summed in one pass, unless one question needs more


def keep_coded(source: Source, code: Callable[[Block], FoldedBlock]) -> Records[AwayRows] | None:
    """Coded rows that stay with their source; None where they are to come here."""
    away = source.keep_away(partial(away_rows.code_rows, code), operator.add)
    return None if away is None else away[0]


@dataclass(slots=True, eq=False)
class AwayBranch(Branch):
    """A node whose rows are away.

    Attributes
    ----------
    number : int
    sums : array of shape (2 + depth,)
        Weight of its rows, of those that are right, and for each node above, of those which only
        one of both gets right.
    tables : list of arrays
        Weight by code and class of each attribute, while a large node is not divided.
    staying : array of shape (3 + depth,)
        ``sums`` of the rows that stop at a node with children, which is itself the last above.
    settled : array of shape (1 + depth,)
        ``sums`` without the weight, when all that is below has grown and been cut back.
    """

    number: int = 0
    n_rows: int = 0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    tables: list[NDArray[np.float64]] = field(default_factory=list)
    staying: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    settled: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    grown: bool = False  # with all below it, on a worker


# A node, a question that it asks, and how many rows each part has.
Chosen: TypeAlias = tuple[AwayBranch, Question, NDArray[Any]]


class AwayGrower:
    """Grow a tree of rows that are elsewhere.

    Parameters
    ----------
    records : Records
    grower : Grower
        Knows how to grow, and has no rows.
    new_grower : callable
        Makes growers of the rows of a small node.
    leaves : Leaves
    """

    def __init__(
        self, records: Records[AwayRows], grower: Grower, new_grower: NewGrower, leaves: Leaves
    ) -> None:
        self.records, self.grower, self.new_grower = records, grower, new_grower
        self.leaves, rows = leaves, grower.rows
        self.shape = Shape(grower.sizes, rows.numeric, rows.n_classes, rows.n_folds)
        self.fixed = None if grower.slots is None else self._fixed_numbers(grower.slots[1])
        self.n_nodes = 0

    def grow(self) -> BayesTree:
        """The tree."""
        above = AwayBranch(Node(_NONE, -1, 0.0, 0.0), np.empty(0, np.bool_))
        first = Question(0, None)
        (judged,) = self._judge([first])
        (root,) = level = self._move_on([(above, first, judged[1:])])
        small: list[AwayBranch] = []
        while level:
            small += [branch for branch in level if not branch.tables]
            level = self._grow_level([branch for branch in level if branch.tables])
        if small:
            self._finish(small)
        self._settle(root)
        return self.leaves.build(flatten(root))

    def _grow_level(self, level: list[AwayBranch]) -> list[AwayBranch]:
        """Divide large nodes where that is worth it; the new nodes."""
        tests = [self._tests(branch) for branch in level]
        questions = [
            Question(branch.number, test)
            for branch, node_tests in zip(level, tests, strict=True)
            for test in node_tests
        ]
        judged = iter(list(zip(questions, self._judge(questions), strict=True)))
        chosen: list[Chosen] = []
        for branch, node_tests in zip(level, tests, strict=True):
            mine = [next(judged) for _ in node_tests]
            utilities = [float(sums[0]) / branch.node.weight for _, sums in mine]
            best = self.grower.choose(branch.node, list(zip(node_tests, utilities, strict=True)))
            branch.tables = []
            if best is not None:
                branch.node.test = node_tests[best]
                chosen.append((branch, mine[best][0], mine[best][1][1:]))
        below = self._move_on(chosen)
        for branch in level:
            self._report(branch.node.weight - sum(child.node.weight for child in branch.below))
        return below

    def _tests(self, branch: AwayBranch) -> list[Test]:
        """What is to be judged at a node."""
        node, grower = branch.node, self.grower
        if not grower.may_split(node, bool(branch.sums[0] == branch.sums[1])):
            return []
        views = [TableView(j, table, grower.dtype) for j, table in enumerate(branch.tables)]
        return grower.questions(views.__getitem__, grower.n_jobs)

    def _judge(self, questions: list[Question]) -> list[NDArray[np.float64]]:
        """By question, weight of the rows that are right, and how many rows each part has."""
        n_cells = int((self.shape.sizes[list(self.shape.numeric)] + 1).sum())
        if self.fixed is not None or not n_cells:
            for question in questions:
                self._number(question, [])
            fine: list[list[Question]] = []
        else:
            fine = _batches(questions, [q.n_parts * n_cells for q in questions], self.shape)
        for some in fine:
            tables = self._reduce(away_rows.count_cells, some, "counting values by question")
            for question, question_tables in zip(some, tables, strict=True):
                self._number(question, question_tables)
        judged: list[NDArray[np.float64]] = []
        widest = [int((q.n_values.sum(axis=1) + q.n_values.shape[1]).max()) for q in questions]
        n_slots = [
            self.shape.n_folds * q.n_parts * n for q, n in zip(questions, widest, strict=True)
        ]
        for some in _batches(questions, n_slots, self.shape):
            counts = self._reduce(away_rows.count_folds, some, "counting by question and fold")
            for question, folds in zip(some, counts, strict=True):
                given = (question.n_values, self.grower.smoothing, question.densities)
                question.prior, question.logs = validate.fold_models(*folds, *given)
                question.densities = validate.NO_KERNELS  # no row is asked for them
            judged += self._reduce(away_rows.judge, some, "judging questions")
        return judged

    def _reduce(self, fn: Callable[..., T], questions: list[Question], name: str) -> T:
        return self.records.reduce(partial(fn, questions, self.shape), _add, name)

    def _number(self, question: Question, tables: list[NDArray[np.float64]]) -> None:
        """Say which slots a question's parts have, given those of numbers by code and class."""
        sizes, n_classes = self.shape.sizes, self.shape.n_classes
        columns = np.flatnonzero(self.shape.numeric).tolist()
        question.n_values = np.tile(sizes, (question.n_parts, 1))
        question.upper = [[None] * len(sizes) for _ in range(question.n_parts)]
        widths = np.zeros((question.n_parts, len(sizes), n_classes + 1))
        positions: dict[tuple[int, int], NDArray[np.float64]] = {}

        def number(at: tuple[int, int]) -> None:
            p, k = at
            j = columns[k]
            if self.fixed is not None:
                slots = self.fixed[j]
            else:
                view = TableView(j, tables[k][p], self.grower.dtype)
                slots = self.grower.number(view, j)
            question.upper[p][j], question.n_values[p, j] = slots.upper, len(slots.upper)
            if slots.positions is not None and slots.widths is not None:
                widths[p, j, [*view.classes, -1]] = slots.widths
                positions[at[0], j] = slots.positions

        every = [(p, k) for p in range(question.n_parts) for k in range(len(columns))]
        in_threads(number, every, self.grower.n_jobs)
        if positions:
            offsets = slot_offsets(question.n_values).astype(np.intp)
            near = np.zeros((question.n_parts, offsets[:, -1].max()))
            for (p, j), cells in positions.items():
                near[p, offsets[p, j] + 1 : offsets[p, j + 1]] = cells
            question.densities = validate.Kernels(near, widths, FLOOR)

    def _fixed_numbers(self, n_values: NDArray[np.intp]) -> dict[int, Number]:
        """Slots of numbers that are the same at every node."""
        fixed = {}
        for j in np.flatnonzero(self.shape.numeric).tolist():
            place = self.leaves.fixed[j][1]
            assert place is not None
            numbers = np.arange(1, n_values[j] + 1)
            fixed[j] = Number(np.searchsorted(place[1:-1], numbers, side="right"))
        return fixed

    def _move_on(self, chosen: list[Chosen]) -> list[AwayBranch]:
        """Divide nodes; the new nodes, those that are large with their tables."""
        steps = []
        for _, question, n_rows in chosen:
            large = tuple((n_rows * len(self.shape.sizes) >= SMALL).tolist())
            steps.append(Step(question, self.n_nodes + 1, large))
            self.n_nodes += question.n_parts
        if not steps:
            return []
        move = partial(away_rows.ask, steps, self.shape)
        results = self.records.advance(move, _add, "dividing nodes")
        new: list[AwayBranch] = []
        for (branch, question, n_rows), step, result in zip(chosen, steps, results, strict=True):
            branch.staying, tables = result[0][0], iter(np.arange(sum(step.large)).tolist())
            for k in range(question.n_parts):
                sums, depth = result[0][k + 1], branch.node.depth + 1
                node = Node(_NONE, depth, float(sums[0]), float(sums[1]) / float(sums[0]))
                child = AwayBranch(node, np.empty(0, np.bool_), sums=sums)
                child.number, child.n_rows = step.first + k, int(n_rows[k])
                if step.large[k]:
                    at = next(tables)
                    child.tables = [table[at] for table in result[1:]]
                    self._describe(child)
                branch.below.append(child)
            new += branch.below[-question.n_parts :]  # type: ignore[arg-type]
        return new

    def _describe(self, branch: AwayBranch) -> None:
        """Give a large node its naive Bayes, from its tables."""

        def part(j: int) -> Any:
            codes, groups = np.nonzero(branch.tables[j])
            weight, shape = branch.tables[j][codes, groups], self.shape
            column = [codes.astype(self.grower.dtype)] * (j + 1)  # no other one is looked at
            given = (column, shape.numeric, groups, weight, groups, *shape[2:], Storage())
            return self.leaves.part(TreeRows(*given), np.arange(len(codes)), j)

        every = range(len(self.shape.sizes))
        branch.node.parts = list(in_threads(part, every, self.grower.n_jobs))
        branch.node.totals = branch.tables[0].sum(axis=0)

    def _finish(self, small: list[AwayBranch]) -> None:
        """Grow all that is below small nodes, where the rows of each come together."""
        small.sort(key=lambda branch: branch.number)
        numbers = np.array([branch.number for branch in small])
        n_rows = np.array([branch.n_rows for branch in small])
        total = int(n_rows.sum())
        starts = (np.cumsum(n_rows) - n_rows).tolist()
        places = np.array([(start << 64) // total for start in starts], dtype=np.uint64)
        move = (
            partial(away_rows.place_rows, numbers, places),
            as_they_are,
            partial(away_rows.select_rows, numbers),
        )
        depths = {branch.number: branch.node.depth for branch in small}
        progress = self.grower.progress
        stopped = progress is not None and progress.stopped
        given = (depths, self.new_grower, self.leaves, self.shape, stopped)
        with self.records.regroup(*move) as moved:
            self.records.release()
            grown = moved.reduce(
                partial(away_rows.finish, *given), operator.or_, "growing small nodes"
            )
        for branch in small:
            root, branch.settled = grown[branch.number]
            branch.node, branch.below, branch.grown = root.node, root.below, True
            self._report(branch.node.weight)

    def _settle(self, root: AwayBranch) -> None:
        """Make leaves of large nodes whose subtree is luck, see `is_luck`."""
        large = [root]
        for branch in large:
            large += [] if branch.grown else branch.below  # type: ignore[arg-type]
        for branch in reversed(large):
            if branch.grown:
                continue
            branch.settled = branch.sums[1:]
            if not branch.below:
                continue
            below = [child.settled for child in branch.below]  # type: ignore[attr-defined]
            after = branch.staying[1:] + np.sum(below, axis=0)
            gained = float(after[0]) - branch.node.utility * branch.node.weight
            if is_luck(gained, float(after[-1]), self.grower.rules.significance):
                branch.below, branch.node.test = [], None
            else:
                branch.settled = after[:-1]

    def _report(self, weight: float) -> None:
        if self.grower.progress is not None:
            self.grower.progress.add(weight)


def _batches(
    questions: list[Question], n_slots: Sequence[int], shape: Shape
) -> list[list[Question]]:
    """Questions that are put in one pass, by the slots of their tables."""
    batches: list[list[Question]] = []
    room = 0
    for question, n in zip(questions, n_slots, strict=True):
        room -= n * shape.n_classes
        if not batches or room < 0:
            batches.append([])
            room = CELLS - n * shape.n_classes
        batches[-1].append(question)
    return batches


def _add(a: Any, b: Any) -> Any:
    """The sum of arrays in lists."""
    return [_add(*both) for both in zip(a, b, strict=True)] if isinstance(a, list) else a + b
