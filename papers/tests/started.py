"""Programs that a process starts and waits for, and whether they are still there.

``python started.py FILE`` starts one in a task of its own process; its number is in the file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProgramStarter:
    """A shelf on which a program is waited for, as Weka is, before a table is there."""

    pid_file: Path

    def read(self, name):
        program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.pid_file.write_text(str(program.pid))
        program.wait()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and ") Z " in stat.read_text())


if __name__ == "__main__":
    from unnaive_papers.study import Task
    from unnaive_papers.work import do_all

    task = Task("kohavi", "accuracy", "iris", "NB", 0)
    shelf = ProgramStarter(Path(sys.argv[1]))
    do_all([task], False, shelf, 2, lambda _: None, lambda *_: None)
