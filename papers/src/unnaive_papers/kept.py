"""Records that outlive a run: one line of JSON for each finished task."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unnaive_papers.sets import Shelf
from unnaive_papers.study import NO_SET, Part, Study, Task

Record = dict[str, Any]


def settings_key(study: Study, task: Task, shelf: Shelf) -> str:
    """What a result depends on beside its task: versions, settings, the edition of the set."""
    import sklearn

    part: Part = study.parts[task.part]
    make = study.module.CONFIGURATIONS.get(task.method)
    parts = [
        version("unnaive"), sklearn.__version__, repr(sorted(part.options.items())),
        part.experiment, repr(study.sets.get(task.set)),
        "" if make is None else _settings(make(task.seed)),
        "" if task.set == NO_SET else shelf.stamp(task.set),
    ]  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _settings(model: Any) -> str:
    told = f"{type(model).__name__} {sorted((k, repr(v)) for k, v in model.get_params().items())}"
    return re.sub(" at 0x[0-9a-fA-F]+", "", told)  # functions are told by their names


class Kept:
    """The records of one study in a folder; an interrupted run leaves those it had finished."""

    def __init__(
        self, folder: Path, study: Study, shelf: Shelf, limit: float | None = None
    ) -> None:
        self._folder = folder / study.key
        self._study, self._shelf, self._limit = study, shelf, limit
        self._keys: dict[tuple[Any, ...], str] = {}

    def load(self, tasks: list[Task]) -> dict[Task, Record]:
        """Those of these tasks that are done, with the settings of today."""
        wanted = {(t.part, t.set, t.method, t.seed): t for t in tasks}
        found = {}
        for part in {t.part for t in tasks}:
            for line in self._lines(part):
                task = wanted.get((part, line.pop("set"), line.pop("method"), line.pop("seed")))
                if task is None or line.pop("key") != self.key(task):
                    continue
                if "error" not in line or line["limit"] == self.limit(task):
                    found[task] = line
        return found

    def add(self, task: Task, record: Record) -> None:
        """Write one record, at once."""
        self._folder.mkdir(parents=True, exist_ok=True)
        line = {
            "set": task.set, "method": task.method, "seed": task.seed, "key": self.key(task),
            **record,
        }  # fmt: skip
        with (self._folder / f"{task.part}.jsonl").open("a", encoding="utf-8") as out:
            out.write("\n" + json.dumps(line))  # after a line that was cut off, too

    def limit(self, task: Task) -> float | None:
        """Seconds that the task may take."""
        return self._study.parts[task.part].limit if self._limit is None else self._limit

    def key(self, task: Task) -> str:
        short = (task.part, task.set, task.method, task.seed)
        if short not in self._keys:
            self._keys[short] = settings_key(self._study, task, self._shelf)
        return self._keys[short]

    def _lines(self, part: str) -> list[Record]:
        path = self._folder / f"{part}.jsonl"
        if not path.is_file():
            return []
        out = []
        for line in path.read_text("utf-8").splitlines():
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError:  # cut off when the machine was
                continue
        return out


def frame(study: Study, part: str, records: dict[Task, Record]) -> Any:
    """The records of one part as a table; tasks that failed are left out."""
    import pandas as pd

    rows = [
        {"set": t.set, "method": t.method, "seed": t.seed, **record}
        for t, record in sorted(records.items())
        if t.part == part and t.paper == study.key and "error" not in record
    ]
    return pd.DataFrame(rows, columns=None if rows else ["set", "method", "seed", "accuracy"])


def failures(study: Study, records: dict[Task, Record]) -> list[tuple[Task, str]]:
    """Tasks that hit their limit or failed, and what they said."""
    return [
        (t, record["error"])
        for t, record in sorted(records.items())
        if t.paper == study.key and "error" in record
    ]
