"""Summaries against counting by hand: plain loops over nested trees."""

import json
from collections import Counter

import numpy as np
import pytest

from arbora import Forest
from arbora.datasets import make_documents, make_random_trees
from arbora.evaluate.summary import common_folder, summarise
from arbora.evaluate.traits import MIN_LIFT, tree_shapes
from arbora.evaluate.wording import counted
from tests.reference.metrics import representative_matrix, ruzicka


def walk(tree):
    """Every node of a nested tree with its parent, and its depth."""
    todo = [(tree, None, 0)]
    while todo:
        node, parent, depth = todo.pop()
        yield node, parent, depth
        todo += [(child, node, depth + 1) for child in node.get("children", [])]


def trait_counts(forest, labels, cluster, what):
    """Count labels, or pairs, inside and outside a cluster."""
    inside, outside = Counter(), Counter()
    for tree, label in zip(forest, labels, strict=True):
        for node, parent, _ in walk(tree):
            name = node["label"]
            if what == "pairs":
                name = None if parent is None or None in (parent["label"], name) else f"{parent['label']} > {name}"
            if name is not None:
                (inside if label == cluster else outside)[name] += 1
    return inside, outside


@pytest.mark.parametrize("what", ["labels", "pairs"])
def test_traits_equal_plain_counting(what: str) -> None:
    forest = make_random_trees(40, n_labels=5, n_slots=3, max_nodes=20, missing=0.1, random_state=3)
    labels = np.random.default_rng(0).integers(3, size=40)
    found = summarise(forest, labels, n_traits=1000)
    for cluster in found.clusters:
        inside, outside = trait_counts(forest, labels, cluster.cluster, what)
        n_in, n_out = inside.total(), outside.total()

        def lift(name, inside=inside, outside=outside, n_in=n_in, n_out=n_out):
            return ((inside[name] + 0.5) / (n_in + 1)) / ((outside[name] + 0.5) / (n_out + 1))

        traits = getattr(cluster, what)
        assert {t.what for t in traits} == {name for name in inside if lift(name) >= MIN_LIFT}
        for t in traits:
            assert (t.count, t.elsewhere) == (inside[t.what], outside[t.what])
            assert t.lift == pytest.approx(lift(t.what), rel=1e-12)


def test_the_strongest_evidence_comes_first() -> None:
    # "r" is ten times rarer outside but seen once; "b" is twice as frequent on very many nodes.
    trees = [("a", ["b"] * 60 + ["c"] * 20 + ["r"]), ("a", ["b"] * 30 + ["c"] * 50)]
    assert [t.what for t in summarise(trees, [0, 1]).clusters[0].labels][:2] == ["b", "r"]


def test_shapes_equal_plain_counting() -> None:
    forest = make_random_trees(30, n_labels=3, n_slots=4, max_nodes=15, random_state=1)
    shapes = tree_shapes(forest)
    for t, tree in enumerate(forest):
        nodes = list(walk(tree))
        inner = [len(node["children"]) for node, _, _ in nodes if "children" in node]
        assert shapes["nodes"][t] == len(nodes)
        assert shapes["depth"][t] == max(depth for _, _, depth in nodes)
        assert shapes["children"][t] == pytest.approx(np.mean(inner) if inner else 0.0)


def test_means_of_shapes() -> None:
    found = summarise(["a", ("a", ["b", "b"]), ("a", ["b"])], [4, 7, 7])
    first, second = ({s.what: s for s in cluster.shapes} for cluster in found.clusters)
    assert (first["nodes"].mean, first["nodes"].elsewhere) == (1.0, 2.5)
    assert (second["children"].mean, second["children"].elsewhere) == (1.5, 0.0)
    assert first["depth"].difference == pytest.approx(-1.0 / np.std([0, 1, 1]))
    assert [cluster.cluster for cluster in found.clusters] == [4, 7]


def test_typical_trees_are_nearest_to_the_mean() -> None:
    forest = make_documents(6, random_state=0)
    labels = np.arange(forest.n_trees) % 3
    found = summarise(forest, labels, n_typical=2)
    matrices = np.array([representative_matrix(t, forest.n_slots, forest.vocabulary) for t in forest])
    for c, cluster in enumerate(found.clusters):
        member = np.flatnonzero(labels == c)
        mean = matrices[member].mean(axis=0)
        nearest = np.argsort([ruzicka(matrices[t], mean) for t in member], kind="stable")[:2]
        assert cluster.typical == tuple(forest.name[member[nearest]])


def test_agreement() -> None:
    forest = Forest.from_nested(["a", "b", "c", "d"], target=["x", "x", "y", "y"])
    perfect = summarise(forest, [1, 1, 0, 0]).agreement
    assert perfect is not None
    assert (perfect.ari, perfect.nmi) == (1.0, pytest.approx(1.0))
    assert (perfect.classes, perfect.clusters, perfect.table) == (("x", "y"), (0, 1), ((0, 2), (2, 0)))
    found = summarise(forest, [0, 1, 0, 1])
    assert found.agreement is not None
    assert found.agreement.ari < 0
    assert found.agreement.table == ((1, 1), (1, 1))
    assert summarise(forest.with_target(None), [0, 1, 0, 1]).agreement is None
    assert [c.main_class for c in summarise(forest, [1, 1, 0, 0]).clusters] == ["y", "x"]


def test_uncertain_trees_come_by_margin() -> None:
    proba = [[0.5, 0.5, 0.0], [0.2, 0.6, 0.2], [0.995, 0.005, 0.0], [0.1, 0.0, 0.9]]
    found = summarise(["a"] * 4, [0, 1, 0, 2], proba, n_uncertain=2)
    assert [u.tree for u in found.uncertain] == [0, 1]
    assert found.n_uncertain == 3
    assert (found.uncertain[1].cluster, found.uncertain[1].other) == (1, 0)
    assert found.uncertain[1].other_probability == 0.2
    (new,) = summarise(["a"], [0], [[0.2, 0.8]], new_group=True).uncertain
    assert (new.cluster, new.other) == (-1, 0)


def test_one_cluster_has_nothing_to_stand_out_against() -> None:
    (cluster,) = summarise([("a", ["b"]), "a"], [0, 0], np.ones((2, 1))).clusters
    assert cluster.labels == cluster.pairs == ()
    assert cluster.shapes[0].elsewhere is None


def test_awkward_forests(awkward: Forest) -> None:
    if not awkward.n_trees:
        with pytest.raises(ValueError, match="no trees"):
            summarise(awkward, [])
        return
    labels = np.arange(awkward.n_trees) % 2
    found = summarise(awkward, labels, np.full((awkward.n_trees, 2), 0.5))
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert sum(c["size"] for c in json.loads(text)["clusters"]) == awkward.n_trees


@pytest.mark.parametrize("labels", [[0], [[0, 1]], ["x", "y"], [0.0, 1.0]])
def test_bad_labels(labels: list) -> None:
    with pytest.raises(ValueError, match="wanted a whole number for each of the 2 trees"):
        summarise(["a", "b"], labels)


def test_bad_probabilities() -> None:
    with pytest.raises(ValueError, match="a row for each"):
        summarise(["a", "b"], [0, 1], [[1.0, 0.0]])


def test_names_without_the_folder_of_all() -> None:
    forest = Forest.from_nested(["a", "b"], name=["x/y/a.xml", "x/yz/b.xml"])
    found = summarise(forest, [0, 1])
    assert found.folder == "x/"
    assert [found.short(cluster.typical[0]) for cluster in found.clusters] == ["y/a.xml", "yz/b.xml"]
    assert common_folder(["a.xml", "ab.xml"]) == common_folder([]) == ""


def test_things_are_counted_in_words() -> None:
    assert [counted(n, "tree") for n in (0, 1, 2, 1200)] == ["0 trees", "1 tree", "2 trees", "1,200 trees"]


def test_the_folder_of_most_trees_is_told() -> None:
    trees = [("a", ["b"])] * 6
    names = ["x/one/1", "x/one/2", "x/two/3", "x/two/4", "x/two/5", "x/6"]
    forest = Forest.from_nested(trees).with_name(names)
    found = summarise(forest, [0, 0, 1, 1, 0, 2]).clusters
    assert [cluster.folder for cluster in found] == ["one/", "two/", None]
    assert [cluster.folder for cluster in summarise(forest[:2], [0, 1]).clusters] == [None, None]
