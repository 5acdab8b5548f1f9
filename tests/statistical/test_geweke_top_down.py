"""The exact sampler of top-down trees under Geweke's joint test, and errors that the test must catch."""

from itertools import product

import numpy as np
import pytest

from arbora import Forest
from arbora.forest.sharing import share
from arbora.models.hidden_tree.dp_samplers import Partition
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.top_down_params import Priors
from tests.statistical.geweke import N_SLOTS, SKELETON
from tests.statistical.geweke_top_down import Game
from tests.statistical.test_geweke import Sure

pytestmark = pytest.mark.compiled


class Turned(ExactGibbs):
    """Takes the states of parents and children for each other."""

    def _refresh(self, rng, state):
        state, info = super()._refresh(rng, state)
        turned = state.params.transition.transpose(0, 2, 1, 3)
        turned = turned / turned.sum(axis=2, keepdims=True)
        return state._replace(params=state.params._replace(transition=turned)), info


class Shapeless(ExactGibbs):
    """Draws the chances of children from the prior, whatever was counted."""

    def _refresh(self, rng, state):
        state, info = super()._refresh(rng, state)
        fresh = self.model.draw(rng, state.params.root.shape[1], state.priors)
        return state._replace(params=state.params._replace(branching=fresh.branching)), info


def test_joint_distribution_is_kept_and_an_error_is_seen():
    assert Game("state").largest_z(0, 300) < 4.0
    assert Game("state", kind=Sure).largest_z(0, 300) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("structure", [None, "branching", "state"])
def test_every_structure_keeps_the_joint_distribution(structure):
    assert Game(structure).largest_z(1, 4000) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Sure, Turned, Shapeless])
def test_errors_are_seen(kind):
    assert Game("state", kind=kind).largest_z(1, 4000) > 5.0


@pytest.mark.parametrize("structure", [None, "branching", "state"])
@pytest.mark.parametrize("tied", [False, True])
def test_the_weight_of_shapes_is_the_sum_over_labellings(structure, tied):
    """What the test takes for granted, against the library's likelihoods of all labellings."""
    game = Game(structure, tied)
    params = game.spec.draw(np.random.default_rng(3), 1)
    state = Partition(np.zeros(len(SKELETON), np.int64), params, 1.0, Priors())
    every = [np.array(x, np.int32) for x in product((0, 1), repeat=SKELETON.n_nodes)]
    total, mass = np.zeros(len(SKELETON)), np.array([game.shape_mass(tree, params, 0) for tree in game.trees])
    for labels in every:
        forest = Forest(SKELETON.parent, SKELETON.slot, labels, SKELETON.tree_start, ("0", "1"))
        log_lik = Batch(game.spec, share(forest.arrays, N_SLOTS), None, 1).log_likelihood(params)[:, 0]
        assert game.log_prob_of_labels(state, labels) == pytest.approx((log_lik - np.log(mass)).sum(), abs=1e-12)
        total += np.exp(log_lik)
    np.testing.assert_allclose(total / 2.0 ** (SKELETON.n_nodes - SKELETON.sizes), mass, rtol=1e-10)
