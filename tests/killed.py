"""Fits that are killed again and again, each in its own process: ``python killed.py ORDERS.json``.

Every attempt is a process that SIGKILL ends: at a random moment, or by its own hand while it is
writing a record, of which a random part gets to the file. The last attempt is left alone and saves
the model. This parent only imports, so that forking is safe and attempts start at once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pyarrow.parquet  # noqa: F401  before processes are made of this one

import unnaive
import unnaive.common.jit  # with Numba, for the same reason
import unnaive.table.files
from unnaive.models.boost import rounds
from unnaive.pack import Journal


def attempt(order: dict, dice: random.Random | None) -> None:
    """Fit and save; with dice, die on the way."""
    Journal.every, rounds.POINT = 0.0, 2
    if dice is not None and order["ctrl_c"]:
        press_ctrl_c(dice.randrange(4, 7))
    elif dice is not None:
        die_writing(dice.randrange(1, 5), dice)
    model = getattr(unnaive, order["model"])(**order["parameters"])
    rows = unnaive.scan(order["data"], "label", checkpoint=order["checkpoint"])
    unnaive.save(model.fit(rows), order["out"])


def die_writing(left: int, dice: random.Random) -> None:
    """Of the last of so many records, only a part is written."""
    write = Journal._append

    def deadly(self: Journal, file, record: bytes) -> int:
        nonlocal left
        left -= 1
        if left == 0:
            file.seek(self._end)
            file.write(record[: dice.randrange(len(record))])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return write(self, file, record)

    Journal._append = deadly


def press_ctrl_c(left: int) -> None:
    """After so many steps, of which the last still wait to be written."""
    Journal.every = float("inf")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have it ignored
    add = Journal.add

    def interrupted(self: Journal, entry, *, now: bool = False) -> None:
        nonlocal left
        add(self, entry, now=now)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)

    Journal.add = interrupted


def main(order: dict) -> None:
    dice = random.Random(order["seed"])
    for k in range(order["kills"] + 1):
        last, late = k == order["kills"], k % 3 == 2
        pid = os.fork()
        if pid == 0:
            try:
                attempt(order, None if last or late else dice)
            except KeyboardInterrupt:
                os._exit(130)
            finally:
                sys.stderr.flush()
            os._exit(0)
        if late and not last:
            time.sleep(dice.uniform(0.0, 1.5))
            os.kill(pid, signal.SIGKILL)
        dice.random()  # a child's throws are not ours
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(order["name"], code, flush=True)


if __name__ == "__main__":
    for order in json.loads(Path(sys.argv[1]).read_text()):
        main(order)
