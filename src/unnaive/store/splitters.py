"""Cross-validation splitters of scikit-learn, by name and parameters."""

from __future__ import annotations

import inspect
from typing import Any

from unnaive.common.checks import MOST
from unnaive.pack import PackError

# Those that need nothing but numbers; others, and generators that are used up, are refused.
KNOWN = ("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "TimeSeriesSplit")


def is_splitter(value: Any) -> bool:
    return hasattr(value, "split") and hasattr(value, "get_n_splits")


def pack_splitter(splitter: Any, where: str) -> list[Any]:
    """Name and parameters of a splitter."""
    import sklearn.model_selection

    name = type(splitter).__name__
    if name not in KNOWN or type(splitter) is not getattr(sklearn.model_selection, name):
        raise PackError(
            f"{where} is a {name}; model files hold {', '.join(KNOWN)}. Call set_params with "
            "another one, or with a number, before saving."
        )
    given = {key: getattr(splitter, key) for key in inspect.signature(type(splitter)).parameters}
    for key, value in given.items():
        _check(value, f"{where}.{key}")
    return [name, given]


def unpack_splitter(node: Any, where: str) -> Any:
    """The splitter again; it checks its parameters itself."""
    import sklearn.model_selection

    if not (isinstance(node, list) and len(node) == 2 and node[0] in KNOWN):
        raise PackError(f"{where} is {node!r:.60}, not a splitter.")
    name, given = node
    if not isinstance(given, dict):
        raise PackError(f"{where} has no parameters.")
    for key, value in given.items():
        _check(value, f"{where}.{key}")
    try:
        return getattr(sklearn.model_selection, name)(**given)
    except (TypeError, ValueError) as error:
        raise PackError(f"{where}: {error}") from error


def _check(value: Any, where: str) -> None:
    if type(value) not in (int, float, bool, type(None)):
        raise PackError(f"{where} is {value!r:.60}; model files hold only numbers there.")
    if where.endswith(".n_splits") and value > MOST["cv"]:
        raise PackError(f"{where} is {value!r:.60}; at most {MOST['cv']:,} can be made.")
