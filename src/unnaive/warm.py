"""``python -m unnaive.warm`` compiles the kernels of all models, for an image or a shared cache.

Machine code is kept beside the installed library, or under ``NUMBA_CACHE_DIR``; fits of later
processes on the same kind of processor find it there. ``--into FOLDER`` writes the machine code
that comes with the library, which a build of the package does.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
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

MANY = 70_000  # distinct numbers, more than a grid has cells: they take other kernels
# Processors to compile for other than this one, and what they can do in LLVM's words.
PROCESSORS = {
    "generic": "",
    "x86-64-v3": (
        "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,"
        "+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
    ),
}


def tables() -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]]:
    """Small tables of numbers, text and gaps, with two and three classes, and one of numbers alone;
    with weights.
    """
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
    yield rng.normal(y[:, None], 1.0, (400, 7)), y, rng.random(400) + 0.5


def works() -> dict[str, Callable[[], None]]:
    """What is done to have everything compiled, by what it is for."""
    from unnaive.choose import AutoClassifier
    from unnaive.estimator.registry import estimators, family

    makers: dict[str, Callable[[], Any]] = {name: member.make for name, member in family().items()}
    listed = {AutoClassifier, *(member.estimator for member in family().values())}
    makers |= {
        name: cls for name, cls in estimators().items() if cls not in listed and name != "Timeline"
    }
    others = {
        "many": _use_many,
        "rare": _use_rare,
        "shapes": _use_shapes,
        "options": _use_options,
        "explanations": _use_explanations,
        "drift": _use_drift,
    }
    return {**{name: partial(_use, make) for name, make in makers.items()}, **others}


def _use(make: Callable[[], Any]) -> None:
    from sklearn.base import is_classifier

    from unnaive import explain_rows

    for X, y, weight in tables():
        for weights in (None, weight):
            model = make().fit(X, y, sample_weight=weights)
            for method in ("predict_proba", "predict", "evidence", "transform"):
                if hasattr(model, method):
                    getattr(model, method)(X)
            if is_classifier(model):
                explain_rows(model, X, top=2)


def _use_many() -> None:
    from unnaive import NaiveBayesClassifier

    X = np.random.default_rng(0).normal(size=(MANY, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 2] = X[:, 2].round(2)  # numbers that come again and again have kernels of their own
    for numeric in ("mdl", "gaussian", "kernel"):
        NaiveBayesClassifier(numeric=numeric).fit(X, y).predict_proba(X)


def _use_rare() -> None:
    """A class of few rows among many that are sure of theirs."""
    from unnaive import BaggedNaiveBayesClassifier, BoostedNaiveBayesClassifier

    X = np.random.default_rng(0).normal(size=(9000, 6))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    y[:5] = 2
    for model in (BaggedNaiveBayesClassifier(random_state=0), BoostedNaiveBayesClassifier()):
        model.fit(X, y)


def _use_shapes() -> None:
    """One column of text, text with many values, many classes, rows that come later."""
    from unnaive import NaiveBayesClassifier, NBTreeClassifier, UnnaiveBayesClassifier

    rng = np.random.default_rng(0)
    numbers, y = rng.normal(size=(2000, 3)), rng.integers(0, 20, 2000)
    few, many = (rng.integers(0, n, (2000, 1)).astype(str).astype(object) for n in (3, 400))
    models = NaiveBayesClassifier, NBTreeClassifier, UnnaiveBayesClassifier
    for model, column in itertools.product(models, (few, many)):
        model().fit(column, y).predict_proba(column)
    for model, n_classes in itertools.product(models, (2, 20)):
        X = np.hstack([numbers + y[:, None] % n_classes, many, few])
        model().fit(X, y % n_classes).predict_proba(X)
    wide = np.hstack([numbers] * 3)  # of which a few columns are summed at a time
    rules, weights = ("mdl", "gaussian", "kernel"), (None, y + 0.5)
    for numeric, weight, X in itertools.product(rules, weights, (numbers, wide)):
        learner = NaiveBayesClassifier(numeric=numeric)
        learner.partial_fit(X, y, sample_weight=weight)
        learner.partial_fit(X + 1, y, sample_weight=weight).predict_proba(X)


def _use_options() -> None:
    """Options that take kernels of their own."""
    from sklearn.base import clone

    from unnaive import (
        BoostedNaiveBayesClassifier,
        HierarchicalMixtureClassifier,
        LatentClassClusterer,
        NaiveBayesClassifier,
    )

    for model in (
        BoostedNaiveBayesClassifier(algorithm="m1"),
        HierarchicalMixtureClassifier(training="batch", random_state=0),
        LatentClassClusterer(2, init="random", n_init=1, random_state=0),
        NaiveBayesClassifier(numeric="kernel", bandwidth="cv"),
    ):
        _use(partial(clone, model))


def _use_explanations() -> None:
    """Why rows with categories of two bytes are answered so, and what matters."""
    from unnaive import (
        NaiveBayesClassifier,
        RandomForestClassifier,
        UnnaiveBayesClassifier,
        evidence_of,
        explain_rows,
        importance_of,
    )

    rng = np.random.default_rng(0)
    X = rng.integers(0, 300, (400, 2)).astype(str).astype(object)
    y = rng.integers(0, 2, 400)
    for make in (NaiveBayesClassifier, RandomForestClassifier, UnnaiveBayesClassifier):
        model = make().fit(X, y)
        explain_rows(model, X, top=2)
        importance_of(model, X)
        evidence_of(model)
        model.feature_importances_  # noqa: B018


def _use_drift() -> None:
    from unnaive import NaiveBayesClassifier, drift

    for X, y, _ in tables():
        model = NaiveBayesClassifier().fit(X, y)
        drift(model, X[:200], y[:200])
        drift(model, X[:200])
        model.forget(X[:100], y[:100])


def build(into: Path, names: list[str], jobs: int, processor: str | None, whole: bool) -> None:
    """Write machine code that comes with the library, compiled in several processes.

    Parameters
    ----------
    into : path
        A folder for folders of targets.
    names : list of str
        What to do of `works`.
    jobs : int
        Number of processes.
    processor : str, optional
        One of `PROCESSORS`; without it, that of this machine.
    whole : bool
        Whether these are all works, so that what none of them needs is removed.
    """
    files: set[str] = set()
    with (
        tempfile.TemporaryDirectory() as cache,
        _environment(cache, processor),
        ProcessPoolExecutor(jobs, get_context("spawn")) as pool,
    ):
        folder, is_done = pool.submit(_begin, into).result()
        if is_done:
            print(f"{folder} has all kernels of these sources")
            return
        # Those that take longest are among the last, and are begun first.
        started = {pool.submit(_build, name, folder): name for name in reversed(names)}
        for k, done in enumerate(as_completed(started), 1):
            taken, written = done.result()
            files |= written
            print(f"{k}/{len(names)} {started[done]}: {taken:.1f} s", flush=True)
        pool.submit(_end, folder, files if whole else None).result()
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(files)} kernels, {size / 1e6:.1f} MB in {folder}")


@contextmanager
def _environment(cache: str, processor: str | None) -> Iterator[None]:
    """What Numba reads when processes start: where to keep what it compiles, and for what."""
    before = dict(os.environ)
    os.environ.setdefault("NUMBA_CACHE_DIR", cache)
    if processor:
        os.environ["NUMBA_CPU_NAME"] = processor
        os.environ["NUMBA_CPU_FEATURES"] = PROCESSORS[processor]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _begin(into: Path) -> tuple[Path, bool]:
    """The folder of the target, without what was left there by other versions; is all there?"""
    from unnaive.common import machine_code

    folder = into / machine_code.target_name()
    if not machine_code.suits(folder):
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder, machine_code.built_from(folder) == _sources()


def _sources() -> str:
    """A digest of all sources of the library: a build asks twice, for its metadata first."""
    here = Path(__file__).parent
    texts = [f"{path.relative_to(here)}\n{path.read_text()}" for path in sorted(here.rglob("*.py"))]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _build(name: str, folder: Path) -> tuple[float, set[str]]:
    """Do one thing of `works` in a process that writes machine code."""
    from unnaive.common import jit, machine_code

    machine_code.FOLDER = folder.parent  # what is there already is not compiled again
    jit.builder = jit.builder or machine_code.Builder(folder)
    return _timed(works()[name]), jit.builder.files


def _end(folder: Path, files: set[str] | None) -> None:
    """Say what the folder is for, once all is in it and what is of earlier sources is not."""
    from unnaive.common import machine_code

    if files is not None:
        for path in folder.glob("*.kernel"):
            if path.name not in files:
                path.unlink()
    machine_code.write_target(folder, "" if files is None else _sources())


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
    parser.add_argument(
        "--processor", choices=PROCESSORS, help="compile for it, not for this one, with --into"
    )
    options = parser.parse_args(arguments)
    every = list(works())
    unknown = [name for name in options.models if name not in every]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(every)}")
    names = options.models or every
    if options.into:
        build(options.into, names, options.jobs, options.processor, whole=not options.models)
        return
    for k, name in enumerate(names, 1):
        print(f"{k}/{len(names)} {name}: {_timed(works()[name]):.1f} s", flush=True)


if __name__ == "__main__":
    main()
