"""Oracles of learnt numbers of states: the closed form of the prior, enumeration of small trees, simulated trees.

With the rows integrated out, a row of n customers costs 1 / rise(alpha, n), and a cell rise(alpha beta_k, n_k), a
polynomial in beta_k.  So the weights beta integrate in closed form, power by power.
"""

import itertools
from collections import Counter, defaultdict

import numpy as np
from scipy.special import gammaln

import arbora as ab
from arbora.models.hidden_tree.switching_params import Priors as UpPriors
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.hidden_tree.top_down_params import Priors as DownPriors
from arbora.models.hidden_tree.top_down_tree import of_labels


def rise(a, n):
    """a (a + 1) ... (a + n - 1)."""
    return float(np.prod(a + np.arange(n)))


def powers(a, n):
    """Coefficients of rise(a x, n) in x, the constant first."""
    out = np.ones(1)
    for y in range(int(n)):
        out = np.convolve(out, [y, a])
    return out


def log_urn(counts, alpha):
    """Log probability of counts [row, cell] of Dirichlet(alpha) rows, in a fixed order."""
    n, total = counts.shape[-1], counts.sum(axis=-1)
    cells = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)
    return float(np.sum(cells + gammaln(n * alpha) - gammaln(n * alpha + total)))


def weight_of_rows(first, transition, alphas, gamma):
    """P(counts of all rows over states), rows and weights of states integrated out; weak limit."""
    n_states = first.shape[1]
    polynomial, cost = [np.ones(1) for _ in range(n_states)], 1.0
    for rows, alpha in zip((first, transition), alphas, strict=True):
        for row in rows[rows.sum(axis=1) > 0]:
            cost /= rise(alpha, int(row.sum()))
            for k in range(n_states):
                polynomial[k] = np.convolve(polynomial[k], powers(alpha, row[k]))
    by_tables = np.ones(1)
    for one in polynomial:
        by_tables = np.convolve(by_tables, one * [rise(gamma / n_states, m) for m in range(len(one))])
    return cost * sum(x / rise(gamma, m) for m, x in enumerate(by_tables))


def key_of(first, transition, emission):
    """What does not depend on the numbers of states: sizes, and squares of the counts of each kind."""
    nodes = first.sum(axis=0) + transition.sum(axis=0)
    squares = [int((x**2).sum()) for x in (first, transition, emission)]
    return (*sorted(nodes.astype(int).tolist()), *squares)


def exact_keys(direction, trees, n_slots, n_labels, n_states, alphas, gamma, eta, of_content=None):
    """Posterior of `key_of` given the labels of the trees, and P(labels); every state and switch is enumerated.

    `of_content` gives the log marginal of what else nodes hold, from the states of all nodes.
    """
    nodes = [(t, u) for t, tree in enumerate(trees) for u in range(len(tree))]
    inner = [x for x in nodes if any(p == x[1] for p, _, _ in trees[x[0]])]
    switches = list(itertools.product(range(n_slots), repeat=len(inner) if direction == "up" else 0))
    weight = defaultdict(float)
    for states in itertools.product(range(n_states), repeat=len(nodes)):
        of = dict(zip(nodes, states, strict=True))
        held = 1.0 if of_content is None else float(np.exp(of_content(states)))
        for choice in switches:
            chosen = dict(zip(inner, choice, strict=True)) if direction == "up" else {}
            first = np.zeros((n_slots + 1 if direction == "up" else 1, n_states))
            transition = np.zeros((n_slots, n_states + (direction == "up"), n_states))
            emission, switch = np.zeros((n_states, n_labels)), np.zeros((1, n_slots))
            for (t, u), i in of.items():
                parent, slot, label = trees[t][u]
                emission[i, label] += 1
                if direction == "down":
                    if parent < 0:
                        first[0, i] += 1
                    else:
                        transition[slot, of[t, parent], i] += 1
                elif (t, u) in chosen:
                    l = chosen[t, u]
                    there = [v for v, (p, s, _) in enumerate(trees[t]) if p == u and s == l]
                    transition[l, of[t, there[0]] if there else n_states, i] += 1
                    switch[0, l] += 1
                else:
                    first[slot if slot >= 0 else n_slots, i] += 1
            flat = transition.reshape(-1, n_states)
            p = held * np.exp(log_urn(emission, eta) + (log_urn(switch, eta) if direction == "up" else 0.0))
            weight[key_of(first, flat, emission)] += p * weight_of_rows(first, flat, alphas, gamma)
    total = sum(weight.values())
    return {key: x / total for key, x in weight.items()}, total


def distance(exact, seen: Counter):
    """Total variation between an exact distribution and the keys that a chain has visited."""
    n = sum(seen.values())
    return 0.5 * sum(abs(exact.get(key, 0.0) - seen[key] / n) for key in {*exact, *seen})


def skeletons(rng, n_trees, n_slots=3):
    """Shapes of 10 to 29 nodes."""
    parent, slot, tree = [], [], []
    for t in range(n_trees):
        free, base = [], len(parent)
        for u in range(int(rng.integers(10, 30))):
            p, s = free.pop(int(rng.integers(len(free)))) if u else (-1, -1)
            parent.append(p)
            slot.append(s)
            tree.append(t)
            free += [(base + u, s) for s in range(n_slots)]
    words = [str(m) for m in range(8)]
    return ab.Forest.from_parents(parent, np.zeros(len(parent), np.int32), slot=slot, tree=tree, vocabulary=words)


def simulate(direction, n_states, seed, n_trees=200):
    """A model with this many states drawn at random, and its trees: 3 slots, 8 labels."""
    rng = np.random.default_rng(seed)
    shapes = skeletons(rng, n_trees)
    if direction == "down":
        drawn = of_labels(3, 8, n_states).draw(rng, 1, DownPriors(1.0, 0.3, 0.5, 1.0))
        arrays = {"root_prob": drawn.root[:, 0]}
    else:
        drawn = SwitchingTree.of_labels(3, 8, n_states).draw(rng, 1, UpPriors(1.0, 0.3, 2.0, 0.5, 1.0))
        arrays = {"leaf_prob": drawn.leaf[..., 0], "switch_prob": drawn.switch[:, 0]}
    arrays |= {"transition_prob": drawn.transition[..., 0], "emission_prob": drawn.emission[..., 0].T}
    true = ab.HiddenTree.from_parameters(**arrays)
    return true, true.sample(skeleton=shapes, random_state=seed)
