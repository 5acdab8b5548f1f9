"""How kernels are compiled: `jit` for those called from Python, `inlined` and `bare` for their helpers.

Rules: nothing compiles at import; kernels release the GIL; ``fastmath`` may contract a*b+c and nothing else, because
anything more turns the guards against 0/0 into nan.  ``ARBORA_NO_CACHE=1`` turns the on-disk cache off.

Compiled code holds the code of helpers, which may be in other files than the one that numba looks at.  So a cached
kernel is named by a digest of all kernel sources and the version of Arbora, and serves only while none has changed.
Kernel sources are this file, all files in folders called ``kernels`` and all called ``*kernels.py``; a kernel takes
helpers and constants from these and from other packages.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numba.core.caching

from . import __version__

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = os.path.dirname(os.path.abspath(__file__))
caching: Any = numba.core.caching  # without types
KEPT_SECONDS = 86_400.0  # that code of other sources is kept, which another process may be using

# No kernel is called from C, and the wrapper for it took a twentieth of the time to compile.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}
_CACHE = os.environ.get("ARBORA_NO_CACHE", "") in ("", "0")


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it: a call that passes arrays costs more than a short loop."""
    if _CACHE:
        _sources()
    decorate = numba.njit(inline="always", **_OPTIONS)
    return cast(F, decorate(function))


def jit(function: F) -> F:
    """Compile a kernel lazily, at its first call."""
    return _compiled(function, counting=True)


def bare(function: F) -> F:
    """Compile a kernel that makes no arrays, without counting references to those that it gets.

    References to each array of a tuple are counted, by two atomic operations, wherever the tuple is handed on.  In a
    sampler's innermost loops, this takes more time than all else.
    """
    return _compiled(function, counting=False)


def _compiled(function: F, counting: bool) -> F:
    """The kernel of a function, with its cache on disk."""
    options = _OPTIONS if counting else {**_OPTIONS, "_nrt": False}
    kernel = numba.njit(nogil=True, **options)(function)
    if _CACHE and hasattr(kernel, "_cache"):  # a plain function under NUMBA_DISABLE_JIT
        _sources()
        kernel._cache = KernelCache(function)
    return cast(F, kernel)


class Source(NamedTuple):
    """A file, and by what one sees that it changed."""

    path: str
    mtime: int
    size: int


def _look(path: str) -> Source:
    try:
        found = os.stat(path)
    except OSError:
        return Source(path, -1, -1)
    return Source(path, found.st_mtime_ns, found.st_size)


def kernel_files() -> list[str]:
    """Files that compiled code may come from, sorted."""
    found = [os.path.join(PACKAGE, "jit.py")]
    for folder, below, names in os.walk(PACKAGE):
        below[:] = [name for name in below if name != "__pycache__"]
        inside = "kernels" in os.path.relpath(folder, PACKAGE).split(os.sep)
        found += [
            os.path.join(folder, name)
            for name in names
            if name.endswith(".py") and (inside or name.endswith("kernels.py"))
        ]
    return sorted(found)


@cache
def _sources() -> tuple[Source, ...]:
    """Kernel sources as they were when the first kernel was defined."""
    return tuple(_look(path) for path in kernel_files())


def _unchanged() -> bool:
    """Whether the kernels on the disk still are those of this process; if not, their code is not shared."""
    return all(_look(source.path) == source for source in _sources())


@cache
def _digest() -> str:
    """What names compiled code: the version and the content of all kernel sources."""
    digest = hashlib.sha256(__version__.encode())
    for path, _, _ in _sources():
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"\0{os.path.relpath(path, PACKAGE)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


class KernelCache:
    """numba's cache of one kernel, opened when it is first asked for; a cache that fails costs time, and no more."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.opened: Any = None

    def _open(self) -> Any:
        if self.opened is None:
            self.opened = caching.NullCache()
            # No folder to write to, no source (a zip archive, byte code alone), a disk that fails.
            with contextlib.suppress(OSError, RuntimeError):
                digest = _digest()
                found = caching.FunctionCache(self.function)
                name = f"{found._impl.filename_base}.{digest}"
                stamp = found._impl.locator.get_source_stamp()
                found._cache_file = caching.IndexDataCacheFile(found.cache_path, name, stamp)
                # A full disk, or an index that lost its end.
                found._guard_against_spurious_io_errors = partial(contextlib.suppress, OSError, EOFError)
                self.opened = found
        return self.opened

    @property
    def cache_path(self) -> str | None:
        """Folder of the cache; None if there is none."""
        path: str | None = self._open().cache_path
        return path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Compiled code for these types, or None."""
        return self._open().load_overload(signature, context) if _unchanged() else None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code for later processes."""
        if _unchanged():
            self._open().save_overload(signature, compiled)
            if self.cache_path and os.path.abspath(self.function.__code__.co_filename).startswith(PACKAGE + os.sep):
                _remove_stale(self.cache_path, _digest())

    def enable(self) -> None:
        """Use the cache."""
        self._open().enable()

    def disable(self) -> None:
        """Do not use the cache."""
        self._open().disable()

    def flush(self) -> None:
        """Forget what is kept."""
        self._open().flush()


@cache
def _remove_stale(folder: str, digest: str) -> None:
    """Remove compiled code of other sources from a folder, once in a process, unless it is of today."""
    before = time.time() - KEPT_SECONDS
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.name.endswith((".nbi", ".nbc")) and f".{digest}." not in entry.name:
                with contextlib.suppress(OSError):
                    if entry.stat().st_mtime < before:
                        os.unlink(entry.path)
