"""Discriminants of the nodes under a max-margin regulariser (Huang et al. 2021): exact by slices, or as printed."""

from typing import NamedTuple

import numpy as np

from ....jit import jit

MAX_SHRINKS = 200  # of a slice; the state itself is on it, so this many only means a flat end of the numbers


class Family(NamedTuple):
    """The children of a node, and the data below it."""

    child: np.ndarray  # int64
    member: np.ndarray  # int64
    place: np.ndarray  # int64 [member, and more]: the child it is in
    level: int  # of the node


@jit
def score_of(direction, x):
    """Score of a datum; a direction longer than the datum ends with an intercept."""
    n_features = x.shape[0]
    total = direction[n_features] if direction.shape[0] > n_features else 0.0
    for d in range(n_features):
        total += direction[d] * x[d]
    return total


@jit
def _children(z, state, out):
    n = 0
    c = state.first_child[z]
    while c >= 0:
        out[n] = c
        n += 1
        c = state.next_sibling[c]
    return n


@jit
def _draw_prior(rng, z, state, setting):
    for d in range(state.direction.shape[1]):
        state.direction[z, d] = setting.direction_scale * rng.standard_normal()


@jit
def _rival(score, i, own, n_children, without):
    """Largest score of a sibling of child `own` for datum i, one child left out."""
    top = -np.inf
    for s in range(n_children):
        if s != own and s != without:
            top = max(top, score[s, i])
    return top


@jit
def fill_violations(X, state, margin, out):
    """Worst violation at each level of the path of each datum, [n, l]; -inf without siblings."""
    for n in range(X.shape[0]):
        for l in range(state.path.shape[1]):
            z = state.path[n, l]
            own = score_of(state.direction[z], X[n])
            out[n, l] = -np.inf
            s = state.first_child[state.parent[z]]
            while s >= 0:
                if s != z:
                    out[n, l] = max(out[n, l], margin - own + score_of(state.direction[s], X[n]))
                s = state.next_sibling[s]


@jit
def slice_directions(rng, queue, X, state, setting):
    """Draw every direction given all others, by elliptical slices; returns the sum of hinges after it.

    As one direction moves, the hinge of a datum is max(A, B +- its score): O(1) for each datum and angle.
    """
    n_data, n_levels = state.path.shape
    worst = np.empty((n_data, n_levels))
    fill_violations(X, state, setting.margin, worst)
    level = np.zeros(state.rest.shape[0], np.int64)
    child = np.empty(state.rest.shape[0], np.int64)
    member, place = np.empty(n_data, np.int64), np.empty(n_data, np.int64)
    for i in range(queue.shape[0]):
        z = queue[i]
        n_children = _children(z, state, child)
        n_members = 0
        if n_children > 1 and state.below[z] > 0:
            for n in range(n_data):
                if level[z] == 0 or state.path[n, level[z] - 1] == z:
                    member[n_members] = n
                    n_members += 1
        for c in range(n_children):
            level[child[c]] = level[z] + 1
            if n_members == 0:
                _draw_prior(rng, child[c], state, setting)
        if n_members > 0:
            for x in range(n_members):
                for c in range(n_children):
                    if child[c] == state.path[member[x], level[z]]:
                        place[x] = c
            family = Family(child[:n_children], member[:n_members], place, level[z])
            _slice_family(rng, X, family, worst, state, setting)
    total = 0.0
    for n in range(n_data):
        total += max(0.0, worst[n].max())
    return total


@jit
def _slice_family(rng, X, family, worst, state, setting):
    """The directions of siblings, one after another; `worst` is kept up to date."""
    child, member, place, l = family
    n_children, n_members = child.shape[0], member.shape[0]
    score = np.empty((n_children, n_members))
    other = np.empty(n_members)  # worst violation at the other levels, and zero
    for i in range(n_members):
        other[i] = 0.0
        for y in range(worst.shape[1]):
            if y != l:
                other[i] = max(other[i], worst[member[i], y])
        for c in range(n_children):
            score[c, i] = score_of(state.direction[child[c]], X[member[i]])
    line = np.empty((5, n_members))  # A, B, sign, score now, score of the other end of the ellipse
    for c in range(n_children):
        for i in range(n_members):
            if place[i] == c:
                line[0, i] = other[i]
                line[1, i] = setting.margin + _rival(score, i, c, n_children, c)
                line[2, i] = -1.0
            else:
                own = score[place[i], i]
                line[0, i] = max(other[i], setting.margin - own + _rival(score, i, place[i], n_children, c))
                line[1, i] = setting.margin - own
                line[2, i] = 1.0
            line[3, i] = score[c, i]
        _slice(rng, child[c], (X, member), line, state, setting)
        for i in range(n_members):
            score[c, i] = line[3, i]
    for i in range(n_members):
        rival = _rival(score, i, place[i], n_children, place[i])
        worst[member[i], l] = setting.margin - score[place[i], i] + rival


@jit
def _log_slice(line, cos, sin, regularization):
    total = 0.0
    for i in range(line.shape[1]):
        total += max(line[0, i], line[1, i] + line[2, i] * (cos * line[3, i] + sin * line[4, i]))
    return -2.0 * regularization * total


@jit
def _slice(rng, z, data, line, state, setting):
    """Elliptical slice sampling (Murray, Adams and MacKay 2010) of one direction; line[3] becomes its scores."""
    X, member = data
    n_features = state.direction.shape[1]
    end = np.empty(n_features)
    for d in range(n_features):
        end[d] = setting.direction_scale * rng.standard_normal()
    for i in range(member.shape[0]):
        line[4, i] = score_of(end, X[member[i]])
    height = _log_slice(line, 1.0, 0.0, setting.regularization) + np.log(rng.random())
    angle = 2.0 * np.pi * rng.random()
    low, high = angle - 2.0 * np.pi, angle
    for _ in range(MAX_SHRINKS):
        cos, sin = np.cos(angle), np.sin(angle)
        if _log_slice(line, cos, sin, setting.regularization) > height:
            for d in range(n_features):
                state.direction[z, d] = cos * state.direction[z, d] + sin * end[d]
            for i in range(member.shape[0]):
                line[3, i] = cos * line[3, i] + sin * line[4, i]
            return
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()


# ---- the paper's procedure ------------------------------------------------------------------------------------------


@jit
def _worst_rival(n, X, state, margin):
    """Level and sibling of the worst violation of a datum, s_n of Eq. (12); sibling -1 if there is none."""
    level, rival, worst = 0, -1, -np.inf
    for l in range(state.path.shape[1]):
        z = state.path[n, l]
        own = score_of(state.direction[z], X[n])
        s = state.first_child[state.parent[z]]
        while s >= 0:
            if s != z:
                rho = margin - own + score_of(state.direction[s], X[n])
                if rho > worst:
                    level, rival, worst = l, s, rho
            s = state.next_sibling[s]
    return level, rival


@jit
def frozen_directions(rng, queue, X, state, setting):
    """Equations (19) and (20), signs mended, s_n held while the directions it depends on are drawn: not a Gibbs step.

    Returns the sum of hinges after it.
    """
    n_data, n_features = X.shape[0], state.direction.shape[1]
    x = np.ones(n_features)  # a datum, and a one where directions have an intercept
    level, rival = np.empty(n_data, np.int64), np.empty(n_data, np.int64)
    for n in range(n_data):
        level[n], rival[n] = _worst_rival(n, X, state, setting.margin)
    strength = setting.regularization
    for i in range(1, queue.shape[0]):
        z = queue[i]
        precision = np.eye(n_features) / setting.direction_scale**2
        shift = np.zeros(n_features)
        for n in range(n_data):
            if rival[n] < 0:
                continue
            own = state.path[n, level[n]]
            if own == z:
                with_other = (
                    strength
                    + strength**2 * (setting.margin + score_of(state.direction[rival[n]], X[n])) / state.augment[n]
                )
            elif rival[n] == z:
                with_other = (
                    -strength - strength**2 * (setting.margin - score_of(state.direction[own], X[n])) / state.augment[n]
                )
            else:
                continue
            x[: X.shape[1]] = X[n]
            for d in range(n_features):
                shift[d] += with_other * x[d]
                for e in range(n_features):
                    precision[d, e] += strength**2 * x[d] * x[e] / state.augment[n]
        root = np.linalg.cholesky(precision)
        noise = np.empty(n_features)
        for d in range(n_features):
            noise[d] = rng.standard_normal()
        state.direction[z] = np.linalg.solve(precision, shift) + np.linalg.solve(root.T, noise)
    worst = np.empty((n_data, state.path.shape[1]))
    fill_violations(X, state, setting.margin, worst)
    total = 0.0
    for n in range(n_data):
        total += max(0.0, worst[n].max())
    return total
