"""Warnings about tables: what looks wrong in them, once each, with what to do about it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import sklearn

# Frames that a reader of a warning does not look for.
INSIDE = tuple(
    os.path.dirname(path) + os.sep
    for path in (os.path.dirname(os.path.abspath(__file__)), sklearn.__file__)
)
_silent: ContextVar[bool] = ContextVar("unnaive_silent", default=False)


class UnnaiveWarning(UserWarning):
    """Something in a table that rarely is what its owner wants, with the remedy.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> import warnings
    >>> from unnaive import UnnaiveWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnnaiveWarning)
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)


def advise(text: str) -> None:
    """Warn at the line outside the library that called it; Python shows each text once there."""
    if _silent.get():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UnnaiveWarning, stacklevel=level)


@contextmanager
def silence() -> Iterator[None]:
    """No advice meanwhile: fits on some of the rows, or on classes that were made up."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)
