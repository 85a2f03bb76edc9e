"""Where a fit stands, so that another process can go on: what models share of it."""

from __future__ import annotations

import io
import logging
import re
import zlib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Self

import numpy as np

from unnaive.counts import Summary
from unnaive.counts.summary import Coder
from unnaive.models._seeding import draw_seed
from unnaive.pack import Journal, Objects, write_pack
from unnaive.pack.known import OBJECTS
from unnaive.pack.release import release
from unnaive.table import Scan
from unnaive.table.fingerprint import PARTITIONS, Checksums, RowCheck

_log = logging.getLogger("unnaive")
LONGEST = 200  # letters of a parameter that are shown; of a longer one, the checksum


class Checkpoint:
    """What earlier processes found in the same fit, and where this one puts what it finds.

    Without a path there is neither: every method does what a fit without checkpoints would do.

    Parameters
    ----------
    estimator : estimator
    scan : Scan or None
        What is fitted on; None where rows are in memory.
    """

    def __init__(self, estimator: Any, scan: Scan | None) -> None:
        self._scan, self._journal = scan, None
        if scan is not None and scan.checkpoint is not None and estimator._keeps_checkpoint:
            self._journal = Journal(scan.checkpoint, _about(estimator, scan))
        self._entries: dict[str, list[Any]] = {}

    def __enter__(self) -> Self:
        if self._journal is not None:
            self._journal.__enter__()
            for word, node in self._journal.entries:
                self._entries.setdefault(word, []).append(node)
            if self._journal.entries:
                steps, path = len(self._journal.entries), self._journal.path
                _log.info("going on from the checkpoint %r: %d steps are known", path, steps)
            self._journal.entries = []
        return self

    def __exit__(self, *error: Any) -> None:
        if self._journal is not None:
            self._journal.__exit__(*error)

    @property
    def active(self) -> bool:
        """Whether anything is kept."""
        return self._journal is not None

    def first_pass(self, take: Callable[[], Summary], check: RowCheck | None) -> Summary:
        """What the first pass leaves: as it was found, if the files are the same, or taken again.

        Other files, or rows of other engines, must leave the same sums. Later passes, or the pass
        that is taken again, must find the rows of the first pass (``check``).
        """
        if self._journal is None or check is None:
            return take()
        states = self._states()
        earlier = self._entries.pop("first pass", None)
        if earlier is not None:
            check.since, check.refusal = "when it was begun", self._journal.refusal
        if earlier is not None and states is not None and earlier[0]["files"] == states:
            check.first = _unpack_rows(earlier[0]["rows"])
            kept: Summary = OBJECTS.unpack(earlier[0]["sums"], Summary)
            return kept
        summary = take()
        node = OBJECTS.pack(summary, Summary)
        if earlier is None:
            rows = {
                numbering: [sums.n_rows, sums.columns]
                for numbering, sums in check.first.items()
                if numbering != PARTITIONS
            }
            entry = {"files": states, "sums": node, "rows": rows}
            self._journal.add(("first pass", entry), now=True)
            return summary
        if _bytes(earlier[0]["sums"]) != _bytes(node):
            before = OBJECTS.unpack(earlier[0]["sums"], Summary)
            raise self._journal.refusal(_difference(before, summary))
        for numbering, sums in _unpack_rows(earlier[0]["rows"]).items():
            why = check.difference(sums, check.first.get(numbering, sums))
            if why is not None:
                raise self._journal.refusal(why)
        return summary

    def _states(self) -> Any:
        """Of the files, if there are any; lists, as they come back."""
        from unnaive.table.batches import file_states

        return None if self._scan is None else file_states(self._scan)

    def seed(self, random_state: Any) -> int:
        """The seed of the fit: drawn now, or as it was drawn where ``random_state`` is None."""
        drawn = draw_seed(random_state)
        if self._journal is None:
            return drawn
        if "seed" not in self._entries:
            self._journal.add(("seed", drawn), now=True)
            return drawn
        seed = int(self._entries["seed"][0])
        if random_state is not None and drawn != seed:
            raise self._journal.refusal("random_state draws another seed")
        return seed

    def steps(self, kinds: Objects, hint: type) -> list[Any]:
        """Steps of this kind that earlier processes have taken, in order."""
        return [kinds.unpack(node, hint) for node in self._entries.pop(hint.__name__, [])]

    def add(self, kinds: Objects, step: Any) -> None:
        """Keep a step that was taken."""
        if self._journal is not None:
            cls = type(step)
            self._journal.add((cls.__name__, kinds.pack(step, cls)))

    def refuse_rows(self) -> None:
        """Say that the rows are not those of the steps that were taken before."""
        assert self._journal is not None
        raise self._journal.refusal(
            "the rows, their order or their folds are not what they were (cv= with a splitter that "
            "shuffles needs a random_state)"
        )


def _unpack_rows(node: Any) -> dict[str, Checksums]:
    return {numbering: Checksums(n, dict(sums)) for numbering, (n, sums) in node.items()}


def _about(estimator: Any, scan: Scan) -> dict[str, str]:
    """All that a model depends on, but for the rows."""
    given = {
        f"parameter {name}": _words(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name != "n_jobs"
    }
    read = ("target", "weight", "columns", "row_id")
    return {
        "the model": type(estimator).__name__,
        **given,
        **{f"the scan's {name}": _words(getattr(scan, name)) for name in read},
        "the release of unnaive": release(),
        "the release of numpy": np.__version__,
        "the release of numba": version("numba"),
    }


def _words(value: Any) -> str:
    """A parameter as text: the same for equal values, another one for others."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return f"a {type(value).__name__}"  # its seed is compared, not its state
    if isinstance(value, np.ndarray) and value.dtype != object:
        shape = "x".join(map(str, value.shape))
        return f"an array of {shape} {value.dtype} ({zlib.crc32(value.tobytes()):08x})"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        text = "{" + ", ".join(sorted(f"{k!r}: {_words(v)}" for k, v in value.items())) + "}"
    elif isinstance(value, (list, tuple, np.ndarray)):
        text = "[" + ", ".join(map(_words, value)) + "]"
    else:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}... ({zlib.crc32(text.encode()):08x})"


def _bytes(node: Any) -> bytes:
    file = io.BytesIO()
    write_pack(file, node, kind="sums", version=1)
    return file.getvalue()


def _difference(before: Summary, now: Summary) -> str:
    """In which way two tables differ."""
    if before.schema.names != now.schema.names:
        return f"the columns were {_words(before.schema.names)}, and are {_words(now.schema.names)}"
    if before.n_rows != now.n_rows:
        return f"there were {before.n_rows:,} rows, and are {now.n_rows:,}"
    if list(before.labels.classes) != list(now.labels.classes):
        return (
            f"the classes were {_words(before.labels.classes.tolist())}, and are "
            f"{_words(now.labels.classes.tolist())}"
        )
    for j, column in enumerate(now.schema):
        same = (
            column == before.schema[j]
            and _bytes(OBJECTS.pack(before.coders[j], Coder))
            == _bytes(OBJECTS.pack(now.coders[j], Coder))
            and np.array_equal(before.counts.attribute(j), now.counts.attribute(j))
        )
        if not same:
            return f"the values of {column} have changed"
    return "the weights of the rows have changed"
