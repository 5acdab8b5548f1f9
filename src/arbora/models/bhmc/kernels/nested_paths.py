"""Paths of rows in a nested tree, drawn or proposed."""

import numpy as np

from ....inference.kernels.draws import draw_by_logs
from ....jit import jit
from .directions import score_of
from .finite_paths import log_mixture
from .margin import total_hinge, violation
from .mixture_tree import (
    EXACT,
    PAPER,
    Work,
    count_path,
    draw_component,
    fill_log_density,
    join_component,
    leave_component,
    link,
    new_node,
    unlink,
)
from .random_draws import TINY, draw_augment


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
        leave_component(n, x, state)
        fill_log_density(x, state, log_density)
        before[:] = state.path[n]
        count_path(n, -1, state)
        emptied = n_levels  # the first level at which the datum was alone
        while emptied > 0 and state.below[before[emptied - 1]] == 0:
            emptied -= 1
        together = False
        if setting.procedure == EXACT:
            born = _draw_path(rng, (x, log_density), work, proposal, state, setting)
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
        count_path(n, 1, state)
        if setting.procedure == PAPER and setting.regularization > 0.0:
            rho = violation(n, x, state, setting.margin)
            state.augment[n] = draw_augment(rng, abs(setting.regularization * rho))
        join_component(rng, n, x, log_density, state, setting)
    return order.shape[0]


@jit
def _at(path, born):
    """The last node of a path above those from level `born` on."""
    return path[born - 1] if born > 0 else 0


@jit
def _draw_path(rng, datum, work, proposal_out, state, setting):
    """A path in proportion to prior x density x exp(-2C hinge), over the leaves and over new branches of every node.

    The weights of a new branch are integrated out: on average they are those of the node it grows from.  Its hinge
    counts only down to that node, because its directions are not known yet.  Returns the level from which on nodes are
    new; `work.worst` keeps the worst violation of the datum down to each node that others pass.  `datum` is the datum
    and its log density in each component.
    """
    x, log_density = datum
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
    z = queue[draw_by_logs(rng, weight, n)]
    born = level[z]
    above = z
    for l in range(born - 1, -1, -1):
        proposal_out[l] = above
        above = state.parent[above]
    if born < n_levels:
        chosen = draw_component(rng, z, log_density, state)
        _grow(rng, z, chosen, proposal_out[born:], state, setting)
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
def _grow(rng, z, chosen, branch_out, state, setting):
    """New nodes from z down to a leaf, linked among themselves but not to z."""
    for l in range(branch_out.shape[0]):
        z = new_node(rng, z, chosen, state, setting)
        if l > 0:
            link(z, state)
        branch_out[l] = z


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
            _grow(rng, z, -1, proposal_out[l:], state, setting)
            return l
        proposal_out[l] = c
        z = c
    return n_levels


@jit
def _switch(n, old, old_from, new, new_from, state):
    """Put the datum on the path `new`: nodes of `old` that were its alone leave the tree, new ones enter."""
    n_levels = new.shape[0]
    if old_from < n_levels:
        unlink(old[old_from], state)
    if new_from < n_levels:
        link(new[new_from], state)
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
