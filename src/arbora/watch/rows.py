"""Trees of a stream as rows of a fitted model's patterns, and of buckets for patterns that have no column there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..forest.forest import Forest
from ..models.patterns import families as fm
from ..models.patterns.kernels import keys as kernels
from ..models.patterns.node_surprise import node_patterns
from ..models.patterns.sizes import label_by_size
from ..models.patterns.table import PatternTable
from ..models.patterns.transformer import TreePatterns, label_hashes
from .kernels.urns import Stream

Ints = NDArray[np.int64]

MARK = 2**40  # hashes of patterns are compared up to this


def read_rows(patterns: TreePatterns, forest: Forest, n_buckets: int) -> Stream:
    """Rows of all trees; with no buckets, patterns without a column are left out."""
    labelled = forest if patterns.labels == "given" else label_by_size(forest)
    known = labelled.with_vocabulary(patterns.vocabulary_)
    table = patterns.table
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    n_known, n_families = table.n_columns, len(table.families)
    size = np.zeros((forest.n_trees, 3, n_families), np.int64)
    trees, columns = [], []
    hashes = hashed_nodes(labelled, table) if n_buckets else {}
    for f, (family, found) in enumerate(zip(table.families, node_patterns(known, table), strict=True)):
        at, has = tree[found.node], found.column >= 0
        own, column = _distinct(at[has], found.column[has], n_known)
        size[:, 0, f] = np.bincount(own, minlength=forest.n_trees)
        trees.append(own)
        columns.append(column)
        if not n_buckets:
            continue
        own, mark = _distinct(at[~has], hashes[family][~has] % MARK, MARK)
        size[:, 1, f] = np.bincount(own, minlength=forest.n_trees)
        own, bucket = _distinct(own, mark % n_buckets, n_buckets)
        size[:, 2, f] = np.bincount(own, minlength=forest.n_trees)
        trees.append(own)
        columns.append(n_known + f * n_buckets + bucket)
    return joined(np.concatenate(trees), np.concatenate(columns), size, n_known + n_families * n_buckets)


def joined(tree: Ints, column: Ints, size: Ints, n_columns: int) -> Stream:
    """Rows from pairs of tree and column, columns ascending in each."""
    key = np.sort(tree * n_columns + column)
    tree, column = key // n_columns, key % n_columns
    start = np.append(0, np.cumsum(np.bincount(tree, minlength=len(size)))).astype(np.int64)
    return Stream(start, column.astype(np.int32), size)


def _distinct(tree: Ints, value: Ints, most: int) -> tuple[Ints, Ints]:
    """Distinct pairs; values are below `most`."""
    if len(tree) and int(tree[-1]) + 1 > 2**62 // most:
        raise ValueError("more trees at once than their patterns can be numbered for")
    key = np.unique(tree.astype(np.int64) * most + value)
    return key // most, key % most


def hashed_nodes(forest: Forest, table: PatternTable) -> dict[str, Ints]:
    """A hash of the pattern at every node that has one, by family; it depends on the texts of labels alone."""
    code = label_hashes(forest.vocabulary)[forest.label + fm.FIRST_LABEL]
    out: dict[str, Ints] = {}
    for family in fm.with_below(table.families):
        keys, _ = fm.occurrences(forest, family, code, out.get(fm.BELOW.get(family, "")))
        found = kernels.hash_keys(keys.start, keys.symbol.astype(np.int64), 1 + fm.FAMILIES.index(family))
        out[family] = found.view(np.int64)
    return out


# ---- rows of several batches ----------------------------------------------------------------------------------------


def concatenated(first: Stream, second: Stream) -> Stream:
    """Rows of two batches."""
    return Stream(
        np.append(first.start, first.start[-1] + second.start[1:]),
        np.append(first.column, second.column),
        np.concatenate([first.size, second.size]),
    )


def cut(stream: Stream, first: int, end: int) -> Stream:
    """Rows from one on, up to another."""
    lo, hi = stream.start[first], stream.start[end]
    return Stream(stream.start[first : end + 1] - lo, stream.column[lo:hi].copy(), stream.size[first:end].copy())


def from_on(stream: Stream, first: int) -> Stream:
    """Rows from one on."""
    return cut(stream, first, len(stream.size))


def no_rows(n_families: int) -> Stream:
    """No trees."""
    return Stream(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, 3, n_families), np.int64))


def known_part(stream: Stream, n_known: int) -> Any:
    """Offsets and columns of known patterns alone."""
    has = stream.column < n_known
    start = np.append(0, np.cumsum(has))[stream.start]
    return start.astype(np.int64), stream.column[has]
