"""Estimators to plain data and back: parameters, and what they declare to learn.

There is no code here for any one estimator. Each declares its learned attributes with their types,
and refuses in ``_check_learned`` what no fit leaves together.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from unnaive.answer import (
    Answer,
    ClassTree,
    Decision,
    Ensemble,
    EvidenceTable,
    Forest,
    GatedMixture,
    GroupedClasses,
    NaiveBayesStack,
    NaiveBayesTree,
)
from unnaive.answer.mixture import MixtureStructure
from unnaive.answer.nodes import Edit, EditLayer
from unnaive.answer.trees import NodeDensities
from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.scoring import PairTerm
from unnaive.common.checks import MOST
from unnaive.common.registry import find_estimator
from unnaive.counts import CountTable, Moments, Summary, Wanted
from unnaive.counts.periods import PeriodCounts
from unnaive.density import Densities, Scale
from unnaive.encode import Bins, Categories, Grid, Labels
from unnaive.estimator.base import About
from unnaive.store.plain import CLASS, ArrayWriter, ModelFileError, PlainData, checked
from unnaive.table import Column, Schema

PARTS = (CLASS, "parameters", "estimators", "splitters", "output", "learned")
# Cross-validation splitters that are kept, with numbers as their parameters.
SPLITTERS = {
    cls.__name__: cls
    for cls in (KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit, TimeSeriesSplit)
}
MOST_JOBS = 4096
OUTPUTS = ("default", "pandas", "polars")


def learned_hints(cls: type) -> dict[str, Any]:
    """Return the attributes that a fit leaves, and their types, as the class declares them."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] in ("sklearn", "abc", "builtins"):
            continue
        declared = inspect.get_annotations(base, eval_str=True)
        hints |= {name: hint for name, hint in declared.items() if is_learned(name)}
    # What is made of other attributes is not kept.
    return {n: hint for n, hint in hints.items() if not isinstance(getattr(cls, n, None), property)}


def is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _are_named(value: Any) -> bool:
    """Return whether this is a list of (name, estimator) pairs."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
        and all(type(name) is str and isinstance(model, BaseEstimator) for name, model in value)
    )


def _pack_splitter(splitter: Any, where: str) -> list[Any]:
    name = type(splitter).__name__
    if type(splitter) is not SPLITTERS.get(name):
        raise ModelFileError(
            f"{where} is a {name}; model files hold {', '.join(SPLITTERS)}. Call set_params with "
            "another one, or with a number, before saving."
        )
    names = inspect.signature(type(splitter)).parameters
    given = {key: getattr(splitter, key) for key in names}
    _unpack_splitter([name, given], where)
    return [name, given]


def _unpack_splitter(node: Any, where: str) -> Any:
    if not (isinstance(node, list) and len(node) == 2 and node[0] in SPLITTERS):
        raise ModelFileError(f"{where} is {node!r:.60}, not a splitter.")
    if not isinstance(node[1], dict):
        raise ModelFileError(f"{where} has no parameters.")
    for key, value in node[1].items():
        if type(value) not in (int, float, bool, type(None)):
            raise ModelFileError(
                f"{where}.{key} is {value!r:.60}; model files hold only numbers there."
            )
        if key == "n_splits" and value > MOST["cv"]:
            raise ModelFileError(
                f"{where}.n_splits is {value!r:.60}; at most {MOST['cv']:,} are read."
            )
    try:
        return SPLITTERS[node[0]](**node[1])
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{where}: {error}") from error


class EstimatorData(PlainData):
    """Estimators to plain values and back, beside the dataclasses that they learn."""

    def __init__(self, *classes: type) -> None:
        super().__init__(*classes)
        self._hints: dict[str, dict[str, Any]] = {}

    def hints(self, name: str) -> dict[str, Any]:
        """Return what an estimator declares to learn; looking it up takes a while."""
        if name not in self._hints:
            self._hints[name] = learned_hints(find_estimator(name))
        return self._hints[name]

    def _pack_object(self, value: Any, hint: type, where: str) -> dict[str, Any]:
        if not issubclass(hint, BaseEstimator):
            return super()._pack_object(value, hint, where)
        cls = find_estimator(type(value).__name__)
        if type(value) is not cls:
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise ModelFileError(
                f"{where} is a {kind}; model files hold only estimators of unnaive, because "
                "nothing else can be checked when it is loaded. Use skops or joblib instead."
            )
        node: dict[str, Any] = {part: {} for part in PARTS}
        node[CLASS] = cls.__name__
        node["output"] = getattr(value, "_sklearn_output_config", {}).get("transform", "default")
        for name, parameter in value.get_params(deep=False).items():
            self._pack_parameter(node, name, parameter, f"{where}.{name}")
        node["learned"] = self._pack_learned(value, where)
        return node

    def _pack_parameter(self, node: dict[str, Any], name: str, value: Any, where: str) -> None:
        if isinstance(value, BaseEstimator):
            node["estimators"][name] = self._pack_object(value, BaseEstimator, where)
        elif _are_named(value):
            node["estimators"][name] = [
                (label, self._pack_object(estimator, BaseEstimator, f"{where}[{label!r}]"))
                for label, estimator in value
            ]
        elif hasattr(value, "split") and hasattr(value, "get_n_splits"):
            node["splitters"][name] = _pack_splitter(value, where)
        elif isinstance(value, np.random.RandomState):
            raise ModelFileError(
                f"{where} is a RandomState, whose state is not kept in model files; call "
                f"set_params({name}=None) or give a number before saving."
            )
        else:
            try:
                ArrayWriter().encode(value)
            except ModelFileError as error:
                raise ModelFileError(
                    f"{where}: {error} Call set_params({name}=...) with plain values, or None, "
                    "before saving; what was learned stays."
                ) from None
            node["parameters"][name] = value

    def _pack_learned(self, value: Any, where: str) -> dict[str, Any] | None:
        hints = self.hints(type(value).__name__)
        learned = {name: attribute for name, attribute in vars(value).items() if is_learned(name)}
        undeclared = sorted(learned.keys() - hints.keys())
        if undeclared:
            raise ModelFileError(
                f"{where} has learned {undeclared[0]}, which {type(value).__name__} does not "
                "declare as learned."
            )
        if not learned:
            return None
        return {n: self.pack(held, hints[n], f"{where}.{n}") for n, held in learned.items()}

    def _unpack_object(self, node: Any, hint: type, where: str) -> Any:
        if not issubclass(hint, BaseEstimator):
            return super()._unpack_object(node, hint, where)
        if not isinstance(node, dict) or node.keys() != set(PARTS):
            raise ModelFileError(f"{where} is not an estimator.")
        cls = find_estimator(node[CLASS]) if isinstance(node[CLASS], str) else None
        if cls is None or not issubclass(cls, hint):
            raise ModelFileError(
                f"{where} is {node[CLASS]!r:.40}, not an estimator that is known here."
            )
        model = cls(**self._unpack_parameters(node, cls, where))
        checked(model._check_parameters, where)
        n_jobs = getattr(model, "n_jobs", None)
        if n_jobs is not None and (type(n_jobs) is not int or not 0 < abs(n_jobs) <= MOST_JOBS):
            raise ModelFileError(f"{where}.n_jobs is {n_jobs!r:.40}.")
        if node["output"] not in OUTPUTS:
            raise ModelFileError(f"{where} gives {node['output']!r:.40}.")
        if node["output"] != "default" and hasattr(model, "set_output"):
            model.set_output(transform=node["output"])
        if node["learned"] is not None:
            self._unpack_learned(model, node["learned"], where)
        return model

    def _unpack_parameters(self, node: dict[str, Any], cls: Any, where: str) -> dict[str, Any]:
        names = set(cls._get_param_names())
        parameters: dict[str, Any] = {}
        for part in ("parameters", "estimators", "splitters"):
            given = node[part]
            if not isinstance(given, dict) or not given.keys() <= names - parameters.keys():
                raise ModelFileError(f"{where} has {part} that {cls.__name__} does not have.")
            for name, value in given.items():
                at = f"{where}.{name}"
                if part == "estimators" and isinstance(value, list):
                    parameters[name] = [self._unpack_named(pair, at) for pair in value]
                elif part == "estimators":
                    parameters[name] = self.unpack(value, BaseEstimator, at)
                else:
                    parameters[name] = _unpack_splitter(value, at) if part == "splitters" else value
        return parameters

    def _unpack_named(self, pair: Any, where: str) -> tuple[str, Any]:
        """Return a name and an estimator."""
        if not isinstance(pair, tuple) or len(pair) != 2 or type(pair[0]) is not str:
            raise ModelFileError(f"{where} is not a list of names and estimators.")
        return pair[0], self.unpack(pair[1], BaseEstimator, where)

    def _unpack_learned(self, model: Any, given: Any, where: str) -> None:
        hints = self.hints(type(model).__name__)
        needed = hints.keys() - model._optional_attributes
        if not isinstance(given, dict) or not needed <= given.keys() <= hints.keys():
            raise ModelFileError(f"{where} lacks what a fitted {type(model).__name__} has learned.")
        for name, packed in given.items():
            setattr(model, name, self.unpack(packed, hints[name], f"{where}.{name}"))
        checked(model._check_learned, where)


STORED = EstimatorData(
    *(Column, Schema, Labels, Bins, Categories, Grid),
    *(CountTable, Moments, Wanted, Summary, PeriodCounts, Scale, Densities),
    *(TableTerm, GaussianTerm, KernelTerm, PairTerm, Scorer, Calibration),
    *(Answer, Decision, Edit, EditLayer, EvidenceTable, NaiveBayesStack, GatedMixture),
    *(MixtureStructure, Ensemble, GroupedClasses, NaiveBayesTree, NodeDensities, ClassTree),
    *(Forest, About),
)
