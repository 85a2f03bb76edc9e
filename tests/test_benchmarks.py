"""Benchmarks are not run by the tests, but they must start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
NAMES = ["speed", "scale", "quality", "kohavi", "wang", "decomposition", "wiering"]


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_starts(name):
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    assert "usage" in subprocess.check_output(command, cwd=HERE, text=True)
