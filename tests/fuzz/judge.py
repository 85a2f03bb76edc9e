"""What must be true of any file that is loaded: a clean error, or a model that answers soundly."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import unnaive
from fuzz.consumers import is_clear, use
from registry import CHOOSERS, ESTIMATORS
from unnaive.store import ModelFileError

MOST_BYTES = 10**8  # of memory that a wrong file may ask for


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, text, true/false and dates, with gaps; small, so that files are. The class depends
    on two columns together, so that trees grow.
    """
    rng = np.random.default_rng(seed)
    x, t, z = rng.choice((-1, 1), n) + rng.normal(0, 0.3, n), rng.integers(0, 4, n), rng.random(n)
    y = np.where(z > 0.8, 2, (x > 0) ^ (t > 1)) ^ (rng.random(n) < 0.03)
    X = pd.DataFrame(
        {
            "x": x.round(1),
            "z": (10 * z).round(),
            "t": np.array(["a", "b", "c", "d"])[t],
            "b": rng.random(n) < 0.3 + 0.2 * (y == 2),
            "d": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
        }
    )
    return X.mask(rng.random(X.shape) < 0.05), np.array(["no", "maybe", "yes", "yes"])[y]


def awkward_rows() -> pd.DataFrame:
    """Rows as a model may meet them: gaps, new values, numbers from end to end."""
    X, _ = table(24, 7)
    X["x"] = [np.nan, 1.7e308, -1.7e308, 5e-324, 0.0, 1e100, *X["x"][6:]]
    X["t"] = ["new", None, "", *X["t"][3:]]
    return X


class Sample:
    """A small fitted model, its file and its answers."""

    def __init__(self, estimator: Any, name: str, X: Any, y: Any, rows: Any) -> None:
        self.name = name
        self.rows, self.more = rows, (X[:30], y[:30])
        self.labels = np.resize(np.unique(y), len(rows))
        model = clone(estimator).fit(X, y)
        file = io.BytesIO()
        unnaive.save(model, file)
        self.data = file.getvalue()
        self.answers, self.model = answers(model, rows), repr(model)

    def load(self) -> Any:
        """The model as it was saved."""
        return unnaive.load(io.BytesIO(self.data))


def samples() -> list[Sample]:
    """Every configuration of the registry, on a table with names; some without, some with two
    classes.
    """
    X, y = table(150, 0)
    rows = awkward_rows()
    every = [*ESTIMATORS, *CHOOSERS]
    found = [Sample(e, repr(e), X, y, rows) for e in every]
    numbers, new = X[["x", "z"]].to_numpy(float), rows[["x", "z"]].to_numpy(float)
    found += [Sample(e, f"{e!r} unnamed", numbers, y, new) for e in every[::5]]
    found += [Sample(e, f"{e!r} of two classes", X, y == "yes", rows) for e in every[1::5]]
    return found


def answers(model: Any, rows: Any) -> np.ndarray:
    """What a model says of rows: probabilities, or numbers of intervals."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    found = model.transform(rows)
    numeric = [cuts is not None for cuts in model.cuts_]
    return np.asarray(found)[:, numeric].astype(float)


def check_answers(model: Any, found: np.ndarray, n_rows: int) -> None:
    if not hasattr(model, "predict_proba"):
        widest = max((len(c) for c in model.cuts_ if c is not None), default=0)
        assert np.nanmax(found, initial=0) <= widest
        assert np.nanmin(found, initial=0) >= 0
        return
    n = len(model.answer_.classes)
    assert found.shape == (n_rows, n)
    assert ((found >= 0) & (found <= 1 + 1e-9)).all(), "probabilities outside of 0 to 1"
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


def judge(sample: Sample, data: bytes, inside: bool, consume: bool = False) -> str:
    """Load a file and ask the model; raises where anything but a clean error comes of it."""
    try:
        model = unnaive.load(io.BytesIO(data), max_bytes=MOST_BYTES)
    except ModelFileError:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answers(model, sample.rows)
        except ValueError as error:  # it is a model of other columns
            if not is_clear(error):
                raise
            return "other columns"
        check_answers(model, found, len(sample.rows))
        if not inside:
            assert np.array_equal(found, sample.answers, equal_nan=True), "silently different"
        if hasattr(model, "predict"):
            model.predict(sample.rows)
        if consume:
            use(model, sample)
    same = np.array_equal(found, sample.answers, equal_nan=True)
    return "same answers" if same else "other answers"
