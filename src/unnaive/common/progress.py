"""How far work on rows has come, as scikit-learn's callbacks and the log hear of it.

A fit is the root task of a callback. Its subtasks are passes over rows read from elsewhere,
and work on rows that have been read: growing, rounds, steps. Each has steps, with the facts of its
`Progress` as the ``metadata`` of scikit-learn's hooks.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from threading import RLock
from typing import Any, TypeAlias, TypeVar, cast

from sklearn.callback import with_callbacks

from unnaive.common.wording import count_words, span_words

STEPS = 100
Hook: TypeAlias = "Callable[[Progress], bool]"


class StoppedError(RuntimeError):
    """A callback has asked to stop before all rows were read."""


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
        self.stopped = self.finished = False
        self._start, self._end = time.perf_counter(), 0.0
        self._n_steps = 0  # that the hook knows of
        self._lock = RLock()
        self._report()

    def _report(self) -> None:
        if self.hook is not None:
            self.stopped |= self.hook(self)

    def add(self, done: float) -> None:
        """Report that so much more is done."""
        with self._lock:
            self.done += done
            if self.total is not None:
                self.share = min(1.0, self.done / self.total) if self.total else 0.0
            self._report()

    def finish(self) -> None:
        """Report that all is done, and that is how much there was."""
        self.total, self.share, self.finished = self.done, 1.0, True
        self._end = time.perf_counter()
        self._report()

    def new_steps(self) -> int:
        """Return how many steps have been completed since the last call."""
        before, steps = self._n_steps, self.steps
        if self.finished:  # rounds may end early
            after = steps if steps is not None and self.unit == "rows" else before
        elif steps is None or self.share is None:
            after = before + 1
        else:
            after = int(steps * self.share + 1e-9)
        self._n_steps = max(before, after if steps is None else min(after, steps))
        return self._n_steps - before

    def facts(self) -> dict[str, Any]:
        """Return all this as plain data, with the seconds left at the rate so far, and a text."""
        share, seconds = self.share, (self._end or time.perf_counter()) - self._start
        facts = {
            "task": self.name,
            "unit": self.unit,
            "done": round(self.done),
            "total": None if self.total is None else round(self.total),
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
        amount += f" of {total:,}"
        unit += f" ({100 * facts['share']:.0f} %)"
    time_words = f" in {taken}" if taken else ""
    left_words = f", {span_words(left)} left" if left is not None and not taken else ""
    rate = count_words(facts["rows_per_second"])
    return f"{task}: {amount} {unit}{time_words}, {rate} rows/s{left_words}"


F = TypeVar("F", bound=Callable[..., Any])


def reports_progress(method: F) -> F:
    """Let callbacks hear how far a method that learns has come; nothing where there are none."""

    @wraps(method)
    def learn(self: Any, *args: Any, **named: Any) -> Any:
        if not (getattr(self, "_skl_callbacks", ()) or hasattr(self, "_parent_callback_ctx")):
            return method(self, *args, **named)
        X = args[0] if args else named.get("X")
        self._progress = FitProgress(self, method.__name__, self._reads_passes(X))
        try:
            result = method(self, *args, **named)
            self._progress.end()
            return result
        finally:
            del self._progress

    return cast(F, with_callbacks(learn))


class FitProgress:
    """The tasks of one fit.

    How many there are is known where the estimator says how many passes it takes (``_n_passes``)
    and how many tasks come after them (``_n_tasks``). In memory there are no passes, and a fit of
    one task is that task.

    A callback that asks to stop at a step stops the task of that step; at the end of a task, those
    that follow. While rows are read for the first time there is no model that could be kept, and
    the pass raises an error. Passes that come after work has begun complete the model: they go on.

    Parameters
    ----------
    estimator : TableEstimator
        In a fit that `reports_progress`.
    method : str
        Name of the root task.
    scanned : bool
        Whether rows are read in passes.
    """

    def __init__(self, estimator: Any, method: str, scanned: bool) -> None:
        self.estimator, self.method = estimator, method
        n_tasks, n_passes = estimator._n_tasks(), estimator._n_passes if scanned else 0
        self.n_tasks = None if n_tasks is None or n_passes is None else n_tasks + n_passes
        self.stopped = False
        self._alone = n_tasks == 1 and not scanned
        self._worked = False
        self._root: Any = None
        self._contexts: dict[Progress, Any] = {}
        self._lock = RLock()

    def report_pass(self, task: Progress) -> bool:
        """Hook of passes over rows that are elsewhere."""
        stop = self._report(task) and not self._worked
        if stop and task.share != 1.0:
            raise StoppedError(f"a callback asked to stop before all rows were read ({task}).")
        return stop

    def report_work(self, task: Progress) -> bool:
        """Hook of work on rows that have been read."""
        self._worked = True
        return self._report(task)

    def _report(self, task: Progress) -> bool:
        with self._lock:
            if task not in self._contexts:
                self._begin(task)
                return self.stopped
            context, named = self._contexts[task], {"estimator": self.estimator}
            for _ in range(task.new_steps()):
                step = context.subcontext(task_name=task.step).call_on_fit_task_begin(**named)
                facts = self._facts(task) | {"finished": False}
                task.stopped |= step.call_on_fit_task_end(**named, metadata=facts)
            if task.finished and not self._alone:
                self.stopped |= context.call_on_fit_task_end(**named, metadata=self._facts(task))
            return task.stopped or self.stopped

    def _begin(self, task: Progress) -> None:
        if self._alone:
            self._contexts[task] = self._begin_fit(task.steps)
            return
        root = self._begin_fit(self.n_tasks)
        context = root.subcontext(task_name=task.name, max_subtasks=task.steps)
        self._contexts[task] = context
        context.call_on_fit_task_begin(estimator=self.estimator, metadata=self._facts(task))

    def _begin_fit(self, n_tasks: int | None) -> Any:
        """The root, which begins with its first task: one that is alone says how many steps."""
        if self._root is None:
            self._root = self.estimator._init_callback_context(self.method, max_subtasks=n_tasks)
            self._root.call_on_fit_task_begin(estimator=self.estimator)
        return self._root

    def _facts(self, task: Progress) -> dict[str, Any]:
        """The facts of a task, and which one of the fit it is, as in "2/3"."""
        place = self._contexts[task].task_id + 1
        number = f"{place}/{self.n_tasks}" if self.n_tasks else f"{place}"
        return task.facts() | {"number": "" if self._alone else number}

    @contextmanager
    def subfit(self, estimator: Any, name: str) -> Iterator[None]:
        """A task that is the fit of another estimator; callbacks go along where it has them."""
        with self._lock:
            self._worked = True
            context = self._begin_fit(self.n_tasks).subcontext(task_name=name)
        able = hasattr(estimator, "set_callbacks")
        with context.propagate_callback_context(estimator) if able else nullcontext():
            context.call_on_fit_task_begin(estimator=self.estimator)
            yield
            self.stopped |= context.call_on_fit_task_end(estimator=self.estimator)

    def end(self) -> None:
        """The fit is done."""
        root = self._begin_fit(0)
        facts = self._facts(*self._contexts) if self._alone and self._contexts else None
        root.call_on_fit_task_end(estimator=self.estimator, metadata=facts)


_lock = RLock()  # of the terminal; a callback itself may be sent to other processes
OFTEN = 0.1  # seconds between two drawings of the line of a terminal


class RowProgress:
    """Callback that shows rows, rows a second and time left of every pass of a fit.

    On a terminal one line of standard error is drawn again and again, and stays when a pass is
    done. Elsewhere, as in the log of a batch job, a line is written now and then.

    Parameters
    ----------
    show : callable or None, default=None
        Is called with the facts of a pass whenever there is news, instead of writing text: a dict
        with ``estimator``, ``within`` (the task of another estimator that it is fitted for, if
        any), ``task`` (what is done), ``number`` (which task of how many), ``done``, ``total``
        (None where it is not known) and their ``unit`` (rows, or rounds that each visit all rows),
        ``share`` (from 0 to 1), ``seconds``,
        ``rows_per_second``, ``seconds_left``, ``finished`` (once, when a task is done) and
        ``text``, which says it in a line. If it returns True, the fit is asked to stop.
    every : float, default=10
        Least seconds between two lines of the same pass where there is no terminal.
    max_propagation_depth : int or None, default=None
        How deep estimators inside of others are shown; None is any depth.

    See Also
    --------
    sklearn.callback.ProgressBar : The same passes as bars.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import BoostedNaiveBayesClassifier, RowProgress
    >>> def show(facts):
    ...     if facts["finished"]:
    ...         print(facts["task"], facts["done"], facts["unit"])
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostedNaiveBayesClassifier(n_estimators=5).set_callbacks(RowProgress(show))
    >>> _ = model.fit(X, y)
    boosting 5 rounds
    """

    def __init__(
        self,
        show: Callable[[dict[str, Any]], Any] | None = None,
        *,
        every: float = 10.0,
        max_propagation_depth: int | None = None,
    ) -> None:
        self.show, self.every = show, every
        self.max_propagation_depth = max_propagation_depth
        self._last: dict[Any, float] = {}  # when a task had its last line
        self._drawn = 0  # characters of a line that is not yet ended

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""

    def on_fit_task_end(
        self,
        estimator: Any,  # noqa: ARG002
        context: Any,
        *,
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        """A task begins, goes on or is done; whether to stop."""
        if not metadata or "text" not in metadata:  # a task of another library's estimator
            return False
        facts = {"estimator": context.estimator_name, "within": _outside(context)} | metadata
        with _lock:
            if self.show is not None:
                return bool(self.show(facts))
            if sys.stderr is not None:
                self._show_line(facts, context.root_uuid)
        return False

    on_fit_task_begin = on_fit_task_end

    def teardown(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """A fit is over, be it by an error: what comes after starts on a line of its own."""
        with _lock:
            if self._drawn:
                print(file=sys.stderr)
            self._drawn = 0

    def _show_line(self, facts: dict[str, Any], fit: Any) -> None:
        """Draw or write the line of a task, unless its last one is too recent."""
        terminal, finished = sys.stderr.isatty(), facts["finished"]
        words = (facts["within"], facts["estimator"], facts["number"])
        key, now = (fit, *words, facts["task"]), time.monotonic()
        # A pass in a file begins to count now: a short one has one line, when it is done.
        last = self._last.setdefault(key, 0.0 if terminal else now)
        if not finished and now - last < (OFTEN if terminal else self.every):
            return
        self._last[key] = now
        if finished:
            del self._last[key]
        line = " ".join(filter(None, (*words, facts["text"])))
        if not terminal:
            print(line, file=sys.stderr, flush=True)
            return
        width = max(20, shutil.get_terminal_size().columns - 1)
        if len(line) > width:
            line = f"{facts['number']} {facts['text']}".strip()[:width]
        end = "\n" if finished else ""
        print(f"\r{line:<{self._drawn}}", end=end, file=sys.stderr, flush=True)
        self._drawn = 0 if finished else len(line)


def _outside(context: Any) -> str:
    """The task of another estimator that a context is part of."""
    while context is not None and context.source_task_name is None:
        context = context.parent
    return "" if context is None else f"{context.source_task_name}:"
