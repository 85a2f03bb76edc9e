"""Runs by number in a process of their own, so that a crash or a hang is seen and named."""

from __future__ import annotations

import faulthandler
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SLOW = 20  # seconds after which a run hangs


def marked(first: int, last: int, mark: Path, slow: float = SLOW) -> Iterator[int]:
    """Numbers of runs; the one at work stands in ``mark``."""
    with mark.open("w") as file:
        for seed in range(first, last):
            file.seek(0)
            file.write(f"{seed:012}")
            file.flush()
            faulthandler.dump_traceback_later(slow, exit=True)
            try:
                yield seed
            finally:
                faulthandler.cancel_dump_traceback_later()


def watch(command: list[str], runs: int, first: int, word: str) -> int:
    """Run ``python -m command`` for some numbers, and say where it stopped."""
    with tempfile.NamedTemporaryFile(suffix=".fuzz") as mark:
        whole = [sys.executable, "-m", *command, "--mark", mark.name, "--first", str(first)]
        status = subprocess.call([*whole, f"--{word}s", str(runs)])
        if status:
            at = Path(mark.name).read_text() or "before the first"
            print(f"stopped with status {status} at {word} {at}")
    return int(status != 0)
