"""What a kernel is made of, as text: two kernels with one text become the same machine code.

Numba keeps machine code by the file that a function stands in. A kernel is more than that: kernels
of other files that it calls, and constants that are baked into it. A stamp follows all of them, and
none that it does not use, so that a comment or another function changes nothing.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from unnaive.common.compile import Later, code_names

_stamps: dict[int, tuple[Any, str]] = {}  # by identity, with the kernel, which stays alive


def stamp(kernel: Any) -> str:
    """A digest of a kernel, of the kernels it calls and of the constants it uses.

    Raises
    ------
    TypeError
        If it uses something of which it is not known what becomes of it in machine code.

    Examples
    --------
    >>> from unnaive.common.compile import kernel
    >>> one = kernel(lambda x: x + 1)
    >>> same = kernel(lambda x: x + 1)
    >>> other = kernel(lambda x: x + 2)
    >>> stamp(one) == stamp(same), stamp(one) == stamp(other)
    (True, False)
    """
    if isinstance(kernel, Later):
        kernel = kernel.made()
    known = _stamps.get(id(kernel))
    if known is None:
        _stamps[id(kernel)] = kernel, f"itself {kernel.py_func.__qualname__}"  # if it calls itself
        try:
            text = f"{_function(kernel.py_func)} {_options(kernel.targetoptions)}"
        except BaseException:
            del _stamps[id(kernel)]
            raise
        known = _stamps[id(kernel)] = kernel, hashlib.sha256(text.encode()).hexdigest()
    return known[1]


def signature_text(signature: Iterable[Any]) -> str:
    """Types of arguments as text; of named tuples also the names, in their order."""
    return ", ".join(map(_argument, signature))


def _argument(item: Any) -> str:
    if isinstance(item, types.BaseNamedTuple):
        return f"{_class(item.instance_class)}({signature_text(item.types)})"
    if isinstance(item, types.BaseTuple):
        return f"({signature_text(item)})"
    return str(item)


def _function(function: Any) -> str:
    cells = [_value(cell.cell_contents) for cell in function.__closure__ or ()]
    defaults = _value(function.__defaults__), _options(function.__kwdefaults__ or {})
    used = {
        name: _value(function.__globals__[name])
        for name in sorted(code_names(function.__code__))
        if name in function.__globals__
    }
    return f"{_code(function.__code__)} {cells} {defaults} {used}"


def _code(code: CodeType) -> str:
    constants = [_value(item) for item in code.co_consts]
    shape = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return f"{code.co_name} {shape} {names} {code.co_code.hex()} {constants}"


def _options(options: Mapping[str, Any]) -> str:
    return str([f"{name}={_value(item)}" for name, item in sorted(options.items())])


def _class(item: type) -> str:
    return f"{item.__module__}.{item.__qualname__}{getattr(item, '_fields', '')}"


@functools.singledispatch
def _value(value: Any) -> str:
    """What a global, a constant or an option is."""
    raise TypeError(f"no stamp for {type(value).__name__} {value!r}")


_value.register(Dispatcher | Later, stamp)
_value.register(FunctionType, _function)
_value.register(CodeType, _code)
_value.register(types.Type, _argument)
_value.register(type, _class)


@_value.register(_Intrinsic)
def _intrinsic(value: Any) -> str:
    return _function(value._defn)


@_value.register(bool | int | float | complex | str | bytes | EllipsisType | None)
def _plain(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


@_value.register(np.ndarray | np.generic)
def _array(value: Any) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return f"{type(value).__name__} {value.dtype.str} {value.shape} {digest}"


@_value.register(tuple | list)
def _sequence(value: Any) -> str:
    return f"{_class(type(value))} {[_value(item) for item in value]}"


@_value.register(set | frozenset)
def _set(value: Any) -> str:
    return f"set {sorted(_value(item) for item in value)}"


@_value.register(BuiltinFunctionType | np.ufunc)
def _built_in(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{value.__name__}"


@_value.register(ModuleType)
def _module(value: Any) -> str:
    if value.__name__.startswith("unnaive"):
        raise TypeError(f"no stamp for names of {value.__name__}: import them one by one")
    return str(value.__name__)  # of another package, whose version is asked for elsewhere
