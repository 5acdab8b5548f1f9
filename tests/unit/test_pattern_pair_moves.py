"""Splits, merges and sharing out anew: the slow twin, the enumerated posterior, and bugs that must be found."""

import numpy as np
import pytest
from scipy import sparse

from arbora.models.patterns import marginals as mg
from arbora.models.patterns import sampler as sp
from arbora.models.patterns.kernels import group_sweeps
from tests.reference import infinite as enumeration
from tests.reference import patterns as reference
from tests.reference.pair_moves import Twin, same_partition
from tests.unit.test_pattern_mixture import (
    POWER,
    PRIORS,
    SIX,
    STRENGTHS,
    as_row,
    distance,
    other_concentration,
    other_power,
    other_sizes,
)

pytestmark = pytest.mark.compiled

FEATURES = np.random.default_rng(0).normal(size=(6, 2))
MOVES = {"split or merge": (2, 0), "share out": (0, 2), "both": (1, 1)}


@pytest.fixture(scope="module")
def six():
    columns = sorted({key for word in SIX for key in as_row(word)})
    presence = np.array([[key in as_row(word) for key in columns] for word in SIX], float)
    return mg.corpus_of(sparse.csr_array(presence), np.array([family for family, _ in columns]), 2)


@pytest.fixture(scope="module")
def exact():
    rows, partitions = [as_row(word) for word in SIX], enumeration.set_partitions(6)
    strengths = dict(enumerate(STRENGTHS))
    return {prior: reference.partition_posterior(rows, partitions, strengths, POWER, prior, 1.0) for prior in PRIORS}


def run(corpus, prior, n_sweeps, moves, seed=0, plant=lambda tables: tables, features_of=lambda groups: FEATURES):
    """How often each partition comes up: moves of pairs of groups, and one tree drawn anew."""
    rng = np.random.default_rng(seed)
    tables = mg.make_tables(corpus, STRENGTHS, POWER, mg.PartitionPrior(prior, 1.0))
    groups = mg.seat(corpus, tables, np.zeros(corpus.n_trees, np.int64))
    seen = {}
    for _ in range(n_sweeps):
        groups = mg.with_room(groups, tables)
        tree = rng.integers(0, corpus.n_trees, 1)
        group_sweeps.sweep(rng, corpus.rows, tables, groups, tree, (False, False, mg.in_use(groups) + 1))
        for n, anew in zip(moves, (False, True), strict=True):
            groups, _ = sp.pair_moves(rng, corpus, plant(tables), groups, features_of(groups), n, anew)
        number = {}
        key = tuple(number.setdefault(int(k), len(number)) for k in groups.label)
        seen[key] = seen.get(key, 0) + 1
    return {key: n / n_sweeps for key, n in seen.items()}


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("prior", PRIORS)
def test_moves_match_the_enumerated_posterior(six, exact, prior, moves):
    assert distance(run(six, prior, 10_000, MOVES[moves]), exact[prior]) < 0.08


@pytest.mark.slow
@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("prior", PRIORS)
def test_long_chains_of_moves_match_the_enumerated_posterior(six, exact, prior, moves):
    assert distance(run(six, prior, 60_000, MOVES[moves], seed=1), exact[prior]) < 0.032


@pytest.mark.parametrize(
    ("moves", "plant"),
    [
        ("split or merge", other_concentration),
        ("split or merge", lambda tables: other_sizes(other_sizes(tables))),
        ("both", lambda tables: other_power(other_power(other_power(tables)))),
        ("share out", lambda tables: other_power(other_power(other_power(tables)))),
    ],
)
def test_bugs_in_the_moves_alone_are_found(six, exact, moves, plant):
    """The moves are judged by tables that are not those of the sweeps."""
    assert distance(run(six, "dp", 10_000, MOVES[moves], plant=plant), exact["dp"]) > 0.1


def test_a_choice_of_pairs_that_looks_at_the_groups_is_found(six, exact):
    """Pairs of one group are picked more often: a split then has another chance than the merge that undoes it."""

    def by_group(groups):
        return (groups.label[:, None] == np.arange(8)).astype(float)

    assert distance(run(six, "dp", 10_000, (2, 0), features_of=by_group), exact["dp"]) > 0.1


@pytest.mark.parametrize("anew", [False, True])
def test_every_move_is_that_of_the_twin(anew):
    rng = np.random.default_rng(1)
    presence = rng.random((14, 9)) < np.repeat([[0.6], [0.3]], 7, axis=0)
    presence[:, 0] = True
    family = np.array([0] * 5 + [1] * 4)
    corpus = mg.corpus_of(sparse.csr_array(presence.astype(float)), family, 2)
    prior = mg.PartitionPrior("dp", 1.3)
    tables = mg.make_tables(corpus, STRENGTHS, POWER, prior)
    twin = Twin([np.flatnonzero(row) for row in presence], tables.alpha, family, STRENGTHS, POWER / 2, 1.3)
    features = rng.normal(size=(14, 3))
    label, changed = np.repeat([0, 1, 2], [5, 5, 4]), set()
    for seed in range(60):
        groups = mg.seat(corpus, tables, label)
        groups, accepted = sp.pair_moves(np.random.default_rng(seed), corpus, tables, groups, features, 1, anew)
        wanted = twin.move(np.random.default_rng(seed), label, features, anew)
        assert same_partition(groups.label, wanted)
        if not anew:  # what was shared out may be what was there
            assert accepted == (not same_partition(label, wanted))
        changed.add(len(set(wanted)) - len(set(label)) if not same_partition(label, wanted) else None)
        label = np.asarray(wanted)
        seated = mg.seat(corpus, tables, groups.label)
        used = groups.size > 0
        assert np.array_equal(groups.count[:, used], seated.count[:, seated.size > 0])
        assert np.allclose(groups.logs[:, used], seated.logs[:, seated.size > 0])
    assert changed == ({0, None} if anew else {-1, 1, None})


def test_closed_chains_keep_the_number(six):
    sampler = sp.PartitionSampler(
        six, STRENGTHS, POWER, mg.PartitionPrior("dp", 1.0), starts=sp.ManyGroups(FEATURES, 3), closed=True
    )
    rng = np.random.default_rng(0)
    state = sampler.init(rng)
    for _ in range(50):
        state, info = sampler.step(rng, state)
        assert info["n_groups"] == 3
        assert info["split_or_merged"] == 0
