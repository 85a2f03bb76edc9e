"""The transformer as people use it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers import mixed_table
from unnaive import Discretizer, merge


def test_categories_pass_through_and_numbers_become_intervals():
    X, y = mixed_table(300)
    out = Discretizer().set_output(transform="pandas").fit_transform(X, y)
    assert list(out.columns) == list(X.columns)
    assert out["city"].isna().equals(X["city"].isna())
    assert (out["city"].dropna() == X["city"].dropna()).all()
    assert out["age"].isna().equals(X["age"].isna())
    assert set(out["age"].dropna()) <= {0.0, 1.0, 2.0, 3.0}
    assert (out["member"] == X["member"]).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_a_table_with_names(library):
    X, y = mixed_table(100)
    numbers = X[["age", "income"]]
    discretizer = Discretizer("frequency", n_bins=3).set_output(transform=library)
    out = discretizer.fit_transform(numbers, y)
    assert type(out) is {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    assert list(out.columns) == ["age", "income"]
    assert discretizer.get_feature_names_out().tolist() == ["age", "income"]


def test_intervals_can_be_read():
    x = pd.DataFrame({"x": [1, 2, 3, 4, np.nan] * 10})
    y = [0, 0, 1, 1, 0] * 10
    out = Discretizer(encode="interval").set_output(transform="pandas").fit_transform(x, y)
    assert out["x"].tolist()[:5] == ["(-inf, 2.5]", "(-inf, 2.5]", "(2.5, inf)", "(2.5, inf)", None]


def test_one_method_per_column():
    X, y = mixed_table(300)
    discretizer = Discretizer({"age": "width", "ratio": "frequency"}, n_bins=4).fit(X, y)
    assert len(discretizer.cuts_[0]) == 3
    assert len(discretizer.cuts_[2]) == 3
    assert discretizer.cuts_[3] is None
    np.testing.assert_array_equal(discretizer.cuts_[1], Discretizer().fit(X, y).cuts_[1])


def test_compact_keeps_the_cuts_and_forgets_the_counts():
    X, y = mixed_table(500)
    discretizer = Discretizer().fit(X, y)
    before = discretizer.set_output(transform="pandas").transform(X)
    shrunk = discretizer.compact()
    assert shrunk.after < shrunk.before / 5
    assert "% smaller" in str(shrunk)
    pd.testing.assert_frame_equal(before, discretizer.transform(X))
    with pytest.raises(ValueError, match="made compact, so it cannot be merged"):
        merge([discretizer, discretizer])
    with pytest.raises(ValueError, match="made compact, so it cannot be updated"):
        discretizer.partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"method": "better"}, "method must be one of 'mdl', 'width'.*got 'better'"),
        ({"method": {"city": "mdl"}}, "column 'city', which holds categories, not numbers"),
        ({"method": {"nowhere": "mdl"}}, "method names 'nowhere', which is not a column"),
        ({"n_bins": 1}, "n_bins must be a whole number, 2 or more; got 1"),
        ({"encode": "onehot"}, "encode must be 'ordinal' or 'interval'; got 'onehot'"),
        ({"grid_limit": 10**6}, "grid_limit must be a whole number, from 2 to 65534; got 10"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        Discretizer(**parameters).fit(X, y)


def test_mdl_needs_labels():
    with pytest.raises(ValueError, match="requires y to be passed"):
        Discretizer().fit(np.eye(3))
