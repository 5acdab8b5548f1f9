"""Exact Gibbs with content: blocked draws against the enumerated posterior, and the estimator."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora import Forest
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from tests.statistical.content_posterior import distance
from tests.unit.test_content import nested


@dataclass(frozen=True)
class MeanForgets(Gaussian):
    """Draws means from the prior of the mean: a bug."""

    def draw(self, rng, n_states, n_components, prior, statistics=None):
        drawn = super().draw(rng, n_states, n_components, prior, statistics)
        shape = (n_states, n_components)
        return drawn._replace(mean=self.centre + np.sqrt(drawn.variance / self.strength) * rng.standard_normal(shape))


@pytest.mark.parametrize("direction", ["up", "down"])
def test_states_have_their_posterior_and_a_bug_is_found(direction):
    assert distance(direction, 1000) < 0.09
    assert distance(direction, 1000, family=MeanForgets(1.0, 0.5, 0.4, 3.0)) > 0.15


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
def test_states_have_their_posterior_closely(direction):
    assert distance(direction, 60_000) < 0.012


def test_the_estimator_takes_content(tmp_path):
    rng = np.random.default_rng(0)
    forest = Forest.from_nested(nested(3, 40)).with_content({})
    group = np.repeat(np.arange(40) % 2, forest.sizes)
    forest = forest.with_content({"x": rng.normal(5.0 * group, 1.0), "n": rng.poisson(1 + 6 * group)})
    given = {"n_states": 2, "n_iter": 12, "n_chains": 1, "n_start": 2, "random_state": 0, "prior": 0.5}
    model = ab.InfiniteHiddenTreeMixture(**given).fit(forest)
    assert np.isfinite(model.history_).all()
    found = model.labels_
    assert len(set(found[::2]) & set(found[1::2])) == 0  # no group has trees of both kinds
    model.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(again.predict(forest), model.predict(forest))
    assert set(model.content_params_) == {"label", "x", "n"}
    assert np.isfinite(model.new_group_evidence(forest).log_prob).all()
    learnt = ab.InfiniteHiddenTreeMixture(hyperprior=(1, 1), **given).fit(forest)
    assert learnt.priors_[1] != given["prior"]  # that of emissions
    down = ab.InfiniteHiddenTreeMixture(direction="down", **given).fit(forest)
    assert np.isfinite(down.history_).all()


def test_splits_find_groups_of_numbers():
    """From one group, as the label is the same everywhere."""
    rng = np.random.default_rng(1)
    forest = Forest.from_nested([("a", ["a", ("a", ["a"])])] * 60)
    group = np.arange(60) % 3
    forest = forest.with_content({"x": rng.normal(4.0 * np.repeat(group, forest.sizes), 1.0)})
    given = {"n_states": 1, "n_iter": 30, "n_chains": 1, "n_start": 1, "random_state": 0, "until": "n_iter"}
    model = ab.InfiniteHiddenTreeMixture(content={"x": "gaussian"}, **given).fit(forest)
    assert model.trace_.info["n_splits"].sum() >= 1
    assert adjusted_rand_score(group, model.labels_) > 0.9
