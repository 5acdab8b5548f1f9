"""The sampler of pattern mixtures under Geweke's joint test, and errors that the test must catch."""

import numpy as np
import pytest

from arbora.models.patterns import marginals, sampler
from tests.reference.geweke_patterns import Game

pytestmark = pytest.mark.compiled


def forgetful(made):
    """Totals of groups weigh twice their prior."""
    twice = marginals.make_tables(made.corpus, 2.0 * made.tables.strength, 1.0, made.prior)
    made.tables = made.tables._replace(rise=twice.rise)
    return made


def flat(made):
    """All patterns of a family have the same background."""
    even = made.corpus._replace(share=(1.0 / np.bincount(made.corpus.family))[made.corpus.family])
    made.tables = marginals.make_tables(even, made.tables.strength, float(made.corpus.n_families), made.prior)
    return made


def averaged(made):
    """Families are averaged, where the joint draws them all."""
    made.tables = made.tables._replace(power=1.0 / made.corpus.n_families)
    return made


def crowded(made):
    """New groups weigh four times as much."""
    step = made.step
    made.step = lambda rng, state: step(rng, state._replace(concentration=4.0 * state.concentration))
    return made


def careless(monkeypatch):
    """Splits and merges count a new group four times."""
    real = sampler.pair_moves

    def wrong(rng, corpus, tables, groups, features, n, anew):
        part = tables.log_part + np.log(4.0) * np.arange(len(tables.log_part))
        return real(rng, corpus, tables._replace(log_part=part), groups, features, n, anew)

    monkeypatch.setattr(sampler, "pair_moves", wrong)


def test_joint_distribution_is_kept_and_an_error_is_seen():
    assert Game().largest_z(0, 1500) < 4.0
    assert Game(change=crowded).largest_z(0, 1500) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("n_split_merge", [0, 2])
def test_the_sampler_keeps_the_joint_distribution(n_split_merge):
    assert Game(n_split_merge=n_split_merge).largest_z(1, 20000) < 4.0


@pytest.mark.slow
def test_splits_and_merges_alone_keep_the_joint_distribution(monkeypatch):
    monkeypatch.setattr(sampler, "sweep", lambda rng, corpus, tables, groups, closed: (groups, 0))
    assert Game(n_split_merge=4).largest_z(2, 20000) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("change", [forgetful, flat, averaged, crowded])
def test_planted_errors_are_seen(change):
    assert Game(change=change).largest_z(1, 10000) > 6.0


@pytest.mark.slow
def test_a_wrong_ratio_of_splits_is_seen(monkeypatch):
    careless(monkeypatch)
    assert Game(n_split_merge=4).largest_z(1, 10000) > 6.0


@pytest.mark.slow
def test_a_wrong_draw_of_the_concentration_is_seen(monkeypatch):
    real = marginals.draw_concentration
    monkeypatch.setattr(marginals, "draw_concentration", lambda rng, a, k, n: real(rng, a, k + 1, n))
    assert Game().largest_z(1, 10000) > 6.0
