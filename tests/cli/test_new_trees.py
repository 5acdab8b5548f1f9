"""`arbora predict --new`: trees with patterns that the model does not have, to be clustered by themselves."""

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.io import write_jsonl

USUAL = [("order", ["item"] * (n % 3) + ["pay"]) for n in range(40)]
ODD = [("order", ["item", ("pay", ["retry"] * 3)]), ("order", [("item", ["lost"])])]


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "a.arbora"
    ab.PatternMixture(n_iter=4, n_chains=2, random_state=0).fit(ab.Forest.from_nested(USUAL)).save(path)
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "forest"])
def test_what_is_new_is_written(tmp_path, model, suffix):
    today, new = tmp_path / "today.jsonl", tmp_path / f"new.{suffix}"
    names = [f"t{n}" for n in range(12)]
    write_jsonl(ab.Forest.from_nested([*USUAL[:4], ODD[0], *USUAL[:4], ODD[1], *USUAL[:2]], name=names), today)
    said = run("predict", model, today, "--output", tmp_path / "rows.csv", "--new", new)
    assert "2 trees with patterns that the model does not have" in said.replace("\n", " ")
    found = ab.read(new)
    assert found.name.tolist() == ["t4", "t9"]
    assert list(found) == list(ab.Forest.from_nested(ODD))


def test_no_file_without_new_trees(tmp_path, model):
    today, new = tmp_path / "today.jsonl", tmp_path / "new.jsonl"
    write_jsonl(ab.Forest.from_nested(USUAL[:9]), today)
    assert "new.jsonl was not written" in run("predict", model, today, "--new", new).replace("\n", "")
    assert not new.exists()


def test_models_without_patterns_have_nothing_new(tmp_path):
    trees, path = tmp_path / "a.jsonl", tmp_path / "m.arbora"
    write_jsonl(ab.Forest.from_nested(USUAL[:4]), trees)
    ab.TreeUnionMixture().fit(ab.Forest.from_nested(USUAL[:4])).save(path)
    assert "has no patterns" in run("predict", path, trees, "--new", tmp_path / "n.jsonl", code=2)
