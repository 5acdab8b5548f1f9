"""Stores from the command line: converted part by part, clustered without being read at once."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import arbora as ab
from arbora import ForestStore
from arbora.cli import app, files, reading
from arbora.datasets import make_documents
from arbora.errors import ReadError
from arbora.io import write_jsonl
from tests.cli.test_commands import fails, run

pytestmark = pytest.mark.compiled


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Documents as XML files in folders of their kinds, and as lines."""
    forest = make_documents(12, random_state=0)
    for t, kind in enumerate(forest.target.tolist()):
        folder = tmp_path / "xml" / kind
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{t:03d}.xml").write_text(_xml(forest[t]))
    write_jsonl(forest, tmp_path / "trees.jsonl")
    return tmp_path


def _xml(node: dict) -> str:
    return f"<{node['label']}>{''.join(map(_xml, node.get('children', ())))}</{node['label']}>"


@pytest.mark.parametrize(("source", "more"), [("xml", ["--classes", "folder"]), ("trees.jsonl", [])])
def test_store_holds_what_the_reader_reads(corpus: Path, source: str, more: list[str]) -> None:
    told = json.loads(run("convert", corpus / source, corpus / "a.store", "--shard-nodes", 200, "--json", *more))
    run("convert", corpus / source, corpus / "a.forest", *more)
    store, whole = ForestStore(corpus / "a.store"), ab.load_forest(corpus / "a.forest")
    assert told["n_trees"] == len(store) == len(whole)
    assert len(store.entries) >= 3
    assert store.to_forest() == whole
    assert store.vocabulary == whole.vocabulary
    run("convert", corpus / "a.store", corpus / "b.store")  # a store is an input, too
    assert ForestStore(corpus / "b.store").to_forest() == whole
    run("convert", corpus / "a.forest", corpus / "c.store", "--shard-nodes", 100)
    assert ForestStore(corpus / "c.store").to_forest() == whole


def test_clusters_and_predictions_of_a_store_are_those_of_its_trees(corpus: Path) -> None:
    run("convert", corpus / "trees.jsonl", corpus / "a.store", "--shard-nodes", 300)
    run("convert", corpus / "trees.jsonl", corpus / "a.forest")
    for source, name in ((corpus / "a.store", "store"), (corpus / "a.forest", "forest")):
        options = ["-k", 3, "--max-iter", 5, "--output", corpus / f"{name}.csv", "--save", corpus / f"{name}.arbora"]
        run("cluster", source, *options)
        run("predict", corpus / "forest.arbora" if name == "forest" else corpus / "store.arbora", source)
        run("encode", corpus / f"{name}.arbora", source, "--output", corpus / f"{name}.npz")
    rows = [(corpus / f"{name}.csv").read_text().splitlines() for name in ("store", "forest")]
    assert [row.split(",")[:2] for row in rows[0]] == [row.split(",")[:2] for row in rows[1]]
    a, b = (ab.load(corpus / f"{name}.arbora") for name in ("store", "forest"))
    np.testing.assert_allclose(a.emission_prob_, b.emission_prob_, atol=1e-9)
    run("cluster", corpus / "a.store", "-k", 2, "--max-iter", 2, "--memory", 0, "--checkpoint", corpus / "fit")
    assert (corpus / "fit").is_file()
    json.loads(run("info", corpus / "a.store", "--json"))


def test_tables_are_the_same_in_any_pieces(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("convert", corpus / "trees.jsonl", corpus / "a.store", "--shard-nodes", 300)
    run("cluster", corpus / "a.store", "-k", 2, "--max-iter", 2, "--save", corpus / "model.arbora")
    written = []
    for rows_at_once in (files.ROWS_AT_ONCE, 7):
        monkeypatch.setattr(files, "ROWS_AT_ONCE", rows_at_once)
        for suffix in ("csv", "json"):
            table = corpus / f"{rows_at_once}.{suffix}"
            run("predict", corpus / "model.arbora", corpus / "a.store", "--memory", 0, "--output", table)
            written.append(table.read_text())
        written.append(run("predict", corpus / "model.arbora", corpus / "a.store"))
    assert written[:3] == written[3:]
    assert written[0] == written[2]
    rows = json.loads(written[1])
    assert written[1] == json.dumps(rows, indent=1) + "\n"
    assert len(rows) == len(written[0].splitlines()) - 1 == ForestStore(corpus / "a.store").n_trees > 7
    files.write_table(corpus / "empty.json", {"name": [], "cluster": np.zeros(0, int)})
    assert (corpus / "empty.json").read_text() == "[]\n"


def test_words_about_stores(corpus: Path) -> None:
    refused = {
        ("convert", corpus / "xml", corpus / "a.forest", "--shard-nodes", 3): "is one file; leave this out",
        ("cluster", corpus / "trees.jsonl", "-k", 2, "--scheduler", "tcp://host:1"): "read trees from a .store alone",
        ("cluster", corpus / "trees.jsonl", "--model", "mixture", "--checkpoint", corpus / "fit"): "give --components",
        ("cluster", corpus / "trees.jsonl", "--model", "unions", "--memory", 9): "--model unions has none",
    }
    for command, words in refused.items():
        assert words in " ".join(fails(*command, code=2).split())
    (corpus / "empty.store").mkdir()
    assert "no finished store" in fails("cluster", corpus / "empty.store")


def test_broken_conversion_goes_on_where_it_stopped(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = corpus / "trees.jsonl", corpus / "a.store"
    reads: list[int] = []
    write = reading.StoreWriter.add

    def breaking(self: reading.StoreWriter, forest: ab.Forest, position: object = None) -> None:
        reads.append(forest.n_trees)
        if len(reads) == 4:
            raise KeyboardInterrupt
        write(self, forest, position)

    monkeypatch.setattr(reading.StoreWriter, "add", breaking)
    inputs = reading.find([source], None, None)
    with pytest.raises(typer.Exit):
        reading.write_store(inputs, target, False, None, True, 200)
    n_before = sum(reads[:3])
    store = reading.write_store(inputs, target, False, None, True, 200)
    assert sum(reads[4:]) + n_before == len(store)  # nothing was read twice
    assert store.to_forest() == ab.read(source)


def test_bad_lines(corpus: Path) -> None:
    lines = (corpus / "trees.jsonl").read_text().splitlines()
    (corpus / "bad.jsonl").write_text("\n".join([*lines[:30], "{", *lines[30:]]))
    inputs = reading.find([corpus / "bad.jsonl"], None, None)
    with pytest.raises(ReadError, match="line 31"):
        reading.write_store(inputs, corpus / "a.store", False, None, True, 200)
    with pytest.warns(UserWarning, match="1 bad file or line"):
        store = reading.write_store(inputs, corpus / "a.store", True, None, True, 200)
    assert len(store) == len(lines)


def test_conversion_with_other_classes_is_made_anew(corpus: Path) -> None:
    names = ForestStore.write(ab.read(corpus / "trees.jsonl"), corpus / "plain.store").name
    table = corpus / "classes.csv"
    convert = ("convert", corpus / "trees.jsonl", corpus / "a.store", "--shard-nodes", 200, "--classes", table)
    for kind in ("x", "y"):
        table.write_text("name,class\nnobody,z\n" + "".join(f"{name},{kind}\n" for name in names))
        told = CliRunner().invoke(app, [str(word) for word in convert])
        assert told.exit_code == 0
        assert told.stderr.count("rows for trees that are not here, nobody;") == 1
        assert set(ForestStore(corpus / "a.store").target) == {kind}


def test_conversion_that_left_only_bad_lines_goes_on(corpus: Path) -> None:
    (corpus / "k.jsonl").write_text('{"label":"a","children":[{"label":"b"}]}\n{"label":\n')
    for _ in range(2):
        run("convert", corpus / "k.jsonl", corpus / "k.store", "--skip-bad", "--shard-nodes", 1)
        assert ForestStore(corpus / "k.store").n_trees == 1


def test_conversion_of_one_split(corpus: Path) -> None:
    lines = ['{"label":"a","split":"train"}', '{"label":"b","split":"train"}', '{"label":"c","split":"test"}']
    (corpus / "s.jsonl").write_text("\n".join(lines))
    for _ in range(2):
        run("convert", corpus / "s.jsonl", corpus / "s.store", "--read", "split=train", "--shard-nodes", 1)
        assert ForestStore(corpus / "s.store").vocabulary == ("a", "b")
    refused = fails("convert", corpus / "s.jsonl", corpus / "t.store", "--read", "split=no", "--shard-nodes", 1)
    assert 'none of the 3 trees has "split": "no"' in refused


def test_conversion_treats_classes_as_reading_does(corpus: Path) -> None:
    (corpus / "c.jsonl").write_text('{"label":"a","class":"p"}\n{"label":"b"}\n{"label":"c","class":"q"}\n')
    for target, more in ((corpus / "c.forest", []), (corpus / "c.store", ["--shard-nodes", 1])):
        assert "line 2: no class, though the trees before have one" in fails(
            "convert", corpus / "c.jsonl", target, *more
        )
        run("convert", corpus / "c.jsonl", target, "--skip-bad", *more)
        assert ab.read(target).target.tolist() == ["p", "q"]


def test_classes_of_a_store_are_of_one_kind_however_it_is_cut(corpus: Path) -> None:
    lines = [f'{{"label":"a","class":{kind}}}' for kind in ("1", "2", "2.5", '"x"', "true", "3")]
    (corpus / "m.jsonl").write_text("\n".join(lines))
    for nodes in (1, 2, 100):
        convert = ("convert", corpus / "m.jsonl", corpus / f"{nodes}.store", "--shard-nodes", nodes)
        assert "line 3: class 2.5 is a number with a fraction, those before are a whole number" in fails(*convert)
        run(*convert, "--skip-bad")
        assert ForestStore(corpus / f"{nodes}.store").target.tolist() == [1, 2, 3]
    (corpus / "all.csv").write_text("name,class\nm.jsonl,one\n")
    run("convert", corpus / "m.jsonl", corpus / "all.store", "--shard-nodes", 2, "--classes", corpus / "all.csv")
    assert ForestStore(corpus / "all.store").target.tolist() == ["one"] * 6  # other classes take the place of these


def test_checkpoint_in_no_folder_is_told_before_the_fit(corpus: Path) -> None:
    told = fails(
        "cluster", corpus / "trees.jsonl", "--model", "mixture", "-k", 2, "--checkpoint", corpus / "no" / "fit", code=2
    )
    assert "there is no such folder" in " ".join(told.split())
