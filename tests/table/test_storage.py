"""Room for arrays of rows: in memory up to a limit, then in files that never stay behind."""

from __future__ import annotations

import gc
import os
import pickle
import tempfile

import numpy as np
import pytest

from unnaive.table.records import Storage

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


def test_room_may_be_sent_to_a_worker():
    storage = Storage(LIMIT)
    kept = storage.empty(LIMIT // 8, np.float64)
    sent = pickle.loads(pickle.dumps(storage))
    assert (sent.limit, sent.held, storage.held) == (LIMIT, 0, kept.nbytes)
