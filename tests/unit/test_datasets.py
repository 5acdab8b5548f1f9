"""Generators reproduce and have the properties they promise; loaders agree with what is written about their files."""

import gzip
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from arbora import Forest, datasets
from arbora.datasets import documents, published
from arbora.errors import ArboraError, DataNotFoundError
from arbora.evaluate.metrics import silhouette_score

GENERATORS = {
    "asymmetric": lambda seed: datasets.make_asymmetric_trees(5, random_state=seed),
    "documents": lambda seed: datasets.make_documents(5, random_state=seed),
    "chains": lambda seed: datasets.make_chains(6, (3, 8), 4, random_state=seed),
    "random": lambda seed: datasets.make_random_trees(9, 4, 3, 20, missing=0.1, random_state=seed),
}


def present(load, *args):
    try:
        return load(*args)
    except DataNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_seeds_reproduce(make):
    assert make(3) == make(3)
    assert make(3) != make(4)
    assert make(np.random.default_rng(3)) == make(3)
    make(3).validate()


# ---- left, symmetric, right -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asymmetric():
    return datasets.make_asymmetric_trees(random_state=1)


def test_asymmetric_sizes_and_labels(asymmetric):
    assert Counter(asymmetric.target.tolist()) == {"left": 260, "symmetric": 260, "right": 260}
    for kind, (low, high) in {"left": (20, 25), "symmetric": (50, 60), "right": (80, 100)}.items():
        sizes = asymmetric.sizes[asymmetric.target == kind]
        assert (sizes.min(), sizes.max()) == (low, high)
    degree = np.bincount(asymmetric.parent[asymmetric.parent >= 0], minlength=asymmetric.n_nodes)
    np.testing.assert_array_equal(asymmetric.label, degree)
    assert asymmetric.vocabulary == ("0", "1", "2", "3")
    assert asymmetric.n_slots == 3


def test_asymmetric_trees_lean(asymmetric):
    tree = np.repeat(np.arange(len(asymmetric)), asymmetric.sizes)
    in_slot = np.stack([np.bincount(tree[asymmetric.slot == s], minlength=len(asymmetric)) for s in range(3)])
    lean = (in_slot[0] - in_slot[2]) / asymmetric.sizes
    assert (lean[asymmetric.target == "left"] > 0).all()
    assert (lean[asymmetric.target == "right"] < 0).all()
    assert abs(lean[asymmetric.target == "symmetric"].mean()) < 0.02


def test_asymmetric_upper_levels_follow_the_probabilities(asymmetric):
    # A big tree is cut far below its root's children, so they show the probabilities (but for trees that died out).
    right = asymmetric[asymmetric.target == "right"]
    root = right.tree_start[1:] - 1
    child = np.flatnonzero(np.isin(right.parent, root))
    below = np.isin(right.parent, child)
    seen = np.bincount(right.slot[below], minlength=3) / len(child)
    np.testing.assert_allclose(seen, (0.1, 0.3, 0.9), atol=0.08)


@pytest.mark.compiled
def test_asymmetric_truth_scores_as_the_paper_says(asymmetric):
    assert silhouette_score(asymmetric, asymmetric.target, "paper") == pytest.approx(0.51, abs=0.015)


# ---- documents ------------------------------------------------------------------------------------------------------


def test_demo_is_what_its_generator_makes():
    demo = datasets.load_demo()
    made = datasets.make_documents(documents.DEMO_PER_CLASS, random_state=documents.DEMO_SEED)
    assert demo == made
    assert len(demo) == 300
    assert demo.name[137].endswith(".xml")
    assert (files("arbora.datasets") / documents.DEMO_FILE).stat().st_size < 100_000


def test_demo_file_can_be_written_again(tmp_path):
    path = tmp_path / documents.DEMO_FILE
    subprocess.run([sys.executable, "-W", "error", "-m", "arbora.datasets", str(path)], check=True)
    shipped = (files("arbora.datasets") / documents.DEMO_FILE).read_bytes()
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(shipped)
    assert list(tmp_path.iterdir()) == [path]


def test_documents_share_root_and_tags_but_not_shape():
    forest = datasets.make_documents(40, random_state=1)
    root = forest.label[forest.tree_start[1:] - 1]
    assert {forest.vocabulary[m] for m in root} == {"document"}
    used = {}
    for kind in documents.KINDS:
        part = forest[forest.target == kind]
        used[kind] = {forest.vocabulary[m] for m in part.label}
        assert part.name[3] == f"{kind}-003.xml"
    common = set.intersection(*used.values())
    assert {"meta", "name", "p", "date", "title"} <= common
    assert 0.2 < silhouette_score(forest, forest.target) < 0.5  # neither trivial nor hopeless


def test_documents_without_noise_keep_the_rules():
    forest = datasets.make_documents(20, noise=0.0, random_state=0)
    assert "div" not in forest.vocabulary
    for tree, kind in zip(forest, forest.target, strict=True):
        tags = [child["label"] for child in tree["children"]]
        assert tags[0] == "meta"
        assert (tags.count("party") == 2) == (kind == "invoice")
    assert "div" in datasets.make_documents(20, noise=0.2, random_state=0).vocabulary


# ---- chains and random trees ----------------------------------------------------------------------------------------


def test_chains():
    forest = datasets.make_chains(50, (2, 6), 3, random_state=0)
    assert sorted(set(forest.sizes.tolist())) == [2, 3, 4, 5, 6]
    inner = forest.parent >= 0
    np.testing.assert_array_equal(forest.parent[inner], np.flatnonzero(inner) + 1)
    assert forest.n_slots == 1
    assert sorted(set(forest.label.tolist())) == [0, 1, 2]
    assert (datasets.make_chains(4, 7, 3, random_state=0).sizes == 7).all()


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("n_slots", [1, 2, 5, 40])
def test_random_trees_are_valid_and_in_post_order(n_slots, gaps):
    forest = datasets.make_random_trees(120, 3, n_slots, 50, gaps=gaps, random_state=0)
    forest.validate()
    rebuilt = Forest.from_nested(list(forest), vocabulary=forest.vocabulary)
    assert all(np.array_equal(x, y) for x, y in zip(forest.arrays, rebuilt.arrays, strict=True))
    assert forest.sizes.max() == 50
    assert forest.sizes.min() == 1
    degree = np.bincount(forest.parent[forest.parent >= 0], minlength=forest.n_nodes)
    widest = np.zeros(forest.n_nodes, int)
    np.maximum.at(widest, forest.parent[forest.parent >= 0], forest.slot[forest.parent >= 0] + 1)
    packed = bool((widest == degree).all())
    assert packed == (not gaps or n_slots == 1)


def test_random_trees_use_all_slots_evenly_and_miss_labels_as_asked():
    forest = datasets.make_random_trees(400, 5, 4, 60, min_nodes=30, missing=0.25, random_state=2)
    assert forest.sizes.min() >= 30
    share = np.bincount(forest.slot[forest.slot >= 0]) / (forest.slot >= 0).sum()
    np.testing.assert_allclose(share, 0.25, atol=0.02)
    assert (forest.label == -2).mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: datasets.make_random_trees(3, 2, 2, 5, min_nodes=6), "min_nodes=6"),
        (lambda: datasets.make_random_trees(3, 2, 0, 5), "n_slots=0"),
        (lambda: datasets.make_random_trees(3, 2, 2, 5, missing=1.5), "missing=1.5"),
        (lambda: datasets.make_chains(3, 0, 2), "length=0"),
        (lambda: datasets.make_asymmetric_trees(0), "n_per_class=0"),
        (lambda: datasets.make_documents(0), "n_per_class=0"),
    ],
)
def test_generators_refuse_bad_sizes(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


# ---- published sets -------------------------------------------------------------------------------------------------


def test_inex2005_is_as_described():
    train, test, both = (present(datasets.load_inex2005, split) for split in ("train", "test", None))
    assert (len(train), len(test), len(both), both.n_nodes) == (4820, 4811, 9631, 247139)
    assert both.n_labels == 366
    assert both.n_slots == 32
    assert both.describe()["max_depth"] == 3
    assert len(np.unique(both.target)) == 11
    assert train.vocabulary == test.vocabulary == both.vocabulary == tuple(str(m) for m in range(1, 367))
    assert Forest.concat([train, test]) == both


def test_inex2006_is_as_described():
    train, test, both = (present(datasets.load_inex2006, split) for split in ("train", "test", None))
    assert (len(train), len(test), both.n_nodes, both.n_labels) == (6053, 6054, 218537, 65)
    assert (both.n_slots, both.describe()["max_depth"], len(np.unique(both.target))) == (66, 7, 18)
    assert train.vocabulary == test.vocabulary == both.vocabulary


def test_synthetic_is_as_described():
    train, test, both = (present(datasets.load_synthetic, split) for split in ("train", "test", None))
    assert (len(train), len(test), both.n_nodes, both.n_slots) == (600, 180, 43536, 3)
    assert both.vocabulary == test.vocabulary == ("1", "2", "3", "4")
    assert Counter(both.target.tolist()) == {"left": 260, "symmetric": 260, "right": 260}
    degree = np.bincount(both.parent[both.parent >= 0], minlength=both.n_nodes)
    np.testing.assert_array_equal(both.label, degree)  # label "1" has index 0 and no children
    child_slots = both.slot[np.isin(both.parent, np.flatnonzero(degree == 1))]
    assert set(child_slots.tolist()) == {0, 1, 2}  # slots have gaps


def test_shock_is_as_described():
    forest = present(datasets.load_shock)
    assert (len(forest), forest.n_nodes, forest.n_labels) == (216, 1705, 10)
    assert set(Counter(forest.target.tolist()).values()) == {12}
    assert len(set(forest.name)) == 216
    assert all(name.startswith(f"{kind}-") for name, kind in zip(forest.name, forest.target, strict=True))


def test_animals_are_as_described():
    animals = present(datasets.load_animals)
    assert animals.X.shape == (33, 102)
    assert set(np.unique(animals.X)) == {0.0, 1.0}
    assert len(set(animals.y)) == 8
    assert len(set(animals.names)) == 33


def test_fashion_is_as_described():
    fashion = present(datasets.load_fashion)
    assert fashion.X.shape == (100, 784)
    assert (fashion.X.min(), fashion.X.max()) == (0.0, 1.0)
    assert set(Counter(fashion.y.tolist()).values()) == {10}
    assert len(set(fashion.names)) == 100


def test_unknown_split_is_refused():
    for load in (datasets.load_inex2005, datasets.load_inex2006, datasets.load_synthetic):
        with pytest.raises(ValueError, match="split='dev'"):
            load("dev")


@pytest.mark.parametrize("load", [datasets.load_inex2005, datasets.load_shock, datasets.load_animals])
def test_absent_data_say_where_to_put_them(load, monkeypatch, tmp_path):
    monkeypatch.setenv("ARBORA_DATA", str(tmp_path))
    with pytest.raises(DataNotFoundError, match="set ARBORA_DATA to that folder") as caught:
        load()
    assert isinstance(caught.value, ArboraError)
    assert str(tmp_path) in str(caught.value)


def test_data_are_found_beside_the_project_or_where_the_variable_says(monkeypatch, tmp_path):
    for base in (tmp_path / "shared" / "data", tmp_path / "elsewhere"):
        (base / "animals").mkdir(parents=True)
        (base / "animals" / "animals33.csv").write_text(f"animal,class,has fins\n{base.name} cat,mammal,0\n")
    below = tmp_path / "project" / "tests"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.delenv("ARBORA_DATA", raising=False)
    assert datasets.load_animals().names.tolist() == ["data cat"]
    monkeypatch.setenv("ARBORA_DATA", str(tmp_path / "elsewhere"))
    assert datasets.load_animals().names.tolist() == ["elsewhere cat"]
    with pytest.raises(DataNotFoundError):  # the variable rules: no second place is tried
        published._find("fashion", "fashion100.npz")
