"""Slice sampler of learnt states: no bound on their number, one node at a time; and its oracle by partitions.

Every node has a cut below the entry of the row that gave its state (Van Gael, Saatci, Teh and Ghahramani 2008).  Given
the cuts, entries above them count as one and the others as zero, so finitely many states are candidates.
Concentrations are fixed.  A tree is a list of nodes (parent, slot, label), children first.
"""

import itertools
from collections import Counter, defaultdict
from math import factorial

import numpy as np

from tests.reference.infinite_states import log_urn, powers, rise

BUGS = ("too few candidates", "cuts not uniform")


def counts_of(direction, trees, states, switches, n_states, n_slots, n_labels):
    """Counts of rows of first states and of transitions, of labels and of switches."""
    first = np.zeros((n_slots + 1 if direction == "up" else 1, n_states))
    transition = np.zeros((n_slots, n_states + (direction == "up"), n_states))
    emission, switch = np.zeros((n_states, n_labels)), np.zeros((1, n_slots))
    for t, tree in enumerate(trees):
        for u, (parent, slot, label) in enumerate(tree):
            i = states[t][u]
            emission[i, label] += 1
            if direction == "down":
                if parent < 0:
                    first[0, i] += 1
                else:
                    transition[slot, states[t][parent], i] += 1
                continue
            children = {s: v for v, (p, s, _) in enumerate(tree) if p == u}
            if children:
                l = switches[t][u]
                transition[l, states[t][children[l]] if l in children else n_states, i] += 1
                switch[0, l] += 1
            else:
                first[slot if slot >= 0 else n_slots, i] += 1
    return first, transition, emission, switch


def key_of(first, transition, emission):
    """What does not depend on the names of states: numbers of nodes, and squares of the counts of each kind."""
    nodes = emission.sum(axis=1)
    squares = [int((x**2).sum()) for x in (first, transition, emission)]
    return (*sorted(nodes[nodes > 0].astype(int).tolist()), *squares)


def by_tables(first, transition, alpha, gamma, bound):
    """P(rows), these and the weights of states integrated out; of at most `bound` states, or of any number."""
    n_used, cost, per_state = first.shape[-1], 1.0, []
    for row in itertools.chain(first, transition.reshape(-1, n_used)):
        cost /= rise(alpha, int(row.sum()))
    for k in range(n_used):
        polynomial = np.ones(1)
        for row in itertools.chain(first, transition.reshape(-1, n_used)):
            polynomial = np.convolve(polynomial, powers(alpha, row[k]))
        if bound is None:
            weight = [0.0, *(gamma * factorial(m - 1) for m in range(1, len(polynomial)))]
        else:
            weight = [0.0, *(rise(gamma / bound, m) for m in range(1, len(polynomial)))]
        per_state.append(polynomial * weight)
    total = np.ones(1)
    for one in per_state:
        total = np.convolve(total, one)
    names = 1.0 if bound is None else float(np.prod(bound - np.arange(n_used)))
    return cost * names * sum(x / rise(gamma, m) for m, x in enumerate(total))


def partitions(n):
    """All partitions of n nodes, as restricted growth strings."""
    out = [[0]]
    for _ in range(n - 1):
        out = [[*x, k] for x in out for k in range(max(x) + 2)]
    return out


def exact_keys(direction, trees, n_slots, n_labels, bound=None, alpha=1.0, gamma=1.0, eta=1.0):
    """Posterior of `key_of` given labels, and P(labels): a sum over partitions of nodes by state, and switches."""
    ends = np.cumsum([0, *map(len, trees)])
    inner = [(t, u) for t, tree in enumerate(trees) for u in range(len(tree)) if any(p == u for p, _, _ in tree)]
    choices = list(itertools.product(range(n_slots), repeat=len(inner) if direction == "up" else 0))
    weight = defaultdict(float)
    for flat in partitions(int(ends[-1])):
        n_used = max(flat) + 1
        if bound is not None and n_used > bound:
            continue
        states = [flat[a:b] for a, b in itertools.pairwise(ends)]
        for choice in choices:
            switches = [{} for _ in trees]
            for (t, u), l in zip(inner if choice else [], choice, strict=True):
                switches[t][u] = l
            first, transition, emission, switch = counts_of(
                direction, trees, states, switches, n_used, n_slots, n_labels
            )
            p = np.exp(log_urn(emission, eta) + (log_urn(switch, eta) if direction == "up" else 0.0))
            weight[key_of(first, transition, emission)] += p * by_tables(first, transition, alpha, gamma, bound)
    total = sum(weight.values())
    return {key: x / total for key, x in weight.items()}, total


class Slices:
    """The sampler: states, switches, rows with a rest behind the last state, and weights of states."""

    def __init__(self, direction, trees, n_slots, n_labels, rng, alpha=1.0, gamma=1.0, eta=1.0, bug=None):
        self.up, self.trees, self.rng, self.bug = direction == "up", trees, rng, bug
        self.direction, self.sizes = direction, (n_slots, n_labels)
        self.alpha, self.gamma, self.eta = alpha, gamma, eta
        self.states = [[0] * len(tree) for tree in trees]
        self.switches = [[0] * len(tree) for tree in trees]
        self.children = [[{s: v for v, (p, s, _) in enumerate(t) if p == u} for u in range(len(t))] for t in trees]
        self.weight = np.array([0.5, 0.5])  # one state and the rest
        self.draw_rows()

    def row_of(self, t, u):
        """The row that gave, or gives, the state of a node: of first states, or (slot, given state)."""
        parent, slot, _ = self.trees[t][u]
        if not self.up:
            return self.first[0] if parent < 0 else self.transition[slot, self.states[t][parent]]
        if not self.children[t][u]:
            return self.first[slot if slot >= 0 else self.sizes[0]]
        l = self.switches[t][u]
        child = self.children[t][u].get(l)
        return self.transition[l, -1 if child is None else self.states[t][child]]

    def draw_rows(self):
        """Weights of the states in use, rows, labels and switches given hard counts; unused states go."""
        used = sorted({i for one in self.states for i in one})
        at = {old: new for new, old in enumerate(used)}
        self.states = [[at[i] for i in one] for one in self.states]
        self.weight = np.append(self.weight[used], 1.0 - self.weight[used].sum())
        n, rng = len(used), self.rng
        counts = counts_of(self.direction, self.trees, self.states, self.switches, n, *self.sizes)
        first, transition, self.label_counts, switch = counts
        self.key = key_of(first, transition, self.label_counts)
        tables = np.zeros(n)
        for row in itertools.chain(first, transition.reshape(-1, n)):
            for k in range(n):
                c = self.alpha * self.weight[k]
                tables[k] += sum(rng.random() * (c + x) < c for x in range(int(row[k])))
        self.weight = rng.dirichlet(np.append(tables, self.gamma))
        base = np.maximum(self.alpha * self.weight, 1e-12)
        draw = lambda x: np.array([rng.dirichlet(base + np.append(row, 0.0)) for row in x])  # noqa: E731
        self.first = draw(first)
        self.transition = draw(transition.reshape(-1, n)).reshape(*transition.shape[:2], n + 1)
        self.emission = np.array([rng.dirichlet(self.eta + row) for row in self.label_counts])
        self.switch = rng.dirichlet(self.eta + switch[0])

    def add_state(self):
        """Break one more stick: of the weights, and of every row."""
        rng, n_slots = self.rng, self.sizes[0]
        part = rng.beta(1.0, self.gamma)
        rest = self.weight[-1]
        self.weight = np.concatenate([self.weight[:-1], [rest * part, rest * (1.0 - part)]])
        new, left = np.maximum(self.alpha * self.weight[-2:], 1e-12)

        def broken(rows):
            share = rng.beta(new, left, (*rows.shape[:-1], 1))
            behind = rows[..., -1:]
            return np.concatenate([rows[..., :-1], behind * share, behind * (1.0 - share)], axis=-1)

        self.first, transition = broken(self.first), broken(self.transition)
        fresh = rng.dirichlet(np.maximum(self.alpha * self.weight, 1e-12), n_slots)[:, None]
        last = transition.shape[1] - self.up  # rows of an absent child stay behind those of all states
        self.transition = np.concatenate([transition[:, :last], fresh, transition[:, last:]], axis=1)
        self.emission = np.vstack([self.emission, rng.dirichlet(np.full(self.sizes[1], self.eta))])

    def sweep(self):
        """Cuts, candidates, states and switches, then all the rest."""
        cuts = []
        for t, tree in enumerate(self.trees):
            u = self.rng.random(len(tree))
            if self.bug == "cuts not uniform":
                u = u**4
            cuts.append([x * self.row_of(t, v)[self.states[t][v]] for v, x in enumerate(u)])
        least = min(map(min, cuts))
        while self.bug != "too few candidates" and max(self.first[:, -1].max(), self.transition[..., -1].max()) > least:
            self.add_state()
        for t in range(len(self.trees)):
            (self.draw_up if self.up else self.draw_down)(t, cuts[t])
        self.draw_rows()
        return self.key

    def draw(self, weight):
        edge = np.cumsum(weight)
        return int(np.searchsorted(edge, self.rng.random() * edge[-1], side="right"))

    def draw_up(self, t, cut):
        """Messages from the leaves up, each of sum one; then states and switches from the root down."""
        tree, children, n = self.trees[t], self.children[t], len(self.weight) - 1
        n_slots, message = self.sizes[0], []
        step = self.transition[..., :n]
        for u, (_, slot, label) in enumerate(tree):
            if children[u]:
                p = np.zeros(n)
                for l in range(n_slots):
                    open_ = step[l] > cut[u]
                    v = children[u].get(l)
                    p += self.switch[l] * (open_[-1] if v is None else message[v] @ open_[:n])
            else:
                p = (self.first[slot if slot >= 0 else n_slots, :n] > cut[u]) * 1.0
            p = p * self.emission[:, label]
            message.append(p / p.sum())
        given = {len(tree) - 1: self.draw(message[-1])}
        for u in range(len(tree) - 1, -1, -1):
            i = self.states[t][u] = given.get(u) if u in given else self.draw(message[u])
            if children[u]:
                pairs = [(l, v) for l in range(n_slots) for v in [children[u].get(l)]]
                weights = []
                for l, v in pairs:
                    open_ = step[l, :, i] > cut[u]
                    one = open_[-1:] * 1.0 if v is None else message[v] * open_[:n]
                    weights.append(self.switch[l] * one)
                l = self.draw([w.sum() for w in weights])
                self.switches[t][u] = l
                if children[u].get(l) is not None:
                    given[children[u][l]] = self.draw(weights[l])

    def draw_down(self, t, cut):
        """Messages from the leaves up, which multiply; then states from the root down."""
        tree, children, n = self.trees[t], self.children[t], len(self.weight) - 1
        message, step = [], self.transition[..., :n]
        for u, (_, _, label) in enumerate(tree):
            p = self.emission[:, label].copy()
            for l, v in children[u].items():
                p = p * ((step[l] > cut[v]) @ message[v])
            message.append(p / p.sum())
        for u in range(len(tree) - 1, -1, -1):
            parent, slot, _ = tree[u]
            row = self.first[0, :n] if parent < 0 else step[slot, self.states[t][parent]]
            self.states[t][u] = self.draw(message[u] * (row > cut[u]))


def visited(direction, trees, n_slots, n_labels, n_sweeps, seed=0, bug=None):
    """Keys that the sampler visits."""
    chain = Slices(direction, trees, n_slots, n_labels, np.random.default_rng(seed), bug=bug)
    return Counter(chain.sweep() for _ in range(n_sweeps))
