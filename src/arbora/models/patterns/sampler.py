"""Moves of trees between groups: Gibbs sweeps, splits and merges, and the chain of both with all else held fixed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sampled import Seating
from . import constrained_moves
from . import marginals as mg
from .constraints import kept_to
from .kernels import group_merges, group_sweeps
from .kernels import pair_moves as moves
from .kernels.group_sweeps import Groups, Tables
from .marginals import Corpus, PartitionPrior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

START_GROUPS = (30, 90)  # a chain starts with a number of groups drawn between these
LEAST_START_SIZE = 4  # trees per group at the start


def sweep(
    rng: np.random.Generator, corpus: Corpus, tables: Tables, groups: Groups, greedy: bool = False, closed: bool = False
) -> tuple[Groups, int]:
    """Draw, or choose, the group of every tree in random order; how many moved.  Closed: the number of groups stays."""
    if corpus.blocks is not None:
        return constrained_moves.sweep(rng, corpus.blocks, tables, groups, greedy, closed)
    todo = rng.permutation(corpus.n_trees)
    n_moved = 0
    while len(todo):
        groups = mg.with_room(groups, tables)
        n_slots = mg.in_use(groups) + (0 if closed else 1)
        done, moved = group_sweeps.sweep(rng, corpus.rows, tables, groups, todo, (greedy, closed, n_slots))
        todo, n_moved = todo[done:], n_moved + moved
    return groups, n_moved


def merge(corpus: Corpus, tables: Tables, groups: Groups, least: int = 1, always: bool = False) -> int:
    """Merge groups, the best pair first, while log P rises or `always`, down to `least`; how many times."""
    apart = constrained_moves.groups_apart(corpus.blocks, groups, mg.in_use(groups))
    return len(group_merges.merge_allowed(tables, groups, apart, least, always)[1])


def split_merge(rng: np.random.Generator, corpus: Corpus, tables: Tables, groups: Groups, n: int) -> tuple[Groups, int]:
    """So many proposals to split a group or to merge two; how many were accepted."""
    accepted = 0
    if corpus.n_trees < 2:
        return groups, accepted
    for _ in range(n):
        groups = mg.with_room(groups, tables)
        n_slots = mg.in_use(groups) + 1
        kind = group_merges.split_or_merge(rng, corpus.rows, tables, groups, n_slots)
        accepted += kind != group_sweeps.REJECTED
    return groups, accepted


def pair_moves(
    rng: np.random.Generator, corpus: Corpus, tables: Tables, groups: Groups, features: Floats, n: int, anew: bool
) -> tuple[Groups, int]:
    """So many splits and merges from pairs of trees that are alike, or `anew` so many pairs of groups shared out anew.

    The trace holds how many were accepted.  Under constraints other moves take their place
    (note.md, section 9).  `features` shows how alike trees are: by the product of their rows.
    """
    if corpus.blocks is not None:
        return constrained_moves.many_at_once(rng, corpus.blocks, tables, groups, n, swaps=anew)
    accepted = 0
    while n > 0 and corpus.n_trees > 1:
        groups = mg.with_room(groups, tables)
        done, more = moves.pair_moves(rng, corpus.rows, tables, groups, features, (n, anew))
        n, accepted = n - done, accepted + more
    return groups, accepted


class ManyGroups(NamedTuple):
    """Starts of chains: k-means with far more groups than there will be, which then merge; or with a number given.

    Chains that start with few groups stay hundreds of nats below the others for hundreds of sweeps.
    """

    features: Floats
    n_groups: int | None = None

    def __call__(self, rng: np.random.Generator) -> Ints:
        from .search import kmeans_start

        if self.n_groups is not None:
            return kmeans_start(self.features, self.n_groups, rng)
        wanted = int(np.exp(rng.uniform(*np.log(START_GROUPS))))
        return kmeans_start(self.features, max(1, min(wanted, len(self.features) // LEAST_START_SIZE)), rng)


class PartitionSampler:
    """The posterior of the partition, exactly, at fixed strengths and power; concentration drawn along if it is free.

    `closed` keeps the number of groups: the posterior given that number.  Rows of `features` show how alike trees are;
    without them all pairs are equally so.  A sweep is followed by `n_split_merge` splits or merges and by
    `n_shared_out` pairs of groups whose trees are shared out anew.
    """

    def __init__(
        self,
        corpus: Corpus,
        strengths: Floats,
        power: float,
        prior: PartitionPrior,
        *,
        starts: Any,
        closed: bool = False,
        learn_concentration: bool = True,
        features: Floats | None = None,
        n_split_merge: int = 20,
        n_shared_out: int = 5,
    ):
        self.corpus, self.prior, self.starts, self.closed = corpus, prior, starts, closed
        self.learn_concentration = learn_concentration and prior.kind == "dp" and not closed
        self.n_split_merge, self.n_shared_out = 0 if closed else n_split_merge, n_shared_out
        self.features = np.ascontiguousarray(np.zeros((corpus.n_trees, 0)) if features is None else features)
        self.tables = mg.make_tables(corpus, strengths, power, prior)

    def init(self, rng: np.random.Generator) -> Seating:
        """Groups from a start of the chain's own, after the merges that raise log P."""
        start = self.starts(rng)
        start = kept_to(self.corpus.blocks, start, int(start.max()) + 1 if self.closed else None)
        groups = mg.seat(self.corpus, self.tables, start)
        if not self.closed:
            merge(self.corpus, self.tables, groups)
        return Seating(mg.compact(groups.label), self.prior.concentration)

    def step(self, rng: np.random.Generator, state: Seating) -> tuple[Seating, Mapping[str, float]]:
        """One sweep, moves of many trees at once, and the concentration."""
        prior = self.prior._replace(concentration=state.concentration)
        tables = (
            mg.with_concentration(self.tables, prior, self.corpus.n_trees) if self.learn_concentration else self.tables
        )
        groups = mg.seat(self.corpus, tables, state.label)
        groups, n_moved = sweep(rng, self.corpus, tables, groups, closed=self.closed)
        groups, n_changed = pair_moves(rng, self.corpus, tables, groups, self.features, self.n_split_merge, False)
        groups, n_shared = pair_moves(rng, self.corpus, tables, groups, self.features, self.n_shared_out, True)
        joint = mg.log_posterior(self.corpus, tables, groups, prior)
        n_groups = int((groups.size > 0).sum())
        a = state.concentration
        if self.learn_concentration:
            a = mg.draw_concentration(rng, a, n_groups, self.corpus.n_trees)
        info = {
            "log_joint": joint,
            "n_groups": n_groups,
            "moved": n_moved,
            "split_or_merged": n_changed,
            "shared_out": n_shared,
        }
        return Seating(mg.compact(groups.label), a), info

    def draw(self, state: Seating) -> Mapping[str, NDArray[Any]]:
        return {"label": state.label.astype(np.int32), "concentration": np.array(state.concentration)}

    def pack(self, state: Seating) -> Mapping[str, NDArray[Any]]:
        return {"label": state.label, "concentration": np.array(state.concentration)}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Seating:
        return Seating(np.asarray(arrays["label"], np.int64), float(arrays["concentration"]))
