"""From files and texts with a class each to a forest: chosen, read, thinned and saved."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import arbora
from arbora.forest.sharing import share

from .packages import Package, unpacked

SMALLEST, LARGEST = 3, 2500  # nodes of a tree
FEWEST = 15  # trees of a class
COPIES = 3  # of one tree in one class
READERS = {"html": arbora.read_html, "xml": arbora.read_xml, "json": arbora.read_json, "python": arbora.read_python}


class Recipe(NamedTuple):
    """How one corpus is made.

    `items` takes the folders of the unpacked packages by name and gives pairs of a class and a path (with `reader`) or
    a nested tree (without).
    """

    name: str
    told: str  # what the trees are, and what the classes
    packages: tuple[Package, ...]
    items: Callable
    reader: str | None = None
    options: dict = {}  # noqa: RUF012  (of the reader)
    per_class: int = 90  # trees of a class at most, drawn at random
    held_out: bool = False


def make(recipe, folder, trust=False):
    """The forest of a recipe, saved as FOLDER/NAME.forest; made once."""
    path = Path(folder) / f"{recipe.name}.forest"
    if path.exists():
        return arbora.load_forest(path)
    inside = {package.name: unpacked(package, Path(folder), trust) for package in recipe.packages}
    found = sorted(recipe.items(inside), key=lambda pair: (pair[0], str(pair[1])))
    forest = thin(_read(recipe, _some(found, 3 * recipe.per_class)), recipe.per_class)
    forest.save(path)
    return forest


def _some(found, most):
    """At most so many items of each class, at random; more than are wanted, since some cannot be read."""
    rng = np.random.default_rng(0)
    classes = np.array([c for c, _ in found])
    kept = []
    for name in np.unique(classes):
        rows = np.flatnonzero(classes == name)
        kept.extend(np.sort(rng.permutation(rows)[:most]))
    return [found[i] for i in kept]


def _read(recipe, items):
    if recipe.reader is None:
        names = [f"{recipe.name}-{i}" for i in range(len(items))]
        return arbora.Forest.from_nested([tree for _, tree in items], target=[c for c, _ in items], name=names)
    classes = {str(path): c for c, path in items}
    read = READERS[recipe.reader]
    forest = read(list(classes), on_error="skip", progress=False, **recipe.options)
    return forest.with_target([classes[name] for name in forest.name])


def thin(forest, per_class):
    """Leave out tiny and huge trees, further copies of a tree, what is above the most of a class, and small classes."""
    rng = np.random.default_rng(0)
    size, target = forest.sizes, np.asarray(forest.target)
    kind = distinct_trees(forest)
    kept = []
    for name in np.unique(target):
        rows = np.flatnonzero((target == name) & (size >= SMALLEST) & (size <= LARGEST))
        seen, chosen = {}, []
        for row in rng.permutation(rows):
            seen[kind[row]] = seen.get(kind[row], 0) + 1
            if seen[kind[row]] <= COPIES:
                chosen.append(row)
        if len(chosen) >= FEWEST:
            kept.extend(chosen[:per_class])
    kept = np.sort(np.array(kept, np.int64))
    few = forest.take(kept)
    few = few.with_vocabulary([few.vocabulary[i] for i in np.unique(few.label[few.label >= 0])])
    names = [f"{c}/{os.path.basename(n)}" for c, n in zip(few.target, few.name, strict=True)]
    return few.with_name(names)


def distinct_trees(forest):
    """A number for each tree; equal trees have equal numbers."""
    kinds, n = [], 0
    for shard in share(forest.arrays, forest.n_slots):
        kinds.append(shard.tree_id + n)
        n += shard.n_distinct_trees
    return np.concatenate(kinds)


def facts(forest):
    """What is written of a corpus: sizes, classes and a digest of all columns."""
    digest = hashlib.sha256()
    for column in (forest.parent, forest.label, forest.slot, forest.tree_start):
        digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
    digest.update(json.dumps([list(map(str, forest.vocabulary)), list(map(str, forest.target))]).encode())
    classes, counts = np.unique(np.asarray(forest.target), return_counts=True)
    return {
        "trees": forest.n_trees,
        "distinct": len(np.unique(distinct_trees(forest))),
        "nodes": forest.n_nodes,
        "labels": forest.n_labels,
        "classes": dict(zip(map(str, classes), map(int, counts), strict=True)),
        "sha256": digest.hexdigest(),
    }
