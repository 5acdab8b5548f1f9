"""What chains leave behind: a trace in memory, checkpoints on disk; arrays and JSON, no pickle.

A checkpoint of chain k is ``chain-k.arbora-chain`` (where the chain stands) and part files, each with what was kept of
a run of sweeps.  A part is named after its sweeps and written before the first state that counts on it, so at any
moment the state on disk finds all its parts, whole.  Chains are deterministic: files of the same name are equal.
"""

import math
import os
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ChainError, MissingDependencyError, ModelFileError
from ..files.container import Arrays, read_container, write_container

VERSION = 1  # of the three kinds of file written here
Draws: TypeAlias = dict[str, list[NDArray[Any]]]


class Schedule(NamedTuple):
    """Which sweeps are kept: after `burn_in`, the last of every `thin`."""

    burn_in: int
    thin: int

    def keeps(self, sweep: int) -> bool:
        """Whether the draw after sweep 1, 2, ... is kept."""
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def n_kept(self, n_sweeps: int) -> int:
        return max(0, n_sweeps - self.burn_in) // self.thin

    def second_half(self, n_sweeps: int) -> Self:
        """Of a schedule that keeps from the start: the first half of so many sweeps, in whole steps, is burn-in."""
        return self._replace(burn_in=self.thin * (n_sweeps // (2 * self.thin)))


class Seed(NamedTuple):
    """Where the random numbers of all chains come from; chain k has child ``first + k`` of a SeedSequence."""

    entropy: int | tuple[int, ...]
    spawn_key: tuple[int, ...] = ()
    first: int = 0

    @classmethod
    def of(cls, seed: Any, n_chains: int) -> Self:
        """From None (fresh entropy), an integer, a Generator (it advances), a SeedSequence (it spawns), or a Seed."""
        if isinstance(seed, cls):
            return seed
        if isinstance(seed, np.random.Generator):
            return cls(tuple(seed.integers(2**32, size=4, dtype=np.uint32).tolist()))
        if isinstance(seed, np.random.SeedSequence):
            first = seed.n_children_spawned
            seed.spawn(n_chains)  # so that children it gives to others later are not ours
            return cls(_whole(seed.entropy), tuple(map(int, seed.spawn_key)), first)
        if seed is None or (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0):
            return cls(_whole(np.random.SeedSequence(seed).entropy))
        raise ValueError(f"seed: {seed!r}; wanted None, an integer of 0 or more, a Generator or a SeedSequence")

    def generator(self, chain: int, stored: Mapping[str, Any] | None = None) -> np.random.Generator:
        """The generator of a chain, at its start or where `generator_state` found it."""
        key = (*self.spawn_key, self.first + chain)
        spawned = 0 if stored is None else stored["n_spawned"]
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key, n_children_spawned=spawned))
        if stored is not None:
            rng.bit_generator.state = stored["bits"]
        return rng

    def to_json(self) -> list[Any]:
        entropy = self.entropy if isinstance(self.entropy, int) else list(self.entropy)
        return [entropy, list(self.spawn_key), self.first]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Self:
        return cls(_whole(stored[0]), tuple(stored[1]), stored[2])


def _whole(entropy: Any) -> int | tuple[int, ...]:
    return int(entropy) if np.ndim(entropy) == 0 else tuple(int(word) for word in entropy)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """All that the next numbers depend on, also those of generators that `rng` may spawn."""
    return {"bits": rng.bit_generator.state, "n_spawned": getattr(rng.bit_generator.seed_seq, "n_children_spawned", 0)}


# ---- what one chain keeps -------------------------------------------------------------------------------------------


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


# ---- checkpoints ----------------------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """What a checkpoint gives back."""

    record: Record
    generator: dict[str, Any]
    state: Arrays


class Checkpoint:
    """The files of one chain in a folder; `settings` must be those of the run that wrote them."""

    def __init__(self, folder: Path, chain: int, settings: Mapping[str, Any]) -> None:
        self.folder, self.chain, self.settings = folder, chain, dict(settings)
        self.path = folder / f"chain-{chain}.arbora-chain"
        self.ends = [0]  # sweeps at which a part ends and the next begins

    def _part(self, start: int, end: int) -> Path:
        return self.folder / f"chain-{self.chain}.{start:08d}-{end:08d}.arbora-part"

    def n_sweeps(self) -> int:
        """How far the stored chain has come."""
        return int(self._header()[0]["ends"][-1]) if self.path.exists() else 0

    def read(self) -> Stored | None:
        """The chain as it was last written, or None if it never was."""
        for left in self.folder.glob(f"chain-{self.chain}.*.tmp"):  # by a run killed as it wrote
            left.unlink(missing_ok=True)
        if not self.path.exists():
            return None
        header, arrays = self._header()
        record = Record()
        for start, end in pairwise(header["ends"]):
            record.extend(self._read(self._part(start, end), "chain part")[1], end - start)
        self.ends = list(header["ends"])
        return Stored(record, header["generator"], take(arrays, "state"))

    def write(self, record: Record, rng: np.random.Generator, state: Mapping[str, Any]) -> None:
        """Store the chain; what earlier parts hold is not written again."""
        start, end = self.ends[-1], record.n_sweeps
        if end > start:
            kept = Schedule(self.settings["burn_in"], self.settings["thin"]).n_kept(start)
            arrays = put("info", {name: np.array(values[start:end]) for name, values in record.info.items()})
            arrays |= put("draws", pack_draws({name: draws[kept:] for name, draws in record.draws.items()}))
            write_container(self._part(start, end), "chain part", VERSION, {}, arrays)
        ends = [*self.ends, end] if end > start else self.ends
        header = {"settings": self.settings, "ends": ends, "generator": generator_state(rng)}
        write_container(self.path, "chain", VERSION, header, put("state", state))
        self.ends = ends

    def _header(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = self._read(self.path, "chain")
        for name, now in self.settings.items():
            before = header["settings"].get(name)
            if before != now:
                raise ChainError(
                    f"{self.path}: this checkpoint was made with {name}={before!r}, not {now!r}; "
                    f"ask for the same {name}, or give another folder"
                )
        return header, arrays

    def _read(self, path: Path, kind: str) -> tuple[dict[str, Any], Arrays]:
        try:
            version, header, arrays = read_container(path, kind)
        except ModelFileError as error:
            raise ChainError(
                f"{path}: the checkpoint is damaged, incomplete or not of Arbora; "
                f"delete {self.path.name} to start chain {self.chain} again, or give another folder"
            ) from error
        if version != VERSION:
            raise ChainError(f"{path}: checkpoint version {version}, wanted {VERSION}; resume it with its own Arbora")
        return header, arrays


def stored_seed(folder: Path) -> Seed | None:
    """The seed of the chains stored in a folder, if there are any."""
    for path in sorted(folder.glob("chain-*.arbora-chain")):
        number = path.name.split(".")[0].removeprefix("chain-")
        if number.isdigit():
            return Seed.from_json(Checkpoint(folder, int(number), {})._header()[0]["settings"]["seed"])
    return None


# ---- the trace ------------------------------------------------------------------------------------------------------


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
