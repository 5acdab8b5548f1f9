"""Lanes: components as kernels take them, and the memory that kernels work in."""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

from .kernels import upward_downward as ud

Floats = NDArray[np.float64]

# Kernels in vectors need a compiler, and `ARBORA_NO_VECTORS=1` turns them off.
VECTORS = os.environ.get("ARBORA_NO_VECTORS", "") in ("", "0") and not cast(Any, numba.config).DISABLE_JIT
# More states than this make long code, and leave the registers anyway.
MOST_STATES = 32


def in_vectors(n_states: int, n_components: int) -> bool:
    """Whether the passes run in the kernels for vectors.

    It depends on the sizes of the model alone, and not on the trees, so that shards, machines and repeated fits give
    the same bits.  These kernels compile faster than the others, so there is no reason to keep them from small data.
    """
    return VECTORS and n_components > 1 and n_states <= MOST_STATES


def states_in_vectors(n_states: int, n_components: int) -> bool:
    """Whether the passes of a single component run in the kernels for vectors over states."""
    return VECTORS and n_components == 1 and n_states <= MOST_STATES


def to_lanes(x: Floats, fill: float = 0.0) -> Floats:
    """[..., component] as kernels take it: components padded with `fill`; a single one loses its axis."""
    n_components = x.shape[-1]
    if n_components == 1:
        return np.ascontiguousarray(x[..., 0])
    missing = -n_components % ud.LANES
    if not missing:
        return np.ascontiguousarray(x)
    return np.concatenate([x, np.full((*x.shape[:-1], missing), fill)], axis=-1)


def from_lanes(x: Floats, n_components: int) -> Floats:
    """Undo `to_lanes`."""
    return x[..., None] if n_components == 1 else x[..., :n_components]


def lane_shape(n_components: int) -> tuple[int, ...]:
    """The last axes of an array in lanes."""
    return () if n_components == 1 else (n_components + -n_components % ud.LANES,)


class Workspace:
    """Message arrays kept between calls, because fresh pages cost more than the arithmetic; for one thread."""

    def __init__(self) -> None:
        self.buffer: Floats = np.empty(0)
        self.spare: list[Floats] = [np.empty(0)] * 2

    def messages(self, n_units: int, n_states: int, lanes: tuple[int, ...]) -> ud.Messages:
        """Arrays for the messages of a shard, not set to anything."""
        return ud.Messages(*self.arrays([(n_units, n_states, *lanes)] * 2 + [(n_units, *lanes)] * 2))

    def arrays(self, shapes: list[tuple[int, ...]]) -> list[Floats]:
        """Arrays of these shapes, not set to anything."""
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        if len(self.buffer) < ends[-1]:
            self.buffer = np.empty(ends[-1])
        parts = np.split(self.buffer[: ends[-1]], ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def rows(self, shape: tuple[int, ...], which: int = 0) -> Floats:
        """One of two arrays by row of content, not set to anything: 0 for evidence, 1 for sums."""
        size = int(np.prod(shape))
        if len(self.spare[which]) < size:
            self.spare[which] = np.empty(size)
        return self.spare[which][:size].reshape(shape)


class Workspaces:
    """Workspaces lent to the threads that share a batch; another process begins with none."""

    def __init__(self) -> None:
        self.spare: deque[Workspace] = deque()

    @contextmanager
    def borrowed(self) -> Iterator[Workspace]:
        """A workspace of one's own until the block ends."""
        try:
            workspace = self.spare.pop()
        except IndexError:
            workspace = Workspace()
        try:
            yield workspace
        finally:
            self.spare.append(workspace)

    def __reduce__(self) -> Any:
        return Workspaces, ()
