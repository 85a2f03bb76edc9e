"""A fit as scikit-learn's callbacks hear of it.

The fit is the root task. Its subtasks are passes over rows that are elsewhere, and work on rows
that have been read: growing, rounds, steps. Each has steps, with the facts of its `Progress` as the
``metadata`` of scikit-learn's hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

from sklearn.callback import with_callbacks

from unnaive.table import StoppedError
from unnaive.table.passes import Progress, WorkerPass
from unnaive.table.scan import is_scanned

F = TypeVar("F", bound=Callable[..., Any])


def reports_progress(method: F) -> F:
    """Let callbacks hear how far a method that learns has come; nothing where there are none."""

    @wraps(method)
    def learn(self: Any, *args: Any, **named: Any) -> Any:
        if not (getattr(self, "_skl_callbacks", ()) or hasattr(self, "_parent_callback_ctx")):
            return method(self, *args, **named)
        X = args[0] if args else named.get("X")
        self._progress = FitProgress(self, method.__name__, is_scanned(X))
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
        self._worker_passes: list[WorkerPass] = []  # that callbacks have not heard of
        self._lock = RLock()

    def report_pass(self, task: Progress) -> bool:
        """Hook of passes over rows that are elsewhere."""
        stop = self._report(task) and not self._worked
        if stop and task.share != 1.0:
            raise StoppedError(f"a callback asked to stop before all rows were read ({task}).")
        return stop

    def report_workers(self, done: WorkerPass) -> None:
        """Hook of passes over records on workers: the task that they belong to tells of them."""
        with self._lock:
            self._worker_passes.append(done)

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
                facts = self._news(task) | {"finished": False}
                task.stopped |= step.call_on_fit_task_end(**named, metadata=facts)
            if task.finished and not self._alone:
                self.stopped |= context.call_on_fit_task_end(**named, metadata=self._news(task))
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

    def _news(self, task: Progress) -> dict[str, Any]:
        """The facts of a task, with the passes on workers that callbacks have not heard of."""
        passes = [asdict(done) for done in self._worker_passes]
        self._worker_passes.clear()
        return self._facts(task) | {"worker_passes": passes}

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
        facts = self._news(*self._contexts) if self._alone and self._contexts else None
        root.call_on_fit_task_end(estimator=self.estimator, metadata=facts)
