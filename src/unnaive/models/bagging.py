"""Bagging around any classifier of the library: members of bootstrap draws, whose mean answers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, Pool
from unnaive.answer.calibrated import calibrated
from unnaive.answer.nodes import Node
from unnaive.common.checks import FINITE, check_number, check_values, expect
from unnaive.common.threads import in_threads
from unnaive.encode.draws import branch_seed, branch_seeds
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.registry import register
from unnaive.models._calibration import check_calibration
from unnaive.models._out_of_bag import (
    OUT_OF_BAG,
    OutOfBag,
    match_by_all,
    out_of_bag_accuracy,
    rows_of_all,
    slope_out_of_bag,
    warn_of_unjudged,
)
from unnaive.models._seeding import draw_seed
from unnaive.models.ensemble.members import MemberEnsemble, Members
from unnaive.models.tree.forest import Bags

MEMBERS = 16  # that learn between two reports of progress


@register("bagged-nbtree", "NBTrees of bootstrap draws, whose mean answers.", cost=110)
class BaggedClassifier(OutOfBag, MemberEnsemble):
    """Copies of a classifier, each fitted on its own draw of the rows, whose mean is the answer.

    What changes a lot when a few rows change, as trees do, gains most: the mean of ten NBTrees is
    more accurate than one, and much less often sure of the wrong class. Around trees, rows are read
    and coded once for all members.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What the members are: any classifier of this library. None is
        ``NBTreeClassifier(max_features=0.5)``.
    n_estimators : int, default=10
        Number of members.
    max_samples : float, default=1.0
        Expected size of a bag, as a share of the rows; at most 1.
    bootstrap : bool, default=True
        Whether to draw rows; without it members differ by their own random choices alone.
    oob_score : bool, default=False
        Whether to judge each row by the members that have not drawn it.
    calibration : {"intercept", "slope", "none"}, default="intercept"
        How the mean is calibrated: with an intercept for every class, so that classes are as
        probable over the training rows as they are frequent; or log probabilities are multiplied by
        one factor as well, learned from rows judged by the members that have not drawn them. These
        are about four of ten, whose mean is less sure than that of all: around classifiers that are
        calibrated themselves, ``"intercept"`` has the lower log loss. Without ``bootstrap``
        ``"intercept"`` is as ``"none"``.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of the members where they have none.
    n_jobs : int or None, default=None
        Threads over members; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        A `Pool` of the members' answers, as plain data; see the guide on answers.
    members_ : list of Answer
        What each member answers.
    bag_weights_ : array of shape (n_estimators,)
        Weight of the rows in each bag.
    oob_score_ : float
        Share of rows, by weight, that the members that have not drawn them get right.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Mean probabilities by the members that have not drawn a row; NaN where all have. Rows of
        weight zero are left out.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    BoostedClassifier : Members learn from the rows that those before them misjudge.
    BaggedNaiveBayesClassifier : Bags of naive Bayes, all counted in one pass.

    Notes
    -----
    How often a member draws a row is a Poisson draw by the seed and the row's place among all rows
    sorted by their values: the order of rows, their partition and the number of threads change
    nothing but what they change in a member. A class that a bag has no row of is in it as a whole.
    Of rows that are not in memory, other members than trees read their own.

    References
    ----------
    L. Breiman. Bagging Predictors. Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import BaggedClassifier, C45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedClassifier(C45Classifier(), oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _optional_attributes = MemberEnsemble._optional_attributes | OUT_OF_BAG
    bag_weights_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        calibration: str = "intercept",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the bags and fit a member on each.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A row drawn twice counts twice its weight.

        Returns
        -------
        self
        """
        self._check_parameters()
        seed = draw_seed(self.random_state)
        n = self.n_estimators
        members = self._read_members(X, y, sample_weight, branch_seed(seed, 1), n)
        summary = members.shared.summary
        mean = float(self.max_samples) if self.bootstrap else None
        bags = Bags(branch_seeds(branch_seed(seed, 0), n), mean, summary.n_rows)
        nodes = self._fit_members(members, bags)
        self.bag_weights_ = np.array(
            [_bag(members, bags, k).sum() for k in range(len(nodes))], dtype=np.float64
        )
        names = tuple(f"bag {k}" for k in range(len(nodes)))
        classes = summary.labels.classes
        no_shift, every = np.zeros(len(classes)), np.ones(len(nodes))
        root: Node = Pool(tuple(nodes), names, every, no_shift, "arithmetic")
        self._drop_out_of_bag()
        if self.bootstrap and (self.oob_score or self.calibration != "none"):
            judged, by_all = self._judge(members, bags, nodes)
            if self.oob_score:
                self._score(members, judged)
            root = self._calibrate(root, members, judged, by_all)
        self._learn_answer(Answer(summary.schema, classes, root))
        return self

    def _fit_members(self, members: Members, bags: Bags) -> list[Node]:
        """They do not depend on each other, so that threads fit them as they can."""
        n = self.n_estimators
        progress = Progress(
            "fitting members", n, "models", step="model", steps=n, n_rows=len(members.weight),
            hook=self._hook,
        )  # fmt: skip
        nodes: list[Node] = []
        for first in range(0, n, MEMBERS):
            more = range(first, min(first + MEMBERS, n))
            learned = in_threads(
                lambda k: members.learn(k, _bag(members, bags, k)), more,
                self.n_jobs if members.at_once else None,
            )  # fmt: skip
            finished = in_threads(
                lambda each: members.finish(*each, _bag(members, bags, each[0])),
                list(zip(more, learned, strict=True)),
                self.n_jobs if members.finish_at_once else None,
            )
            for node in finished:
                nodes.append(node)
                progress.add(1)
            if progress.stopped:
                break
        progress.finish()
        return nodes

    def _judge(
        self, members: Members, bags: Bags, nodes: list[Node]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean answer for each row of the members that have not drawn it, NaN where all have; and
        that of all members, for rows that say how probable classes are.
        """
        out = np.stack([_bag(members, bags, k) == 0.0 for k in range(len(nodes))])
        totals = members.shared.summary.counts.totals
        drawn = rows_of_all(members.shared.places, members.groups, totals)
        every = np.broadcast_to(drawn & (self.calibration != "none"), out.shape)
        judged, by_all = members.mean_answers(nodes, (out, every), self.n_jobs)
        return judged, by_all

    def _calibrate(
        self,
        root: Node,
        members: Members,
        judged: NDArray[np.float64],
        by_all: NDArray[np.float64],
    ) -> Node:
        """The mean, as sure as members are of rows that they have not drawn, with intercepts by
        all members.
        """
        if self.calibration == "none" or np.isnan(judged[:, 0]).all():
            return root
        slope, rows = 1.0, (members.groups, members.weight, self.n_jobs)
        if self.calibration == "slope":
            slope = slope_out_of_bag(judged, *rows)
        return calibrated(root, match_by_all(slope, by_all, *rows))

    def _score(self, members: Members, judged: NDArray[np.float64]) -> None:
        """The share of rows that are judged rightly, and the answers in the order of the rows."""
        warn_of_unjudged(judged, "drawn by every member", 5)
        self.oob_score_ = out_of_bag_accuracy(judged, members.groups, members.weight)
        order = members.shared.source.storage.argsort(members.shared.row_ids)
        self.oob_decision_function_ = judged[order]

    def _check_parameters(self) -> None:
        self._check_estimator()
        check_calibration(self, "intercept")
        check_number(self, "n_estimators", 1, whole=True)
        check_number(self, "max_samples", 0, 1)
        if self.max_samples == 0:
            raise ValueError("max_samples must be more than 0: bags of no rows learn nothing.")
        for name, needs in (("oob_score", True), ("calibration", "slope")):
            if not self.bootstrap and getattr(self, name) == needs:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs bootstrap=True: without drawing, every "
                    "row is in every bag."
                )

    def _check_learned(self) -> None:
        super()._check_learned()
        bags = self.bag_weights_.size
        expect(bags == len(self.members_), "bags are not those of the members.")
        check_values("bag_weights_", self.bag_weights_, (bags,), 0.0, FINITE)
        self._check_out_of_bag()


def _bag(members: Members, bags: Bags, k: int) -> NDArray[np.float64]:
    """What the rows weigh in bag k."""
    drawn = bags.draws(k)[members.shared.places] * members.weight
    return members.with_all_classes(drawn, members.weight)
