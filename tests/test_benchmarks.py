"""Benchmarks are not run by the tests, but they must start."""

from __future__ import annotations

import json
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


def test_the_page_on_growth_is_what_its_results_say(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    from benchmarks.scale import growth

    costs = json.loads(growth.RESULTS.read_text(encoding="utf-8"))
    assert growth.PAGE.read_text(encoding="utf-8") == growth.page(costs)
    # Rows divide among workers, and what the driver does is the same for any number of them.
    few, many = (growth.predict(costs, 10**9, 200, workers) for workers in (10, 100))
    assert many["rows"] == pytest.approx(few["rows"] / 10)
    assert many["driver"] == few["driver"]
