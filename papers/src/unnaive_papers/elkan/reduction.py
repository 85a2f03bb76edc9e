"""Counting on many workers: each counts its rows, and counts are added in a binary tree."""

from __future__ import annotations

import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from unnaive.models import NaiveBayesClassifier, merge
from unnaive_papers.made import make_rows

VALUES = 8


def reduce_in_tree(n_rows: int, attributes: int, workers: list[int]) -> dict[str, Any]:
    """Simulated: what P workers would take, from the slowest part and the slowest sum per level.

    Every part is really counted and every sum really made, one after the other; the result is
    compared with that of all rows at once, bit for bit.
    """
    X, y = make_rows(n_rows, attributes, VALUES)
    start = time.process_time()
    whole = NaiveBayesClassifier().fit(X, y)
    alone = time.process_time() - start
    expected = whole.predict_joint_log_proba(X.iloc[:1000])
    out: dict[str, list[float]] = {"count": [], "sums": [], "equal": []}
    for p in workers:
        models, slowest = [], []
        for part in np.array_split(np.arange(n_rows), p):
            rows = slice(part[0], part[-1] + 1)
            start = time.process_time()
            models.append(NaiveBayesClassifier().fit(X.iloc[rows], y[rows]))
            slowest.append(time.process_time() - start)
        levels = 0.0
        while len(models) > 1:
            models, level = _add_pairs(models)
            levels += level
        same = np.array_equal(models[0].predict_joint_log_proba(X.iloc[:1000]), expected)
        # One of thousands of timings is always late: the slowest of 95 % stands for all.
        out["count"].append(float(np.quantile(slowest, 0.95)))
        out["sums"].append(levels)
        out["equal"].append(float(same))
    per_level = [s / max(math.log2(p), 1) for s, p in zip(out["sums"], workers, strict=True)]
    return {
        "workers": list(workers), **out, "per_level": per_level, "alone": alone,
        "unequal": sum(1 - e for e in out["equal"]), "accuracy": 0.0,
        "speed_up": alone / min(c + s for c, s in zip(out["count"], out["sums"], strict=True)),
        "level_growth": per_level[-1] / per_level[1],
    }  # fmt: skip


def _add_pairs(models: list[Any]) -> tuple[list[Any], float]:
    """One level of the tree, and the seconds of a typical sum: all happen at the same time."""
    took, above = [], []
    for k in range(0, len(models) - 1, 2):
        start = time.process_time()
        above.append(merge(models[k : k + 2]))
        took.append(time.process_time() - start)
    return above + models[len(models) - len(models) % 2 :], float(np.quantile(took, 0.95))


# ---------------------------------------------------------------------------------------------
# Two real workers
# ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _rows(seed: int, n: int, attributes: int) -> tuple[Any, Any]:
    return make_rows(n, attributes, VALUES, seed)


def _count(seed: int, n: int, attributes: int) -> tuple[Any, float]:
    """In a worker: its own rows, made once, counted, and the seconds of its processor."""
    X, y = _rows(seed, n, attributes)
    start = time.process_time()
    model = NaiveBayesClassifier(n_jobs=1).fit(X, y)
    return model, time.process_time() - start


def work_together(n_each: int, attributes: int) -> dict[str, Any]:
    """Two parts counted by one process after the other, and by two at the same time.

    In processor time, that of the slower worker and of adding what both have counted: other
    programs may be running.
    """
    context = multiprocessing.get_context("spawn")
    took: dict[int, float] = {}
    for n in (1, 2):
        with ProcessPoolExecutor(n, mp_context=context) as pool:
            for _ in range(3):  # the first rounds make rows and compile
                start = time.process_time()
                jobs = [pool.submit(_count, seed, n_each, attributes) for seed in (0, 1)]
                models, seconds = zip(*(job.result() for job in jobs), strict=True)
                merge(list(models))
                taken = time.process_time() - start + (sum(seconds) if n == 1 else max(seconds))
                took[n] = min(took.get(n, math.inf), taken)
    return {"one": took[1], "two": took[2], "speed_up": took[1] / took[2], "accuracy": 0.0}
