"""Dirichlet diffusion trees as arrays: detach and attach subtrees, prior, likelihood, and a sweep of Metropolis steps.

Leaves are 0 to n - 1, inner nodes n to 2n - 2.  Arrays of a tree: parent[node], -1 above the first divergence;
child[node, 2]; size[node], leaves below; time[node], 1 for leaves.  The divergence function is c / (1 - t), its
integral -c log(1 - t).
"""

from typing import Any

import numpy as np

from arbora.jit import jit

TOP = 1.0 - 1e-12  # no divergence comes later: it would be at the leaf itself


@jit
def replace_child(child: Any, above: int, old: int, new: int) -> None:
    """Hang `new` below a node in the place of `old`; above the first divergence there is nothing."""
    if above >= 0:
        child[above, 0 if child[above, 0] == old else 1] = new


@jit
def grow(parent: Any, size: Any, node: int, by: int) -> None:
    """Add leaves to a node and to all above it."""
    while node >= 0:
        size[node] += by
        node = parent[node]


@jit
def detach(tree: Any, v: int) -> int:
    """Take a subtree off, with the inner node above it; returns the sibling it leaves behind."""
    parent, child, size, _ = tree
    p = parent[v]
    sibling = child[p, 0] if child[p, 1] == v else child[p, 1]
    above = parent[p]
    replace_child(child, above, p, sibling)
    parent[sibling] = above
    grow(parent, size, above, -size[v])
    return sibling


@jit
def attach(tree: Any, v: int, p: int, below: int, when: float) -> None:
    """Hang a subtree by the free inner node p onto the branch that ends in `below`."""
    parent, child, size, time = tree
    above = parent[below]
    replace_child(child, above, below, p)
    parent[p], parent[below], parent[v] = above, p, p
    child[p, 0], child[p, 1] = below, v
    time[p] = when
    size[p] = size[below] + size[v]
    grow(parent, size, above, size[v])


@jit
def top_of(parent: Any, node: int) -> int:
    """The first divergence above a node, or the node itself."""
    while parent[node] >= 0:
        node = parent[node]
    return node


@jit
def draw_place(rng: Any, tree: Any, top: int, c: float) -> tuple[int, float]:
    """Where a new leaf would leave the tree: the end of the branch and the time."""
    _, child, size, time = tree
    node, start = top, 0.0
    while True:
        when = 1.0 - (1.0 - start) * np.exp(-size[node] * rng.standard_exponential() / c)
        if when < time[node] or child[node, 0] < 0:
            return node, min(when, TOP)
        start = time[node]
        left = child[node, 0]
        node = left if rng.random() * size[node] < size[left] else child[node, 1]


@jit
def log_place(tree: Any, below: int, when: float, c: float) -> float:
    """Log density of leaving the tree there."""
    parent, _, size, time = tree
    node, end = below, when
    total = np.log(c / size[below]) - np.log1p(-when)
    while True:
        above = parent[node]
        start = time[above] if above >= 0 else 0.0
        total += c * (np.log1p(-end) - np.log1p(-start)) / size[node]
        if above < 0:
            return total
        total += np.log(size[node] / size[above])
        node, end = above, start


@jit
def log_prior(tree: Any, n: int, c: float, harmonic: Any, log_factorial: Any) -> float:
    """Log density of the tree and its times."""
    _, child, size, time = tree
    total = 0.0
    for v in range(n, 2 * n - 1):
        a, b = size[child[v, 0]], size[child[v, 1]]
        rate = harmonic[a + b - 1] - harmonic[a - 1] - harmonic[b - 1]
        total += np.log(c) + (c * rate - 1.0) * np.log1p(-time[v])
        total += log_factorial[a - 1] + log_factorial[b - 1] - log_factorial[a + b - 1]
    return total


@jit
def order_down(tree: Any, top: int, order_out: Any) -> int:
    """Nodes of the tree, parents first; returns their number."""
    child = tree[1]
    order_out[0] = top
    n_found, k = 1, 0
    while k < n_found:
        v = order_out[k]
        if child[v, 0] >= 0:
            order_out[n_found], order_out[n_found + 1] = child[v, 0], child[v, 1]
            n_found += 2
        k += 1
    return n_found


@jit
def contrasts(tree: Any, X: Any, top: int, work: Any) -> tuple[float, float]:
    """Sums over independent contrasts of the log variances and of the squares by variance, for unit variance."""
    _, child, _, time = tree
    order, mean, spread = work
    n_dims = X.shape[1]
    log_var, squares = 0.0, 0.0
    for k in range(order_down(tree, top, order) - 1, -1, -1):
        v = order[k]
        if child[v, 0] < 0:
            mean[v], spread[v] = X[v], 0.0
            continue
        a, b = child[v, 0], child[v, 1]
        va, vb = spread[a] + time[a] - time[v], spread[b] + time[b] - time[v]
        for d in range(n_dims):
            gap = mean[a, d] - mean[b, d]
            squares += gap * gap / (va + vb)
            mean[v, d] = (mean[a, d] * vb + mean[b, d] * va) / (va + vb)
        log_var += np.log(va + vb)
        spread[v] = va * vb / (va + vb)
    last = spread[top] + time[top]
    for d in range(n_dims):
        squares += mean[top, d] * mean[top, d] / last
    return log_var + np.log(last), squares


@jit
def log_likelihood(tree: Any, X: Any, top: int, variance: float, work: Any) -> float:
    """Log density of the leaves, with the places of inner nodes integrated out."""
    log_var, squares = contrasts(tree, X, top, work)
    n, n_dims = X.shape
    return -0.5 * (n_dims * (log_var + n * np.log(2.0 * np.pi * variance)) + squares / variance)


@jit
def regraft(rng: Any, tree: Any, X: Any, setting: Any, work: Any, v: int) -> bool:
    """Move a subtree to a place drawn as for a leaf, by a Metropolis-Hastings step; `setting` is (scales, tables)."""
    (c, variance), (harmonic, log_factorial) = setting
    parent, _, _, time = tree
    n, p = X.shape[0], parent[v]
    was = log_likelihood(tree, X, top_of(parent, v), variance, work) + log_prior(tree, n, c, harmonic, log_factorial)
    old_time = time[p]
    old_below = detach(tree, v)
    back = log_place(tree, old_below, old_time, c)
    below, when = draw_place(rng, tree, top_of(parent, old_below), c)
    if when < time[v]:
        there = log_place(tree, below, when, c)
        attach(tree, v, p, below, when)
        now = log_likelihood(tree, X, top_of(parent, v), variance, work) + log_prior(
            tree, n, c, harmonic, log_factorial
        )
        if np.log(rng.random()) < now - was + back - there:
            return True
        detach(tree, v)
    attach(tree, v, p, old_below, old_time)
    return False


@jit
def retime(rng: Any, tree: Any, X: Any, setting: Any, work: Any, v: int) -> bool:
    """Draw the time of an inner node between its neighbours, by a Metropolis step."""
    (c, variance), (harmonic, log_factorial) = setting
    parent, child, _, time = tree
    n, top = X.shape[0], top_of(parent, v)
    was = log_likelihood(tree, X, top, variance, work) + log_prior(tree, n, c, harmonic, log_factorial)
    low = time[parent[v]] if parent[v] >= 0 else 0.0
    high = min(time[child[v, 0]], time[child[v, 1]])
    old = time[v]
    time[v] = min(low + (high - low) * rng.random(), TOP)
    now = log_likelihood(tree, X, top, variance, work) + log_prior(tree, n, c, harmonic, log_factorial)
    if np.log(rng.random()) < now - was:
        return True
    time[v] = old
    return False


@jit
def sweep(rng: Any, tree: Any, X: Any, scales: Any, tables: Any, work: Any) -> int:
    """Regraft every leaf and every subtree, and draw every time; returns how many regrafts were accepted."""
    n = X.shape[0]
    parent = tree[0]
    accepted = 0
    for v in range(2 * n - 1):
        if parent[v] >= 0:
            accepted += regraft(rng, tree, X, (scales, tables), work, v)
    for v in range(n, 2 * n - 1):
        retime(rng, tree, X, (scales, tables), work, v)
    return accepted
