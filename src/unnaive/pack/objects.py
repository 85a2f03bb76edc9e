"""Dataclasses to plain data and back, by the types that their fields are declared with.

A class that is to be stored needs nothing but honest annotations and, where numbers must agree
with each other, a method ``check`` that refuses what no fit leaves. Only classes that were listed
are ever made. How to change one without losing old files:

- a new field with a default: nothing to do, files without it get the default;
- any other change of fields: raise the version of the format that holds the class, and turn nodes
  of earlier versions into the new form before they come here.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from unnaive.pack.limits import PackError

NAME = "is"  # under which a node says what it is
Field: TypeAlias = tuple[str, Any, bool]
PLAIN = (bool, int, float, str, type(None))


class Objects:
    """Knows a list of classes, and no others.

    Parameters
    ----------
    *classes : types
        Dataclasses, each by its own name.
    """

    def __init__(self, *classes: type) -> None:
        self.classes = {cls.__name__: cls for cls in classes}
        self._fields: dict[str, list[Field]] = {}

    def pack(self, value: Any, hint: Any, where: str = "content") -> Any:
        """Plain data of a value that is what ``hint`` says."""
        return self._visit(value, hint, where, self._pack_object)

    def unpack(self, node: Any, hint: Any, where: str = "content") -> Any:
        """The value, checked against ``hint`` and by its own ``check``."""
        return self._visit(node, hint, where, self._unpack_object)

    # Both directions walk the same way: only objects differ.

    def _visit(self, value: Any, hint: Any, where: str, on_object: Callable[..., Any]) -> Any:
        origin, args = get_origin(hint), get_args(hint)
        if hint is Any:
            return value
        if hint in PLAIN:
            return _exactly(value, hint, where)
        if origin in (Union, types.UnionType):
            return self._visit(value, self._member(value, args, where), where, on_object)
        if origin is Literal:
            if type(value) is str and value in args:
                return value
            raise PackError(f"{where} is {value!r:.40}, not one of {args}.")
        if origin is np.ndarray:
            return _exactly_array(value, args, where)
        if origin in (tuple, list, frozenset):
            inner = _item_hints(_exactly(value, origin, where), origin, args, where)
            items = enumerate(zip(value, inner, strict=True))
            return origin(self._visit(v, h, f"{where}[{i}]", on_object) for i, (v, h) in items)
        if isinstance(hint, type):
            return on_object(value, hint, where)
        raise PackError(f"{where} is declared as {hint}, which cannot be stored.")

    def _member(self, value: Any, args: tuple[Any, ...], where: str) -> Any:
        """Which of several types a value, or a node, is of."""
        if value is None and type(None) in args:
            return type(None)
        others = [hint for hint in args if hint is not type(None)]
        if len(others) == 1:
            return others[0]
        name = value.get(NAME) if isinstance(value, dict) else type(value).__name__
        for hint in others:
            if name == getattr(hint, "__name__", None):
                return hint
        raise PackError(f"{where} is {name!r:.40}, not one of {[h.__name__ for h in others]}.")

    def fields(self, name: str) -> list[Field]:
        """What a class is made from: name and type of each field, and whether it must be there."""
        if name not in self._fields:
            cls = self.classes[name]
            hints = get_type_hints(cls)
            self._fields[name] = [
                (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING)
                for f in fields(cls)
                if f.init
            ]
        return self._fields[name]

    def _known(self, name: Any, hint: type, where: str) -> type:
        cls = self.classes.get(name) if isinstance(name, str) else None
        if cls is None or not issubclass(cls, hint):
            raise PackError(f"{where} is {name!r:.40}, not a {hint.__name__} that can be stored.")
        return cls

    def _pack_object(self, value: Any, hint: type, where: str) -> dict[str, Any]:
        cls = self._known(type(value).__name__, hint, where)
        if type(value) is not cls:
            raise PackError(f"{where} is a {type(value)}, which cannot be stored.")
        packed = {
            name: self._visit(getattr(value, name), of, f"{where}.{name}", self._pack_object)
            for name, of, _ in self.fields(cls.__name__)
        }
        return {NAME: cls.__name__, **packed}

    def _unpack_object(self, node: Any, hint: type, where: str) -> Any:
        if not isinstance(node, dict):
            raise PackError(f"{where} is not a {hint.__name__}.")
        cls = self._known(node.get(NAME), hint, where)
        expected = self.fields(cls.__name__)
        unknown = node.keys() - {name for name, _, _ in expected} - {NAME}
        if unknown:
            raise PackError(f"{where} has {sorted(map(str, unknown))[0]!r:.40}, which is unknown.")
        given = {}
        for name, of, needed in expected:
            if name in node:
                given[name] = self._visit(node[name], of, f"{where}.{name}", self._unpack_object)
            elif needed:
                raise PackError(f"{where} has no {name}.")
        return checked(lambda: cls(**given), where)


def checked(make: Callable[[], Any], where: str) -> Any:
    """An object that was made, and refused if its own ``check`` does."""
    try:
        made = make()
        if hasattr(made, "check"):
            made.check()
    except PackError:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise PackError(f"{where}: {error!s:.200}") from error
    return made


def _exactly(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        raise PackError(f"{where} is a {type(value).__name__}, not a {kind.__name__}.")
    return value


def _exactly_array(value: Any, args: tuple[Any, ...], where: str) -> Any:
    """An array of the declared type, which is the second argument of `numpy.ndarray`."""
    (scalar,) = get_args(args[1])
    if not isinstance(value, np.ndarray):
        raise PackError(f"{where} is a {type(value).__name__}, not an array.")
    if scalar is not Any and value.dtype != np.dtype(scalar):
        raise PackError(f"{where} is an array of {value.dtype}, not of {np.dtype(scalar)}.")
    return value


def _item_hints(value: Any, origin: type, args: tuple[Any, ...], where: str) -> list[Any]:
    if origin is not tuple or (len(args) == 2 and args[1] is ...):
        return [args[0]] * len(value)
    if len(args) != len(value):
        raise PackError(f"{where} has {len(value)} entries, not {len(args)}.")
    return list(args)
