"""Kernels that come with the installed library as machine code: nothing has to be compiled.

``python -m unnaive.warm --into FOLDER`` writes them; a build of the package does that into the
folder `FOLDER`, which is a part of the package and is only read afterwards. In it, each folder is
a *target*: a processor, and versions of Python and of Numba, told in ``target.json``. Beside that,
each kernel and each list of types of arguments that is called from Python has a file, whose name is
a digest of the kernel's stamp and the types. Whatever does not match is compiled, as if there were
no folder.

Files hold no bitcode. Machine code that comes with the library is therefore called from Python
alone; a kernel that is compiled anew takes those it calls from the usual cache.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from unnaive.common.atomic import replacing
from unnaive.common.stamps import signature_text, stamp

FOLDER = Path(__file__).parents[1] / "machine_code"
DECLINED = "UNNAIVE_MACHINE_CODE"  # an environment variable; with 0 all is compiled
FORMAT = 2  # since 2, without paths of the machine that built it
PYTHON = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"  # not on Windows
DIGEST_BYTES = hashlib.sha256().digest_size
# Numba's settings that change what a kernel becomes.
SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_JIT",
    "ENABLE_AVX",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)


def environment() -> dict[str, Any]:
    """All that must be the same where kernels are compiled and where they are called."""
    return {
        "format": FORMAT,
        "python": PYTHON,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.lib.NumpyVersion(np.__version__).major,
        "platform": f"{sys.platform} {platform.machine()} {binding.get_process_triple()}",
        "settings": {name: str(getattr(config, name, None)) for name in SETTINGS},
    }


def processor() -> tuple[str, list[str]]:
    """The name of the processor that is compiled for, and what it can do."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name, sorted(item[1:] for item in features.split(",") if item.startswith("+"))


def target_name() -> str:
    """The name of a target's folder; what counts stands in its ``target.json``."""
    return f"{processor()[0]}-{PYTHON}"


def write_target(folder: Path, sources: str = "") -> None:
    """Say for what the kernels of a folder are; without this they are not used.

    Parameters
    ----------
    folder : path
    sources : str
        A digest of the sources whose kernels are all there.
    """
    name, features = processor()
    told = {"environment": environment(), "processor": name, "features": features}
    with replacing(folder / "target.json") as file:
        file.write(json.dumps(told | {"built from": sources}, indent=1).encode())


def built_from(folder: Path) -> str:
    """The digest of the sources that `write_target` was told; empty where there is none."""
    told = _read_target(folder)
    return "" if told is None else str(told["built from"])


def suits(folder: Path) -> bool:
    """Whether kernels of a folder run here, as they would be compiled here or nearly so."""
    return _read_target(folder) is not None


def _read_target(folder: Path) -> dict[str, Any] | None:
    """What `write_target` said of a folder, if its kernels run here."""
    try:
        told: dict[str, Any] = json.loads((folder / "target.json").read_bytes())
        features, _ = set(told["features"]), told["built from"]
        here = told["environment"] == environment() and features <= set(processor()[1])
        return told if here else None
    except (OSError, ValueError, TypeError, KeyError):  # no target, or one that is damaged
        return None


@functools.cache
def target() -> Path | None:
    """The folder of the kernels for this process; of several the one for the richest processor."""
    if os.environ.get(DECLINED) == "0":
        return None
    try:
        targets = {item: _read_target(item) for item in sorted(FOLDER.iterdir())}
    except OSError:
        return None
    features = {item: len(told["features"]) for item, told in targets.items() if told}
    return max(features, key=features.__getitem__, default=None)


def file_name(kernel: Any, signature: tuple[Any, ...]) -> str:
    """The name of the file of a kernel for types of arguments.

    Raises
    ------
    TypeError
        If the kernel has no stamp.
    """
    function = kernel.py_func
    text = f"{function.__module__} {function.__qualname__} {stamp(kernel)} "
    return hashlib.sha256((text + signature_text(signature)).encode()).hexdigest()[:40] + ".kernel"


def load(kernel: Any, signature: tuple[Any, ...], warn: Callable[[str], None]) -> Any:
    """The machine code of a kernel for types of arguments, or None.

    Parameters
    ----------
    kernel : Numba's dispatcher
    signature : tuple of Numba's types
    warn : function
        It is told about damaged files.
    """
    folder = target()
    if folder is None:
        return None
    try:
        data = (folder / file_name(kernel, signature)).read_bytes()
    except (OSError, TypeError):
        return None
    try:
        return _rebuild(data, signature, kernel.targetctx)
    except Exception as error:  # what is damaged may raise anything
        warn(f"{type(error).__name__}: {error}, in {folder}")
        return None


class _Reader(pickle.Unpickler):
    """Reads what Numba's cache keeps, without importing what only compiling needs."""

    def find_class(self, module: str, name: str) -> Any:
        """What a file names; Numba's environments are made here."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _read_environment
        return super().find_class(module, name)


def _read_environment(module: str, constants: list[Any], name: str) -> Environment:
    """Constants of a function that is a part of a kernel, as `Environment.__reduce__` has them.

    Numba would import the function's module for its globals, which code without objects never asks
    for: its own modules with functions for arrays and text take as long as all kernels of a fit.
    """
    if not module.startswith("numba.") or module in sys.modules:
        return _rebuild_env(module, constants, name)
    environment = lookup_environment(name)
    if environment is None:
        environment = Environment({"__name__": module})
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment


def _rebuild(data: bytes, signature: tuple[Any, ...], context: Any) -> Any:
    digest, payload = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("other bytes than were written")
    needed, defined, reduced = _Reader(io.BytesIO(payload)).load()
    function = reduced[1]  # Numba would call address 0 for a function that is not there
    if not {function.llvm_func_name, function.llvm_cpython_wrapper_name} <= set(defined):
        raise ValueError("no such function")
    if tuple(reduced[3].args) != signature:
        raise ValueError("other types of arguments")
    # This is all that Numba must have ready to call machine code; what it has for compiling, which
    # takes longer, waits until something is compiled.
    rtsys.initialize(context)
    absent = [name for name in needed if binding.address_of_symbol(name) is None]
    if absent:
        raise ValueError(f"there is no function {absent[0]}")
    context.codegen()._engine._defined_symbols.update(defined)  # Numba reads them from bitcode
    return CompileResult._rebuild(context, *reduced)


def store(folder: Path, name: str, reduced: Any) -> None:
    """Write the file of a kernel, unless its machine code works only together with other code.

    Parameters
    ----------
    folder : path
    name : str
        What `file_name` says.
    reduced : tuple
        What Numba's cache keeps of a compiled kernel.
    """
    (library, kind, (machine_code, bitcode)), *rest = reduced
    module = binding.parse_bitcode(bitcode)
    if any(item.name.startswith(".numba.unresolved") for item in module.global_variables):
        return  # of kernels that call each other in a circle
    symbols = [*module.functions, *module.global_variables]
    defined = [item.name for item in symbols if not item.is_declaration]
    needed = [item.name for item in symbols if item.is_declaration and item.name[:5] != "llvm."]
    rest[5] = ""  # the types of all variables as text, for people who look for an error
    empty = binding.parse_assembly("").as_bitcode()
    payload = dumps((needed, defined, ((library, kind, (machine_code, empty)), *rest)))
    with replacing(folder / name) as file:
        file.write(hashlib.sha256(payload).digest() + payload)


def show(kernel: Any, signatures: Iterable[tuple[Any, ...]]) -> None:
    """Let calls from Python find these of the types that a kernel is compiled for, no others."""
    kernel._clear()
    for signature in signatures:
        kernel.add_overload(kernel.overloads[signature])


class Builder:
    """Writes a file for each kernel and each list of types that is called from Python.

    Attributes
    ----------
    folder : path
    files : set of str
        Names of all files that such calls would read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: set[str] = set()
        self._called: dict[Any, list[tuple[Any, ...]]] = {}

    def used(self, kernel: Any, signature: tuple[Any, ...], by_python: bool) -> None:
        """A kernel is there for these types, for a call from Python or to be part of another."""
        called = self._called.setdefault(kernel, [])
        if by_python and signature not in called:
            called.append(signature)
            self._keep(kernel, signature)
        # What is part of another kernel is hidden, so that a call from Python is noticed later.
        show(kernel, [item for item in called if item in kernel.overloads])

    def _keep(self, kernel: Any, signature: tuple[Any, ...]) -> None:
        try:
            name = file_name(kernel, signature)
        except TypeError:  # no stamp: it is compiled wherever it is used
            return
        reduced = getattr(kernel._cache, "reduced", None)  # of a cache that can be written to
        reduced = reduced and reduced(signature, kernel.targetctx)
        if reduced is not None:
            store(self.folder, name, reduced)
        if (self.folder / name).exists():  # just now, or before, and it was read from there
            self.files.add(name)
