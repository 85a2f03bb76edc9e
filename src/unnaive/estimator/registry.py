"""The one list of models: what `compare`, the command, model files and the documentation know.

A model is declared with its class, by `register`. A model outside this library needs the same line
and, so that the command and `load` find it, an entry point in the group ``unnaive.models`` that
names its module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
GROUP = "unnaive.models"
# Rooms whose classes register themselves when they are imported, which some are when they are first
# asked for. They lie above this one, so they are named, not imported.
_HOMES = ("unnaive.discretize", "unnaive.models", "unnaive.choose", "unnaive.living.timeline")


@dataclass(frozen=True, slots=True)
class Member:
    """A model of the family under its short name.

    Attributes
    ----------
    name : str
    estimator : type
    summary : str
        What it is, in one sentence.
    cost : int
        Its place in the order from the cheapest to the dearest.
    params : dict
        Parameters that differ from the class's defaults.
    """

    name: str
    estimator: Any
    summary: str
    cost: int
    params: dict[str, Any] = field(default_factory=dict)

    def make(self, **params: Any) -> Any:
        """A new estimator."""
        return self.estimator(**{**self.params, **params})


_members: dict[str, Member] = {}
_classes: dict[str, type] = {}


def register(
    name: str | None = None, summary: str = "", *, cost: int = 1000, **params: Any
) -> Callable[[C], C]:
    """Make an estimator known: to model files by its class, and to the family by a short name.

    Parameters
    ----------
    name : str or None, default=None
        Under which `unnaive.compare` and the command offer it; None for what is no classifier of
        the family, such as a transformer.
    summary : str, default=""
        What it is, in one sentence.
    cost : int, default=1000
        Its place in the order from the cheapest to the dearest model.
    **params : dict
        Parameters that this member has and others of its class have not.

    Returns
    -------
    decorator of a class
    """

    def declare(cls: C) -> C:
        other = _classes.get(cls.__name__, cls)
        if _file(other) != _file(cls):  # one file may be imported under two names
            raise ValueError(
                f"two estimators are called {cls.__name__}, that of {other.__module__} and that of "
                f"{cls.__module__}; model files could not tell them apart. Rename one."
            )
        _classes[cls.__name__] = cls
        if name is not None:
            taken = _members.get(name)
            if taken is not None and taken.estimator.__name__ != cls.__name__:
                raise ValueError(f"the name {name!r} is taken by {taken.estimator.__name__}.")
            _members[name] = Member(name, cls, summary, cost, params)
        return cls

    return declare


def _file(cls: type) -> str | None:
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def family() -> dict[str, Member]:
    """The classifiers by short name, from the cheapest to the dearest on most tables."""
    _load()
    return {m.name: m for m in sorted(_members.values(), key=lambda m: m.cost)}


def estimators() -> dict[str, type]:
    """Every estimator that model files may hold, by the name of its class."""
    _load()
    return dict(_classes)


@cache
def _load() -> None:
    for home in _HOMES:
        room = import_module(home)
        for name in room.__all__:
            getattr(room, name)
    for point in entry_points(group=GROUP):
        point.load()
