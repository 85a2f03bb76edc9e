"""Rows that stay where they are while a tree of naive Bayes classifiers grows: what is asked there.

Functions of passes are pure, see `table/records.py`. Weights are such that their sums are exact, so
that it does not matter which rows lie together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import validate
from unnaive.estimator import Progress
from unnaive.models.tree import node_kernels as kernels
from unnaive.models.tree.branches import Branch, TreeRows, every_branch
from unnaive.models.tree.build import Leaves
from unnaive.models.tree.decided import Test
from unnaive.models.tree.folded_rows import FoldedBlock
from unnaive.models.tree.grow import NewGrower
from unnaive.table import Block
from unnaive.table.storage import Storage, taken


@dataclass(frozen=True, slots=True, eq=False)
class AwayRows:
    """Rows of a block in order of their folds: codes attributes x rows, class, weight and fold."""

    PER_ROW: ClassVar = {"codes": 1, "groups": 0, "weight": 0, "folds": 0}

    codes: NDArray[Any]
    groups: NDArray[Any]
    weight: NDArray[np.float64]
    folds: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where rows stand in the tree so far: number of their node, and at each depth, whether the
    node that they passed there gets them right.
    """

    PER_ROW: ClassVar = {"node": 0, "marks": 0}

    node: NDArray[np.int32]
    marks: list[NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """Rows that change places, and where they stand."""

    rows: AwayRows
    standing: Standing


class Shape(NamedTuple):
    """Of coded rows: numbers of values of the attributes, which are numeric, and so on."""

    sizes: NDArray[np.intp]
    numeric: tuple[bool, ...]
    n_classes: int
    n_folds: int


@dataclass(slots=True, eq=False)
class Question:
    """A question that a node may ask, and what is known of its answers.

    Attributes
    ----------
    node : int
        Its number.
    test : Test or None
        None for one part of all rows.
    upper : list of lists
        By part and attribute, the highest code of each slot; None where codes are slots.
    n_values : array of shape (parts, attributes)
    densities : Kernels
        Numbers that have them.
    prior, logs : arrays
        Naive Bayes of each part without each fold.
    """

    node: int
    test: Test | None
    upper: list[list[NDArray[Any] | None]] = field(default_factory=list)
    n_values: NDArray[np.intp] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.intp))
    densities: validate.Kernels = validate.NO_KERNELS
    prior: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 0)))
    logs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))

    @property
    def n_parts(self) -> int:
        return 1 if self.test is None else self.test.n_children


class Step(NamedTuple):
    """A question that is asked: the number of its first child, and which children are large."""

    question: Question
    first: int
    large: tuple[bool, ...]


def code_rows(code: Callable[[Block], FoldedBlock], block: Block) -> tuple[AwayRows, int]:
    """The rows of a block, and how many there are."""
    folded = code(block)
    order, rows = np.argsort(folded.folds, kind="stable"), folded.rows
    codes = np.empty((len(rows.codes), len(order)), np.result_type(np.uint16, *rows.codes))
    for j, column in enumerate(rows.codes):
        codes[j] = column[order]
    groups = rows.groups[order].astype(np.min_scalar_type(rows.groups.max(initial=0)))
    return AwayRows(codes, groups, rows.weight[order], folded.folds[order]), len(order)


def stand_first(rows: AwayRows, standing: Standing | None) -> Standing:
    """Where rows stand; at the beginning all are in a node above the root, number 0."""
    return standing or Standing(np.zeros(rows.n_rows, np.int32), [])


class _NodeRows:
    """The rows of one node in one record."""

    def __init__(self, rows: AwayRows, standing: Standing, node: int) -> None:
        self.chosen = np.flatnonzero(standing.node == node)
        every = len(self.chosen) == rows.n_rows
        self.codes = rows.codes if every else np.take(rows.codes, self.chosen, axis=1)
        self.groups = rows.groups[self.chosen].astype(np.int32)
        self.weight, self.folds = rows.weight[self.chosen], rows.folds[self.chosen]
        self.marks = [marks[self.chosen] for marks in standing.marks]

    def part(self, test: Test | None, sizes: NDArray[np.intp]) -> NDArray[np.int32]:
        """Part of each row under a question."""
        part = np.zeros(len(self.chosen), np.int32)
        if test is not None:
            test.child(self.codes[test.attribute], int(sizes[test.attribute]), part)
        return part

    def tables(
        self, part: NDArray[np.int32], n_parts: int, columns: Sequence[int], shape: Shape
    ) -> list[NDArray[np.float64]]:
        """Weight by part, code and class, of some attributes."""
        tables = [np.zeros((n_parts, shape.sizes[j] + 1, shape.n_classes)) for j in columns]
        for j, table in zip(columns, tables, strict=True):
            kernels.count_parts(self.codes[j], part, self.groups, self.weight, table)
        return tables

    def folded(
        self, question: Question, part: NDArray[np.int32], shape: Shape
    ) -> validate.FoldedRows:
        """The rows in the slots of their parts."""
        slots = np.zeros((len(part), len(self.codes)), self.codes.dtype)
        for j, codes in enumerate(self.codes):
            upper = [each[j] for each in question.upper]
            if upper[0] is None:
                slots[:, j] = codes
                continue
            place = np.zeros((len(upper), shape.sizes[j] + 1), self.codes.dtype)
            for p, highest in enumerate(upper):
                assert highest is not None
                for slot, (low, high) in enumerate(pairwise([0, *highest.tolist()]), start=1):
                    place[p, low + 1 : high + 1] = slot
            kernels.place_parts(codes, part, place, slots[:, j])
        given = (self.groups, shape.n_classes, self.weight, self.folds, shape.n_folds)
        return validate.FoldedRows(slots, part, *given)

    def right(self, question: Question, part: NDArray[np.int32], shape: Shape) -> NDArray[np.bool_]:
        """Which rows are right after a question; those without a part stay as they are."""
        right = self.marks[-1].copy() if self.marks else np.zeros(len(part), np.bool_)
        rows = self.folded(question, part, shape)
        validate.mark_folds(rows, question.n_values, question.prior, question.logs, right)
        return right


def _visit(
    questions: Sequence[Question], shape: Shape, rows: AwayRows, standing: Standing | None
) -> Iterator[tuple[Question, _NodeRows, NDArray[np.int32]]]:
    """Questions, those of a node one after the other, with the node's rows and their parts."""
    node, at = None, -1
    for question in questions:
        if node is None or question.node != at:
            node, at = _NodeRows(rows, stand_first(rows, standing), question.node), question.node
        yield question, node, node.part(question.test, shape.sizes)


def count_cells(
    questions: Sequence[Question], shape: Shape, rows: AwayRows, standing: Standing | None
) -> list[list[NDArray[np.float64]]]:
    """By question, weight of the rows by part, code and class, of the numeric attributes."""
    columns = np.flatnonzero(shape.numeric).tolist()
    return [
        node.tables(part, question.n_parts, columns, shape)
        for question, node, part in _visit(questions, shape, rows, standing)
    ]


def count_folds(
    questions: Sequence[Question], shape: Shape, rows: AwayRows, standing: Standing | None
) -> list[list[NDArray[np.float64]]]:
    """By question, what `validate.count_folds` counts."""
    return [
        list(validate.count_folds(node.folded(question, part, shape), question.n_values))
        for question, node, part in _visit(questions, shape, rows, standing)
    ]


def judge(
    questions: Sequence[Question], shape: Shape, rows: AwayRows, standing: Standing | None
) -> list[NDArray[np.float64]]:
    """By question, weight of the rows that are right, and how many rows each part has."""
    judged = []
    for question, node, part in _visit(questions, shape, rows, standing):
        right = kernels.weight_where(node.right(question, part, shape), node.weight)
        sizes = kernels.child_sizes(part, question.n_parts)
        judged.append(np.concatenate(([right], sizes)))
    return judged


def ask(
    steps: Sequence[Step], shape: Shape, rows: AwayRows, standing: Standing | None
) -> tuple[Standing, list[list[NDArray[np.float64]]]]:
    """Rows move on to children.

    By step there are sums of the rows that stay and of those of each child: their weight, that of
    those that are right, and for each node above, that of those which only one of both gets right.
    Then come tables of all attributes for children that are large.
    """
    before = stand_first(rows, standing)
    node_of, marks = before.node.copy(), np.zeros(rows.n_rows, np.bool_)
    results: list[list[NDArray[Any]]] = []
    questions = [step.question for step in steps]
    for step, (question, node, part) in zip(
        steps, _visit(questions, shape, rows, before), strict=True
    ):
        right = node.right(question, part, shape)
        marks[node.chosen] = right
        node_of[node.chosen] = np.where(part >= 0, part + step.first, -1)
        every = [np.ones(len(right), np.bool_), right, *(right != above for above in node.marks)]
        sums = [np.bincount(part + 1, node.weight * some, question.n_parts + 1) for some in every]
        number = np.where(step.large, np.cumsum(step.large) - 1, -1)
        place = np.where(part >= 0, number[part], -1).astype(np.int32)
        columns = range(len(shape.sizes)) if any(step.large) else ()
        tables = node.tables(place, sum(step.large), columns, shape)
        results.append([np.stack(sums, axis=1), *tables])
    return Standing(node_of, [*before.marks, marks]), results


def select_rows(numbers: NDArray[np.intp], rows: AwayRows, standing: Standing) -> Moving:
    """The rows of some nodes."""
    return taken(Moving(rows, standing), np.flatnonzero(np.isin(standing.node, numbers)))


def place_rows(
    numbers: NDArray[np.intp], places: NDArray[np.uint64], rows: Moving
) -> NDArray[np.uint64]:
    """Where rows go so that those of a node come together."""
    place: NDArray[np.uint64] = places[np.searchsorted(numbers, rows.standing.node)]
    return place


def finish(
    depths: dict[int, int],
    new_grower: NewGrower,
    leaves: Leaves,
    shape: Shape,
    stopped: bool,
    rows: Moving,
    standing: None,  # noqa: ARG001
) -> dict[int, tuple[Branch, NDArray[np.float64]]]:
    """All that is below nodes whose rows are here, and weight of the rows that are right then, and
    for each node above, that of those which only one of both gets right.
    """
    progress = Progress("growing")
    progress.stopped = stopped
    grown = {}
    for number in np.unique(rows.standing.node).tolist():
        node = taken(rows, np.flatnonzero(rows.standing.node == number))
        coded, marks = node.rows, node.standing.marks[: depths[number] + 1]
        groups, shapes = coded.groups.astype(np.intp), (shape.n_classes, shape.n_folds)
        given = (groups, coded.weight, coded.folds, *shapes, Storage())
        tree_rows = TreeRows(list(coded.codes), shape.numeric, *given)
        grower = new_grower(tree_rows, None, progress)
        root, right = grower.grow_from(marks[-1], depths[number])
        every = [right, *(right != above for above in marks[:-1])]
        sums = np.array([kernels.weight_where(some, coded.weight) for some in every])
        for branch in every_branch(root):
            leaves.describe(branch.node, tree_rows)
            branch.node.rows, branch.right = np.empty(0, np.intp), np.empty(0, np.bool_)
        grown[number] = root, sums
    return grown
