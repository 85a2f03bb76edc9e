"""Kernels are compiled and cached in one way, and a cache that fails is no error."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import polars as pl
import pyarrow as pa
import pytest
from numba.core.dispatcher import Dispatcher

import unnaive
from helpers import mixed_table
from unnaive import NaiveBayesClassifier, warm
from unnaive.common import jit as compiling
from unnaive.common.compile import interpreted, kernel
from unnaive.encode.instructions import float_bits

SOURCE = Path(unnaive.__file__).parent
MODULE = """
from unnaive.common.compile import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a module with one kernel as a new process would: the result, whether it came from the
    cache, and warnings.
    """
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "module.py").write_text(MODULE)

    def run():
        monkeypatch.setattr(compiling, "_warned", [])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            twice = runpy.run_path(str(tmp_path / "module.py"))["twice"]
            result = [twice(1.5), twice(3)]  # two types of arguments
        return result, sum(twice.stats.cache_hits.values()), [str(w.message) for w in caught]

    return run


def test_a_kernel_is_compiled_once_and_then_read_from_the_cache(run):
    assert run() == ([3.0, 6], 0, [])
    assert run() == ([3.0, 6], 2, [])


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("keep", [0, 10, 100])
def test_a_damaged_cache_is_compiled_again_with_one_warning_and_repaired(
    run, tmp_path, ending, keep
):
    run()
    for file in tmp_path.rglob(f"*.{ending}"):
        file.write_bytes(file.read_bytes()[:keep])
    result, hits, (warning,) = run()
    assert (result, hits) == ([3.0, 6], 0)
    assert "damaged files" in warning
    assert "Set the environment variable NUMBA_CACHE_DIR" in warning
    assert run() == ([3.0, 6], 2, [])


def test_a_disk_that_fills_while_kernels_are_compiled_is_no_error(run, monkeypatch):
    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    result, hits, (warning,) = run()
    assert (result, hits) == ([3.0, 6], 0)
    assert "No space left on device" in warning


def test_without_any_folder_for_a_cache_a_process_works_with_one_warning():
    """As an installation that cannot be written to, and no home."""
    code = (
        "import numpy as np; from unnaive.encode.labels import _mark; a = np.zeros(3, np.bool_); "
        "_mark(np.array([0, 2]), a); print(a.tolist())"
    )
    nowhere = {
        "NUMBA_CACHE_DIR": "/dev/null/none",
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "UNNAIVE_MACHINE_CODE": "0",
    }
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[True, False, True]"
    assert found.stderr.count("RuntimeWarning") == 1
    assert "Set the environment variable NUMBA_CACHE_DIR" in found.stderr


def test_processes_that_start_at_once_compile_a_kernel_once(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    code = """
import numba, os, unnaive.common.jit
numba.njit(lambda: 0)()  # what Numba loads before it compiles is loaded once
for _ in range(8):
    if not (child := os.fork()):
        from module import twice
        os.write(1, f"{twice(1.5)} {sum(twice.stats.cache_hits.values())} ".encode())
        os._exit(0)
assert [os.wait()[1] for _ in range(8)] == [0] * 8
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert found[::2] == ["3.0"] * 8
    assert sorted(found[1::2]) == ["0", *["1"] * 7]


def test_numbers_that_are_written_out_compile_no_kernel_again():
    @kernel
    def shifted(x, by):
        return x + by

    @kernel
    def around(x):
        return shifted(x, -1), shifted(x, 1), shifted(x, by=2)

    assert around(5) == (4, 6, 7)
    assert len(shifted.overloads) == 1


@pytest.mark.parametrize("looked_at", [False, True])
def test_long_compiling_is_told_once(run, monkeypatch, caplog, capsys, looked_at):
    monkeypatch.setattr(compiling, "NOTICE_AFTER", 0.0)
    monkeypatch.setattr(compiling, "_clock", compiling._Clock())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: looked_at)
    with caplog.at_level("INFO", "unnaive"):
        run()
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "compiling for this machine"
    ]
    assert capsys.readouterr().err.count("python -m unnaive.warm") == looked_at


def test_tables_of_any_library_take_the_same_machine_code():
    def compiled():
        return {
            (name, signature)
            for module in [*sys.modules.values()]
            if getattr(module, "__name__", "").startswith("unnaive.")
            for name, own in vars(module).items()
            if isinstance(own, Dispatcher)
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


def test_warming_says_how_far_it_is(capsys):
    warm.main(["nb"])
    assert re.fullmatch(r"1/1 nb: \d+\.\d s\n", capsys.readouterr().out)
    with pytest.raises(SystemExit):
        warm.main(["nonsense"])
    assert "no model 'nonsense'; there are nb, gaussian" in capsys.readouterr().err
    assert {"unnaive", "Discretizer", "nbtree", "many"} <= warm.works().keys()


def test_kernels_run_as_python_before_numba_is_told_of_them():
    @kernel
    def half(x):
        return x / 2

    @kernel
    def quarter(x):
        return half(half(x))

    with interpreted():
        assert quarter(3.0) == 0.75
        assert not hasattr(quarter, "__len__")  # asking for what Python looks up makes nothing
        assert quarter._made is half._made is None
        assert number_bits(1.0) == 1023 << 52  # its instruction is Numba's alone
    assert quarter(3.0) == 0.75
    assert isinstance(half, Dispatcher)  # made with the one that calls it, and in its place


@kernel
def number_bits(x):
    return float_bits(x)


def test_all_kernels_go_through_the_one_decorator():
    texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    direct = [path.name for path, text in texts.items() if re.search(r"\bn?jit\(", text)]
    assert direct == ["jit.py"]
    assert sum(text.count("\n@kernel") for text in texts.values()) > 150
