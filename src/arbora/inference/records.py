"""What is kept of one chain while it runs, and its arrays as files hold them."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ChainError
from ..files.container import Arrays

Draws: TypeAlias = dict[str, list[NDArray[Any]]]


@dataclass
class Record:
    """What is kept of one chain: the information of every sweep, and some draws."""

    n_sweeps: int = 0
    info: dict[str, "array[float]"] = field(default_factory=dict)
    draws: Draws = field(default_factory=dict)
    last: Arrays | None = None  # the draw at the end of a chain that was stopped; never written to a checkpoint

    def add(self, info: Mapping[str, float], draw: Mapping[str, Any] | None) -> None:
        """One more sweep; arrays are copied, since a sampler may change its state in place."""
        if self.n_sweeps == 0:
            self.info = {name: array("d") for name in info}
        if info.keys() != self.info.keys():
            raise ChainError(
                f"step returned {sorted(info)}, before {sorted(self.info)}; wanted the same names each time"
            )
        if draw is not None:
            self._keep({name: np.array(value, order="C") for name, value in draw.items()})
        for name, value in info.items():
            self.info[name].append(value)
        self.n_sweeps += 1  # last: whatever interrupts, the first n_sweeps sweeps are complete

    def _keep(self, draw: Arrays) -> None:
        if self.draws and draw.keys() != self.draws.keys():
            raise ChainError(f"draw gave {sorted(draw)}, before {sorted(self.draws)}; wanted the same names each time")
        for name, value in draw.items():
            wanted = self.draws[name][0].dtype if name in self.draws else value.dtype
            if value.dtype.kind not in "biufc" or value.dtype != wanted:
                raise ChainError(
                    f"draw gave {name!r} of dtype {value.dtype}; wanted numbers, of one dtype for all draws"
                )
        for name, value in draw.items():
            self.draws.setdefault(name, []).append(value)

    @property
    def n_draws(self) -> int:
        return len(next(iter(self.draws.values()), ()))

    def since(self, n_sweeps: int, n_draws: int) -> Self:
        """What came after so many sweeps and draws."""
        info = {name: values[n_sweeps:] for name, values in self.info.items()}
        draws = {name: values[n_draws:] for name, values in self.draws.items()}
        return type(self)(self.n_sweeps - n_sweeps, info, draws, self.last)

    def join(self, later: "Record") -> None:
        """Go on with what `since` gave of the same chain."""
        for name, values in later.info.items():
            self.info.setdefault(name, array("d")).extend(values)
        for name, draws in later.draws.items():
            self.draws.setdefault(name, []).extend(draws)
        self.last = later.last
        self.n_sweeps += later.n_sweeps

    def extend(self, arrays: Arrays, n_sweeps: int) -> None:
        """Go on with the content of a part file."""
        for name, values in take(arrays, "info").items():
            self.info.setdefault(name, array("d")).extend(values)
        for name, draws in unpack_draws(take(arrays, "draws")).items():
            self.draws.setdefault(name, []).extend(draws)
        self.n_sweeps += n_sweeps


def pack_draws(draws: Mapping[str, Sequence[NDArray[Any]]]) -> Arrays:
    """Arrays of any shapes as three flat ones a name: their values, numbers of axes, and lengths of axes."""
    packed: Arrays = {}
    for name, values in draws.items():
        if values:
            packed[f"{name}.values"] = np.concatenate([value.reshape(-1) for value in values])
            packed[f"{name}.axes"] = np.array([value.ndim for value in values], np.int64)
            packed[f"{name}.shape"] = np.array([n for value in values for n in value.shape], np.int64)
    return packed


def unpack_draws(packed: Mapping[str, NDArray[Any]]) -> Draws:
    """The arrays that `pack_draws` was given."""
    draws: Draws = {}
    for name in [name.removesuffix(".values") for name in packed if name.endswith(".values")]:
        if any(packed[f"{name}.{part}"].dtype.kind not in "iu" for part in ("axes", "shape")):
            raise ValueError(f"the shapes of {name!r} are not whole numbers")
        axes = np.cumsum(packed[f"{name}.axes"])[:-1]
        shapes = [tuple(shape.tolist()) for shape in np.split(packed[f"{name}.shape"], axes)]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        values = np.split(packed[f"{name}.values"], ends)
        draws[name] = [value.reshape(shape) for value, shape in zip(values, shapes, strict=True)]
    return draws


def put(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in arrays.items()}


def take(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}
