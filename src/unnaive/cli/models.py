"""Models by name, with parameters from the command line, in files."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def build(name: str, settings: Sequence[str], seed: int, jobs: int | None) -> Any:
    """A model of the family with parameters as ``--set name=value`` gives them."""
    from unnaive.choose import AutoClassifier, make_model
    from unnaive.estimator.registry import family

    members = family()
    if name != "auto" and name not in members:
        close = difflib.get_close_matches(name, members, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ValueError(
            f"--model: there is no {name!r}.{hint} Choose among {', '.join(members)}, auto."
        )
    common: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    model = AutoClassifier(**common) if name == "auto" else make_model(name, **common)
    given = dict(read_setting(text, model) for text in settings)
    model.set_params(**given)
    check = getattr(model, "_check_parameters", None)
    if check is not None:  # before rows are read in vain
        check()
    return model


def read_setting(text: str, model: Any) -> tuple[str, Any]:
    """The name and value of a parameter; the value takes the type that it looks like."""
    name, sign, value = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise ValueError(f"--set {text!r}: write it as name=value.")
    known = model.get_params(deep=True)
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ValueError(
            f"--set: {type(model).__name__} has no parameter {name!r}.{hint} It has "
            f"{', '.join(sorted(known))}."
        )
    return name, _value(name, value.strip(), known[name])


def _value(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        word = {"1": "true", "0": "false"}.get(text, text.lower())
        if word not in WORDS:
            raise ValueError(f"--set {name}: expected true or false; got {text!r}.")
        return WORDS[word]
    if text.lower() in ("none", "null"):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return WORDS.get(text.lower(), text) if text.lower() in ("true", "false") else text


def load_model(path: Path) -> Any:
    """A model from its file."""
    from unnaive.store import load

    if not path.exists():
        raise FileNotFoundError(f"there is no model file {str(path)!r}.")
    return load(path)


def save_model(model: Any, path: Path) -> int:
    """Write a model to its file; its size in bytes."""
    from unnaive.store import save

    check_place(path)
    save(model, path)
    return path.stat().st_size


def check_place(path: Path) -> None:
    """Refuse a place where no file can be, before work is done in vain."""
    from unnaive.common.atomic import takes_bytes

    if takes_bytes(path):
        return
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write to.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"nothing can be written to the folder {str(path.parent)!r}.")
