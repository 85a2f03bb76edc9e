"""Open many thousand wrong timelines: ``make fuzz-timelines [FILES=20000]``.

A record of a timeline is changed inside of its checksums, or bytes of the file are. What opens is
asked for models of windows, compared, appended to and saved again; all else must be refused by a
`PackError`. ``--only NUMBER`` opens one file again.
"""

from __future__ import annotations

import resource
import struct
import tempfile
import traceback
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from fuzz.__main__ import ROOM, SECONDS, in_use
from fuzz.consumers import is_clear
from fuzz.judge import table
from fuzz.mutate import mutated
from fuzz.process import BAD, main, marked
from unnaive import NaiveBayesClassifier, Timeline, compare_periods
from unnaive.living.file import MAGIC
from unnaive.pack import PackError
from unnaive.pack.growing import HEAD

ESTIMATORS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(numeric={"x": "gaussian"}, missing="value"),
    NaiveBayesClassifier(grid_limit=8),
]


def records(data: bytes) -> list[bytes]:
    """The packs of a file of records."""
    found, at = [], len(MAGIC)
    while at < len(data):
        length, _ = HEAD.unpack(data[at : at + HEAD.size])
        at += HEAD.size + length
        found.append(data[at - length : at])
    return found


def joined(packs: list[bytes]) -> bytes:
    """A file of records, with right lengths."""
    parts = [MAGIC]
    for pack in packs:
        length = struct.pack("<Q", len(pack))
        parts += length, struct.pack("<I", zlib.crc32(length)), pack
    return b"".join(parts)


def samples(folder: Path) -> list[bytes]:
    """Timelines of several appends, some with new categories, classes and weights."""
    X, y = table(90, 0)
    X["t"] = X["t"].where(np.arange(90) < 60, X["t"].str.upper())
    found = []
    for k, estimator in enumerate(ESTIMATORS):
        path = folder / f"{k}.unt"
        timeline = Timeline(15, estimator, path=path).fit(X[:50], y[:50])
        timeline.append(X[50:80], y[50:80]).append(X[80:], y[80:], np.linspace(0.5, 2, 10))
        found.append(path.read_bytes())
    return found


def wrong(data: bytes, other: bytes, seed: int) -> bytes:
    """A wrong file made of a right one."""
    if seed % 4 == 1:
        return mutated(data, other, seed)[0]
    packs = records(data)
    k = (seed // 4) % len(packs)
    packs[k], _ = mutated(packs[k], records(other)[-1], 2 * seed)
    return joined(packs)


def judge(path: Path) -> str:
    """Open a file and use what is there; errors must say what is wrong."""
    X, y = table(20, 1)
    try:
        timeline = Timeline.open(path)
    except PackError:
        return "refused"
    try:
        repr(timeline.facts())
        timeline.model().predict_proba(X)
        compare_periods(timeline[timeline.periods_[0]], timeline.summary())
        timeline.append(X, y).model(half_life=3)
        timeline.save(path)
        Timeline.open(path).model()
    except (ValueError, TypeError) as error:
        if not is_clear(error):
            raise
        return "used, and refused"
    return "used"


def run(first: int, last: int, mark: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every, path = samples(Path(folder)), Path(folder) / "wrong.unt"
        for data in every:  # kernels are compiled before memory is counted
            path.write_bytes(data)
            assert judge(path) == "used"
        for seed in marked(first, last, mark, seconds=SECONDS):
            path.write_bytes(wrong(every[seed % len(every)], every[seed // 3 % len(every)], seed))
            resource.setrlimit(resource.RLIMIT_AS, (in_use()[0] + ROOM, resource.RLIM_INFINITY))
            try:
                outcome = judge(path)
            except BaseException as error:
                outcome = BAD
                print(f"file {seed}", flush=True)
                traceback.print_exception(error)
            counts[outcome] += 1
    return counts


if __name__ == "__main__":
    raise SystemExit(main("fuzz.timelines", __doc__, run, 20_000, "file"))
