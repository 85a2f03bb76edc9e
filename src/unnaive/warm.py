"""``python -m unnaive.warm`` compiles the kernels of all models, for an image or a shared cache.

Machine code is kept beside the installed library, or under ``NUMBA_CACHE_DIR``; fits of later
processes on the same kind of processor find it there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common import compile as compiling
from unnaive.common import machine_code

MANY = 70_000  # distinct numbers, more than a grid has cells: they take other kernels


def tables() -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]]:
    """Small tables of numbers, text and gaps, with two and three classes, and weights."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        y = rng.integers(0, n_classes, 400)
        X = np.empty((400, 6), dtype=object)
        X[:, 0] = rng.normal(y, 1)
        X[:, 1] = rng.integers(0, 9, 400) + y
        X[:, 2] = rng.normal(size=400)
        X[::10, 2] = None
        for j in (3, 4, 5):
            X[:, j] = np.array(list("abcd"))[(y + rng.integers(0, 3, 400)) % 4]
        yield X, y, rng.random(400) + 0.5


def works() -> dict[str, Callable[[], None]]:
    """What is done to have everything compiled, by what it is for."""
    from unnaive.choose import AutoClassifier
    from unnaive.estimator.registry import estimators, family

    makers: dict[str, Callable[[], Any]] = {name: own.make for name, own in family().items()}
    listed = {AutoClassifier, *(own.estimator for own in family().values())}
    makers |= {name: own for name, own in estimators().items() if own not in listed}
    return {**{name: partial(_use, make) for name, make in makers.items()}, "many": _use_many}


def _use(make: Callable[[], Any]) -> None:
    for X, y, weight in tables():
        for weights in (None, weight):
            model = make().fit(X, y, sample_weight=weights)
            for method in ("predict_proba", "predict", "evidence", "transform"):
                if hasattr(model, method):
                    getattr(model, method)(X)


def _use_many() -> None:
    from unnaive import NaiveBayesClassifier

    X = np.random.default_rng(0).normal(size=(MANY, 2))
    y = (X[:, 0] > 0).astype(int)
    for numeric in ("mdl", "gaussian", "kernel"):
        NaiveBayesClassifier(numeric=numeric).fit(X, y).predict_proba(X)


def build(into: Path, names: list[str], jobs: int, whole: bool) -> None:
    """Write machine code that comes with the library, compiled in several processes."""
    from numba.core.registry import cpu_target

    context = cpu_target.target_context
    folder = into / machine_code.target_name(context)
    if not machine_code.suits(folder, context):  # of other versions, or not finished
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    files: set[str] = set()
    with _own_cache(), ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        # Those that take longest are last in the list, and are begun first.
        started = {pool.submit(_build, name, folder): name for name in reversed(names)}
        for k, done in enumerate(as_completed(started), 1):
            taken, found = done.result()
            files |= found
            print(f"{k}/{len(names)} {started[done]}: {taken:.1f} s", flush=True)
    for path in folder.glob("*.kernel"):
        if whole and path.name not in files:  # of earlier sources
            path.unlink()
    machine_code.write_target(folder, context)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(files)} files, {size / 1e6:.1f} MB in {folder}")


@contextmanager
def _own_cache() -> Iterator[None]:
    """Kernels are compiled into a folder that is removed, unless there is one for them."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["NUMBA_CACHE_DIR"]


def _build(name: str, folder: Path) -> tuple[float, set[str]]:
    """Do one thing of `works` in a process that writes machine code."""
    compiling.builder = compiling.builder or machine_code.Builder(folder)
    return _timed(works()[name]), compiling.builder.files


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of such small tables
        work()
    return time.perf_counter() - start


def main(arguments: list[str] | None = None) -> None:
    """Compile all, and say how far it is."""
    parser = argparse.ArgumentParser(prog="python -m unnaive.warm", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of some models; all without one")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="write machine code to come with the library"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile, with --into"
    )
    options = parser.parse_args(arguments)
    every = list(works())
    unknown = [name for name in options.models if name not in every]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(every)}")
    names = options.models or every
    if options.into:
        build(options.into, names, options.jobs, whole=not options.models)
        return
    for k, name in enumerate(names, 1):
        print(f"{k}/{len(names)} {name}: {_timed(works()[name]):.1f} s", flush=True)


if __name__ == "__main__":
    main()
