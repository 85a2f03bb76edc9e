"""Benchmarks are not run by the tests, but they must start."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
NAMES = ["first", "speed", "scale", "quality", "report"]


@pytest.mark.filterwarnings("ignore")  # of the peers' imports
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_starts(name, monkeypatch, capsys):
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    assert "usage" in capsys.readouterr().out
