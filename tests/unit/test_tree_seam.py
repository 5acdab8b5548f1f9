"""The seam of tree models: a model in one file gets everything, and what it computes is right by enumeration."""

import sys

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ArboraError, ModelFileError
from arbora.files.container import read_container, write_container
from arbora.forest.sharing import share
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.dp_samplers import ProcessPrior
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.registry import MODELS, Model
from arbora.report.gather import gather
from tests import bag_of_labels, examples
from tests.bag_of_labels import BagMixture, BagOfLabels, BagPriors, InfiniteBagMixture


@pytest.fixture(scope="module")
def forest():
    return make_documents(6, random_state=0)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The rows of the registry, and the module where they say it is."""
    monkeypatch.setitem(sys.modules, "arbora.models.bag_of_labels", bag_of_labels)
    for name in ("BagMixture", "InfiniteBagMixture"):
        parts = ("sampled", "draws") if name.startswith("Infinite") else ()
        monkeypatch.setitem(MODELS, name, Model("bag_of_labels", ("clusters", "probabilities", *parts)))


def test_likelihood_is_that_of_labels_in_any_order():
    forest = examples.random_forest(n_trees=20, max_nodes=9, n_labels=3, seed=1)
    model = BagOfLabels(3)
    params = model.draw(np.random.default_rng(0), 2)
    found = Batch(model, share(forest.arrays, 1), None, 1).log_likelihood(params)
    for t in range(forest.n_trees):
        labels = forest[[t]].label
        wanted = np.log(params.word[labels[labels >= 0]]).sum(axis=0)
        np.testing.assert_allclose(found[t], wanted, rtol=1e-12, atol=1e-12)


def test_em_never_falls_and_finds_the_classes(forest):
    fitted = BagMixture(5, tol=0, max_iter=20, random_state=0).fit(forest)
    assert np.diff(fitted.history_).min() >= -1e-9 * abs(fitted.history_[-1])
    assert fitted.label_prob_.shape == (5, forest.n_labels)
    assert adjusted_rand_score(forest.target, fitted.labels_) > 0.5
    np.testing.assert_allclose(fitted.counts_["word"].sum(), forest.n_nodes)


@pytest.mark.parametrize("kind", [BagMixture, InfiniteBagMixture])
def test_files_keep_everything_and_forged_ones_are_refused(forest, tmp_path, kind):
    fitted = kind(random_state=0).fit(forest)
    path = tmp_path / "m.arbora"
    fitted.save(path)
    loaded = ab.load(path)
    assert isinstance(loaded, kind)
    np.testing.assert_array_equal(loaded.predict_proba(forest), fitted.predict_proba(forest))
    version, header, arrays = read_container(path, "model")
    arrays = {**arrays, "label_prob_": np.asarray(arrays["label_prob_"]) * 0.5}
    write_container(path, "model", version, header, arrays)
    with pytest.raises(ModelFileError, match="sum to one"):
        ab.load(path)


def test_stores_threads_batches_and_checkpoints(forest, tmp_path):
    here = BagMixture(3, random_state=0, tol=0, max_iter=5).fit(forest)
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=200)
    there = BagMixture(3, random_state=0, tol=0, max_iter=5, n_jobs=2).fit(store)
    np.testing.assert_allclose(there.label_prob_, here.label_prob_, rtol=1e-9)
    assert BagMixture(3, random_state=0).partial_fit(forest[:15]).partial_fit(forest[15:]).n_batches_ == 2
    path = tmp_path / "fit.checkpoint"
    kept = BagMixture(3, random_state=0, tol=0, max_iter=5, checkpoint=path).fit(forest)
    again = BagMixture(3, random_state=0, tol=0, max_iter=5, checkpoint=path).fit(forest)
    np.testing.assert_array_equal(kept.label_prob_, again.label_prob_)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cluster_gives_the_same_bits(forest, tmp_path):
    dask = pytest.importorskip("distributed")
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=200)
    here = BagMixture(3, random_state=0, tol=0, max_iter=3).fit(store)
    cluster = dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    with cluster, dask.Client(cluster) as client, ab.distributed(client):
        there = BagMixture(3, random_state=0, tol=0, max_iter=3).fit(ab.ForestStore(store.path))
    np.testing.assert_array_equal(there.label_prob_, here.label_prob_)


@pytest.mark.parametrize("kind", [BagMixture, InfiniteBagMixture])
def test_reports(forest, kind):
    page = gather(kind(random_state=0).fit(forest), forest)
    assert page["manifest"]["model"] == kind.__name__
    assert page["groups"]


def log_marginal(bags, alpha):
    """Log P(labels of a group), by the chain rule of the urn."""
    total = np.sum(bags, axis=0)
    n = len(total)
    constant = gammaln(n * alpha) - gammaln(n * alpha + total.sum())
    return constant + (gammaln(alpha + total) - gammaln(alpha)).sum()


PARTITIONS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]


def exact_posterior(bags, alpha, concentration):
    """Of the partitions of three trees."""
    logs = []
    for partition in PARTITIONS:
        groups = [[bags[t] for t in range(3) if partition[t] == g] for g in range(max(partition) + 1)]
        prior = sum(np.log(concentration) + gammaln(len(group)) for group in groups)
        logs.append(prior + sum(log_marginal(group, alpha) for group in groups))
    weight = np.exp(np.array(logs) - max(logs))
    return weight / weight.sum()


@pytest.mark.compiled
def test_the_sampler_draws_from_the_enumerated_posterior_and_a_planted_bug_does_not():
    forest = ab.Forest.from_nested([("a", ["b", "a"]), ("a", ["a"]), ("b", ["b", ("c", ["b"])])])
    bags = [np.bincount(forest[[t]].label, minlength=3) for t in range(3)]
    exact = exact_posterior(bags, 0.7, 1.5)

    def distance(prior, concentration):
        batch = Batch(BagOfLabels(3), share(forest.arrays, 1), None, 1)
        chain = ExactGibbs(batch, ProcessPrior(BagPriors(prior), concentration), None, 1)
        rng, count = np.random.default_rng(0), np.zeros(len(PARTITIONS))
        state = chain.init(rng)
        for _ in range(2500):
            state, _ = chain.step(rng, state)
            _, first = np.unique(state.label, return_index=True)
            order = np.argsort(np.argsort(first))
            count[PARTITIONS.index(tuple(int(order[k]) for k in state.label))] += 1
        return 0.5 * np.abs(count / count.sum() - exact).sum()

    assert distance(0.7, 1.5) < 0.05
    assert distance(0.7, 4.0) > 0.1  # as if new groups weighed more than they should


def test_new_groups_have_the_evidence_of_the_urn(forest):
    fitted = InfiniteBagMixture(random_state=0, prior=0.5).fit(forest)
    found = fitted.new_group_evidence(forest)
    for t in (0, 7, 20):
        bag = np.bincount(forest[[t]].label, minlength=forest.n_labels)
        assert found.log_prob[t] == pytest.approx(log_marginal([bag], 0.5), rel=1e-12)
    assert fitted.labels_.shape == (forest.n_trees,)
    assert fitted.n_groups_posterior().probability
    assert InfiniteBagMixture(update="em", random_state=0).fit(forest).n_components_ >= 1


def test_nested_tuples_and_dicts_of_arrays_survive_their_names():
    values = {"a": bag_of_labels.BagArrays(np.arange(3.0)), "b": np.ones(2)}
    names = tm.named(values)
    assert sorted(names) == ["a.word", "b"]
    again = tm.unnamed(values, names)
    assert again["a"].word is values["a"].word
    assert tm.mapped(lambda x: x.sum(), values) == {"a": bag_of_labels.BagArrays(3.0), "b": 2.0}


def test_names_that_are_taken_are_refused():
    class Taken(BagOfLabels):
        @property
        def tables(self):
            return {"label": tm.Table("label_prob_", (self.n_labels,), 0)}

    with pytest.raises(ArboraError, match="taken"):
        Batch(Taken(2), [], None, 1)


def test_a_model_survives_its_header():
    for model in (
        SwitchingTree.of_labels(3, 5, 2, "slot", "branching", True, (0.1, 0.2, 0.3)),
        SwitchingTree.of_labels(1, 0, 1),
    ):
        assert SwitchingTree.from_header(model.header()) == model
    for wrong in ([0, 2, 1, "bottom", None, False], [1, -1, 1, "bottom", None, False], [1, 1, 1, "up", None, False]):
        with pytest.raises(ValueError, match="make no sense"):
            SwitchingTree.from_header(wrong)
