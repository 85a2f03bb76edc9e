"""Gates over experts of any kind: boosted rounds, trees, neighbours (Wiering, sections 4, 6)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from unnaive_papers.numbers import Numbers

LEAST_SHARE = 1e-3  # of a row in every expert, so that each knows all classes


class Gated(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A gate, naive Bayes whose classes are the experts, that says whom to trust with a row.

    The gate learns for each row the expert that gives its class the highest probability.
    """

    gate: Any

    @abstractmethod
    def expert_probabilities(self, X: Any) -> NDArray[np.float64]:
        """Experts x rows x classes."""

    def _learn_gate(self, X: Any, of_class: NDArray[np.float64]) -> None:
        """``of_class``: what each expert gives each row's class, experts x rows."""
        self.gate_ = clone(self.gate).fit(X, of_class.argmax(axis=0))

    def shares(self, X: Any) -> NDArray[np.float64]:
        """Experts x rows: how much each is trusted; 0 for one that was never the best."""
        out = np.zeros((self.n_experts_, len(X)))
        out[self.gate_.classes_] = self.gate_.predict_proba(X).T
        return out

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = np.einsum(
            "er,erc->rc", self.shares(X), self.expert_probabilities(X)
        )
        return mean

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class GatedRounds(Gated):
    """A gate over the rounds of a boosted naive Bayes, learned after them.

    Parameters
    ----------
    boosted : BoostedNaiveBayesClassifier
    gate : NaiveBayesClassifier
    """

    def __init__(self, boosted: Any, gate: Any) -> None:
        self.boosted = boosted
        self.gate = gate

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        self.boosted_ = clone(self.boosted).fit(X, y)
        self.classes_, self.n_experts_ = (
            self.boosted_.classes_,
            len(self.boosted_.estimator_weights_),
        )
        p = self.expert_probabilities(X)
        self._learn_gate(X, p[:, np.arange(len(y)), np.searchsorted(self.classes_, y)])
        return self

    def expert_probabilities(self, X: Any) -> NDArray[np.float64]:
        rounds = self.boosted_.evidence(X).members
        return np.stack([softmax(each.total(), axis=1) for each in rounds])


class GatedExperts(Gated):
    """A gate over copies of one classifier, which learn rows as much as they answer for them.

    The paper's generalized EM with all rows of a sweep together: experts are fitted anew with the
    rows' posteriors as weights, and start from random ones.

    Parameters
    ----------
    expert : classifier
        Its ``fit`` takes weights of rows.
    gate : NaiveBayesClassifier
    n_experts : int, default=4
    n_sweeps : int, default=5
    sigma : float, default=0.1
        As in `HierarchicalMixtureClassifier`.
    random_state : int or None, default=None
    """

    def __init__(
        self,
        expert: Any,
        gate: Any,
        n_experts: int = 4,
        n_sweeps: int = 5,
        sigma: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.expert = expert
        self.gate = gate
        self.n_experts = n_experts
        self.n_sweeps = n_sweeps
        self.sigma = sigma
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        rng = np.random.default_rng(self.random_state)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_experts_ = self.n_experts
        posterior = rng.dirichlet(np.ones(self.n_experts), len(y)).T
        for _ in range(self.n_sweeps):
            weights = self.n_experts * np.maximum(posterior, LEAST_SHARE)  # of mean one
            self.experts_ = [clone(self.expert).fit(X, y, sample_weight=w) for w in weights]
            of_class = self.expert_probabilities(X)[:, np.arange(len(y)), codes]
            self._learn_gate(X, of_class)
            posterior = self.shares(X) * np.exp(-self.sigma * (1 - of_class))
            posterior /= posterior.sum(axis=0)
        return self

    def expert_probabilities(self, X: Any) -> NDArray[np.float64]:
        return np.stack([expert.predict_proba(X) for expert in self.experts_])


class Neighbors(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The classes of the nearest rows of a mixed table, which vote with their weights.

    Parameters
    ----------
    n_neighbors : int, default=5
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> Self:
        from sklearn.neighbors import NearestNeighbors

        self.numbers_ = Numbers("columns", scale=True).fit(X)
        rows = self.numbers_.transform(X)
        self.near_ = NearestNeighbors(n_neighbors=min(self.n_neighbors, len(rows))).fit(rows)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.votes_ = np.eye(len(self.classes_))[codes] * weight[:, None]
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        near = self.near_.kneighbors(self.numbers_.transform(X), return_distance=False)
        votes = self.votes_[near].sum(axis=1)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
