"""Moves of a sampler and of a search that keep to constraints; labels go in and come out by tree."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import marginals as mg
from .kernels import blocks as kernels
from .kernels.blocks import Blocks
from .kernels.group_sweeps import Groups, Tables

Bools = NDArray[np.bool_]


def by_block(blocks: Blocks, groups: Groups) -> Groups:
    """The same groups, labelled by block."""
    return groups._replace(label=groups.label[blocks.first])


def by_tree(blocks: Blocks, groups: Groups) -> Groups:
    """The same groups, labelled by tree."""
    return groups._replace(label=groups.label[blocks.of_tree])


def sweep(
    rng: np.random.Generator, blocks: Blocks, tables: Tables, groups: Groups, greedy: bool, closed: bool
) -> tuple[Groups, int]:
    """Draw, or choose, the group of every block in random order; how many moved."""
    groups = by_block(blocks, groups)
    todo, n_moved = rng.permutation(len(blocks.first)), 0
    while len(todo):
        groups = mg.with_room(groups, tables)
        n_slots = mg.in_use(groups) + (0 if closed else 1)
        done, moved = kernels.sweep_blocks(rng, blocks, tables, groups, todo, (greedy, closed, n_slots))
        todo, n_moved = todo[done:], n_moved + moved
    return by_tree(blocks, groups), n_moved


def many_at_once(
    rng: np.random.Generator, blocks: Blocks, tables: Tables, groups: Groups, n: int, swaps: bool
) -> tuple[Groups, int]:
    """So many splits and merges, or exchanges between two groups; how many were accepted."""
    groups, accepted = by_block(blocks, groups), 0
    move: Any = kernels.swap_chain if swaps else kernels.split_or_merge_blocks
    for _ in range(n if len(blocks.first) > 1 else 0):
        groups = mg.with_room(groups, tables)
        accepted += move(rng, blocks, tables, groups, mg.in_use(groups) + 1)
    return by_tree(blocks, groups), accepted


def groups_apart(blocks: Blocks | None, groups: Groups, n_slots: int) -> Bools:
    """Which groups may not become one, [slot, slot]."""
    apart = np.zeros((n_slots, n_slots), np.bool_)
    if blocks is not None:
        label = groups.label[blocks.first]
        apart[np.repeat(label, np.diff(blocks.apart_start)), label[blocks.apart]] = True
    return apart
