"""Room for arrays of rows: in memory up to a limit, then in files that never stay behind."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from unnaive.table import Storage

LIMIT = 1 << 20


def test_arrays_beyond_the_limit_are_in_files_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    storage = Storage(LIMIT)
    first = storage.empty(LIMIT // 8, np.float64)
    assert (storage.held, storage.spilled) == (LIMIT, 0)
    second = storage.zeros((3, 100_000), np.uint16)
    second[1] = 7
    part = second[1, 5:]
    assert (storage.held, storage.spilled, storage.most_spilled) == (LIMIT, 600_000, 600_000)
    assert list(tmp_path.iterdir()) == []
    del first, second
    gc.collect()
    assert (storage.held, storage.spilled) == (0, 600_000)  # a part of it is still used
    assert (part == 7).all()
    del part
    gc.collect()
    assert (storage.held, storage.spilled, storage.most_spilled) == (0, 0, 600_000)


def test_copies_and_rows_of_arrays():
    for storage in (Storage(), Storage(0)):
        values = np.arange(40_000.0).reshape(20_000, 2)
        rows = np.arange(19_999, 0, -2)
        np.testing.assert_array_equal(storage.take(values, rows), values[rows])
        copied = storage.copy(values)
        np.testing.assert_array_equal(copied, values)
        assert not np.shares_memory(copied, values)


def test_a_full_disk_is_told_at_once(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"no room for 0.1 GB of coded rows in .*set TMPDIR"):
        Storage(0).empty(10**8, np.uint8)


CHILD = """
import json, sys, threading, time
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from unnaive import NBTreeClassifier, scan
from unnaive.table import files

files.MOST_ROWS = files.LEAST_ROWS = 1 << 14
folder, n = Path(sys.argv[1]), 600_000
rng = np.random.default_rng(0)
y = rng.integers(0, 2, n)
X = {f"x{j}": rng.integers(0, 50, n) + 3 * y * (j == 0) for j in range(16)}
pq.write_table(pa.table({**X, "y": y}), folder / "all.parquet", row_group_size=50_000)
pq.write_table(pa.table({**X, "y": y}).slice(0, 5_000), folder / "few.parquet")

def anonymous():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1e3

def peak(name, limit):
    most, going, before = 0.0, True, anonymous()
    def watch():
        nonlocal most
        while going:
            most = max(most, anonymous())
            time.sleep(0.002)
    thread = threading.Thread(target=watch)
    thread.start()
    tree = NBTreeClassifier(max_depth=1, cv=3, random_state=0)
    tree.fit(scan(folder / name, "y", memory_limit=limit))
    going = False
    thread.join()
    return max(0.0, most - before)

peak("few.parquet", 0)
print(json.dumps([peak("all.parquet", 0), peak("all.parquet", "10GB")]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
def test_what_a_tree_holds_in_memory_is_bounded(tmp_path):
    """600,000 rows of 16 columns: 19 MB of codes, several times while a tree grows."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.check_output(
        [sys.executable, "-c", CHILD, str(tmp_path)], env=environment, text=True
    )
    bounded, free = json.loads(out.splitlines()[-1])
    assert free > 60
    assert bounded < 0.5 * free
