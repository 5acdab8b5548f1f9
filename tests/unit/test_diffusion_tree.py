"""Dirichlet diffusion trees: densities against definitions, the sampler against an enumerated posterior and Geweke."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from papers import diffusion_tree_kernels as kernels
from papers.diffusion_tree import Priors, Sampler, State, Tree, cut, draw_tree

pytestmark = pytest.mark.compiled


def top(tree):
    return int(np.flatnonzero(tree.parent == -1)[0])


def ancestors(tree, v):
    found = [v]
    while tree.parent[found[-1]] >= 0:
        found.append(int(tree.parent[found[-1]]))
    return found


def joint_time(tree, a, b):
    """When the paths of two leaves part."""
    if a == b:
        return 1.0
    shared = set(ancestors(tree, a)) & set(ancestors(tree, b))
    return max(tree.time[v] for v in shared)


def draw_rows(rng, state, n_dims):
    """Rows of the model: the covariance of two leaves is the time that their paths share."""
    n = state.tree.n_leaves
    cov = state.variance * np.array([[joint_time(state.tree, a, b) for b in range(n)] for a in range(n)])
    return rng.multivariate_normal(np.zeros(n), cov, n_dims).T.copy()


def test_likelihood_is_that_of_the_paths():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 2))
    sampler, tree = Sampler(X), draw_tree(rng, 7, 1.4)
    cov = 0.7 * np.array([[joint_time(tree, a, b) for b in range(7)] for a in range(7)])
    wanted = stats.multivariate_normal(np.zeros(7), cov).logpdf(X.T).sum()
    assert kernels.log_likelihood(tree, X, top(tree), 0.7, sampler.work) == pytest.approx(wanted, abs=1e-8)


def prior_by_growth(tree, c):
    """Log density of a tree as the product of what each leaf does on its way: leaf 0 first, then 1, and so on."""
    n, total = tree.n_leaves, 0.0

    def upto(v, leaf):  # leaves below a node that came before this one
        return sum(v in ancestors(tree, other) for other in range(leaf))

    for leaf in range(1, n):
        path = ancestors(tree, leaf)[::-1]
        start = 0.0
        for v in path:
            count = upto(v, leaf)
            before = upto(tree.parent[v], leaf) if tree.parent[v] >= 0 else leaf
            if count == 0:  # the leaf left its elders at the node above
                left = tree.parent[v]
                total += np.log(c / (1 - tree.time[left]) / upto(left, leaf))
                break
            if tree.parent[v] >= 0 and before > count:  # a node that was there already: it chose this branch
                total += np.log(count / before)
            total += c * (np.log1p(-tree.time[v]) - np.log1p(-start)) / count if tree.time[v] < 1 else 0.0
            start = tree.time[v]
    return total


def test_prior_is_that_of_growth_by_leaves():
    rng = np.random.default_rng(1)
    sampler = Sampler(np.zeros((6, 1)))
    for _ in range(20):
        tree = draw_tree(rng, 6, 0.8)
        ours = kernels.log_prior(tree, 6, 0.8, *sampler.tables)
        assert ours == pytest.approx(prior_by_growth(tree, 0.8), abs=1e-9)


def test_a_leaf_is_moved_by_its_prior():
    """What a regraft of a leaf proposes is its conditional prior, so that only the likelihood decides."""
    rng = np.random.default_rng(2)
    sampler = Sampler(np.zeros((6, 1)))
    for _ in range(20):
        tree, v = draw_tree(rng, 6, 1.5), int(rng.integers(6))
        p = tree.parent[v]
        before = kernels.log_prior(tree, 6, 1.5, *sampler.tables)
        old_time, below = tree.time[p], kernels.detach(tree, v)
        back = kernels.log_place(tree, below, old_time, 1.5)
        new, when = kernels.draw_place(rng, tree, kernels.top_of(tree.parent, below), 1.5)
        there = kernels.log_place(tree, new, when, 1.5)
        kernels.attach(tree, v, p, new, when)
        assert kernels.log_prior(tree, 6, 1.5, *sampler.tables) - before == pytest.approx(there - back, abs=1e-8)
        assert sorted(tree.size[:6]) == [1] * 6
        assert tree.size[top(tree)] == 6


def enumerate_three(X, c, variance):
    """Posterior probability that each of three leaves is the one apart, by a sum over a grid of both times."""
    sampler, middle = Sampler(X), (np.arange(120) + 0.5) / 120
    mass = np.zeros(3)
    for lone in range(3):
        a, b = (v for v in range(3) if v != lone)
        parent, child = np.full(5, -1), np.full((5, 2), -1)
        parent[[a, b]], parent[[3, lone]] = 3, 4
        child[3], child[4] = (a, b), (3, lone)
        tree = Tree(parent, child, np.array([1, 1, 1, 2, 3]), np.ones(5))
        for i, first in enumerate(middle):
            for second in middle[i:]:
                tree.time[4], tree.time[3] = first, max(second, first + 1e-9)
                fit = kernels.log_likelihood(tree, X, 4, variance, sampler.work)
                half = 0.5 if second == first else 1.0
                mass[lone] += half * np.exp(fit + kernels.log_prior(tree, 3, c, *sampler.tables))
    return mass / mass.sum()


def sample_three(sampler, c, variance, n_sweeps=15_000):
    rng = np.random.default_rng(3)
    state, seen = State(draw_tree(rng, 3, c), c, variance), np.zeros(3)
    for _ in range(n_sweeps):
        state = sampler.step(rng, state, learn=False)
        below = state.tree.child[top(state.tree)]
        seen[below[below < 3][0]] += 1
    return seen / n_sweeps


def test_three_leaves_are_sampled_from_their_posterior():
    X = np.array([[0.2], [0.5], [-1.0]])
    wanted, found = enumerate_three(X, 1.3, 0.8), sample_three(Sampler(X), 1.3, 0.8)
    np.testing.assert_allclose(found, wanted, atol=0.012)
    wrong = Sampler(X)
    wrong.tables = (3.0 * wrong.harmonic, wrong.tables[1])  # a planted error: paths part too early
    assert np.abs(sample_three(wrong, 1.3, 0.8) - wanted).max() > 0.03


def geweke(sampler_of, n_draws=6000):
    """Scores of statistics of (tree, rows) drawn from the prior against those of a chain that redraws the rows."""
    rng, priors = np.random.default_rng(4), Priors((4.0, 4.0), (4.0, 3.0))

    def statistics(state, X):
        tree = state.tree
        below = tree.size[tree.child[top(tree)]]
        return [np.log(state.c), np.log(state.variance), tree.time[top(tree)], below.min(), np.log(np.mean(X**2))]

    def prior():
        c, variance = rng.gamma(4.0, 1 / 4.0), 3.0 / rng.gamma(4.0)
        return State(draw_tree(rng, 4, c), c, variance)

    forward = []
    for _ in range(n_draws):
        state = prior()
        forward.append(statistics(state, draw_rows(rng, state, 1)))
    state, chain = prior(), []
    for _ in range(n_draws):
        X = draw_rows(rng, state, 1)
        state = sampler_of(X, priors).step(rng, state)
        chain.append(statistics(state, X))
    a, b = np.array(forward), np.array(chain)
    blocks = b.reshape(60, -1, b.shape[1]).mean(axis=1)
    error = np.sqrt(a.var(axis=0) / len(a) + blocks.var(axis=0, ddof=1) / len(blocks))
    return np.abs(a.mean(axis=0) - b.mean(axis=0)) / error


def planted(X, priors):
    sampler = Sampler(X, priors)
    sampler.tables = (1.3 * sampler.harmonic, sampler.tables[1])  # rates of divergence that are too high
    return sampler


@pytest.mark.slow
def test_geweke_finds_nothing_and_finds_a_planted_error():
    assert geweke(Sampler).max() < 3.5
    assert geweke(planted).max() > 4.0


def test_cuts_are_nested_and_have_as_many_groups():
    rng = np.random.default_rng(5)
    tree = draw_tree(rng, 12, 1.0)
    levels = cut(tree, [1, 2, 5, 12, 20])
    assert [len(set(level)) for level in levels] == [1, 2, 5, 12, 12]
    for coarse, fine in pairwise(levels):
        assert all(len(set(coarse[fine == g])) == 1 for g in set(fine))
    two = {frozenset(np.flatnonzero(levels[1] == g)) for g in (0, 1)}
    below = tree.child[top(tree)]
    assert {frozenset(x for x in range(12) if v in ancestors(tree, x)) for v in below} == two


def test_rows_are_needed():
    with pytest.raises(ValueError, match="1 rows; wanted 2 or more"):
        Sampler(np.zeros((1, 2)))
