"""Tables made by a rule, so that the best possible answer is known."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

# The seven segments of a digit: top, upper left, upper right, middle, lower left, lower right,
# bottom.
SEGMENTS = (
    "1110111", "0010010", "1011101", "1011011", "0111010",
    "1101011", "1101111", "1010010", "1111111", "1111011",
)  # fmt: skip
WAVE_CENTRES = (7, 15, 11)  # of the three triangles, among points 1 to 21
WAVE_PAIRS = ((0, 1), (0, 2), (1, 2))  # the triangles that each class mixes
MONK_VALUES = (3, 3, 2, 3, 4, 2)


def make_led(
    n_rows: int = 3200, *, noise: float = 0.1, irrelevant: int = 17, random_state: Any = None
) -> tuple[Any, Any]:
    """Digits on a display of seven segments, each wrong with a probability, beside random bits.

    Parameters
    ----------
    n_rows : int, default=3200
    noise : float, default=0.1
        Probability that a segment shows the opposite.
    irrelevant : int, default=17
        Columns of random bits: 17 make the LED-24 of the literature.
    random_state : int, Generator or None, default=None

    Returns
    -------
    X : pandas.DataFrame
        Categories ``"0"`` and ``"1"``.
    y : pandas.Series
        The digit, as text.

    Examples
    --------
    >>> from unnaive.datasets import make_led
    >>> X, y = make_led(100, random_state=0)
    >>> X.shape, y.nunique()
    ((100, 24), 10)
    """
    import pandas as pd

    rng = np.random.default_rng(random_state)
    digits = rng.integers(0, 10, n_rows)
    shown = np.array([[int(c) for c in segments] for segments in SEGMENTS])[digits]
    shown ^= rng.random(shown.shape) < noise
    bits = np.hstack([shown, rng.integers(0, 2, (n_rows, irrelevant))])
    names = [f"segment{j}" for j in range(7)] + [f"random{j}" for j in range(irrelevant)]
    return _as_categories(bits, names), pd.Series(digits.astype(str), name="digit")


def make_waveform(
    n_rows: int = 5000, *, irrelevant: int = 19, random_state: Any = None
) -> tuple[Any, Any]:
    """Three classes of waves, each a random mix of two of three triangles, with normal noise.

    Parameters
    ----------
    n_rows : int, default=5000
    irrelevant : int, default=19
        Columns of noise alone beside the 21 points: 19 make the waveform-40 of the literature.
    random_state : int, Generator or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone. Classification and Regression Trees. 1984.

    Examples
    --------
    >>> from unnaive.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> X.shape, sorted(y.unique())
    ((100, 40), ['0', '1', '2'])
    """
    import pandas as pd

    rng = np.random.default_rng(random_state)
    points = np.arange(1, 22)
    triangles = np.array([np.maximum(6 - abs(points - centre), 0) for centre in WAVE_CENTRES])
    classes = rng.integers(0, 3, n_rows)
    pairs = np.array(WAVE_PAIRS)[classes]
    share = rng.random((n_rows, 1))
    waves = share * triangles[pairs[:, 0]] + (1 - share) * triangles[pairs[:, 1]]
    values = np.hstack([waves, np.zeros((n_rows, irrelevant))])
    values += rng.normal(size=values.shape)
    names = [f"x{j}" for j in range(1, 22)] + [f"noise{j}" for j in range(irrelevant)]
    return pd.DataFrame(values, columns=names), pd.Series(classes.astype(str), name="wave")


def make_monk1() -> tuple[Any, Any]:
    """The first of the monks' problems, on all 432 robots: a1 = a2, or a5 = 1.

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        ``"yes"`` and ``"no"``.

    Examples
    --------
    >>> from unnaive.datasets import make_monk1
    >>> X, y = make_monk1()
    >>> X.shape, int((y == "yes").sum())
    ((432, 6), 216)
    """
    import pandas as pd

    robots = np.array(list(itertools.product(*(range(1, v + 1) for v in MONK_VALUES))))
    is_monk = (robots[:, 0] == robots[:, 1]) | (robots[:, 4] == 1)
    X = _as_categories(robots, [f"a{j}" for j in range(1, 7)])
    return X, pd.Series(np.where(is_monk, "yes", "no"), name="monk")


def make_parity(bits: int = 2, repeats: int = 1) -> tuple[Any, Any]:
    """All rows of so many bits, and whether the number of ones is odd; two bits: exclusive or.

    Parameters
    ----------
    bits : int, default=2
    repeats : int, default=1
        How often each row appears.

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        ``"even"`` and ``"odd"``.

    Examples
    --------
    >>> from unnaive.datasets import make_parity
    >>> X, y = make_parity(2)
    >>> y.tolist()
    ['even', 'odd', 'odd', 'even']
    """
    import pandas as pd

    if bits < 1:
        raise ValueError(f"bits must be 1 or more; got {bits}.")
    rows = np.array(list(itertools.product((0, 1), repeat=bits)) * repeats)
    odd = rows.sum(axis=1) % 2 == 1
    X = _as_categories(rows, [f"bit{j}" for j in range(bits)])
    return X, pd.Series(np.where(odd, "odd", "even"), name="parity")


def _as_categories(values: Any, names: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(values.astype(str), columns=names).astype("category")
