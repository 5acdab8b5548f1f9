"""Splits and merges of groups of trees with content, against enumeration of partitions; Geweke's test; planted bugs."""

from dataclasses import dataclass

import numpy as np
import pytest

from arbora.models.hidden_tree import completed_counts as bg
from arbora.models.hidden_tree.emissions.flag import Flag
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from arbora.models.hidden_tree.emissions.poisson import Poisson
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.kernels.split_bags import _log_marginal, _number_marginals
from tests.statistical import content_partitions as cp
from tests.unit.test_content_gibbs import MeanForgets
from tests.unit.test_infinite import Careless, distance, partition_frequencies


@dataclass(frozen=True)
class WrongStrength(Gaussian):
    """Splits and merges by another strength of the prior of means: a bug."""

    def number_prior(self):
        family, strength, dof, scale = super().number_prior()
        return (family, 1000.0 * strength, dof, scale)


@dataclass(frozen=True)
class WrongRate(Poisson):
    """Splits and merges by another rate of the prior: a bug."""

    def number_prior(self):
        family, shape, rate, rest = super().number_prior()
        return (family, shape, 10.0 * rate, rest)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_marginals_of_splits_are_those_of_the_families(direction):
    """Of drawn counts: equal up to factors that are the same in all partitions."""
    model, priors, batch = cp.setting(direction)
    bags = model.completed(batch)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2):  # two draws of states have the same factors
        drawn = bags.draw(rng, np.zeros(3, np.int64), model.draw(rng, 1, priors))
        cells = bg.counts_by_component(drawn, np.zeros(3, np.int64), 1, bags.layout.end)
        table, end = bags.table(priors), bags.layout.end
        part = slice(bags.layout.emission, bags.layout.switch)
        words = np.where((np.arange(end) >= part.start) & (np.arange(end) < part.stop), cells[0, :end], 0.0)
        mine = _log_marginal(words, np.bincount(table.row, words, len(table.row_prior)), table)
        mine += _number_marginals(cells[0, end:].reshape(-1, 3), table)
        counts = bags.counts(cells).emission
        families = model.emission.families
        theirs = sum(f.log_marginal(counts[f"c{x}"], priors.emission).sum() for x, (_, f) in enumerate(families))
        found.append(mine - theirs)
    constant = 5 * 0.5 * np.log(2.0 * np.pi) + np.log(120.0)  # five numbers, and 5!
    np.testing.assert_allclose(found, constant, rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("direction", ["up", pytest.param("down", marks=pytest.mark.slow)])
def test_splits_and_merges_alone_sample_the_posterior(direction):
    exact = cp.enumerated(direction)
    assert max(exact.values()) < 0.8  # something to find
    chain = cp.sampler(ExactGibbs, direction, concentration=1.0)
    assert distance(partition_frequencies(chain, 1500, 0, seating=False), exact) < 0.05
    wrong = cp.sampler(Careless, direction, concentration=1.0)
    assert distance(partition_frequencies(wrong, 1000, 0, seating=False), exact) > 0.07


@pytest.mark.compiled
@pytest.mark.parametrize(("column", "family"), [("x", WrongStrength(1.0, 0.5, 0.4, 3.0)), ("n", WrongRate(0.5))])
def test_wrong_marginals_are_found(column, family):
    exact = cp.enumerated("up")
    wrong = cp.sampler(ExactGibbs, "up", families=cp.FAMILIES | {column: family}, concentration=1.0)
    assert distance(partition_frequencies(wrong, 3000, 0, seating=False), exact) > 0.07


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_whole_sampler_matches_the_enumerated_posterior(direction):
    exact = cp.enumerated(direction)
    chain = cp.sampler(ExactGibbs, direction, concentration=1.0)
    assert distance(partition_frequencies(chain, 20_000, 0), exact) < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
def test_geweke(direction):
    assert np.abs(cp.geweke(ExactGibbs, direction, 12_000)).max() < 4.0


@pytest.mark.slow
def test_geweke_in_short_and_its_bugs():
    assert np.abs(cp.geweke(ExactGibbs, "up", 800)).max() < 4.5
    forgets = cp.PRIOR | {"x": MeanForgets(0.0, 1.0, 1.0, 12.0)}
    assert np.abs(cp.geweke(ExactGibbs, "up", 800, families=forgets)).max() > 6.0


def test_flags_are_two_words():
    values = np.array([1.0, np.nan, 0.0, 1.0])
    words = Flag().row_words(values).toarray()
    np.testing.assert_array_equal(words, [[0, 1], [0, 0], [1, 0], [0, 1]])
