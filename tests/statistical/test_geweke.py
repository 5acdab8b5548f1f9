"""The exact sampler of the infinite mixture under Geweke's joint test, and errors that the test must catch."""

import numpy as np
import pytest

from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from tests.statistical.geweke import Game

pytestmark = pytest.mark.compiled


class Crowded(ExactGibbs):
    """Seats trees as if new groups weighed eight times as much."""

    def _seat(self, rng, state):
        return super()._seat(rng, state._replace(concentration=8.0 * state.concentration))


class Sure(ExactGibbs):
    """Sharpens the labels' probabilities after drawing them."""

    def _refresh(self, rng, state):
        state, info = super()._refresh(rng, state)
        sharp = state.params.emission**2
        sharp /= sharp.sum(axis=0)
        return state._replace(params=state.params._replace(emission=sharp)), info


class Forgetful(ExactGibbs):
    """Draws switches from the prior, whatever was counted."""

    def _refresh(self, rng, state):
        state, info = super()._refresh(rng, state)
        fresh = self.spec.draw(rng, state.params.switch.shape[1], state.priors)
        return state._replace(params=state.params._replace(switch=fresh.switch)), info


def test_joint_distribution_is_kept_and_an_error_is_seen():
    assert Game("bottom", None).largest_z(0, 300) < 4.0
    assert Game("bottom", None, Sure).largest_z(0, 300) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("absent", "structure"),
    [("bottom", None), ("bottom", "branching"), ("literal", "branching"), ("slot", None), ("renormalised", None)],
)
def test_every_reading_keeps_the_joint_distribution(absent, structure):
    assert Game(absent, structure).largest_z(1, 5000) < 4.0


@pytest.mark.slow
def test_a_branching_prior_by_slot_keeps_the_joint_distribution():
    assert Game("literal", "branching", rates=(0.7, 0.2)).largest_z(1, 5000) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Crowded, Sure, Forgetful])
def test_errors_are_seen(kind):
    assert Game("bottom", None, kind).largest_z(1, 5000) > 5.0


def test_the_weight_of_shapes_is_the_sum_over_labellings():
    """What the test takes for granted: the mass of a skeleton, against the library's likelihoods of all
    labellings, and the probabilities of the labels."""
    from itertools import product

    from arbora import Forest
    from arbora.forest.sharing import share
    from arbora.models.hidden_tree.dp_samplers import Partition
    from arbora.models.hidden_tree.passes import Batch
    from tests.statistical.geweke import N_SLOTS, SKELETON

    for absent, structure in [("bottom", None), ("literal", "branching"), ("slot", None), ("renormalised", None)]:
        game = Game(absent, structure)
        params = game.spec.draw(np.random.default_rng(3), 1)
        state = Partition(np.zeros(len(SKELETON), np.int64), params, 1.0, tm.Priors())
        every = [np.array(x, np.int32) for x in product((0, 1), repeat=SKELETON.n_nodes)]
        assert sum(np.exp(game.log_prob_of_labels(state, labels)) for labels in every) == pytest.approx(1.0)
        total = np.zeros(len(SKELETON))
        for labels in every:
            forest = Forest(SKELETON.parent, SKELETON.slot, labels, SKELETON.tree_start, ("0", "1"))
            log_lik = Batch(game.spec, share(forest.arrays, N_SLOTS), None, 1).log_likelihood(params)
            total += np.exp(log_lik[:, 0])
        others = 2.0 ** (SKELETON.n_nodes - SKELETON.sizes)  # labellings of the other trees
        wanted = [game.shape_mass(tree, params, 0) for tree in game.trees]
        np.testing.assert_allclose(total / others, wanted, rtol=1e-10)
