"""Hidden trees with content the slow way: node by node in logarithms, densities by scipy; and sums over all states."""

from itertools import product

import numpy as np
from scipy import stats


def node_log_density(emission, params, forest, u, i, k):
    """Log density of what node u holds, given state i of component k."""
    total = 0.0
    for x, (column, family) in enumerate(emission.families):
        given = params[f"c{x}"]
        if column == "label":
            value = int(forest.label[u])
            total += np.log(given[value, i, k]) if value >= 0 else 0.0
            continue
        held = forest.content[column]
        (value,) = held.nested(u, u + 1)
        if value is None:
            continue
        if family.name == "gaussian":
            total += stats.norm.logpdf(value, given.mean[i, k], np.sqrt(given.variance[i, k]))
        elif family.name == "poisson":
            total += stats.poisson.logpmf(value, given[i, k])
        elif family.name == "flag":
            total += np.log(given[i, k] if value else 1.0 - given[i, k])
        elif family.name == "categorical":
            total += np.log(given[family.words.index(str(value)), i, k])
        else:
            total += sum(times * np.log(given[family.words.index(word), i, k]) for word, times in value.items())
    return total


def children_by_slot(forest, u):
    """Children of a node by their slots."""
    return {int(forest.slot[v]): int(v) for v in np.flatnonzero(forest.parent == u)}


def state_log_prob(model, params, forest, u, i, below, k):
    """Log P(state i of node u | states of its children), reading "bottom"."""
    children = children_by_slot(forest, u)
    if not children:
        slot = int(forest.slot[u])
        return np.log(params.leaf[slot if slot >= 0 else model.n_slots, i, k])
    states = [below[children[l]] if l in children else model.n_states for l in range(model.n_slots)]
    return np.log(sum(params.switch[l, k] * params.transition[l, j, i, k] for l, j in enumerate(states)))


def enumerated(model, params, forest, k):
    """Log P(contents) of each tree: the sum over all states, reading "bottom"."""
    out = []
    for t in range(forest.n_trees):
        tree = forest[[t]]
        n = tree.n_nodes
        emit = [
            [node_log_density(model.emission, params.emission, tree, u, i, k) for i in range(model.n_states)]
            for u in range(n)
        ]
        logs = []
        for states in product(range(model.n_states), repeat=n):
            moves = [state_log_prob(model, params, tree, u, states[u], states, k) for u in range(n)]
            logs.append(sum(moves) + sum(emit[u][states[u]] for u in range(n)))
        out.append(np.logaddexp.reduce(logs))
    return np.array(out)


def recursion_down(model, params, forest, k):
    """Log P(contents) of each tree by messages in logarithms, states from the root down, without structure."""
    out = []
    for t in range(forest.n_trees):
        tree = forest[[t]]
        message = np.empty((tree.n_nodes, model.n_states))  # log P(contents of the subtree | state)
        for u in range(tree.n_nodes):
            for i in range(model.n_states):
                message[u, i] = node_log_density(model.emission, params.emission, tree, u, i, k)
                for l, v in children_by_slot(tree, u).items():
                    message[u, i] += np.logaddexp.reduce(np.log(params.transition[l, i, :, k]) + message[v])
        out.append(np.logaddexp.reduce(np.log(params.root[:, k]) + message[-1]))
    return np.array(out)


def recursion(model, params, forest, k):
    """Log P(contents) of each tree by messages in logarithms, reading "bottom"."""
    out = []
    for t in range(forest.n_trees):
        tree = forest[[t]]
        message = np.zeros((tree.n_nodes, model.n_states))  # log P(contents of the subtree, state)
        total = np.zeros(tree.n_nodes)
        for u in range(tree.n_nodes):
            children = children_by_slot(tree, u)
            base = sum(total[v] for v in children.values())
            for i in range(model.n_states):
                terms = []
                for l in range(model.n_slots):
                    log_switch = np.log(params.switch[l, k])
                    if l in children:
                        v = children[l]
                        belief = message[v] - total[v]
                        terms += [
                            log_switch + np.log(params.transition[l, j, i, k]) + belief[j]
                            for j in range(model.n_states)
                        ]
                    else:
                        terms.append(log_switch + np.log(params.transition[l, model.n_states, i, k]))
                if not children:
                    slot = int(tree.slot[u])
                    terms = [np.log(params.leaf[slot if slot >= 0 else model.n_slots, i, k])]
                emit = node_log_density(model.emission, params.emission, tree, u, i, k)
                message[u, i] = base + np.logaddexp.reduce(terms) + emit
            total[u] = np.logaddexp.reduce(message[u])
        out.append(total[-1])
    return np.array(out)
