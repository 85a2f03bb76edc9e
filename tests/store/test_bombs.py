"""Small files that ask for much memory or time are refused before they get it.

All run in one process that may take little more memory than it has.
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import unnaive
from fuzz.judge import MOST_BYTES
from fuzz.mutate import BOMBS, Broken
from unnaive.store import ModelFileError
from unnaive.table.schema import Column, Schema, by_column

ROOM = 300 << 20
HELPERS = Path(__file__).parents[1]
SLOWEST = 5.0  # seconds; most take a tenth of one

NUMBERS = {
    unnaive.NaiveBayesClassifier(numeric="width"): ["n_bins"],
    unnaive.BaggedNaiveBayesClassifier(n_estimators=2): ["n_bins", "n_estimators"],
    unnaive.BoostedNaiveBayesClassifier(n_estimators=2): ["n_bins", "n_estimators"],
    unnaive.HierarchicalMixtureClassifier(random_state=0): ["n_bins", "max_experts", "n_sweeps"],
    unnaive.LatentClassClusterer(n_clusters=2, random_state=0): [
        "n_clusters", "max_clusters", "n_init", "max_iter", "cv",
    ],
    unnaive.ClassDecompositionClassifier(random_state=0): ["max_clusters"],
    unnaive.NBTreeClassifier(random_state=0): ["max_depth"],
    unnaive.Discretizer("width"): ["n_bins"],
}  # fmt: skip


def rows(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})
    return X, np.array(["no", "yes"])[rng.integers(0, 2, n)]


def file_of(model):
    file = io.BytesIO()
    unnaive.save(model, file)
    return file.getvalue()


def bombs():
    """Files by name."""
    X, y = rows()
    data = file_of(unnaive.NaiveBayesClassifier().fit(X, y))
    for bomb in BOMBS:
        for place in ("more", "model", "priors"):
            broken = Broken(data)
            content = broken.document
            (content["model"]["parameters"] if place == "priors" else content)[place] = bomb(broken)
            if place == "more":  # does not deflate, so that the file looks less dense
                content["noise"] = random.Random(0).randbytes(10_000).hex()
            yield f"{bomb.__name__} as {place}", broken.file()
    for model, names in NUMBERS.items():
        data = file_of(model.fit(X, y))
        for name in names:
            broken = Broken(data)
            broken.document["model"]["parameters"][name] = 3 * 10**9
            yield f"{name} of {type(model).__name__}", broken.file()
        broken.document["model"]["parameters"] |= {name: 2, "n_jobs": 10**6}
        yield f"n_jobs of {type(model).__name__}", broken.file()
    tree = unnaive.NBTreeClassifier(cv=KFold(2)).fit(X, y)
    broken = Broken(file_of(tree))
    broken.document["model"]["splitters"]["cv"] = ["ShuffleSplit", {"n_splits": 10**9}]
    yield "n_splits", broken.file()


def main():
    """Load every file with little memory; what came of each, and the time it took."""
    made = dict(bombs())
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    found = {}
    for name, data in made.items():
        start = time.perf_counter()
        try:
            unnaive.load(io.BytesIO(data), max_bytes=MOST_BYTES)
            outcome = "loaded"
        except ModelFileError as error:
            outcome = f"refused: {error}"
        except BaseException as error:
            outcome = repr(error)
        found[name] = (len(data), outcome, time.perf_counter() - start)
    print(json.dumps(found))


@pytest.fixture(scope="module")
def outcomes():
    command = [sys.executable, "-W", "ignore", __file__]
    paths = os.pathsep.join(filter(None, [str(HELPERS), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env=os.environ | {"PYTHONPATH": paths}
    )
    return json.loads(done.stdout)


def test_files_that_ask_for_much_memory_or_time_are_refused_without_it(outcomes):
    wrong = {
        name: (outcome, seconds)
        for name, (_, outcome, seconds) in outcomes.items()
        if not outcome.startswith("refused") or seconds > SLOWEST
    }
    assert wrong == {}
    assert len(outcomes) >= 25


def test_bombs_are_small(outcomes):
    """Or else they would be nothing to wonder at."""
    assert max(size for name, (size, _, _) in outcomes.items() if " as " in name) < 100_000


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
def test_fit_refuses_numbers_that_would_take_all_memory(model):
    for name in NUMBERS[model]:
        wrong = type(model)(**{**model.get_params(deep=False), name: 3 * 10**9})
        with pytest.raises(ValueError, match=rf"{name} must be a whole number, at most"):
            wrong.fit(*rows())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (unnaive.NBTreeClassifier(cv=10**9), "cv must be 10,000 folds or fewer; got 1000000000"),
        (unnaive.HierarchicalMixtureClassifier(layers=(1,) * 65), "has 65 layers; at most 64"),
        (unnaive.NaiveBayesClassifier(alpha=10**400), "alpha must be a number, finite; got 1000"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_fit_refuses_other_things_that_are_too_large(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(*rows())


def test_folds_of_positions_far_beyond_the_rows_take_no_memory():
    X, y = rows()
    halves = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    model = unnaive.NBTreeClassifier(cv=halves, random_state=0).fit(X, y)
    far = [(train, np.append(test, 10**13 + len(test))) for train, test in halves]
    again = unnaive.NBTreeClassifier(cv=far, random_state=0).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_columns_named_by_parameters_are_looked_up_in_linear_time():
    """40,000 names took half a minute when each was searched for in a list."""
    columns = tuple(Column(f"column {j}", "numeric", "number") for j in range(40_000))
    start = time.perf_counter()
    named = {column.name: "width" for column in columns}
    methods = by_column("numeric", named, Schema(columns, named=True), "mdl")
    assert methods == dict.fromkeys(range(40_000), "width")
    assert time.perf_counter() - start < SLOWEST


if __name__ == "__main__":
    main()
