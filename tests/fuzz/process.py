"""Runs by number in a process of their own, so that a crash or a hang is seen and named."""

from __future__ import annotations

import argparse
import faulthandler
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

SLOW = 60  # seconds after which a run hangs
BAD = "bad"  # in the outcome of a run: a fault that does not end the process


def main(
    name: str, doc: str | None, run: Callable[[int, int, Path], Counter[str]], n: int, word: str
) -> int:
    """The command ``python -m name``: so many runs, or others, by number; its exit code."""
    parser = argparse.ArgumentParser(prog=name, description=doc)
    parser.add_argument(f"--{word}s", type=int, default=n, dest="n")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--mark", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only is not None:
        given.first, given.n, given.mark = given.only, 1, Path("/dev/null")
    if given.mark is None:
        return watch(name, given.n, given.first, word)
    counts = run(given.first, given.first + given.n, given.mark)
    for outcome, times in sorted(counts.items()):
        print(f"{times:9,}  {outcome}")
    return int(any(BAD in outcome for outcome in counts))


def marked(
    first: int, last: int, mark: Path, slow: float = SLOW, seconds: float | None = None
) -> Iterator[int]:
    """Numbers of runs; the one at work stands in ``mark``.

    A run that takes longer than ``slow`` seconds, or more than ``seconds`` of processor time, ends
    the process, which says where it was.
    """
    faulthandler.register(signal.SIGPROF, chain=True)  # and then what SIGPROF does: it ends
    with mark.open("w") as file:
        for seed in range(first, last):
            file.seek(0)
            file.write(f"{seed:012}")
            file.flush()
            faulthandler.dump_traceback_later(slow, exit=True)
            signal.setitimer(signal.ITIMER_PROF, seconds or 0)
            try:
                yield seed
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                faulthandler.cancel_dump_traceback_later()


def watch(name: str, runs: int, first: int, word: str) -> int:
    """Run ``python -m name`` for some numbers; where it is stopped, say so and go on."""
    failed, last = False, first + runs
    while first < last:
        with tempfile.NamedTemporaryFile(suffix=".fuzz") as mark:
            whole = [sys.executable, "-m", name, "--mark", mark.name, "--first", str(first)]
            status = subprocess.call([*whole, f"--{word}s", str(last - first)])
            at = Path(mark.name).read_text()
        failed = failed or status != 0
        if status in (0, 1) and at and int(at) == last - 1:  # to the end, with or without faults
            break
        print(f"stopped with status {status} at {word} {at or 'before the first'}", flush=True)
        if not at:
            break
        first = int(at) + 1
    return int(failed)
