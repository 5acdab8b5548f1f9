"""The samplers of hierarchies sample what they say: enumerated posteriors, joint distribution tests, planted bugs."""

import numpy as np
import pytest

from arbora.models.bhmc.kernels import bhmc_weights
from arbora.models.bhmc.kernels.mixture_tree import EXACT, OWN, PAPER, SweepSettings
from arbora.models.bhmc.sampler import HierarchySampler
from tests.reference import bhmc as reference
from tests.reference import geweke_bhmc as geweke

pytestmark = pytest.mark.compiled

X3 = np.array([[-1.0], [-0.6], [1.5]])
X4 = np.array([[-1.0], [-0.6], [1.5], [2.0]])


def setting(regularization, nested, procedure=EXACT, branching=2):
    return SweepSettings(0.8, 1.0, 0.9, regularization, 1.0, 1.0, 0 if nested else branching, procedure)


class WeightsForget(HierarchySampler):
    """Planted bug: weights are drawn with twice the concentration of the model."""

    def step(self, rng, state):
        state = self._move(rng, state)
        queue = self._queue(state)
        s = self.setting
        bhmc_weights.draw_weights(rng, queue, state, s._replace(weight_concentration=2 * s.weight_concentration))
        self._draw_directions(rng, queue, state)
        return state, {}


class DirectionsForget(HierarchySampler):
    """Planted bug: directions come from the prior, whatever the data say."""

    def _draw_directions(self, rng, queue, state):
        state.direction[:] = self.setting.direction_scale * rng.standard_normal(state.direction.shape)
        return 0.0


class PathsForget(HierarchySampler):
    """Planted bug: paths are drawn as if the margin were a tenth of what it is."""

    def _move(self, rng, state):
        whole = self.setting
        self.setting = whole._replace(margin=0.1 * whole.margin)
        state = super()._move(rng, state)
        self.setting = whole
        return state


def frequencies(X, setting, n_sweeps, kind=HierarchySampler, depth=2, seed=0):
    """How often the chain visits each (tree, partition by component)."""
    chain = kind(X, depth, setting, (0.5, 1.5))
    rng = np.random.default_rng(seed)
    state = chain.init(rng)
    codes = np.empty((n_sweeps, X.shape[0] * (depth + 1)), np.int64)
    for row in codes:
        state, _ = chain.step(rng, state)
        row[:] = np.column_stack([state.path, state.component]).reshape(-1)
    seen = {}
    for code, count in zip(*np.unique(codes, axis=0, return_counts=True), strict=True):
        table = code.reshape(len(X), depth + 1)
        part = frozenset(frozenset(np.flatnonzero(table[:, -1] == k).tolist()) for k in set(table[:, -1].tolist()))
        key = reference.tree_key([tuple(row) for row in table[:, :-1].tolist()]), part
        seen[key] = seen.get(key, 0) + count / n_sweeps
    return seen


def distance(found, exact):
    """Total variation."""
    return 0.5 * sum(abs(found.get(key, 0.0) - exact.get(key, 0.0)) for key in {*found, *exact})


@pytest.fixture(scope="module")
def exact():
    """Exact posteriors by (number of data, nested, regularization)."""
    cache = {}

    def of(n, nested, regularization):
        key = n, nested, regularization
        if key not in cache:
            X = X3 if n == 3 else X4
            rng = np.random.default_rng(1)
            cache[key] = reference.posterior(rng, X, 2, setting(regularization, nested), 0.5, 1.5)
        return cache[key]

    return of


def test_the_enumeration_is_a_distribution():
    """Paths and components have probabilities that sum to one, nested and finite."""
    for nested in (True, False):
        s = setting(0.0, nested)
        paths = list(reference.all_paths(3, 2, s.branching))
        assert sum(np.exp(reference.log_path_prior(p, s)) for p in paths) == pytest.approx(1.0)
        assert len({reference.tree_key(p) for p in paths}) == (12 if nested else 10)
        for p in paths[:5]:
            assert sum(reference.component_prior(p, 1.3, 0.7).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("n", "nested", "regularization"),
    [(3, True, 0.0), (3, False, 0.0), (3, True, 0.5), (3, False, 0.5), (4, True, 0.5), (4, False, 0.5)],
)
def test_chains_match_the_enumerated_posterior(exact, n, nested, regularization):
    X = X3 if n == 3 else X4
    found = frequencies(X, setting(regularization, nested), 7000)
    noise = 0.05 if n == 3 else 0.08 if not nested else 0.11  # 900 states of (tree, partition) if nested
    assert distance(found, exact(n, nested, regularization)) < noise


@pytest.mark.parametrize(
    ("kind", "nested", "procedure", "least"),
    [
        (HierarchySampler, True, OWN, 0.2),
        (HierarchySampler, True, PAPER, 0.2),
        (WeightsForget, False, EXACT, 0.07),
        (WeightsForget, True, EXACT, 0.07),
        (DirectionsForget, False, EXACT, 0.1),
        (DirectionsForget, True, EXACT, 0.07),
        (PathsForget, False, EXACT, 0.07),
        (PathsForget, True, EXACT, 0.07),
    ],
)
def test_the_papers_procedure_and_planted_bugs_miss_it(exact, kind, nested, procedure, least):
    """What the test above must be able to catch, at its own length."""
    found = frequencies(X3, setting(0.5, nested, procedure), 7000, kind)
    assert distance(found, exact(3, nested, 0.5)) > least


def test_a_chain_without_data_recovers_the_nested_restaurant():
    """Data that say nothing: two data share a node of level l with probability (1 / (1 + alpha)) ** l."""
    s = SweepSettings(0.4, 1.0, 0.85, 0.0, 1.0, 1.0, 0, EXACT)
    chain = HierarchySampler(np.zeros((6, 1)), 3, s, (1.0, 1e-12))
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    same = np.zeros((10000, 4))
    for row in same:
        state, _ = chain.step(rng, state)
        table = np.column_stack([state.path, state.component])
        row[:] = np.mean([table[i] == table[j] for i in range(6) for j in range(i)], axis=0)
    error = same.reshape(40, -1, 4).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(40)
    assert error.max() < 0.015
    z = (same.mean(axis=0) - [0.7143, 0.5102, 0.3644, 0.7842]) / error
    assert np.abs(z).max() < 4.0


def geweke_z(kind, nested, regularization, procedure, learnt, n_sweeps, n_prior, seed):
    s = setting(regularization, nested, procedure)
    if learnt:
        s = s._replace(within_prior=(3.0, 2.0), between_prior=(3.0, 2.0))
    rng = np.random.default_rng(seed)
    drawn = [geweke.prior_draw(rng, 4, 1, 2, s, (0.5, 1.5)) for _ in range(n_prior)]
    chain = kind(np.zeros((4, 1)), 2, s, (0.5, 1.5))
    values = geweke.chain_values(rng, chain, n_sweeps)
    keep = np.ones(values.shape[1], bool)
    keep[-1] = regularization > 0  # directions that nothing looks at are not drawn
    log_weight = np.array([w for _, w in drawn])
    return geweke.z_scores(values[:, keep], np.array([v for v, _ in drawn])[:, keep], log_weight)


GEWEKE = [(False, 0.0, True), (True, 0.0, False), (False, 0.5, False), (True, 0.5, True)]


@pytest.mark.parametrize(("nested", "regularization", "learnt"), GEWEKE)
def test_joint_distribution(nested, regularization, learnt):
    """Geweke (2004): chain and redrawn data have the law of draws from the prior."""
    z = geweke_z(HierarchySampler, nested, regularization, EXACT, learnt, 3000, 1500, 0)
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize(
    ("kind", "nested", "procedure"),
    [(HierarchySampler, True, PAPER), (DirectionsForget, False, EXACT)],
)
def test_joint_distribution_catches_wrong_samplers(kind, nested, procedure):
    z = geweke_z(kind, nested, 0.5, procedure, False, 3000, 1500, 0)
    assert np.abs(z).max() > 5.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("nested", "regularization", "learnt"), GEWEKE)
def test_joint_distribution_at_length(nested, regularization, learnt, seed):
    z = geweke_z(HierarchySampler, nested, regularization, EXACT, learnt, 60000, 40000, seed)
    assert np.abs(z).max() < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("regularization", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("nested", [True, False])
def test_enumerated_posterior_at_length(nested, regularization):
    rng = np.random.default_rng(1)
    exact = reference.posterior(rng, X3, 2, setting(regularization, nested), 0.5, 1.5, n_draws=300000)
    assert distance(frequencies(X3, setting(regularization, nested), 150000), exact) < 0.015
