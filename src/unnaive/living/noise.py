"""Whole numbers of noise, drawn exactly: no rounding of floats that would tell what they hide.

The algorithms are those of Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for
Differential Privacy". All is done in whole numbers, with the random source of the operating system.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction

Below = Callable[[int], int]  # a whole number from 0 to before the one given, all alike


def _chance(share: Fraction, below: Below) -> bool:
    """True with this probability."""
    return below(share.denominator) < share.numerator


def _chance_exp(rate: Fraction, below: Below) -> bool:
    """True with probability exp(-rate)."""
    while rate > 1:
        if not _chance_exp(Fraction(1), below):
            return False
        rate -= 1
    k = 1
    while _chance(rate / k, below):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, below: Below = secrets.randbelow) -> int:
    """A whole number k with probability proportional to exp(-abs(k) / scale)."""
    t, s = scale.numerator, scale.denominator
    while True:
        rest = below(t)
        if not _chance_exp(Fraction(rest, t), below):
            continue
        whole = 0
        while _chance_exp(Fraction(1), below):
            whole += 1
        size = (rest + t * whole) // s
        negative = below(2) == 1
        if not (negative and size == 0):  # zero is drawn once, not as plus and minus zero
            return -size if negative else size


def discrete_gaussian(variance: Fraction, below: Below = secrets.randbelow) -> int:
    """A whole number k with probability proportional to exp(-k**2 / (2 * variance))."""
    t = _root(variance) + 1
    while True:
        k = discrete_laplace(Fraction(t), below)
        if _chance_exp((abs(k) - variance / t) ** 2 / (2 * variance), below):
            return k


def _root(number: Fraction) -> int:
    """The largest whole number whose square is not above a number."""
    return math.isqrt(number.numerator // number.denominator)
