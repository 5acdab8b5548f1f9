"""Surprise of single nodes: how much rarer the patterns that start at a node are in its tree's group than in all trees.

For pattern e of family f, with C trees of the group that have it, T the sum of C over the family, background share m
and strength s: log of m (s + T) / (s m + C).  A pattern without a column has C = 0, whatever m is: log(1 + T / s).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.sharing import _SEED
from . import families as fm
from .fitted import Model
from .kernels import keys as kernels
from .table import PatternTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class NodePatterns(NamedTuple):
    """Patterns of one family, each at the node it starts from."""

    node: Ints
    column: Ints  # -1 where it has none


def node_patterns(forest: Forest, table: PatternTable) -> Iterator[NodePatterns]:
    """Patterns of all nodes, by family of the table; labels must be numbered as in it."""
    code = fm.codes_of(forest)
    number: dict[str, Ints] = {}
    node: dict[str, Ints] = {}
    distinct: dict[str, fm.Keys] = {}
    for family in fm.with_below(table.families):
        below = number[fm.BELOW[family]].astype(np.int32) if family in fm.BELOW else None
        keys, node[family] = fm.occurrences(forest, family, code, below)
        number[family], start, symbol, _ = kernels.number(*keys, *fm.empty_keys(), _SEED, True)
        distinct[family] = fm.Keys(start, symbol)
    known = fm.look_up(table.keys, distinct)
    for family in table.families:
        column = np.append(table.column[family], -1)[known[family]]  # -1 reads the last
        yield NodePatterns(node[family], column[number[family]])


def node_surprise(forest: Forest, table: PatternTable, model: Model, label: Ints) -> Floats:
    """Surprise of every node by the group of its tree: the mean over families of the mean over its patterns."""
    group = np.repeat(label, forest.sizes)
    total = model.totals()
    sums, n_families = np.zeros(forest.n_nodes), np.zeros(forest.n_nodes)
    for f, (node, column) in enumerate(node_patterns(forest, table)):
        at, s = group[node], model.strengths[f]
        known = column >= 0
        alpha = s * model.share[column[known]]
        ratio = np.ones(len(node))
        ratio[known] = alpha / (alpha + model.sums.count[at[known], column[known]])
        value = np.log(ratio * (1.0 + total[f, at] / s))
        times = np.bincount(node, minlength=forest.n_nodes)
        sums += np.bincount(node, value, forest.n_nodes) / np.maximum(times, 1)
        n_families += times > 0
    return np.asarray(sums / np.maximum(n_families, 1))
