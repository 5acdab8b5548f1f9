"""arbora cluster --model unions, and what predict and encode do with its models."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.datasets import make_prototype_trees
from tests.pages import page_data


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unions") / "trees.jsonl"
    shapes = make_prototype_trees(2, 6, 8, 0.25, separation=6, random_state=0)
    label = np.where(np.arange(shapes.n_nodes) % 7 == 0, "a", "b").tolist()
    tree = np.repeat(np.arange(len(shapes)), shapes.sizes)
    ab.write_jsonl(ab.Forest.from_parents(shapes.parent, label, tree=tree, target=shapes.target), path)
    return path


def run(*args: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done.stdout if code == 0 else done.stderr


def test_cluster_writes_everything(trees: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outputs = [tmp_path / name for name in ("c.csv", "m.arbora", "r.html", "a.png")]
    options = zip(("--output", "--save", "--report", "--picture"), outputs, strict=True)
    told = run("cluster", trees, "--model", "unions", *(x for pair in options for x in pair))
    assert "2 unions of trees by structure alone" in told
    assert "adjusted Rand index 1.000" in told
    assert outputs[3].read_bytes().startswith(b"\x89PNG")
    page = page_data(outputs[2].read_text())
    assert [union["n_trees"] for union in page["archetypes"]["unions"]] == [6, 6]
    with open(outputs[0], newline="") as file:
        rows = list(csv.DictReader(file))
    model = ab.load(outputs[1])
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    predicted = run("predict", outputs[1], trees).splitlines()
    assert [int(line.split(",")[1]) for line in predicted[1:]] == model.labels_.tolist()
    run("encode", outputs[1], trees, "--output", tmp_path / "e.npz")
    codes = sparse.load_npz(tmp_path / "e.npz")
    assert codes.shape == (12, sum(union.n_nodes for union in model.unions_))


def test_every_option_does_what_it_says(trees: Path) -> None:
    def facts(*options: object) -> dict:
        return json.loads(run("cluster", trees, "--model", "unions", "--json", "--quiet", *options))

    plain = facts()
    assert plain["n_components"] == len(plain["unions"]) == 2
    assert plain["exact"] is True
    assert facts("--components", 3)["n_components"] == 3
    params = plain["provenance"]["params"]
    for option, name, value in (("--noise-cost", "noise_cost", 3.0), ("--search", "search", "greedy")):
        assert facts(option, value)["provenance"]["params"] == {**params, name: value}
    with_labels = facts("--labels")
    assert with_labels["provenance"]["params"]["labels"] is True
    assert with_labels["description_length"] > plain["description_length"]
    assert facts("--noise-cost", "inf")["description_length"] > plain["description_length"]


def test_a_strange_tree_is_of_a_new_class(trees: Path, tmp_path: Path) -> None:
    run("cluster", trees, "--model", "unions", "--save", tmp_path / "m.arbora", "--quiet")
    (tmp_path / "long.nwk").write_text("(" * 60 + "a" + ")" * 60 + ";")
    assert (
        run("predict", tmp_path / "m.arbora", tmp_path / "long.nwk", "--format", "newick").splitlines()[1].split(",")[1]
        == "-1"
    )


@pytest.mark.parametrize("option", [("--states", 3), ("--prior", 1.5), ("--n-init", 2), ("--absent", "slot")])
def test_options_of_other_models_are_refused(trees: Path, option: tuple[str, object]) -> None:
    assert option[0] in run("cluster", trees, "--model", "unions", *option, code=2)


@pytest.mark.parametrize("option", [("--labels",), ("--noise-cost", 3), ("--search", "greedy")])
def test_options_of_unions_are_refused_elsewhere(trees: Path, option: tuple[object, ...]) -> None:
    assert str(option[0]) in run("cluster", trees, "--model", "mixture", *option, code=2)
