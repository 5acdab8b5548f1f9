"""Columns of content: kinds, errors with their place, and that they survive whatever is done to a forest."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import arbora as ab
from arbora import Forest
from arbora.errors import ForestError, ModelFileError
from arbora.forest.content import Column, Entries
from arbora.forest.content_rows import Wanted, content_rows
from arbora.forest.sharing import share
from arbora.forest.store import ForestStore

KINDS = {"x": "numbers", "n": "counts", "ok": "flags", "kind": "codes", "words": "bags"}
LABEL = Wanted("label", "label")


def nested(seed=0, n_trees=12, missing=0.3):
    """Trees with a value of every kind, or none, at each node."""
    rng = np.random.default_rng(seed)

    def node(depth):
        content = {
            "x": float(rng.normal()),
            "n": int(rng.integers(4)),
            "ok": bool(rng.random() < 0.5),
            "kind": str(rng.choice(["p", "q", "r"])),
            "words": {str(w): int(rng.integers(1, 3)) for w in rng.choice(["u", "v", "w"], rng.integers(3), False)},
        }
        item = {"label": str(rng.choice(["a", "b"]))}
        kept = {key: value for key, value in content.items() if rng.random() > missing}
        if kept:
            item["content"] = kept
        children = [node(depth + 1) for _ in range(rng.integers(3 if depth < 3 else 1))]
        return item | ({"children": children} if children else {})

    return [node(0) for _ in range(n_trees)]


@pytest.fixture
def forest():
    return Forest.from_nested(nested(), name=[f"t{x}" for x in range(12)], target=list(range(12)))


def test_kinds_are_recognised_and_nested_form_goes_both_ways(forest):
    assert forest.content_kinds == {key: KINDS[key] for key in forest.content_kinds}
    assert set(forest.content) == set(KINDS)
    assert list(forest) == nested()
    again = Forest.from_nested(list(forest), name=forest.name, target=forest.target)
    assert again == forest
    moved = forest.content["x"].values.copy()
    moved[np.flatnonzero(~np.isnan(moved))[0]] += 1e-9
    other = forest.with_content({**forest.content, "x": moved})
    assert other != forest
    assert other.sha256 != forest.sha256
    assert forest.with_content({}) == Forest.from_nested(
        [_bare(tree) for tree in nested()], name=forest.name, target=forest.target
    )


def _bare(tree):
    return {"label": tree["label"], "children": [_bare(child) for child in tree.get("children", [])]}


def test_order_of_nodes_and_words_does_not_matter_to_equality(forest):
    words = forest.content["kind"].words[::-1]
    turned = forest.with_content({**forest.content, "kind": forest.content["kind"].with_words([*words, "spare"])})
    assert turned == forest
    spare = forest.with_content({**forest.content, "nothing": [None] * forest.n_nodes})
    assert spare == forest
    assert forest.in_post_order() == forest


def test_take_concat_and_iteration(forest):
    chosen = [3, 0, 3, 7]
    assert list(forest.take(chosen)) == [nested()[t] for t in chosen]
    parts = Forest.concat([forest[:5], forest[5:]])
    assert parts == forest
    bare = Forest.from_nested(["a", "b"], name=["v", "w"], target=[0, 1])
    both = Forest.concat([bare, forest])
    assert list(both[2:]) == nested()
    assert both[0] == {"label": "a"}
    whole, split = Forest.from_nested([_x(1), _x(2)]), Forest.from_nested([_x(0.5)])
    assert whole.content_kinds == {"x": "counts"}
    assert Forest.concat([whole, split]).content_kinds == {"x": "numbers"}
    with pytest.raises(ForestError, match="column 'x': some trees have codes and some counts"):
        Forest.concat([whole, Forest.from_nested([_x("p")])])


def _x(value):
    return {"label": "a", "content": {"x": value}}


@pytest.mark.parametrize("suffix", [".forest", ".parquet"])
def test_files_give_columns_back(forest, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"trees{suffix}"
    forest.save(path)
    again = ab.load_forest(path)
    assert again == forest
    for name, column in forest.content.items():
        for key, array in column.arrays.items():
            np.testing.assert_array_equal(again.content[name].arrays[key], array)
        assert again.content[name].words == column.words
        assert not again.content[name].values.flags.writeable
    assert pickle.loads(pickle.dumps(forest)) == forest


def test_labels_alone_keep_their_files_and_a_damaged_column_is_refused(tmp_path):
    from arbora.files.container import read_container, write_container

    bare = Forest.from_nested(["a"])
    bare.save(tmp_path / "bare.forest")
    version, header, _ = read_container(tmp_path / "bare.forest", "forest")
    assert (version, sorted(header)) == (1, ["n_labels", "n_nodes", "n_trees"])
    held = bare.with_content({"x": [1.0]})
    held.save(tmp_path / "held.forest")
    version, header, arrays = read_container(tmp_path / "held.forest", "forest")
    assert version == 2
    for broken in ({"content.c0.values": np.array([np.inf])}, {"content.c0.values": np.array([1, 2])}):
        write_container(tmp_path / "bad.forest", "forest", 2, header, arrays | broken)
        with pytest.raises(ModelFileError, match="do not make a forest"):
            ab.load_forest(tmp_path / "bad.forest")
    write_container(tmp_path / "bad.forest", "forest", 2, {**header, "content": [["x", "colours"]]}, arrays)
    with pytest.raises(ModelFileError, match="not described"):
        ab.load_forest(tmp_path / "bad.forest")


def test_stores_give_columns_back_and_share_as_forests_do(forest, tmp_path):
    store = ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=15)
    assert len(store.entries) > 1
    assert store.content_kinds == forest.content_kinds
    assert store.to_forest() == forest
    assert store[4] == forest[4]
    wanted = (LABEL, Wanted("x", "numbers"), Wanted("words", "bags", ("u", "v", "w")))
    shards = store.shards(2, 1024, True, False, wanted)
    again = pickle.loads(pickle.dumps(shards))
    for one, two in zip(shards, again, strict=True):
        np.testing.assert_array_equal(one.contents.columns["x"], two.contents.columns["x"])
    assert sum(shard.n_trees for shard in shards) == forest.n_trees
    some_without = Forest.concat([Forest.from_nested(["a", "b"], name=["v", "w"], target=[0, 1]), forest])
    mixed = ForestStore.write(some_without, tmp_path / "mixed.store", shard_nodes=2)
    assert mixed.to_forest() == some_without


def test_a_bag_of_documents_keeps_content(tmp_path):
    bag = pytest.importorskip("dask.bag")
    store = ForestStore.from_bag(bag.from_sequence(nested(), npartitions=3), tmp_path / "bag.store")
    assert store.to_forest() == Forest.from_nested(nested())


def expected_rows(forest, names):
    """Distinct contents, one node at a time."""
    keys = []
    for t in range(forest.n_trees):
        lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
        held = {name: forest.content[name].nested(lo, hi) for name in names}
        for u in range(lo, hi):
            values = [held[name][u - lo] for name in names]
            keys.append((int(forest.label[u]), *(_key(value) for value in values)))
    return keys


def _key(value):
    return tuple(sorted(value.items())) or None if isinstance(value, dict) else value


@pytest.mark.parametrize("names", [(), ("n",), ("words",), ("ok", "kind", "n"), tuple(KINDS)])
def test_rows_tell_contents_apart_exactly(names):
    forest = Forest.from_nested(nested(1, 60))
    wanted = [LABEL, *(Wanted(name, KINDS[name], forest.content[name].words) for name in names)]
    row, columns = content_rows(forest.label, forest.content, wanted)
    keys = expected_rows(forest, names)
    assert len(set(keys)) == row.max() + 1
    assert len({(key, int(r)) for key, r in zip(keys, row, strict=True)}) == len(set(keys))
    for name in names:
        plain = columns[name].toarray() if sparse.issparse(columns[name]) else columns[name]
        for u in range(forest.n_nodes):
            value = keys[u][1 + names.index(name)]
            if name == "words":
                got = {w: int(n) for w, n in zip(forest.content[name].words, plain[row[u]], strict=True) if n}
                assert got == dict(value or ())
            elif value is None:
                assert np.isnan(plain[row[u]]) or plain[row[u]] < 0
            elif name == "kind":
                assert forest.content[name].words[plain[row[u]]] == value
            else:
                assert plain[row[u]] == value


def test_bags_with_one_hash_stay_apart(monkeypatch):
    from arbora.forest import content_rows as cr

    forest = Forest.from_nested(nested(2, 40))
    wanted = [Wanted("words", "bags", ("u", "v", "w"))]
    right = content_rows(forest.label, forest.content, wanted)
    monkeypatch.setattr(cr, "_MIX", np.uint64(0))  # every bag gets the same hash
    row, columns = content_rows(forest.label, forest.content, wanted)
    assert len(columns["words"].toarray()) >= len(right.columns["words"].toarray())
    np.testing.assert_array_equal(columns["words"].toarray()[row], right.columns["words"].toarray()[right.row])


def test_equal_contents_are_shared_and_others_are_not():
    tree = {"label": "a", "content": {"x": 1.0}, "children": [{"label": "b", "content": {"x": 2.0}}]}
    other = {"label": "a", "content": {"x": 1.0}, "children": [{"label": "b", "content": {"x": 3.0}}]}
    forest = Forest.from_nested([tree, tree, other])
    assert share(forest.arrays, 1)[0].n_units == 2
    (shard,) = forest.shards(1, 1024, True, False, (LABEL, Wanted("x", "numbers")))
    assert (shard.n_units, shard.n_distinct_trees) == (4, 2)
    np.testing.assert_array_equal(np.sort(shard.contents.columns["x"]), [1.0, 2.0, 3.0])
    parts = share(forest.arrays, 1, 2, content=forest.rows((LABEL, Wanted("x", "numbers"))))
    assert [len(part.contents.columns["x"]) for part in parts] == [2, 2, 2]  # each has its own rows
    assert parts[0].nbytes > 0


def test_errors_name_tree_node_and_column():
    with pytest.raises(ForestError, match=r"tree 1, node 0, column 'x': found inf"):
        Forest.from_nested(["a", _x(float("inf"))])
    with pytest.raises(
        ForestError, match=r"tree 0, node 2, column 'x': found 'p', one of codes, where others are counts"
    ):
        Forest.from_nested([{"label": "a", "children": [_x(1), _x("p")]}])
    with pytest.raises(ForestError, match="its content is int"):
        Forest.from_nested([{"label": "a", "content": 3}])
    forest = Forest.from_nested(["a", ("a", ["b"])], name=["one", "two"])
    with pytest.raises(ForestError, match=r'tree 1 \("two"\), node 0, column \'n\': found -2; wanted -1 to'):
        forest.with_content({"n": Column("counts", np.array([0, -2, 1]))})
    with pytest.raises(ForestError, match="column 'n': 2 values for 3 nodes"):
        forest.with_content({"n": [1, 2]})
    with pytest.raises(ForestError, match="wanted a name"):
        forest.with_content({"": [1, 2, 3]})
    with pytest.raises(ForestError, match="wanted a list of values"):
        forest.with_content({"x": "abc"})
    bags = Column("bags", np.zeros(3, np.int8), ("u",), Entries(np.array([0, 1, 1, 1]), np.array([4]), np.array([1])))
    with pytest.raises(ForestError, match=r"tree 0 \(\"one\"\), node 0, column 'w': word 4"):
        forest.with_content({"w": bags})
    with pytest.raises(ForestError, match="no column 'y'"):
        forest.rows([Wanted("y", "numbers")])
    with pytest.raises(ForestError, match="column 'k': a column of codes cannot be taken as numbers"):
        forest.with_content({"k": ["p", "q", None]}).rows([Wanted("k", "numbers")])


@pytest.mark.parametrize(
    ("values", "kind", "match"),
    [
        ([1.5, 2], "counts", "found 1.5; wanted a whole number from 0"),
        (np.array([1.0, -1.0]), "counts", "found -1.0"),
        ([2, 0], "flags", "found 2; wanted true or false"),
        (["a", [1]], "codes", r"found \[1\]; wanted text"),
        (["words", None], "bags", "found 'words'; wanted a list of words"),
        ([{"a": -1}, None], "bags", "'a' comes -1 times"),
        ([10**400, 1.0], "numbers", "that a double can hold"),
        ([object(), 1], None, "found object"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(values, kind, match):
    from arbora.forest.content_values import column_of

    with pytest.raises(ForestError, match=match):
        column_of(values, kind)


def test_arrays_and_lists_make_the_same_columns():
    x = np.array([0.5, np.nan, 2.0])
    np.testing.assert_array_equal(Column.numbers(x).values, Column.numbers([0.5, None, 2.0]).values)
    np.testing.assert_array_equal(Column.counts(np.array([1.0, np.nan, 2.0])).values, [1, -1, 2])
    np.testing.assert_array_equal(Column.counts([1, None, 2]).values, [1, -1, 2])
    np.testing.assert_array_equal(Column.flags(np.array([True, False])).values, [1, 0])
    assert Column.codes(np.array([10, 9])).words == ("9", "10")
    assert Column.bags([["v", "u", "u"], None, []]).nested(0, 3) == [{"u": 2, "v": 1}, None, {}]
    assert Column.flags([True, None]).as_kind("numbers").values[0] == 1.0
    assert Column.numbers(x).as_kind("numbers").kind == "numbers"


def test_describe_tells_of_columns(forest):
    told = forest.describe()["content"]
    known = forest.content["x"].values[~forest.content["x"].missing]
    assert told["x"]["quartiles"][2] == pytest.approx(np.median(known))
    assert told["words"]["n_words"] == 3
    assert told["ok"]["n_missing"] == int(forest.content["ok"].missing.sum())
    assert "content" not in forest.with_content({}).describe()
    assert "columns" in repr(forest)


def test_parents_tables_and_objects_take_content():
    given = {"length": [1.0, None, 3.0]}
    forest = Forest.from_parents([-1, 0, 0], ["a", "b", "c"], content=given)
    assert forest[0]["content"] == {"length": 1.0}
    assert forest[0]["children"][1]["content"] == {"length": 3.0}
    table = {"id": [2, 1, 3], "up": [1, None, 1], "word": ["b", "a", "c"], "length": [None, 1.0, 3.0], "at": [1, 0, 0]}
    read = Forest.from_table(table, node="id", parent="up", label="word", order="at", content=["length"])
    assert read[0]["children"] == [{"label": "c", "content": {"length": 3.0}}, {"label": "b"}]
    with pytest.raises(ForestError, match="no column 'width'"):
        Forest.from_table(table, node="id", parent="up", label="word", content=["width"])
    root = {"w": "a", "below": [{"w": "b", "length": 2.0}]}
    objects = Forest.from_objects([root], label="w", children="below", content={"length": "length"})
    assert objects[0] == {"label": "a", "children": [{"label": "b", "content": {"length": 2.0}}]}
