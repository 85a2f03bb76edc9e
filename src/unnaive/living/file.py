"""A timeline in one file: what it is about, then the sums of every append, one record each.

A record lists what its periods share and no record before it has (columns, classes, categories),
and names all else by its number. Numbers count from the beginning of the file, so that a record
that was torn takes its own numbers with it and no other's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator

from unnaive.common.atomic import replacing
from unnaive.common.checks import expect
from unnaive.counts import Summary
from unnaive.living.periods import MOST_ROWS, Period
from unnaive.living.stack import RECORDS, Catalog, CatalogItem, Stack, stack_sums, unstack_sums
from unnaive.pack import PackError
from unnaive.pack.growing import GrowingFile, Record
from unnaive.pack.known import OBJECTS
from unnaive.pack.limits import Budget
from unnaive.store.models import MODELS

MAGIC = b"\x89UNT\r\n\x1a\n"
KIND = "unnaive timeline"
FORMAT = 2  # of records; when they change, keep reading the earlier ones
WHOLE_SUMS = 1  # the last format in which every period was written with all it has

Added = tuple[int, list[tuple[Period, Summary]]]  # rows read, and sums to add to those of periods


class TimelineError(PackError):
    """A file that is no timeline, or is damaged."""


class TimelineFile(GrowingFile):
    """The file of a timeline. It appears whole, and grows by whole records."""

    magic, kind, version = MAGIC, KIND, FORMAT
    word, holder, error = "timeline", "process", TimelineError
    remedy = "restore it from a copy"
    _inode = 0

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._catalog = Catalog()

    def write(self, about: dict[str, Any], added: Iterable[Added]) -> None:
        """Replace the file by a new one, in one step."""
        catalog = Catalog()
        with replacing(self.path) as file:
            file.write(self.magic + self._record(about))
            for one in added:
                file.write(self._packed(one, catalog))
            end = file.tell()
        self._end, self._catalog = end, catalog
        self._inode = os.stat(self.path).st_ino

    def read(self) -> tuple[dict[str, Any], list[Added]]:
        """All that is whole in the file."""
        with open(self.path, "rb") as file:
            self._inode = os.fstat(file.fileno()).st_ino
            self._begin(file)
            self._catalog = Catalog()
            records = self._rest(file)
        about = records[0].content if records else None
        if not isinstance(about, dict) or about.keys() != {"by", "time", "estimator"}:
            raise self._damaged("it does not say what it is about")
        return about, [self._unpack(record) for record in records[1:]]

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
            before = self._end, len(self._catalog)
            others = self._catch_up(file)
            if others and alone:
                self._go_back(before)
                raise TimelineError(
                    f"another process has appended to {self.path!r} meanwhile, so these rows have "
                    "other numbers; append them again."
                )
            file.truncate(self._end)
            known = self._end, len(self._catalog)
            try:
                self._end = self._append(file, self._packed(added, self._catalog))
            except BaseException:
                self._go_back(known)
                file.truncate(self._end)
                raise
        return others

    def _go_back(self, known: tuple[int, int]) -> None:
        """Forget what was read or written after a record: where it ends, what is known then."""
        self._end, n_items = known
        self._catalog.shorten(n_items)

    def _catch_up(self, file: BinaryIO) -> list[Added]:
        state = os.fstat(file.fileno())
        if state.st_ino != self._inode or state.st_size < self._end:
            raise TimelineError(
                f"{self.path!r} was written anew by another process; read it with Timeline.open."
            )
        file.seek(self._end)
        known = self._end, len(self._catalog)
        try:
            return [self._unpack(record) for record in self._rest(file)]
        except PackError:
            self._go_back(known)
            raise

    def _packed(self, added: Added, catalog: Catalog) -> bytes:
        """The record of some sums; the catalog has what it lists from then on."""
        n_rows, parts = added
        n_known = len(catalog)
        stack = stack_sums([summary for _, summary in parts], catalog)
        new = [RECORDS.pack(item, CatalogItem) for item in catalog.items[n_known:]]
        periods = [period for period, _ in parts]
        return self._record((n_rows, periods, new, RECORDS.pack(stack, Stack)), stack.cost)

    def _unpack(self, record: Record) -> Added:
        try:
            if record.version <= WHOLE_SUMS:
                n_rows, given = record.content
                return _number(n_rows), [(p, OBJECTS.unpack(node, Summary)) for p, node in given]
            n_rows, periods, new, sums = record.content
            for node in new:
                self._catalog.add(RECORDS.unpack(node, CatalogItem))
            stack = RECORDS.unpack(sums, Stack)
            Budget(record.size).spend(stack.cost)
            parts = unstack_sums(stack, self._catalog)
            return _number(n_rows), list(zip(periods, parts, strict=True))
        except (PackError, TypeError, ValueError) as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> PackError:
        """The error that what is in the file makes no timeline."""
        return self._damaged(str(error).rstrip("."))


def _number(n_rows: Any) -> int:
    """The number of rows that were read, as a record has it."""
    expect(type(n_rows) is int and 0 <= n_rows < MOST_ROWS, f"{n_rows!r:.40} is no number of rows.")
    return int(n_rows)


def pack_estimator(estimator: Any) -> Any:
    """The parameters of an estimator that has not been fitted, as plain data."""
    return MODELS.pack(estimator, BaseEstimator, "estimator")


def unpack_estimator(node: Any) -> Any:
    return MODELS.unpack(node, BaseEstimator, "estimator")
