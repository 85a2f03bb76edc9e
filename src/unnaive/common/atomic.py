"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` once it is written and safe on disk.

    It is written beside its place under another name. Whatever stops the writing, an error or
    Ctrl-C, leaves what was there before, and nothing else. A file that was there keeps its
    permissions and its owner; its other hard links keep the old content.

    Parameters
    ----------
    path : path
        Where the file shall be; a link is followed. A device such as ``/dev/null`` or a pipe is
        not replaced but written to, as it comes.
    durable : bool, default=True
        Whether to wait until the file is safe on disk. Nobody waits for files that are of no use
        once the machine has stopped.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive.common.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.bin") as file:
    ...         _ = file.write(b"abc")
    ...     (Path(folder) / "a.bin").read_bytes()
    b'abc'
    """
    if takes_bytes(path):
        with open(path, "wb") as file:
            yield file
        return
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with _opened(beside, place, path) as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(beside, place)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    if durable:
        _keep_name(place.parent)


def takes_bytes(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that is written to as it is: a device such as a terminal, a pipe.

    Examples
    --------
    >>> from unnaive.common.atomic import takes_bytes
    >>> takes_bytes(os.devnull), takes_bytes("a file that is not there")
    (True, False)
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _opened(beside: Path, place: Path, path: str | os.PathLike[str]) -> BinaryIO:
    """Open the new file with the permissions and the owner of the old one, or as open() does."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        old = place.stat() if place.exists() else None
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EINVAL, "is no file; name one to write to")
        file = os.fdopen(os.open(beside, flags, 0o666 if old is None else 0o600), "wb")
    except OSError as error:  # it names the place that the user gave
        raise type(error)(error.errno, error.strerror, str(path)) from None
    if old is not None and hasattr(os, "fchown"):
        with suppress(OSError):  # only root gives files away
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
    return file


def _keep_name(folder: Path) -> None:
    """Make the new name itself safe on disk; Windows has no such thing for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
