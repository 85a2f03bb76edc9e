"""How far a visit of many rows has come: what is done, how fast, and what is left."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self, TypeAlias

from unnaive.common.wording import count_words, span_words

_log = logging.getLogger("unnaive")
# What most passes do.
COUNTING, CODING, ANSWERING = "counting", "coding rows", "answering"
LOOK = 0.2  # seconds between looks at what others do
ALMOST = 0.99  # the most that an estimate says is done before all is


class StoppedError(RuntimeError):
    """Whoever watches has asked to stop before all rows were read."""


class Pass:
    """One visit of all rows, or of all rows again and again.

    Parameters
    ----------
    name : str
        What is done with the rows.
    total : float or None
        How much there is to do; None where nobody knows.
    unit : str
        What is counted: rows, or rounds and the like that visit all of them.
    n_rows : int
        Rows of a unit.

    Attributes
    ----------
    done : float
        How much is done.
    measured : bool
        Whether it is known on the way how much of everything is done.
    estimated : bool
        Whether ``total`` is a guess, from the share of a file or of partitions that is read.
    finished : bool
    """

    def __init__(
        self, name: str, total: float | None = None, unit: str = "rows", n_rows: int = 1
    ) -> None:
        self.name, self.total, self.unit, self.n_rows = name, total, unit, n_rows
        self.done = 0.0
        self.measured = total is not None
        self.estimated = self.finished = False
        self._share: float | None = None
        self._start, self._end = time.perf_counter(), 0.0

    def reach(self, done: float, share: float | None = None) -> None:
        """So much is done; where the total is not known, that is this share of everything."""
        self.done = max(self.done, done)
        if share and (self.total is None or self.estimated):
            self.estimated = True
            self._share = max(self._share or 0.0, min(share, ALMOST))
            self.total = round(self.done / self._share)

    def finish(self) -> None:
        """All is done, and that is how much there was."""
        self.total, self.estimated, self.finished = self.done, False, True
        self._end = time.perf_counter()

    @property
    def share(self) -> float | None:
        """How much of everything is done, from 0 to 1; None where that is not known."""
        if self.finished:
            return 1.0
        if self.estimated or self.total is None:
            return self._share
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return (self._end or time.perf_counter()) - self._start

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.done * self.n_rows / max(self.seconds, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds to go at the rate so far; None where nobody knows."""
        share = self.share
        return None if not share else self.seconds * (1.0 - share) / share

    def facts(self) -> dict[str, Any]:
        """All this as plain data."""
        return {
            "task": self.name,
            "unit": self.unit,
            "done": round(self.done),
            "total": None if self.total is None else round(self.total),
            "estimated": self.estimated,
            "share": self.share,
            "seconds": self.seconds,
            "rows_per_second": self.rate,
            "seconds_left": self.left,
            "finished": self.finished,
            "text": str(self),
        }

    def __str__(self) -> str:
        if not self.done:  # not begun, or nothing was counted
            taken = f": {span_words(self.seconds)}" if self.finished else ""
            return self.name + (f": {round(self.total):,} {self.unit}" if self.total else taken)
        parts = [f"{self.name}: {round(self.done):,}"]
        if self.finished:
            parts[0] += f" {self.unit} in {span_words(self.seconds)}"
        elif self.total is None:
            parts[0] += f" {self.unit}"
        else:
            whole = f"about {count_words(self.total)}" if self.estimated else f"{self.total:,.0f}"
            parts[0] += f" of {whole} {self.unit}"
            parts[0] += f" ({100 * (self.share or 0.0):.0f} %)"
        parts.append(f"{count_words(self.rate)} rows/s")
        if not self.finished and self.left is not None:
            parts.append(f"{span_words(self.left)} left")
        return ", ".join(parts)


Watch: TypeAlias = Callable[[Pass], bool]


class Passes:
    """The passes over one source.

    Attributes
    ----------
    n_rows : int or None
        How many rows there are, where the source says so or a pass has found it.
    measured : bool
        Whether passes know which share of everything is read, also where ``n_rows`` is not known.
    watch : callable or None
        Is told of every pass when it begins, on its way and when it is done, by whatever thread
        has the news; answers whether to stop.
    """

    def __init__(self, n_rows: int | None = None, *, measured: bool = True) -> None:
        self.n_rows, self.measured = n_rows, measured
        self.watch: Watch | None = None

    def begin(self, name: str) -> Reading:
        """A new pass, as a context; it is done when the context is left without an error."""
        return Reading(self, name)


class Reading(Pass):
    """A pass over a source."""

    def __init__(self, passes: Passes, name: str) -> None:
        super().__init__(name, passes.n_rows)
        self.measured |= passes.measured
        self._passes = passes
        self._stopped = False
        self._parts: dict[int, int] = {}
        self._error: Exception | None = None

    def add(self, rows: int, share: float | None = None) -> None:
        """So many more rows are read; raises `StoppedError` when that is asked."""
        self.reach(self.done + rows, share)
        self._tell()
        self._go_on()

    def hear(self, parts: Mapping[int, int], n_parts: int) -> None:
        """Partitions that have been read, with their rows, as another thread has heard.

        A partition may be read again when a worker is lost. An error of those who watch is raised
        when the pass ends, in its own thread.
        """
        try:
            self._parts |= parts
            if not self.finished and self._error is None:
                self.reach(sum(self._parts.values()), len(self._parts) / n_parts)
                self._tell()
        except Exception as error:
            self._error = error

    @property
    def watched(self) -> bool:
        """Whether anybody wants to know of rows on the way."""
        return self._passes.watch is not None

    def _tell(self) -> None:
        if self._passes.watch is not None:
            self._stopped |= bool(self._passes.watch(self))

    def _go_on(self) -> None:
        if self._stopped and self.share != 1.0:
            raise StoppedError(f"a callback asked to stop before all rows were read ({self}).")

    def __enter__(self) -> Self:
        self._tell()
        self._go_on()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            if self._error is not None:
                raise self._error
            self.finish()
            self._passes.n_rows = round(self.done)
            _log.info("%s", self)
            self._tell()


class Watched:
    """A source that reads its rows from elsewhere, in passes."""

    passes: Passes

    def watch(self, watch: Watch | None) -> None:
        """Who is told of the passes; see `Passes`."""
        self.passes.watch = watch


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Look at something now and then, in a thread, as long as the context lasts."""
    over = Event()

    def go_on() -> None:
        while not over.wait(LOOK):
            look()

    thread = Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
