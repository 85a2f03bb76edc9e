"""A timeline in one file: what it is about, then the sums of every append, one record each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator

from unnaive.common.atomic import replacing
from unnaive.counts import Summary
from unnaive.living.periods import Period
from unnaive.pack import PackError
from unnaive.pack.growing import GrowingFile
from unnaive.pack.known import OBJECTS
from unnaive.store.models import MODELS

MAGIC = b"\x89UNT\r\n\x1a\n"
KIND = "unnaive timeline"
FORMAT = 1  # of records; when they change, keep reading the earlier ones

Added = tuple[int, list[tuple[Period, Summary]]]  # rows read, and sums to add to those of periods


class TimelineError(PackError):
    """A file that is no timeline, or is damaged."""


class TimelineFile(GrowingFile):
    """The file of a timeline. It appears whole, and grows by whole records."""

    magic, kind, version = MAGIC, KIND, FORMAT
    word, holder, error = "timeline", "process", TimelineError
    remedy = "restore it from a copy"
    _inode = 0

    def write(self, about: dict[str, Any], added: Iterable[Added]) -> None:
        """Replace the file by a new one, in one step."""
        with replacing(self.path) as file:
            file.write(self.magic + self._record(about))
            for one in added:
                file.write(self._record(_pack(one)))
            self._end = file.tell()
        self._inode = os.stat(self.path).st_ino

    def read(self) -> tuple[dict[str, Any], list[Added]]:
        """All that is whole in the file."""
        with open(self.path, "rb") as file:
            self._inode = os.fstat(file.fileno()).st_ino
            self._begin(file)
            about, *records = self._rest(file) or [None]
        if not isinstance(about, dict) or about.keys() != {"by", "time", "estimator"}:
            raise self._damaged("it does not say what it is about")
        return about, [self._unpack(record) for record in records]

    def news(self) -> list[Added]:
        """What other processes have added since the last look."""
        with open(self.path, "rb") as file:
            return self._catch_up(file)

    def append(self, added: Added, *, alone: bool = False) -> list[Added]:
        """Add a record; returns those that other processes have added since the last look.

        The record is written after all that is whole; what a dying process left behind it goes.
        With ``alone``, nothing may have been added.
        """
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.path, flags), "r+b") as file:
            self._hold(file)
            before = self._end
            others = self._catch_up(file)
            if others and alone:
                self._end = before
                raise TimelineError(
                    f"another process has appended to {self.path!r} meanwhile, so these rows have "
                    "other numbers; append them again."
                )
            file.truncate(self._end)
            try:
                self._end = self._append(file, self._record(_pack(added)))
            except OSError:
                file.truncate(self._end)
                raise
        return others

    def _catch_up(self, file: BinaryIO) -> list[Added]:
        state = os.fstat(file.fileno())
        if state.st_ino != self._inode or state.st_size < self._end:
            raise TimelineError(
                f"{self.path!r} was written anew by another process; read it with Timeline.open."
            )
        file.seek(self._end)
        return [self._unpack(record) for record in self._rest(file)]

    def _unpack(self, record: Any) -> Added:
        try:
            n_rows, parts = record
            return int(n_rows), [(period, OBJECTS.unpack(node, Summary)) for period, node in parts]
        except (PackError, TypeError, ValueError) as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> PackError:
        """The error that what is in the file makes no timeline."""
        return self._damaged(str(error).rstrip("."))


def _pack(added: Added) -> Any:
    n_rows, parts = added
    return n_rows, [(period, OBJECTS.pack(summary, Summary)) for period, summary in parts]


def pack_estimator(estimator: Any) -> Any:
    """The parameters of an estimator that has not been fitted, as plain data."""
    return MODELS.pack(estimator, BaseEstimator, "estimator")


def unpack_estimator(node: Any) -> Any:
    return MODELS.unpack(node, BaseEstimator, "estimator")
