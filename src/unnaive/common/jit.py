"""How kernels are compiled and cached: one place for all of them.

Numba is imported here, when the first kernel is called; `unnaive.common.compile` declares kernels.
"""

from __future__ import annotations

import functools
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core import entrypoints
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.callconv import CPUCallConv
from numba.core.compiler_lock import global_compiler_lock

from unnaive.common import machine_code
from unnaive.common.stamps import stamp

try:
    import fcntl
except ImportError:  # not on Windows, where every process compiles for itself
    fcntl = None  # type: ignore[assignment]

NOTICE_AFTER = 2.0  # seconds of compiling in one process, after which a line says so
PATIENCE = 60.0  # seconds to wait for another process that compiles the same kernel
LOGGER = logging.getLogger("unnaive")


def compiled_function(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Numba's dispatcher of a kernel, which compiles or loads it for each list of types."""
    # Nothing calls kernels by their address: a wrapper for C is not compiled.
    compiled = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    # Numba looks for its extensions before it asks for any machine code: here, before it compiles.
    compiled._compilation_chain_init_hook = _nothing
    compiled.compile = functools.partial(_compile, compiled, compiled.compile)
    compiled.get_call_template = functools.partial(
        _any_number, compiled, compiled.get_call_template
    )
    return compiled


def _nothing() -> None:
    pass


def _any_number(compiled: Any, get_call_template: Callable[..., Any], args: Any, kws: Any) -> Any:
    """A call in another kernel with a number that is written out is one with any of its type.

    Numba would compile the called kernel again for every such number.
    """
    _give_back(compiled)
    plain = {name: types.unliteral(kind) for name, kind in kws.items()}
    return get_call_template(tuple(map(types.unliteral, args)), plain)


def _compile(compiled: Any, compile_signature: Callable[[Any], Any], signature: Any) -> Any:
    """Compile a kernel for types of arguments, or read its machine code; or it is there."""
    if signature in compiled.overloads and builder is None:
        return compile_signature(signature)
    # The lock of threads comes first: a thread that has it may wait for the file of any kernel.
    with global_compiler_lock:
        by_python = _clock.depth == 0
        if not (signature in compiled.overloads or (by_python and _take(compiled, signature))):
            entrypoints.init_all()
            _open_cache(compiled)
            with _clock.running(), _locked(compiled._cache), _short_paths():
                compile_signature(signature)
        entry = compile_signature(signature)
        if builder is not None:
            builder.used(compiled, signature, by_python)
        return entry


@contextmanager
def _short_paths() -> Iterator[None]:
    """Errors that machine code raises name files from their package on, not from the root of this
    machine: what comes with the library does not tell, nor depend on, where it was built.
    """
    build = CPUCallConv.build_excinfo_struct

    def shortened(*args: Any) -> Any:
        error, values, place = build(*args)
        if place is not None:
            function, file, line = place
            place = function, _from_package(file), line
        return error, values, place

    CPUCallConv.build_excinfo_struct = shortened
    try:
        yield
    finally:
        CPUCallConv.build_excinfo_struct = build


def _from_package(file: str) -> str:
    """The path of a module from its package on."""
    path = Path(file)
    root = path.parent
    if not path.is_absolute():  # already, or no file
        return file
    while (root / "__init__.py").exists():
        root = root.parent
    return path.relative_to(root).as_posix()


def _take(compiled: Any, signature: Any) -> bool:
    """Take machine code that came with the library, for calls from Python."""
    result = machine_code.load(compiled, signature, _warn_of_damage)
    if result is None:
        return False
    compiled._cache_hits[signature] += 1
    compiled.add_overload(result)
    _taken.setdefault(compiled, {})[signature] = result
    return True


def _give_back(compiled: Any) -> None:
    """A kernel that calls this one is compiled, and needs more of it than came with the library."""
    taken = _taken.pop(compiled, None)
    if taken:
        _in_use.append(taken)  # a thread may be running it
        for signature in taken:
            del compiled.overloads[signature]
        machine_code.show(compiled, list(compiled.overloads))


def _open_cache(compiled: Any) -> None:
    """Look for a folder for machine code, only when something has to be compiled."""
    if isinstance(compiled._cache, NullCache):
        try:
            compiled._cache = ForgivingCache(compiled)
        except RuntimeError as error:  # neither the source's folder nor the home can be written to
            _warn_once(str(error))


class ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Machine code on disk that may be damaged, or on a disk that is full: it is only a cache.

    It is kept by the kernel's stamp. Numba itself goes by the kernel's file, and would keep a
    kernel that was compiled together with an older one of another file.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled.py_func)
        with suppress(TypeError):  # no stamp: as Numba does it
            digest, line = stamp(compiled), self._impl.locator.get_disambiguator()
            name = self._impl.filename_base.replace(f"-{line}.", f"-{digest[:16]}.")
            self._impl._filename_base = name
            self._cache_file = IndexDataCacheFile(self.cache_path, name, digest)

    def reduced(self, signature: Any, context: Any) -> Any:
        """What is kept of a compiled kernel, or None."""
        return self._cache_file.load(self._index_key(signature, context.codegen()))

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

    @property
    def lock_path(self) -> Path:
        """A file that the process that compiles has locked."""
        return Path(self.cache_path, f"{self._impl.filename_base}.lock")


@contextmanager
def _locked(cache: Any) -> Iterator[None]:
    """One process compiles a kernel while others wait, and then read what it has kept.

    Kernels are locked from callers to those they call, which is never a circle. A process that
    waits in vain, for one that was stopped perhaps, or finds no lock, compiles for itself.
    """
    if fcntl is None or not isinstance(cache, ForgivingCache):
        yield
        return
    try:
        file = cache.lock_path.open("ab")
    except OSError:
        yield
        return
    with file:
        _wait_for(file)
        try:
            yield
        finally:
            with suppress(OSError):  # a child process may have the file open, too
                fcntl.flock(file, fcntl.LOCK_UN)


def _wait_for(file: Any) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return
        else:
            return


class _Clock:
    """How long this process has compiled; says so once when it is long."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.depth = 0
        self.announced = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """While a kernel is compiled, with those it calls."""
        start = time.perf_counter()
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            taken = time.perf_counter() - start
            if self.depth == 0:
                self.spent += taken
            if not self.announced and max(self.spent, taken) > NOTICE_AFTER:
                self.announced = True
                _give_notice()


def _give_notice() -> None:
    """To the log, and to people who look at a terminal or a notebook."""
    text = (
        "compiling for this machine: the first fit takes seconds to a minute, later ones find the "
        "machine code; python -m unnaive.warm compiles all at once"
    )
    LOGGER.info(text)
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        sys.stderr.write(f"unnaive: {text}\n")


_clock = _Clock()
_taken: dict[Any, dict[Any, Any]] = {}  # kernels with machine code that came with the library
_in_use: list[Any] = []  # such machine code that was given back, and must not be freed
builder: machine_code.Builder | None = None  # where the machine code is written that comes along
_warned: list[str] = []


def _warn_once(why: str) -> None:
    """One warning for all of some 170 kernels."""
    _warn(
        f"compiled functions cannot be cached ({why}); they are compiled again, which takes "
        "seconds to a minute. Set the environment variable NUMBA_CACHE_DIR to a folder that "
        "can be written to."
    )


def _warn_of_damage(why: str) -> None:
    _warn(
        f"machine code that came with the library is damaged ({why}); kernels are compiled "
        "instead, which takes seconds to a minute. Install the library again."
    )


def _warn(text: str) -> None:
    if not _warned:
        _warned.append(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)
