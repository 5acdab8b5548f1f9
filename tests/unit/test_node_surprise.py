"""Surprise of nodes: hidden trees against enumeration, patterns against a count by texts, and what must stand out."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora import plot
from arbora.cli import app
from arbora.datasets import make_random_trees
from arbora.errors import SettingError
from arbora.models.hidden_tree import switching_tree as st
from arbora.report import gather
from arbora.report.tree_drawings import subtree_sizes
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


def test_trees_without_any_label_surprise_nobody():
    blank = ab.Forest.from_nested([(None, [None, None])] * 3)
    model = ab.HiddenTreeMixture(2, 2, max_iter=2, tol=0, random_state=0).fit(blank)
    np.testing.assert_allclose(model.node_surprise(blank), 0.0, atol=1e-12)


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


@pytest.fixture(scope="module")
def fitted():
    trees = make_random_trees(24, 3, 3, 9, gaps=False, random_state=0)
    return ab.PatternMixture(2, n_chains=1, n_iter=2, random_state=0).fit(trees), trees


def test_pages_colour_typical_trees_and_find_them_on_the_map(fitted):
    model, trees = fitted
    page = gather(model, trees)
    surprise = np.split(model.node_surprise(trees), trees.tree_start[1:-1])
    for group in page["groups"]:
        for typical in group["typical"]:
            root_first = surprise[typical["item"]][-1]
            assert typical["drawing"]["heat"][0] == pytest.approx(root_first, abs=6e-3)
            assert sorted(typical["drawing"]["heat"]) == pytest.approx(sorted(surprise[typical["item"]]), abs=6e-3)
            assert page["items"]["name"][typical["item"]] == typical["name"]
    assert page["surprise"]["most"] > 0
    assert subtree_sizes(ab.Forest.from_nested([("a", ["b", ("c", ["d"])])])).tolist() == [1.0, 1.0, 2.0, 4.0]


def test_predict_writes_a_row_per_node(fitted, tmp_path: Path):
    model, _ = fitted
    model.save(tmp_path / "m.arbora")
    (tmp_path / "t.jsonl").write_text('{"label": "0", "children": [{"label": "1"}, {"label": "zebra"}]}\n')
    wanted = ["predict", str(tmp_path / "m.arbora"), str(tmp_path / "t.jsonl"), "--nodes", str(tmp_path / "n.csv")]
    result = CliRunner().invoke(app, wanted)
    assert result.exit_code == 0, result.output
    head, *rows = [line.split(",") for line in (tmp_path / "n.csv").read_text().splitlines()]
    assert head == ["tree", "node", "label", "path", "surprise"]
    assert [row[1:4] for row in rows] == [["0", "1", "0/1"], ["1", "zebra", "0/zebra"], ["2", "0", "0"]]
    found = model.node_surprise([("0", ["1", "zebra"])])
    np.testing.assert_allclose([float(row[4]) for row in rows], found, rtol=1e-6)


def test_a_tree_is_drawn_with_its_values(fitted):
    pytest.importorskip("matplotlib")
    model, trees = fitted
    values = model.node_surprise(trees)
    ax = plot.tree(trees, 3, values)
    own = values[trees.tree_start[3] : trees.tree_start[4]]
    np.testing.assert_array_equal(ax.collections[0].get_array(), own)
    place = ax.collections[0].get_offsets()
    assert len(np.unique(place, axis=0)) == len(own)
    assert len(plot.tree(trees, 3, own).texts) == len(own)
    with pytest.raises(SettingError, match="wanted one per node"):
        plot.tree(trees, 3, values[:-1])
    with pytest.raises(SettingError, match="the number of a tree"):
        plot.tree(trees, 99)
