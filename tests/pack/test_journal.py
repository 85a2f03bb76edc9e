"""A journal holds everything that was added, however its process ended."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress

import pytest

from unnaive.pack import Journal
from unnaive.pack.growing import HEAD
from unnaive.pack.journal import MAGIC, JournalError


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch):
    """Nothing here is about power failures; waiting for disks takes long."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


ABOUT = {"the model": "A", "parameter alpha": "0.5"}


@contextmanager
def interrupted(path, about=ABOUT):
    """A journal whose process is interrupted in the end."""
    with suppress(KeyboardInterrupt), Journal(str(path), about) as journal:
        yield journal
        raise KeyboardInterrupt


def leave(path, *entries, about=ABOUT):
    """Add entries and be interrupted; those that were there before."""
    with interrupted(path, about) as journal:
        for entry in entries:
            journal.add(entry, now=True)
        return journal.entries


def test_what_was_added_is_there_again_and_the_file_goes_when_all_is_done(tmp_path):
    path = tmp_path / "c"
    assert leave(path, ("a", 1), ("b", (2.5, None))) == []
    assert leave(path, ("c", "x")) == [("a", 1), ("b", (2.5, None))]
    with Journal(str(path), ABOUT) as journal:
        assert journal.entries == [("a", 1), ("b", (2.5, None)), ("c", "x")]
    assert not path.exists()


def test_entries_wait_for_the_next_record_and_are_written_when_something_stops(tmp_path):
    path = tmp_path / "c"
    with interrupted(path) as journal:
        journal.add(1)
        size = path.stat().st_size
        for k in range(2, 50):
            journal.add(k)
        assert path.stat().st_size == size
    assert leave(path) == list(range(1, 50))
    journal.add("a thread that works on")  # after the end: goes nowhere


def test_a_file_that_ends_anywhere_gives_what_is_whole_before_that(tmp_path):
    path = tmp_path / "c"
    ends = []
    for k in range(4):
        leave(path, k)
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        expected = [k for k, end in enumerate(ends) if end <= size]
        assert leave(path, "more") == expected
        assert leave(path) == [*expected, "more"]


def test_room_that_was_never_written_to_is_no_damage(tmp_path):
    path = tmp_path / "c"
    leave(path, 1)
    with path.open("ab") as file:
        file.write(bytes(100))
    assert leave(path, 2) == [1]
    assert leave(path) == [1, 2]


def test_damage_is_told_with_the_file_and_what_to_do_or_costs_the_last_record_only(tmp_path):
    path = tmp_path / "c"
    for k in range(2):
        leave(path, k)
    last = path.stat().st_size + HEAD.size  # where the last record begins, after its length
    leave(path, 2)
    whole = path.read_bytes()
    words = re.escape(f"{str(path)!r} cannot be read") + ".*remove it to begin anew"
    for place in range(len(MAGIC), len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        if place >= last:
            assert leave(path) == [0, 1]
            continue
        with pytest.raises(JournalError, match=words):
            leave(path)
        assert len(path.read_bytes()) == len(whole)  # left for whoever wants to look


@pytest.mark.parametrize("content", [b"age,label\n1,a\n", b"PAR1", MAGIC[:4] + b"data"])
def test_a_file_that_is_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "sales.csv"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="is not a checkpoint of unnaive, and is left as it is"):
        leave(path)
    assert path.read_bytes() == content


def test_a_journal_about_something_else_is_refused_and_named(tmp_path):
    path = tmp_path / "c"
    leave(path, 1)
    kept = path.read_bytes()
    with pytest.raises(JournalError, match="parameter alpha was 0.5, and is 1.0. Undo that to"):
        leave(path, about=ABOUT | {"parameter alpha": "1.0"})
    with pytest.raises(JournalError, match="parameter new was nothing, and is 1"):
        leave(path, about=ABOUT | {"parameter new": "1"})
    with pytest.raises(JournalError, match="parameter alpha was 0.5, and is nothing"):
        leave(path, about={"the model": "A"})
    assert path.read_bytes() == kept
    assert leave(path) == [1]


def test_two_at_once_are_refused(tmp_path):
    path = str(tmp_path / "c")
    with Journal(path, ABOUT), pytest.raises(JournalError, match="in use by another fit"):
        leave(path)


def test_places_that_cannot_be_written_are_told_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="no/c"):
        leave(tmp_path / "no" / "c")
    with pytest.raises(IsADirectoryError):
        leave(tmp_path)


def test_a_full_disk_does_not_end_the_work_and_is_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "c"

    def full(handle):
        raise OSError(28, "No space left on device")

    with interrupted(path) as journal:
        journal.add(1, now=True)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.warns(UserWarning, match="cannot be written .No space left on device."):
                journal.add(2, now=True)
            journal.add(3, now=True)  # said once
    assert leave(path) == [1, 2, 3]


def test_an_interrupt_while_writing_does_not_write_twice(tmp_path, monkeypatch):
    path = tmp_path / "c"

    def stop(handle):
        monkeypatch.undo()
        raise KeyboardInterrupt

    with interrupted(path) as journal:
        monkeypatch.setattr(os, "fsync", stop)
        with pytest.raises(KeyboardInterrupt):
            journal.add(1, now=True)
        journal.add(2, now=True)
    assert leave(path) == [1, 2]
