"""`arbora describe`: every option changes what it names, and what is printed bare is the artefact itself."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arbora.cli import app


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two kinds, others of the same kinds, and a model."""
    where = tmp_path_factory.mktemp("describe")
    for name, size in (("docs", 12), ("new", 3)):
        (where / name).mkdir()
        for n in range(size):
            order = {"id": n, "lines": [{"price": 1.5}] * (n % 3 + 1)}
            user = {"name": "x", "mail": "y", "roles": ["a"]}
            (where / name / f"order-{n}.json").write_text(json.dumps(order))
            (where / name / f"user-{n}.json").write_text(json.dumps(user))
    done = run("cluster", where / "docs", "-k", 2, "--save", where / "m.arbora", "-q")
    assert done.exit_code == 0, done.output
    return where


def test_everything_is_printed_with_its_coverage(folder: Path) -> None:
    done = run("describe", folder / "m.arbora", folder / "docs", "-q")
    assert done.exit_code == 0, done.output
    for word in ("cluster 0", "skeleton, in cross-fitting", "paths, in cross-fitting", "JSON Schema", "has $."):
        assert word in done.stdout


def test_a_schema_is_printed_bare(folder: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = []
    for cluster in (0, 1):
        words = ("--cluster", cluster, "--only", "schema", "-q")
        done = run("describe", folder / "m.arbora", folder / "docs", *words)
        schema = json.loads(done.stdout)
        documents = [json.loads(path.read_text()) for path in sorted((folder / "new").iterdir())]
        found.append([jsonschema.Draft202012Validator(schema).is_valid(one) for one in documents])
    assert sorted(found) == [[False] * 3 + [True] * 3, [True] * 3 + [False] * 3]


def test_names_held_out_trees_and_outputs(folder: Path) -> None:
    (folder / "names.csv").write_text("cluster,name\n0,ours\n")
    out = folder / "artefacts.json"
    words = ("--held-out", folder / "new", "--names", folder / "names.csv", "--output", out, "--json", "-q")
    done = run("describe", folder / "m.arbora", folder / "docs", *words)
    assert done.exit_code == 0, done.output
    first, second = json.loads(done.stdout)
    assert (first["name"], first["held_out"]) == ("ours", "given trees")
    assert first["coverage"]["schema"] == {"own": 1.0, "elsewhere": 0.0}
    assert second["name"]
    assert json.loads(out.read_text()) == [first, second]
    only = run("describe", folder / "m.arbora", folder / "docs", "--only", "paths", "-q").stdout
    assert "skeleton" not in only


def test_clusters_are_named_where_they_are_found(folder: Path) -> None:
    (folder / "called.csv").write_text("cluster,name\n1,theirs\n7,nobody\n")
    outputs = ("--report", folder / "page.html", "--output", folder / "rows.csv")
    words = ("cluster", folder / "docs", "-k", 2, "--names", folder / "called.csv", *outputs)
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    first, second = json.loads(done.stdout)["summary"]["clusters"]
    assert first["name"] != second["name"] == "theirs"
    assert "--names: there is no cluster 7; clusters are 0 to 1" in done.stderr
    assert "theirs" in (folder / "page.html").read_text()
    with (folder / "rows.csv").open() as rows:
        assert {row["cluster_name"] for row in csv.DictReader(rows) if row["cluster"] == "1"} == {"theirs"}
    (folder / "called.csv").write_text("cluster,name\nfirst,theirs\n")
    assert "wanted a whole number" in run(*words).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [(("--cluster", 7), "no tree is in cluster 7"), (("--output", "a.csv"), ".json")],
)
def test_refusals(folder: Path, words: tuple[object, ...], told: str) -> None:
    done = run("describe", folder / "m.arbora", folder / "docs", *words)
    assert done.exit_code in (1, 2)
    assert told in done.output


def test_a_schema_of_other_trees_is_refused(folder: Path) -> None:
    trees = folder / "trees.nwk"
    trees.write_text("".join("(a,b)c;\n" * 4 + "((d,e)f,g)h;\n" * 4))
    assert run("cluster", trees, "-k", 2, "--save", folder / "t.arbora", "-q").exit_code == 0
    done = run("describe", folder / "t.arbora", trees, "--only", "schema")
    assert done.exit_code == 2
    assert "JSON documents" in done.output
