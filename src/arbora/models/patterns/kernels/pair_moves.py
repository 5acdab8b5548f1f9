"""Moves of many trees at once: split a group, merge two, or share the trees of two out anew; see note.md, section 3.

Two trees are picked, alike more often than chance has it, whatever the groups are.  So a move and the one that undoes
it pick the same pair with the same chance, and the choice drops out of the ratio.  A launch state shares the trees of
their groups out between the two, one tree after another (Dahl 2005); it depends on no split at hand.  One restricted
Gibbs scan leads from it to the proposal, and its chances are those of the ratio (Jain and Neal 2004).
"""

import math

import numpy as np

from ....inference.kernels.draws import draw_side
from ....jit import inlined, jit
from .group_merges import absorb_group, joined_marginal, log_sizes, put_group
from .group_sweeps import (
    LEFT,
    MERGED,
    PUT,
    REJECTED,
    RIGHT,
    SPLIT,
    TAKE,
    UNDRAWN,
    Groups,
    move_tree,
    n_groups_of,
    score_groups,
    two_columns,
)

SHARED_OUT = 3
N_CONTESTS = 8  # of 1, 2, 4, ... trees, the one most like the first of the pair wins


@inlined
def _choose_pair(rng, features):
    """A tree, and that of 1, 2, 4, ... others which is most like it."""
    n = features.shape[0]
    first = rng.integers(0, n)
    second, nearest = -1, -np.inf
    for _ in range(1 << rng.integers(0, N_CONTESTS)):
        other = rng.integers(0, n - 1)
        other += other >= first
        near = 0.0
        for d in range(features.shape[1]):
            near += features[first, d] * features[other, d]
        if near > nearest:
            second, nearest = other, near
    return first, second


@inlined
def _members(rng, label, first, second):
    """The other trees of both groups in random order."""
    one, two = label[first], label[second]
    n_others = 0
    for t in range(label.shape[0]):
        n_others += label[t] in (one, two) and t not in (first, second)
    others = np.empty(n_others, np.int64)
    x = 0
    for t in range(label.shape[0]):
        if label[t] in (one, two) and t not in (first, second):
            others[x] = t
            x += 1
    for x in range(n_others - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    return others


@inlined
def _launch(rng, rows, tables, first, second, others):
    """Two sides, a tree of the pair in each, and the others put to them one after another by their predictives."""
    sides = Groups(
        np.full(rows.start.shape[0] - 1, -1, np.int64),
        np.zeros((tables.alpha.shape[0], 2), np.int32),
        two_columns(tables.log_alpha),
        np.zeros((rows.size.shape[1], 2), np.int64),
        np.zeros(2, np.int64),
    )
    score = np.empty(2)
    move_tree(rows, tables, sides, first, LEFT, PUT)
    move_tree(rows, tables, sides, second, RIGHT, PUT)
    for x in range(others.shape[0]):
        n = others[x]
        score_groups(rows, tables, sides, n, 2, score)
        gain = tables.power * (score[1] - score[0])
        gain += _log_odds(tables, sides.size[0], sides.size[1])
        side, _ = draw_side(rng, gain, UNDRAWN)
        move_tree(rows, tables, sides, n, side, PUT)
        sides.label[n] = side
    return sides


@inlined
def _log_odds(tables, x, y):
    """Log prior odds of the second of two sides with so many trees."""
    weight = tables.log_weight
    return weight[y + 1] - weight[y] - weight[x + 1] + weight[x]


@jit
def _scan(rng, rows, tables, sides, others, wanted):
    """Draw the side of each tree given all others; log of the chances of those taken.

    With entries in `wanted`, each tree is put to the side wanted, which counts as drawn.
    """
    forced = wanted.shape[0] > 0
    score = np.empty(2)
    log_q = 0.0
    for x in range(others.shape[0]):
        n = others[x]
        own = sides.label[n]
        score_groups(rows, tables, sides, n, 2, score)
        gain = tables.power * (score[1] - score[0])
        gain += _log_odds(tables, sides.size[0] - (own == 0), sides.size[1] - (own == 1))
        side, log_chance = draw_side(rng, gain, wanted[x] if forced else UNDRAWN)
        log_q += log_chance
        if side != own:
            move_tree(rows, tables, sides, n, own, TAKE)
            move_tree(rows, tables, sides, n, side, PUT)
            sides.label[n] = side
    return log_q


@inlined
def _restore(rows, tables, sides, others, launched):
    """The sides as they were launched."""
    for x in range(others.shape[0]):
        n = others[x]
        if sides.label[n] != launched[x]:
            move_tree(rows, tables, sides, n, sides.label[n], TAKE)
            move_tree(rows, tables, sides, n, launched[x], PUT)
            sides.label[n] = launched[x]


@jit
def _split_value(tables, groups, a, b, n_merged):
    """log posterior of two slots as two groups less that as one."""
    return log_sizes(tables, groups.size[a], groups.size[b], n_merged) - tables.power * joined_marginal(
        tables, groups.count, groups.total, a, b
    )


@inlined
def _settle(groups, sides, others, one, two):
    """Put both sides into slots."""
    put_group(groups, sides, LEFT, one)
    put_group(groups, sides, RIGHT, two)
    for x in range(others.shape[0]):
        groups.label[others[x]] = two if sides.label[others[x]] == 1 else one


@inlined
def _pair_move(rng, rows, tables, groups, features, mode):
    """Pick two trees; split their group or merge their two, or share the trees of their two out anew.

    `mode` is (whether to share out anew, slots).  REJECTED, SPLIT, MERGED or SHARED_OUT.
    """
    anew, n_slots = mode
    first, second = _choose_pair(rng, features)
    one, two = groups.label[first], groups.label[second]
    splitting = one == two
    if anew and splitting:
        return REJECTED
    log_u = math.log(1.0 - rng.random())
    n_merged = n_groups_of(groups, n_slots) - (0 if splitting else 1)
    now = 0.0 if splitting else _split_value(tables, groups, one, two, n_merged)
    if not splitting and not anew and log_u >= -now:  # a merge cannot gain more than this, whatever the chances
        return REJECTED
    others = _members(rng, groups.label, first, second)
    sides = _launch(rng, rows, tables, first, second, others)
    wanted = np.empty(others.shape[0], np.int64)
    log_back = 0.0
    if not splitting:
        launched = np.empty(others.shape[0], np.int64)
        for x in range(others.shape[0]):
            launched[x] = sides.label[others[x]]
            wanted[x] = 1 if groups.label[others[x]] == two else 0
        log_back = _scan(rng, rows, tables, sides, others, wanted)
        if not anew:
            if log_u >= log_back - now:
                return REJECTED
            absorb_group(tables, groups, one, two)
            return MERGED
        _restore(rows, tables, sides, others, launched)
    log_there = _scan(rng, rows, tables, sides, others, wanted[:0])
    new = _split_value(tables, sides, LEFT, RIGHT, n_merged)
    if log_u >= new - now - log_there + log_back:
        return REJECTED
    if splitting:
        two = LEFT  # the first slot
        while groups.size[two] > 0:
            two += 1
        groups.label[second] = two
    _settle(groups, sides, others, one, two)
    return SPLIT if splitting else SHARED_OUT


@jit
def pair_moves(rng, rows, tables, groups, features, mode):
    """So many moves, mode[0]; how many were proposed, and accepted.  Ends early when no empty slot is left.

    mode[1]: share the trees of two groups out anew, in place of splits and merges.
    """
    n_moves, anew = mode
    accepted = 0
    for done in range(n_moves):
        n_slots = groups.size.shape[0]
        while n_slots > 0 and groups.size[n_slots - 1] == 0:
            n_slots -= 1
        if n_slots == groups.size.shape[0]:
            return done, accepted
        accepted += _pair_move(rng, rows, tables, groups, features, (anew, n_slots + 1)) != REJECTED
    return n_moves, accepted
