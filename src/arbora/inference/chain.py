"""One Markov chain on its way: what a sampler must offer, a sweep, checkpoints; chains side by side are in `places`."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArboraError, ChainError
from .checkpoints import Checkpoint, Stored
from .records import Record
from .schedules import Schedule, Seed, generator_state

State = TypeVar("State")


class Sampler(Protocol[State]):
    """What a model must offer to be sampled.

    It holds its data and nothing that changes: all that the next sweep depends on is in the state and the generator.
    To run in processes it must pickle; to be resumed bit for bit, ``unpack(pack(state))`` must go on just as `state`.
    """

    def init(self, rng: np.random.Generator) -> State:
        """A state to start from."""
        ...

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Mapping[str, float]]:
        """The state after one sweep, and numbers to watch, under the same names each time."""
        ...

    def draw(self, state: State) -> Mapping[str, NDArray[Any]]:
        """What is kept of a state; shapes may vary from draw to draw, names and dtypes may not."""
        ...

    def pack(self, state: State) -> Mapping[str, NDArray[Any]]:
        """All of a state, as arrays."""
        ...

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state that was packed."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is asked of every chain."""

    n_sweeps: int
    schedule: Schedule
    seed: Seed
    fingerprint: str
    folder: Path | None
    every: float

    def checkpoint(self, chain: int) -> Checkpoint | None:
        if self.folder is None:
            return None
        asked = {"fingerprint": self.fingerprint, "seed": self.seed.to_json(), **self.schedule._asdict()}
        return Checkpoint(self.folder, chain, asked)

    def finished(self, n_chains: int) -> bool:
        """Whether checkpoints hold all that is asked."""
        checkpoints = (self.checkpoint(chain) for chain in range(n_chains))
        return all(checkpoint is not None and checkpoint.n_sweeps() >= self.n_sweeps for checkpoint in checkpoints)


class Chain(Generic[State]):
    """One chain on its way: a generator, a state, and what is kept."""

    state: State

    def __init__(self, sampler: Sampler[State], plan: Plan, number: int, rest: Stored | None = None) -> None:
        self.sampler, self.plan, self.number = sampler, plan, number
        self.checkpoint = plan.checkpoint(number)
        stored = rest if self.checkpoint is None else self.checkpoint.read()
        self.record = Record() if stored is None else stored.record
        self.rng = plan.seed.generator(number, None if stored is None else stored.generator)
        with blamed(f"chain {number}, start"):
            if stored is None:
                self.state = sampler.init(self.rng)
            elif self.record.n_sweeps < plan.n_sweeps:
                self.state = sampler.unpack(stored.state)
        self.saved, self.saved_at = self.record.n_sweeps, time.monotonic()

    def sweep(self) -> Mapping[str, float]:
        """One more sweep, recorded once it is complete."""
        number = self.record.n_sweeps + 1
        with blamed(f"chain {self.number}, sweep {number}"):
            self.state, told = self.sampler.step(self.rng, self.state)
            info = {name: float(value) for name, value in told.items()}
            if math.isnan(info.get("log_joint", 0.0)):
                raise ChainError("log_joint is not a number; please report this")
            kept = self.sampler.draw(self.state) if self.plan.schedule.keeps(number) else None
            self.record.add(info, kept)
        if self.checkpoint is not None and time.monotonic() - self.saved_at >= self.plan.every:
            self.save()
        return info

    def keep_last(self) -> None:
        """Being stopped, keep the present state, in case that no other was kept."""
        if 0 < self.record.n_sweeps < self.plan.n_sweeps:
            with blamed(f"chain {self.number}, last draw"):
                self.record.last = {name: np.array(value) for name, value in self.sampler.draw(self.state).items()}

    def at_rest(self) -> Stored:
        """All that a chain needs to go on elsewhere; a chain at its end goes nowhere, and has no state."""
        ended = self.record.n_sweeps >= self.plan.n_sweeps
        state = {} if ended else {name: np.asarray(value) for name, value in self.sampler.pack(self.state).items()}
        return Stored(self.record, generator_state(self.rng), state)

    def save(self) -> None:
        """Write what is not on disk yet; only ever between two sweeps."""
        if self.checkpoint is None or self.record.n_sweeps == self.saved:
            return
        with blamed(f"chain {self.number}, checkpoint"):
            self.checkpoint.write(self.record, self.rng, self.sampler.pack(self.state))
        self.saved, self.saved_at = self.record.n_sweeps, time.monotonic()


@contextlib.contextmanager
def blamed(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = str(error) if isinstance(error, ArboraError) else f"{type(error).__name__}: {error}"
        raise ChainError(f"{where}: {told}") from error


Tell: TypeAlias = Callable[[Mapping[int, int], Mapping[str, float]], None]  # sweeps done by chain, and the latest info


def advance(chains: Sequence[Chain[Any]], n_sweeps: int, stopped: Callable[[], bool], tell: Tell) -> None:
    """Bring all chains to `n_sweeps`, a sweep of each in turn, so that they are of one length if stopped."""
    told_at = time.monotonic()
    for sweep in range(min(chain.record.n_sweeps for chain in chains), n_sweeps):
        for chain in [chain for chain in chains if chain.record.n_sweeps <= sweep]:
            if stopped():
                for one in chains:
                    one.keep_last()
                return
            info = chain.sweep()
            if time.monotonic() - told_at > 0.1:
                tell({chain.number: chain.record.n_sweeps for chain in chains}, info)
                told_at = time.monotonic()
