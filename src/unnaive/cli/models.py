"""Models by name, with parameters from the command line, in files."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

AUTO_SECONDS = 120.0  # that --model auto compares for
BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def make_estimator(name: str, settings: Sequence[str], seed: int, jobs: int | None) -> Any:
    """The model of a short name, with the parameters of ``--set name=value``."""
    from unnaive.choose import AutoClassifier, PooledClassifier, make_model
    from unnaive.common.registry import family

    names = [*family(), "pool", "auto"]
    if name not in names:
        raise ValueError(
            f"--model: there is no model {name!r}.{_hint(name, names)} "
            f"Choose one of {', '.join(names)}."
        )
    common: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    if name == "auto":
        model = AutoClassifier(time_budget=AUTO_SECONDS, **common)
    elif name == "pool":
        model = PooledClassifier(**common)
    else:
        model = make_model(name, **common)
    model.set_params(**dict(read_setting(text, model) for text in settings))
    model._check_parameters()  # before rows are read
    return model


def read_setting(text: str, model: Any) -> tuple[str, Any]:
    """Name and value of a parameter; the value is a Python literal, or else text."""
    name, sign, value = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise ValueError(f"--set {text!r}: write it as name=value.")
    params = model.get_params(deep=True)
    if name not in params:
        raise ValueError(
            f"--set: {type(model).__name__} has no parameter {name!r}.{_hint(name, params)} It has "
            f"{', '.join(sorted(params))}."
        )
    return name, _parse(name, value.strip(), params[name])


def _hint(name: str, choices: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, choices, 1)
    return f" Did you mean {close[0]}?" if close else ""


def _parse(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        word = {"1": "true", "0": "false"}.get(text, text.lower())
        if word not in BOOLEANS:
            raise ValueError(f"--set {name}: expected true or false; got {text!r}.")
        return BOOLEANS[word]
    if text.lower() in ("none", "null"):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False}.get(text.lower(), text)


def load_model(path: Path) -> Any:
    """A model from its file."""
    from unnaive.store import load

    if not path.exists():
        raise FileNotFoundError(f"there is no model file {str(path)!r}.")
    return load(path)


def decide(
    model: Any, threshold: float | None, positive: str | None, costs: Sequence[str] | None
) -> Any:
    """The model with the decision of ``--threshold`` or ``--cost``; without them, as it was."""
    if threshold is None and not costs:
        if positive is not None:
            raise ValueError("--positive names the class of a --threshold; give both.")
        return model
    if threshold is not None and costs:
        raise ValueError("--threshold and --cost are two ways to decide; give one of them.")
    if not hasattr(model, "with_decision"):
        raise ValueError(f"{type(model).__name__} has no classes to decide for.")
    if threshold is not None:
        return model.with_decision(threshold, positive=positive)
    if positive is not None:
        raise ValueError("--positive is for --threshold; costs name their classes.")
    classes = [str(label) for label in model.classes_.tolist()]
    return model.with_decision(dict(read_cost(text, classes) for text in costs or ()))


def read_cost(text: str, classes: Sequence[str]) -> tuple[tuple[str, str], float]:
    """True class, decided class and cost of ``--cost true:decided=cost``; names may have colons."""
    pair, sign, cost = text.rpartition("=")
    try:
        value = float(cost)
    except ValueError:
        sign = ""
    parts = [(pair[:k], pair[k + 1 :]) for k, letter in enumerate(pair) if letter == ":"]
    if not sign or not parts:
        raise ValueError(f"--cost {text!r}: write it as true:decided=cost, such as bad:good=5.")
    pairs = [(true, decided) for true, decided in parts if true in classes and decided in classes]
    if len(pairs) != 1:
        raise ValueError(
            f"--cost {text!r}: {pair!r} is not two classes; they are {', '.join(classes)}."
        )
    return pairs[0], value


def save_model(model: Any, path: Path, target: str | None = None) -> int:
    """Write a model that was trained now to its file; its size in bytes.

    With SOURCE_DATE_EPOCH in the environment that is the time, so that files can be made again.
    """
    from unnaive.cli.running import raise_if_stopped
    from unnaive.estimator.about import About
    from unnaive.store import save

    check_writable(path)
    raise_if_stopped()
    if target is not None:
        model._about = About(target)
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    save(model, path, trained=now)
    return path.stat().st_size


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written, before any work is done."""
    from unnaive.common.atomic import takes_bytes

    if takes_bytes(path):
        return
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no permission to write to the folder {str(path.parent)!r}.")
