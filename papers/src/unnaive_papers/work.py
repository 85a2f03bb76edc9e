"""Doing the tasks: in order of cost, on several processes, each with a limit of time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from unnaive import UnnaiveWarning
from unnaive_papers.kept import Record
from unnaive_papers.protocol import busy
from unnaive_papers.sets import Sample, Shelf
from unnaive_papers.study import NO_SET, Study, Task, load_study

Report = Callable[[Task, Record], None]
Limit = Callable[[Task], float | None]
PATIENCE = 600.0  # seconds between two looks at the limits, at most


def do(task: Task, study: Study, shelf: Shelf) -> Record:
    """One task: its figures and the seconds it took."""
    part = study.parts[task.part]
    sample = None if task.set == NO_SET else _read(shelf, task.set)
    experiment = study.module.EXPERIMENTS[part.experiment]
    start, before = time.perf_counter(), busy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)  # the papers' tables are what they are
        figures = experiment(sample, task.method, task.seed, study, part.options)
    took = time.perf_counter() - start
    return {**figures, "seconds": took, "cpu": min(busy() - before, took)}


_LAST: dict[tuple[Shelf, str], Sample] = {}  # tables that the next tasks will want again


def _read(shelf: Shelf, name: str) -> Sample:
    key = (shelf, name)
    if key not in _LAST:
        while len(_LAST) > 2:
            _LAST.pop(next(iter(_LAST)))
        _LAST[key] = shelf.read(name)
    return _LAST[key]


def attempt(task: Task, study: Study, shelf: Shelf) -> Record:
    """The same, with what went wrong as a record.

    Libraries that bring threads of their own get one: processes are what runs side by side.
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):
            return do(task, study, shelf)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"}


def do_all(
    tasks: list[Task], quick: bool, shelf: Shelf, jobs: int, limit: Limit, report: Report
) -> None:
    """All tasks in the given order; those that measure time afterwards, one by one.

    Processes are needed for several jobs, and to end a task that passes its limit.
    """
    studies = {key: load_study(key, quick) for key in {t.paper for t in tasks}}
    together = [t for t in tasks if not studies[t.paper].parts[t.part].alone]
    alone = [t for t in tasks if studies[t.paper].parts[t.part].alone]
    limited = any(limit(t) for t in together)
    if together and (jobs > 1 or limited):
        for task, record in _in_processes(together, quick, shelf, jobs, limit):
            report(task, record)
    else:
        alone = together + alone
    for task in alone:
        report(task, attempt(task, studies[task.paper], shelf))


# ---------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------


def _work(tasks: Connection, quick: bool, shelf: Shelf) -> None:
    """In a process of its own: tasks come in, records go out.

    It leads a group, so that the programs it starts, such as Weka, end with it.
    """
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while (task := tasks.recv()) is not None:
        tasks.send(attempt(task, load_study(task.paper, quick), shelf))


def _end_with_parent() -> None:
    """Where the program itself is killed, nobody waits for the task any more."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    with suppress(AttributeError):  # Windows
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


class _Worker:
    """A process with one task at a time, that can be ended and started again."""

    def __init__(self, quick: bool, shelf: Shelf) -> None:
        self._arguments = (quick, shelf)
        self.task: Task | None = None
        self.deadline = float("inf")
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, task: Task, limit: float | None) -> None:
        self.task = task
        self.deadline = time.monotonic() + limit if limit else float("inf")
        self.pipe.send(task)

    def take(self) -> Record:
        try:
            record: Record = self.pipe.recv()
        except (EOFError, OSError):
            code = self._process.exitcode
            record = {"error": f"its process ended with code {code}"}
            self._start()
        return record

    def restart(self) -> None:
        self._kill()
        self._start()

    def _kill(self) -> None:
        """The process, and whatever it has started."""
        assert self._process.pid is not None
        with suppress(AttributeError, ProcessLookupError):  # Windows; not yet a group's leader
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        if self.task is None:
            self.pipe.send(None)
            self._process.join(10)
        self._kill()


def _in_processes(
    tasks: list[Task], quick: bool, shelf: Shelf, jobs: int, limit: Limit
) -> Iterator[tuple[Task, Record]]:
    queue = tasks[::-1]
    workers = [_Worker(quick, shelf) for _ in range(min(jobs, len(tasks)))]
    try:
        while queue or any(w.task for w in workers):
            for worker in workers:
                if worker.task is None and queue:
                    task = queue.pop()
                    worker.give(task, limit(task))
            busy = [w for w in workers if w.task is not None]
            left = min(w.deadline for w in busy) - time.monotonic()
            ready = wait([w.pipe for w in busy], timeout=max(0.0, min(left, PATIENCE)))
            for worker in busy:
                done = worker.task
                assert done is not None
                if worker.pipe in ready:
                    record = worker.take()
                elif time.monotonic() >= worker.deadline:
                    record = {"error": f"time limit of {limit(done):g} s", "limit": limit(done)}
                    worker.restart()
                else:
                    continue
                worker.task = None
                yield done, record
    finally:
        for worker in workers:
            worker.stop()


# ---------------------------------------------------------------------------------------------
# Cost
# ---------------------------------------------------------------------------------------------


class Costs:
    """How long tasks will take, from those that were measured and from rates measured before."""

    def __init__(self, shelf: Shelf, rates: dict[str, Any]) -> None:
        self._shelf, self._rates = shelf, rates
        self._seen: dict[tuple[str, str, str, str], float] = {}

    def learn(self, task: Task, record: Record) -> None:
        if "cpu" in record:  # what other programs take from the machine is left out
            self._seen[task.paper, task.part, task.set, task.method] = record["cpu"]

    def seconds(self, task: Task) -> float:
        """Of this task: as long as with another seed, else by the size of its table."""
        known = self._seen.get((task.paper, task.part, task.set, task.method))
        if known is not None:
            return known
        told = self._rates.get(task.paper, {}).get(task.part, {}).get(task.method, {})
        size = 0.0 if task.set == NO_SET else self._shelf.size(task.set) / 1e6
        usual = told.get("fixed", 1.0) + told.get("rate", 1.0) * size
        return float(told.get("sets", {}).get(task.set, usual))

    def order(self, tasks: list[Task]) -> list[Task]:
        """Long tasks first, so that no process is left alone with one at the end."""
        return sorted(tasks, key=lambda t: (-self.seconds(t), t))
