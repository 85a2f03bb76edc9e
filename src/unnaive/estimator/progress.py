"""How far a fit has come, told to scikit-learn's callbacks.

A fit is a root task. Its subtasks are passes over rows that are elsewhere, and work on rows that
have been read: growing, rounds, steps. Each of them is told in steps, with the facts of
`unnaive.table.Pass` as the ``metadata`` of scikit-learn's hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

from sklearn.callback import with_callbacks

from unnaive.table import scan_of
from unnaive.table.passes import Pass

STEPS = 100
F = TypeVar("F", bound=Callable[..., Any])


def told(method: F) -> F:
    """Make callbacks hear how far a method that learns has come; nothing where there are none."""

    @wraps(method)
    def learn(self: Any, *args: Any, **named: Any) -> Any:
        if not (getattr(self, "_skl_callbacks", ()) or hasattr(self, "_parent_callback_ctx")):
            return method(self, *args, **named)
        X = args[0] if args else named.get("X")
        self._telling = Telling(self, method.__name__, scan_of(X) is not None)
        try:
            found = method(self, *args, **named)
            self._telling.end()
            return found
        finally:
            del self._telling

    return cast(F, with_callbacks(learn))


class Telling:
    """What one fit tells.

    The number of subtasks is known where the estimator says how many passes it takes
    (``_n_passes``) and how many tasks come after them (``_n_tasks``). In memory there are no
    passes, and a fit of one task is that task.

    A callback that asks to stop at a step stops the task of that step; at the end of a task, those
    that follow. While rows are read for the first time there is no model that could be kept, and
    the pass raises an error. Passes that come after work has begun complete the model: they go on.

    Parameters
    ----------
    estimator : TableEstimator
        In a fit under `told`.
    method : str
        Name of the root task.
    scanned : bool
        Whether rows are read in passes.
    """

    def __init__(self, estimator: Any, method: str, scanned: bool) -> None:
        self.estimator, self.method = estimator, method
        n_tasks, n_passes = estimator._n_tasks(), estimator._n_passes if scanned else 0
        self.alone = n_tasks == 1 and not scanned
        self.n_tasks = None if n_tasks is None or n_passes is None else n_tasks + n_passes
        self.stopped = self.worked = False
        self.lock = RLock()
        self._root: Any = None
        self._reading: Progress | None = None
        self._only: Progress | None = None

    def begin(self, progress: Progress, steps: int | None) -> Any:
        """The context of a new task."""
        with self.lock:
            if self.alone and self._root is None:
                self._only = progress
                return self._begin(steps)
            root = self._begin(self.n_tasks)
            return root.subcontext(task_name=progress.work.name, max_subtasks=steps)

    def _begin(self, n_tasks: int | None) -> Any:
        if self._root is None:
            own = self.estimator
            self._root = own._init_callback_context(task_name=self.method, max_subtasks=n_tasks)
            self._root.call_on_fit_task_begin(estimator=own)
        return self._root

    def owns(self, context: Any) -> bool:
        """Whether this is the root, which is ended with the fit."""
        return context is self._root

    def number(self, context: Any) -> str:
        """Which task of the fit this is, as in "2/3"; nothing where it is the only one."""
        if self.owns(context):
            return ""
        return f"{context.task_id + 1}" + (f"/{self.n_tasks}" if self.n_tasks else "")

    def watch(self, reading: Pass) -> bool:
        """A pass has begun, read more rows, or is done; whether to stop."""
        with self.lock:
            if self._reading is None or self._reading.work is not reading:
                steps = STEPS if reading.measured else None
                self._reading = Progress(
                    self.estimator, "hundredth of the rows", steps=steps, work=reading
                )
            elif reading.finished:
                self._reading.end()
            else:
                self._reading.tell()
        return self._reading.stopped and not self.worked

    def leaf(self, name: str) -> Any:
        """The context of a task without steps."""
        with self.lock:
            self.worked = True
            return self._begin(self.n_tasks).subcontext(task_name=name)

    def end(self) -> None:
        """All is done."""
        root, only = self._begin(0), self._only
        root.call_on_fit_task_end(
            estimator=self.estimator, metadata=None if only is None else only.facts
        )


@contextmanager
def within(telling: Telling | None, estimator: Any, name: str) -> Iterator[None]:
    """A task that is the fit of another estimator; callbacks go along where it has them."""
    if telling is None:
        yield
        return
    context, own = telling.leaf(name), telling.estimator
    able = hasattr(estimator, "set_callbacks")
    with context.propagate_callback_context(estimator) if able else nullcontext():
        context.call_on_fit_task_begin(estimator=own)
        yield
        telling.stopped |= context.call_on_fit_task_end(estimator=own)


class Progress:
    """How much of one task of a fit is done, told in steps; any thread may say so.

    Parameters
    ----------
    estimator : TableEstimator
        Nobody is told unless it is in a fit under `told`, and has callbacks.
    step : str
        Name of each step.
    whole : float or None, default=None
        What has to be done; where nobody knows, everything that is added is a step.
    task : str, default="growing"
        What is done.
    unit : str, default="rows"
        What ``whole`` counts.
    n_rows : int, default=1
        Rows of a unit.
    steps : int or None, default=100
        How many steps are told at most; None where nobody knows.
    work : Pass or None, default=None
        Whatever counts by itself, instead of ``whole``.
    """

    def __init__(
        self,
        estimator: Any,
        step: str,
        whole: float | None = None,
        *,
        task: str = "growing",
        unit: str = "rows",
        n_rows: int = 1,
        steps: int | None = STEPS,
        work: Pass | None = None,
    ) -> None:
        self.work = Pass(task, whole, unit, n_rows) if work is None else work
        self._estimator, self._step, self._steps, self._n = estimator, step, steps, 0
        self._telling: Telling | None = estimator._telling
        self._stopped = False
        if self._telling is not None:
            self._telling.worked |= work is None
            self._context = self._telling.begin(self, steps)
            if not self._telling.owns(self._context):
                self._context.call_on_fit_task_begin(estimator=estimator, metadata=self.facts)

    @property
    def watched(self) -> bool:
        """Whether anybody is told."""
        return self._telling is not None

    @property
    def stopped(self) -> bool:
        """Whether a callback has asked to stop."""
        return self._stopped or (self._telling is not None and self._telling.stopped)

    def add(self, done: float) -> None:
        """So much more is done."""
        if self._telling is not None:
            with self._telling.lock:
                self.work.reach(self.work.done + done)
                self.tell()

    def tell(self) -> None:
        """Tell the steps that have been reached."""
        if self._steps is None or self.work.total is None:
            self._tell_upto(self._n + 1)
        else:
            self._tell_upto(int(self._steps * (self.work.share or 0.0) + 1e-9))

    def _tell_upto(self, n: int) -> None:
        while self._n < (n if self._steps is None else min(n, self._steps)):
            self._n += 1
            step = self._context.subcontext(task_name=self._step)
            step.call_on_fit_task_begin(estimator=self._estimator)
            self._stopped |= step.call_on_fit_task_end(
                estimator=self._estimator, metadata=lambda: self.facts() | {"finished": False}
            )

    def facts(self) -> dict[str, Any]:
        """What callbacks are told: the facts of the pass, and which task of the fit it is."""
        assert self._telling is not None
        return self.work.facts() | {"number": self._telling.number(self._context)}

    def end(self) -> None:
        """All is done."""
        if self._telling is None:
            return
        with self._telling.lock:
            if not self.work.finished:
                self.work.finish()  # maybe earlier than expected
            elif self._steps is not None:  # an estimate may have been too low
                self._tell_upto(self._steps)
            if not self._telling.owns(self._context):
                self._telling.stopped |= self._context.call_on_fit_task_end(
                    estimator=self._estimator, metadata=self.facts
                )
