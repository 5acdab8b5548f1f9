"""How kernels are compiled: `jit` for those called from Python, `inlined` for their helpers.

Rules: nothing compiles at import; kernels release the GIL; a cached kernel calls only functions of its own file,
because numba's cache does not see edits in another one; ``fastmath`` may contract a*b+c and nothing else, because
anything more turns the guards against 0/0 into nan.  ``ARBORA_NO_CACHE=1`` turns the on-disk cache off.
"""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_CACHE = os.environ.get("ARBORA_NO_CACHE", "") in ("", "0")


def inlined(function: F) -> F:
    """Compile a helper into the kernels of its own file: a call that passes arrays costs more than a short loop."""
    decorate = numba.njit(inline="always", error_model="numpy", fastmath={"contract"})
    return cast(F, decorate(function))


def jit(function: F) -> F:
    """Compile a kernel lazily, at its first call."""
    decorate = numba.njit(cache=_CACHE, nogil=True, error_model="numpy", fastmath={"contract"})
    kernel = decorate(function)
    cache = getattr(kernel, "_cache", None)
    if cache is not None:
        # A cache that cannot be read or written (a full disk) costs time; it must not stop the work.
        cache._guard_against_spurious_io_errors = partial(contextlib.suppress, OSError)
    return cast(F, kernel)
