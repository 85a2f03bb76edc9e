"""A PostgreSQL server of our own, for the time of the tests."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest


def find_binaries() -> Path | None:
    """Where `initdb` and `postgres` are: on the path, or where Debian keeps them by version."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    known = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return Path(known[-1]).parent if known else None


def _user() -> str | None:
    """Who runs the server, which refuses to be run by root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def postgres_server():
    """Connection string of a fresh server; skips where there is none."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="unnaive-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"
    make = [binaries / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8"]
    make += ["--locale=C", "--no-sync"]
    serve = [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    serve += ["-c", "fsync=off"]
    server = None
    try:
        subprocess.run(make, user=user, cwd=folder, check=True, capture_output=True)
        with log.open("wb") as out:
            server = subprocess.Popen(serve, user=user, cwd=folder, stdout=out, stderr=out)
        address = f"host={folder} user=tester dbname=postgres"
        for _ in range(200):
            try:
                psycopg.connect(address).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        yield address
    finally:
        if server is not None:
            server.terminate()
            server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
