"""Scorecards: evidence that adds up, in whole points for every value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from unnaive.answer.answer import Answer
from unnaive.answer.decision import class_number
from unnaive.answer.nodes import EvidenceTable
from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.evidence import CERTAIN
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.common.wording import counted
from unnaive.discretize.intervals import slot_words
from unnaive.encode import Bins
from unnaive.table import Block


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scorecard(Facts):
    """Whole points for every value, whose sum says how probable a class is.

    Attributes
    ----------
    label, against : Any
        The two classes: more points make the first more probable.
    model : fitted classifier
        The model that the points were taken from.
    scorer : Scorer
        The points: the base as its prior, and those of every slot of every column and pair.
    per_point : float
        Log odds of one point.
    even : float
        Points at which both classes are equally probable.
    rounding : float
        The most by which rounding to whole points moves a sum, in points.
    """

    label: Any
    against: Any
    model: Any
    scorer: Scorer
    per_point: float
    even: float
    rounding: float

    @property
    def base(self) -> int:
        """Points of every row, to which those of its values are added."""
        return int(self.scorer.log_prior[0])

    @property
    def n_values(self) -> int:
        """Lines of the table, but for the base."""
        tables = [term.logs for term in self.scorer.terms if isinstance(term, TableTerm)]
        return sum(logs[..., 0].size for logs in (*tables, *(p.logs for p in self.scorer.pairs)))

    def points(self, block: Block) -> NDArray[np.int64]:
        """Return the points of some rows."""
        return self.scorer.joint(block)[:, 0].astype(np.int64)

    def score(self, X: Any) -> NDArray[np.int64]:
        """Return the points of the rows of a table.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        points: NDArray[np.int64] = self.model._open(X).map(self.points)
        return points

    def probability(self, points: Any) -> Any:
        """Return the probability of ``label`` against ``against`` for sums of points.

        Parameters
        ----------
        points : number or array

        Returns
        -------
        float or array
        """
        return expit((np.asarray(points, dtype=np.float64) - self.even) * self.per_point)[()]

    def _columns(self) -> Columns:
        schema = self.model.answer_.schema
        tables: list[Columns] = [{"column": ["base"], "value": [""], "points": [self.base]}]
        for j, term in enumerate(self.scorer.terms):
            if isinstance(term, TableTerm):
                words = slot_words(term.coder, schema[j])
                # Numbers always lie in some interval.
                shown = range(len(words) - isinstance(term.coder, Bins))
                tables.append(
                    {
                        "column": [schema.label(j)] * len(shown),
                        "value": [words[k] for k in shown],
                        "points": [int(term.logs[k, 0]) for k in shown],
                    }
                )
        for pair in self.scorer.pairs:
            first, second = (slot_words(coder, schema[j]) for j, coder in pair.columns)
            name = f"{schema.label(pair.first)} x {schema.label(pair.second)}"
            tables.append(
                {
                    "column": [name] * (len(first) * len(second)),
                    "value": [f"{a}, {b}" for a in first for b in second],
                    "points": pair.logs[:, :, 0].ravel().astype(np.int64).tolist(),
                }
            )
        return join_columns(tables)

    def _title(self) -> str:
        double = math.log(2.0) / self.per_point
        return (
            f"Scorecard for {self.label} against {self.against}: {double:g} points double the "
            f"odds, {self.even:.0f} points are even odds"
        )


def scorecard(
    model: Any,
    points: float = 20,
    base: float = 600,
    odds: float = 50,
    *,
    label: Any = None,
    against: Any = None,
) -> Scorecard:
    """Return a model's evidence as whole points for every value, which add up to a score.

    Parameters
    ----------
    model : fitted classifier
        One whose evidence adds up and is by value: `NaiveBayesClassifier` with numbers in
        intervals, `UnnaiveBayesClassifier`, or boosting that adds its rounds up.
    points : float, default=20
        Points that double the odds.
    base : float, default=600
        Score of a row whose odds are ``odds``.
    odds : float, default=50
        Of ``label`` against ``against``: 50 is fifty to one.
    label, against : Any, default=None
        The two classes. By default, of two classes, the last against the first; of more, both must
        be named.

    Returns
    -------
    Scorecard

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, scorecard
    >>> rows = [["a"], ["a"], ["b"], ["b"]]
    >>> model = NaiveBayesClassifier().fit(rows, ["bad", "bad", "good", "bad"])
    >>> card = scorecard(model)
    >>> card
    Scorecard for good against bad: 20 points double the odds, 487 points are even odds
    column  value    points
    base                429
    x0      missing      26
    x0      a             0
    x0      b            46
    x0      unseen       26
    >>> card.score([["b"]]).tolist(), round(float(card.probability(475)), 3)
    ([475], 0.396)
    """
    for name, value in (("points", points), ("odds", odds)):
        if not (isinstance(value, (int, float)) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a number above 0; got {value!r}.")
    answer, node = _evidence_of(model)
    a, b = _two_classes(answer.classes, label, against)
    per_point = math.log(2.0) / points
    even = base - math.log(odds) / per_point
    terms, pairs, least, rounding = [], [], 0.0, 0.5
    for term in node.scorer.terms:
        whole, shift, error = _whole_points(term, a, b, per_point)
        terms.append(whole)
        least, rounding = least + shift, rounding + error
    for pair in node.scorer.pairs:
        table, shift, error = _rounded(pair.logs, a, b, per_point)
        pairs.append(replace(pair, logs=table))
        least, rounding = least + shift, rounding + error
    prior = float(node.scorer.log_prior[a] - node.scorer.log_prior[b]) + least
    start = np.array([np.rint(even + prior / per_point)])
    return Scorecard(
        answer.classes.tolist()[a],
        answer.classes.tolist()[b],
        model,
        Scorer(start, tuple(terms), tuple(pairs)),
        per_point,
        even,
        rounding,
    )


def _evidence_of(model: Any) -> tuple[Answer, EvidenceTable]:
    """Return the table of evidence of a model, if points can be made of it."""
    check_is_fitted(model)
    answer = getattr(model, "answer_", None)
    root = getattr(answer, "root", None)
    name = type(model).__name__
    if answer is None:
        raise TypeError(
            f"scorecard takes a fitted classifier of this library; got a {name}. Pass the one "
            "inside: model[-1] of a Pipeline, best_estimator_ of a search, estimator_ of a "
            "classifier with a threshold."
        )
    if not isinstance(answer, Answer) or not isinstance(root, EvidenceTable):
        raise TypeError(
            f"the evidence of this {name} does not add up value by value, so it has no scorecard; "
            "NaiveBayesClassifier and UnnaiveBayesClassifier have one."
        )
    for j, term in enumerate(root.scorer.terms):
        if isinstance(term, (GaussianTerm, KernelTerm)):
            raise ValueError(
                f"{answer.schema[j]} has a density, which gives every number points of its own; "
                "fit with numbers in intervals, as numeric='mdl' does."
            )
    if len(answer.classes) < 2:
        raise ValueError("a scorecard compares two classes; this model has one.")
    return answer, root


def _two_classes(classes: NDArray[Any], label: Any, against: Any) -> tuple[int, int]:
    named = {"label": label, "against": against}
    a, b = (None if v is None else class_number(v, classes, name) for name, v in named.items())
    if len(classes) > 2 and (a is None or b is None):
        raise ValueError(
            f"the model has {counted(len(classes), 'class', 'classes')}; name the two that the "
            "scorecard compares with label= and against=."
        )
    if a is None:
        a = 1 if b is None else 1 - b
    if b is None:
        b = 1 - a
    if a == b:
        raise ValueError(f"label and against are both {classes.tolist()[a]!r}: give two classes.")
    return a, b


def _whole_points(term: Term, a: int, b: int, per_point: float) -> tuple[Term, float, float]:
    """Return a term in whole points, what was taken from its log odds, and the largest error."""
    if not isinstance(term, TableTerm) or not term.logs.any():
        return None, 0.0, 0.0
    table, shift, error = _rounded(term.logs, a, b, per_point)
    return TableTerm(term.coder, table), shift, error


def _rounded(
    logs: NDArray[np.float64], a: int, b: int, per_point: float
) -> tuple[NDArray[np.float64], float, float]:
    """Return log odds as whole points from 0 on, what 0 points stand for, and the largest error."""
    odds = np.clip(logs[..., a] - logs[..., b], -CERTAIN, CERTAIN)
    least = float(odds.min())
    exact = (odds - least) / per_point
    whole = np.rint(exact)
    return whole[..., None], least, float(np.abs(whole - exact).max())
