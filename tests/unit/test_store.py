"""ForestStore: what goes in comes out, models see no difference, and damage is told."""

import contextlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import arbora as ab
from arbora import Forest, ForestStore, ModelFileError
from arbora.datasets import make_documents
from arbora.errors import ForestError
from arbora.evaluate.metrics import silhouette_score, slot_label_counts
from arbora.files.container import read_container, write_container
from arbora.files.own_outputs import MANIFEST
from arbora.forest.sharing import share
from arbora.forest.store_writing import StoreWriter, cut_by_nodes
from arbora.forest.trees import Trees
from arbora.inference.distribute import reduce_pairwise
from arbora.io.finding import find_files
from arbora.io.registry import FORMATS
from arbora.io.sniffing import format_of
from tests import examples

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def forest() -> Forest:
    return make_documents(40, random_state=3)


def stored(forest: Forest, tmp_path: Path, shard_nodes: int = 700, **more: int) -> ForestStore:
    return ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=shard_nodes, **more)


# ---- content --------------------------------------------------------------------------------------------------------


def test_store_gives_back_what_it_was_given(awkward: Forest, tmp_path: Path) -> None:
    store = ForestStore.write(awkward, tmp_path / "a.store", shard_nodes=50)
    assert store.to_forest() == awkward
    assert store.vocabulary == awkward.vocabulary
    assert (store.n_trees, store.n_nodes, store.n_slots) == (awkward.n_trees, awkward.n_nodes, awkward.n_slots)
    assert len(store) == sum(part.n_trees for part in store.parts())


def test_store_of_nested_trees_is_numbered_as_a_forest_of_them(tmp_path: Path) -> None:
    trees = [(f"label{t % 7}", [f"leaf{t % 11}"]) for t in range(2500)]
    store = ForestStore.write(iter(trees), tmp_path / "a.store", shard_nodes=300)
    whole = Forest.from_nested(trees)
    assert len(store.entries) > 10
    assert store.vocabulary == whole.vocabulary
    assert np.array_equal(store.to_forest().label, whole.label)


def test_parts_of_the_iterable_do_not_matter(forest: Forest, tmp_path: Path) -> None:
    one = ForestStore.write(forest, tmp_path / "one.store", shard_nodes=500)
    few = ForestStore.write((forest[lo : lo + 13] for lo in range(0, 200, 13)), tmp_path / "few.store", shard_nodes=500)
    assert [entry.n_trees for entry in one.entries] == [entry.n_trees for entry in few.entries]
    assert one.sha256 == few.sha256
    assert all(entry.n_nodes >= 500 for entry in one.entries[:-1])


def test_choosing_trees_is_as_of_a_forest(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    chosen = np.array([150, 3, 3, 77, 199])
    assert store.take(chosen) == forest.take(chosen)
    assert store[5] == forest[5]
    assert store[-1] == forest[-1]
    assert store[10:20] == forest[10:20]
    assert store[forest.target == forest.target[0]] == forest[forest.target == forest.target[0]]
    assert np.array_equal(store.name, forest.name)
    assert next(iter(store)) == forest[0]
    with pytest.raises(ForestError, match=r"tree numbers must lie in 0\.\.199"):
        store.take([200])


def test_other_vocabulary(forest: Forest, tmp_path: Path) -> None:
    words = (*forest.vocabulary[3:], "never")
    store = stored(forest, tmp_path).with_vocabulary(words)
    assert store.to_forest() == forest.with_vocabulary(words)
    assert store.n_unseen() == int((forest.with_vocabulary(words).label == ab.UNSEEN).sum()) > 0


def _number_and_size(part: Forest, rows: NDArray[np.int64], base: int) -> list[int]:
    return [base + int(row) + int(size) for row, size in zip(rows, part.sizes, strict=True)]


def over_all(trees: Trees) -> list[int]:
    """Of every tree its number, its size and ten."""
    return [x for found in trees.over_parts(_number_and_size, np.arange(trees.n_trees), 10) for x in found]


def test_forest_and_store_are_gone_through_alike(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    assert len(store.entries) > 1
    assert over_all(store) == over_all(forest) == (np.arange(forest.n_trees) + forest.sizes + 10).tolist()
    assert over_all(ForestStore.write([], tmp_path / "none.store")) == over_all(Forest.from_nested([])) == []
    sizes = [[shard.n_trees for shard in trees.shards(3, 1024, True, False)] for trees in (forest, store)]
    assert sum(sizes[0]) == sum(sizes[1]) == forest.n_trees
    words = forest.vocabulary[3:]
    assert forest.with_vocabulary(words).n_unseen() == store.with_vocabulary(words).n_unseen() > 0
    assert forest.sha256 == store.to_forest().sha256 != forest[1:].sha256


def test_empty_store(tmp_path: Path) -> None:
    store = ForestStore.write([], tmp_path / "a.store")
    assert len(store) == store.to_forest().n_trees == 0


# ---- models ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 2**30])
@pytest.mark.parametrize("absent", ["bottom", "slot", "renormalised"])
def test_mixture_from_a_store_equals_the_one_from_memory(
    forest: Forest, tmp_path: Path, memory: int, absent: str
) -> None:
    store = stored(forest, tmp_path, memory=memory)
    new = ab.HiddenTreeMixture(4, 3, absent=absent, n_slots=4, max_iter=8, tol=0, random_state=0)
    a, b = (ab.HiddenTreeMixture(**new.get_params()).fit(X) for X in (forest, store))
    for name in ("weight_", "leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-9)
    assert np.array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.history_, b.history_, rtol=1e-12)
    for method in ("predict", "predict_proba", "score_samples", "transform", "posterior", "decode"):
        np.testing.assert_allclose(getattr(a, method)(forest), getattr(a, method)(store), rtol=1e-12, atol=1e-12)
    assert store.shards(4, 1024, True, True).n_bytes <= memory


def test_neither_threads_nor_memory_nor_runs_change_a_bit(forest: Forest, tmp_path: Path) -> None:
    def fitted(memory: int, n_jobs: int | None) -> np.ndarray:
        store = ForestStore(tmp_path / "trees.store", memory=memory)
        model = ab.HiddenTreeMixture(3, 2, max_iter=4, tol=0, shard_bytes=1, n_jobs=n_jobs, random_state=1).fit(store)
        return model.emission_prob_

    stored(forest, tmp_path, shard_nodes=300)
    first = fitted(0, None)
    for memory, n_jobs in [(0, 3), (2**30, None), (2**30, 2), (20_000, 2)]:
        assert np.array_equal(first, fitted(memory, n_jobs))


def test_other_models_take_a_store(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    few = ForestStore.write(forest[::20], tmp_path / "few.store", shard_nodes=100)
    a, b = (ab.HiddenTree(3, max_iter=4, tol=0, random_state=0).fit(X) for X in (forest, store))
    assert np.array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.posterior(forest), b.posterior(store), atol=1e-9)
    for update in ("em", "gibbs"):
        new = {"update": update, "n_iter": 4, "n_start": 3, "random_state": 0}
        c, d = (ab.InfiniteHiddenTreeMixture(3, **new).fit(X) for X in (forest, store))
        assert np.array_equal(c.labels_, d.labels_)
        np.testing.assert_allclose(c.predict_proba(forest[::20]), d.predict_proba(few), atol=1e-9)
    e, f = (ab.HiddenTreeMixture(3, random_state=0).partial_fit(X[:100]).partial_fit(X) for X in (forest, store))
    np.testing.assert_allclose(e.emission_prob_, f.emission_prob_, atol=1e-9)
    counts = ab.SlotLabelCounts()
    assert (counts.fit_transform(forest) != counts.fit_transform(store)).nnz == 0  # reads it into memory


def test_paths_of_stores_are_opened(forest: Forest, tmp_path: Path) -> None:
    stored(forest, tmp_path)
    path = tmp_path / "trees.store"
    model = ab.HiddenTreeMixture(3, max_iter=2, tol=0, random_state=0).fit(str(path))
    assert len(model.predict(path)) == forest.n_trees
    assert ab.read(path) == forest
    assert ab.read(tmp_path) == forest  # a store in a folder is one thing
    assert model.provenance_["data_sha256"] == ForestStore(path).sha256


def test_a_store_of_any_name(forest: Forest, tmp_path: Path) -> None:
    path = tmp_path / "all" / "trees"
    path.parent.mkdir()
    ForestStore.write(forest, path, shard_nodes=100)
    assert len(list(path.glob("*.forest"))) > 1
    for source in (path, path.parent, str(path.parent / "*")):
        assert find_files(source, tuple(FORMATS)) == [str(path)]
    assert format_of(str(path)) == "store"
    assert ab.read(path) == forest
    model = ab.HiddenTreeMixture(2, 2, max_iter=2, tol=0, random_state=0)
    assert np.array_equal(model.fit(path).labels_, model.fit(ForestStore(path)).labels_)


def test_metrics_take_a_store(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    assert (slot_label_counts(store) != slot_label_counts(forest)).nnz == 0
    labels = np.unique(forest.target, return_inverse=True)[1]
    assert silhouette_score(store, labels) == silhouette_score(forest, labels)


def test_codes_in_single_precision(forest: Forest, tmp_path: Path) -> None:
    model = ab.HiddenTreeMixture(3, max_iter=3, tol=0, random_state=0).fit(forest)
    exact = model.transform(forest)
    for X in (forest, stored(forest, tmp_path)):
        half = model.transform(X, dtype=np.float32)
        assert half.dtype == np.float32
        np.testing.assert_allclose(half, exact, rtol=1e-6)
    with pytest.raises(ValueError, match="wanted float64 or float32"):
        model.transform(forest, dtype=int)


# ---- shards ---------------------------------------------------------------------------------------------------------


def test_stored_shards_are_those_of_their_files(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path, memory=30_000)
    shards = store.shards(5, 100, True, False)
    assert 0 < len(shards.kept) < len(shards)
    wanted = [shard for part in store.parts() for shard in share(part.arrays, 5, 100)]
    for _ in range(2):
        for a, b in zip(shards, wanted, strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a.units, b.units, strict=True))
            assert np.array_equal(a.tree_id, b.tree_id)
    assert shards.sizes == [shard.n_trees for shard in wanted]
    assert store.shards(5, 100, True, False) is shards


def test_shards_that_come_again_find_what_they_kept(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    shards = store.shards(forest.n_slots, 100, True, True)
    there = pickle.loads(pickle.dumps(shards))
    assert there is not shards
    assert not there.kept
    first = there[0]
    again = pickle.loads(pickle.dumps(shards))
    assert again[0] is first
    other = pickle.loads(pickle.dumps(ForestStore(store.path).shards(forest.n_slots, 50, True, True)))
    assert other is not again
    assert not other.kept


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_sums_of_aligned_runs_are_parts_of_the_whole_sum(n: int) -> None:
    def told(a: str, b: str) -> str:
        return f"({a}+{b})"

    whole = reduce_pairwise(map(str, range(n)), told)
    for length in (1, 2, 4, 8):
        runs = [range(lo, min(lo + length, n)) for lo in range(0, n, length)]
        assert reduce_pairwise([reduce_pairwise(map(str, run), told) for run in runs], told) == whole


def test_cuts() -> None:
    forest = examples.random_forest(30)
    for nodes in (1, 7, 40, 10**6):
        parts = cut_by_nodes(forest, nodes)
        assert Forest.concat(parts) == forest
        assert all(part.n_nodes >= nodes for part in parts[:-1])


# ---- damage ---------------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_told(forest: Forest, tmp_path: Path) -> None:
    stored(forest, tmp_path, shard_nodes=2000)
    rng = np.random.default_rng(0)
    for path in sorted((tmp_path / "trees.store").iterdir()):
        good = path.read_bytes()
        for place in rng.integers(len(good), size=25).tolist():
            bad = bytearray(good)
            bad[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(bad)
            found = None
            with contextlib.suppress(ModelFileError):
                found = ForestStore(tmp_path / "trees.store").to_forest()
            assert found is None or found == forest  # some bits mean nothing, as the dates in a zip file
        path.write_bytes(good[: len(good) // 2])
        with pytest.raises(ModelFileError, match=path.name):
            ForestStore(tmp_path / "trees.store").to_forest()
        path.write_bytes(good)


def test_missing_and_swapped_files(forest: Forest, tmp_path: Path) -> None:
    store = stored(forest, tmp_path)
    first, second = (tmp_path / "trees.store" / entry.file for entry in store.entries[:2])
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(ModelFileError, match="not the file that the manifest lists"):
        store.to_forest()
    first.unlink()
    with pytest.raises(ModelFileError, match="cannot be read"):
        store.to_forest()
    first.write_bytes(data)
    (tmp_path / "trees.store" / MANIFEST).unlink()
    with pytest.raises(ModelFileError, match="no finished store"):
        ForestStore(tmp_path / "trees.store")
    with pytest.raises(ModelFileError, match="no such file"):
        ForestStore(tmp_path / "nothing.store")


def test_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ModelFileError, match="files of others"):
        ForestStore.write(["a"], tmp_path)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_names_for_all_or_for_none(tmp_path: Path) -> None:
    with_name = Forest.from_nested(["a"], name=["x"])
    writer = StoreWriter(tmp_path / "a.store", "0" * 16, 1)
    writer.add(with_name)
    writer.add(Forest.from_nested(["a"]))
    with pytest.raises(ForestError, match="some of the trees have a name and some have none"):
        writer.finish()


def test_new_store_replaces_the_old_one_at_once(forest: Forest, tmp_path: Path) -> None:
    old = stored(forest[:50], tmp_path)
    writer = StoreWriter(tmp_path / "trees.store", "a" * 16, 500)
    writer.add(forest, [1, 2])
    assert ForestStore(tmp_path / "trees.store").to_forest() == forest[:50]  # not finished
    with writer:
        pass  # lets the folder go, as a kill does
    again = StoreWriter(tmp_path / "trees.store", "a" * 16, 500)
    assert again.position == [1, 2]
    assert [one.entry for one in again.written] == [one.entry for one in writer.written]
    again.finish()
    assert ForestStore(tmp_path / "trees.store").to_forest() == forest
    assert len(os.listdir(tmp_path / "trees.store")) == len(again.written) + 1
    with pytest.raises(ModelFileError, match="cannot be read"):
        old.to_forest()


def test_a_store_has_one_writer_at_a_time(forest: Forest, tmp_path: Path) -> None:
    first = StoreWriter(tmp_path / "a.store", "1" * 16, 500)
    first.add(forest)
    for _ in range(2):
        with pytest.raises(ModelFileError, match="somebody else is writing this store"):
            StoreWriter(tmp_path / "a.store", "2" * 16, 500)
    first.finish()
    assert ForestStore(tmp_path / "a.store").to_forest() == forest
    with StoreWriter(tmp_path / "a.store", "2" * 16, 500) as second:
        second.add(forest[:3])
    with StoreWriter(tmp_path / "a.store", "3" * 16, 500) as third:  # whoever gives up lets the folder go
        third.add(forest[:2])
        third.finish()
    assert len(ForestStore(tmp_path / "a.store")) == 2


@pytest.mark.parametrize(
    "count", [np.array(["a", "b"]), np.array([-1, 2]), np.array([0.5, np.nan]), np.ones((2, 1), int)]
)
def test_manifest_with_other_counts_of_labels(count: np.ndarray, tmp_path: Path) -> None:
    ForestStore.write(["a", "b"], tmp_path / "a.store")
    path = tmp_path / "a.store" / MANIFEST
    version, header, arrays = read_container(path, "forest store")
    write_container(path, "forest store", version, header, arrays | {"label_count": count})
    with pytest.raises(ModelFileError, match="does not make a store"):
        ForestStore(tmp_path / "a.store")
