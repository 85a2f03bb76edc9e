"""How kernels are declared. Numba is not imported before one of them is called."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")  # arguments stay unchecked: NumPy's numbers go where Python's are declared

_LOCK = threading.RLock()
_interpreting: list[bool] = []  # not empty while kernels run as Python


@overload
def kernel(function: Callable[..., R], /) -> Callable[..., R]: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function to machine code when it is first called, without the GIL.

    Most machine code comes with the installed library (`unnaive.common.machine_code`). What is
    compiled is kept beside the source, or under ``NUMBA_CACHE_DIR``. Where it cannot be kept or
    read, the function is compiled in each process, and one warning says so. Processes that start
    at once wait for the one that compiles. `unnaive.common.jit` does all that.

    Parameters
    ----------
    function : function
    **options
        More options of `numba.njit`, such as ``inline`` and ``fastmath``.
    """
    if function is None:
        return functools.partial(kernel, **options)
    jit = "unnaive.common.jit"
    return Later(lambda: import_module(jit).compiled_function(function, options), function)


def later(module: str, name: str) -> Any:
    """A function for kernels from a module that imports Numba, by its name."""
    return Later(lambda: getattr(import_module(module), name))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as what is not written to.

    A kernel is compiled anew for arrays that can be written to and for those that cannot, and
    tables come in both kinds, by library and version: columns are all of the second kind.
    """
    view = array.view()
    view.flags.writeable = False
    return view


@contextmanager
def interpreted() -> Iterator[None]:
    """Within this, kernels that Numba was not told of run as Python: for so few numbers that they
    are done before Numba would be imported.
    """
    _interpreting.append(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _interpreting.pop()


class Later:
    """A function that Numba is told of when it is first used.

    All others that its code names are made with it and take their place in its globals: Numba sees
    no object of this class. In its own module, what Numba made takes its place, too, so that calls
    by way of the module go there without a detour.

    Parameters
    ----------
    make : function
        Hands it to Numba, and returns what Numba makes of it.
    function : function or None
        Its code; None where Numba needs no other function for it.
    """

    def __init__(self, make: Callable[[], Any], function: Any = None) -> None:
        self._make, self._function = make, function
        self._made: Any = None
        if function is not None:
            functools.update_wrapper(self, function)

    def made(self) -> Any:
        """What Numba made of it."""
        if self._made is None:
            with _LOCK:
                begun: dict[Later, Any] = {}
                _begin(self, begun)
                for function, compiled in begun.items():  # all at once: they may call each other
                    function._made = compiled
        return self._made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        compiled = self._made
        if compiled is None:
            compiled = self._function if _interpreting and self._is_python() else self.made()
        return compiled(*args, **kwargs)

    def _is_python(self) -> bool:
        """Whether Python can run it: no instruction that only Numba knows is part of it."""
        if self._function is None:
            return False
        values = map(self._function.__globals__.get, code_names(self._function.__code__))
        return all(used is self or used._is_python() for used in values if isinstance(used, Later))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made(), name)

    def __reduce__(self) -> Any:
        return _find, (self._function.__module__, self._function.__qualname__)


def _begin(function: Later, begun: dict[Later, Any]) -> Any:
    """Make it and all that its code names; those at work are in ``begun``."""
    if function._made is not None:
        return function._made
    if function not in begun:
        begun[function] = function._make()
        code = function._function
        if code is not None:
            _resolve(code, begun)
            if code.__globals__.get(code.__name__) is function:
                code.__globals__[code.__name__] = begun[function]
    return begun[function]


def _resolve(function: Any, begun: dict[Later, Any]) -> None:
    for name in code_names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, Later):
            function.__globals__[name] = _begin(value, begun)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, Later):
            cell.cell_contents = _begin(cell.cell_contents, begun)


def code_names(code: CodeType) -> set[str]:
    """Names that may be globals, also those of functions within; attributes are among them."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(code_names, inner))


def _find(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), import_module(module))
