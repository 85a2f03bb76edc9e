"""Tables for engines that hold rows in partitions, and what must be equal in all of them."""

from __future__ import annotations

import os
import signal
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from helpers import mixed_table
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
)

PARTS = {1: [0, 400], 2: [0, 25, 400], 7: [0, 0, 1, 60, 60, 61, 250, 400]}  # uneven, some empty
MANY = {1: [0, 400], 3: [0, 25, 250, 400], 17: [0, 0, 1, 60, 60, 61, *range(65, 105, 4), 250, 400]}
# Models whose rows stay on workers, in few rounds; some of them in very few passes.
QUICK = [
    BoostedNaiveBayesClassifier(n_estimators=6, calibration="none"),
    BaggedNaiveBayesClassifier(n_estimators=9, oob_score=True, calibration="none", random_state=0),
    HierarchicalMixtureClassifier(
        layers=(2,), n_sweeps=3, training="batch", calibration="none", random_state=0
    ),
    LatentClassClusterer(2, n_init=1, max_iter=2, random_state=0),
]
ON_WORKERS = [
    BoostedNaiveBayesClassifier(n_estimators=3),
    BoostedNaiveBayesClassifier(
        algorithm="m1", n_estimators=4, early_stopping=True, random_state=3
    ),
    BoostedNaiveBayesClassifier(algorithm="probability", n_estimators=2, n_jobs=2),
    BaggedNaiveBayesClassifier(n_estimators=9, oob_score=True, random_state=0),
    HierarchicalMixtureClassifier(
        layers="grow", max_experts=2, cv=2, n_sweeps=2, training="batch", random_state=0, n_jobs=2
    ),
    LatentClassClusterer(3, init="random", n_init=2, max_iter=4, random_state=0),
    LatentClassClusterer(cv=3, max_clusters=3, n_init=2, max_iter=4, random_state=0, n_jobs=2),
]
# Models that lose a worker in a later pass: in the third of boosting; in the second step of EM,
# after a look at the rows.
KILLED = [
    (QUICK[0], "advance", 3),
    (QUICK[3], "reduce", 3),
]


def no_rows_come(real: Any) -> Any:
    """The passes of a source that bring something of rows here: labels of clusters."""

    def each(self: Any, fn: Any, name: str = "coding rows") -> Any:
        assert name in ("labelling", "calibrating"), "rows come here"
        return real(self, fn, name)

    return each


def awkward_table(seed: int = 0) -> pa.Table:
    """400 rows of every type of column that engines share.

    The first 60 rows have a class and a category of their own and no value in one column; two
    columns have names that engines would like to read as something else.
    """
    X, y = mixed_table(400, seed)
    rng = np.random.default_rng(seed)
    table = pa.Table.from_pandas(X.astype({"plan": str}), preserve_index=False)
    first = np.arange(400) < 60
    cents = [Decimal(int(c)).scaleb(-2) for c in 100 * rng.gamma(2.0, 3.0, 400)]
    days = pa.array(rng.integers(10_000, 20_000, 400).astype(np.int32)).cast(pa.date32())
    moments = pa.array(rng.integers(10**15, 2 * 10**15, 400)).cast(pa.timestamp("us", "UTC"))
    more: dict[str, Any] = {
        "price": pa.array(cents, pa.decimal128(18, 2)),
        "day": days,
        "moment": moments,
        "count": pa.array(rng.integers(0, 2**40, 400), mask=rng.random(400) < 0.2),
        "late": pa.array(np.where(first, np.nan, rng.normal(size=400)), from_pandas=True),
        "empty": pa.nulls(400, pa.float64()),
        "a.b `c`": pa.array(rng.choice(["x", "y", None, ""], 400)),
        "kind": pa.array(np.where(first, "early", rng.choice(["p", "q"], 400))),
        "label": pa.array(np.where(first & (rng.random(400) < 0.5), "rare", y)),
        "weight": pa.array(rng.integers(0, 3, 400)),
        "id": pa.array(np.arange(400)),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    return table


def features(table: pa.Table) -> pa.Table:
    return table.drop_columns(["label", "weight", "id"])


def many_numbers(n: int = 90_000) -> pa.Table:
    """More than 65,534 distinct numbers that are no sums of powers of two, in order of one."""
    rng = np.random.default_rng(0)
    x, z = np.sort(rng.normal(size=n)) / 3, np.exp(3 * rng.normal(size=n)) / 7
    y = (z + rng.normal(size=n) > 0.3).astype(int)
    return pa.table({"x": x, "z": z, "label": y, "id": np.arange(n)})


def interrupt(patch: Any, module: Any, name: str, number: int) -> None:
    """Have a user press Ctrl-C in so many a call of a function."""
    calls, real = [], getattr(module, name)

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*given, **named)

    patch.setattr(module, name, interrupted)


def press_at_a_round(facts: dict[str, Any]) -> bool:
    """What a callback does that stops a fit as Ctrl-C would, when the first round is done."""
    if facts["task"] == "boosting":
        raise KeyboardInterrupt
    return False


def slices(edges: list[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(edges)]


def dies_once(fn: Any, marker: str, n_rows: int) -> Any:
    """``fn``, but the process that comes to a block or record of so many rows first is killed."""

    def run(block: Any, *more: Any) -> Any:
        if block.n_rows == n_rows:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass  # this has happened
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return fn(block, *more)

    return run


def kill_once(patch: Any, records: Any, method: str, number: int, folder: Any) -> Any:
    """Have the process killed that comes to the largest record in so many a pass of a kind.

    Returns the file that exists when this has happened.
    """
    marker, passes = folder / f"{method}-{number}", []
    ask, real = records.reduce, getattr(records, method)

    def dying(self: Any, fn: Any, *more: Any) -> Any:
        passes.append(fn)
        if len(passes) == number:
            fn = dies_once(fn, str(marker), ask(self, lambda record, _: record.n_rows, max))
        return real(self, fn, *more)

    patch.setattr(records, method, dying)
    return marker
