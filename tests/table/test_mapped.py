"""Records and states in files: they come back whole, and what is lost is made again."""

from __future__ import annotations

import errno
import operator
import pickle
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from unnaive.table import spark_files
from unnaive.table.mapped import ALIGNMENT, dump, load, read_mapped, write_mapped
from unnaive.table.packets import unpack
from unnaive.table.spark_files import RecordFiles, States, visitor


@dataclass
class Rows:
    """A record."""

    codes: np.ndarray
    more: tuple[np.ndarray | None, ...]
    name: str


DTYPES = st.sampled_from([np.uint8, np.int64, np.float64, np.bool_])


@given(st.lists(arrays(DTYPES, array_shapes(min_dims=1, min_side=0)), min_size=1, max_size=4))
def test_an_object_comes_back_and_its_arrays_lie_in_its_file(columns):
    record = Rows(columns[0], (*columns[1:], np.asfortranarray(columns[0]), None), "é")
    content = bytearray(dump(record))
    found = load(content)
    assert (found.name, found.more[-1]) == ("é", None)
    for array, mine in zip((found.codes, *found.more[:-1]), (record.codes, *record.more[:-1])):
        np.testing.assert_array_equal(array, mine, strict=True)
        assert array.flags.writeable
        if array.size:
            start = np.frombuffer(content, np.uint8).ctypes.data
            assert (array.ctypes.data - start) % ALIGNMENT == 0
            assert start < array.ctypes.data < start + len(content)


def test_changes_of_a_mapped_array_stay_in_its_process_and_a_removed_file_is_read_on(tmp_path):
    path = tmp_path / "a"
    write_mapped(path, dump(np.arange(100_000)))
    found = read_mapped(path)
    found[:] = -1
    again = read_mapped(path)
    assert again[-1] == 99_999
    write_mapped(path, dump(np.zeros(3)))
    path.unlink()
    assert again.sum() == 99_999 * 50_000
    assert not list(tmp_path.iterdir())


# Steps of a record of numbers: a state is what it was and the record, so that it says which
# functions have made it, in which order, and of which record.


def begin(record, state):
    assert state is None
    return [("begin", *record.tolist())], 1


def go_on(record, state):
    return [*state, ("go on", *record.tolist())], 1


def look(record, state):
    return [(record.tolist(), state)]


STEPS = {4: begin, 7: go_on, 9: go_on}


class Worker:
    """Records on a machine of its own, and their packets."""

    def __init__(self, monkeypatch, folder, n_roots=1):
        self.roots = [folder / f"root {k}" for k in range(n_roots)]
        for root in self.roots:
            root.mkdir()
        monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, self.roots)))
        self.files, packets = RecordFiles.new(), []
        for part in (0, 1):
            write = self.files.writer(part)
            packets += [write(np.array([part, k])) for k in range(2)]
        self.packets = pa.Table.from_batches(packets)
        self.steps = {}

    def run(self, fn, add=operator.add, number=None, packets=False):
        """What a task says of all records: its results, and the partitions that are lost."""
        names = self.packets.select(["part", "name", *(["kept"] if packets else [])])
        functions = tuple(self.steps.values()) if packets else ()
        states = States(self.files, tuple(self.steps), functions)
        call = pickle.dumps((fn, add))
        found = list(visitor(states, call, number)(names.to_batches()))
        if number is not None:
            self.steps[number] = call
        return [unpack(batch["result"][0].as_py()) for batch in found]

    def look(self, **given):
        """All records and states that are there, and the partitions that are lost."""
        ((seen, lost),) = self.run(look, **given)
        return [both for some in seen for both in some], lost

    def paths(self):
        return sorted(path for root in self.roots for path in root.glob("*/*"))


@pytest.fixture(params=[1, 2])
def worker(request, monkeypatch, tmp_path):
    return Worker(monkeypatch, tmp_path, request.param)


def expected(n_steps):
    every = [[part, k] for part in (0, 1) for k in (0, 1)]
    names = ["begin", "go on", "go on"][:n_steps]
    return [(r, [(name, *r) for name in names] or None) for r in every]


def test_states_advance_and_one_of_each_record_is_left(worker):
    assert worker.look() == (expected(0), [])
    for k, (number, fn) in enumerate(STEPS.items(), 1):
        assert worker.run(fn, number=number) == [([4], [])]
        assert worker.look() == (expected(k), [])
        assert len(worker.paths()) == 8  # a record and a state each
    assert all(path.name.endswith(".9") for path in worker.paths() if "." in path.name)
    worker.files.remove()
    assert not worker.paths()


@pytest.mark.parametrize(
    ("first", "last", "lost"),
    [("", "", [0, 1]), ("", ".9", [0, 1]), ("1-1-", "", [1]), ("0-0-", "record", [0])],
)
def test_what_is_lost_is_said_and_made_again(first, last, lost, worker):
    for number, fn in STEPS.items():
        worker.run(fn, number=number)
    for path in worker.paths():
        kind = path.suffix or "record"
        if path.name.startswith(first) and kind.endswith(last):
            path.unlink()
    kept = [each for each in expected(3) if each[0][0] not in lost]
    assert worker.look() == (kept, lost)  # nothing of a partition counts that is not whole
    assert worker.look(packets=True) == (expected(3), [])
    assert worker.look() == (expected(3), [])


def test_a_state_of_a_pass_before_is_gone_on_from(worker, monkeypatch):
    """It is on a machine that a record has left and come back to."""
    worker.run(begin, number=4)
    worker.run(go_on, number=7)
    last = {path: path.read_bytes() for path in worker.paths()}
    worker.run(go_on, number=9)
    for path in worker.paths():
        path.unlink()
    for path, content in last.items():
        path.write_bytes(content)
    worker.steps[4] = pickle.dumps((None, None))  # it is not asked for
    assert worker.look() == ([], [0, 1])
    assert worker.look(packets=True) == (expected(3), [])


def test_each_partition_has_a_packet_where_results_do_not_add_up(worker):
    next(path for path in worker.paths() if path.name.startswith("0-1")).unlink()
    results = [look(np.array([1, k]), None) for k in range(2)]
    assert worker.run(look, add=None) == [([], [0]), (results, [])]


def test_a_pass_that_failed_leaves_nothing_that_counts(worker):
    def fails(record, state):
        if record.tolist() == [1, 0]:
            raise ValueError("no")
        return "wrong", 1

    worker.run(begin, number=4)
    states = States(worker.files, (4,))
    names = worker.packets.select(["part", "name"]).to_batches()
    with pytest.raises(ValueError, match="no"):
        list(visitor(states, cloudpickled(fails), 5)(names))
    worker.run(go_on, number=6)
    assert worker.look() == (expected(2), [])


def cloudpickled(fn):
    from pyspark.cloudpickle import dumps

    return dumps((fn, operator.add))


def test_a_partition_that_is_made_again_has_other_names(worker):
    """Its rows may come in another order: a state of the first would not fit them."""
    write = worker.files.writer(0)
    again = write(np.array([0, 0]))["name"][0].as_py()
    assert again not in worker.packets["name"].to_pylist()


def test_a_state_is_not_written_where_records_have_been_removed(worker):
    """The fit has ended while a task was still running."""
    worker.files.remove()
    States(worker.files, ()).advance(0, "0-0-a", 1, "late")
    assert not [path for root in worker.roots for path in root.iterdir()]


def test_a_full_disk_is_told_with_what_to_set(worker, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spark_files, "write_mapped", full)
    with pytest.raises(OSError, match=r"no room for 0 MB of coded rows in .*spark\.local\.dir"):
        worker.files.writer(0)(np.zeros(3))
