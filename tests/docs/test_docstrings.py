"""Docstrings of public names say what the code does: parameters, defaults, what fit leaves."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re

from sklearn.base import BaseEstimator

import unnaive
from unnaive import datasets, explain, papers
from unnaive.models import TableClassifier

SECTION = re.compile(r"^(\S[^\n]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w[\w., *]*?)(?: :(?: (.*))?)?$", re.MULTILINE)


def public():
    found = {}
    for prefix, room in (
        ("", unnaive), ("datasets.", datasets), ("explain.", explain), ("papers.", papers),
    ):  # fmt: skip
        found |= {f"{prefix}{name}": getattr(room, name) for name in room.__all__}
    return {name: own for name, own in found.items() if callable(own)}


def described():
    """Public functions and classes, and the methods that this library gives the classes."""
    for name, found in public().items():
        yield name, found
        if inspect.isclass(found):
            for method, own in inspect.getmembers(found, inspect.isroutine):
                if not method.startswith("_") and str(getattr(own, "__module__", "")).startswith(
                    "unnaive"
                ):
                    yield f"{name}.{method}", own


def sections(found):
    """Each section of a docstring as its entries: name to what follows the colon."""
    parts = SECTION.split((inspect.getdoc(found) or "").replace("\\\n", ""))
    return {
        title: {one: told for names, told in ENTRY.findall(body) for one in names.split(", ")}
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def signature(found):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {
        stars.get(own.kind, "") + name: own.default
        for name, own in inspect.signature(found).parameters.items()
        if name not in ("self", "cls")
    }


def test_parameters_are_those_of_the_signature_in_its_order():
    wrong = []
    for name, found in described():
        told, own = sections(found).get("Parameters"), signature(found)
        if told is None:
            # Facts are made by the library alone; scikit-learn prescribes the hooks of callbacks.
            silent = dataclasses.is_dataclass(found) or "context" in own
            if own and not silent and not name.startswith("explain."):
                wrong.append(f"{name} does not tell its parameters")
            continue
        if list(told) != list(own):
            wrong.append(f"{name} tells {list(told)} and takes {list(own)}")
            continue
        for parameter, words in told.items():
            default = re.search(r"default=(.+)$", words)
            if default and ast.literal_eval(default[1]) != own[parameter]:
                wrong.append(f"{name}: {parameter} is {own[parameter]!r} by default")
    assert wrong == []


def test_attributes_list_what_fit_leaves():
    """Learned attributes are declared in the class, which a test of model files makes sure of."""
    for name, found in public().items():
        if inspect.isclass(found) and issubclass(found, BaseEstimator):
            left = {own for base in found.__mro__ for own in inspect.get_annotations(base)}
            left |= {own for own in dir(found) if isinstance(getattr(found, own), property)}
            left = {own for own in left if own.endswith("_") and not own.startswith("_")}
            left -= vars(TableClassifier).keys()  # what all classifiers have is described there
            assert set(sections(found)["Attributes"]) == left, name


def test_see_also_leads_to_public_names():
    names = public().keys() | {f"unnaive.{name}" for name in public()}
    for name, found in public().items():
        others = {other for other in sections(found).get("See Also", {}) if "sklearn." not in other}
        assert others <= names, name


def test_public_names_have_an_example_or_say_who_has():
    for name, found in public().items():
        text = inspect.getdoc(found)
        said = ">>> " in text or re.search(r"See Also.*\bexample\b", text, re.DOTALL)
        assert said or name not in unnaive.__all__, name
