"""Trace: what was sampled by some chains, in memory and in a file of arrays and JSON."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ChainError, MissingDependencyError, ModelFileError
from ..files.container import Arrays, read_container, write_container
from .records import Draws, Record, pack_draws, put, take, unpack_draws
from .schedules import Schedule, Seed

VERSION = 1  # of the file of a trace


@dataclass(frozen=True, eq=False)
class Trace:
    """What was sampled by one or more chains.

    ``info[name][chain, sweep]`` holds a number for every sweep, burn-in included; ``draws[chain][name]`` is the list of
    arrays that were kept.  An interrupted run may leave chains of different lengths, `n_sweeps`; beyond its length the
    information of a chain is nan.  `settled` is whether a rule ended the run; None where no rule was asked for.
    """

    info: dict[str, NDArray[np.float64]]
    draws: list[Draws]
    n_sweeps: tuple[int, ...]
    schedule: Schedule
    seed: Seed
    interrupted: bool = False
    settled: bool | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        n_sweeps: int,
        schedule: Schedule,
        seed: Seed,
        interrupted: bool = False,
        recorded: Schedule | None = None,
        settled: bool | None = None,
    ) -> Self:
        """The first `n_sweeps` sweeps of each chain; `recorded` is the schedule of the records, if it keeps more."""
        lengths = tuple(min(record.n_sweeps, n_sweeps) for record in records)
        if (
            min(lengths)
            and schedule.n_kept(min(lengths)) == 0
            and all(record.last or record.draws for record in records)
        ):
            return cls._of_last(records, min(lengths), seed, settled)
        names = next((list(record.info) for record in records if record.n_sweeps), [])
        info = {name: np.full((len(records), max(lengths)), np.nan) for name in names}
        draws: list[Draws] = []
        for row, (record, length) in enumerate(zip(records, lengths, strict=True)):
            for name in names if length else []:
                info[name][row, :length] = record.info[name][:length]
            kept, left = schedule.n_kept(length), 0 if recorded is None else recorded.n_kept(schedule.burn_in)
            draws.append({name: values[left : left + kept] for name, values in record.draws.items() if kept})
        return cls(info, draws, lengths, schedule, seed, interrupted or min(lengths) < n_sweeps, settled)

    @property
    def n_chains(self) -> int:
        return len(self.draws)

    @classmethod
    def _of_last(cls, records: Sequence[Record], n_sweeps: int, seed: Seed, settled: bool | None) -> Self:
        """Of chains that were stopped before their first draw, where they had come to, as the only one."""
        last = [record.last or {name: values[-1] for name, values in record.draws.items()} for record in records]
        info = {
            name: np.array([[*record.info[name][: n_sweeps - 1], record.info[name][-1]] for record in records])
            for name in records[0].info
        }
        draws = [{name: [value] for name, value in draw.items()} for draw in last]
        return cls(info, draws, (n_sweeps,) * len(records), Schedule(n_sweeps - 1, 1), seed, True, settled)

    @property
    def n_draws(self) -> int:
        """Draws that every chain has."""
        return min(self.schedule.n_kept(length) for length in self.n_sweeps)

    @property
    def entropy(self) -> int | tuple[int, ...]:
        """The entropy behind all chains; ``run_chains(..., seed=trace.seed)`` gives them again."""
        return self.seed.entropy

    @property
    def draw_sweep(self) -> NDArray[np.int64]:
        """For each draw, the column of `info` of its sweep."""
        return self.schedule.burn_in + self.schedule.thin * np.arange(1, self.n_draws + 1) - 1

    def names(self, fixed: bool = False) -> list[str]:
        """Names of what is drawn; only those whose shape never changes, if `fixed`."""
        names = list(dict.fromkeys(name for chain in self.draws for name in chain))
        if not fixed:
            return names
        return [name for name in names if len(self._shapes(name)) == 1 and all(name in chain for chain in self.draws)]

    def _shapes(self, name: str) -> set[tuple[int, ...]]:
        return {value.shape for chain in self.draws for value in chain.get(name, [])[: self.n_draws]}

    def stack(self, name: str) -> NDArray[Any]:
        """A quantity of fixed shape as one array, [chain, draw, ...], as long as the shortest chain."""
        if name not in self.names():
            raise ChainError(
                f"nothing named {name!r} was drawn; there is {', '.join(self.names()) or 'no draw at all'}"
            )
        shapes = sorted(self._shapes(name))
        if len(shapes) > 1:
            raise ChainError(
                f"{name!r} varies in shape, {shapes[0]} to {shapes[-1]}; take trace.draws[chain][{name!r}]"
            )
        if not shapes or not all(name in chain for chain in self.draws):
            raise ChainError(f"{name!r}: a chain has no draw yet; take trace.draws[chain][{name!r}]")
        return np.stack([np.stack(chain[name][: self.n_draws]) for chain in self.draws])

    def to_xarray(self) -> Any:
        """An xarray DataTree: numeric draws of fixed shape as ``posterior``, info at the draws as ``sample_stats``."""
        xarray = _needed("xarray")
        return xarray.DataTree.from_dict(self._groups(xarray))

    def to_arviz(self) -> Any:
        """What ArviZ works on: its InferenceData, or from ArviZ 1 on the DataTree of `to_xarray`."""
        xarray, arviz = _needed("xarray"), _needed("arviz")
        if arviz.__version__.startswith("0."):  # later ones keep the name InferenceData, for a DataTree and a warning
            return arviz.InferenceData(**self._groups(xarray))
        return self.to_xarray()

    def _groups(self, xarray: Any) -> dict[str, Any]:
        draws = {name: self.stack(name) for name in self.names(fixed=True)}
        draws = {name: value for name, value in draws.items() if value.dtype.kind in "biuf"}
        stats = {name: value[:, self.draw_sweep] for name, value in self.info.items()}
        return {"posterior": self._dataset(xarray, draws), "sample_stats": self._dataset(xarray, stats)}

    def _dataset(self, xarray: Any, arrays: Arrays) -> Any:
        variables = {
            name: (("chain", "draw", *(f"{name}_dim_{axis}" for axis in range(value.ndim - 2))), value)
            for name, value in arrays.items()
        }
        coordinates = {"chain": np.arange(self.n_chains), "draw": np.arange(self.n_draws)}
        return xarray.Dataset(variables, coordinates, {"burn_in": self.schedule.burn_in, "thin": self.schedule.thin})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to one file of arrays and JSON; read it back with `load_trace`."""
        arrays = put("info", self.info)
        for chain, draws in enumerate(self.draws):
            arrays |= put(f"chain{chain}", pack_draws(draws))
        header = {
            "n_sweeps": list(self.n_sweeps),
            "schedule": list(self.schedule),
            "seed": self.seed.to_json(),
            "interrupted": self.interrupted,
            "settled": self.settled,
        }
        write_container(path, "trace", VERSION, header, arrays)


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """The trace that `Trace.save` wrote."""
    version, header, arrays = read_container(path, "trace")
    if version != VERSION:
        raise ModelFileError(
            f"{path}: trace version {version}, wanted {VERSION}; load it with the Arbora that wrote it"
        )
    try:
        lengths = tuple(header["n_sweeps"])
        draws = [unpack_draws(take(arrays, f"chain{chain}")) for chain in range(len(lengths))]
        schedule, seed = Schedule(*header["schedule"]), Seed.from_json(header["seed"])
        how = header["interrupted"], header.get("settled")  # not in files of earlier versions
        trace = Trace(take(arrays, "info"), draws, lengths, schedule, seed, *how)
        _check_trace(trace)
        return trace
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path}: its content does not make a trace ({error}); save it again") from None


def _check_trace(trace: Trace) -> None:
    """Raise ValueError unless the parts of a trace, perhaps from a stranger, fit together."""
    whole = [*trace.n_sweeps, *trace.schedule]
    if not trace.n_sweeps or not all(type(n) is int and n >= 0 for n in whole) or trace.schedule.thin < 1:
        raise ValueError("its numbers of sweeps make no sense")
    if type(trace.interrupted) is not bool:
        raise ValueError("it does not say whether it was interrupted")
    if trace.settled is not None and type(trace.settled) is not bool:
        raise ValueError("it does not say whether it had settled")
    shape = (trace.n_chains, max(trace.n_sweeps))
    if any(values.shape != shape or values.dtype.kind != "f" for values in trace.info.values()):
        raise ValueError("its information is not of its sweeps")
    for chain, length in zip(trace.draws, trace.n_sweeps, strict=True):
        if any(len(values) != trace.schedule.n_kept(length) for values in chain.values()):
            raise ValueError("its draws are not of its sweeps")


def _needed(package: str) -> Any:
    import importlib
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ArviZ greets its users with a warning about its own future
            return importlib.import_module(package)
    except ImportError:
        raise MissingDependencyError(f"this needs {package}; install arbora[mcmc]") from None
