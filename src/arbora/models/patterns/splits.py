"""Finer groups: each group parted in two as well as some tries can, by the log posterior of the partition."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import marginals as mg
from .constraints import kept_to, only_blocks
from .kernels import log_marginals
from .kernels.group_sweeps import Rows, Tables
from .marginals import Corpus
from .search import kmeans_start, settle

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIES = 3  # starts of each split


class Splits(NamedTuple):
    """The best split found of each group."""

    gain: Floats  # [group]: in log P, mostly a loss; -inf for a group of one tree
    side: Ints  # [tree]: 0 or 1, the part of its group


def best_splits(rng: np.random.Generator, corpus: Corpus, features: Floats, tables: Tables, label: Ints) -> Splits:
    """Part every group from two seeds chosen as k-means++ chooses them, then move trees while log P rises."""
    n_groups = int(label.max()) + 1
    gain, side = np.full(n_groups, -np.inf), np.zeros(len(label), np.int64)
    for k in range(n_groups):
        mine = np.flatnonzero(label == k)
        gain[k], side[mine] = best_split(rng, corpus, features, tables, mine, n_groups)
    return Splits(gain, side)


def best_split(
    rng: np.random.Generator, corpus: Corpus, features: Floats, tables: Tables, mine: Ints, n_groups: int
) -> tuple[float, Ints]:
    """The best parting found of a group, given by its trees, and the part of each; -inf if there is none."""
    part, best, side = _part(corpus, mine), -np.inf, np.zeros(len(mine), np.int64)
    if len(mine) < 2 or (part.blocks is not None and len(part.blocks.first) < 2):
        return best, side
    whole = _log_joint(part, tables, np.zeros(len(mine), np.int64))
    step = float(tables.log_part[n_groups + 1] - tables.log_part[n_groups])
    for _ in range(TRIES):
        start = kmeans_start(features[mine], 2, rng)
        if start.max() == 0:  # all alike
            start[0] = 1
        start = kept_to(part.blocks, start, 2)
        groups, _ = settle(rng, part, tables, mg.seat(part, tables, start))
        found = mg.compact(groups.label)
        gained = _log_joint(part, tables, found) - whole + step
        if gained > best:
            best, side = gained, found
    return best, side


def split_labels(label: Ints, splits: Splits, n_more: int) -> Ints:
    """Groups with so many parted, those that lose least first; new ones get the next numbers."""
    out = label.copy()
    n_groups = len(splits.gain)
    for number, k in enumerate(np.argsort(-splits.gain, kind="stable")[:n_more].tolist()):
        out[(label == k) & (splits.side == 1)] = n_groups + number
    return out


def _part(corpus: Corpus, trees: Ints) -> Corpus:
    """The corpus of some trees."""
    rows = _only(corpus.rows, trees)
    blocks = None if corpus.blocks is None else only_blocks(corpus.blocks, rows, trees)
    return corpus._replace(rows=rows, blocks=blocks)


def _only(rows: Rows, trees: Ints) -> Rows:
    """Rows of some trees."""
    size = np.diff(rows.start)[trees]
    start = np.append(0, np.cumsum(size))
    at = np.arange(start[-1]) + np.repeat(rows.start[trees] - start[:-1], size)
    return Rows(start, rows.column[at], rows.size[trees])


def _log_joint(part: Corpus, tables: Tables, label: Ints) -> float:
    """Weighted log marginals and log weights of the groups of some trees."""
    groups = mg.seat(part, tables, label)
    taken = np.flatnonzero(groups.size)
    evidence = sum(log_marginals.log_marginal(tables, groups, k) for k in taken.tolist())
    return float(tables.power * evidence + tables.log_weight[groups.size[taken]].sum())
