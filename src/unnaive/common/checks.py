"""Checks of parameters and of what was learned, with one wording."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100  # of a learned logarithm: sums of millions of such numbers are still floats
HEAVIEST = 1e90  # of all rows together: what is made of weights stays far from infinity
FINITE = float(np.finfo(np.float64).max)
MOST_WHOLE = (1 << 31) - 1  # of any whole parameter: kernels and files know it
# Of parameters that say how much memory or time a fit takes. Far above what makes sense, but a slip
# of the hand, or a file from a stranger, cannot ask for all memory.
MOST = {
    "n_bins": 1 << 16,  # more than cells of the finest grid
    "n_estimators": 100_000,
    "n_clusters": 4096,
    "max_clusters": 4096,
    "max_experts": 4096,
    "n_init": 1000,
    "n_sweeps": 100_000,
    "max_iter": 1_000_000,
    "cv": 10_000,
}


def check_number(
    estimator: Any, name: str, low: float, high: float | None = None, *, whole: bool = False
) -> None:
    """Refuse a parameter that is not a number in its range; without ``high``, that of `MOST`."""
    value = getattr(estimator, name)
    kind = numbers.Integral if whole else numbers.Real
    right = isinstance(value, kind) and not isinstance(value, bool)
    most = (MOST.get(name, MOST_WHOLE) if whole else FINITE) if high is None else high
    # A type of few bits, and a number of many digits, are compared as what they are.
    number = (int(value) if isinstance(value, numbers.Integral) else float(value)) if right else 0
    if not (right and low <= number <= most):
        what = "a whole number" if whole else "a number"
        span = f"from {low} to {high}" if high is not None else f"{low:g} or more"
        if high is None and right and number > most:
            span = f"at most {most:,}" if whole else "finite"
        raise ValueError(f"{name} must be {what}, {span}; got {value!r:.200}.")


def check_count_or_share(estimator: Any, name: str) -> None:
    """Refuse a parameter that is neither a number of things, from 1 on, nor a share of all."""
    if isinstance(getattr(estimator, name), numbers.Integral):
        check_number(estimator, name, 1, whole=True)
    else:
        check_number(estimator, name, 1e-9, 1)


def check_word(estimator: Any, name: str, *words: str) -> None:
    """Refuse a parameter that is not one of a few words."""
    value = getattr(estimator, name)
    if value not in words:
        choices = " or ".join(repr(word) for word in words)
        raise ValueError(f"{name} must be {choices}; got {value!r}.")


def check_level(level: float) -> None:
    """Refuse a probability of intervals or errors that is not between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")


def expect(right: Any, words: str) -> None:
    """Refuse something learned that no fit leaves, such as what a damaged file holds."""
    if not right:
        raise ValueError(words)


def check_values(
    what: str,
    array: NDArray[Any],
    shape: tuple[int, ...],
    low: float = -LARGEST,
    high: float = LARGEST,
    *,
    nan: bool = False,
) -> None:
    """Refuse a learned array that has another shape, or numbers outside of a range."""
    expect(array.shape == shape, f"{what} has the shape {array.shape}, not {shape}.")
    inside = (array >= low) & (array <= high)
    if nan:
        inside |= np.isnan(array)
    expect(inside.all(), f"{what} has numbers outside of {low:g} to {high:g}.")


def check_positive(what: str, number: float) -> None:
    """Refuse a learned number that is not finite and above 0."""
    expect(0.0 < number <= FINITE, f"{what} is {number}, not a finite number above 0.")


def check_factors(what: str, array: NDArray[Any] | None, n: int) -> None:
    """Refuse learned factors, where there are any, that are not n numbers above 0."""
    if array is not None:
        check_values(what, array, (n,), 5e-324, FINITE)


def check_ascending(what: str, array: NDArray[Any]) -> None:
    """Refuse numbers that are not a list in ascending order; neighbours may be equal."""
    check_values(what, array, (array.size,), -FINITE, FINITE)
    expect((array[1:] >= array[:-1]).all(), f"{what} are not in ascending order.")


def check_hashes(values: Iterable[Any]) -> None:
    """Refuse values made so that looking them up takes for ever: by chance no two hashes agree."""
    most_alike = 100  # different values of one hash
    seen: dict[int, list[Any]] = {}
    for value in values:
        first = seen.setdefault(hash(value), [value, 0])
        if first[0] != value:
            first[1] += 1
            expect(first[1] < most_alike, "too many different values have the same hash.")
