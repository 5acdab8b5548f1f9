"""Slow, obvious twin of the input-output hidden tree: every choice of states and switches, in exact fractions.

It reads parents, slots, labels and outputs of one tree, and tables as nested lists of fractions without ties:
leaf[l][x][i], switch[x][l], transition[l][x][j][i] (j = n_states: the slot is empty), output[x][i][k].
"""

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import NamedTuple

ONE = Fraction(1)


class Theta(NamedTuple):
    leaf: list
    switch: list
    transition: list
    output: list


class Found(NamedTuple):
    """P(outputs | inputs), and expectations given the outputs, each times that probability."""

    prob: Fraction
    node: dict  # (node, state)
    leaf: dict  # (slot, input, state)
    switch: dict  # (input, slot)
    transition: dict  # (slot, input, child state, state)
    output: dict  # (input, state, output)
    best: tuple  # the likeliest joint choice: probability, outputs


def enumerate_tree(parent, slot, x, y, theta):
    """Sum over all states and switches; y is None where the output is not known."""
    n_nodes, n_states, n_slots = len(parent), len(theta.output[0]), len(theta.switch[0])
    children = [{min(slot[v], n_slots - 1): [] for v in range(n_nodes) if parent[v] == u} for u in range(n_nodes)]
    for v in range(n_nodes):
        if parent[v] >= 0:
            children[parent[v]][min(slot[v], n_slots - 1)].append(v)
    inner = [u for u in range(n_nodes) if children[u]]
    # A switch chooses a slot, and one of the children in it if several are pooled there; None stands for an empty slot.
    choices = [
        [(l, v, len(children[u].get(l, [None]))) for l in range(n_slots) for v in children[u].get(l, [None])]
        for u in inner
    ]
    total, node, leaf, switch, transition, output = Fraction(0), *(defaultdict(Fraction) for _ in range(5))
    best = (Fraction(-1), None)
    for states in itertools.product(range(n_states), repeat=n_nodes):
        for chosen in itertools.product(*choices):
            p, seen = ONE, []
            likeliest, outputs = ONE, []
            for u in range(n_nodes):
                if not children[u]:
                    l = min(slot[u], n_slots - 1) if parent[u] >= 0 else n_slots
                    p *= theta.leaf[l][x[u]][states[u]]
                    seen.append((leaf, (l, x[u], states[u])))
                emitted = theta.output[x[u]][states[u]]
                if y[u] is not None:
                    p *= emitted[y[u]]
                    seen.append((output, (x[u], states[u], y[u])))
                    outputs.append(y[u])
                else:
                    likeliest *= max(emitted)
                    outputs.append(emitted.index(max(emitted)))
                seen.append((node, (u, states[u])))
            for u, (l, v, crowd) in zip(inner, chosen, strict=True):
                j = n_states if v is None else states[v]
                p *= theta.switch[x[u]][l] * theta.transition[l][x[u]][j][states[u]] / crowd
                seen += [(switch, (x[u], l)), (transition, (l, x[u], j, states[u]))]
            total += p
            for table, key in seen:
                table[key] += p
            if p * likeliest > best[0]:
                best = (p * likeliest, tuple(outputs))
    return Found(total, node, leaf, switch, transition, output, best)


def marginals(parent, slot, x, y, theta):
    """P(output k at node u | inputs, known outputs), [node][output]."""
    found = enumerate_tree(parent, slot, x, y, theta)
    rows = []
    for u in range(len(parent)):
        by_state = [found.node[u, i] / found.prob for i in range(len(theta.output[0]))]
        emitted = theta.output[x[u]]
        given = [sum(p * emitted[i][k] for i, p in enumerate(by_state)) for k in range(len(emitted[0]))]
        rows.append([float(p) if y[u] is None else float(k == y[u]) for k, p in enumerate(given)])
    return rows
