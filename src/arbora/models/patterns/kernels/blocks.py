"""Moves under constraints: blocks of trees that share a group, some of them never with some others; note.md, section 9.

A block moves as one, and never into a group that holds a block it must stay apart from.  Groups are those of
`group_sweeps`, but `label` is by block.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....inference.kernels.draws import draw_by_logs, draw_side
from ....inference.kernels.two_data import choose_two
from ....jit import jit
from .group_merges import absorb_group, joined_marginal, log_sizes, put_group
from .group_sweeps import LEFT, RIGHT, UNDRAWN, Groups, n_groups_of, two_columns
from .log_marginals import log_marginal, log_rise


class Blocks(NamedTuple):
    """Trees that share a group as one row of sums, and which blocks stay apart."""

    of_tree: NDArray[np.int64]  # [tree]
    first: NDArray[np.int64]  # [block]: a tree of it
    start: NDArray[np.int64]  # patterns of a block: column[start[b] : start[b + 1]]
    column: NDArray[np.int64]
    times: NDArray[np.int64]  # [entry]: trees of the block with the pattern
    total: NDArray[np.int64]  # [block, family]
    n_trees: NDArray[np.int64]  # [block]
    apart_start: NDArray[np.int64]  # blocks that b stays apart from: apart[apart_start[b] : apart_start[b + 1]]
    apart: NDArray[np.int64]


@jit
def move_block(blocks, tables, groups, b, k, sign):
    """Put block b into slot k (+1) or take it out (-1)."""
    for e in range(blocks.start[b], blocks.start[b + 1]):
        j = blocks.column[e]
        groups.count[j, k] += sign * blocks.times[e]
        c = groups.count[j, k]
        groups.logs[j, k] = tables.times[j] * math.log(tables.alpha[j] + c) if c > 0 else tables.log_alpha[j]
    for f in range(blocks.total.shape[1]):
        groups.total[f, k] += sign * blocks.total[b, f]
    groups.size[k] += sign * blocks.n_trees[b]


@jit
def score_block(blocks, tables, groups, b, n_slots, score_out):
    """log p(block b | slot), unweighted; its own group without it."""
    own = groups.label[b]
    for k in range(n_slots):
        score_out[k] = 0.0
    for e in range(blocks.start[b], blocks.start[b + 1]):
        j, m = blocks.column[e], blocks.times[e]
        for k in range(n_slots):
            if m == 1 and k != own:
                score_out[k] += groups.logs[j, k]
            else:
                before = groups.count[j, k] - (m if k == own else 0)
                score_out[k] += tables.times[j] * log_rise(tables.alpha[j] + before, m)
    for f in range(blocks.total.shape[1]):
        t = blocks.total[b, f]
        for k in range(n_slots):
            before = groups.total[f, k] - (t if k == own else 0)
            score_out[k] += tables.rise[f, before] - tables.rise[f, before + t]


@jit
def _choose(rng, score, n_slots, own, greedy):
    """The best slot, or one drawn by weights whose logs these are."""
    if greedy:
        new = own
        for k in range(n_slots):
            if score[k] > score[new] + 1e-9:
                new = k
        return new
    return draw_by_logs(rng, score, n_slots)


@jit
def sweep_blocks(rng, blocks, tables, groups, todo, mode):
    """Draw the group of each block in `todo` given all others, as `group_sweeps.sweep` does that of each tree."""
    greedy, closed, n_slots = mode
    score = np.empty(groups.size.shape[0])
    n_moved = 0
    n_groups = n_groups_of(groups, n_slots)
    for x in range(todo.shape[0]):
        b = todo[x]
        own, weight = groups.label[b], blocks.n_trees[b]
        alone = groups.size[own] == weight
        if closed and alone:
            continue
        score_block(blocks, tables, groups, b, n_slots, score)
        others = n_groups - 1 if alone else n_groups
        empty = own if alone else -1  # where a new group would sit
        for k in range(n_slots):
            m = groups.size[k] - (weight if k == own else 0)
            if m > 0:
                score[k] = tables.power * score[k] + tables.log_weight[m + weight] - tables.log_weight[m]
            elif not closed and (empty < 0 or empty == k):
                empty = k
                prior = tables.log_part[others + 1] - tables.log_part[others] + tables.log_weight[weight]
                score[k] = tables.power * score[k] + prior
            else:
                score[k] = -np.inf
        for e in range(blocks.apart_start[b], blocks.apart_start[b + 1]):
            score[groups.label[blocks.apart[e]]] = -np.inf
        new = _choose(rng, score, n_slots, own, greedy)
        if new == own:
            continue
        n_moved += 1
        n_groups = others + (1 if groups.size[new] == 0 else 0)
        move_block(blocks, tables, groups, b, own, -1)
        move_block(blocks, tables, groups, b, new, 1)
        groups.label[b] = new
        if n_groups == n_slots:
            return x + 1, n_moved
    return todo.shape[0], n_moved


@jit
def _may_join(blocks, label, first, second, others):
    """Whether no block of two groups stays apart from one of the other."""
    one, two = label[first], label[second]
    for x in range(-2, others.shape[0]):
        b = first if x == -2 else second if x == -1 else others[x]
        for e in range(blocks.apart_start[b], blocks.apart_start[b + 1]):
            if label[blocks.apart[e]] in (one, two):
                return False
    return True


@jit
def split_or_merge_blocks(rng, blocks, tables, groups, n_slots):
    """Propose to split the group of two blocks or to merge their two (Dahl 2005); whether it was accepted.

    Parts of a group that keeps the constraints keep them too, so a split needs no check.
    """
    first, second, others = choose_two(rng, groups.label)
    one, two = groups.label[first], groups.label[second]
    splitting = one == two
    if not splitting and not _may_join(blocks, groups.label, first, second, others):
        return False
    sides = Groups(
        np.full(groups.label.shape[0], -1, np.int64),
        np.zeros((tables.alpha.shape[0], 2), np.int32),
        two_columns(tables.log_alpha),
        np.zeros((blocks.total.shape[1], 2), np.int64),
        np.zeros(2, np.int64),
    )
    side, score = np.zeros(others.shape[0], np.int64), np.empty(2)
    move_block(blocks, tables, sides, first, 0, 1)
    move_block(blocks, tables, sides, second, 1, 1)
    log_q = 0.0
    for x in range(others.shape[0]):
        b = others[x]
        score_block(blocks, tables, sides, b, 2, score)
        gain = tables.power * (score[1] - score[0])
        for s in range(2):
            m = sides.size[s]
            gain += (2 * s - 1) * (tables.log_weight[m + blocks.n_trees[b]] - tables.log_weight[m])
        side[x], log_chance = draw_side(rng, gain, UNDRAWN if splitting else np.int64(groups.label[b] == two))
        log_q += log_chance
        move_block(blocks, tables, sides, b, side[x], 1)
    n_merged = n_groups_of(groups, n_slots) - (0 if splitting else 1)
    log_ratio = log_sizes(tables, sides.size[0], sides.size[1], n_merged) - log_q
    log_ratio -= tables.power * joined_marginal(tables, sides.count, sides.total, LEFT, RIGHT)
    if math.log(1.0 - rng.random()) >= (log_ratio if splitting else -log_ratio):
        return False
    if not splitting:
        absorb_group(tables, groups, one, two)
        return True
    new = 0
    while groups.size[new] > 0:
        new += 1
    put_group(groups, sides, LEFT, one)
    put_group(groups, sides, RIGHT, np.int64(new))
    groups.label[second] = new
    for x in range(others.shape[0]):
        if side[x] == 1:
            groups.label[others[x]] = new
    return True


@jit
def _chain(blocks, label, b, one, two):
    """Blocks of two groups that are tied to b by one pair after another that stays apart (a Kempe chain)."""
    found = np.empty(label.shape[0], np.int64)
    seen = np.zeros(label.shape[0], np.bool_)
    found[0], n_found, x = b, 1, 0
    seen[b] = True
    while x < n_found:
        for e in range(blocks.apart_start[found[x]], blocks.apart_start[found[x] + 1]):
            other = blocks.apart[e]
            if not seen[other] and label[other] in (one, two):
                seen[other] = True
                found[n_found] = other
                n_found += 1
        x += 1
    return found[:n_found].copy()


@jit
def _two_groups(tables, groups, one, two):
    """What two groups add to the log posterior."""
    weight = tables.log_weight[groups.size[one]] + tables.log_weight[groups.size[two]]
    return weight + tables.power * (log_marginal(tables, groups, one) + log_marginal(tables, groups, two))


@jit
def swap_chain(rng, blocks, tables, groups, n_slots):
    """Blocks that are tied by pairs that stay apart change their two groups; whether that was accepted.

    Without such moves a pair could not change places where the number of groups is given.  No group is left empty.
    """
    b = rng.integers(0, groups.label.shape[0])
    n_groups = n_groups_of(groups, n_slots)
    if blocks.apart_start[b] == blocks.apart_start[b + 1] or n_groups < 2:
        return False
    one = groups.label[b]
    wanted, two = rng.integers(0, n_groups - 1), -1
    for k in range(n_slots):
        if groups.size[k] > 0 and k != one:
            wanted -= 1
            if wanted < 0:
                two = k
                break
    chain = _chain(blocks, groups.label, b, one, two)
    before = _two_groups(tables, groups, one, two)
    _exchange(blocks, tables, groups, chain, one, two)
    if groups.size[one] > 0 and groups.size[two] > 0:
        gain = _two_groups(tables, groups, one, two) - before
        if math.log(1.0 - rng.random()) < gain:
            return True
    _exchange(blocks, tables, groups, chain, one, two)
    return False


@jit
def _exchange(blocks, tables, groups, chain, one, two):
    """Every block of the chain goes to the other of two groups."""
    for x in range(chain.shape[0]):
        b = chain[x]
        old = groups.label[b]
        new = two if old == one else one
        move_block(blocks, tables, groups, b, old, -1)
        move_block(blocks, tables, groups, b, new, 1)
        groups.label[b] = new
