"""How far a pass over rows, or other work on them, has come; whoever wants to know sets a hook."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from threading import RLock
from typing import Any, TypeAlias

from unnaive.common.wording import count_words, span_words

_log = logging.getLogger("unnaive")
# What most passes do.
COUNTING, CODING, ANSWERING = "counting", "coding rows", "answering"
STEPS = 100
ALMOST = 0.99  # the most that an estimate says is done before all is
Hook: TypeAlias = "Callable[[Progress], bool]"
WorkerHook: TypeAlias = "Callable[[WorkerPass], None]"


class StoppedError(RuntimeError):
    """A callback has asked to stop before all rows were read."""


class ChangedRowsError(RuntimeError):
    """Rows that are not what they were in an earlier pass."""


def changed_rows(why: str) -> ChangedRowsError:
    """Return the error, with what to do."""
    return ChangedRowsError(
        f"{why}: a source must give the same rows in every pass. Write them to a Parquet file that "
        "nothing changes, and fit from that."
    )


def check_same_number(before: int, now: int) -> None:
    """Raise if there are more or fewer rows than in an earlier pass."""
    if before != now:
        raise changed_rows(f"there were {before:,} rows in the first pass, and there are {now:,}")


@dataclass(eq=False)
class Progress:
    """How much of some work is done, how fast, and what is left; any thread may add to it.

    Parameters
    ----------
    name : str
        What is done with the rows.
    total : float or None, default=None
        How much there is to do; None where that is not known.
    unit : str, default="rows"
        What is counted: rows, or rounds and the like that visit all of them.
    n_rows : int, default=1
        Rows of a unit.
    step : str, default="hundredth of the rows"
        What a step is.
    steps : int or None, default=100
        Into how many steps the work is divided. Where that, or the share that is done, is not
        known, everything that is added is a step.
    hook : callable or None, default=None
        Is called with this object at the beginning, on the way and at the end, by the thread that
        has the news. It returns whether to stop, or raises an error to stop a pass at once.

    Attributes
    ----------
    done : float
        How much is done.
    share : float or None
        How much of everything that is, from 0 to 1; None where it is not known.
    estimated : bool
        Whether ``total`` is a guess, from the share of a file or of partitions that is read.
    stopped, finished : bool
    """

    name: str
    total: float | None = None
    unit: str = "rows"
    _: KW_ONLY
    n_rows: int = 1
    step: str = "hundredth of the rows"
    steps: int | None = STEPS
    hook: Hook | None = None

    def __post_init__(self) -> None:
        self.done, self.share = 0.0, None if self.total is None else 0.0
        self.estimated = self.stopped = self.finished = False
        self._start, self._end = time.perf_counter(), 0.0
        self._n_steps = 0  # that the hook knows of
        self._error: Exception | None = None
        self._lock = RLock()
        self._report()

    def _report(self) -> None:
        if self.hook is not None:
            self.stopped |= self.hook(self)

    def reach(self, done: float, share: float | None = None) -> None:
        """So much is done; where the total is not known, that is this share of everything."""
        self.done = max(self.done, done)
        if self.total is not None and not self.estimated:
            self.share = min(1.0, self.done / self.total) if self.total else 0.0
        elif share:
            self.estimated, self.share = True, max(self.share or 0.0, min(share, ALMOST))
            self.total = round(self.done / self.share)

    def add(self, done: float, share: float | None = None) -> None:
        """So much more is done."""
        with self._lock:
            self.reach(self.done + done, share)
            self._report()

    def reach_parts(self, rows: Mapping[int, int], n_parts: int) -> None:
        """These partitions have been read elsewhere, each with so many rows.

        Workers are not stopped on their way, and an error of the hook is raised at the end, in the
        thread of the pass.
        """
        with self._lock:
            if self.finished or self._error is not None:
                return
            try:
                self.reach(sum(rows.values()), len(rows) / n_parts)
                self._report()
            except StoppedError:
                pass
            except Exception as error:
                self._error = error

    def finish(self) -> None:
        """All is done, and that is how much there was."""
        if self._error is not None:
            raise self._error
        self.total, self.share, self.estimated, self.finished = self.done, 1.0, False, True
        self._end = time.perf_counter()
        self._report()

    def new_steps(self) -> int:
        """How many steps have been completed since this was last asked."""
        before, steps = self._n_steps, self.steps
        if self.finished:  # an estimate of rows may have been too low, and rounds may end early
            after = steps if steps is not None and self.unit == "rows" else before
        elif steps is None or self.share is None:
            after = before + 1
        else:
            after = int(steps * self.share + 1e-9)
        self._n_steps = max(before, after if steps is None else min(after, steps))
        return self._n_steps - before

    def facts(self) -> dict[str, Any]:
        """All this as plain data, with the seconds left at the rate so far, and a text."""
        share, seconds = self.share, (self._end or time.perf_counter()) - self._start
        facts = {
            "task": self.name,
            "unit": self.unit,
            "done": round(self.done),
            "total": None if self.total is None else round(self.total),
            "estimated": self.estimated,
            "share": share,
            "seconds": seconds,
            "rows_per_second": self.done * self.n_rows / max(seconds, 1e-9),
            "seconds_left": seconds * (1.0 - share) / share if share else None,
            "finished": self.finished,
        }
        return facts | {"text": _text(facts)}

    def __str__(self) -> str:
        return str(self.facts()["text"])


def _text(facts: dict[str, Any]) -> str:
    task, unit, total, left = (facts[k] for k in ("task", "unit", "total", "seconds_left"))
    taken = span_words(facts["seconds"]) if facts["finished"] else ""
    if not facts["done"]:  # not begun, or nothing was counted
        return task + (f": {total:,} {unit}" if total else taken and f": {taken}")
    amount = f"{facts['done']:,}"
    if total is not None and not taken:
        amount += f" of about {count_words(total)}" if facts["estimated"] else f" of {total:,}"
        unit += f" ({100 * facts['share']:.0f} %)"
    time_words = f" in {taken}" if taken else ""
    left_words = f", {span_words(left)} left" if left is not None and not taken else ""
    rate = count_words(facts["rows_per_second"])
    return f"{task}: {amount} {unit}{time_words}, {rate} rows/s{left_words}"


@dataclass(frozen=True, slots=True)
class WorkerPass:
    """A pass over records that stay on workers: which one it was, how long it took, what it sent.

    Attributes
    ----------
    number : int
        From 1 on, in a fit.
    task : str
        What was done with the rows.
    seconds : float
    bytes_sent : int
        To each worker: the function of the pass and all that it holds.
    bytes_received : int
        Tables that came back, added up.
    """

    number: int
    task: str
    seconds: float
    bytes_sent: int
    bytes_received: int

    def __str__(self) -> str:
        return (
            f"pass {self.number} on workers, {self.task}: {self.seconds:.2f} s, "
            f"{self.bytes_sent:,} bytes to each worker, {self.bytes_received:,} bytes back"
        )


class PassSource:
    """Base of sources that read their rows from elsewhere, in passes.

    Attributes
    ----------
    n_rows : int or None
        How many rows there are, where the source says so or a pass has counted them.
    measured : bool
        Whether passes know which share of everything is read, also where ``n_rows`` is not known.
    """

    may_change = True
    n_rows: int | None = None
    measured = True
    _n_read: int | None = None  # rows of the first pass
    _hook: Hook | None = None
    _worker_hook: WorkerHook | None = None

    def report_passes(self, hook: Hook | None, workers: WorkerHook | None = None) -> None:
        """What passes call from now on; see `Progress`. ``workers`` hears of each pass there."""
        self._hook, self._worker_hook = hook, workers

    def keep_away(self, fn: Any, add: Any, name: str = CODING) -> Any:  # noqa: ARG002
        """Records are brought here, unless a source of another kind says otherwise."""
        return None

    @contextmanager
    def begin_pass(self, name: str) -> Iterator[Progress]:
        """A new pass; all its rows are read when the context is left without an error."""
        steps = STEPS if self.measured or self.n_rows is not None else None
        progress = Progress(name, self.n_rows, steps=steps, hook=self._hook)
        yield progress
        progress.finish()
        n_rows = round(progress.done)
        if self._n_read is not None:
            check_same_number(self._n_read, n_rows)
        self.n_rows = self._n_read = n_rows
        _log.info("%s", progress)
