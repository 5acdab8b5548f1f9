"""Files and numbers made to hurt: bounded time and memory, and one sentence."""

import gzip
import json
import math
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
import arbora.datasets
from arbora import Forest, ForestError, ForestStore, ModelFileError, ReadError
from arbora.errors import SkippedFilesWarning
from arbora.files.container import MAX_HEADER_BYTES, read_container, write_container
from arbora.files.own_outputs import MANIFEST
from arbora.io.registry import FORMATS, READERS

pytestmark = pytest.mark.compiled


def repacked(path: Path, **members: bytes) -> None:
    """The archive with other content for some of its members, well compressed."""
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()}
    content |= {name.replace("__", "."): data for name, data in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in content.items():
            new.writestr(name, data)


def refused(path: Path, most_bytes: int = 2**26) -> str:
    """What `load_forest` says, and that it took little memory to find out."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            ab.load_forest(path)
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    Forest.from_nested([("a", ["b"])]).save(tmp_path / "a.forest")
    return tmp_path / "a.forest"


def test_zip_bomb_in_an_array(stored: Path) -> None:
    repacked(stored, parent__npy=bytes(2**28))
    assert "parent.npy is larger than declared" in refused(stored)


def test_zip_bomb_in_the_header(stored: Path) -> None:
    repacked(stored, header__json=b" " * (MAX_HEADER_BYTES + 1))
    assert "header.json is larger than declared" in refused(stored)


def test_zip_bomb_that_lies_about_its_size(stored: Path) -> None:
    repacked(stored, parent__npy=bytes(2**28))
    data = bytearray(stored.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # sizes, here and in the directory at the end
        where = -1
        while (where := data.find(mark, where + 1)) >= 0:
            if int.from_bytes(data[where + at : where + at + 4], "little") == 2**28:
                data[where + at : where + at + 4] = (200).to_bytes(4, "little")
    stored.write_bytes(bytes(data))
    assert "damaged" in refused(stored)


def test_array_declared_larger_than_allowed(stored: Path) -> None:
    with zipfile.ZipFile(stored) as old:
        head = json.loads(old.read("header.json"))
    head["arrays"]["parent"]["shape"] = [2**50]
    repacked(stored, header__json=json.dumps(head).encode())
    assert "more than max_bytes" in refused(stored)


def test_many_members(stored: Path) -> None:
    with zipfile.ZipFile(stored, "a") as archive:
        for number in range(2000):
            archive.writestr(f"more{number}", b"")
    assert "members are not those of the header" in refused(stored)


def test_deeply_nested_header(stored: Path) -> None:
    repacked(stored, header__json=b"[" * 10**6)
    assert "its header is not JSON" in refused(stored)


def test_manifest_that_points_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a.store"
    ForestStore.write(["a"], path)
    version, header, arrays = read_container(path / MANIFEST, "forest store")
    for name in ("../../etc/passwd", "/etc/passwd", "shard-0.forest", 3, None):
        header["shards"][0][0] = name
        write_container(path / MANIFEST, "forest store", version, header, arrays)
        with pytest.raises(ModelFileError, match="does not make a store"):
            ForestStore(path)


def test_huge_slots_and_vocabularies_are_refused_before_memory_is_asked_for() -> None:
    far = Forest.from_nested([{"label": "a", "children": [{"label": "b", "slot": 2**31 - 1}]}])
    for model in (ab.HiddenTree(2), ab.HiddenTreeMixture(2, 2), ab.InfiniteHiddenTreeMixture(2)):
        with pytest.raises(ForestError, match="set n_slots"):
            model.fit(far)
    assert ab.HiddenTree(2, n_slots=4, max_iter=2, tol=0, random_state=0).fit(far).n_slots_ == 4
    for slot, states in ((10**6, 5), (10**5, 16)):  # few parameters, but gigabytes while a model is fitted
        far = Forest.from_nested([{"label": "a", "children": [{"label": "b", "slot": slot}]}] * 2)
        for model in (ab.HiddenTree(states), ab.HiddenTreeMixture(1, states), ab.HiddenTreeMixture(3, states)):
            with pytest.raises(
                ForestError, match=r"slots make tables of [0-9.]+ GiB in a fit, more than 1; set n_slots"
            ):
                model.fit(far)
    wide = Forest.from_parents([-1], [0], vocabulary=[str(m) for m in range(10**6)])
    with pytest.raises(ForestError, match="labels make"):
        ab.HiddenTreeMixture(64, 16).fit(wide)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0])
def test_weights_that_are_no_weights(bad: float) -> None:
    forest = Forest.from_nested(["a", "b"])
    with pytest.raises(ValueError, match="finite, not negative"):
        ab.HiddenTreeMixture(2).fit(forest, sample_weight=[1.0, bad])


DEEP = 10**6


@pytest.mark.parametrize("deep", [DEEP // 20, pytest.param(DEEP, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "opening", "leaf", "closing"),
    [
        ("a.xml", "<a>", "", "</a>"),
        ("a.nwk", "(", "a", ")"),
        ("a.mrg", "(a ", "b", ")"),
        ("a.elastic.tree", "a(", "b($)", ")"),
        ("a.json", "[", "", "]"),
        ("a.jsonl", '{"label":"a","children":[', '{"label":"b"}', "]}"),
    ],
)
def test_deep_nesting(name: str, opening: str, leaf: str, closing: str, deep: int, tmp_path: Path) -> None:
    text = opening * deep + leaf + closing * deep
    text = {"a.nwk": f"{text};", "a.elastic.tree": f"1:{text}"}.get(name, text)
    (tmp_path / name).write_text(text)
    options = {"max_depth": deep} if name == "a.xml" else {}
    assert ab.read(tmp_path / name, **options).n_nodes >= deep


def test_nesting_beyond_the_limit_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a>" * DEEP + "</a>" * DEEP)
    with pytest.raises(ReadError, match="nested deeper than 256"):
        ab.read(tmp_path / "a.xml")


@pytest.mark.parametrize("deep", [DEEP // 10, pytest.param(DEEP, marks=pytest.mark.slow)])
def test_store_of_a_very_deep_tree(deep: int, tmp_path: Path) -> None:
    chain = Forest.from_parents(np.arange(-1, deep - 1), np.zeros(deep, np.int64), vocabulary=["a"])
    store = ForestStore.write(chain, tmp_path / "a.store", shard_nodes=1000)
    model = ab.HiddenTree(2, max_iter=2, tol=0, random_state=0).fit(store)
    assert np.isfinite(model.score_samples(store)).all()


@pytest.mark.parametrize(
    ("name", "data"), [("a.jsonl", b'{"label": "a"}\n{"label": "\xff"}\n'), ("a.nwk", b"(a,\n\xffb);")]
)
def test_bytes_that_are_not_utf8_are_told_with_their_line(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ReadError, match=r"line 2.*0xff is not UTF-8"):
        ab.read(tmp_path / name)


@pytest.mark.slow
def test_likelihood_of_a_million_nodes_with_a_hundred_thousand_labels() -> None:
    """A long sum of logarithms: against the closed form of trees whose nodes have one state and known chances."""
    n_labels, n_nodes = 10**5, 10**6
    tree = ab.datasets.make_random_trees(1, n_labels, 3, n_nodes, min_nodes=n_nodes, random_state=0)
    rng = np.random.default_rng(0)
    emission = rng.dirichlet(np.ones(n_labels))
    model = ab.HiddenTree.from_parameters(
        leaf_prob=np.ones((4, 1)),
        emission_prob=emission[None],
        switch_prob=np.full(3, 1 / 3),
        transition_prob=np.ones((3, 2, 1)),
        vocabulary=tree.vocabulary,
    )
    exact = math.fsum(np.log(emission[tree.label]).tolist())
    assert model.score_samples(tree)[0] == pytest.approx(exact, rel=1e-12)
    two = ab.HiddenTreeMixture(2, 3, max_iter=2, tol=0, random_state=0, init="random").fit(Forest.concat([tree, tree]))
    assert np.isfinite(two.history_).all()
    assert np.isfinite(two.score_samples(tree)).all()


@pytest.mark.parametrize("ending", ["json", "jsonl", "nwk", "mrg", "xml", "html"])
def test_gzip_bombs(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbora.io.sources.UNPACKED_BYTES", 2**20)
    path = tmp_path / f"a.{ending}.gz"
    path.write_bytes(gzip.compress(b" " * 2**27))
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match="unpacks to more than"):
            ab.read(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.nwk").write_text("(a,b)c;")
    os.mkfifo(tmp_path / "b.nwk")
    assert ab.read(tmp_path).n_trees == 1
    for load in (ab.load, ab.load_forest):
        os.mkfifo(tmp_path / "b.forest") if not (tmp_path / "b.forest").exists() else None
        with pytest.raises(ModelFileError, match="it is a pipe"):
            load(tmp_path / "b.forest")


@pytest.mark.parametrize("format", READERS)
def test_files_without_an_end(format: str, tmp_path: Path) -> None:
    what = "line" if FORMATS[format].by_line else "file"
    with pytest.raises(ReadError, match=f"the {what} holds more than 100000 bytes; raise max_bytes"):
        ab.read("/dev/zero", format, max_bytes=10**5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)  # so that neither end waits for the other; nobody ever closes it
    os.write(end, b"(" * 50)
    with pytest.raises(ReadError, match=f"the {what} holds more than 40 bytes; raise max_bytes"):
        ab.read(pipe, format, max_bytes=40)
    os.close(end)


@pytest.mark.parametrize(
    ("name", "text", "n_trees"),
    [
        ("a.jsonl", '\ufeff{"label": "a"}\r\n{"label": "b"}\r\n', 2),
        ("a.nwk", "(a,b)c;\r\n(a)b;\r\n", 2),
        ("a.mrg", "(S (A a)\r\n (B b))\r\n", 1),
        ("a.conllu", "1\ta\ta\tN\t_\t_\t0\troot\t_\t_\r\n\r\n", 1),
    ],
)
def test_line_ends_of_windows(name: str, text: str, n_trees: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode())
    forest = ab.read(tmp_path / name)
    assert forest.n_trees == n_trees
    assert not any("\r" in word for word in forest.vocabulary)


def test_classes_that_no_column_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    bad = {
        "1" + "0" * 400: "more than 64 bits",
        str(2**63): "more than 64 bits",
        "NaN": "wanted text or a finite number",
        '"' + "x" * 10**6 + '"': "a class of 1000000 characters, wanted 1000 at most",
    }
    for value, words in bad.items():
        path.write_text('{"label":"a","class":"q"}\n' * 5000 + f'{{"label":"a","class":{value}}}\n')
        with pytest.raises(ReadError, match=f"line 5001: .*{words}"):
            ab.read(path)
        with pytest.warns(SkippedFilesWarning):
            assert ab.read(path, on_error="skip").n_trees == 5000


def test_what_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(ForestError, match="a class of 1500 characters; wanted 1000 at most"):
        Forest.from_nested(["a", "b"], target=["x", "y" * 1500])
    with pytest.raises(ForestError, match="a class of 1001 characters"):
        Forest.from_nested(["a", "b"]).with_target(np.array(["x", "y" * 1001]))
    with pytest.raises(ForestError, match="a class of 1500 characters"):
        Forest.from_nested(["a", "b"], target=np.array(["x", "y" * 1500], object))
    assert len(Forest.from_nested(["a"], target=["y" * 1000]).target[0]) == 1000


def test_forged_classes_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.forest"
    Forest.from_nested(["a"] * 5000, target=["x"] * 5000).save(path)
    version, header, arrays = read_container(path, "forest")
    arrays["target.text"] = np.frombuffer(b"x" * (10**6 + 4999), np.uint8)
    arrays["target.offsets"] = np.concatenate([[0], np.arange(10**6, 10**6 + 5000)])
    write_container(path, "forest", version, header, arrays)
    assert "a class of 1000000 characters" in refused(path)
