"""A paper as data: its sets, its parts, its claims; and the work that follows from them."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

from unnaive.papers import CONFIGURATIONS
from unnaive_papers.sets import Shelf

PAPERS = tuple(CONFIGURATIONS)
COMPARISON = "comparison"
NO_SET = "-"  # experiments on rows that they make themselves


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One piece of work, and the key under which its record is kept."""

    paper: str
    part: str
    set: str
    method: str
    seed: int


@dataclass(frozen=True, slots=True)
class Part:
    """One experiment of a paper: which sets, methods and seeds, and its own settings."""

    name: str
    sets: list[str]
    methods: list[str]
    seeds: dict[str, int]  # per method
    options: dict[str, Any] = field(default_factory=dict)
    experiment: str = ""
    alone: bool = False  # nothing else may run beside it: it measures time
    limit: float | None = None  # seconds after which a task is given up


@dataclass(frozen=True, slots=True)
class Study:
    """What ``claims.toml`` of a paper says."""

    key: str
    about: dict[str, Any]
    sets: dict[str, dict[str, Any]]
    parts: dict[str, Part]
    claims: list[dict[str, Any]]
    quick: bool = False

    @property
    def module(self) -> ModuleType:
        """Its experiments, configurations, measures and page."""
        return importlib.import_module(f"unnaive_papers.{self.key}")

    def tasks(
        self, shelf: Shelf, only: list[str] | None = None, seeds: int | None = None
    ) -> list[Task]:
        """All work on the sets that there are, with at most so many seeds."""
        there = set(shelf.names()) | {NO_SET}
        return [
            Task(self.key, part.name, name, method, seed)
            for part in self.parts.values()
            for name in part.sets
            if name in there and (only is None or name == NO_SET or name in only)
            for method in part.methods
            for seed in range(min(part.seeds[method], seeds or part.seeds[method]))
        ]


@cache
def load_study(key: str, quick: bool = False) -> Study:
    """The study of one paper; ``quick`` takes the sample that its parts name."""
    text = (files(f"unnaive_papers.{key}") / "claims.toml").read_text("utf-8")
    told = tomllib.loads(text)
    parts = {}
    for name, spec in told["parts"].items():
        sample = spec.pop("quick", None)
        if quick and sample is None:
            continue
        parts[name] = _part(name, {**spec, **(sample or {})} if quick else spec, told)
    claims = [
        {**claim, **(claim.get("quick") or {})} if quick else claim
        for claim in told.get("claims", [])
        if claim["part"] in parts and not (quick and claim.get("quick") is False)
    ]
    return Study(key, told["paper"], told.get("sets", {}), parts, claims, quick)


def _part(name: str, spec: dict[str, Any], told: dict[str, Any]) -> Part:
    sets = spec.pop("sets", [NO_SET])
    methods = spec.pop("methods")
    seeds = spec.pop("seeds", 1)
    by_method: dict[str, int] = seeds if isinstance(seeds, dict) else {"*": seeds}
    return Part(
        name,
        list(told["sets"]) if sets == "all" else sets,
        methods,
        {m: by_method[m] if m in by_method else by_method.get("*", 1) for m in methods},
        experiment=spec.pop("experiment", name),
        alone=spec.pop("alone", False),
        limit=spec.pop("limit", None),
        options=spec,
    )
