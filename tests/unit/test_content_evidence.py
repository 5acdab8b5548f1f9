"""The evidence of a group never seen, with content: against sums over all states, and in what `predict` says."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from arbora import Forest, InfiniteHiddenTreeMixture
from arbora.forest.content_rows import plain_values
from arbora.inference.diagnostics import NEW_GROUP
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from arbora.models.hidden_tree.emissions.poisson import Poisson
from tests.statistical import content_partitions as cp

pytestmark = pytest.mark.compiled


def enumerated(direction):
    """Log P(content) of each chain by itself."""
    logs = []
    for t in range(3):
        rows = {name: plain_values(values.take(np.array([2 * t, 2 * t + 1]))) for name, values in cp.VALUES.items()}
        every = product(range(cp.N_STATES), repeat=2)
        logs.append(np.logaddexp.reduce([cp.log_joint(direction, np.array([states]), rows) for states in every]))
    return np.array(logs)


def off(direction, families=cp.FAMILIES):
    """Errors of the estimates, in nats, and what they say of themselves."""
    model, priors, batch = cp.setting(direction, families=families)
    found = model.evidence(batch, priors)
    return np.abs(found.log_prob - enumerated(direction)), found.error


@pytest.mark.parametrize("direction", ["up", "down"])
def test_evidence_with_content_equals_enumeration_within_its_error(direction):
    error, said = off(direction)
    assert (said < 0.2).all()
    assert (error < 4.0 * said + 1e-9).all()


@dataclass(frozen=True)
class NoConstant(Gaussian):
    """The factor of each number forgotten: a bug."""

    def constant_of(self, moments):
        return np.zeros(len(moments))


@dataclass(frozen=True)
class OtherRate(Poisson):
    """Another rate of the prior: a bug."""

    def number_prior(self):
        family, shape, rate, rest = super().number_prior()
        return (family, shape, 10.0 * rate, rest)


@pytest.mark.parametrize("wrong", [{"x": NoConstant(1.0, 0.5, 0.4, 3.0)}, {"n": OtherRate(0.5)}])
def test_wrong_evidence_is_found(wrong):
    error, said = off("up", cp.FAMILIES | wrong)
    assert (error > 4.0 * said).any()


@pytest.fixture(scope="module")
def fitted():
    """Two groups by their numbers alone."""
    rng = np.random.default_rng(0)
    forest = Forest.from_nested([("a", ["b", "b", "b"])] * 40)
    mean = np.repeat(np.where(np.arange(40) % 2 == 0, 0.0, 8.0), 4)
    forest = forest.with_content({"x": rng.normal(mean, 0.5)})
    settings = {"n_states": 1, "n_iter": 8, "n_start": 2, "n_chains": 1, "concentration": 1.0, "random_state": 0}
    return InfiniteHiddenTreeMixture(content={"label": None, "x": "gaussian"}, **settings).fit(forest), forest


def test_numbers_far_from_all_groups_speak_for_a_new_one(fitted):
    model, forest = fitted
    far = forest[np.arange(4)].with_content({"x": np.full(16, 100.0)})
    assert (model.predict(far) == NEW_GROUP).all()
    assert (model.predict(forest) != NEW_GROUP).all()


def test_evidence_of_one_state_is_the_marginal_of_the_column(fitted):
    model, forest = fitted
    family = dict(model.spec_.emission.families)["x"]
    x = forest.content["x"].values.reshape(40, 4)[:3]
    shape = model.new_group_evidence(forest[:3].with_content({"x": np.full(12, np.nan)}))
    found = model.new_group_evidence(forest[:3])
    expected = [family.log_marginal(moments_of(family, one), 1.0)[0, 0] for one in x]
    np.testing.assert_allclose(found.log_prob - shape.log_prob, expected, rtol=1e-9)
    assert found.error.max() < 1e-9


def moments_of(family, values):
    """Statistics of one state with these values."""
    return family.from_moments(family.row_moments(values).sum(axis=0)[:, None, None])


def test_labels_that_the_model_leaves_out_cost_nothing(fitted):
    model, forest = fitted
    other = Forest.from_nested([("z", ["y", "y", "y"])] * 40).with_content({"x": forest.content["x"]})
    np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(forest), atol=1e-9)
