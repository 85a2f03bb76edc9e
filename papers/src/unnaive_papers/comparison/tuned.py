"""Other libraries' classifiers, tuned by random trials within the time that our pool takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from unnaive.bayes.metrics import log_losses
from unnaive_papers.comparison.peers import PEERS, LabelBoosting
from unnaive_papers.protocol import Split, evaluate, folds, within_patience

INNER = 3  # folds of the training rows that judge a trial
Space = dict[str, list[Any]]  # by parameter: a scale, the least and the greatest value


class SetLabelBoosting(LabelBoosting):
    """XGBoost with parameters of its own."""

    def __init__(self, random_state: Any = None, params: Any = None) -> None:
        super().__init__(random_state)
        self.params = params

    def _model(self) -> Any:
        return super()._model().set_params(**(self.params or {}))


def make_peer(method: str, seed: Any, params: dict[str, Any]) -> Any:
    """A peer with some parameters; its own defaults where nothing is said."""
    if method == "XGBoost":
        return SetLabelBoosting(seed, params)
    pipeline = PEERS[method](seed)
    pipeline[-1].set_params(**params)
    return pipeline


def draw_parameters(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """A value for each parameter: "uniform", or "log", evenly by its logarithm; whole if both ends
    are.
    """
    drawn: dict[str, Any] = {}
    for name, (scale, least, most) in space.items():
        if scale not in ("uniform", "log"):
            raise ValueError(f"the scale of {name} must be 'uniform' or 'log'; got {scale!r}.")
        whole = isinstance(least, int) and isinstance(most, int)
        low, high = (least - 0.5, most + 0.5) if whole else (least, most)
        if scale == "log":
            value = math.exp(rng.uniform(math.log(low), math.log(high)))
        else:
            value = rng.uniform(low, high)
        drawn[name] = int(np.clip(round(value), least, most)) if whole else float(value)
    return drawn


class RandomSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The best of a few random settings by log loss on inner folds, fitted on all rows.

    Parameters
    ----------
    method : str
        The name of a peer.
    space : dict
        What its parameters are drawn from.
    n_trials : int
        Most settings that are tried; the first are the defaults.
    seconds : float
        Processor time of all trials: one that is not finished by then does not count, but for the
        first. The last fit comes on top.
    seed : int

    Attributes
    ----------
    n_trials_ : int
        Settings that were tried.
    params_ : dict
        The best of them.
    """

    def __init__(self, method: str, space: Space, n_trials: int, seconds: float, seed: int) -> None:
        self.method = method
        self.space = space
        self.n_trials = n_trials
        self.seconds = seconds
        self.seed = seed

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        end = time.process_time() + self.seconds
        rng = np.random.default_rng(self.seed)
        inner = folds(y, INNER, self.seed)
        self.params_: dict[str, Any] = {}
        self.n_trials_, least = 0, math.inf
        for trial in range(self.n_trials):
            params = draw_parameters(self.space, rng) if trial else {}
            loss = self._loss(params, X, y, inner, end if trial else math.inf)
            if loss is None:
                break
            self.n_trials_ += 1
            if loss < least:
                self.params_, least = params, loss
            if time.process_time() >= end:
                break
        self.model_ = make_peer(self.method, self.seed, self.params_).fit(X, y)
        self.classes_ = np.asarray(self.model_.classes_)
        return self

    def _loss(
        self, params: dict[str, Any], X: Any, y: NDArray[Any], inner: list[Split], end: float
    ) -> float | None:
        """Mean log loss of held-out rows; None where time has ended before."""
        classes, total = np.unique(y), 0.0
        for train, test in inner:
            if time.process_time() >= end:
                return None
            model = make_peer(self.method, self.seed, params).fit(X.iloc[train], y[train])
            p = np.zeros((len(test), len(classes)))
            p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X.iloc[test])
            total += float(log_losses(p, np.searchsorted(classes, y[test])).sum())
        return total / len(y) if time.process_time() < end else None

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


def fit_seconds(
    make: Callable[[], Any], X: Any, y: NDArray[Any], parts: list[Split], patience: float
) -> list[float]:
    """Processor seconds of a fit on the training rows of each part, as far as patience lasts."""
    seconds = []
    for train, _ in within_patience(parts, patience):
        start = time.process_time()
        make().fit(X.iloc[train], y[train])
        seconds.append(time.process_time() - start)
    return seconds


def evaluate_tuned(
    method: str,
    pool: Callable[[], Any],
    X: Any,
    y: NDArray[Any],
    parts: list[Split],
    seed: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Quality of a peer that is tuned on each part for as long as our pool takes to fit there."""
    budgets = fit_seconds(pool, X, y, parts, options["patience"])
    searches: list[RandomSearch] = []

    def make() -> RandomSearch:
        space, seconds = options["spaces"][method], budgets[len(searches)]
        searches.append(RandomSearch(method, space, options["trials"], seconds, seed))
        return searches[-1]

    found = evaluate(make, X, y, parts[: len(budgets)], options["patience"])
    done, all_parts = len(searches), len(parts)
    to_all = all_parts / len(budgets)  # seconds are those that all parts would take
    return {
        **found,
        "parts": all_parts,
        "fit_s": found["fit_s"] * to_all,
        "predict_s": found["predict_s"] * to_all,
        "trials": sum(search.n_trials_ for search in searches) / done,
        "pool_s": sum(budgets) * to_all,
    }
