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
        How deep estimators inside of others are watched; None is any depth.

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
        self._told: dict[Any, float] = {}  # when a task had its last line
        self._drawn = 0  # characters of a line that is not yet ended

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""

    def on_fit_task_begin(
        self,
        estimator: Any,  # noqa: ARG002
        context: Any,
        *,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """A task of a fit begins."""
        self._tell(context, metadata)

    def on_fit_task_end(
        self,
        estimator: Any,  # noqa: ARG002
        context: Any,
        *,
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        """A task, or a step of it, is done."""
        return self._tell(context, metadata)

    def teardown(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """A fit is over, be it by an error: what comes after starts on a line of its own."""
        with _lock:
            if self._drawn:
                self._write("\n")
                self._drawn = 0

    def _tell(self, context: Any, metadata: dict[str, Any] | None) -> bool:
        if not metadata or "text" not in metadata:  # a task of another library's estimator
            return False
        facts = {"estimator": context.estimator_name, "within": _outside(context)} | metadata
        with _lock:
            if self.show is not None:
                return bool(self.show(facts))
            terminal = sys.stderr is not None and sys.stderr.isatty()
            words = (facts["within"], facts["estimator"], facts["number"])
            line = " ".join(word for word in (*words, facts["text"]) if word)
            key, now = (context.root_uuid, *words, facts["task"]), time.monotonic()
            waits = OFTEN if terminal else self.every
            # A pass in a file begins to count now: a short one has one line, when it is done.
            last = self._told.setdefault(key, now if not terminal else 0.0)
            if not facts["finished"] and now - last < waits:
                return False
            self._told[key] = now
            if facts["finished"]:
                del self._told[key]
            if terminal:
                self._draw(line, f"{facts['number']} {facts['text']}", facts["finished"])
            else:
                self._write(line + "\n")
        return False

    def _draw(self, line: str, short: str, finished: bool) -> None:
        """Put a line in the place of the last one, a short one where it would not fit."""
        width = max(20, shutil.get_terminal_size().columns - 1)
        line = (line if len(line) <= width else short.strip())[:width]
        blank = " " * (self._drawn - len(line))
        self._write(f"\r{line}{blank}" + ("\n" if finished else ""))
        self._drawn = 0 if finished else len(line)

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()


def _outside(context: Any) -> str:
    """The task of another estimator that a context is part of."""
    while context is not None and context.source_task_name is None:
        context = context.parent
    return "" if context is None else f"{context.source_task_name}:"
