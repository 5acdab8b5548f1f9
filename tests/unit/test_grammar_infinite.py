"""The Dirichlet process of label chains: the sampler against all 203 partitions of six trees, chains, checkpoints."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.models.grammar import events as ev
from arbora.models.grammar import fitting, infinite
from arbora.models.grammar.kernels import gibbs
from arbora.models.sampled import Seating
from tests.reference import grammar as twin
from tests.reference.partitions import set_partitions

SIX = [("a", ["b", "b"]), ("a", ["b"]), ("a", ["b", "c"]), ("c", ["a"]), ("c", ["c"]), ("a", ["c", "b", "b"])]
N_SWEEPS = 20_000


def sampler_of(trees, **settings):
    forest = ab.Forest.from_nested(trees)
    found = fitting.trees_of(forest, ev.alphabet_of(forest), None)
    asked = {"concentration": 1.5, "concentration_prior": None, "n_start": 3, "n_split_merge": 0, **settings}
    return infinite.sampler_of(found, np.random.default_rng(0), infinite.ChainPlan(**asked))[0], found


def exact(sampler, found, concentration=1.5):
    """Posterior of every partition, by enumeration of dictionaries."""
    bags = []
    for t in range(sampler.n_trees):
        at = slice(sampler.bags.start[t], sampler.bags.start[t + 1])
        bags.append(dict(zip(sampler.bags.cell[at].tolist(), sampler.bags.times[at].tolist(), strict=True)))
    rows = found.data.levels.cell_row.tolist()
    parts = [tuple(p) for p in set_partitions(len(bags))]
    value = [twin.log_partition(p, bags, sampler.prior.cell, sampler.prior.row, rows, concentration) for p in parts]
    weight = np.exp(np.array(value) - max(value))
    return dict(zip(parts, weight / weight.sum(), strict=True)), dict(zip(parts, value, strict=True))


def total_variation(sampler, wanted, n_sweeps=N_SWEEPS):
    rng = np.random.default_rng(0)
    state = sampler.init(rng)
    seen = dict.fromkeys(wanted, 0)
    for _ in range(n_sweeps):
        state, _ = sampler.step(rng, state)
        first = {}
        seen[tuple(first.setdefault(g, len(first)) for g in state.label.tolist())] += 1
    return 0.5 * sum(abs(seen[p] / n_sweeps - wanted[p]) for p in wanted)


@pytest.mark.compiled
@pytest.mark.parametrize("n_split_merge", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_the_sampler_draws_all_203_partitions_as_often_as_it_should(n_split_merge):
    sampler, found = sampler_of(SIX, n_split_merge=n_split_merge)
    wanted, _ = exact(sampler, found)
    assert len(wanted) == 203
    assert max(wanted.values()) < 0.6  # or the test would say little
    assert total_variation(sampler, wanted) < 0.04


@pytest.mark.slow
@pytest.mark.compiled
def test_splits_and_merges_alone_move_between_all_partitions(monkeypatch):
    """Without sweeps of single trees, sequential allocation must have the right ratio on its own."""
    sampler, found = sampler_of(SIX, n_split_merge=4)
    wanted, _ = exact(sampler, found)
    monkeypatch.setattr(infinite.gibbs, "sweep", lambda rng, bags, rises, order, a, state: len(order))
    assert total_variation(sampler, wanted) < 0.04


@pytest.mark.compiled
@pytest.mark.parametrize("bug", ["concentration", "rows", "split"])
def test_a_planted_bug_is_found(bug, monkeypatch):
    sampler, found = sampler_of(SIX, n_split_merge=3)
    wanted, _ = exact(sampler, found)
    if bug == "rows":  # totals of rows forgotten by half
        sampler.rises = infinite.rises_of(sampler.bags, sampler.prior._replace(row=sampler.prior.row * 2))
    elif bug == "concentration":
        sampler.settings = sampler.settings._replace(concentration=3.0)
    else:  # the split pays twice for its new group
        real = gibbs.split_merge
        monkeypatch.setattr(infinite.gibbs, "split_merge", lambda r, b, p, a, l, g: real(r, b, p, a + 1.0, l, g))
    assert total_variation(sampler, wanted, 4000) > 0.06


def test_the_log_joint_is_that_of_the_enumeration():
    sampler, found = sampler_of(SIX)
    _, value = exact(sampler, found)
    parts = list(value)
    mine = [sampler.log_joint(Seating(np.array(p), 1.5)) for p in parts]
    shift = np.array(mine) - np.array(list(value.values()))
    np.testing.assert_allclose(shift, shift[0], rtol=1e-9)


def test_predictives_add_to_the_marginal():
    sampler, _ = sampler_of(SIX)
    n = sampler.n_trees
    whole = sampler.groups(np.zeros(n, np.int64))
    filled = gibbs.Groups(*(np.zeros_like(part) for part in whole))
    total, log_prob = 0.0, np.empty(len(whole.size))
    for t in range(n):
        gibbs.log_predictives(sampler.bags, sampler.rises, t, filled, log_prob)
        total += log_prob[0]
        gibbs._move(sampler.bags, t, filled, 0, 1)
    assert total == pytest.approx(gibbs.log_marginals(sampler.rises, whole)[0], rel=1e-12)


def test_more_groups_than_places_are_opened():
    """A large concentration opens more groups in a sweep than places are kept ready."""
    trees = [("a", ["b"] * (n % 5)) for n in range(60)]
    sampler, _ = sampler_of(trees, concentration=1e8)
    state = Seating(np.zeros(60, np.int64), 1e8)
    state, info = sampler.step(np.random.default_rng(0), state)
    assert info["n_components"] > 2 * infinite.SPARE_PLACES
    assert np.array_equal(np.unique(state.label), np.arange(info["n_components"]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_groups_are_found_and_the_posterior_is_read():
    forest = make_asymmetric_trees(12, random_state=0)
    model = ab.TreeGrammarMixture(None, number="process", n_iter=12, n_chains=2, random_state=0).fit(forest)
    assert model.n_components_ == model.labels_.max() + 1 == len(model.weight_)
    assert model.draws().shape == (2, 6, len(forest))
    assert model.co_clustering().shape == (len(forest),) * 2
    assert model.n_groups_posterior().probability.sum() == pytest.approx(1.0)
    assert model.concentration_ == 1.0
    assert model.burstiness_ == 0.0
    assert model.score(forest) > ab.TreeGrammarMixture(1, random_state=0).fit(forest).score(forest)
    assert len(set(model.cut(2))) == 2


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_concentration_is_learnt_and_a_checkpoint_goes_on(tmp_path):
    forest = make_asymmetric_trees(6, random_state=0)
    settings = {"number": "process", "concentration_prior": (1.0, 1.0), "n_chains": 1, "random_state": 0}
    whole = ab.TreeGrammarMixture(None, n_iter=8, burn_in=2, **settings).fit(forest)
    ab.TreeGrammarMixture(None, n_iter=4, burn_in=2, checkpoint=tmp_path / "c", **settings).fit(forest)
    again = ab.TreeGrammarMixture(None, n_iter=8, burn_in=2, checkpoint=tmp_path / "c", **settings).fit(forest)
    assert np.array_equal(whole.trace_.stack("label"), again.trace_.stack("label"))
    assert len(set(whole.trace_.stack("concentration").ravel().tolist())) > 1


def test_the_posterior_mean_of_the_number_is_that_of_the_prior_without_data():
    """Trees that say nothing: the number of groups follows the Chinese restaurant."""
    sampler, _ = sampler_of([None] * 5)
    rng = np.random.default_rng(0)
    state, total = sampler.init(rng), 0
    n = 4000
    for _ in range(n):
        state, info = sampler.step(rng, state)
        total += info["n_components"]
    expected = sum(1.5 / (1.5 + i) for i in range(5))
    assert abs(total / n - expected) < 0.12
