"""Generated tables on which the literature compares classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unnaive.datasets.generators import as_table, check_count, check_share

# Which of the seven lights show each digit, from 0 to 9.
SEGMENTS = ("top", "upper_left", "upper_right", "middle", "lower_left", "lower_right", "bottom")
DIGITS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=bool,
)
MONK_VALUES = {
    "head_shape": ("round", "square", "octagon"),
    "body_shape": ("round", "square", "octagon"),
    "is_smiling": ("yes", "no"),
    "holding": ("sword", "balloon", "flag"),
    "jacket_color": ("red", "yellow", "green", "blue"),
    "has_tie": ("yes", "no"),
}


def make_led(
    n_samples: int = 3200, *, noise: float = 0.1, n_irrelevant: int = 17, random_state: Any = None
) -> tuple[Any, Any]:
    """Digits on a faulty display: seven lights, each wrong with probability ``noise``.

    With the default noise, the best possible classifier is right on 74 % of the rows.

    Parameters
    ----------
    n_samples : int, default=3200
    noise : float, default=0.1
        Probability that a light is inverted.
    n_irrelevant : int, default=17
        Lights that go on and off at random.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
        True where a light is on.
    y : pandas.Series
        The digit.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone. Classification and Regression Trees. 1984.

    Examples
    --------
    >>> from unnaive_papers.generators import make_led
    >>> X, y = make_led(100, random_state=0)
    >>> X.shape
    (100, 24)
    """
    n = check_count("n_samples", n_samples, 1)
    check_share("noise", noise)
    extra = check_count("n_irrelevant", n_irrelevant, 0)
    rng = check_random_state(random_state)
    digit = rng.randint(10, size=n)
    lights = DIGITS[digit] ^ (rng.random_sample((n, 7)) < noise)
    rest = rng.random_sample((n, extra)) < 0.5
    columns = {name: lights[:, j] for j, name in enumerate(SEGMENTS)}
    columns |= {f"irrelevant_{j + 1}": rest[:, j] for j in range(extra)}
    return as_table(columns, digit, "digit")


def make_waveform(
    n_samples: int = 5000, *, n_irrelevant: int = 19, random_state: Any = None
) -> tuple[Any, Any]:
    """Three classes of waves: random mixtures of two of three triangles, at 21 points, with noise.

    The best possible classifier is right on about 86 % of the rows.

    Parameters
    ----------
    n_samples : int, default=5000
    n_irrelevant : int, default=19
        Columns of noise alone; with the default there are 40 columns, as in waveform-40.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        0, 1 or 2.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone. Classification and Regression Trees. 1984.

    Examples
    --------
    >>> from unnaive_papers.generators import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> X.shape
    (100, 40)
    """
    n = check_count("n_samples", n_samples, 1)
    extra = check_count("n_irrelevant", n_irrelevant, 0)
    rng = check_random_state(random_state)
    points = np.arange(1, 22)
    waves = np.stack([np.maximum(6 - abs(points - peak), 0) for peak in (11, 15, 7)])
    first, second = np.array([[0, 0, 1], [1, 2, 2]])
    wave = rng.randint(3, size=n)
    u = rng.random_sample((n, 1))
    x = u * waves[first[wave]] + (1 - u) * waves[second[wave]] + rng.standard_normal((n, 21))
    rest = rng.standard_normal((n, extra))
    columns = {f"x{i}": x[:, i - 1] for i in points}
    columns |= {f"irrelevant_{j + 1}": rest[:, j] for j in range(extra)}
    return as_table(columns, wave, "wave")


def make_monks(
    problem: int = 1, n_samples: int | None = None, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Any, Any]:
    """The MONK's problems: robots of six nominal attributes, and a rule that picks some.

    Problem 1: head and body have the same shape, or the jacket is red. Problem 2: exactly two
    attributes have their first value. Problem 3: a green jacket and a sword, or a jacket that is
    not blue and a body that is no octagon.

    Parameters
    ----------
    problem : {1, 2, 3}, default=1
    n_samples : int or None, default=None
        Rows drawn at random; None is each of the 432 robots once.
    noise : float, default=0.0
        Probability that a label is inverted; the original third problem has 0.05 in training.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        Whether the robot is a monk.

    References
    ----------
    S. Thrun and others. The MONK's Problems: A Performance Comparison of Different Learning
    Algorithms. 1991.

    Examples
    --------
    >>> from unnaive_papers.generators import make_monks
    >>> X, y = make_monks(1)
    >>> len(X), int(y.sum())
    (432, 216)
    """
    if problem not in (1, 2, 3):
        raise ValueError(f"problem must be 1, 2 or 3; got {problem!r}.")
    check_share("noise", noise)
    rng = check_random_state(random_state)
    sizes = [len(values) for values in MONK_VALUES.values()]
    codes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    if n_samples is not None:
        codes = codes[rng.randint(len(codes), size=check_count("n_samples", n_samples, 1))]
    head, body, _, holding, jacket, _ = codes.T
    rules = (
        (head == body) | (jacket == 0),
        (codes == 0).sum(axis=1) == 2,
        ((jacket == 2) & (holding == 0)) | ((jacket != 3) & (body != 2)),
    )
    monk = rules[problem - 1] ^ (rng.random_sample(len(codes)) < noise)
    columns = {
        name: np.array(values, dtype=object)[codes[:, j]]
        for j, (name, values) in enumerate(MONK_VALUES.items())
    }
    return as_table(columns, monk, "monk")


def make_xor(
    n_samples: int = 400, *, spread: float = 0.1, n_irrelevant: int = 0, random_state: Any = None
) -> tuple[Any, Any]:
    """Exclusive or in the plane: four heaps at the corners of a square, opposite ones of one class.

    No column is informative by itself.

    Parameters
    ----------
    n_samples : int, default=400
    spread : float, default=0.1
        Standard deviation of the heaps; the square's side is 1.
    n_irrelevant : int, default=0
        Columns of noise.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        Whether one of the two is high, and the other is not.

    Examples
    --------
    >>> from unnaive_papers.generators import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> list(X)
    ['a', 'b']
    """
    n = check_count("n_samples", n_samples, 1)
    extra = check_count("n_irrelevant", n_irrelevant, 0)
    rng = check_random_state(random_state)
    corner = rng.randint(2, size=(n, 2))
    x = corner + spread * rng.standard_normal((n, 2))
    rest = rng.standard_normal((n, extra))
    columns = {"a": x[:, 0], "b": x[:, 1]}
    columns |= {f"irrelevant_{j + 1}": rest[:, j] for j in range(extra)}
    return as_table(columns, corner[:, 0] != corner[:, 1], "different")


def make_parity(
    n_bits: int = 4,
    n_samples: int | None = None,
    *,
    n_irrelevant: int = 0,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Whether an odd number of bits is set: exclusive or of any number of columns.

    Parameters
    ----------
    n_bits : int, default=4
    n_samples : int or None, default=None
        Rows drawn at random; None is each combination once.
    n_irrelevant : int, default=0
        Further bits that do not matter.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series

    Examples
    --------
    >>> from unnaive_papers.generators import make_parity
    >>> X, y = make_parity(3)
    >>> len(X), int(y.sum())
    (8, 4)
    """
    width = check_count("n_bits", n_bits, 1) + check_count("n_irrelevant", n_irrelevant, 0)
    rng = check_random_state(random_state)
    if n_samples is not None:
        n = check_count("n_samples", n_samples, 1)
        bits = rng.random_sample((n, width)) < 0.5
    elif width > 24:
        raise ValueError(f"{width} bits have too many combinations; say how many n_samples.")
    else:
        places = np.arange(width)[::-1]
        bits = (np.arange(2**width)[:, None] >> places & 1).astype(bool)
    columns = {f"bit_{j + 1}": bits[:, j] for j in range(n_bits)}
    columns |= {f"irrelevant_{j + 1}": bits[:, n_bits + j] for j in range(n_irrelevant)}
    return as_table(columns, bits[:, :n_bits].sum(axis=1) % 2 == 1, "odd")
