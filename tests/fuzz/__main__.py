"""Load many thousand wrong model files: ``make fuzz [FILES=100000]``.

Whatever loads is asked everything that a model can answer. A file may take 5 seconds of processor
time and 300 MB beyond what the process has when its turn comes; what stays in the process from file
to file is printed. Work is done in a process of
its own, so that a crash is seen and named; the next one goes on after it. Every file has a number;
``--only NUMBER`` loads that one again.
"""

from __future__ import annotations

import resource
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz.process import BAD, main, marked

ROOM = 300 * 10**6  # bytes that a file of some kilobytes, and what is done with it, may take
SECONDS = 5.0  # of processor time, for a file and all that is done with it


def in_use() -> tuple[int, int]:
    """Bytes of address space and of memory that the process has."""
    space, resident = Path("/proc/self/statm").read_text().split()[:2]
    return int(space) * resource.getpagesize(), int(resident) * resource.getpagesize()


def run(first: int, last: int, mark: Path) -> Counter[str]:
    """Judge files by number; the number at work stands in ``mark``."""
    from fuzz.judge import judge, samples
    from fuzz.mutate import mutated

    every = samples()
    for sample in every:  # kernels are compiled before memory is counted
        assert judge(sample, sample.data, inside=False, consume=True) == "same answers"
    counts: Counter[str] = Counter()
    begun = time.perf_counter()
    for seed in marked(first, last, mark, seconds=SECONDS):
        sample = every[(seed // 2) % len(every)]
        other = every[(seed * 7919) % len(every)]
        data, inside = mutated(sample.data, other.data, seed)
        resource.setrlimit(resource.RLIMIT_AS, (in_use()[0] + ROOM, resource.RLIM_INFINITY))
        try:
            outcome = judge(sample, data, inside, consume=inside)
        except BaseException as error:
            outcome = BAD
            print(f"file {seed} of {sample.name}", flush=True)
            traceback.print_exception(error)
        counts[f"{'inside' if inside else 'outside'}: {outcome}"] += 1
        if (seed + 1 - first) % 10_000 == 0:
            speed = (seed + 1 - first) / (time.perf_counter() - begun)
            room = in_use()[1] / 1e6
            print(f"{seed + 1 - first:,} files, {speed:.0f} a second, {room:,.0f} MB", flush=True)
    return counts


if __name__ == "__main__":
    raise SystemExit(main("fuzz", __doc__, run, 100_000, "file"))
