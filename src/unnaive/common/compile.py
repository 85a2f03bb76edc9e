"""How kernels are compiled and cached: one place for all of them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit
from numba.core.caching import FunctionCache

R = TypeVar("R")  # arguments stay unchecked: NumPy's numbers go where Python's are declared


@overload
def kernel(function: Callable[..., R], /) -> Callable[..., R]: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function to machine code when it is first called, without the GIL.

    The machine code is kept beside the source, or under ``NUMBA_CACHE_DIR``. Where it cannot be
    kept or read, the function is compiled in each process, and one warning says so.

    Parameters
    ----------
    function : function
    **options
        More options of `numba.njit`, such as ``inline`` and ``fastmath``.
    """
    if function is None:
        return functools.partial(kernel, **options)
    compiled = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    try:
        compiled._cache = ForgivingCache(function)
    except RuntimeError as error:  # neither the source's folder nor the home can be written to
        _warn_once(str(error))
    return compiled


class ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Machine code on disk that may be damaged, or on a disk that is full: it is only a cache."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code, or None: the function is compiled then, and saved again."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling damaged bytes may raise anything
            _warn_once(f"{self.cache_path} holds damaged files ({type(error).__name__})")
            self._attempt(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code, if that is possible."""
        self._attempt(super().save_overload, sig, data)

    def _attempt(self, write: Callable[..., Any], *args: Any) -> None:
        try:
            write(*args)
        except OSError as error:
            _warn_once(f"{self.cache_path} cannot be written to ({error.strerror})")


_warned: list[str] = []


def _warn_once(why: str) -> None:
    """One warning for all of some 170 kernels."""
    if not _warned:
        _warned.append(why)
        warnings.warn(
            f"compiled functions cannot be cached ({why}); they are compiled again, which takes "
            "seconds to a minute. Set the environment variable NUMBA_CACHE_DIR to a folder that "
            "can be written to.",
            RuntimeWarning,
            stacklevel=3,
        )
