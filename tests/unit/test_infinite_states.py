"""Learnt numbers of states: variational EM, the weak-limit sampler and its closed-form oracle."""

from collections import Counter

import numpy as np
import pytest

import arbora as ab
from arbora import Forest
from arbora.datasets import make_asymmetric_trees
from arbora.errors import NotConvergedWarning, SettingError, StatesUsedUpWarning
from arbora.forest.sharing import share
from arbora.models.hidden_tree import inferred_states as hs
from arbora.models.hidden_tree import state_gibbs as sg
from arbora.models.hidden_tree import state_weights as sw
from arbora.models.hidden_tree.directions import HiddenTrees
from arbora.models.hidden_tree.dp_samplers import ProcessPrior
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.hidden_tree.top_down_tree import of_labels
from tests.reference import infinite_states as twin
from tests.reference.hidden_tree import nodes_of

TREES = Forest.from_nested([("0", ["1", "1"]), ("0", ["1", "0"])], vocabulary=["0", "1"])
directions = pytest.mark.parametrize("direction", ["up", "down"])


def model_of(direction, n_states=3):
    inside = of_labels(2, 2, n_states) if direction == "down" else SwitchingTree.of_labels(2, 2, n_states)
    return hs.InferredStates(inside)


@directions
def test_labellings_sum_to_one_under_the_closed_form(direction):
    total = 0.0
    for labels in np.ndindex(2, 2, 2):
        trees = [[(2, 0, labels[0]), (2, 1, labels[1]), (-1, -1, labels[2])]]
        total += twin.exact_keys(direction, trees, 2, 2, 3, (0.7, 1.3), 1.7, 0.9)[1]
    assert total == pytest.approx(1.0, abs=1e-12)


def visited(direction, n_sweeps, monkeypatch, seed=0, bug=None):
    """Keys that the weak-limit sampler visits, concentrations held at one."""
    monkeypatch.setattr(sw, "draw_concentration", lambda rng, now, customers, n_tables: now)
    if bug == "symmetric rows":
        plain = hs.InferredStates.row_priors
        even = lambda self, p: plain(self, p._replace(state_weight=np.full_like(p.state_weight, 1 / self.n_states)))  # noqa: E731
        monkeypatch.setattr(hs.InferredStates, "row_priors", even)
    if bug == "first rows out of the tables":
        whole = sw.draw_weights
        less = lambda rng, rows, now: whole(rng, rows._replace(first=0.0 * rows.first), now)  # noqa: E731
        monkeypatch.setattr(hs, "draw_weights", less)
    if bug == "no tables":
        monkeypatch.setattr(sw, "draw_tables", lambda rng, counts, base: 0.0 * counts)
    model, rng, seen = model_of(direction), np.random.default_rng(seed), Counter()
    with Batch(model, share(TREES.arrays, 2), None, 1) as batch:
        bags = model.completed(batch)
        now = sg.StateDraw(MixtureParams(np.ones(1), model.draw(rng, 1)), hs.Priors(), None)
        for _ in range(n_sweeps):
            now = sg.sweep(rng, batch, bags, now)
            first = model._first(now.counts)[..., 0].reshape(-1, 3)
            transition = now.counts.transition[..., 0].reshape(-1, 3)
            seen[twin.key_of(first, transition, now.counts.emission[..., 0].T)] += 1
    monkeypatch.undo()
    return seen


def exact(direction):
    trees = [nodes_of(TREES, t) for t in range(2)]
    return twin.exact_keys(direction, trees, 2, 2, 3, (1.0, 1.0), 1.0, 1.0)[0]


def test_the_weak_limit_draws_from_the_enumerated_posterior(monkeypatch):
    wanted = exact("down")
    good = twin.distance(wanted, visited("down", 2000, monkeypatch))
    assert good < 0.08
    assert twin.distance(wanted, visited("down", 2000, monkeypatch, bug="symmetric rows")) > good + 0.05


@pytest.mark.slow
@directions
@pytest.mark.parametrize("bug", ["symmetric rows", "first rows out of the tables", "no tables"])
def test_a_long_chain_comes_close_and_planted_errors_do_not(direction, bug, monkeypatch):
    wanted = exact(direction)
    assert twin.distance(wanted, visited(direction, 40_000, monkeypatch)) < 0.025
    assert twin.distance(wanted, visited(direction, 40_000, monkeypatch, bug=bug)) > 0.035


PARTITIONS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
THREE = Forest.from_nested([("0", ["1", "1"])] * 2 + [("2", ["2"])], vocabulary=["0", "1", "2"])


def partition_posterior(direction, n_states):
    """Of the partitions of three trees, whose groups have weights of states of their own; all else integrated out."""
    trees, evidence, found = [nodes_of(THREE, t) for t in range(3)], {}, []
    for partition in PARTITIONS:
        product = 1.0
        for g in set(partition):
            group = tuple(min(t, 2 * (t == 2)) for t in range(3) if partition[t] == g)  # the first two are equal
            if group not in evidence:
                own = [trees[t] for t in group]
                evidence[group] = twin.exact_keys(direction, own, 2, 3, n_states, (1.0, 1.0), 1.0, 1.0)[1]
            product *= evidence[group] * float(np.prod(np.arange(1, len(group))))
        found.append(product)
    return np.array(found) / sum(found)


def partition_distance(direction, n_states, n_sweeps, monkeypatch, concentration=1.0):
    """Total variation between the partitions that the sampler visits and their posterior."""
    wanted = partition_posterior(direction, n_states)
    monkeypatch.setattr(sw, "draw_concentration", lambda rng, now, customers, n_tables: now)
    kind = of_labels if direction == "down" else SwitchingTree.of_labels
    batch = Batch(hs.InferredStates(kind(2, 3, n_states)), share(THREE.arrays, 2), None, 1)
    chain = sg.StateGibbs(batch, ProcessPrior(hs.Priors(), concentration), None, 1)
    rng, count = np.random.default_rng(0), np.zeros(5)
    state = chain.init(rng)
    for _ in range(n_sweeps):
        state, _ = chain.step(rng, state)
        _, first, number = np.unique(state.label, return_index=True, return_inverse=True)
        count[PARTITIONS.index(tuple(np.argsort(np.argsort(first))[number].tolist()))] += 1
    monkeypatch.undo()
    return 0.5 * np.abs(count / n_sweeps - wanted).sum()


@pytest.mark.compiled
def test_groups_with_learnt_states_are_drawn_from_the_enumerated_posterior(monkeypatch):
    assert partition_distance("down", 2, 1000, monkeypatch) < 0.07
    assert partition_distance("down", 2, 1000, monkeypatch, concentration=4.0) > 0.14


@pytest.mark.slow
@directions
def test_long_chains_of_groups_come_close(direction, monkeypatch):
    assert partition_distance(direction, 3, 12_000, monkeypatch) < 0.03


def geweke(direction, n, seed, concentration=None, monkeypatch=None):
    """Largest distance, in standard errors, between statistics of prior draws and of the sampler."""
    model, rng = model_of(direction), np.random.default_rng(seed)
    skeleton = Forest.from_nested([("0", ["0", ("0", ["0"])]), ("0", ["0", "0"])], vocabulary=["0", "1"])
    (plain,) = share(skeleton.arrays, 2, shared=False)
    lanes = np.zeros(skeleton.n_nodes, np.int64)

    def prior():
        priors = hs.Priors(*rng.standard_gamma(1.0, 3))
        return MixtureParams(np.ones(1), model.draw(rng, 1, priors)), priors

    def statistics(params, priors, labels):
        p = params.tree
        first = model._first(p.tree)[..., 0]
        numbers = [*np.log(priors[:3]), *np.sqrt(priors[:3]), (p.state_weight**2).sum(), (first**2).mean()]
        numbers += [(p.tree.transition**2).mean(), (p.tree.emission**2).mean(), (labels == 0).mean()]
        return [*numbers, (labels[0] == labels[-1]) * 1.0, p.tree.transition[0, 0, 0, 0] * (labels[1] == labels[2])]

    values = []
    for _ in range(3 * n):
        params, priors = prior()
        values.append(statistics(params, priors, model.draw_labels(rng, params.tree, plain, lanes)))
    if concentration is not None:
        monkeypatch.setattr(sw, "draw_concentration", concentration)
    params, priors = prior()
    now = sg.StateDraw(params, priors, None)
    others = []
    for _ in range(n):
        labels = model.draw_labels(rng, now.params.tree, plain, lanes)
        forest = Forest(skeleton.parent, skeleton.slot, labels, skeleton.tree_start, ("0", "1"))
        with Batch(model, share(forest.arrays, 2), None, 1) as batch:
            now = sg.sweep(rng, batch, model.completed(batch), now)
        others.append(statistics(now.params, now.priors, labels))
    a, b = np.array(values), np.array([part.mean(axis=0) for part in np.array_split(np.array(others), 25)])
    spread = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0, ddof=1) / len(b))
    return float(np.abs((a.mean(axis=0) - b.mean(axis=0)) / spread).max())


def without_spare(rng, now, customers, n_tables):
    """Planted: the update of a concentration without the variable that takes tables away."""
    n = np.asarray(customers, np.float64).ravel()
    n = n[n > 0]
    return float(rng.standard_gamma(1.0 + n_tables) / (1.0 - np.log(rng.beta(now + 1.0, n)).sum()))


@pytest.mark.slow
@directions
def test_joint_distribution_is_kept_and_an_error_is_seen(direction, monkeypatch):
    assert geweke(direction, 8000, 0) < 4.0
    assert geweke(direction, 8000, 0, without_spare, monkeypatch) > 6.0


def test_even_weights_give_the_model_with_flat_priors_draw_for_draw():
    for direction in ("up", "down"):
        model = model_of(direction)
        around = model._around(np.full((3, 2), 1 / 3), hs.Priors(first=3.0, transition=3.0))
        ours = model._with_rows(np.random.default_rng(0), around, hs.Priors(), None).tree
        flat = model.tree.draw(np.random.default_rng(0), 2)
        for x, y in zip(ours, flat, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


@directions
@pytest.mark.parametrize("structure", [None, "branching"])
@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
def test_the_bound_of_variational_em_never_falls(direction, structure):
    forest = make_asymmetric_trees(8, random_state=0)
    for n_components in (1, 3):
        model = ab.HiddenTreeMixture(n_components, "infer", max_states=4, direction=direction, structure=structure)
        model.set_params(init="kmeans", max_iter=40, tol=0, random_state=0).fit(forest)
        assert np.diff(model.history_).min() >= -1e-8 * abs(model.history_[-1])
        assert model.n_states_.shape == (n_components,)
        np.testing.assert_allclose(model.state_share_.sum(axis=1), model.weight_ > 1e-9, atol=1e-9)
        assert (np.diff(model.state_share_, axis=1) <= 1e-9).all()  # by decreasing use


def found_states(direction, n_states, seed):
    _, forest = twin.simulate(direction, n_states, seed)
    fit = ab.HiddenTree("infer", direction=direction, structure=None, prior=1.0, random_state=seed)
    return fit.fit(forest).n_states_


@pytest.mark.compiled
@pytest.mark.parametrize(("direction", "n_states"), [("up", 2), ("down", 3)])
def test_numbers_of_states_are_at_most_one_off(direction, n_states):
    assert abs(found_states(direction, n_states, 0) - n_states) <= 1


@pytest.mark.slow
@directions
@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_numbers_of_states_are_mostly_within_one(direction, n_states):
    off = sorted(abs(found_states(direction, n_states, seed) - n_states) for seed in range(5))
    assert off[3] <= 1
    assert off[4] <= 3  # bottom-up, one forest of three states has six


@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
def test_em_that_only_starts_the_sampler_may_end_early(recwarn):
    forest = make_asymmetric_trees(8, random_state=0)
    settings = {"max_states": 8, "max_iter": 2, "structure": None, "random_state": 0}
    ab.HiddenTree("infer", n_sweeps=4, **settings).fit(forest)
    assert not [x for x in recwarn if issubclass(x.category, NotConvergedWarning)]
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        ab.HiddenTree("infer", n_sweeps=0, **settings).fit(forest)


@directions
def test_files_keep_learnt_states_and_a_full_bound_warns(direction, tmp_path):
    forest = make_asymmetric_trees(8, random_state=0)
    fit = ab.HiddenTreeMixture(2, "infer", max_states=6, direction=direction, max_iter=10, n_sweeps=20, random_state=0)
    fit.fit(forest).save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(loaded.predict_proba(forest[::5]), fit.predict_proba(forest[::5]))
    np.testing.assert_array_equal(loaded.n_states_, fit.n_states_)
    assert fit.n_parameters() < 2 * fit.spec_.n_free_parameters()
    assert fit.posterior(forest).shape == (forest.n_nodes, 2, 6)
    assert np.isfinite(fit.node_surprise(forest)).all()
    assert fit.emissions(5)[0].values.shape[0] == 6
    with pytest.warns(StatesUsedUpWarning, match="max_states=2"):
        ab.HiddenTree("infer", max_states=2, direction=direction, n_sweeps=0, random_state=0).fit(forest)
    fit.set_params(n_states=2, n_sweeps=0).fit(forest)
    assert not hasattr(fit, "state_weight_")
    assert not hasattr(fit, "n_states_")
    with pytest.raises(ValueError, match="make no sense"):
        HiddenTrees.from_header(["infer", ["infer", []]])


@pytest.mark.compiled
@directions
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
def test_stores_threads_and_clusters_give_the_same(direction, tmp_path):
    dask = pytest.importorskip("distributed")
    forest = make_asymmetric_trees(10, random_state=0)
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=200)
    settings = {"max_states": 4, "direction": direction, "random_state": 0, "tol": 0, "max_iter": 2, "n_init": 1}
    here = ab.HiddenTreeMixture(2, "infer", **settings).fit(store)
    cluster = dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    with cluster, dask.Client(cluster) as client, ab.distributed(client):
        there = ab.HiddenTreeMixture(2, "infer", **settings).fit(ab.ForestStore(store.path))
    threads = ab.HiddenTreeMixture(2, "infer", n_jobs=2, **settings).fit(store)
    whole = ab.HiddenTreeMixture(2, "infer", **settings).fit(forest)
    for name in ("state_weight_", "emission_prob_", "n_states_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
        np.testing.assert_array_equal(getattr(threads, name), getattr(here, name))
        np.testing.assert_allclose(getattr(whole, name), getattr(here, name), rtol=1e-8, atol=1e-200)


@pytest.mark.compiled
@directions
@pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")
def test_the_infinite_mixture_learns_states_of_its_groups(direction, tmp_path):
    forest = make_asymmetric_trees(15, random_state=0)
    settings = {"direction": direction, "max_states": 4, "n_iter": 12, "n_chains": 1, "random_state": 0}
    fit = ab.InfiniteHiddenTreeMixture("infer", **settings).fit(forest)
    assert fit.n_states_.shape == (fit.n_components_,)
    assert (fit.n_states_ < 4).any()
    fit.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(loaded.predict_proba(forest[::5]), fit.predict_proba(forest[::5]))
    np.testing.assert_array_equal(loaded.n_states_, fit.n_states_)
    assert np.isfinite(fit.new_group_evidence(forest[:2]).log_prob).all()


@directions
def test_evidence_of_a_new_group_has_the_closed_form(direction):
    model = model_of(direction)
    forest = TREES[:1]
    with Batch(model, share(forest.arrays, 2), None, 1) as batch:
        found = model.evidence(batch, hs.Priors(1.0, 1.0, 1.0))
    wanted = twin.exact_keys(direction, [nodes_of(forest, 0)], 2, 2, 3, (1.0, 1.0), 1.0, 1.0)[1]
    assert abs(found.log_prob[0] - np.log(wanted)) < 4 * max(found.error[0], 0.03)


def test_settings_that_do_not_go_together_are_refused():
    trees = [("a", ["b", "c"])] * 3
    cases = [{"absent": "slot"}, {"transition_prior": 1.5}, {"leaf_prior": 2.0}, {"max_states": 0}, {"n_sweeps": -1}]
    for settings in cases:
        with pytest.raises(SettingError, match=next(iter(settings))):
            ab.HiddenTree("infer", **settings).fit(trees)
    with pytest.raises(SettingError, match="n_states='many'"):
        ab.HiddenTree("many").fit(trees)
    with pytest.raises(SettingError, match="partial_fit"):
        ab.HiddenTree("infer").partial_fit(trees)
    with pytest.raises(SettingError, match="sample_weight"):
        ab.HiddenTree("infer").fit(trees, sample_weight=[1, 2, 3])
    with pytest.raises(SettingError, match="only with update='gibbs'"):
        ab.InfiniteHiddenTreeMixture("infer", update="em").fit(trees)
