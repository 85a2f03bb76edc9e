"""``python -m unnaive.build_kernels`` compiles the kernels of all models into the user's cache.

It is a step for a container's image. ``--into FOLDER`` writes the machine code that comes with the
library, which a build of the package does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Processors to compile for other than this one, and their features in LLVM's words.
PROCESSORS = {
    "x86-64-v3": (
        "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,"
        "+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
    ),
}


def tables() -> Iterator[tuple[Any, NDArray[Any], NDArray[np.float64] | None]]:
    """Yield tables, targets and weights: two small mixed ones, and one of many distinct numbers."""
    rng = np.random.default_rng(0)
    # Codes of one byte in the first table, of two in the second.
    for n_classes, n, n_categories in ((2, 200, 5), (3, 400, 300)):
        y = rng.integers(0, n_classes, n)
        X = np.empty((n, 6), dtype=object)
        X[:, 0] = rng.normal(y, 1)
        X[:, 1] = rng.integers(0, 9, n) + y
        X[:, 2] = np.where(np.arange(n) % 10, rng.normal(size=n), np.nan)
        X[:, 3:5] = np.array(list("abcd"))[(y[:, None] + rng.integers(0, 3, (n, 2))) % 4]
        X[:, 5] = rng.integers(0, n_categories, n).astype(str)
        yield X, y, None if n_classes == 2 else rng.random(n) + 0.5
    X = rng.normal(size=(70_000, 3))  # more numbers than a grid has cells
    X[:, 2] = X[:, 2].round(2)
    yield X, (X[:, 0] > 0).astype(int), None


def makers() -> dict[str, Callable[[], Any]]:
    """Return what makes each registered model, by its name."""
    from unnaive.common.registry import estimators, family

    made: dict[str, Callable[[], Any]] = {name: member.make for name, member in family().items()}
    listed = {member.estimator for member in family().values()}
    # These consist of models that are listed.
    composed = {"AnswerClassifier", "AutoClassifier", "PooledClassifier", "Timeline"}
    for name, cls in estimators().items():
        if cls not in listed and name not in composed:
            made[name] = cls
    return made


def use(name: str, folder: Path | None = None) -> set[str]:
    """Fit, predict and explain a model; return the names of the kernels' files."""
    from sklearn.base import is_classifier

    from unnaive import explain_rows
    from unnaive.common import kernels

    if folder is not None:
        kernels.cache_folder = lambda: folder
    make = makers()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of such small tables
        for X, y, weight in tables():
            model = make().fit(X, y, sample_weight=weight)
            for method in ("predict_proba", "predict", "transform"):
                if hasattr(model, method):
                    getattr(model, method)(X)
            if is_classifier(model):
                explain_rows(model, X[:100], top=2)
                if hasattr(model, "partial_fit"):
                    model.partial_fit(X, y, sample_weight=weight)
    return kernels.files_used


def build(into: Path, jobs: int, processor: str | None = None) -> None:
    """Compile the kernels that all models call, in several processes, into a folder of `into`."""
    os.environ["UNNAIVE_MACHINE_CODE"] = "0"
    if processor:
        os.environ |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": PROCESSORS[processor]}
    from numba.core.registry import cpu_target

    target = cpu_target.target_context.codegen().magic_tuple()
    sources = _sources()
    folder = into / target[1]
    told = folder / "target.json"
    text = json.dumps([*target, sources])
    if told.exists() and told.read_text() == text:
        print(f"{folder} has all kernels of these sources")
        return
    folder.mkdir(parents=True, exist_ok=True)
    files: set[str] = set()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        # Those that take longest are among the last, and are begun first.
        started = {pool.submit(use, name, folder): name for name in reversed(makers())}
        for done in as_completed(started):
            try:
                files |= done.result()
                print(started[done], flush=True)
            except Exception as error:  # its kernels are compiled when they are first used
                print(f"{started[done]} failed: {error!r}", file=sys.stderr)
    for path in folder.glob("*.kernel"):
        if path.name not in files:  # of earlier sources
            path.unlink()
    told.write_text(text)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(files)} kernels, {size / 1e6:.1f} MB in {folder}")


def _sources() -> str:
    """Return a digest of all sources: a build of the package asks twice, for its metadata first."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """Compile all kernels."""
    parser = argparse.ArgumentParser(prog="python -m unnaive.build_kernels", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="a folder to ship")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--processor", choices=PROCESSORS, help="compile for it, with --into")
    options = parser.parse_args(arguments)
    if options.into:
        build(options.into, options.jobs, options.processor)
    else:
        for name in makers():
            use(name)
            print(name, flush=True)


if __name__ == "__main__":
    main()
