"""Machine code that comes with the library is used where it fits, and nowhere else."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import runpy
import shutil
import subprocess
import sys
import warnings

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import unnaive
from unnaive import warm
from unnaive.common import jit as compiling
from unnaive.common import machine_code
from unnaive.common.compile import Later
from unnaive.common.stamps import signature_text, stamp

MODULE = """
from unnaive.common.compile import kernel
FACTOR = 2

@kernel
def times(x):
    return FACTOR * x

@kernel
def more(x):
    return times(x) + 1
"""
CALLER = """
@kernel
def other(x):
    return times(x) - 1
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of kernels that is read anew each time, as a new process would do it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(machine_code, "FOLDER", tmp_path / "machine_code")

    def module(text=MODULE):
        machine_code.target.cache_clear()
        monkeypatch.setattr(compiling, "_warned", [])
        (tmp_path / "module.py").write_text(text)
        return runpy.run_path(str(tmp_path / "module.py"))

    yield module
    machine_code.target.cache_clear()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The folder of a target with the machine code of ``more`` for two types of arguments."""
    place = tmp_path_factory.mktemp("original")
    folder = place / machine_code.target_name()
    folder.mkdir()
    (place / "module.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numba.config, "CACHE_DIR", str(place / "cache"))
        patched.setattr(compiling, "builder", machine_code.Builder(folder))
        more = runpy.run_path(str(place / "module.py"))["more"]
        assert (more(1.5), more(3)) == (4.0, 7)
    machine_code.write_target(folder)
    return folder


@pytest.fixture
def built(tmp_path, module, original):
    """A copy of it, as a part of the installed library."""
    return shutil.copytree(original, tmp_path / "machine_code" / original.name)


def used(kernels, *call):
    """What ``more`` says, how often machine code came from anywhere, and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = [kernels["more"](x) for x in call or (1.5,)]
    hits = sum(kernels["more"].stats.cache_hits.values())
    return result, hits, [str(warning.message) for warning in caught]


def test_what_came_along_is_not_compiled_and_needs_no_cache(module, built, tmp_path):
    assert used(module(), 1.5, 3) == ([4.0, 7], 2, [])
    assert not (tmp_path / "cache").exists()


def test_only_what_python_calls_comes_along(module, built, monkeypatch):
    assert len([*built.glob("*.kernel")]) == 2  # times is a part of more
    monkeypatch.setattr(compiling, "builder", machine_code.Builder(built))
    kernels = module()
    assert kernels["more"](1 + 2j) == 3 + 4j
    assert kernels["times"](1 + 2j) == 2 + 4j  # it was compiled as a part of more before
    assert kernels["times"](1 + 2j) == 2 + 4j
    assert len([*built.glob("*.kernel")]) == 4


def test_types_that_did_not_come_along_are_compiled(module, built):
    assert used(module(), 1.5, 1 + 2j, 3) == ([4.0, 3 + 4j, 7], 2, [])


def test_a_kernel_that_is_compiled_may_call_one_that_came_along(module, built):
    kernels = module(MODULE + CALLER.replace("times", "more"))
    assert kernels["more"](1.5) == 4.0
    assert kernels["more"].stats.cache_hits.total() == 1
    assert kernels["other"](1.5) == 3.0
    assert [kernels["more"](x) for x in (1.5, 3, 1.5)] == [4.0, 7, 4.0]
    assert kernels["other"](3) == 6


@pytest.mark.parametrize("keep", [0, 10, 100, -1])
def test_damaged_machine_code_is_never_called(module, built, keep):
    for file in built.glob("*.kernel"):
        file.write_bytes(file.read_bytes()[:keep])
    result, hits, (warning,) = used(module())
    assert (result, hits) == ([4.0], 0)
    assert "is damaged (ValueError: other bytes than were written, in " in warning
    assert "Install the library again" in warning


def test_a_single_wrong_byte_anywhere_is_noticed(module, built):
    for k, file in enumerate(built.glob("*.kernel")):
        data = bytearray(file.read_bytes())
        data[(k + 1) * len(data) // 3] ^= 1
        file.write_bytes(data)
    assert used(module())[:2] == ([4.0], 0)


def test_machine_code_under_the_name_of_another_is_never_called(module, built):
    first, second = built.glob("*.kernel")
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    result, hits, (warning,) = used(module())
    assert (result, hits) == ([4.0], 0)
    assert "other types of arguments" in warning


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"features": 1}', "\0", None])
def test_a_folder_that_does_not_say_for_what_it_is_is_not_used(module, built, text):
    target = built / "target.json"
    target.unlink() if text is None else target.write_text(text)
    assert used(module()) == ([4.0], 0, [])


@pytest.mark.parametrize(
    "change",
    [
        {"environment": {"numba": "0.1"}},
        {"environment": {"llvmlite": "0.1"}},
        {"environment": {"python": "cpython-31"}},
        {"environment": {"platform": "linux aarch64"}},
        {"environment": {"format": 0}},
        {"features": ["sixteen-bit"]},
    ],
    ids=str,
)
def test_machine_code_for_another_machine_is_not_used(module, built, change):
    told = json.loads((built / "target.json").read_text())
    told["environment"] |= change.get("environment", {})
    told["features"] += change.get("features", [])
    (built / "target.json").write_text(json.dumps(told))
    assert used(module()) == ([4.0], 0, [])


def test_a_processor_that_can_do_more_uses_it_and_the_richest_target_is_taken(module, built):
    told = json.loads((built / "target.json").read_text())
    poor = built.with_name("poor")
    poor.mkdir()
    (poor / "target.json").write_text(json.dumps(told | {"features": told["features"][:1]}))
    module()
    assert machine_code.target() == built
    (built / "target.json").unlink()
    module()
    assert machine_code.target() == poor


@pytest.mark.parametrize(
    "text",
    [
        MODULE.replace("FACTOR = 2", "FACTOR = 3"),
        MODULE.replace("return FACTOR * x", "return x * FACTOR * 1.5"),
        MODULE.replace("+ 1", "+ 2"),
    ],
)
def test_machine_code_of_earlier_sources_is_not_used(module, built, text):
    kernels = module(text)
    assert used(kernels) == ([kernels["more"].py_func(1.5)], 0, [])


def test_settings_of_numba_that_change_kernels_are_heeded(module, built, monkeypatch):
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert used(module()) == ([4.0], 0, [])


def test_machine_code_can_be_declined(module, built, monkeypatch):
    monkeypatch.setenv("UNNAIVE_MACHINE_CODE", "0")
    assert used(module()) == ([4.0], 0, [])


def test_without_the_c_function_that_it_calls_it_is_compiled(module, built, monkeypatch):
    known = machine_code.binding.address_of_symbol
    monkeypatch.setattr(
        machine_code.binding,
        "address_of_symbol",
        lambda name: None if name == "PyErr_SetString" else known(name),
    )
    result, hits, warned = used(module())
    assert (result, hits) == ([4.0], 0)
    assert "there is no function PyErr_SetString" in warned[0]


def test_eight_processes_at_once_read_what_came_along(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    code = """
import os, pathlib
from unnaive.common import jit, machine_code
machine_code.FOLDER = pathlib.Path("machine_code").absolute()

def call():
    from module import more
    os.write(1, f"{more(1.5)} {sum(more.stats.cache_hits.values())} ".encode())

def build():
    folder = machine_code.FOLDER / machine_code.target_name()
    folder.mkdir(parents=True)
    jit.builder = machine_code.Builder(folder)
    call()
    machine_code.write_target(folder)

for todo in ([build], [call] * 8):
    for own in todo:
        if not os.fork():
            own()
            os._exit(0)
    assert [os.wait()[1] for _ in todo] == [0] * len(todo)
    for file in pathlib.Path("cache").rglob("*.nb*"):
        file.unlink()
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["4.0", "0", *["4.0", "1"] * 8]
    assert not [*(tmp_path / "cache").rglob("*.nbc")]


FIT = """
import io, pathlib, sys, numpy as np
import unnaive
from unnaive.common import machine_code
machine_code.FOLDER = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(0)
X = np.empty((300, 4), dtype=object)
X[:, 0], X[:, 1] = rng.normal(size=300), rng.integers(0, 9, 300)
X[:, 2], X[:, 3] = rng.choice(list("xyz"), (2, 300))
y = np.where(X[:, 1] + (X[:, 2] == "x") > 3, "yes", "no")
model = unnaive.NaiveBayesClassifier().fit(X, y)
unnaive.save(model, sys.argv[2])
sys.stdout.buffer.write(model.predict_proba(X).tobytes())
# What only compiling needs of Numba is not imported.
assert ("numba.np.arrayobj" in sys.modules) != machine_code.FOLDER.exists()
"""


def test_models_have_the_same_bytes_as_with_compiled_kernels(tmp_path, capfd):
    built = machine_code.FOLDER  # by `make`, if it is of these sources
    if machine_code.built_from(built / machine_code.target_name()) != warm._sources():
        built = tmp_path / "built"
        warm.main(["--into", str(built), "--jobs", "1", "nb"])
        assert "1/1 nb: " in capfd.readouterr().out
    found = []
    for folder, cache in [(built, str(tmp_path / "none")), (tmp_path / "absent", None)]:
        environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
        command = [sys.executable, "-c", FIT, str(folder), str(tmp_path / "model")]
        out = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        found.append((out, (tmp_path / "model").read_bytes()))
    assert found[0] == found[1]
    assert not (tmp_path / "none").exists()  # nothing was compiled


def test_a_folder_with_all_kernels_of_the_sources_is_not_built_again(built):
    machine_code.write_target(built, warm._sources())
    assert warm._begin(built.parent) == (built, True)
    machine_code.write_target(built)
    assert warm._begin(built.parent) == (built, False)
    (built / "target.json").unlink()
    assert warm._begin(built.parent) == (built, False)
    assert not [*built.iterdir()]  # of other versions, or not finished


def test_files_are_the_same_wherever_they_were_built(tmp_path):
    """And hold no path of that place, although an error of theirs names a file."""
    text = MODULE.replace("    return FACTOR * x", "    assert x < 10\n    return FACTOR * x")
    found = []
    for name in ("one", "another"):
        place = tmp_path / name
        (place / "folder").mkdir(parents=True)
        (place / "module.py").write_text(text)
        code = f"""
import numba, pathlib, runpy
from unnaive.common import jit, machine_code
numba.config.CACHE_DIR = {str(place / "cache")!r}
jit.builder = machine_code.Builder(pathlib.Path({str(place / "folder")!r}))
assert runpy.run_path({str(place / "module.py")!r})["more"](1.5) == 4.0
"""
        subprocess.run([sys.executable, "-c", code], check=True)
        (file,) = (place / "folder").iterdir()
        found.append((file.name, file.read_bytes()))
    assert found[0] == found[1]
    assert b"module.py" in found[0][1]
    assert bytes(tmp_path) not in found[0][1]


def test_every_kernel_has_a_stamp():
    names = [m.name for m in pkgutil.walk_packages(unnaive.__path__, "unnaive.")]
    modules = [importlib.import_module(name) for name in names if "kernels" in name]
    kernels = {
        own.made() if isinstance(own, Later) else own
        for module in modules
        for own in vars(module).values()
        if isinstance(own, (Later, Dispatcher)) and hasattr(own, "__wrapped__")
    }
    assert len(kernels) > 150
    assert len({stamp(own) for own in kernels}) == len(kernels)


def test_a_stamp_follows_code_constants_and_called_kernels_and_not_comments():
    def stamps(text):
        names = {}
        exec("from unnaive.common.compile import kernel\n" + text, names)
        return stamp(names["f"])

    before = "N = 2\n@kernel\ndef g(x): return x + N\n@kernel\ndef f(x): return g(x) * 3\n"
    assert stamps(before) == stamps("# a comment\nM = 5\n" + before)
    inlined = "@kernel(inline='always')\ndef g"
    changes = ("N = 2", "N = 2.0"), ("+ N", "- N"), ("* 3", "* 4"), ("@kernel\ndef g", inlined)
    for old, new in changes:
        assert stamps(before.replace(old, new)) != stamps(before)


def test_named_tuples_whose_fields_change_places_are_other_types():
    from collections import namedtuple

    def text(*fields):
        return signature_text([numba.typeof(namedtuple("Pair", fields)(1.0, 2.0))])

    assert text("a", "b") == text("a", "b") != text("b", "a")


def test_a_kernel_with_something_unknown_has_no_stamp_and_is_compiled(module, built):
    text = MODULE.replace("FACTOR = 2", "import unnaive.common as FACTOR")
    with pytest.raises(TypeError, match=r"no stamp for names of unnaive\.common"):
        stamp(module(text)["more"])
