"""Disks that are full and files that cannot be read: one sentence, and what was there before is still there."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora import Forest, ForestStore, ModelFileError
from arbora.cli import reading
from arbora.datasets import make_documents
from arbora.io import write_jsonl
from arbora.jit import jit
from tests.faults.killing import full_disk, leftovers

pytestmark = [pytest.mark.compiled, pytest.mark.skipif(os.name != "posix", reason="limits are set as POSIX does")]


@pytest.fixture(scope="module")
def forest() -> Forest:
    return make_documents(40, random_state=0)


@pytest.fixture(scope="module")
def model(forest: Forest) -> ab.HiddenTreeMixture:
    return ab.HiddenTreeMixture(3, 2, max_iter=2, tol=0, random_state=0).fit(forest)


@pytest.mark.parametrize("n_bytes", [0, 100, 2000, 5000])
def test_full_disk(forest: Forest, model: ab.HiddenTreeMixture, tmp_path: Path, n_bytes: int) -> None:
    small = forest[:2]
    works = {
        "trees.forest": (lambda path: forest.save(path), lambda path: small.save(path)),
        "trees.jsonl": (lambda path: write_jsonl(forest, path), lambda path: write_jsonl(small, path)),
        "model.arbora": (lambda path: model.save(path), lambda path: small.save(path.with_suffix(".forest"))),
    }
    for name, (save, save_before) in works.items():
        path = tmp_path / name
        save_before(path)
        before = path.read_bytes() if path.exists() else None
        with full_disk(n_bytes), pytest.raises(ModelFileError, match=r"cannot be written \(file too large\); check"):
            save(path)
        assert (path.read_bytes() if path.exists() else None) == before
    assert leftovers(tmp_path) == []


def test_full_disk_while_a_store_is_written(forest: Forest, tmp_path: Path) -> None:
    source, target = tmp_path / "trees.jsonl", tmp_path / "trees.store"
    write_jsonl(forest, source)
    ForestStore.write(forest[:2], target)
    inputs = reading.find([source], None, None)
    with full_disk(3000), pytest.raises(ModelFileError, match="cannot be written"):
        reading.write_store(inputs, target, False, None, True, 400)
    assert ForestStore(target).to_forest() == forest[:2]
    assert leftovers(tmp_path) == []
    reading.write_store(inputs, target, False, None, True, 400)  # once there is room
    assert ForestStore(target).to_forest() == forest


def test_full_disk_stops_a_fit_with_a_checkpoint(forest: Forest, tmp_path: Path) -> None:
    new = ab.HiddenTreeMixture(3, 2, max_iter=2, tol=0, random_state=0, checkpoint=tmp_path / "fit")
    with full_disk(100), pytest.raises(ModelFileError, match="cannot be written"):
        new.fit(forest)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("load", [ab.load, ab.load_forest, ForestStore])
def test_unreadable(load: object, tmp_path: Path) -> None:
    path = tmp_path / "a.forest"
    path.mkdir()
    with pytest.raises(ModelFileError, match=r"cannot be read|no finished store"):
        load(path)
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "none.forest")


def test_every_cut_and_flipped_file_is_told(forest: Forest, model: ab.HiddenTreeMixture, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    forest[:20].save(tmp_path / "trees.forest")
    model.save(tmp_path / "model.arbora")
    scores = model.score_samples(forest)
    for name, load in (("trees.forest", ab.load_forest), ("model.arbora", ab.load)):
        path = tmp_path / name
        good = path.read_bytes()
        for place in rng.integers(len(good), size=60).tolist():
            bad = bytearray(good)
            bad[place] ^= 1 << int(rng.integers(8))
            for content in (bytes(bad), good[:place]):
                path.write_bytes(content)
                try:
                    found = load(path)
                except ModelFileError:
                    continue
                # Some bits mean nothing, as the dates in a zip file; then nothing may have changed.
                if name == "trees.forest":
                    assert found == forest[:20]
                else:
                    assert np.array_equal(found.score_samples(forest), scores)
        path.write_bytes(good)


def test_full_disk_while_a_kernel_is_compiled(tmp_path: Path) -> None:
    """Compiled code that finds no room on the disk is used all the same."""
    source = tmp_path / "doubling.py"
    source.write_text("def double(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("doubling", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = jit(module.double)
    with full_disk(100):
        assert kernel(21) == 42
    assert kernel.stats.cache_misses
    assert jit(module.double)(2.5) == 5.0  # once there is room
