"""Splits and merges of bags: the kernel makes the moves of its twin, and a term left out of the ratio is found."""

import numpy as np
import pytest
from scipy.special import gammaln

import arbora as ab
from arbora.models.hidden_tree.exact_gibbs import N_SCANS, ExactGibbs
from arbora.models.hidden_tree.kernels import log_rises, split_bags
from tests import examples
from tests.reference import hidden_tree as nodes
from tests.reference import infinite as reference
from tests.reference.split_bags import Twin
from tests.unit.test_infinite import distance, partition_frequencies, sampler


def dense(bags, n_cells):
    """Counts of every datum, [datum, cell]."""
    counts = np.zeros((len(bags.start), n_cells))
    for t, (a, b) in enumerate(zip(bags.start, bags.stop, strict=True)):
        np.add.at(counts[t], bags.cell[a:b], bags.times[a:b])
    return counts


def canonical(label):
    number: dict[int, int] = {}
    return [number.setdefault(int(k), len(number)) for k in label]


@pytest.mark.parametrize("x", [1e-3, 0.01, 0.5, 1.0, 9.99, 10.0, 33.3, 1e4, 1e7])
def test_log_gamma_is_that_of_scipy(x):
    assert log_rises.log_gamma(x) == pytest.approx(gammaln(x), rel=1e-13, abs=1e-13)
    for n in (0, 1, 7, 16, 17, 400, 2.5, 31.75):
        rise = gammaln(x + n) - gammaln(x)
        assert log_rises.log_rise(x, n) == pytest.approx(rise, rel=1e-12, abs=1e-15 * gammaln(x + n) + 1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("absent", ["slot", "literal"])
def test_the_kernel_makes_the_moves_of_its_twin(absent):
    """Trees large enough for both ways to add up logarithms; sums of groups stay those of their bags."""
    forest = examples.random_forest(n_trees=9, max_nodes=40, n_labels=3, seed=4)
    chain = sampler(ExactGibbs, forest, absent, "branching", alpha=0.7, concentration=1.5)
    rng = np.random.default_rng(0)
    cells = split_bags.Cells(chain.bags.table(chain.setting.priors), chain.bags.layout)
    came = np.zeros(3)
    for seed in range(150):
        groups = rng.integers(0, rng.integers(1, 4), 9)
        label = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        drawn = seed % 3 == 0  # states of groups apart, or all of one: then mergers have a chance
        given = label if drawn else np.zeros(9, np.int64)
        bags = chain.bags.draw(rng, given, chain.model.draw(rng, int(given.max()) + 1, chain.setting.priors))
        counts = dense(bags, len(cells.table.row))
        twin = Twin(counts, cells.table, cells.layout, np.log(1.5), N_SCANS)
        wanted, after = twin.move(np.random.default_rng(seed), label)
        sums = split_bags.sum_groups(label, bags, cells.table, 6)
        effort = split_bags.Effort(np.log(1.5), N_SCANS)
        found = split_bags.split_or_merge(np.random.default_rng(seed), label, bags, sums, cells, effort)
        assert found == wanted
        assert canonical(label) == canonical(after)
        again = split_bags.sum_groups(label, bags, cells.table, 6)
        used = np.unique(label)
        assert np.array_equal(np.flatnonzero(sums.size), used)
        for now, anew in zip(sums, again, strict=True):
            np.testing.assert_allclose(now[used], anew[used], rtol=1e-12, atol=1e-9)
        came[found] += 1
    assert came.min() >= 5


class ByTwin(ExactGibbs):
    """Splits and merges by the twin, with a term left out."""

    without = ""

    def _split_merge(self, rng, state, bags):
        table, layout = self.bags.table(state.priors), self.bags.layout
        counts = dense(bags, len(table.row))
        twin = Twin(counts, table, layout, np.log(state.concentration), N_SCANS, self.without)
        label = state.label
        for _ in range(self.setting.n_split_merge):
            _, label = twin.move(rng, label)
        label = np.unique(label, return_inverse=True)[1].astype(np.int64)
        cells = np.stack([twin.counts[label == k].sum(axis=0) for k in range(label.max() + 1)])
        return label, cells, {"n_splits": 0.0, "n_merges": 0.0}


@pytest.fixture(scope="module")
def chains():
    """Four chains of four nodes: their states matter, so merging them needs a correspondence of states."""
    lines = ["0011", "0011", "2201", "0111"]
    parent = [u + 1 if u % 4 < 3 else -1 for u in range(16)]
    label = [int(x) for line in lines for x in reversed(line)]
    return ab.Forest.from_parents(parent, label, tree=np.repeat(range(4), 4), vocabulary=["0", "1", "2"])


@pytest.fixture(scope="module")
def exact(chains):
    trees = [nodes.nodes_of(chains, t) for t in range(4)]
    return reference.partition_posterior(trees, 2, 1, 3, "bottom", 1.0, 1.0)


@pytest.mark.compiled
def test_splits_and_merges_alone_sample_the_posterior(chains, exact):
    chain = sampler(ExactGibbs, chains, concentration=1.0, n_split_merge=3)
    assert distance(partition_frequencies(chain, 4000, 0, seating=False), exact) < 0.04


@pytest.mark.compiled
@pytest.mark.parametrize(
    "without",
    ["pair", pytest.param("names", marks=pytest.mark.slow), "match", pytest.param("scan", marks=pytest.mark.slow)],
)
def test_a_term_left_out_is_found(chains, exact, without):
    """The twin as it is comes as near as the kernel; without a term of its ratio it does not."""
    chain = sampler(ByTwin, chains, concentration=1.0, n_split_merge=3)
    chain.without = without
    assert distance(partition_frequencies(chain, 800, 0, seating=False), exact) > 0.08


@pytest.mark.slow
@pytest.mark.compiled
def test_the_twin_samples_the_posterior(chains, exact):
    chain = sampler(ByTwin, chains, concentration=1.0, n_split_merge=3)
    assert distance(partition_frequencies(chain, 2000, 0, seating=False), exact) < 0.055
