"""Slow twin of the hierarchical mixture: nodes as objects, every formula written out, the same random numbers.

Also the exact posterior of tiny data, by enumeration of trees and of the multi-level Chinese restaurant franchise.
"""

import itertools
from collections import Counter
from math import exp, lgamma, log, pi, sqrt

import numpy as np


class Node:
    def __init__(self, parent, n_features):
        self.parent, self.children = parent, []
        self.weight, self.rest, self.below = [], 1.0, 0
        self.direction = np.zeros(n_features)

    def path(self):
        """Nodes from the first level to this one."""
        return [*self.parent.path(), self] if self.parent is not None else []

    def siblings(self):
        return [s for s in self.parent.children if s is not self]

    def breadth_first(self):
        queue = [self]
        for node in queue:
            queue.extend(node.children)
        return queue


class Twin:
    """One state of the chain; `leaf[n]` and `component[n]` are those of datum n."""

    def __init__(self, X, root, leaf, component, variance, setting, augment=None):
        self.X, self.root, self.leaf, self.component = X, root, list(leaf), list(component)
        self.within, self.between = variance
        self.setting, self.augment = setting, None if augment is None else list(augment)

    @classmethod
    def of(cls, X, state, setting):
        """The twin of a kernel's state."""
        nodes = {0: Node(None, state.direction.shape[1])}
        queue = [0]
        for z in queue:
            c = int(state.first_child[z])
            while c >= 0:
                nodes[c] = Node(nodes[z], state.direction.shape[1])
                nodes[z].children.append(nodes[c])
                queue.append(c)
                c = int(state.next_sibling[c])
        n_components = int(state.n_components[0])
        for z, node in nodes.items():
            node.weight = [float(w) for w in state.weight[z, :n_components]]
            node.rest, node.below = float(state.rest[z]), int(state.below[z])
            node.direction = state.direction[z].copy()
        leaf = [nodes[int(z)] for z in state.path[:, -1]]
        return cls(X, nodes[0], leaf, state.component.tolist(), state.variance.tolist(), setting, state.augment)

    # ---- components

    def members(self, k):
        return [n for n, c in enumerate(self.component) if c == k]

    def n_components(self):
        return len(self.root.weight)

    def log_density(self, x, k):
        """log f(x | data of component k), the mean integrated out."""
        rows = self.X[self.members(k)] if k < self.n_components() else self.X[:0]
        precision = 1.0 / self.between + len(rows) / self.within
        mean = rows.sum(axis=0) / self.within / precision
        var = self.within + 1.0 / precision
        return -0.5 * (len(x) * log(2 * pi * var) + ((x - mean) ** 2).sum() / var)

    def log_mixture(self, leaf, log_density):
        terms = [log(w) + f for w, f in zip([*leaf.weight, leaf.rest], log_density, strict=True)]
        top = max(terms)
        return top + log(sum(exp(t - top) for t in terms))

    def leave_component(self, n):
        k = self.component[n]
        self.component[n] = -1
        if self.members(k):
            return
        last = self.n_components() - 1
        for node in self.root.breadth_first():
            node.rest += node.weight[k]
            node.weight[k] = node.weight[last]
            node.weight.pop()
        self.component = [k if c == last else c for c in self.component]

    def join_component(self, rng, n, log_density):
        leaf = self.leaf[n]
        k = pick(rng, [log(w) + f for w, f in zip([*leaf.weight, leaf.rest], log_density, strict=True)])
        if k == self.n_components():
            self.split_rest(rng, n)
        self.component[n] = k

    def split_rest(self, rng, n):
        s = self.setting
        for node in self.root.breadth_first():
            if node.parent is None:
                a, b = 1.0, s.root_concentration
            else:
                a = s.weight_concentration * node.parent.weight[-1] + (node in self.leaf[n].path())
                b = s.weight_concentration * node.parent.rest
            apart = log_gamma(rng, b) - log_gamma(rng, a)
            share = 1.0 / (1.0 + exp(min(apart, 700.0)))
            node.weight.append(max(node.rest * share, 1e-300))
            node.rest = max(node.rest / (1.0 + exp(min(-apart, 700.0))), 1e-300)

    # ---- paths

    def seen(self, x):
        """A datum as directions see it: with a one at its end if they have an intercept."""
        return np.append(x, 1.0) if len(self.root.direction) > len(x) else x

    def violation(self, x, leaf):
        """rho: the worst violation on a path; 0 without siblings."""
        x = self.seen(x)
        found = [
            self.setting.margin - (node.direction - s.direction) @ x for node in leaf.path() for s in node.siblings()
        ]
        return max(found, default=0.0)

    def total_hinge(self):
        return sum(max(0.0, self.violation(x, leaf)) for x, leaf in zip(self.X, self.leaf, strict=True))

    def count(self, n, by):
        self.root.below += by
        for node in self.leaf[n].path():
            node.below += by

    def move_finite(self, rng, order):
        s = self.setting
        for n in order:
            x = self.X[n]
            self.leave_component(n)
            self.count(n, -1)
            density = [self.log_density(x, k) for k in range(self.n_components() + 1)]
            leaves = [node for node in self.root.breadth_first() if not node.children]
            weight = []
            for leaf in leaves:
                prior = sum(
                    log((node.below + s.path_concentration / s.branching) / (node.parent.below + s.path_concentration))
                    for node in leaf.path()
                )
                hinge = max(0.0, self.violation(x, leaf)) if s.regularization > 0 else 0.0
                weight.append(prior + self.log_mixture(leaf, density) - 2 * s.regularization * hinge)
            self.leaf[n] = leaves[pick(rng, weight)]
            self.count(n, 1)
            self.join_component(rng, n, density)

    def move_nested(self, rng, order):
        s = self.setting
        depth = len(self.leaf[0].path())
        for n in order:
            x = self.X[n]
            self.leave_component(n)
            density = [self.log_density(x, k) for k in range(self.n_components() + 1)]
            before = self.leaf[n]
            self.count(n, -1)
            emptied = [node for node in before.path() if node.below == 0][:1]
            if s.procedure == 0:
                guess = self.guesses(x, density, depth)
                proposal, born = self.draw_path(rng, guess, density, depth)
                changed = bool(emptied or born)
                # what was proposed by, over what it should have been proposed by
                stem = [(b[0].parent if b else leaf) for b, leaf in ((emptied, before), (born, proposal))]
                gain = self.own_cost(x, stem[1]) - self.own_cost(x, stem[0])
            else:
                proposal, born = self.propose(rng, depth)
                changed = False
                gain = self.log_mixture(proposal, density) - self.log_mixture(before, density)
            cost = self.cost(n, changed)
            self.switch(n, emptied, born, proposal)
            gain -= self.cost(n, changed) - cost
            if (s.procedure or changed) and log(rng.random()) >= gain:
                self.switch(n, born, emptied, before)
            self.count(n, 1)
            if s.procedure == 2 and s.regularization > 0:
                self.augment[n] = draw_augment(rng, abs(s.regularization * self.violation(x, self.leaf[n])))
            self.join_component(rng, n, density)

    def own_cost(self, x, node):
        """What a datum would pay on the way to a node, among nodes that hold other data."""
        x = self.seen(x)
        found = [
            self.setting.margin - (step.direction - sibling.direction) @ x
            for step in node.path()
            for sibling in step.siblings()
            if sibling.below
        ]
        return 2 * self.setting.regularization * max(0.0, max(found, default=0.0))

    def guesses(self, x, density, depth):
        """(node, log weight): a leaf stands for itself, an inner node for a new branch that grows from it."""
        alpha, found = self.setting.path_concentration, []
        for node in self.root.breadth_first():
            if node.below == 0 and node.parent is not None:
                continue
            prior = sum(log(step.below / (step.parent.below + alpha)) for step in node.path())
            if len(node.path()) < depth:
                prior += log(alpha / (node.below + alpha))
            found.append((node, prior + self.log_mixture(node, density) - self.own_cost(x, node)))
        return found

    def draw_path(self, rng, guess, density, depth):
        node = guess[pick(rng, [w for _, w in guess])][0]
        born = []
        if len(node.path()) < depth:
            chosen = pick(rng, [log(w) + f for w, f in zip([*node.weight, node.rest], density, strict=True)])
            while len(node.path()) < depth:
                node = self.new_node(rng, node, chosen)
                if born:
                    node.parent.children.insert(0, node)
                born = born or [node]
        return node, born

    def propose(self, rng, depth):
        s, node, born = self.setting, self.root, []
        for _ in range(depth):
            left = rng.random() * (node.below + s.path_concentration)
            for child in node.children:
                left -= child.below
                if left < 0 and child.below:
                    node = child
                    break
            else:
                while len(node.path()) < depth:
                    node = self.new_node(rng, node)
                    if born:
                        node.parent.children.insert(0, node)
                    born = born or [node]
                break
        return node, born

    def new_node(self, rng, parent, chosen=-1):
        s, node = self.setting, Node(parent, len(parent.direction))
        shape = [s.weight_concentration * w for w in [*parent.weight, parent.rest]]
        share = dirichlet(rng, [a + (k == chosen) for k, a in enumerate(shape)])
        node.weight, node.rest = share[:-1], share[-1]
        node.direction = s.direction_scale * np.array([rng.standard_normal() for _ in node.direction])
        return node

    def switch(self, n, leaving, entering, leaf):
        for node in leaving:
            node.parent.children.remove(node)
        for node in entering:
            node.parent.children.insert(0, node)
        self.leaf[n] = leaf

    def cost(self, n, changed):
        s = self.setting
        if s.regularization == 0:
            return 0.0
        if changed:
            return 2 * s.regularization * self.total_hinge()
        rho = self.violation(self.X[n], self.leaf[n])
        if s.procedure == 2:
            return (s.regularization * rho + self.augment[n]) ** 2 / (2 * self.augment[n])
        return 2 * s.regularization * max(0.0, rho)

    # ---- weights

    def draw_weights(self, rng):
        s, k_range = self.setting, range(self.n_components())
        queue = self.root.breadth_first()
        count = {node: Counter() for node in queue}
        for leaf, k in zip(self.leaf, self.component, strict=True):
            count[leaf][k] += 1
        for node in queue[:0:-1]:
            for k in k_range:
                a = s.weight_concentration * node.parent.weight[k]
                count[node.parent][k] += sum(rng.random() * (a + i) <= a for i in range(count[node][k]))
        for node in queue:
            if node.parent is None:
                shape = [*(float(count[node][k]) for k in k_range), s.root_concentration]
            else:
                shape = [count[node][k] + s.weight_concentration * node.parent.weight[k] for k in k_range]
                shape.append(s.weight_concentration * node.parent.rest)
            share = dirichlet(rng, shape)
            node.weight, node.rest = share[:-1], share[-1]

    # ---- directions

    def slice_directions(self, rng):
        """Elliptical slices whose likelihood is the hinge of all data, from scratch."""
        s = self.setting
        for parent in self.root.breadth_first():
            free = len(parent.children) == 1 or parent.below == 0
            for node in parent.children:
                end = s.direction_scale * np.array([rng.standard_normal() for _ in node.direction])
                if free:
                    node.direction = end
                    continue
                start = node.direction
                height = -2 * s.regularization * self.total_hinge() + log(rng.random())
                angle = 2 * pi * rng.random()
                low, high = angle - 2 * pi, angle
                while True:
                    node.direction = np.cos(angle) * start + np.sin(angle) * end
                    if -2 * s.regularization * self.total_hinge() > height:
                        break
                    low, high = (angle, high) if angle < 0 else (low, angle)
                    angle = low + (high - low) * rng.random()
        return self.total_hinge()

    def frozen_directions(self, rng):
        """Equations (19) and (20), signs mended, with s_n of Eq. (12) held."""
        s, c = self.setting, self.setting.regularization
        worst = []
        rows = [self.seen(x) for x in self.X]
        for x, leaf in zip(rows, self.leaf, strict=True):
            pairs = [(node, rival) for node in leaf.path() for rival in node.siblings()]
            worst.append(max(pairs, key=lambda p: s.margin - (p[0].direction - p[1].direction) @ x, default=None))
        for z in self.root.breadth_first()[1:]:
            precision, shift = np.eye(len(z.direction)) / s.direction_scale**2, np.zeros(len(z.direction))
            for x, pair, aug in zip(rows, worst, self.augment, strict=True):
                if pair is None or z not in pair:
                    continue
                precision += c**2 * np.outer(x, x) / aug
                if pair[0] is z:
                    shift += (c * aug + c**2 * s.margin + c**2 * pair[1].direction @ x) * x / aug
                else:
                    shift -= (c * aug + c**2 * s.margin - c**2 * pair[0].direction @ x) * x / aug
            noise = np.array([rng.standard_normal() for _ in shift])
            root = np.linalg.cholesky(precision)
            z.direction = np.linalg.solve(precision, shift) + np.linalg.solve(root.T, noise)
        return self.total_hinge()

    # ---- likelihoods

    def log_tree_prior(self):
        s, total = self.setting, 0.0
        for node in self.root.breadth_first():
            if node.children and node.below:
                total += lgamma(s.path_concentration) - lgamma(s.path_concentration + node.below)
            if node.parent is not None and node.below:
                share = s.path_concentration / max(s.branching, 1)
                total += (
                    log(s.path_concentration) + lgamma(node.below)
                    if s.branching == 0
                    else lgamma(node.below + share) - lgamma(share)
                )
        return total

    def log_likelihood(self, mean):
        total = 0.0
        for x, leaf, k in zip(self.X, self.leaf, self.component, strict=True):
            total += log(leaf.weight[k]) - 0.5 * len(x) * log(2 * pi * self.within)
            total -= 0.5 * ((x - mean[k]) ** 2).sum() / self.within
        return total

    def draw_means(self, rng):
        mean = np.zeros((self.n_components(), self.X.shape[1]))
        for k in range(len(mean)):
            rows = self.X[self.members(k)]
            precision = 1.0 / self.between + len(rows) / self.within
            for d in range(mean.shape[1]):
                mean[k, d] = rows[:, d].sum() / self.within / precision + rng.standard_normal() / sqrt(precision)
        return mean

    def sweep(self, rng):
        """A whole sweep, in the order of the sampler; returns the regularised complete-data log-likelihood."""
        order = rng.permutation(len(self.X))
        (self.move_finite if self.setting.branching else self.move_nested)(rng, order)
        self.draw_weights(rng)
        cdll = self.log_tree_prior() + self.log_likelihood(self.draw_means(rng))
        if self.setting.regularization == 0:
            return cdll
        hinge = (self.frozen_directions if self.setting.procedure == 2 else self.slice_directions)(rng)
        return cdll - 2 * self.setting.regularization * hinge


def log_gamma(rng, shape):
    if shape >= 1:
        return log(rng.standard_gamma(shape))
    return log(rng.standard_gamma(shape + 1)) + log(rng.random()) / max(shape, 1e-300)


def dirichlet(rng, shape):
    share = [log_gamma(rng, a) for a in shape]
    top = max(share)
    share = [exp(x - top) for x in share]
    return [max(x / sum(share), 1e-300) for x in share]


def pick(rng, log_weight):
    weight = np.exp(np.array(log_weight) - max(log_weight))
    left = rng.random() * weight.sum()
    for x, w in enumerate(weight):
        left -= w
        if left < 0:
            return x
    return int(weight.argmax())


def draw_augment(rng, b):
    y = rng.standard_normal() ** 2
    drawn = b + y / 2 + sqrt(b * y + y * y / 4)
    return max(drawn if rng.random() * (drawn + b) < drawn else b * b / drawn, 1e-10)


# ---- exact posteriors of tiny data ----------------------------------------------------------------------------------


def partitions(items):
    """All set partitions of a sequence, as tuples of tuples."""
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for part in partitions(rest):
        yield ((first,), *part)
        for i, block in enumerate(part):
            yield (*part[:i], (first, *block), *part[i + 1 :])


def seating(customers, concentration):
    """Partitions of customers, each a set of data, into tables, with their probabilities under one restaurant."""
    for part in partitions(customers):
        log_p = lgamma(concentration) - lgamma(concentration + len(customers)) + len(part) * log(concentration)
        log_p += sum(lgamma(len(block)) for block in part)
        yield [frozenset().union(*block) for block in part], exp(log_p)


def component_prior(paths, weight_concentration, root_concentration):
    """P(partition of the data by component | paths), by enumerating tables from the leaves up."""
    n, depth = len(paths), len(paths[0])
    groups = {}
    for i in range(n):
        groups.setdefault(tuple(paths[i]), []).append(frozenset([i]))
    law = {frozenset((key, frozenset(customers)) for key, customers in groups.items()): 1.0}
    for level in range(depth, -1, -1):
        concentration = weight_concentration if level else root_concentration
        new = Counter()
        for state, p in law.items():
            options = [
                [(key[:-1], tables, q) for tables, q in seating(sorted(customers, key=sorted), concentration)]
                for key, customers in state
            ]
            for choice in itertools.product(*options):
                merged, q = {}, p
                for key, tables, prob in choice:
                    merged.setdefault(key, []).extend(tables)
                    q *= prob
                new[frozenset((key, frozenset(tables)) for key, tables in merged.items())] += q
        law = new
    return {partition: p for state, p in law.items() for _, partition in state}


def log_marginal(rows, within, between):
    """log p(rows of one component), its mean integrated out."""
    n, d = rows.shape
    cov = within * np.eye(n) + between
    _, logdet = np.linalg.slogdet(cov)
    return float(-0.5 * (n * d * log(2 * pi) + d * logdet + np.trace(rows.T @ np.linalg.solve(cov, rows))))


def tree_key(paths):
    """A tree regardless of the names of its nodes: the partition of the data at each level."""
    key = []
    for level in range(len(paths[0])):
        groups = {}
        for n, row in enumerate(paths):
            groups.setdefault(tuple(row[: level + 1]), []).append(n)
        key.append(tuple(sorted(map(tuple, groups.values()))))
    return tuple(key)


def all_paths(n, depth, branching):
    """Every assignment of n data to paths: named children if finite, else numbered by first appearance."""
    if branching:
        leaves = list(itertools.product(range(branching), repeat=depth))
        yield from itertools.product(leaves, repeat=n)
        return

    def extend(done):
        if len(done) == n:
            yield tuple(done)
            return
        for row in itertools.product(range(n), repeat=depth):
            prefix_ok = all(
                row[level] <= len({other[level] for other in done if other[:level] == row[:level]})
                for level in range(depth)
            )
            if prefix_ok:
                yield from extend([*done, row])

    yield from extend([])


def log_path_prior(paths, setting):
    """log p(paths): nested (branching 0) or finite."""
    alpha, total = setting.path_concentration, 0.0
    below = Counter(tuple(row[:level]) for row in paths for level in range(len(row) + 1))
    for key, n in below.items():
        if len(key) < len(paths[0]):
            total += lgamma(alpha) - lgamma(alpha + n)
        if key and setting.branching:
            total += lgamma(n + alpha / setting.branching) - lgamma(alpha / setting.branching)
        elif key:
            total += log(alpha) + lgamma(n)
    return total


def expected_regulariser(rng, X, paths, setting, n_draws=20000):
    """E over directions of exp(-2C sum of hinges), by Monte Carlo; finite trees have empty siblings too."""
    if setting.regularization == 0:
        return 1.0
    depth = len(paths[0])
    occupied = {tuple(row[: level + 1]) for row in paths for level in range(depth)}
    family = {}
    for key in occupied:
        family.setdefault(key[:-1], set()).add(key)
    if setting.branching:
        family = {p: {(*p, b) for b in range(setting.branching)} for p in family}
    nodes = sorted({key for keys in family.values() for key in keys})
    total = np.zeros(n_draws)
    direction = {key: setting.direction_scale * rng.standard_normal((n_draws, X.shape[1])) for key in nodes}
    for x, row in zip(X, paths, strict=True):
        worst = np.full(n_draws, -np.inf)
        for level in range(depth):
            own = tuple(row[: level + 1])
            for s in family[own[:-1]] - {own}:
                worst = np.maximum(worst, setting.margin - (direction[own] - direction[s]) @ x)
        total += np.maximum(worst, 0.0)  # -inf, without siblings, becomes 0
    return float(np.exp(-2 * setting.regularization * total).mean())


def posterior(rng, X, depth, setting, within, between, n_draws=20000):
    """Exact posterior of (tree, partition by component); the expectation over directions is by Monte Carlo."""
    seen, result = {}, Counter()
    for paths in all_paths(len(X), depth, setting.branching):
        key = tree_key(paths)
        if key not in seen:
            prior = component_prior(paths, setting.weight_concentration, setting.root_concentration)
            fit = {part: sum(log_marginal(X[sorted(b)], within, between) for b in part) for part in prior}
            factor = expected_regulariser(rng, X, paths, setting, n_draws)
            seen[key] = {part: p * factor * exp(fit[part]) for part, p in prior.items()}
        for part, p in seen[key].items():
            result[key, part] += exp(log_path_prior(paths, setting)) * p
    total = sum(result.values())
    return {key: p / total for key, p in result.items()}
