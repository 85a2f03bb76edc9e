"""Kernels are compiled once; a cache that is missing, damaged or full is no error."""

from __future__ import annotations

import json
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import unnaive
from helpers import mixed_table
from unnaive import NaiveBayesClassifier
from unnaive.common import kernels
from unnaive.common.kernels import Kernel, kernel
from unnaive.counts.kernels import count_one

MODULE = """
from unnaive.common.kernels import kernel
FACTOR = 2

@kernel
def times(x):
    return FACTOR * x
"""
CALLER = """
from unnaive.common.kernels import kernel
from callee import times

@kernel
def more(x):
    return times(x) + 1
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run two modules with a kernel each as a new process would: results, hits and warnings."""
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(kernels, "SHIPPED", tmp_path / "shipped")
    monkeypatch.syspath_prepend(tmp_path)

    def run(callee=MODULE, caller=CALLER):
        monkeypatch.setattr(kernels, "_warned", [])
        kernels.shipped_folder.cache_clear()
        (tmp_path / "callee.py").write_text(callee)
        (tmp_path / "caller.py").write_text(caller)
        monkeypatch.delitem(sys.modules, "callee", raising=False)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            more = runpy.run_path(str(tmp_path / "caller.py"))["more"]
            result = [more(1.5), more(3)]
        return result, sum(more.stats.cache_hits.values()), [str(w.message) for w in caught]

    yield run
    kernels.shipped_folder.cache_clear()


@pytest.fixture
def shipped(run, tmp_path):
    """The folder of shipped machine code for this machine, with all files of both kernels."""
    run()
    folder = shutil.copytree(tmp_path / "cache", tmp_path / "shipped" / "here")
    shutil.rmtree(tmp_path / "cache")
    target = kernels.cpu_target.target_context.codegen().magic_tuple()
    (folder / "target.json").write_text(json.dumps([*target, "a digest"]))
    return folder


def test_a_kernel_is_compiled_once_and_then_read_from_the_cache(run):
    assert run() == ([4.0, 7], 0, [])
    assert run() == ([4.0, 7], 2, [])


def test_shipped_files_are_used_and_nothing_is_written(run, shipped, tmp_path):
    assert run() == ([4.0, 7], 2, [])
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("of", ["cache", "shipped"])
@pytest.mark.parametrize("keep", [0, 10, 100, -1])
def test_damaged_files_are_compiled_again_with_one_warning(run, request, tmp_path, of, keep):
    run() if of == "cache" else request.getfixturevalue("shipped")
    for file in tmp_path.rglob("*.kernel"):
        file.write_bytes(file.read_bytes()[:keep])
    result, hits, (warning,) = run()
    assert (result, hits) == ([4.0, 7], 0)
    assert "is damaged (ValueError: wrong checksum)" in warning
    assert "NUMBA_CACHE_DIR" in warning
    assert run()[:2] == ([4.0, 7], 2)  # compiled into the user's cache


@pytest.mark.parametrize(
    "target", [["wasm32", "", ""], ["", "", "+sixteen-bit"], [], {}, 3], ids=str
)
def test_files_for_another_processor_are_not_used(run, shipped, target):
    told = json.loads((shipped / "target.json").read_text())
    if isinstance(target, list):
        target = [new or old for new, old in zip(target, told, strict=False)]
    (shipped / "target.json").write_text(json.dumps(target))
    assert run() == ([4.0, 7], 0, [])


def test_shipped_files_can_be_declined(run, shipped, monkeypatch):
    monkeypatch.setenv("UNNAIVE_MACHINE_CODE", "0")
    assert run() == ([4.0, 7], 0, [])


@pytest.mark.parametrize("change", [("FACTOR = 2", "FACTOR = 3"), ("FACTOR * x", "FACTOR * x * 1")])
def test_a_changed_callee_recompiles_its_callers(run, change):
    run()
    factor = 3 if change[1] == "FACTOR = 3" else 2
    assert run(MODULE.replace(*change)) == ([1.5 * factor + 1, 3 * factor + 1], 0, [])


def test_a_constant_that_is_imported_is_part_of_the_stamp(run, tmp_path):
    module = "from unnaive.common.kernels import kernel\nfrom constant import FACTOR\n"
    module += MODULE.split("FACTOR = 2")[1]
    for factor in (2, 3):
        sys.modules.pop("constant", None)
        (tmp_path / "constant.py").write_text(f"FACTOR = {factor}")
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        assert run(module)[:2] == ([1.5 * factor + 1, 3 * factor + 1], 0)
    del sys.modules["constant"]


def test_a_full_disk_is_no_error(run, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernels, "replacing", full)
    result, hits, (warning,) = run()
    assert (result, hits) == ([4.0, 7], 0)
    assert "No space left on device" in warning


def test_a_kernel_without_a_source_is_compiled_in_each_process(run, tmp_path):
    module = MODULE + "del globals()['__file__']\n"
    for _ in range(2):
        result, hits, (warning,) = run(module)
        assert (result, hits) == ([4.0, 7], 0)
        assert "cannot be cached" in warning
    assert not [*tmp_path.rglob("*.kernel")]


def test_literal_numbers_do_not_compile_a_kernel_again(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)

    @kernel
    def shifted(x, by):
        return x + by

    @kernel
    def around(x):
        return shifted(x, -1), shifted(x, 1), shifted(x, by=2)

    assert around(5) == (4, 6, 7)
    assert len(shifted.overloads) == 1


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(count_one)) is count_one


def test_tables_of_any_library_use_the_same_machine_code():
    def compiled():
        return {
            (name, signature)
            for module in [*sys.modules.values()]
            if getattr(module, "__name__", "").startswith("unnaive.")
            for name, own in vars(module).items()
            if isinstance(own, Kernel)
            for signature in own.overloads
        }

    X, y = mixed_table(200)
    X["plan"] = X["plan"].astype(str)
    NaiveBayesClassifier().fit(X, y).predict(X)
    before = compiled()
    assert before
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X), X.to_numpy()):
        NaiveBayesClassifier().fit(other, y).predict(other)
    assert compiled() == before


def test_the_build_compiles_once_(tmp_path):
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    first, again = (
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)
    )
    (target,) = tmp_path.iterdir()
    assert re.search(r"[1-9]\d* kernels, \d+\.\d MB in ", first.stdout)
    assert f"{target} has all kernels of these sources" in again.stdout


BUILD = """
import sys
from pathlib import Path
from unnaive import build_kernels
every = build_kernels.makers()
build_kernels.makers = lambda: {"Discretizer": every["Discretizer"]}
if __name__ == "__main__":
    build_kernels.build(Path(sys.argv[1]), 1)
"""


def test_all_kernels_go_through_the_one_decorator():
    source = Path(unnaive.__file__).parent
    texts = {path: path.read_text() for path in source.rglob("*.py")}
    assert not [path.name for path, text in texts.items() if re.search(r"\bn?jit\(|@njit", text)]
