"""Progress of long fits, told to scikit-learn's callbacks."""

from __future__ import annotations

from threading import Lock
from typing import Any

STEPS = 100


class Progress:
    """How much of a fit is done, told in hundredths; any thread may say so.

    Parameters
    ----------
    estimator : estimator with `CallbackSupportMixin`, inside a fit under `with_callbacks`
    step : str
        Name of each hundredth.
    whole : float
        What has to be done, in any unit.
    """

    def __init__(self, estimator: Any, step: str, whole: float) -> None:
        self._estimator, self._step, self._whole = estimator, step, whole
        self._context = estimator._init_callback_context(max_subtasks=STEPS)
        self._watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self._done, self._told = 0.0, 0
        self._lock = Lock()
        self.stopped = False
        """Whether a callback has asked to stop."""
        self._context.call_on_fit_task_begin(estimator=estimator)

    def add(self, done: float) -> None:
        """So much more is done."""
        if not self._watched:
            return
        with self._lock:
            self._done += done
            while self._told < min(STEPS, int(STEPS * self._done / self._whole + 1e-9)):
                self._told += 1
                step = self._context.subcontext(task_name=self._step)
                step.call_on_fit_task_begin(estimator=self._estimator)
                self.stopped |= step.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        """All is done."""
        self._context.call_on_fit_task_end(estimator=self._estimator)
