"""arbora distances: the matrix, its options, and Ctrl-C."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app, files
from arbora.models.edit import distance as module
from arbora.models.edit import matrix_filling

TREES = [("a", ["b", "c"]), ("a", ["c", "b"]), ("x", ["b", ("c", ["d"])]), "a"]


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.jsonl"
    ab.write_jsonl(ab.Forest.from_nested(TREES), path)
    return path


def run(*args: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {}),
        (("--unordered",), {"ordered": False}),
        (("--no-labels",), {"labels": False}),
        (("--jobs", 2), {}),
    ],
)
def test_the_matrix_is_that_of_the_library(trees: Path, tmp_path: Path, options: tuple, settings: dict) -> None:
    wanted = ab.edit_distances(TREES, **settings)
    told = json.loads(run("distances", trees, "--output", tmp_path / "d.npz", "--json", *options))
    assert told["n_trees"] == 4
    assert told["mean_distance"] == pytest.approx(wanted[np.triu_indices(4, 1)].mean())
    with np.load(tmp_path / "d.npz") as stored:
        assert np.array_equal(stored["distance"], wanted)
        assert len(set(stored["name"].tolist())) == 4
    run("distances", trees, "--output", tmp_path / "d.csv", *options)
    with open(tmp_path / "d.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert np.array_equal(np.array([row[1:] for row in rows[1:]], float), wanted)
    assert not list(tmp_path.glob("*.part"))


def test_an_interrupt_leaves_what_is_done(trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._comparer

    def interrupted(*args: object) -> object:
        compare, calls = real(*args), []

        def once(pairs: object) -> object:
            calls.append(pairs)
            if len(calls) > 1:
                raise KeyboardInterrupt
            return compare(pairs)

        return once

    with monkeypatch.context() as patch:
        patch.setattr(module, "_comparer", interrupted)
        assert "d.npz.part has the finished part" in run("distances", trees, "--output", tmp_path / "d.npz", code=130)
    assert (tmp_path / "d.npz.part").exists()
    assert not (tmp_path / "d.npz").exists()
    done = CliRunner().invoke(app, ["distances", str(trees), "--output", str(tmp_path / "d.npz")])
    assert done.exit_code == 0
    assert "going on from" in done.stderr
    with np.load(tmp_path / "d.npz") as stored:
        assert np.array_equal(stored["distance"], ab.edit_distances(TREES))
    assert not (tmp_path / "d.npz.part").exists()


def test_what_is_done_is_kept_until_the_output_is_there(
    trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_filling, "SAVE_EVERY", -1.0)  # as if it had taken long
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_matrix", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left", "d.npz")))
        assert "No space left" in run("distances", trees, "--output", tmp_path / "d.npz", code=1)
    assert (tmp_path / "d.npz.part").exists()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_comparer", lambda *_: None)  # nothing is left to compare
        run("distances", trees, "--output", tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as stored:
        assert np.array_equal(stored["distance"], ab.edit_distances(TREES))
    assert not (tmp_path / "d.npz.part").exists()


def test_an_output_that_cannot_be_is_refused(trees: Path, tmp_path: Path) -> None:
    assert ".npz or .csv" in run("distances", trees, "--output", tmp_path / "d.txt", code=2)
