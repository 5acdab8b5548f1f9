"""`arbora hierarchy`: tables in all their forms, outputs, and what is refused."""

import contextlib
import csv
import json
import os
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora
from arbora.cli import app, main
from arbora.errors import ReadError
from arbora.io.tables import read_table
from tests.pages import page_data

FAST = ("--sweeps", "12", "--chains", "2")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 2)), 9.0 + rng.normal(size=(10, 2))])
    path = tmp_path / "data.csv"
    rows = [f"r{n},{a:.4f},{b:.4f},{'low' if n < 10 else 'high'}" for n, (a, b) in enumerate(X)]
    path.write_text("\n".join(["id,x,y,kind", *rows]) + "\n")
    return path


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done


@pytest.mark.parametrize("model", ["nhcm", "dpgmm", "bhmc", "rbhmc"])
def test_outputs_agree_with_each_other(table, tmp_path, model):
    pytest.importorskip("matplotlib")
    out = {"output": "g.csv", "newick": "t.nwk", "tree": "t.json", "picture": "p.png", "save": "m.arbora"}
    options = [x for option, name in out.items() for x in (f"--{option}", tmp_path / name)]
    done = run("hierarchy", table, "--model", model, "--classes", "kind", *FAST, *options, "--json")
    found = json.loads(done.stdout)
    assert found["n_rows"] == 20
    assert found["columns"] == ["x", "y"]
    assert found["levels"][0]["adjusted_rand"] is not None
    with (tmp_path / "g.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows[:2]] == ["r0", "r1"]
    assert rows[0]["class"] == "low"
    stored = arbora.load(tmp_path / "m.arbora")
    assert [int(row["level_1"]) for row in rows] == stored.labels_.tolist()
    tree = arbora.Hierarchy.from_json((tmp_path / "t.json").read_text())
    assert tree.names[0] == "r0"
    assert np.array_equal(tree.labels(1), stored.labels_)
    assert "r19" in (tmp_path / "t.nwk").read_text()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_has_had_enough(table, monkeypatch, more):
    """As in `arbora hierarchy data.csv | head -1`, when head is gone before the first line."""
    read, write = os.pipe()
    os.close(read)
    closed = os.fdopen(write, "w")
    words = ["arbora", "hierarchy", str(table), "--classes", "kind", "--model", "dpgmm", *FAST, *more]
    with monkeypatch.context() as patched:
        patched.setattr(os, "dup2", lambda *_: None)  # what becomes of the stdout of this process
        patched.setattr(sys, "stdout", closed)
        patched.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            main()
    with contextlib.suppress(BrokenPipeError):
        closed.close()
    assert end.value.code == 141


def test_a_page_at_the_fit_and_one_of_the_saved_model(table, tmp_path):
    page, saved = tmp_path / "r.html", tmp_path / "m.arbora"
    run("hierarchy", table, "--model", "dpgmm", "--classes", "kind", *FAST, "--report", page, "--save", saved)
    first = page_data(page.read_text())
    assert first["classes"] == ["high", "low"]
    assert first["items"]["name"][:2] == ["r0", "r1"]
    assert {column[0] for group in first["groups"] for column in group["columns"]} <= {"x", "y"}
    assert first["posterior"]["levels"][0]["together"]["n"] == 20
    run("report", saved, table, "--classes", "kind", "-o", page)
    second = page_data(page.read_text())
    assert "posterior" not in second
    assert second["hierarchy"] == first["hierarchy"]
    assert "wanted the one table" in run("report", saved, table, table, "-o", page, code=2).stderr
    assert "needs the 20 rows" in run("report", saved, _short(table, tmp_path), "-o", page, code=1).stderr
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("r3,", "r3,1"))
    assert "found other rows" in run("report", saved, other, "-o", page, code=1).stderr
    assert "is for trees" in run("report", saved, table, "--skip-bad", code=2).stderr
    told = json.loads(run("predict", saved, table, "--output", tmp_path / "new.csv", "--json").stdout)
    assert sum(told["sizes"]["level_1"].values()) == 20


def test_a_page_reads_the_table_as_the_fit_did(table, tmp_path):
    page, saved = tmp_path / "r.html", tmp_path / "m.arbora"
    run("hierarchy", table, "--model", "dpgmm", "--columns", "x", "--names", "id", *FAST, "--save", saved)
    run("report", saved, table, "-o", page)
    assert page_data(page.read_text())["items"]["name"][:2] == ["r0", "r1"]


def _short(table, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("\n".join(line.rpartition(",")[0] for line in table.read_text().splitlines()[:5]) + "\n")
    return short


def test_the_summary_and_the_seed(table):
    one = run("hierarchy", table, "--classes", "kind", *FAST, "--seed", 1)
    assert "20 rows, 2 columns, model nhcm" in one.stdout
    assert "adjusted Rand index" in one.stdout
    assert one.stdout == run("hierarchy", table, "--classes", "kind", *FAST, "--seed", 1).stdout


def test_an_estimate_outside_its_posterior_is_told(table, monkeypatch):
    from arbora.inference.diagnostics import GroupCount
    from arbora.models.vector_estimator import VectorEstimator

    def many(self, level=None):
        return GroupCount(np.array([15, 18]), np.array([0.5, 0.5]), 15, 16.5, (15, 18), 0.95)

    inside = json.loads(run("hierarchy", table, "--model", "dpgmm", "--classes", "kind", *FAST, "--json").stdout)
    assert inside["levels"][0]["outside_interval"] is None
    monkeypatch.setattr(VectorEstimator, "n_groups_posterior", many)
    told = "the point estimate has 2 groups, outside the 95% interval of their posterior, 15 to 18"
    outside = json.loads(run("hierarchy", table, "--model", "dpgmm", "--classes", "kind", *FAST, "--json").stdout)
    assert told in outside["levels"][0]["outside_interval"]
    shown = " ".join(run("hierarchy", table, "--model", "dpgmm", "--classes", "kind", *FAST).stdout.split())
    assert f"look again: level 1: {told}" in shown


def test_options_reach_the_model(table, tmp_path):
    path = tmp_path / "m.arbora"
    run("hierarchy", table, *FAST, "--columns", "x", "--prior", "nested", "--scaling", "none", "--save", path)
    stored = arbora.load(path)
    assert (stored.prior, stored.scaling, stored.n_iter, stored.n_chains) == ("nested", None, 12, 2)
    assert stored.n_features_in_ == 1


@pytest.mark.parametrize("model", ["nhcm", "rbhmc"])
def test_a_saved_model_sorts_new_rows(table, tmp_path, model):
    path, out = tmp_path / "m.arbora", tmp_path / "new.csv"
    run("hierarchy", table, "--model", model, "--columns", "x,y", *FAST, "--save", path)
    new = tmp_path / "rows.csv"
    new.write_text("who,y,x,more\nlow,0.1,-0.2,7\nfar,9.1,8.8,7\n")  # columns are found by name
    stored = arbora.load(path)
    wanted = stored.predict_levels(np.array([[-0.2, 0.1], [8.8, 9.1]]))
    rows = list(csv.DictReader(run("predict", path, new).stdout.splitlines()))
    assert [row["name"] for row in rows] == ["low", "far"]
    assert [[int(row[f"level_{l + 1}"]) for row in rows] for l in range(len(wanted))] == wanted.tolist()
    run("predict", path, new, "--output", out)
    assert list(csv.DictReader(out.read_text().splitlines())) == rows
    assert json.loads(run("predict", path, new, "--json").stdout)[0]["level_1"] == wanted[0, 0]


def test_tables_that_a_saved_model_cannot_sort(table, tmp_path):
    path, other = tmp_path / "m.arbora", tmp_path / "rows.csv"
    run("hierarchy", table, "--columns", "x,y", *FAST, "--save", path)
    other.write_text("x,z\n1,2\n")
    assert "no column 'y' for columns" in run("predict", path, other, code=1).stderr
    assert "leave it out for a model of rows" in run("predict", path, table, "--skip-bad", code=2).stderr
    assert "2 given; wanted one table" in run("predict", path, table, other, code=2).stderr


def test_help_has_examples():
    assert "arbora hierarchy data.csv" in run("hierarchy", "--help").stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b\n1,2\n3\n", "line 3: 1 cells; wanted 2"),
        ("a,b\n1,2\n3,x\n", "line 3, column 'b': 'x'"),
        ("a,b\n1,2\n3,1e999\n", "wanted a finite number"),
    ],
)
def test_bad_tables_are_told_in_one_line(tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = run("hierarchy", path, code=1)
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_cells_are_integrated_out_or_refused(table, tmp_path):
    lines = table.read_text().splitlines()
    lines[3], lines[15] = "r2,,0.5,low", "r14,9.1,NA,high"
    table.write_text("\n".join(lines) + "\n")
    page, groups, model = tmp_path / "p.html", tmp_path / "g.csv", tmp_path / "m.arbora"
    files = ("--report", page, "--output", groups, "--save", model)
    done = run("hierarchy", table, "--classes", "kind", "--model", "dpgmm", *FAST, *files)
    assert "2 missing cells (5.0%), integrated out" in done.stdout
    assert "2 cells of 40 had no value" in page.read_text()
    kind = {row["name"]: row["level_1"] for row in csv.DictReader(groups.read_text().splitlines())}
    assert kind["r2"] == kind["r0"] != kind["r19"] == kind["r14"]
    again = run("predict", model, table, "--classes", "kind", "--json")
    assert [row["name"] for row in json.loads(again.stdout)][2] == "r2"
    page.unlink()
    run("report", model, table, "--classes", "kind", "--output", page)
    told = run("hierarchy", table, "--classes", "kind", "--model", "bhmc", code=1).stderr
    assert "line 4, column 'x': nothing" in told
    assert "nhcm, dpgmm" in told
    told = run("hierarchy", table, code=1).stderr
    assert "give --classes kind" in told
    for text, reason in (
        ("a,b\n1,2\n,NA\n", "line 3: no number at all"),
        ("a,b\n1,\n2,?\n", "column 'b' has no number"),
    ):
        table.write_text(text)
        assert reason in run("hierarchy", table, code=1).stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--output", "x.txt"), "must end in"),
        (("--model", "dpgmm", "--prior", "flat"), "dpgmm has none"),
        (("--newick", "a.nwk", "--tree", "a.nwk"), "must end in"),
    ],
)
def test_options_that_make_no_sense(table, options, told):
    assert told in run("hierarchy", table, *options, code=2).stderr


def test_missing_file_and_column(tmp_path, table):
    assert "nowhere.csv" in run("hierarchy", tmp_path / "nowhere.csv", code=1).stderr
    assert "no column 'z' for columns" in run("hierarchy", table, "--columns", "z", code=1).stderr


@pytest.mark.parametrize(
    ("text", "names", "columns"),
    [
        ("1,2\n3,4\n", ["1", "2"], ["1", "2"]),
        ("a;b\n1;2\n3;4\n", ["1", "2"], ["a", "b"]),
        ("name\tb\tc\noak\t2\t3\nash\t4\t5\n", ["oak", "ash"], ["b", "c"]),
        ("oak,2\nash,4\n", ["oak", "ash"], ["2"]),
        ("\n1|2\n\n3|4\n", ["1", "2"], ["1", "2"]),
    ],
)
def test_headers_names_and_delimiters_are_found_out(tmp_path, text, names, columns):
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = read_table(path)
    assert table.names == names
    assert table.columns == columns
    assert table.X.shape == (2, len(columns))


def test_the_reader_obeys(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2,3\n4,5,6\n")
    assert read_table(path, header=True).X.tolist() == [[4.0, 5.0, 6.0]]
    assert read_table(path, header=False, names="3").names == ["3", "6"]
    assert read_table(path, target="1", columns=["2"]).target == ["1", "4"]
    with pytest.raises(ReadError, match="no column '9'"):
        read_table(path, names="9")


def test_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    with pytest.raises(ReadError, match=r"a\.csv: two columns are called 'a', wanted names that differ"):
        read_table(tmp_path / "a.csv")
    names = [f"c{n}" for n in range(100_000)]
    (tmp_path / "wide.csv").write_text(",".join([*names, "c9"]) + "\n" + ",".join(["1"] * 100_001) + "\n")
    with pytest.raises(ReadError, match="two columns are called 'c9'"):  # at once
        read_table(tmp_path / "wide.csv")


@pytest.mark.parametrize(
    "told", [5, {"evil": 1}, {"columns": [1, 2]}, {"columns": ["x", "y"], "names": [1], "header": None}]
)
def test_a_model_that_lies_of_its_table(table, tmp_path, told):
    run("hierarchy", table, "--model", "dpgmm", "--columns", "x,y", *FAST, "--save", tmp_path / "m.arbora")
    model = arbora.load(tmp_path / "m.arbora")
    model.provenance_["table"] = told
    model.save(tmp_path / "m.arbora")
    plain = tmp_path / "plain.csv"
    plain.write_text("x,y\n1,2\n")
    assert run("predict", tmp_path / "m.arbora", plain).stdout.startswith("name,level_1\n")
