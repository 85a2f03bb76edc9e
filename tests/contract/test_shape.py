"""How the source is shaped: sizes of modules and functions, and who asks about estimators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import unnaive
from unnaive.common.registry import estimators

SOURCE = Path(unnaive.__file__).parent
TREES = {
    path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8"))
    for path in sorted(SOURCE.rglob("*.py"))
}
OWN_ESTIMATORS = {
    base.__name__
    for cls in estimators().values()
    for base in cls.__mro__
    if base.__module__.startswith("unnaive.")
}


def _asks_class(tree: ast.Module) -> Iterator[str]:
    """What code compares classes of objects with."""
    for node in ast.walk(tree):
        asked: ast.AST | None = None
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                pass
            case ast.Compare(left=ast.Call(func=ast.Name(id="type"))):
                asked = node
            case ast.MatchClass(cls=asked):
                pass
        for part in ast.walk(asked) if asked is not None else ():
            if isinstance(part, ast.Name):
                yield part.id
            elif isinstance(part, ast.Attribute):
                yield part.attr


def test_nothing_outside_models_asks_what_class_an_estimator_has():
    assert {"NaiveBayesClassifier", "TreeClassifier", "TableClassifier"} <= OWN_ESTIMATORS
    asking = {path: OWN_ESTIMATORS & set(_asks_class(tree)) for path, tree in TREES.items()}
    assert not [p for p, asked in asking.items() if asked and not p.startswith("models/")]


def test_code_that_asks_for_a_class_is_recognized():
    asking = "isinstance(m, (A, b.B)) or type(m) is C or issubclass(D, E)"
    assert {"A", "B", "C", "E"} <= set(_asks_class(ast.parse(asking)))


def test_private_names_of_scikit_learn_are_imported_in_one_file():
    private = {
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
        if re.search(r"\._|\b_", " ".join([node.module, *(alias.name for alias in node.names)]))
    }
    assert private == {"common/sklearn_private.py"}
