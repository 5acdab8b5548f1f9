"""Surprise of nodes: hidden trees against enumeration, patterns against a count by texts, and what must stand out."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_random_trees
from arbora.models.hidden_tree import switching_tree as st
from tests.reference import hidden_tree as twin
from tests.reference import patterns as pattern_twin

pytestmark = pytest.mark.compiled

READINGS = [("bottom", None), ("slot", "branching"), ("literal", None), ("renormalised", "branching")]
TREES = [("a", ["b", ("c", ["b", "d"])]), ("b", [("a", ["a", "a", "d"])]), "c", ("d", [("d", [("d", ["a"])])])]


def mixture(absent, structure, n_components):
    spec = st.SwitchingTree.of_labels(3, 4, 2, absent, structure)
    params = spec.draw(np.random.default_rng(3), n_components)
    emission = params.emission.transpose(1, 0, 2)
    last_first = [np.moveaxis(x, -1, 0) for x in (params.leaf, emission, params.switch, params.transition)]
    names = ("leaf_prob", "emission_prob", "switch_prob", "transition_prob")
    weight = np.arange(1.0, n_components + 1)
    return ab.HiddenTreeMixture.from_parameters(
        weight=weight / weight.sum(),
        **dict(zip(names, last_first, strict=True)),
        branching_prob=params.branching.T if structure else None,
        vocabulary=["a", "b", "c", "d"],
        absent=absent,
    )


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize(("absent", "structure"), READINGS)
def test_surprise_of_hidden_trees_equals_enumeration(absent, structure, n_components):
    model = mixture(absent, structure, n_components)
    forest = ab.Forest.from_nested([*TREES, ("a", [None, "zebra"])]).with_vocabulary(("a", "b", "c", "d"))
    thetas = [
        twin.Theta(
            model.leaf_prob_[k], model.emission_prob_[k], model.switch_prob_[k], model.transition_prob_[k],
            model.branching_prob_[k] if structure else None, absent,
        )
        for k in range(n_components)
    ]  # fmt: skip
    exact = [twin.surprise(twin.nodes_of(forest, t), thetas, model.weight_) for t in range(forest.n_trees)]
    found = model.node_surprise(forest)
    np.testing.assert_allclose(found, np.concatenate(exact), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[-3:-1], 0.0, atol=1e-12)  # missing and unseen labels say nothing


def test_nodes_of_impossible_trees_are_not_a_number_and_no_trees_give_no_nodes():
    model = mixture("bottom", None, 2)
    model.emission_prob_[:, :, 0] = 0.0
    assert np.isnan(model.node_surprise(["a"])).all()
    assert np.isfinite(model.node_surprise(["b"])).all()
    assert len(model.node_surprise(ab.Forest.from_nested([]))) == 0


def test_surprise_of_patterns_equals_a_count_by_texts():
    trees = make_random_trees(24, 3, 3, 9, gaps=False, random_state=0)
    model = ab.PatternMixture(2, n_chains=1, n_iter=2, random_state=0).fit(trees)
    texts = [
        f"{family}:{text}"
        for family, text in zip(model.patterns_.family_, model.patterns_.pattern_texts(), strict=True)
    ]
    share = dict(zip(texts, model.share_.tolist(), strict=True))
    strength = dict(zip(model.families, model.strengths_.tolist(), strict=True))
    nested = list(trees)
    new = ab.Forest.from_nested([*nested[:6], {"label": "zebra", "children": [nested[0]]}])
    group = model.predict(new)
    exact = [
        pattern_twin.surprise(nested, model.labels_, tree, k, model.families, strength, share)
        for tree, k in zip(new.with_vocabulary(model.vocabulary_), group, strict=True)
    ]
    np.testing.assert_allclose(model.node_surprise(new), np.concatenate(exact), rtol=1e-9, atol=1e-12)
    assert len(model.node_surprise(ab.Forest.from_nested([]))) == 0
