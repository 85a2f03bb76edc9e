"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` once it is written and safe on disk.

    It is written beside its place under another name. Whatever stops the writing, an error or
    Ctrl-C, leaves what was there before, and nothing else.

    Parameters
    ----------
    path : path
        Where the file shall be; a link is followed.

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
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.part")
    # With the permissions that open() gives: files of `tempfile` are their owner's alone.
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        handle = os.open(beside, flags, 0o666)
    except OSError as error:  # it names the place that the user gave
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _keep_name(place.parent)


def _keep_name(folder: Path) -> None:
    """Make the new name itself safe on disk; Windows has no such thing for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
