"""Compiled functions and their cache on disk, in two levels.

Machine code is looked up in `SHIPPED`, which comes with the installed package and is only read, and
then in the user's cache: ``NUMBA_CACHE_DIR``, or Numba's folder among the user's caches. What is in
neither is compiled, and kept in the user's cache. This is the only module that uses Numba's private
parts. `unnaive.build_kernels` fills `SHIPPED`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import logging
import operator
import os
import pickle
import platform
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite
import numba
import numpy as np
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.serialize import dumps
from numba.core.types.misc import unliteral
from numba.misc.appdirs import user_cache_dir
from numpy.typing import NDArray

from unnaive.common.atomic import replacing

R = TypeVar("R")  # arguments stay unchecked: NumPy's numbers go where Python's are declared

SHIPPED = Path(__file__).parents[1] / "machine_code"
DECLINED = "UNNAIVE_MACHINE_CODE"  # an environment variable; with 0 nothing in SHIPPED is used
LOGGER = logging.getLogger("unnaive")
# Versions and settings that change the machine code of a kernel.
VERSIONS = [numba.__version__, llvmlite.__version__, np.lib.NumpyVersion(np.__version__).major]
VERSIONS += [sys.implementation.cache_tag, sys.platform, platform.machine()]
VERSIONS += [config.OPT, config.BOUNDSCHECK]

files_used: set[str] = set()  # names of the files that this process has read or written


@overload
def kernel(function: Callable[..., R], /) -> Callable[..., R]: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function with Numba on first call, without the GIL, cached.

    Parameters
    ----------
    function : function
    **options
        More options of `numba.njit`, such as ``inline`` and ``fastmath``.
    """
    if function is None:
        return functools.partial(kernel, **options)
    return function if config.DISABLE_JIT else Kernel(function, options)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to.

    A kernel is compiled anew for arrays that can be written to and for those that cannot, and
    tables come in both kinds, by library and version: columns are all of the second kind.
    """
    view = array.view()
    view.flags.writeable = False
    return view


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function; pickled by its name, so that workers find its machine code."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        # Nothing calls kernels by their address: a wrapper for C is not compiled.
        fixed = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=fixed | options)
        self._cache = KernelCache(function)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the kernel for these types; literal numbers do not compile it again."""
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), plain)

    def __reduce__(self) -> Any:
        return _find_kernel, (self.py_func.__module__, self.py_func.__qualname__)


def _find_kernel(module: str, name: str) -> Any:
    return operator.attrgetter(name)(importlib.import_module(module))


class KernelCache(NullCache):  # type: ignore[misc]
    """Machine code of one function: a file for each processor and list of argument types.

    A file that is missing or damaged is compiled again; one that cannot be written is no error.
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for types of arguments, or None."""
        target_context.refresh()
        here = cache_folder(), target_context.codegen().magic_tuple()
        for folder, target in filter(None, (shipped_folder(), here)):
            try:
                path = self._path(folder, sig, target)
                compiled = _unpack(path.read_bytes(), target_context)
            except OSError:  # no such file, or no source to tell its name
                continue
            except Exception as error:  # unpickling damaged bytes may raise anything
                _warn(f"{path} is damaged ({type(error).__name__}: {error})")
            else:
                files_used.add(path.name)
                return compiled
        _announce()
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the machine code, if that is possible."""
        if cres.library.has_dynamic_globals:
            return
        parts = list(cres._reduce())
        parts[6] = ""  # the types of all variables as text, for people who look for an error
        payload = dumps(parts)
        try:
            path = self._path(cache_folder(), sig, cres.codegen.magic_tuple())
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, durable=False) as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            files_used.add(path.name)
        except OSError as error:
            _warn(f"{error.filename or cache_folder()}: {error.strerror}")

    def _path(self, folder: Path, sig: Any, target: tuple[str, ...]) -> Path:
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        key = f"{name} {stamp(self.function.__globals__)} {sig} {target}"
        return folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.kernel"


def _unpack(data: bytes, target_context: Any) -> Any:
    digest, payload = data[:32], data[32:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("wrong checksum")
    return CompileResult._rebuild(target_context, *pickle.loads(payload))


def stamp(names: dict[str, Any]) -> str:
    """Return a digest of what the kernels of a module are compiled from, by the module's globals.

    That is its source, the plain values and named tuples that it imports, and the same of the
    modules of all kernels that it imports.
    """
    if id(names) not in _stamps:
        parts = [*map(repr, VERSIONS), Path(names.get("__file__", "")).read_text("utf-8")]
        for name, value in sorted(names.items()):
            if name.startswith("__"):  # among them the path of the module
                continue
            if isinstance(value, Kernel) and value.py_func.__globals__ is not names:
                parts.append(stamp(value.py_func.__globals__))
            elif isinstance(value, bool | int | float | str | tuple | np.generic):
                parts.append(f"{name} {value!r}")
            elif isinstance(value, type):
                parts.append(f"{name} {getattr(value, '_fields', '')}")
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        _stamps[id(names)] = names, digest  # the globals stay alive, and so does their identity
    return _stamps[id(names)][1]


def cache_folder() -> Path:
    """Return the folder for kernels that are compiled at first use."""
    return Path(config.CACHE_DIR or user_cache_dir("numba", False), "unnaive")


@functools.cache
def shipped_folder() -> tuple[Path, tuple[str, ...]] | None:
    """Return the folder of shipped kernels for this processor, and what Numba calls its target.

    Of several that fit, it is the one for the processor with most features.
    """
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    found = {}
    if os.environ.get(DECLINED) != "0":
        for path in SHIPPED.glob("*/target.json"):
            with suppress(OSError, ValueError, TypeError):
                told, name, told_features, _ = json.loads(path.read_bytes())
                needed = _features(told_features)
                if told == triple and needed <= _features(features):
                    found[path.parent, (told, name, told_features)] = len(needed)
    return max(found, key=found.__getitem__, default=None)


def _features(text: str) -> set[str]:
    return {item for item in text.split(",") if item.startswith("+")}


@functools.cache
def _announce() -> None:
    LOGGER.info(
        "compiling for this machine: the first fit takes seconds to a minute, later ones find the "
        "machine code; python -m unnaive.build_kernels compiles all at once"
    )


def _warn(why: str) -> None:
    """Give one warning for all kernels."""
    if not _warned:
        _warned.append(why)
        warnings.warn(
            f"compiled functions cannot be cached ({why}); they are compiled again, which takes "
            "seconds to a minute. Set the environment variable NUMBA_CACHE_DIR to a folder that "
            "can be written to; where a shipped file is damaged, install the library again.",
            RuntimeWarning,
            stacklevel=4,
        )


_stamps: dict[int, tuple[dict[str, Any], str]] = {}
_warned: list[str] = []
