"""The sampler of label chains under Geweke's joint test, and errors that the test must catch."""

import numpy as np
import pytest

from arbora.models.grammar import infinite
from tests.reference.geweke_grammar import Game

pytestmark = pytest.mark.compiled


def forgetful(sampler):
    """Totals of rows weigh twice their prior."""
    sampler.rises = infinite.rises_of(sampler.bags, sampler.prior._replace(row=sampler.prior.row * 2))
    return sampler


def blind(sampler):
    """What trees say is not heard."""
    sampler.rises = sampler.rises._replace(cell=0.0 * sampler.rises.cell, row=0.0 * sampler.rises.row)
    return sampler


def crowded(sampler):
    """New groups weigh four times as much."""
    step = sampler.step
    sampler.step = lambda rng, state: step(rng, state._replace(concentration=4.0 * state.concentration))
    return sampler


def careless(monkeypatch):
    """Splits pay for their new group twice."""
    real = infinite.gibbs.split_merge
    monkeypatch.setattr(infinite.gibbs, "split_merge", lambda r, b, p, a, l, g: real(r, b, p, a + np.log(4.0), l, g))


def test_joint_distribution_is_kept_and_an_error_is_seen():
    assert Game().largest_z(0, 1000) < 4.0
    assert Game(change=forgetful).largest_z(0, 1000) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("n_split_merge", [0, 2])
def test_the_sampler_keeps_the_joint_distribution(n_split_merge):
    assert Game(n_split_merge=n_split_merge).largest_z(1, 8000) < 4.0


@pytest.mark.slow
def test_splits_and_merges_alone_keep_the_joint_distribution(monkeypatch):
    monkeypatch.setattr(infinite.gibbs, "sweep", lambda rng, bags, rises, todo, where, groups: len(todo))
    assert Game(n_split_merge=4).largest_z(2, 8000) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("change", [forgetful, blind, crowded])
def test_planted_errors_are_seen(change):
    assert Game(change=change).largest_z(1, 4000) > 6.0


@pytest.mark.slow
def test_a_wrong_ratio_of_splits_is_seen(monkeypatch):
    careless(monkeypatch)
    assert Game(n_split_merge=4).largest_z(1, 4000) > 6.0
