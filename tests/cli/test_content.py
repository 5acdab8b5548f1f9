"""``--content``: columns are read, taken and told of; what makes no sense is refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from arbora.cli import app


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Trees of one shape whose branch lengths make two groups."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("content") / "t.nwk"
    lines = ["((a:{:f},b:{:f})c:{:f},d:{:f})e;".format(*rng.normal(1 + 4 * (t % 2), 0.3, 4)) for t in range(24)]
    path.write_text("\n".join(lines))
    return path


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, done.output
    return done


def test_content_decides_and_is_remembered(trees, tmp_path):
    given = ("--content", "length:gaussian", "-k", 2, "--states", 2)
    told = json.loads(run("cluster", trees, *given, "--save", tmp_path / "m.arbora", "--json").stdout)
    assert told["content"]["taken"] == {"length": "gaussian"}
    assert told["content"]["unused"] == []
    assert 0.0 <= told["content"]["scores"]["length"]["share"] <= 1.0
    assert told["content"]["warnings"] == []
    means = [one["mean"] for one in told["content"]["columns"]["length"]["by_cluster"].values()]
    np.testing.assert_allclose(sorted(means), [1.0, 5.0], atol=0.2)
    rows = run("predict", tmp_path / "m.arbora", trees).stdout.splitlines()
    cluster = [row.split(",")[1] for row in rows if row.startswith(str(trees))]
    assert len(cluster) == 24
    assert len({*cluster[::2]}) == len({*cluster[1::2]}) == 1
    assert cluster[0] != cluster[1]
    shown = run("cluster", trees, "--content", "length:gaussian,label", "-k", 2, "--states", 2).stdout
    assert "Content: length (gaussian)." in shown
    assert "What the states explain, by column: " in shown


def test_a_number_found_without_the_content_is_told(trees):
    few = ("--model", "mixture", "--states", 2, "--max-iter", 2)
    told = "Patterns do not see the content: try other numbers."
    found = json.loads(run("cluster", trees, "--content", "length", *few, "--json").stdout)
    assert found["components"].endswith(told)
    assert told not in json.loads(run("cluster", trees, *few, "--json").stdout)["components"]


def test_columns_that_a_model_does_not_use_are_told(trees):
    done = run("cluster", trees, "--model", "patterns", "--read", "content=length")
    assert "does not use length" in done.output


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("colour", "no column colour; found none (all takes every column)"),
        ("length:cauchy", "wanted one of categorical"),
        ("length:poisson", "holds numbers"),
        ("all,length", "leave the others out"),
        (":gaussian", "wanted COLUMN"),
    ],
)
def test_what_makes_no_sense_is_refused(trees, content, match):
    assert match in " ".join(run("cluster", trees, "--content", content, "-k", 2, code=2).output.split())


def test_models_without_content_refuse_the_option(trees):
    run("cluster", trees, "--model", "patterns", "--content", "length", code=2)
