"""A callback that shows how far a fit has come as lines of text."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from threading import RLock
from typing import Any

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
        ``estimated`` (whether the total is a guess), ``share`` (from 0 to 1), ``seconds``,
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
