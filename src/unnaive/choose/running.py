"""Estimators on the same folds of a table, one after the other, within a time budget."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from unnaive.bayes import Quality, QualitySums
from unnaive.choose.family import Candidate
from unnaive.encode import Labels, draw_order, groups_of

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
Tell = Callable[[str, int, int], None]
NAN = float("nan")
# Rows of the small fits that tell how dear a model is; the first may compile something, so it is
# done again. A share of the time budget is for these.
PROBES = (64, 64, 256, 1024)
PROBE_SHARE = 0.3


@dataclass(frozen=True)
class Result:
    """How one estimator did.

    Attributes
    ----------
    name : str
    estimator : estimator
        As it was compared, not fitted.
    quality : Quality or None
        Over all held-out rows. Without ``predict_proba``, all but the accuracy is NaN.
    size : int or None
        Bytes of the pickled model of the first fold.
    problem : str
        Why there is no quality: an error, or the time budget; empty where all went well.
    left_out : bool
        Whether the time budget is the reason.
    fit_seconds, predict_seconds : float
        Of the median fold: the first may have compiled something.
    """

    name: str
    estimator: Any = field(compare=False)
    quality: Quality | None = None
    size: int | None = None
    problem: str = ""
    left_out: bool = False
    fit_seconds: float = field(default=NAN, compare=False)
    predict_seconds: float = field(default=NAN, compare=False)


@dataclass(frozen=True, eq=False)
class Rows:
    """The table that is compared on: labels as given and as numbers, weights or None."""

    X: Any
    target: NDArray[Any]
    labels: Labels
    groups: NDArray[Any]
    weight: NDArray[np.float64] | None

    def fit(self, estimator: Any, rows: NDArray[np.intp]) -> Any:
        """A copy of the estimator, fitted on some rows."""
        given = {}
        if self.weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__} takes no sample_weight")
            given["sample_weight"] = self.weight[rows]
        return clone(estimator).fit(_safe_indexing(self.X, rows), self.target[rows], **given)

    def answer(self, model: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Probabilities of all classes; certainty where the model only names a class."""
        X = _safe_indexing(self.X, rows)
        if not hasattr(model, "predict_proba"):
            found = groups_of(self.labels, np.asarray(model.predict(X)))
            return np.eye(len(self.labels))[found]
        p = np.zeros((len(rows), len(self.labels)))
        p[:, groups_of(self.labels, np.asarray(model.classes_))] = model.predict_proba(X)
        if not np.isfinite(p).all():
            raise ValueError("its probabilities are not all numbers")
        return p

    def judge(self, p: NDArray[np.float64], rows: NDArray[np.intp]) -> QualitySums:
        weight = None if self.weight is None else self.weight[rows]
        return QualitySums.of(p, self.groups[rows], weight)


class Clock:
    """Seconds since the start, and how many there may be."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._start = time.perf_counter()

    def over(self, more: float) -> bool:
        """Whether so many more seconds would be too many."""
        elapsed = time.perf_counter() - self._start
        return self.limit is not None and elapsed + more > self.limit


def run_all(
    candidates: Sequence[Candidate],
    rows: Rows,
    splits: Sequence[Split],
    clock: Clock,
    seed: int,
    tell: Tell | None,
) -> list[Result]:
    """Every candidate's result, the cheapest first where time is limited."""
    costs = dict.fromkeys([c.name for c in candidates], 0.0)
    if clock.limit is not None:
        costs = _costs(candidates, rows, clock, seed)
    results: list[Result] = []
    steps = len(candidates) * len(splits)
    for i, candidate in enumerate(sorted(candidates, key=lambda c: costs[c.name])):
        told = None if tell is None else _from(tell, candidate.name, i * len(splits), steps)
        # One model is always tried; room is kept for fitting the best one on all rows.
        ahead = costs[candidate.name] * (len(splits) + 1)
        if any(r.quality for r in results) and clock.over(ahead):
            reason = f"left out: the time budget of {clock.limit:g} s is too small for it"
            results.append(
                Result(candidate.name, candidate.estimator, problem=reason, left_out=True)
            )
        else:
            first = not any(r.quality for r in results)
            results.append(_run(candidate, rows, splits, None if first else clock, told))
        if tell is not None:
            tell(candidate.name, (i + 1) * len(splits), steps)
    return results


def _from(tell: Tell, name: str, done: int, steps: int) -> Callable[[int], None]:
    return lambda fold: tell(name, done + fold, steps)


def _costs(
    candidates: Sequence[Candidate], rows: Rows, clock: Clock, seed: int
) -> dict[str, float]:
    """Estimated seconds of one fit of each, from fits on a few rows."""
    assert clock.limit is not None
    n = len(rows.target)
    shuffled = draw_order(seed, np.arange(n))
    allowed = PROBE_SHARE * clock.limit / len(candidates)
    costs = {}
    for candidate in candidates:
        seconds: list[tuple[int, float]] = []
        for size in PROBES:
            few = min(size, n)
            expected = seconds[-1][1] * few / seconds[-1][0] if len(seconds) > 1 else 0.0
            if clock.over(0) or expected > allowed or (len(seconds) > 1 and few == seconds[-1][0]):
                break
            start = time.perf_counter()
            try:
                rows.fit(candidate.estimator, shuffled[:few])
            except Exception:  # it will be shown when its turn comes
                break
            seconds.append((few, time.perf_counter() - start))
        costs[candidate.name] = _extrapolate(seconds[1:], n)
    return costs


def _extrapolate(seconds: list[tuple[int, float]], n: int) -> float:
    """Seconds for n rows: growing as between the smallest and the largest fit, or like n."""
    if not seconds:
        return 0.0  # not known: it is watched between folds
    (first_n, first), (last_n, last) = seconds[0], seconds[-1]
    if len(seconds) == 1:
        first_n, first = 0, 0.0
    return last + max(last - first, 0.0) / (last_n - first_n) * (n - last_n)


def _run(
    candidate: Candidate,
    rows: Rows,
    splits: Sequence[Split],
    clock: Clock | None,
    tell: Callable[[int], None] | None,
) -> Result:
    result = Result(candidate.name, candidate.estimator)
    sums: QualitySums | None = None
    fits: list[float] = []
    answers: list[float] = []
    probable, size = True, None
    for k, (train, test) in enumerate(splits):
        if clock is not None and clock.over(float(np.median(fits)) if fits else 0.0):
            reason = f"left out after {k} of {len(splits)} folds: the time budget of "
            return replace(result, problem=f"{reason}{clock.limit:g} s was spent", left_out=True)
        if tell is not None:
            tell(k)
        start = time.perf_counter()
        try:
            model = rows.fit(candidate.estimator, train)
            fitted = time.perf_counter()
            p = rows.answer(model, test)
            answered = time.perf_counter()
            probable = hasattr(model, "predict_proba")
            new = rows.judge(p, test)
        except Exception as error:
            # Whatever a user's estimator raises is shown in the table, beside the others.
            return replace(result, problem=f"{type(error).__name__}: {_first_line(error)}")
        sums = new if sums is None else sums + new
        fits.append(fitted - start)
        answers.append(answered - fitted)
        size = _size(model) if size is None else size
    assert sums is not None
    quality = sums.quality
    return replace(
        result,
        quality=quality if probable else Quality(quality.accuracy, NAN, NAN, NAN),
        size=size,
        fit_seconds=float(np.median(fits)),
        predict_seconds=float(np.median(answers)),
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _size(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:  # a lambda inside, for instance
        return None
