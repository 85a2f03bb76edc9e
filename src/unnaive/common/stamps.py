"""What a kernel is made of, as text: two kernels with one text become the same machine code.

Numba keeps machine code by the file that a function stands in. A kernel is more than that: kernels
of other files that it calls, and constants that are baked into it. A stamp follows all of them, and
none that it does not use, so that a comment or another function changes nothing.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.types import BaseNamedTuple

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


def _argument(own: Any) -> str:
    if isinstance(own, BaseNamedTuple):
        return f"{_class(own.instance_class)}({signature_text(own.types)})"
    if isinstance(own, types.BaseTuple):
        return f"({signature_text(own)})"
    return str(own)


def _function(function: Any) -> str:
    cells = [_value(cell.cell_contents) for cell in function.__closure__ or ()]
    defaults = _value(function.__defaults__), _options(function.__kwdefaults__ or {})
    found = {
        name: _value(function.__globals__[name])
        for name in sorted(_names(function.__code__))
        if name in function.__globals__
    }
    return f"{_code(function.__code__)} {cells} {defaults} {found}"


def _names(code: CodeType) -> set[str]:
    """Names that may be globals; attributes are among them."""
    inner = (own for own in code.co_consts if isinstance(own, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code: CodeType) -> str:
    constants = [_value(own) for own in code.co_consts]
    shape = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return f"{code.co_name} {shape} {names} {code.co_code.hex()} {constants}"


def _options(options: Mapping[str, Any]) -> str:
    return str([f"{name}={_value(own)}" for name, own in sorted(options.items())])


def _class(own: type) -> str:
    return f"{own.__module__}.{own.__qualname__}{getattr(own, '_fields', '')}"


def _value(value: Any) -> str:
    """What a global, a constant or an option is; kernels by their stamps."""
    if isinstance(value, Dispatcher):
        return stamp(value)
    if isinstance(value, _Intrinsic):
        return _function(value._defn)
    if isinstance(value, FunctionType):
        return _function(value)
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, np.ndarray | np.generic):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{type(value).__name__} {value.dtype.str} {value.shape} {digest}"
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"{_class(type(value))} {[_value(own) for own in value]}"
    if isinstance(value, set | frozenset):
        return f"set {sorted(_value(own) for own in value)}"
    if isinstance(value, types.Type):
        return _argument(value)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, BuiltinFunctionType | np.ufunc):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if isinstance(value, ModuleType) and not value.__name__.startswith("unnaive"):
        return value.__name__  # of another package, whose version is asked for elsewhere
    if value is Ellipsis or value is builtins.NotImplemented:
        return repr(value)
    raise TypeError(f"no stamp for {type(value).__name__} {value!r}")
