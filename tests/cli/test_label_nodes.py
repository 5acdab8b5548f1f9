"""``arbora label-nodes``: from a table that people fill in to outputs of all nodes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.io import write_jsonl
from tests.cli.test_commands import fails, run

QUICK = ("--states", "2", "--max-iter", "8")


def trees() -> ab.Forest:
    """Pages of two kinds; what an item is depends on what it is below."""
    kinds = [("list", ["item", "item"]), ("menu", ["item"])]
    return ab.Forest.from_nested(
        [("page", [kinds[n % 2], "text"]) for n in range(12)], name=[f"p{n}" for n in range(12)]
    )


def role(row: dict[str, str]) -> str:
    """The output that people give: that of the list or menu a page begins with, and of nodes by their label."""
    return {"list": "content", "menu": "navigation"}.get(row["label"], row["label"].upper())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_jsonl(trees(), tmp_path / "trees.jsonl")
    return tmp_path / "trees.jsonl"


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def annotate(corpus: Path, every: int = 2) -> Path:
    """The template with the outputs of some nodes filled in."""
    path = corpus.with_name("nodes.csv")
    run("label-nodes", corpus, "--template", path)
    rows = rows_of(path)
    assert [row["output"] for row in rows] == [""] * trees().n_nodes
    for n, row in enumerate(rows):
        row["output"] = role(row) if n % every == 0 else ""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_from_a_template_to_outputs_of_all_nodes(corpus: Path) -> None:
    known, out, model = annotate(corpus), corpus.with_name("out.csv"), corpus.with_name("m.arbora")
    told = run("label-nodes", corpus, "--known", known, "--output", out, "--save", model, *QUICK)
    assert "labelled" in told
    assert "with their tree held out" in told
    rows, given = rows_of(out), rows_of(known)
    assert len(rows) == trees().n_nodes
    assert [row["known"] for row in rows] == ["true" if row["output"] else "false" for row in given]
    assert all(row["output"] == role(row) for row in rows)
    assert all(float(row["probability"]) == 1.0 for row in rows if row["known"] == "true")
    assert all(0.5 < float(row["probability"]) <= 1.0 for row in rows)
    again = corpus.with_name("again.csv")
    run("label-nodes", corpus, "--model", model, "--output", again)
    assert [row["output"] for row in rows_of(again)] == [row["output"] for row in rows]
    assert {row["known"] for row in rows_of(again)} == {"false"}
    both = corpus.with_name("both.csv")
    run("label-nodes", corpus, "--model", model, "--known", known, "--output", both)
    assert [row["known"] for row in rows_of(both)] == [row["known"] for row in rows]


def test_tables_of_all_kinds_give_the_same(corpus: Path) -> None:
    known = annotate(corpus)
    wanted = run("label-nodes", corpus, "--known", known, *QUICK)
    rows = [row for row in rows_of(known) if row["output"]]
    for row in rows:
        row["node"] = int(row["node"])  # type: ignore[assignment]
    lines, whole = corpus.with_name("n.jsonl"), corpus.with_name("n.json")
    lines.write_text("\n".join(json.dumps(row) for row in rows))
    whole.write_text(json.dumps(rows))
    assert run("label-nodes", corpus, "--known", lines, *QUICK) == wanted
    assert run("label-nodes", corpus, "--known", whole, *QUICK) == wanted
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(rows), corpus.with_name("n.parquet"))
    assert run("label-nodes", corpus, "--known", corpus.with_name("n.parquet"), *QUICK) == wanted


def test_a_column_of_the_trees_gives_the_same(corpus: Path, tmp_path: Path) -> None:
    known = annotate(corpus)
    wanted = run("label-nodes", corpus, "--known", known, *QUICK)
    values = [row["output"] or None for row in rows_of(known)]
    trees().with_content({"role": values}).save(tmp_path / "c.forest")
    assert run("label-nodes", tmp_path / "c.forest", "--column", "role", *QUICK) == wanted
    assert "none of the columns" in fails("label-nodes", tmp_path / "c.forest", "--column", "rule")


def test_options_change_what_they_name(corpus: Path) -> None:
    known = annotate(corpus, 3)
    plain = run("label-nodes", corpus, "--known", known, *QUICK)
    assert run("label-nodes", corpus, "--known", known, "--states", "3", "--max-iter", "8") != plain
    assert run("label-nodes", corpus, "--known", known, "--states", "2", "--max-iter", "1") != plain
    assert run("label-nodes", corpus, "--known", known, *QUICK, "--seed", "5") != plain
    rows = json.loads(run("label-nodes", corpus, "--known", known, *QUICK, "--json"))
    assert len(rows) == trees().n_nodes
    facts = json.loads(
        run("label-nodes", corpus, "--known", known, *QUICK, "--json", "-o", corpus.with_name("o.parquet"))
    )
    assert facts["n_known"] == 18
    assert set(facts["outputs"]) <= {"ITEM", "PAGE", "TEXT", "content", "navigation"}
    assert 0.0 <= facts["found"] <= 1.0


def test_what_the_label_does_not_say_is_learnt(tmp_path: Path) -> None:
    """The role of a page is that of what lies in it; by the label alone half the pages are wrong."""
    forest = trees()
    ids = np.repeat(np.arange(12), forest.sizes)
    roots = set((forest.tree_start[1:] - 1).tolist())
    values = [("first", "second")[ids[u] % 2] if u in roots else None for u in range(forest.n_nodes)]
    forest.with_content({"role": values}).save(tmp_path / "c.forest")
    facts = json.loads(
        run("label-nodes", tmp_path / "c.forest", "--column", "role", "--json", "-o", tmp_path / "out.csv")
    )
    assert facts["found"] == 1.0
    assert facts["found_by_label_alone"] <= 0.75


def test_odd_tables_are_refused_and_name_the_place(corpus: Path) -> None:
    path = corpus.with_name("bad.csv")
    for text, words in (
        ("tree,node\np0,1\n", "no column output"),
        ("tree,node,output\np0,9,x\n", "line 2: node 9 of p0, which has 5; wanted 0 to 4"),
        ("tree,node,output\np0,one,x\n", "line 2: the node is 'one'"),
        ("tree,node,output\np0,1,x\np0,1,y\n", "line 3: a second output for node 1"),
        ("tree,node,label,output\np0,1,menu,x\n", "line 2: the label menu for node 1"),
        ("tree,node,output\np0,1\n", "line 2: 2 cells"),
        ("tree,node,output\np0,1,\n", "no row gives an output"),
        ("tree,node,output\nq,1,x\n", "no row gives an output"),
    ):
        path.write_text(text)
        assert words in fails("label-nodes", corpus, "--known", path, "--quiet")
    path = corpus.with_name("bad.jsonl")
    nodes = ('"1_0"', '"\u0661"', "true", "1.5", "1e999", "NaN")
    rows = [(f'{{"tree": "p0", "node": {node}, "output": "x"}}', "line 1: the node is") for node in nodes]
    rows.append(('{"tree": "p0", "node": 1, "output": {"x": 1}}', "line 1: the output is {'x': 1}"))
    rows.append(('{"tree": "p0", "node": 1, "node": 2, "output": "x"}', "two members 'node'"))
    for text, words in (("{", "no JSON"), ("[1]", "found a list"), ('{"tree": "p0"}', "no column node"), *rows):
        path.write_text(text)
        assert words in fails("label-nodes", corpus, "--known", path)
    corpus.with_name("bad.parquet").write_bytes(b"no")
    assert "no parquet" in fails("label-nodes", corpus, "--known", corpus.with_name("bad.parquet"))


def test_options_that_do_not_go_together_are_refused(corpus: Path) -> None:
    known = annotate(corpus)
    for given in (
        (),
        ("--known", known, "--column", "role"),
        ("--template", corpus.with_name("t.csv"), "--known", known),
        ("--known", known, "--output", known),
        ("--known", corpus),
        ("--known", known, "--save", "m.txt"),
    ):
        fails("label-nodes", corpus, *given, code=1 if given[:1] == ("--known",) and given[1] == corpus else 2)
    ab.HiddenTree(2, max_iter=1, tol=0, random_state=0).fit(trees()).save(corpus.with_name("h.arbora"))
    assert "gives nodes no outputs" in fails("label-nodes", corpus, "--model", corpus.with_name("h.arbora"))


def test_few_annotated_trees_are_said_to_be_few(corpus: Path) -> None:
    path = corpus.with_name("few.csv")
    path.write_text("tree,node,output\np0,0,x\np1,0,y\nq,3,z\n")
    from typer.testing import CliRunner

    from arbora.cli import app

    done = CliRunner().invoke(app, ["label-nodes", str(corpus), "--known", str(path), *QUICK])
    assert done.exit_code == 0
    assert "2 trees have annotated nodes: too few" in done.stderr
    assert "trees that are not here, q" in done.stderr
