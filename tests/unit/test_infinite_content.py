"""Learnt numbers of states of nodes with content: posteriors of families, the bound, the sampler, the estimators."""

from collections import Counter

import numpy as np
import pytest

import arbora as ab
from arbora import Forest
from arbora.forest.content import Column
from arbora.forest.sharing import share
from arbora.models.hidden_tree import inferred_states as hs
from arbora.models.hidden_tree import state_gibbs as sg
from arbora.models.hidden_tree import state_weights as sw
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from arbora.models.hidden_tree.emissions.posteriors import posterior_of
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.hidden_tree.top_down_tree import TopDownTree, of_labels
from tests.reference import infinite_states as twin
from tests.reference.hidden_tree import nodes_of
from tests.unit.test_content import nested
from tests.unit.test_content_gibbs import MeanForgets
from tests.unit.test_families import FAMILIES, statistics_of, values_of

directions = pytest.mark.parametrize("direction", ["up", "down"])
PRIOR = 0.7
families = pytest.mark.parametrize("name", FAMILIES)


def expected_density(one, values, q):
    """Expected log density of each value, [row, state, component]; the twin of the passes' tables."""
    if one.holds == "number":
        first, second, third = one.log_terms(q)
        constant = np.broadcast_to(one.row_constant(values), values.shape)
        x = np.where(np.isnan(values), 0.0, values)[:, None, None]
        gaussian = third - second * (x - first) ** 2
        found = (gaussian if one.name == "gaussian" else x * first - second) + constant[:, None, None]
        return np.where(np.isnan(values)[:, None, None], 0.0, found)
    words, logs = one.row_words(values), one.log_words(q)
    return np.asarray(words @ logs.reshape(len(logs), -1)).reshape(-1, *logs.shape[1:])


@families
def test_the_bound_at_the_posterior_is_the_marginal_and_elsewhere_less(name):
    """E log density minus the divergence: exact where the posterior is that of the values."""
    rng = np.random.default_rng(0)
    family, one = FAMILIES[name], posterior_of(FAMILIES[name])
    values, weight = values_of(name, rng, 12), rng.integers(0, 2, 12).astype(float)
    statistics = statistics_of(family, values, weight)
    q = one.mode(statistics, None, PRIOR)

    def bound(q):
        return float((weight[:, None, None] * expected_density(one, values, q)).sum() + one.log_prior(q, PRIOR).sum())

    marginal = float(family.log_marginal(statistics, PRIOR).sum())
    assert bound(q) == pytest.approx(marginal, abs=1e-9)
    for _ in range(10):
        other = tm.mapped(lambda x: x * np.exp(0.3 * rng.standard_normal(x.shape)), q)
        assert bound(other) < marginal - 1e-6
    nothing = tm.mapped(np.zeros_like, statistics)
    np.testing.assert_allclose(one.log_prior(one.mode(nothing, None, PRIOR), PRIOR), 0.0, atol=1e-9)


@families
def test_expected_densities_are_means_over_draws(name):
    rng = np.random.default_rng(1)
    family, one = FAMILIES[name], posterior_of(FAMILIES[name])
    values = values_of(name, rng, 12)
    statistics = statistics_of(family, values, np.ones(12))
    n = 20_000
    many = tm.mapped(lambda x: np.repeat(x, n, axis=-1), statistics)
    drawn = family.log_density(values, family.draw(rng, 1, n, PRIOR, many))[:, 0]
    found = expected_density(one, values, one.mode(statistics, None, PRIOR))[:, 0, 0]
    error = drawn.std(axis=1) / np.sqrt(n)
    assert np.abs(drawn.mean(axis=1) - found).max() < 1e-9 + 4.5 * error.max()
    assert (np.abs(drawn.mean(axis=1) - found) < 1e-9 + 4.5 * error).all()


def _forest(n_trees=20):
    forest = Forest.from_nested(nested(3, n_trees)).with_content({})
    rng, n = np.random.default_rng(0), forest.n_nodes
    missing = lambda: rng.random(n) < 0.25  # noqa: E731
    numbers = np.where(missing(), np.nan, rng.normal(rng.choice([-3.0, 3.0], n), 1.0))
    words = [None if gone else {"a": 2, "b": int(rng.integers(3))} for gone in missing()]
    codes = [None if gone else "pq"[int(rng.integers(2))] for gone in missing()]
    flags = [None if gone else bool(rng.integers(2)) for gone in missing()]
    counts = [None if gone else int(rng.poisson(3)) for gone in missing()]
    columns = {"x": Column.numbers(numbers), "n": Column.counts(counts), "f": Column.flags(flags)}
    return forest.with_content(columns | {"c": Column.codes(codes), "w": Column.bags(words)})


@directions
@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
@pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")
def test_the_bound_with_all_families_never_falls(direction, n_components):
    given = {"max_states": 4, "direction": direction, "n_sweeps": 0, "tol": 0.0, "max_iter": 25, "random_state": 0}
    model = ab.HiddenTreeMixture(n_components, "infer", emission_prior=PRIOR, **given).fit(_forest())
    assert len(model.content_params_) == 6
    assert len(model.history_) == 25
    assert np.diff(model.history_).min() > -1e-9 * abs(model.history_[0])


@directions
def test_a_column_of_labels_gives_the_bound_of_labels(direction):
    forest = Forest.from_nested(nested(3, 10))
    kind = TopDownTree if direction == "down" else SwitchingTree
    words = forest.vocabulary
    codes = Column.codes([words[m] for m in forest.label])
    copied = forest.with_content({"copy": codes})
    of_words = of_labels if direction == "down" else SwitchingTree.of_labels
    labels = hs.InferredStates(of_words(forest.n_slots, len(words), 3)).for_fit()
    family = Columns((("copy", Categorical(len(words), words)),), len(words))
    columns = hs.InferredStates(kind(forest.n_slots, family, 3)).for_fit()
    priors = hs.Priors(emission=PRIOR)
    start = labels.start(np.random.default_rng(0), 1, forest, None)
    copy = start._replace(tree=start.tree._replace(emission={"c0": start.tree.emission}))
    with (
        Batch(labels, share(forest.arrays, forest.n_slots), None, 1) as one,
        Batch(columns, share(copied.arrays, forest.n_slots, content=copied.rows(family.wanted)), None, 1) as other,
    ):
        for _ in range(3):
            found, p = one.expected_counts(MixtureParams(np.ones(1), start))
            counts, q = other.expected_counts(MixtureParams(np.ones(1), copy))
            assert q == pytest.approx(p, rel=1e-10)
            start, copy = labels.m_step(found.tree, start, priors), columns.m_step(counts.tree, copy, priors)
            np.testing.assert_allclose(columns.log_prior(copy, priors), labels.log_prior(start, priors), rtol=1e-9)
    np.testing.assert_allclose(columns.means(copy).tree.emission["c0"], labels.means(start).tree.emission, atol=1e-9)


# ---- the sampler ----

TREES = Forest.from_nested([("0", ["1", "1"]), ("0", ["1", "0"])], vocabulary=["0", "1"])
VALUES = [-1.2, -0.9, np.nan, 1.6, 1.3, 0.1]
PLAIN = Gaussian(0.2, 0.3, 0.1, 3.0)


def sampler_distance(direction, n_sweeps, monkeypatch, family=PLAIN):
    """Total variation between what the weak limit visits and the enumerated posterior, concentrations held at one."""
    monkeypatch.setattr(sw, "draw_concentration", lambda rng, now, customers, n_tables: now)
    emission = Columns((("label", Categorical(2)), ("x", family)))
    model = hs.InferredStates((TopDownTree if direction == "down" else SwitchingTree)(2, emission, 2))
    forest = TREES.with_content({"x": np.array(VALUES)})
    rng, seen, priors = np.random.default_rng(0), Counter(), hs.Priors()
    with Batch(model, share(forest.arrays, 2, content=forest.rows(emission.wanted)), None, 1) as batch:
        bags = model.completed(batch)
        now = sg.StateDraw(MixtureParams(np.ones(1), model.draw(rng, 1, priors)), priors, None)
        for _ in range(n_sweeps):
            now = sg.sweep(rng, batch, bags, now)
            first = model._first(now.counts)[..., 0].reshape(-1, 2)
            transition = now.counts.transition[..., 0].reshape(-1, 2)
            seen[twin.key_of(first, transition, now.counts.emission["c0"][..., 0].T)] += 1

    def of_numbers(states):
        hard = np.eye(2)[list(states)][:, :, None]
        made = tm.mapped(lambda table: np.zeros((*table.shape, 1)), PLAIN.statistics_tables(2))
        PLAIN.add_statistics(np.array(VALUES), hard, made)
        return PLAIN.log_marginal(made, 1.0).sum()

    trees = [nodes_of(TREES, t) for t in range(2)]
    wanted, _ = twin.exact_keys(direction, trees, 2, 2, 2, (1.0, 1.0), 1.0, 1.0, of_numbers)
    return twin.distance(wanted, seen)


def test_the_weak_limit_with_numbers_draws_from_the_enumerated_posterior(monkeypatch):
    good = sampler_distance("up", 2000, monkeypatch)
    assert good < 0.09
    assert sampler_distance("up", 2000, monkeypatch, MeanForgets(0.2, 0.3, 0.1, 3.0)) > good + 0.05


@pytest.mark.slow
@directions
def test_a_long_chain_with_numbers_comes_close(direction, monkeypatch):
    assert sampler_distance(direction, 30_000, monkeypatch) < 0.03
    assert sampler_distance(direction, 30_000, monkeypatch, MeanForgets(0.2, 0.3, 0.1, 3.0)) > 0.1


# ---- estimators ----


def planted(n_trees=60):
    """Three states that only numbers tell apart, each like its parent's."""
    forest = Forest.from_nested([("a", ["a", ("a", ["a", "a"])])] * n_trees)
    rng, state = np.random.default_rng(0), np.zeros(n_trees * 5, np.int64)
    for u in range(forest.n_nodes)[::-1]:
        p = forest.parent[u]
        state[u] = state[p] if p >= 0 and rng.random() < 0.6 else rng.integers(3)
    return forest.with_content({"x": rng.normal(np.array([-6.0, 0.0, 6.0])[state], 1.0)})


@pytest.mark.compiled
@directions
@pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")
def test_states_that_numbers_tell_apart_are_counted(direction, tmp_path):
    forest = planted()
    model = ab.HiddenTree("infer", max_states=6, direction=direction, n_sweeps=60, random_state=0).fit(forest)
    assert model.n_states_ == 3
    np.testing.assert_allclose(np.sort(model.content_params_["x"]["mean"].ravel()[:3]), [-6.0, 0.0, 6.0], atol=0.5)
    assert (
        model.n_parameters() < ab.HiddenTree("infer", random_state=0, n_sweeps=0).fit(forest).spec_.n_free_parameters()
    )
    model.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(again.score_samples(forest), model.score_samples(forest))
    assert again.column_scores(forest)["x"].gain > 0
    assert len(again.emissions(5)) == 1
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=60)
    on_disk = ab.HiddenTree("infer", max_states=6, direction=direction, n_sweeps=0, random_state=0)
    np.testing.assert_allclose(on_disk.fit(store).history_[-1], on_disk.fit(forest).history_[-1], rtol=1e-9)


@pytest.mark.compiled
@directions
@pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")
@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
def test_the_infinite_mixture_learns_states_of_numbers(direction, tmp_path):
    forest = planted(30)
    settings = {"direction": direction, "n_iter": 12, "n_chains": 1, "n_start": 2, "random_state": 0}
    model = ab.InfiniteHiddenTreeMixture("infer", max_states=4, **settings).fit(forest)
    assert np.isfinite(model.new_group_evidence(forest).log_prob).all()
    model.save(tmp_path / "m.arbora")
    np.testing.assert_array_equal(ab.load(tmp_path / "m.arbora").predict(forest), model.predict(forest))
    assert model.content_params_["x"]["mean"].shape == (model.n_components_, 4)
