"""A build of the package compiles kernels where it can, and never fails because of them."""

from __future__ import annotations

import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Interface:
    """As much of hatchling's class as the hook sees."""

    def __init__(self):
        self.root = str(ROOT)
        self.warnings = []
        self.app = types.SimpleNamespace(display_warning=self.warnings.append)
        core = types.SimpleNamespace(dependencies=["numba", "numpy"])
        self.metadata = types.SimpleNamespace(core=core)


@pytest.fixture
def hook(monkeypatch):
    place = "hatchling.builders.hooks.plugin.interface"
    module = types.ModuleType(place)
    module.BuildHookInterface = Interface
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin", types.ModuleType("plugin"))
    monkeypatch.setitem(sys.modules, place, module)
    monkeypatch.delenv("UNNAIVE_MACHINE_CODE", raising=False)
    return runpy.run_path(str(ROOT / "hatch_build.py"))["MachineCodeHook"]()


@pytest.fixture
def commands(monkeypatch):
    """Commands that are run, with their environment."""
    run = []
    monkeypatch.setattr(subprocess, "run", lambda command, **own: run.append((command, own["env"])))
    return run


def wheel():
    return {"artifacts": [], "pure_python": True, "infer_tag": False}


def test_a_wheel_holds_machine_code_and_is_for_one_platform(hook, commands, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "of-the-build")
    hook.initialize("standard", data := wheel())
    assert data == {
        "artifacts": ["/src/unnaive/machine_code/**"],
        "pure_python": False,
        "infer_tag": True,
    }
    ((command, environment),) = commands
    assert command[1:] == ["-m", "unnaive.build_kernels", "--into", "src/unnaive/machine_code"]
    assert environment["PYTHONPATH"].endswith("of-the-build")
    assert hook.dependencies() == ["numba", "numpy"]


def test_a_wheel_that_travels_names_its_processor(hook, commands, monkeypatch):
    monkeypatch.setenv("UNNAIVE_MACHINE_CODE", "x86-64-v3")
    hook.initialize("standard", wheel())
    ((command, environment),) = commands
    assert command[-2:] == ["--processor", "x86-64-v3"]
    assert "UNNAIVE_MACHINE_CODE" not in environment


def test_an_editable_install_compiles_into_the_checkout(hook, commands):
    hook.initialize("editable", data := wheel())
    assert data == wheel()
    assert len(commands) == 1


def test_machine_code_can_be_declined_with_all_that_it_needs(hook, commands, monkeypatch):
    monkeypatch.setenv("UNNAIVE_MACHINE_CODE", "0")
    hook.initialize("standard", data := wheel())
    assert (data, commands, hook.dependencies()) == (wheel(), [], [])


@pytest.mark.parametrize(
    "error",
    [
        OSError("no such program"),
        subprocess.CalledProcessError(1, "python"),
        subprocess.TimeoutExpired("python", 3600),
    ],
)
def test_where_compiling_fails_the_wheel_is_built_without(hook, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    hook.initialize("standard", data := wheel())
    assert data == wheel()
    assert "built without machine code" in hook.warnings[0]
