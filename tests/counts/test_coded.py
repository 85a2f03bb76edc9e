"""Coded rows: several columns in one number, counted and judged like the columns one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import reference
from helpers import mixed_table
from unnaive import BaggedNaiveBayesClassifier, NaiveBayesClassifier
from unnaive.bayes.coded import coded_scores, judge
from unnaive.counts import CountTable
from unnaive.counts.encoded_rows import joint_runs, row_coder, table_of
from unnaive.encode.coders import coder_sizes, column_slots
from unnaive.encode.hashing import branch_seeds, draw_poisson, draw_uniform, lane
from unnaive.table import open_table


def coded(X, y, **parameters):
    """A naive Bayes, the rows, and the rows coded as it codes them."""
    model = NaiveBayesClassifier(numeric="width", **parameters).fit(X, y)
    source = open_table(model, X, np.asarray(y), fitted=model.schema_)
    counts = CountTable.empty(1, coder_sizes(model.coders_))
    for j, coder in enumerate(model.coders_):
        np.add.at(counts.attribute(j)[0], column_slots(source.block, j, coder).astype(int), 1.0)
    factor = np.ones(len(model.classes_))
    rows = row_coder(model.coders_, counts, model.summary_.labels, factor)(source.block)
    return model, source, rows


XY = ["x", "y"]
TABLES = {
    "mixed": lambda: mixed_table(700),
    "polars": lambda: (pl.from_pandas(mixed_table(700)[0]), mixed_table(700)[1]),
    "gapless": lambda: (
        pd.DataFrame(np.random.default_rng(0).choice(list("pqrst"), (500, 11))),
        np.arange(500) % 4,
    ),
    "unused categories": lambda: (
        pd.DataFrame({"a": pd.Categorical(list("xyx") * 40, [f"c{k}" for k in range(90)] + XY)}),
        np.arange(120) % 2,
    ),
    "nothing": lambda: (pd.DataFrame({"a": [None] * 30}), np.arange(30) % 2),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("max_categories", [None, 3])
def test_counts_of_coded_rows_are_counts_of_their_columns(name, max_categories):
    X, y = TABLES[name]()
    model, source, rows = coded(X, y, max_categories=max_categories)
    weight = np.floor(8 * draw_uniform(1, rows.row_ids)) / 4
    n_classes = len(model.classes_)
    tables = [rows.count(part, n_classes, weight[part]) for part in rows.stretches(100)]
    found = table_of(rows, model.coders_, n_classes, tables)
    for j, coder in enumerate(model.coders_):
        slots = column_slots(source.block, j, coder)
        size = found.attribute(j).shape[1]
        expected = reference.count_table(slots, rows.groups, weight, size, n_classes)
        if coder is not None:  # a column without a value is in no run
            np.testing.assert_array_equal(found.attribute(j), expected.T)
    expected = np.bincount(rows.groups, weight, minlength=n_classes)
    np.testing.assert_array_equal(found.totals, expected)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("classes", [2, 3])
def test_coded_rows_score_and_are_judged_as_the_rows_are(name, classes):
    X, y = TABLES[name]()
    y = np.unique(np.asarray(y), return_inverse=True)[1] % classes
    model, _, rows = coded(X, y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(coded_scores(rows, model.scorer_), joint, atol=1e-9)
    margin, hit = judge(rows, model.scorer_)(slice(0, rows.n_rows))
    own = joint[np.arange(len(y)), y]
    np.testing.assert_allclose(margin, own - joint.mean(axis=1), atol=1e-9)
    best = (joint >= joint.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    np.testing.assert_array_equal(hit, best == y)


def test_columns_share_a_code_while_their_table_is_small():
    assert joint_runs([6, 6, 6, 6, 6], 1296) == [[0, 1, 2, 3], [4]]
    assert joint_runs([6, 6, 6, 6, 6], 1296, 2) == [[0, 1], [2, 3], [4]]
    assert joint_runs([6, None, 6, 9000, 2], 1296) == [[0], [1], [2], [3], [4]]
    assert joint_runs([], 10) == []


def test_rows_keep_their_draws_when_rows_of_weight_zero_go():
    """A row's draws go by its number in the table as given."""
    X, y = mixed_table(200)
    weight = np.ones(200)
    weight[::3] = 0
    model = BaggedNaiveBayesClassifier(random_state=0)
    full = model.fit(X, y, weight).bag_weights_
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    words = draw_poisson(branch_seeds(seed, 10), np.arange(200), 0.9)
    assert full.tolist() == [float(lane(words, b) @ weight) for b in range(10)]
