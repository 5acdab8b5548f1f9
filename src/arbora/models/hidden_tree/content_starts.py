"""Trees as rows of numbers by what their nodes hold, for the clusters that a mixture of trees starts from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...forest.content import Column, words_by
from ...forest.content_rows import LABEL, Wanted
from ...forest.forest import Forest

Floats = NDArray[np.float64]

N_PLACES = 3  # distinct slots, beside the root and all nodes together


def with_content(features: Any, forest: Forest, wanted: tuple[Wanted, ...]) -> Any:
    """Features of labels beside those of each column, every block of the same mean length; as they are without any."""
    blocks = [content_block(part_of(forest, one), forest) for one in wanted if one.name != LABEL]
    if not blocks:
        return features
    if any(one.name == LABEL for one in wanted) and features is not None:
        blocks.insert(0, features)
    scaled = [_scaled(block) for block in blocks]
    if any(sparse.issparse(block) for block in scaled):
        whole = sparse.csr_array(sparse.hstack(scaled, format="csr"))
        whole.indices, whole.indptr = whole.indices.astype(np.int32), whole.indptr.astype(np.int32)  # for KMeans
        return whole
    return np.concatenate(scaled, axis=1)


def part_of(forest: Forest, one: Wanted) -> Column:
    """A column as a model asks for it."""
    column = forest.content[one.name].as_kind(one.kind)
    return column.with_words(one.words) if one.words else column


def _scaled(block: Any) -> Any:
    square = (block.multiply(block) if sparse.issparse(block) else block * block).sum() / max(block.shape[0], 1)
    return block / np.sqrt(square) if square > 0 else block


def content_block(column: Column, forest: Forest) -> Any:
    """Rows of one column: Hellinger's for words, means and spreads by place for numbers."""
    if column.kind in ("codes", "bags"):
        return _word_rows(column, forest)
    x = np.where(column.missing, np.nan, column.values.astype(np.float64))
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    every = np.ones(len(x), bool)
    places = [every, forest.slot < 0, *(forest.slot == slot for slot in range(min(forest.n_slots, N_PLACES)))]
    rows = [_means(x, tree, forest.n_trees, place) for place in places]
    mean = rows[0]
    rows.append(np.sqrt(np.maximum(_means((x - mean[tree]) ** 2, tree, forest.n_trees, every), 0.0)))
    block = np.stack(rows, axis=1)
    block -= block.mean(axis=0)
    spread = block.std(axis=0)
    return block / np.where(spread > 0, spread, 1.0)


def _means(x: Floats, tree: Any, n_trees: int, place: Any) -> Floats:
    """Mean of the known values of each tree at some nodes; that of all trees where a tree has none."""
    known = place & ~np.isnan(x)
    times = np.bincount(tree[known], minlength=n_trees)
    total = np.bincount(tree[known], x[known], n_trees)
    overall = total.sum() / max(times.sum(), 1)
    return np.where(times > 0, total / np.maximum(times, 1), overall)


def _word_rows(column: Column, forest: Forest) -> Any:
    """Square roots of the shares of words in each tree."""
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    row, word, times = words_by(column, tree)
    shape = (forest.n_trees, max(len(column.words), 1))
    counts = sparse.csr_array((times, (row, word)), shape=shape)
    total = np.asarray(counts.sum(axis=1)).ravel()
    counts.data = np.sqrt(counts.data / np.repeat(np.maximum(total, 1e-300), np.diff(counts.indptr)))
    return counts
