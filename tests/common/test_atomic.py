"""Files appear whole or not at all, and only files are replaced."""

from __future__ import annotations

import os
import pty
import socket
import stat
import threading

import pytest

from unnaive.common.atomic import replacing


def write(path, content=b"abc"):
    with replacing(path) as file:
        file.write(content)


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(10)
    assert got == [b"abc"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_device_is_written_to_and_stays_one(tmp_path):
    inside, outside = pty.openpty()
    link = tmp_path / "terminal"
    link.symlink_to(os.ttyname(outside))
    write(link)
    assert os.read(inside, 10) == b"abc"
    assert stat.S_ISCHR(link.stat().st_mode)
    os.close(inside)
    os.close(outside)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_the_null_device_swallows_and_stays_one(tmp_path):
    null = tmp_path / "null.csv"
    os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    write(null)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert os.listdir(tmp_path) == ["null.csv"]


def test_what_is_neither_file_nor_device_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        with pytest.raises(OSError, match="is no file; name one to write to"):
            write(path)
        assert stat.S_ISSOCK(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["socket"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    seen = []
    with replacing(path) as file:
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert [*seen, stat.S_IMODE(path.stat().st_mode)] == [mode, mode]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)
