"""Published corpora, where the user has them: the numbers written about them are those we read."""

import os
from pathlib import Path

import numpy as np
import pytest

from arbora.io import read_elastic, read_jsonl

FOLDER = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def find(*names):
    paths = [FOLDER / name for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"put {', '.join(names)} under $ARBORA_DATA to run this")
    return paths


@pytest.mark.parametrize(
    ("folder", "stem", "parts", "n_nodes", "n_labels", "n_slots", "depth", "n_classes"),
    [
        ("inex2005", "inex05", (4820, 4811), 247_139, 366, 32, 3, 11),
        ("inex2006", "inex06", (6053, 6054), 218_537, 65, 66, 7, 18),
    ],
)
def test_inex(folder, stem, parts, n_nodes, n_labels, n_slots, depth, n_classes):
    paths = find(*(f"{folder}/{stem}.{part}.elastic.tree" for part in ("train", "test")))
    assert tuple(len(read_elastic(path)) for path in paths) == parts
    told = (forest := read_elastic(paths)).describe()
    assert told["n_trees"] == sum(parts)
    assert told["n_nodes"] == n_nodes
    assert told["n_labels"] == n_labels
    assert told["n_slots"] == told["max_children"] == n_slots
    assert told["max_depth"] == depth
    assert told["n_classes"] == n_classes
    assert forest.name[parts[0]] == f"{paths[1]}:1"


def test_synthetic():
    (path,) = find("synthetic/synthetic.jsonl.gz")
    train, test, both = (read_jsonl(path, split=split) for split in ("train", "test", None))
    assert (len(train), len(test), len(both)) == (600, 180, 780)
    assert (both.n_nodes, both.vocabulary, both.n_slots) == (43_536, ("1", "2", "3", "4"), 3)
    assert len(np.unique(both.target)) == 3
    assert both.sizes.min() >= 20
    assert both.sizes.max() <= 100
    n_children = np.bincount(both.parent[both.parent >= 0], minlength=both.n_nodes)
    assert np.array_equal(both.label, n_children)  # the label is one more than the number of children


def test_shock():
    (path,) = find("shock/kimia216_shock.jsonl.gz")
    forest = read_jsonl(path)
    assert (len(forest), forest.n_nodes, forest.n_labels) == (216, 1705, 10)
    _, counts = np.unique(forest.target, return_counts=True)
    assert counts.tolist() == [12] * 18
    assert forest.name[0] == "bird-1"
