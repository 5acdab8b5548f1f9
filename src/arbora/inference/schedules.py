"""Which sweeps of a chain are kept, and where its random numbers come from."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np


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
