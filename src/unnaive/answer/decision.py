"""From probabilities to a class that one acts on: thresholds and costs of wrong decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import LARGEST, check_values, expect

BALANCED = "balanced"


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Which class a row is given: the one whose expected cost is least.

    Attributes
    ----------
    costs : array of shape (n_classes, n_classes)
        Cost of deciding for a class (second axis) about a row of a class (first axis).
    threshold : float or None
        Of two classes: the probability from which on a row is given the class ``positive``, which
        says the same as the costs and has no rounding at the border. None with more classes.
    positive : int
        Number of the class that the threshold is for.
    """

    costs: NDArray[np.float64]
    threshold: float | None = None
    positive: int = 1

    def check(self) -> None:
        """Refuse costs that no decision has."""
        n = len(self.costs)
        check_values("costs", self.costs, (n, n))
        right = (np.diag(self.costs)[:, None] <= self.costs).all()
        expect(right, "a right decision costs more than a wrong one.")
        expect((self.threshold is None) == (n != 2), f"a threshold needs 2 classes, not {n}.")
        expect(self.positive in (0, 1), f"positive is {self.positive}, not 0 or 1.")
        if self.threshold is not None:
            expect(0.0 <= self.threshold <= 1.0, f"threshold is {self.threshold}, not 0 to 1.")

    def choose(self, p: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the class number for each row of probabilities; the first of equal ones."""
        if self.threshold is not None:
            above = p[:, self.positive] >= self.threshold
            return np.where(above, self.positive, 1 - self.positive).astype(np.intp)
        return self.expected(p).argmin(axis=1)

    def expected(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected cost of deciding for each class, for each row of probabilities."""
        total = np.zeros((len(p), len(self.costs)))
        for c, row in enumerate(self.costs):  # in the order of the classes, whatever the rows
            total += p[:, c, None] * row
        return total

    def mean_cost(self, confusion: NDArray[np.float64]) -> float:
        """Return cost of a row on average, from the weight of rows by true class and decision."""
        n = len(self.costs)
        return float((confusion[:n, :n] * self.costs).sum() / confusion.sum())

    def describe(self, classes: NDArray[Any]) -> str:
        """Return the decision in words."""
        if self.threshold is not None:
            name = classes[self.positive]
            return f"{name} where its probability is at least {self.threshold:.4g}"
        return "the class of least expected cost"

    def __repr__(self) -> str:
        if self.threshold is None:
            return f"Decision by costs of {len(self.costs)} classes"
        return f"Decision: class number {self.positive} from {self.threshold:.4g} on"


def make_decision(
    decide: Any, classes: NDArray[Any], shares: NDArray[np.float64] | None, positive: Any = None
) -> Decision | None:
    """Return the decision that a user means; see ``with_decision`` of classifiers.

    ``shares`` are the shares of the classes, where those are known.
    """
    n = len(classes)
    if isinstance(decide, Decision):
        if len(decide.costs) != n:
            raise ValueError(f"the decision is about {len(decide.costs)} classes, not {n}.")
        return decide
    number = _positive(positive, classes)
    if decide is None:
        return None
    if isinstance(decide, (int, float, np.number)) and not isinstance(decide, bool):
        return _threshold(float(decide), classes, number)
    if isinstance(decide, str):
        return _from_costs(_balanced(decide, shares, n), classes, number)
    if isinstance(decide, Mapping):
        return _from_costs(_matrix(decide, classes), classes, number)
    try:
        costs = np.array(decide, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"decide must be a threshold, costs, {BALANCED!r} or None; got {decide!r:.60}."
        ) from None
    return _from_costs(costs, classes, number)


def _positive(given: Any, classes: NDArray[Any]) -> int:
    if given is None:
        return 1
    if len(classes) != 2:
        raise ValueError(f"positive is for 2 classes, but the model has {len(classes)}.")
    return class_number(given, classes, "positive")


def class_number(label: Any, classes: NDArray[Any], where: str) -> int:
    """Return the number of a class by its label, or by the text of it."""
    listed = classes.tolist()
    for k, each in enumerate(listed):
        if each == label or str(each) == str(label):
            return k
    raise ValueError(
        f"{where}: there is no class {label!r}; the classes are {', '.join(map(repr, listed))}."
    )


def _threshold(threshold: float, classes: NDArray[Any], positive: int) -> Decision:
    if len(classes) != 2:
        raise ValueError(
            f"a threshold needs 2 classes, but the model has {len(classes)}; give costs instead."
        )
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"the threshold must be from 0 to 1; got {threshold!r}.")
    costs = np.zeros((2, 2))
    costs[1 - positive, positive], costs[positive, 1 - positive] = threshold, 1.0 - threshold
    return Decision(costs, threshold, positive)


def _balanced(word: str, shares: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    if word != BALANCED:
        raise ValueError(f"decide must be a threshold, costs or {BALANCED!r}; got {word!r}.")
    if shares is None or not (shares > 0).all():
        raise ValueError(
            "decide='balanced' needs the shares of the classes in the training rows, which this "
            "model does not have for each; give costs instead."
        )
    # An error costs more the rarer its true class is.
    return np.where(np.eye(n, dtype=bool), 0.0, (shares.min() / shares)[:, None])


def _matrix(given: Mapping[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    costs = np.zeros((len(classes), len(classes)))
    for key, cost in given.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ValueError(
                f"costs are given as {{(true class, decided class): cost}}; got the key {key!r}."
            )
        try:
            costs[tuple(class_number(label, classes, "costs") for label in key)] = float(cost)
        except TypeError:
            raise ValueError(f"the cost of {key!r} must be a number; got {cost!r}.") from None
    return costs


def _from_costs(costs: NDArray[np.float64], classes: NDArray[Any], positive: int) -> Decision:
    n = len(classes)
    if costs.shape != (n, n):
        raise ValueError(
            f"costs must have a row for each of the {n} true classes and a column for each "
            f"decision; got the shape {costs.shape}."
        )
    if not (np.abs(costs) <= LARGEST).all():
        raise ValueError(f"costs must be finite numbers, at most {LARGEST:g}.")
    wrong = np.argwhere(costs < np.diag(costs)[:, None])
    if len(wrong):
        true, decided = classes[wrong[0]].tolist()
        raise ValueError(
            f"deciding {decided!r} about a row of {true!r} costs less than deciding {true!r}; give "
            "costs, in which being right is cheapest: minus the gain, where you have gains."
        )
    if n != 2:
        return Decision(costs)
    # The positive class is cheaper where p (missed - right) >= (1 - p) (false - right).
    false = costs[1 - positive, positive] - costs[1 - positive, 1 - positive]
    missed = costs[positive, 1 - positive] - costs[positive, positive]
    if false + missed == 0.0:
        raise ValueError("all decisions cost the same; give a cost above 0 to a wrong one.")
    return Decision(costs, float(false / (false + missed)), positive)
