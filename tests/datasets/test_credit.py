"""German credit is what its documentation says."""

from __future__ import annotations

from unnaive.datasets import load_german_credit


def test_german_credit_has_every_row_readable():
    X, y = load_german_credit()
    assert X.shape == (1000, 20)
    assert y.value_counts().to_dict() == {"good": 700, "bad": 300}
    assert not X.isna().any().any()
    assert (X.dtypes == "category").sum() == 13
    assert X["age"].between(19, 75).all()
    assert set(X["housing"].cat.categories) == {"rent", "own", "for free"}
