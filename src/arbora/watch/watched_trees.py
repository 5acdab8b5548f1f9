"""What a watcher says of trees: arrays by tree, and the same as lines of JSON."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .drift import Alarm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIGITS = 6  # of numbers in lines of JSON


class Birth(NamedTuple):
    """A new group, final from here on."""

    tree: int  # at which it became final
    opened_by: int  # its first tree
    cluster: int  # the number it keeps
    retired: int | None  # group that was put aside, where there were too many


class WatchedTrees(NamedTuple):
    """What a watcher says of some trees of the stream, in their order."""

    first: int  # number of the first of these trees in the stream
    cluster: Ints  # group of most probability; -1 if the tree, or one of the window, opened it
    opened_by: Ints  # tree of the stream that opened a group that is not final; -1 for a final one
    probability: Floats  # of that group
    new: Floats  # probability that the tree opens a group
    novelty: Floats  # p-value in its fitted group, as `PatternMixture.novelty`; 1 in groups that the stream has brought
    unseen: Floats  # share of its patterns without a column
    rank: Floats  # rank of its misfit among all trees of the stream so far: uniform while nothing changes
    surprise: Floats  # -log predictive per pattern, given all trees before it
    keep: NDArray[np.bool_]  # whether to keep it
    weight: Floats  # one over its probability of being kept
    size: Floats  # effective number of particles
    particles: Ints  # how many there are
    dropped: Floats  # probability of what was too improbable to be kept as a particle
    frozen: Floats  # probability of what was made final at this step; 1 if nothing was
    placed: Ints  # group of the tree that became final at this step; -1 if none did
    births: tuple[Birth, ...]
    alarms: tuple[Alarm, ...]

    @property
    def n_trees(self) -> int:
        """Number of these trees."""
        return len(self.cluster)


def lines_of(trees: WatchedTrees, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One object per tree, and one per birth and alarm after the tree at which it came."""
    births = {birth.tree: birth for birth in trees.births}
    alarms: dict[int, list[Alarm]] = {}
    for alarm in trees.alarms:
        alarms.setdefault(alarm.tree, []).append(alarm)
    for i in range(trees.n_trees):
        number = trees.first + i
        yield _line(trees, i, names[i])
        if number in births:
            yield _birth_line(births[number])
        for alarm in alarms.get(number, []):
            yield {"event": "drift", **alarm._asdict()}


def _birth_line(birth: Birth) -> dict[str, Any]:
    out = {"event": "born", "tree": birth.tree, "cluster": birth.cluster, "opened_by": birth.opened_by}
    return out if birth.retired is None else {**out, "retired": birth.retired}


def _line(trees: WatchedTrees, i: int, name: str) -> dict[str, Any]:
    final = trees.cluster[i] >= 0
    numbers = {
        key: round(float(getattr(trees, key)[i]), DIGITS)
        for key in ("probability", "new", "novelty", "unseen", "rank", "surprise")
    }
    return {
        "tree": trees.first + i,
        "name": name,
        "cluster": int(trees.cluster[i]) if final else None,
        **({} if final else {"opened_by": int(trees.opened_by[i])}),
        **numbers,
        "keep": bool(trees.keep[i]),
        "weight": round(float(trees.weight[i]), DIGITS),
        "particles": int(trees.particles[i]),
        "effective": round(float(trees.size[i]), 3),
    }
