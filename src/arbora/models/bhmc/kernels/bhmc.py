"""Seat each datum at a leaf of a hierarchy and in a mixture component (Huang et al. 2021, models/bhmc.md).

Nodes live in a pool of slots; slot 0 is the root.  A finite tree is complete and laid out as a heap: the children of z
are B z + 1 ... B z + B.  A nested tree grows and shrinks, and keeps its free slots on a stack.  Component means are
integrated out; every node has a weight for each component in use and a rest for all others together.
"""

from typing import Any, NamedTuple

import numpy as np

from ....jit import jit
from .directions import score_of
from .random_draws import TINY, draw_augment, draw_beta, log_gamma, pick, pick_log

EXACT, OWN, PAPER = 0, 1, 2  # how a proposed path is judged


class MixtureTree(NamedTuple):
    """All that a sweep changes; n datum, l level, z node slot, k component, d feature."""

    path: Any  # [n, l] node at level l + 1
    component: Any  # [n]
    augment: Any  # [n], of the paper's procedure
    parent: Any  # [z], -1 at the root
    first_child: Any  # [z], -1 at a leaf
    next_sibling: Any  # [z], -1 at the last
    below: Any  # [z] data whose path passes
    free: Any  # [z] stack of slots
    n_free: Any  # [1]
    weight: Any  # [z, k] of the components in use
    rest: Any  # [z] weight of all other components
    direction: Any  # [z, d] discriminant; one more column is an intercept
    size: Any  # [k] data in the component
    total: Any  # [k, d] their sum
    n_components: Any  # [1]
    variance: Any  # [2] within components, and of their means


class SweepSettings(NamedTuple):
    """What a sweep does not change."""

    path_concentration: float
    weight_concentration: float
    root_concentration: float
    regularization: float
    margin: float
    direction_scale: float
    branching: int  # of a finite tree; 0 means nested
    procedure: int  # EXACT, OWN or PAPER
    within_prior: tuple[float, float] = (0.0, 0.0)  # (shape, scale) of an inverse gamma; shape 0 keeps the variance
    between_prior: tuple[float, float] = (0.0, 0.0)


class Work(NamedTuple):
    """Room for weighing the nodes of a nested tree; z node slot."""

    queue: Any  # nodes that hold data, parents first
    level: Any  # [z]
    reach: Any  # [z] log prior of passing it
    worst: Any  # [z] worst violation of a datum down to it; -inf without siblings


# ---- components -----------------------------------------------------------------------------------------------------


@jit
def _fill_log_density(x, state, out):
    """log f(x | data of component k), and last that of a component without data."""
    within, between = state.variance[0], state.variance[1]
    n_features = x.shape[0]
    n_components = state.n_components[0]
    for k in range(n_components + 1):
        size = state.size[k] if k < n_components else 0
        shrink = between / (within + size * between)
        var = within + within * shrink
        squares = 0.0
        for d in range(n_features):
            mean = shrink * state.total[k, d] if k < n_components else 0.0
            squares += (x[d] - mean) ** 2
        out[k] = -0.5 * (n_features * np.log(2.0 * np.pi * var) + squares / var)


@jit
def _leave_component(n, x, state):
    """Take a datum out of its component; an emptied one gives its weight back to the rest of every node."""
    k = state.component[n]
    state.component[n] = -1
    state.size[k] -= 1
    if state.size[k] > 0:
        for d in range(x.shape[0]):
            state.total[k, d] -= x[d]
        return
    last = state.n_components[0] - 1
    state.n_components[0] = last
    for z in range(state.rest.shape[0]):
        state.rest[z] += state.weight[z, k]
        state.weight[z, k] = state.weight[z, last]
    if k != last:
        state.size[k] = state.size[last]
        state.total[k] = state.total[last]
        for m in range(state.component.shape[0]):
            if state.component[m] == last:
                state.component[m] = k
    state.size[last] = 0


@jit
def _draw_component(rng, z, log_density, state):
    """A component for a datum of node z, in proportion to weight times density; the last means a new one."""
    n_components = state.n_components[0]
    log_weight = log_density[: n_components + 1].copy()
    for k in range(n_components):
        log_weight[k] += np.log(state.weight[z, k])
    log_weight[n_components] += np.log(state.rest[z])
    return pick_log(rng, log_weight, n_components + 1)


@jit
def _join_component(rng, n, x, log_density, state, setting):
    """Draw the component of a datum from the weights of its leaf."""
    k = _draw_component(rng, state.path[n, state.path.shape[1] - 1], log_density, state)
    if k == state.n_components[0]:
        _split_rest(rng, n, state, setting)
        state.size[k] = 0
        state.total[k] = 0.0
        state.n_components[0] += 1
    state.component[n] = k
    state.size[k] += 1
    for d in range(x.shape[0]):
        state.total[k, d] += x[d]


@jit
def _split_rest(rng, n, state, setting):
    """Cut the weight of a component off the rest of every node, given that datum n has just chosen it.

    A size-biased pick all the way from the leaf up: nodes on the path of n count one more customer.
    """
    k = state.n_components[0]
    on_path = np.zeros(state.rest.shape[0])
    for l in range(state.path.shape[1]):
        on_path[state.path[n, l]] = 1.0
    queue = np.empty(state.rest.shape[0], np.int64)
    for i in range(breadth_first(state, queue)):
        z = queue[i]
        p = state.parent[z]
        if p < 0:
            share, left = draw_beta(rng, 1.0, setting.root_concentration)
        else:
            a = setting.weight_concentration * state.weight[p, k] + on_path[z]
            share, left = draw_beta(rng, a, setting.weight_concentration * state.rest[p])
        state.weight[z, k] = max(state.rest[z] * share, TINY)
        state.rest[z] = max(state.rest[z] * left, TINY)


# ---- the tree -------------------------------------------------------------------------------------------------------


@jit
def breadth_first(state, queue_out):
    """Slots in use, parents first; returns how many."""
    queue_out[0] = 0
    n = 1
    i = 0
    while i < n:
        z = state.first_child[queue_out[i]]
        while z >= 0:
            queue_out[n] = z
            n += 1
            z = state.next_sibling[z]
        i += 1
    return n


@jit
def _count_path(n, by, state):
    state.below[0] += by
    for l in range(state.path.shape[1]):
        state.below[state.path[n, l]] += by


@jit
def _link(z, state):
    p = state.parent[z]
    state.next_sibling[z] = state.first_child[p]
    state.first_child[p] = z


@jit
def _unlink(z, state):
    p = state.parent[z]
    if state.first_child[p] == z:
        state.first_child[p] = state.next_sibling[z]
        return
    y = state.first_child[p]
    while state.next_sibling[y] != z:
        y = state.next_sibling[y]
    state.next_sibling[y] = state.next_sibling[z]


@jit
def _new_node(rng, p, chosen, state, setting):
    """A childless node under p with weights and a direction from the prior; not yet among the children of p.

    If a datum below it has chosen a component (-1: none has), its weights are those of the prior given that.
    """
    state.n_free[0] -= 1
    z = state.free[state.n_free[0]]
    state.parent[z] = p
    state.first_child[z] = -1
    state.next_sibling[z] = -1
    state.below[z] = 0
    n_components = state.n_components[0]
    log_weight = np.empty(n_components + 1)
    for k in range(n_components):
        log_weight[k] = log_gamma(rng, setting.weight_concentration * state.weight[p, k] + (k == chosen))
    log_weight[n_components] = log_gamma(rng, setting.weight_concentration * state.rest[p] + (chosen == n_components))
    share = np.exp(log_weight - log_weight.max())
    share /= share.sum()
    for k in range(n_components):
        state.weight[z, k] = max(share[k], TINY)
    state.rest[z] = max(share[n_components], TINY)
    for d in range(state.direction.shape[1]):
        state.direction[z, d] = setting.direction_scale * rng.standard_normal()
    return z


# ---- the regulariser ------------------------------------------------------------------------------------------------


@jit
def violation(n, x, state, margin):
    """Worst violation of a datum, rho_n: over the levels of its path and the siblings there; 0 without siblings."""
    worst = -np.inf
    for l in range(state.path.shape[1]):
        z = state.path[n, l]
        own = np.nan
        s = state.first_child[state.parent[z]]
        while s >= 0:
            if s != z:
                if np.isnan(own):
                    own = score_of(state.direction[z], x)
                worst = max(worst, margin - own + score_of(state.direction[s], x))
            s = state.next_sibling[s]
    return 0.0 if worst == -np.inf else worst


@jit
def total_hinge(X, state, margin):
    """Sum over the data of max(0, rho_n)."""
    total = 0.0
    for n in range(X.shape[0]):
        total += max(0.0, violation(n, X[n], state, margin))
    return total


# ---- paths in a finite tree -----------------------------------------------------------------------------------------


@jit
def move_finite(rng, order, first, X, state, setting):
    """Draw leaf and component of the data order[first:], each given all others; exact for Eq. (11).

    Returns the position it has come to: less than len(order) if there is no room for another component.
    """
    n_nodes = state.rest.shape[0]
    log_density = np.empty(state.size.shape[0] + 1)
    work = np.empty((3, n_nodes))
    for i in range(first, order.shape[0]):
        if state.n_components[0] == state.size.shape[0]:
            return i
        n = order[i]
        x = X[n]
        _leave_component(n, x, state)
        _count_path(n, -1, state)
        _fill_log_density(x, state, log_density)
        z = _draw_leaf(rng, x, log_density, work, state, setting)
        for l in range(state.path.shape[1] - 1, -1, -1):
            state.path[n, l] = z
            z = state.parent[z]
        _count_path(n, 1, state)
        _join_component(rng, n, x, log_density, state, setting)
    return order.shape[0]


@jit
def _draw_leaf(rng, x, log_density, work, state, setting):
    """P(leaf) ~ prod_l (N_l + alpha/B) / (N_{l-1} + alpha) p(x | leaf) exp(-2C hinge(leaf))."""
    first_leaf = (state.rest.shape[0] - 1) // setting.branching
    n_leaves = state.rest.shape[0] - first_leaf
    n_components = state.n_components[0]
    reach, worst = work[0], work[1]  # prior probability of passing a node, worst violation down to it
    _walk_down(x, reach, worst, state, setting)
    weight = work[2]
    least = np.inf
    for j in range(n_leaves):
        worst[first_leaf + j] = max(0.0, worst[first_leaf + j])
        least = min(least, worst[first_leaf + j])
    scaled = np.exp(log_density[: n_components + 1] - log_density[: n_components + 1].max())
    best = 0.0
    for j in range(n_leaves):
        z = first_leaf + j
        p = state.rest[z] * scaled[n_components]
        for k in range(n_components):
            p += state.weight[z, k] * scaled[k]
        weight[j] = reach[z] * p
        if worst[z] > least:
            weight[j] *= np.exp(-2.0 * setting.regularization * (worst[z] - least))
        best = max(best, weight[j])
    if best > 1e-200:
        return first_leaf + pick(rng, weight, n_leaves)
    for j in range(n_leaves):  # a datum far from all others: sums in the logarithm
        z = first_leaf + j
        weight[j] = np.log(reach[z]) + log_mixture(z, log_density, state) - 2.0 * setting.regularization * worst[z]
    return first_leaf + pick_log(rng, weight, n_leaves)


@jit
def _walk_down(x, reach, worst, state, setting):
    """Prior probability of reaching each node without the datum, and its worst violation on the way."""
    branching = setting.branching
    n_inner = (state.rest.shape[0] - 1) // branching
    reach[0] = 1.0
    worst[0] = -np.inf
    for z in range(n_inner):
        top, second, best = -np.inf, -np.inf, -1  # largest scores among the children
        for c in range(branching * z + 1, branching * z + 1 + branching):
            share = (state.below[c] + setting.path_concentration / branching) / (
                state.below[z] + setting.path_concentration
            )
            reach[c] = reach[z] * share
            if setting.regularization > 0.0:
                score = score_of(state.direction[c], x)
                worst[c] = score
                if score > top:
                    second, top, best = top, score, c
                elif score > second:
                    second = score
        for c in range(branching * z + 1, branching * z + 1 + branching):
            if setting.regularization > 0.0:
                rival = second if c == best else top
                worst[c] = max(worst[z], setting.margin - worst[c] + rival)
            else:
                worst[c] = 0.0


@jit
def log_mixture(leaf, log_density, state):
    """log p(x | leaf): the component summed out."""
    n_components = state.n_components[0]
    top = log_density[: n_components + 1].max()
    total = state.rest[leaf] * np.exp(log_density[n_components] - top)
    for k in range(n_components):
        total += state.weight[leaf, k] * np.exp(log_density[k] - top)
    if total > TINY:
        return top + np.log(total)
    top = np.log(state.rest[leaf]) + log_density[n_components]
    for k in range(n_components):
        top = max(top, np.log(state.weight[leaf, k]) + log_density[k])
    return top  # all other terms are beyond the smallest number


# ---- paths in a nested tree -----------------------------------------------------------------------------------------


@jit
def move_nested(rng, order, first, X, state, setting):
    """Propose a path for the data order[first:], judge it, then draw the component.

    EXACT proposes from what the conditional of the path would be if the nodes that come and go had no directions, and
    accepts by the hinge of all data, since such nodes change the siblings of others; between nodes that stay this is a
    Gibbs step.  OWN and PAPER propose from the prior, and judge by the hinge of the datum alone (Appendix A), PAPER by
    its augmented form (Algorithm 2).  Returns the position it has come to; see `move_finite`.
    """
    n_levels = state.path.shape[1]
    log_density = np.empty(state.size.shape[0] + 1)
    proposal = np.empty(n_levels, np.int64)
    before = np.empty(n_levels, np.int64)
    work = Work(
        np.empty(state.rest.shape[0], np.int64),
        np.zeros(state.rest.shape[0], np.int64),
        np.empty(state.rest.shape[0]),
        np.empty(state.rest.shape[0]),
    )
    for i in range(first, order.shape[0]):
        if state.n_components[0] == state.size.shape[0]:
            return i
        n = order[i]
        x = X[n]
        _leave_component(n, x, state)
        _fill_log_density(x, state, log_density)
        before[:] = state.path[n]
        _count_path(n, -1, state)
        emptied = n_levels  # the first level at which the datum was alone
        while emptied > 0 and state.below[before[emptied - 1]] == 0:
            emptied -= 1
        together = False
        if setting.procedure == EXACT:
            born = _draw_path(rng, x, log_density, work, proposal, state, setting)
            together = emptied < n_levels or born < n_levels
            stem, old_stem = _at(proposal, born), _at(before, emptied)
            gain = 2.0 * setting.regularization * (max(0.0, work.worst[stem]) - max(0.0, work.worst[old_stem]))
        else:
            born = _propose_path(rng, proposal, state, setting)
            gain = log_mixture(proposal[n_levels - 1], log_density, state) - log_mixture(
                before[n_levels - 1], log_density, state
            )
        cost = _cost(n, X, together, state, setting)
        _switch(n, before, emptied, proposal, born, state)
        gain -= _cost(n, X, together, state, setting) - cost
        if (setting.procedure == EXACT and not together) or np.log(rng.random()) < gain:
            _release(before, emptied, state)
        else:
            _switch(n, proposal, born, before, emptied, state)
            _release(proposal, born, state)
        _count_path(n, 1, state)
        if setting.procedure == PAPER and setting.regularization > 0.0:
            rho = violation(n, x, state, setting.margin)
            state.augment[n] = draw_augment(rng, abs(setting.regularization * rho))
        _join_component(rng, n, x, log_density, state, setting)
    return order.shape[0]


@jit
def _at(path, born):
    """The last node of a path above those from level `born` on."""
    return path[born - 1] if born > 0 else 0


@jit
def _draw_path(rng, x, log_density, work, proposal_out, state, setting):
    """A path in proportion to prior x density x exp(-2C hinge), over the leaves and over new branches of every node.

    The weights of a new branch are integrated out: on average they are those of the node it grows from.  Its hinge
    counts only down to that node, because its directions are not known yet.  Returns the level from which on nodes are
    new; `work.worst` keeps the worst violation of the datum down to each node that others pass.
    """
    queue, level, reach, worst = work
    n_levels, n_components = proposal_out.shape[0], state.n_components[0]
    weight = np.empty(queue.shape[0])
    top = log_density[: n_components + 1].max()
    scaled = np.exp(log_density[: n_components + 1] - top)
    queue[0], level[0], reach[0], worst[0] = 0, 0, 0.0, -np.inf
    i, n = 0, 1
    while i < n:
        z = queue[i]
        p = state.rest[z] * scaled[n_components]
        for k in range(n_components):
            p += state.weight[z, k] * scaled[k]
        weight[i] = reach[z] + (top + np.log(p) if p > TINY else log_mixture(z, log_density, state))
        if setting.regularization > 0.0:
            weight[i] -= 2.0 * setting.regularization * max(0.0, worst[z])
        if level[z] < n_levels:
            weight[i] += np.log(setting.path_concentration / (state.below[z] + setting.path_concentration))
            n = _queue_children(x, z, n, work, state, setting)
        i += 1
    z = queue[pick_log(rng, weight, n)]
    born = level[z]
    above = z
    for l in range(born - 1, -1, -1):
        proposal_out[l] = above
        above = state.parent[above]
    if born < n_levels:
        chosen = _draw_component(rng, z, log_density, state)
        _grow(rng, z, chosen, born, proposal_out, state, setting)
    return born


@jit
def _queue_children(x, z, n, work, state, setting):
    """Append the children of z that hold data to the queue of n nodes, with prior and violation; returns its length."""
    queue, level, reach, worst = work
    first = n
    top, second, best = -np.inf, -np.inf, -1  # largest scores
    c = state.first_child[z]
    while c >= 0:
        if state.below[c] > 0:
            queue[n] = c
            n += 1
            level[c] = level[z] + 1
            reach[c] = reach[z] + np.log(state.below[c] / (state.below[z] + setting.path_concentration))
            worst[c] = -np.inf
            if setting.regularization > 0.0:
                worst[c] = score_of(state.direction[c], x)
                if worst[c] > top:
                    second, top, best = top, worst[c], c
                elif worst[c] > second:
                    second = worst[c]
        c = state.next_sibling[c]
    if setting.regularization > 0.0:
        for i in range(first, n):
            c = queue[i]
            rival = second if c == best else top
            worst[c] = max(worst[z], setting.margin - worst[c] + rival)
    return n


@jit
def _grow(rng, z, chosen, born, proposal_out, state, setting):
    """New nodes from z down to a leaf, linked among themselves but not to z."""
    for l in range(born, proposal_out.shape[0]):
        z = _new_node(rng, z, chosen, state, setting)
        if l > born:
            _link(z, state)
        proposal_out[l] = z


@jit
def _propose_path(rng, proposal_out, state, setting):
    """A path from the prior given those of the others; returns the level from which its nodes are new."""
    n_levels = proposal_out.shape[0]
    z = 0
    for l in range(n_levels):
        left = rng.random() * (state.below[z] + setting.path_concentration)
        c = state.first_child[z]
        while c >= 0:
            left -= state.below[c]
            if left < 0.0 and state.below[c] > 0:
                break
            c = state.next_sibling[c]
        if c < 0:
            _grow(rng, z, -1, l, proposal_out, state, setting)
            return l
        proposal_out[l] = c
        z = c
    return n_levels


@jit
def _switch(n, old, old_from, new, new_from, state):
    """Put the datum on the path `new`: nodes of `old` that were its alone leave the tree, new ones enter."""
    n_levels = new.shape[0]
    if old_from < n_levels:
        _unlink(old[old_from], state)
    if new_from < n_levels:
        _link(new[new_from], state)
    state.path[n] = new


@jit
def _release(path, start, state):
    for l in range(start, path.shape[0]):
        state.free[state.n_free[0]] = path[l]
        state.n_free[0] += 1


@jit
def _cost(n, X, together, state, setting):
    """What the regulariser charges for the tree as it is, in nats: to all data, or to datum n."""
    if setting.regularization == 0.0:
        return 0.0
    if together:
        return 2.0 * setting.regularization * total_hinge(X, state, setting.margin)
    rho = violation(n, X[n], state, setting.margin)
    if setting.procedure == PAPER:
        return (setting.regularization * rho + state.augment[n]) ** 2 / (2.0 * state.augment[n])
    return 2.0 * setting.regularization * max(0.0, rho)


# ---- paths held fixed -----------------------------------------------------------------------------------------------


@jit
def move_components(rng, order, first, X, state, setting):
    """Draw only the components of the data order[first:]; see `move_finite`."""
    log_density = np.empty(state.size.shape[0] + 1)
    for i in range(first, order.shape[0]):
        if state.n_components[0] == state.size.shape[0]:
            return i
        n = order[i]
        _leave_component(n, X[n], state)
        _fill_log_density(X[n], state, log_density)
        _join_component(rng, n, X[n], log_density, state, setting)
    return order.shape[0]
