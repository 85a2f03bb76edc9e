"""Members of an ensemble: any classifier of the library, fitted on the same rows again and again.

Trees are grown from rows that are read and coded once; other classifiers are fitted as a user would
fit them, with the weights of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unnaive.answer import Answer, Foreign, Pool
from unnaive.answer.nodes import Node
from unnaive.answer.predict import probabilities
from unnaive.bayes.estimate import check_class_weight, class_factor
from unnaive.common.advice import silence
from unnaive.common.checks import expect
from unnaive.counts import Wanted
from unnaive.counts.summary import row_factor
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import branch_seeds, value_keys
from unnaive.encode.labels import read_target
from unnaive.models._base import TableClassifier
from unnaive.models._seeding import seeded
from unnaive.models.nbtree import NBTreeClassifier
from unnaive.models.tree.classifier import (
    Encoded,
    SharedRows,
    TreeClassifier,
    encoded,
    fine_coders,
)
from unnaive.table import Block, Schema, scan_of
from unnaive.table.picking import Picked
from unnaive.table.storage import join

JUDGING = "judging"
HALF = 0.5  # of the columns: judging all takes 1.6 times as long, and the mean is no better


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """Rows of one block, and their numbers."""

    PER_ROW: ClassVar = {"row_ids": 0}

    rows: Encoded
    row_ids: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """Probabilities of the classes for the rows of one block."""

    PER_ROW: ClassVar = {"each": 0}

    each: NDArray[np.float64]


class Members:
    """Fits members of an ensemble on the rows of one table.

    Parameters
    ----------
    estimator : TableClassifier
        What every member is a copy of.
    X, y, sample_weight :
        As they were given to ``fit``.
    shared : SharedRows
        All rows, coded.
    seed : int
        Of the members, where they have none.
    n_members : int
    """

    def __init__(
        self,
        estimator: TableClassifier,
        X: Any,
        y: Any,
        sample_weight: Any,
        shared: SharedRows,
        seed: int,
        n_members: int,
    ) -> None:
        self.estimator, self.X, self.shared = estimator, X, shared
        self.scan = scan = scan_of(X, y, sample_weight)
        self.target: NDArray[Any] | None = None
        if not isinstance(estimator, TreeClassifier):
            groups = shared.rows.groups
            if scan is None:
                # Rows of weight zero are not coded: any class does for them.
                groups = np.zeros(len(read_target(y)), dtype=np.intp)
                groups[shared.row_ids] = shared.rows.groups
            self.target = shared.summary.labels.classes[groups]
        self.seeds = branch_seeds(seed, n_members)

    @property
    def weight(self) -> NDArray[np.float64]:
        """What the rows weigh, in units of rows."""
        return self.shared.rows.weight

    @property
    def groups(self) -> NDArray[Any]:
        """The class of each row."""
        return self.shared.rows.groups

    def member(self, k: int) -> Any:
        """Member k, not fitted."""
        return seeded(self.estimator, np.random.RandomState(int(self.seeds[k]) & 0x7FFFFFFF))

    def learn(self, k: int, weight: NDArray[np.float64]) -> Node:
        """What member k answers after learning from rows that weigh so much, but for `finish`.

        Several members may learn at once: trees read nothing but the coded rows.
        """
        member = self.member(k)
        if self.target is None:
            grown: Node = member._grow_shared(self.shared, weight)
            return grown
        with silence():  # what looks wrong in the table was said when it was read
            answer: Answer = member.fit(*self._weighted(weight)).answer_
        if isinstance(answer.core, Foreign):
            raise TypeError(
                "estimator is built around a classifier of another library; members of an "
                "ensemble are made of classifiers of this one, so that it can be explained, "
                "saved and exported."
            )
        if answer.schema.kinds != self.shared.summary.schema.kinds:
            raise ValueError(
                f"the estimator {type(member).__name__} reads columns of some rows as other kinds "
                "than those of all; say which are categories with its categorical_features."
            )
        return answer.root

    @property
    def at_once(self) -> bool:
        """Whether several members may learn at once: not from one source outside memory."""
        return self.target is None or self.scan is None

    @property
    def finish_at_once(self) -> bool:
        """Whether several members may be finished at once: each reads the rows once more."""
        return self.scan is None

    def _weighted(self, weight: NDArray[np.float64]) -> tuple[Any, ...]:
        """What a classifier is fitted on, so that rows weigh so much."""
        ids, target = self.shared.row_ids, self.target
        if self.scan is not None:
            source = self.shared.source
            outer = self.scan.picked  # of an ensemble around this one
            picked = Picked(ids, source.storage) if outer is None else outer.take(ids)
            picked = replace(picked, labels=target, weight=weight)
            return replace(self.scan.unlabelled, picked=picked, check=source.check), None, None
        assert target is not None
        each = np.zeros(len(target))
        each[ids] = weight
        return self.X, target, each

    def finish(self, k: int, node: Node, weight: NDArray[np.float64]) -> Node:
        """A member's answer with all that needs the rows once more, such as calibration."""
        if self.target is not None:
            return node
        finished: Node = self.member(k)._finish_shared(node, self.shared, weight)
        return finished

    def answers(self, node: Node, n_jobs: int | None) -> NDArray[np.float64]:
        """Probabilities of the classes for all rows, by a member."""

        def judge(block: Block) -> _Answers:
            return _Answers(probabilities(node, block, n_jobs))

        return join(self.shared.source, judge, len(self.weight), JUDGING).each

    def mean_answers(
        self, nodes: list[Node], judges: Sequence[NDArray[np.bool_]], n_jobs: int | None
    ) -> list[NDArray[np.float64]]:
        """Mean probabilities for all rows by the members that judge them (members x rows); NaN
        where none does. One pass for several choices of judges.
        """
        places, shape = self.shared.find_rows(), (len(judges), self.shared.n_classes)

        def judge(block: Block) -> _Answers:
            rows = places(block)
            total, n = np.zeros((block.n_rows, *shape)), np.zeros((block.n_rows, len(judges), 1))
            for k, node in enumerate(nodes):
                judged = np.stack([each[k, rows] for each in judges], axis=1)
                some = np.flatnonzero(judged.any(axis=1))
                answers = probabilities(node, block.take(some), n_jobs)
                for v in range(len(judges)):
                    own = judged[some, v]
                    total[some[own], v] += answers[own]
                n[judged] += 1.0
            return _Answers(np.where(n > 0.0, total, np.nan) / np.maximum(n, 1.0))

        each = join(self.shared.source, judge, len(self.weight), JUDGING).each
        return [each[:, v] for v in range(len(judges))]

    def with_all_classes(
        self, weight: NDArray[np.float64], instead: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weights in which no class is lost: rows of one that has none weigh as in ``instead``.

        All members then answer for the same classes.
        """
        totals = np.bincount(self.groups, weight, self.shared.n_classes)
        if totals.all():
            return weight
        lost = (totals == 0.0)[self.groups]
        return np.where(lost, instead, weight)


class MemberEnsemble(TableClassifier):
    """A classifier of several members, each a copy of one estimator, whose answer is a `Pool`.

    Subclasses have the parameters ``estimator``, ``random_state`` and ``n_jobs``.
    """

    estimator: Any
    random_state: Any
    _adds_up = False
    _n_passes = None
    _brings_rows = "members weigh rows by their places among all sorted by value"

    def _given(self) -> Any:
        return NBTreeClassifier(max_features=HALF) if self.estimator is None else self.estimator

    def _estimator(self) -> Any:
        """What members are copies of: with the threads of this one, where it has none."""
        given = self._given()
        if self.n_jobs is None or getattr(given, "n_jobs", 0) is not None:
            return given
        return clone(given).set_params(n_jobs=self.n_jobs)

    @property
    def categorical_features(self) -> Any:
        """Those of the estimator."""
        return getattr(self._given(), "categorical_features", "from_dtype")

    @property
    def grid_limit(self) -> int:
        """That of the estimator."""
        return int(getattr(self._given(), "grid_limit", GRID_LIMIT))

    @property
    def max_categories(self) -> int | None:  # type: ignore[override]
        """That of the estimator."""
        found: int | None = getattr(self._given(), "max_categories", None)
        return found

    @property
    def members_(self) -> list[Answer]:
        """What each member answers."""
        pool = self.answer_.core
        assert isinstance(pool, Pool)
        schema, classes = self.answer_.schema, self.answer_.classes
        return [Answer(schema, classes, member) for member in pool.members]

    def _declare_categories(self, categorical_features: Any) -> Any:
        declared = clone(self._given())._declare_categories(categorical_features)
        return self.set_params(estimator=declared)

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _n_tasks(self) -> int | None:
        return None

    def _check_estimator(self) -> None:
        given = self._given()
        if not isinstance(given, TableClassifier):
            raise TypeError(
                f"estimator must be a classifier of this library or None; got {given!r:.80}. "
                "scikit-learn's BaggingClassifier and AdaBoostClassifier take others."
            )
        given._check_parameters()

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.core, Pool), "the answer is no pool of members.")

    def _read_members(
        self, X: Any, y: Any, sample_weight: Any, seed: int, n_members: int
    ) -> Members:
        """The first pass, and the rows coded once."""
        estimator = self._estimator()
        tree = isinstance(estimator, TreeClassifier)
        source, summary = self._read(X, y, sample_weight)
        classes = summary.labels.classes
        factor = np.ones(len(classes))
        if tree:
            check_class_weight(estimator.class_weight, classes)
            factor = class_factor(estimator.class_weight, classes, summary.counts.totals)
        row_factor(summary, factor)  # refuses weights that cannot be computed with
        coders = fine_coders(summary, factor, self.max_categories)

        def code(block: Block) -> _Coded:
            return _Coded(encoded(block, coders, summary, factor), block.row_ids)

        coded, room = join(source, code, summary.n_rows), source.storage
        groups = coded.rows.groups.astype(np.uint32)
        keys = value_keys([*coded.rows.codes, groups, coded.rows.weight], summary.n_rows, room)
        places = room.empty(summary.n_rows, np.int64)
        places[room.argsort(keys)] = np.arange(summary.n_rows)
        shared = SharedRows(source, summary, factor, coders, coded.rows, coded.row_ids, places)
        return Members(estimator, X, y, sample_weight, shared, seed, n_members)
