"""Forests and other arrays on disk: exact round trips, and files that are damaged or lie about themselves."""

import json
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora import Forest
from arbora.errors import MissingDependencyError, ModelFileError
from arbora.files.container import read_container, write_container
from arbora.io import load_forest, save_forest
from tests import examples

SUFFIXES = [".forest", ".parquet"]


def same(forest, other):
    """The very same columns, not only equal trees."""
    for a, b in zip(forest.arrays, other.arrays, strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype
    assert forest.vocabulary == other.vocabulary
    return forest == other


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_awkward_forests_come_back(awkward, tmp_path, suffix):
    awkward.save(tmp_path / f"a{suffix}")
    assert same(load_forest(tmp_path / f"a{suffix}"), awkward)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "target",
    [None, np.array([3, 1, 2]), np.array([1.5, np.inf, 0]), np.array([True, False, True]), np.array(["é", "", "x y"])],
    ids=lambda t: str(getattr(t, "dtype", t)),
)
@pytest.mark.parametrize("name", [None, ["a.xml", "", "ü#3"]], ids=["nameless", "named"])
def test_targets_and_names_come_back(tmp_path, suffix, target, name):
    forest = Forest.from_nested(["a", ("b", ["a"]), None], target=target, name=name)
    save_forest(forest, tmp_path / f"a{suffix}")
    back = load_forest(tmp_path / f"a{suffix}")
    assert same(forest, back)
    assert target is None or back.target.dtype.kind == target.dtype.kind


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_forest_comes_back(tmp_path, suffix):
    examples.empty().save(tmp_path / f"a{suffix}")
    assert load_forest(tmp_path / f"a{suffix}").n_trees == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_forests_come_back(tmp_path, suffix):
    @given(examples.forests(labels=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)))
    def check(forest):
        save_forest(forest, tmp_path / f"a{suffix}")
        assert same(load_forest(tmp_path / f"a{suffix}"), forest)

    check()


def test_lone_surrogates_come_back(tmp_path):
    """File names that are not UTF-8 reach Python as lone surrogates."""
    forest = Forest.from_nested(["\ud800"], name=["\udcff.xml"])
    save_forest(forest, tmp_path / "a.forest")
    assert load_forest(tmp_path / "a.forest") == forest


def test_equal_forests_give_equal_bytes(tmp_path):
    for name in ("a.forest", "b.forest"):
        examples.random_forest(seed=1).save(tmp_path / name)
    assert (tmp_path / "a.forest").read_bytes() == (tmp_path / "b.forest").read_bytes()


@pytest.mark.parametrize("path", ["a.npz", "forest", "a.forest.gz"])
def test_the_name_says_the_format(tmp_path, path):
    for work in (lambda: save_forest(examples.pair(), tmp_path / path), lambda: load_forest(tmp_path / path)):
        with pytest.raises(ModelFileError, match=r"must end in \.forest or \.parquet"):
            work()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_such_file_or_folder(tmp_path, suffix):
    with pytest.raises(ModelFileError, match=rf"b{suffix}: there is no such file"):
        load_forest(tmp_path / f"b{suffix}")
    with pytest.raises(ModelFileError, match=rf"b{suffix}: cannot be written \(no such file or directory\)"):
        save_forest(examples.pair(), tmp_path / "nowhere" / f"b{suffix}")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.forest"
    examples.pair().save(path)
    before = path.read_bytes()

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    with pytest.raises(ModelFileError, match=r"cannot be written \(no space left on device\)"):
        examples.star().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cut_short_anywhere(tmp_path, suffix):
    forest = examples.random_forest(3)
    path = tmp_path / f"a{suffix}"
    forest.save(path)
    whole = path.read_bytes()
    for n in [*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1]:
        path.write_bytes(whole[:n])
        with pytest.raises(ModelFileError) as caught:
            load_forest(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_flipped_bit_is_found_or_harmless(tmp_path, suffix):
    forest = examples.named_with_classes()
    path = tmp_path / f"a{suffix}"
    forest.save(path)
    whole = path.read_bytes()
    found = 0
    rng = np.random.default_rng(0)
    places = rng.choice(len(whole) * 8, 400, replace=False).tolist()
    for place in places:
        bytes_ = bytearray(whole)
        bytes_[place // 8] ^= 1 << place % 8
        path.write_bytes(bytes_)
        try:
            back = load_forest(path)
        except ModelFileError:
            found += 1
        else:  # a bit of the packing, such as a time stamp
            assert same(back, forest)
    assert found > 200


def test_random_bytes(tmp_path):
    @given(st.binary(max_size=200))
    def check(data):
        for suffix in SUFFIXES:
            (tmp_path / f"a{suffix}").write_bytes(data)
            with pytest.raises(ModelFileError):
                load_forest(tmp_path / f"a{suffix}")

    check()


# ---- files that lie -------------------------------------------------------------------------------------------------


@pytest.fixture
def members(tmp_path):
    """Write a forest, and give a function that rewrites some of its members."""
    path = tmp_path / "a.forest"
    examples.gaps().save(path)
    with zipfile.ZipFile(path) as zipped:
        content = {name: zipped.read(name) for name in zipped.namelist()}

    def rewrite(**changes):
        head = json.loads(content["header.json"])
        for key, value in changes.pop("head", {}).items():
            head[key] = value
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in {**content, "header.json": json.dumps(head).encode(), **changes.pop("files", {})}.items():
                if data is not None:
                    zipped.writestr(name, data)
        return path, head

    return rewrite


def test_rewriting_as_it_was_is_fine(members):
    path, _ = members()
    assert load_forest(path) == examples.gaps()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": {"version": 3}}, "forest version 3, this version of Arbora reads 1 and 2; update Arbora"),
        ({"head": {"container": 9}}, "container version 9, wanted 1"),
        ({"head": {"kind": "model"}}, "it holds a model, wanted a forest"),
        ({"head": {"kind": 3}}, "its header lacks a key"),
        ({"files": {"header.json": b"{"}}, "its header is not JSON"),
        ({"files": {"header.json": b"[" * 100_000}}, "its header is not JSON"),
        ({"files": {"header.json": b"\xff\xfe\xff"}}, "its header is not JSON"),
        ({"files": {"header.json": None}}, "the file is damaged"),
        ({"files": {"slot.npy": None}}, "its members are not those of the header"),
        ({"files": {"more.npy": b"x"}}, "its members are not those of the header"),
        ({"files": {"slot.npy": b"\0" * 100_000_000}}, "slot.npy is larger than declared"),
        ({"files": {"slot.npy": b"not an array"}}, "the array 'slot' cannot be read"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_wrong_content(members, change, message):
    path, _ = members(**change)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_forest(path)
    assert "\n" not in str(caught.value)


def test_too_large_is_refused_before_unpacking(members, tmp_path):
    _, head = members()
    head["arrays"]["slot"]["shape"] = [10**14]
    path, _ = members(head={"arrays": head["arrays"]})
    with pytest.raises(ModelFileError, match=r"it declares 4000000000\d* bytes, more than max_bytes"):
        load_forest(path)
    for suffix in SUFFIXES:
        examples.random_forest(200).save(tmp_path / f"b{suffix}")
        with pytest.raises(ModelFileError, match="more than max_bytes=1000; raise max_bytes"):
            load_forest(tmp_path / f"b{suffix}", max_bytes=1000)


@pytest.mark.parametrize("shape", [[-1], ["x"], None, [1.5], 3])
def test_nonsense_in_the_header(members, shape):
    _, head = members()
    head["arrays"]["slot"]["shape"] = shape
    with pytest.raises(ModelFileError, match="its header describes the array 'slot' wrongly"):
        load_forest(members(head={"arrays": head["arrays"]})[0])


def test_pickles_are_refused(members):
    _, head = members()
    for dtype in ("|O", "O"):
        head["arrays"]["slot"]["dtype"] = dtype
        with pytest.raises(ModelFileError, match="describes the array 'slot' wrongly"):
            load_forest(members(head={"arrays": head["arrays"]})[0])


def test_valid_arrays_that_are_no_forest(tmp_path):
    columns = dict(examples.gaps().arrays._asdict())
    texts = {"vocabulary.text": np.frombuffer(b"abc", np.uint8), "vocabulary.offsets": np.array([0, 1, 2, 3])}
    path = tmp_path / "a.forest"
    write_container(path, "forest", 1, {}, columns | texts)
    assert load_forest(path) == examples.gaps()
    wrong_slot = columns | {"slot": np.zeros_like(columns["slot"])}
    for arrays in (
        wrong_slot | texts,
        columns | texts | {"vocabulary.offsets": np.array([0, 2, 1, 3])},
        columns | texts | {"vocabulary.offsets": np.array([0, 1, 2, 9])},
        columns | texts | {"vocabulary.text": np.frombuffer(b"\xff\xff\xff", np.uint8)},
        columns | texts | {"slot": columns["slot"].astype(float)},
        columns,
        texts,
    ):
        write_container(path, "forest", 1, {}, arrays)
        with pytest.raises(ModelFileError, match=r"a\.forest: its columns do not make a forest"):
            load_forest(path)


# ---- the container for everything else ------------------------------------------------------------------------------


def test_container_gives_back_what_it_got(tmp_path):
    arrays = {
        "weight_": np.array([0.25, np.nan, -np.inf]),
        "scalar": np.array(3),
        "none": np.empty((0, 4)),
        "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "strided": np.arange(10)[::3],
        "flags": np.array([[True], [False]]),
        "classes.text": np.array(["é", "ab"]),
        "z": np.array([1 + 2j]),
    }
    header = {"model": "HiddenTree", "params": {"n_states": 3, "prior": None}, "words": ["é", "\ud800"]}
    write_container(tmp_path / "m.arbora", "model", 7, header, arrays)
    version, back_header, back = read_container(tmp_path / "m.arbora", "model")
    assert (version, back_header) == (7, header)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape


@pytest.mark.parametrize(
    "arrays",
    [{"a": np.array([object()])}, {"../a": np.zeros(1)}, {"": np.zeros(1)}],
    ids=["objects", "a path", "no name"],
)
def test_container_refuses_what_it_cannot_keep(tmp_path, arrays):
    with pytest.raises(ModelFileError, match="wanted"):
        write_container(tmp_path / "m.arbora", "model", 1, {}, arrays)
    assert list(tmp_path.iterdir()) == []


def test_a_header_that_is_no_json_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_container(tmp_path / "m.arbora", "model", 1, {"x": object()}, {})
    assert list(tmp_path.iterdir()) == []


# ---- parquet --------------------------------------------------------------------------------------------------------


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"arbora\[parquet\]"):
        save_forest(examples.pair(), tmp_path / "a.parquet")
    with pytest.raises(MissingDependencyError, match=r"arbora\[parquet\]"):
        load_forest(tmp_path / "a.parquet")


def test_parquet_of_others(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(ModelFileError, match="it was not written by Arbora"):
        load_forest(tmp_path / "a.parquet")


def test_parquet_of_another_version_or_content(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    examples.gaps().save(path)
    table = parquet.read_table(path)
    head = json.loads(table.schema.metadata[b"arbora"])
    for change, message in (
        ({"version": 3}, "forest version 3"),
        ({"vocabulary": ["a"]}, "do not make a forest"),
        ({"vocabulary": ["c", "b", "a"]}, "the checksum is wrong"),
    ):
        parquet.write_table(table.replace_schema_metadata({"arbora": json.dumps(head | change)}), path)
        with pytest.raises(ModelFileError, match=message):
            load_forest(path)
