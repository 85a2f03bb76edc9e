"""What a long computation has found so far, in a file that outlives its process.

A journal only grows (`pack/growing.py`), so a process may die anywhere. Its first record says what
it is about, every later one holds the entries found since.
"""

from __future__ import annotations

import os
import time
import warnings
from contextlib import suppress
from threading import Lock
from typing import Any, BinaryIO, Self

from unnaive.pack.growing import GrowingFile
from unnaive.pack.limits import PackError

MAGIC = b"\x89UNJ\r\n\x1a\n"
KIND = "unnaive checkpoint"
FORMAT = 2  # of records; raise it when entries change, there is no need to read older ones
AFRESH = "remove it to begin anew, or give another path"


class JournalError(PackError):
    """A file that is no journal, is damaged, or is about something else."""


class Journal(GrowingFile):
    """Entries of this process and of earlier ones that were about the same.

    Inside ``with``, the file is locked and open. It is removed at the end; after an error or Ctrl-C
    it stays, with everything that was added.

    Parameters
    ----------
    path : str
        The file; made if it is not there.
    about : dict of str to str
        What the entries belong to. A file about something else is refused, naming what differs.

    Attributes
    ----------
    entries : list
        Plain data that earlier processes added, in order.

    Examples
    --------
    >>> import os, tempfile
    >>> from unnaive.pack import Journal
    >>> path = os.path.join(tempfile.mkdtemp(), "sums")
    >>> try:
    ...     with Journal(path, {"task": "sums"}) as journal:
    ...         journal.add(("one", 1))
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt:
    ...     with Journal(path, {"task": "sums"}) as journal:
    ...         print(journal.entries)
    [('one', 1)]
    """

    magic, kind, version = MAGIC, KIND, FORMAT
    word, holder, remedy, error = "checkpoint", "fit", AFRESH, JournalError
    every = 5.0
    """Seconds between records: entries wait so long, and are lost if the process is killed."""

    def __init__(self, path: str, about: dict[str, str]) -> None:
        super().__init__(path)
        self.about = about
        self.entries: list[Any] = []
        self._waiting: list[Any] = []
        self._lock = Lock()
        self._file: BinaryIO | None = None
        self._written = -float("inf")
        self._warned = False

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(self.path, flags, 0o666), "r+b")
        try:
            self._hold(file)
            self._read(file)
        except BaseException:
            file.close()
            raise
        self._file = file
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        with self._lock:
            if self._file is None:
                return
            file, self._file = self._file, None
            with file:
                if kind is not None:
                    self._write(file)
            if kind is None:
                with suppress(OSError):  # what is left of a finished fit does no harm
                    os.unlink(self.path)

    def add(self, entry: Any, *, now: bool = False) -> None:
        """Keep plain data, at once or with the next record; any thread may."""
        with self._lock:
            if self._file is None:  # a thread that works on after Ctrl-C
                return
            self._waiting.append(entry)
            if now or time.monotonic() - self._written >= self.every:
                self._write(self._file)

    def refusal(self, why: str) -> JournalError:
        """The error that this is the journal of something else."""
        return JournalError(
            f"the checkpoint {self.path!r} is of another fit: {why}. Undo that to resume it; or "
            f"{AFRESH}."
        )

    # Writing ------------------------------------------------------------------------------------

    def _write(self, file: BinaryIO) -> None:
        if not self._waiting:
            return
        try:
            end = self._append(file, self._record(self._waiting))
        except OSError as error:  # a fit of hours does not end because a disk is full
            with suppress(OSError):
                file.truncate(self._end)
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"the checkpoint {self.path!r} cannot be written ({error.strerror}); fitting "
                    "goes on, but if it is stopped now, the last steps are lost.",
                    UserWarning,
                    stacklevel=2,
                )
        else:  # in one statement: Ctrl-C before it has the same record written again
            self._end, self._waiting = end, []
        self._written = time.monotonic()

    # Reading ------------------------------------------------------------------------------------

    def _read(self, file: BinaryIO) -> None:
        self._begin(file)
        records = [record.content for record in self._rest(file)]
        if records:
            self._compare(records[0])
            self.entries = [entry for record in records[1:] for entry in record]
            file.truncate(self._end)  # what a dying process left of its last record
            self._written = time.monotonic()
            return
        self._end = 0  # it died before it had found anything
        file.truncate(0)
        self._end = self._append(file, MAGIC + self._record(self.about))

    def _compare(self, written: Any) -> None:
        """Refuse a journal about something else."""
        if not isinstance(written, dict):
            raise self._damaged("it does not say what it is about")
        for name in [*self.about, *sorted(written.keys() - self.about.keys())]:
            then, now = written.get(name, "nothing"), self.about.get(name, "nothing")
            if then != now:
                raise self.refusal(f"{name} was {then}, and is {now}")
