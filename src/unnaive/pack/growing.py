"""A file of records that only grows, and what a process that died has left of it.

A record is a pack with its length before it, appended and synced. A record that is not whole is
the last one, and reading stops before it.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from typing import Any, BinaryIO, ClassVar, NamedTuple

from unnaive.pack.container import pack_parts, read_pack
from unnaive.pack.limits import PackError

HEAD = struct.Struct("<QI")  # bytes of a record, and the CRC of that number


class Record(NamedTuple):
    """What was read: the content, the version of its format, and its bytes in the file."""

    content: Any
    version: int
    size: int


class GrowingFile:
    """Records in a file; a subclass says what they are and how errors call them.

    Parameters
    ----------
    path : str
    """

    magic: ClassVar[bytes]
    kind: ClassVar[str]  # of each record's pack
    version: ClassVar[int]
    word: ClassVar[str] = "file"  # in errors: what the file is, who may hold it, what to do
    holder: ClassVar[str] = "process"
    remedy: ClassVar[str] = "give another path"
    error: ClassVar[type[PackError]] = PackError

    def __init__(self, path: str) -> None:
        self.path = path
        self._end = 0  # of the last whole record

    def _record(self, content: Any, reserve: int = 0) -> bytes:
        pack = list(pack_parts(content, self.kind, self.version, reserve))
        length = struct.pack("<Q", sum(map(len, pack)))
        return b"".join([length, struct.pack("<I", zlib.crc32(length)), *pack])

    def _append(self, file: BinaryIO, record: bytes) -> int:
        """Where the file ends with the record."""
        file.seek(self._end)
        file.write(record)
        file.flush()
        os.fsync(file.fileno())
        return self._end + len(record)

    def _begin(self, file: BinaryIO) -> None:
        """Pass the first bytes, which say what the file is."""
        start = file.read(len(self.magic))
        if start != self.magic[: len(start)]:
            raise self.error(
                f"{self.path!r} is not a {self.word} of unnaive, and is left as it is; give "
                "another path."
            )
        self._end = len(self.magic)

    def _rest(self, file: BinaryIO) -> list[Record]:
        """The whole records from here on; `_end` is then the end of the last one."""
        size = os.fstat(file.fileno()).st_size
        records = []
        while (record := self._next(file, size)) is not None:
            records.append(record)
        return records

    def _next(self, file: BinaryIO, size: int) -> Record | None:
        """The next record; None where there is none, or the last one is not whole."""
        head = file.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        length, crc = HEAD.unpack(head)
        until = self._end + HEAD.size + length
        if zlib.crc32(head[:8]) != crc:
            if not any(head) and not any(file.read()):  # room that was never written to
                return None
            raise self._damaged("a record has no length")
        if until > size:
            return None
        try:
            pack = io.BytesIO(file.read(length))
            version, content = read_pack(pack, kind=self.kind, version=self.version)
        except PackError as error:
            if until == size and self._end > len(self.magic):
                return None
            raise self._damaged(str(error).rstrip(".")) from error
        self._end = until
        return Record(content, version, length)

    def _damaged(self, why: str) -> PackError:
        return self.error(f"the {self.word} {self.path!r} cannot be read ({why}); {self.remedy}.")

    def _hold(self, file: BinaryIO) -> None:
        """Lock the file until it is closed, or its process dies; not every system can."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self.error(
                f"the {self.word} {self.path!r} is in use by another {self.holder}; wait for it, "
                "or give another path."
            ) from None
        except OSError:  # some network disks have no locks
            return
