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

from unnaive.bayes.quality import Quality, QualitySums
from unnaive.choose.family import Candidate
from unnaive.encode import Labels
from unnaive.encode.draws import draw_order
from unnaive.encode.labels import groups_of

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
Tell = Callable[[str, int, int], None]
NAN = float("nan")
# Rows of the small fits that tell how dear a model is, the best time of each number counts; the
# very first may compile something. A share of the time budget is for these.
PROBES = (64, 64, 64, 256, 256, 1024, 1024)
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
        report = None if tell is None else _from(tell, candidate.name, i * len(splits), steps)
        first = not any(r.quality for r in results)  # one model is always finished
        results.append(
            _run(candidate, rows, splits, None if first else clock, costs[candidate.name], report)
        )
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
    return {
        candidate.name: _extrapolate(_probe(candidate, rows, shuffled, clock, allowed), n)
        for candidate in candidates
    }


def _probe(
    candidate: Candidate, rows: Rows, shuffled: NDArray[np.intp], clock: Clock, allowed: float
) -> dict[int, float]:
    """Seconds of fits on a few rows, by their number, while these stay below what is allowed."""
    seconds: dict[int, float] = {}
    warm = False
    for size in PROBES:
        few = min(size, len(shuffled))
        largest = max(seconds, default=0)
        if clock.over(0) or (largest and seconds[largest] * few / largest > allowed):
            break
        start = time.perf_counter()
        try:
            rows.fit(candidate.estimator, shuffled[:few])
        except Exception as error:
            _refuse_to_go_on(error)
            break  # it will be shown when its turn comes
        took = time.perf_counter() - start
        if warm:
            seconds[few] = min(took, seconds.get(few, took))
        warm = True
    return seconds


def _extrapolate(seconds: dict[int, float], n: int) -> float:
    """Seconds for n rows: growing as between the smallest and the largest fit, or like n."""
    if not seconds:
        return 0.0  # not known: it is watched between folds
    small, large = min(seconds), max(seconds)
    first, last = seconds[small], seconds[large]
    if small == large:
        small, first = 0, 0.0
    return last + max(last - first, 0.0) / (large - small) * (n - large)


def _run(
    candidate: Candidate,
    rows: Rows,
    splits: Sequence[Split],
    clock: Clock | None,
    cost: float,
    tell: Callable[[int], None] | None,
) -> Result:
    """All folds of one candidate, unless a fit, or after the first one the rest, takes too long."""
    result = Result(candidate.name, candidate.estimator)
    sums: QualitySums | None = None
    fits: list[float] = []
    answers: list[float] = []
    probable, size = True, None
    for k, (train, test) in enumerate(splits):
        # Room is kept for fitting on all rows, in case this is the best.
        ahead = float(np.median(fits)) * (len(splits) - k + 1) if fits else cost
        if clock is not None and clock.over(ahead):
            begun = f" after {k} of {len(splits)} folds" if k else ""
            problem = f"left out{begun}: the time budget of {clock.limit:g} s is too small for it"
            return replace(result, problem=problem, left_out=True)
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
            _refuse_to_go_on(error)
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


def _refuse_to_go_on(error: BaseException) -> None:
    """Ctrl-C is not a model's fault: compiled code turns it into an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        cause = cause.__cause__ or cause.__context__


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _size(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:  # a lambda inside, for instance
        return None
