"""Dask gives what memory gives, byte for byte, and goes on when a worker dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from clusters import PARTS, awkward_table, features, many_numbers, slices
from helpers import assert_same_model, mixed_table
from registry import ESTIMATORS
from unnaive import Discretizer, LatentClassClusterer, NaiveBayesClassifier, NBTreeClassifier, scan
from unnaive.table.dask import DaskSource

dd = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.usefixtures("dask_client")


def parted(table, edges):
    """A Dask DataFrame with partitions between the edges."""
    own = slices(edges)

    def take(k):
        return table.iloc[own[k]]

    return dd.from_map(take, range(len(own)), meta=table.iloc[:0])


def as_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def both(estimator, table, frame, **names):
    """The estimator fitted in memory and on Dask."""
    weight = names.get("weight")
    own = None if weight is None else table[weight].to_numpy()
    memory = clone(estimator).fit(features(table), table["label"], sample_weight=own)
    left = dict(columns=features(table).column_names)
    return memory, clone(estimator).fit(scan(frame, "label", **names, **left))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_model_equals_that_of_memory(estimator):
    table = awkward_table()
    assert_same_model(*both(estimator, table, parted(as_pandas(table), PARTS[7])))


@pytest.mark.parametrize("n_parts", PARTS)
@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), NBTreeClassifier(random_state=0)])
def test_partitions_do_not_matter(estimator, n_parts):
    table = awkward_table(seed=1)
    frame = parted(as_pandas(table), PARTS[n_parts])
    assert_same_model(*both(estimator, table, frame, weight="weight"))
