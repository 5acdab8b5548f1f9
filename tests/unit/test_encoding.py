"""Every encoding against its slow twin, and what it costs."""

import numpy as np
import pytest
from scipy import sparse

import arbora as ab
from arbora.errors import SettingError
from arbora.models.hidden_tree.encoding import ENCODINGS, NEGLIGIBLE
from tests import examples
from tests.reference import encoding as slow
from tests.reference import hidden_tree as twin


def a_model(n_components=3, n_states=2, absent="bottom", structure="branching", n_slots=None):
    forest = examples.random_forest(30, n_labels=4, seed=1)
    model = ab.HiddenTreeMixture(n_components, n_states, absent=absent, structure=structure, n_slots=n_slots)
    return model.set_params(max_iter=3, tol=0, random_state=0, sparse_output=True).fit(forest), forest


def naive(model, forest, name):
    forest = forest.with_vocabulary(model.vocabulary_)
    proba = ab.HiddenTreeMixture.predict_proba(model, forest)
    proba = np.where(proba < NEGLIGIBLE, 0.0, proba)
    rows = []
    for t in range(forest.n_trees):
        tree = twin.nodes_of(forest, t)
        node = []
        for k in range(len(model.weight_)):
            arrays = [
                model.leaf_prob_[k],
                model.emission_prob_[k],
                model.switch_prob_[k],
                model.transition_prob_[k],
                model.branching_prob_[k] if model.structure else None,
            ]
            node.append(twin.upward_downward(tree, twin.Theta(*arrays, model.absent, model.spec_.pooled)).node)
        rows.append(slow.encode(name, tree, node, proba[t], model.n_slots_, len(model.vocabulary_)))
    return np.array(rows)


@pytest.mark.parametrize("name", sorted(ENCODINGS))
@pytest.mark.parametrize(("absent", "structure"), [("bottom", "branching"), ("literal", None), ("slot", None)])
def test_every_encoding_equals_its_twin(name, absent, structure):
    model, forest = a_model(absent=absent, structure=structure)
    some = ab.Forest.concat([forest[:8], forest[:3]])  # some trees twice
    codes = model.set_params(encoding=name).transform(some)
    np.testing.assert_allclose(codes.toarray(), naive(model, some, name), rtol=1e-10, atol=1e-10)
    assert len(model.get_feature_names_out()) == codes.shape[1]
    assert len(set(model.get_feature_names_out())) == codes.shape[1]


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_awkward_trees_are_encoded(name, awkward_small):
    model, _ = a_model(n_slots=2)
    known = awkward_small.with_vocabulary(model.vocabulary_)
    codes = model.set_params(encoding=name).transform(known)
    assert np.isfinite(codes.data).all()
    np.testing.assert_allclose(codes.toarray(), naive(model, known, name), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_memory_is_proportional_to_what_is_not_zero(name):
    model, forest = a_model(n_slots=None)
    codes = model.set_params(encoding=name).transform(forest)
    assert isinstance(codes, sparse.csr_array)
    assert codes.nnz == np.count_nonzero(codes.data)
    assert codes.data.nbytes + codes.indices.nbytes + codes.indptr.nbytes == 12 * codes.nnz + 4 * (len(forest) + 1)
    dense = model.set_params(sparse_output=False).transform(forest)
    assert np.array_equal(dense, codes.toarray())


def test_columns_far_beyond_memory_are_no_trouble():
    """A tree with few slots and labels among very many: the dense matrix would take terabytes."""
    wide = ab.Forest.from_nested([("w0", [f"w{m}" for m in range(300)]), *[("w0", ["w1"])] * 5])
    model = ab.HiddenTreeMixture(80, 4, encoding="score", sparse_output=True, max_iter=1, tol=0, random_state=0).fit(
        wide
    )
    codes = model.transform(wide)
    per_component = 4 * ((301 + 300) + 5 * (2 + 2))
    assert codes.nnz <= 80 * per_component + 6 * 80
    assert codes.shape == (6, 80 * 4 * (301 + 300) + 80)


def test_what_the_encodings_add_up_to():
    model, forest = a_model()
    sizes = forest.sizes.astype(float)
    by = {name: model.set_params(encoding=name).transform(forest) for name in ENCODINGS}
    np.testing.assert_allclose(by["sum"].sum(axis=1), 3 * sizes, rtol=1e-10)
    np.testing.assert_allclose(by["weighted"].sum(axis=1), sizes, rtol=1e-5)  # negligible components are left out
    np.testing.assert_allclose(by["posterior"][:, -3:].toarray(), model.predict_proba(forest), atol=NEGLIGIBLE)
    assert np.array_equal(by["log"].toarray(), np.log1p(by["sum"].toarray()))
    n_slot_columns = by["log"].shape[1]
    assert np.array_equal(by["score"][:, :n_slot_columns].toarray(), by["log"].toarray())
    labels = np.expm1(by["score"][:, n_slot_columns:-3].toarray()).reshape(len(forest), 3, 4, 2)
    counts = np.zeros((len(forest), 4))
    np.add.at(counts, (np.repeat(np.arange(len(forest)), forest.sizes), forest.label), 1.0)
    np.testing.assert_allclose(labels.sum(axis=3), np.repeat(counts[:, None], 3, axis=1), atol=1e-10)


def test_a_single_hidden_tree_and_the_infinite_mixture_encode_alike():
    forest = examples.random_forest(20, seed=2)
    single = ab.HiddenTree(3, encoding="score", max_iter=2, tol=0, random_state=0).fit(forest)
    codes = single.transform(forest)
    assert codes.shape == (20, len(single.get_feature_names_out()))
    assert np.array_equal(codes[:, -1], np.ones(20))  # the posterior of the only component, not of the root's state
    infinite = ab.InfiniteHiddenTreeMixture(2, n_iter=2, n_start=2, encoding="score", random_state=0).fit(forest)
    assert infinite.transform(forest).shape == (20, len(infinite.get_feature_names_out()))
    assert any("_label:" in name for name in infinite.get_feature_names_out())


def test_an_unknown_encoding_is_refused():
    with pytest.raises(SettingError, match=r"encoding='sums'; wanted one of 'sum', 'weighted'"):
        ab.HiddenTreeMixture(2, 2, encoding="sums").fit(examples.random_forest(4))
    model, forest = a_model()
    with pytest.raises(SettingError, match="wanted one of"):
        model.set_params(encoding=None).transform(forest)


def test_no_trees_and_no_labels():
    model, _ = a_model()
    for name in ENCODINGS:
        model.set_params(encoding=name)
        empty = model.transform(examples.empty())
        assert empty.shape == (0, len(model.get_feature_names_out()))
        unlabelled = model.transform(examples.all_labels_missing())
        assert unlabelled.shape == (1, empty.shape[1])
        assert np.isfinite(unlabelled.data).all()
