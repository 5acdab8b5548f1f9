"""Families of patterns: what a node shows of its neighbourhood, as keys of whole numbers, numbered exactly.

A key is a short row of numbers: labels (`code`: 0 missing, 1 unseen, 2 on the vocabulary) or, one level up, numbers of
other keys.  Two patterns are one if and only if their keys are equal.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...forest.forest import Forest
from ...forest.sharing import _SEED
from .kernels import keys as kernels

Family = Literal["labels", "pairs", "slots", "paths", "rules", "rules2", "rules3", "sets", "bigrams"]
FAMILIES: tuple[Family, ...] = get_args(Family)
DEFAULT: tuple[Family, ...] = ("rules", "rules2", "bigrams")
BELOW: dict[str, str] = {"rules2": "rules", "rules3": "rules2"}  # the family whose numbers stand for the children
MISSING_CODE, UNSEEN_CODE, FIRST_LABEL = 0, 1, 2
LONGEST_PATH = 8  # labels

Ints = NDArray[np.int64]


class Keys(NamedTuple):
    """Keys of one family: key e is symbol[start[e] : start[e + 1]]."""

    start: Ints
    symbol: NDArray[np.int32]

    @property
    def n_keys(self) -> int:
        return len(self.start) - 1


class Occurrences(NamedTuple):
    """Keys of one family at all nodes that have one."""

    keys: Keys
    node: Ints


class FamilyPart(NamedTuple):
    """The distinct patterns of one family in a run of trees."""

    keys: Keys
    n_trees_with: Ints
    example: Ints  # [pattern, 2]: tree of the run, and node of the tree
    counts: Any  # sparse [tree, pattern]


def with_below(families: Sequence[str]) -> list[str]:
    """The families, each after those whose numbers it needs."""
    out: list[str] = []
    for family in families:
        chain = [family]
        while chain[-1] in BELOW:
            chain.append(BELOW[chain[-1]])
        out += [one for one in reversed(chain) if one not in out]
    return out


def empty_keys() -> Keys:
    return Keys(np.zeros(1, np.int64), np.empty(0, np.int32))


def codes_of(forest: Forest) -> NDArray[np.int32]:
    """Labels as symbols: 0 where missing, 1 where unseen, label + 2 else."""
    return forest.label + np.int32(FIRST_LABEL)


def occurrences(forest: Forest, family: str, code: NDArray[Any], below: NDArray[Any] | None) -> Occurrences:
    """The pattern of every node in one family; `below` numbers the patterns of the nodes one level down."""
    n = forest.n_nodes
    every = np.arange(n)
    if family == "labels":
        return Occurrences(Keys(np.arange(n + 1), code), every)
    if family == "pairs":
        above = np.where(forest.parent >= 0, code[forest.parent], code.dtype.type(kernels.START))
        return Occurrences(Keys(2 * np.arange(n + 1), np.column_stack([above, code]).ravel()), every)
    if family == "slots":
        pair = np.column_stack([forest.slot.astype(code.dtype), code])
        return Occurrences(Keys(2 * np.arange(n + 1), pair.ravel()), every)
    if family == "paths":
        return Occurrences(Keys(*kernels.path_keys(forest.parent, code, LONGEST_PATH)), every)
    child_start, child = children_by_slot(forest)
    if family == "sets":
        return Occurrences(Keys(*kernels.set_keys(child_start, child, code)), every)
    if family == "bigrams":
        symbol, node = kernels.bigram_keys(child_start, child, code)
        return Occurrences(Keys(3 * np.arange(len(node) + 1), symbol), node)
    start = child_start + np.arange(n + 1)
    symbol = np.empty(n + len(child), code.dtype)
    inner = np.ones(len(symbol), bool)
    inner[start[:-1]] = False
    symbol[start[:-1]] = code
    symbol[inner] = (code if below is None else below)[child]
    return Occurrences(Keys(start, symbol), every)


def children_by_slot(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Children of each node by slot: offsets and nodes."""
    start, child, unsorted = kernels.children(forest.parent, forest.slot)
    if unsorted.any():  # sorted here, not in the kernel: numba compiles a sort for longer than all else in it
        place = np.flatnonzero(np.repeat(unsorted, np.diff(start)))
        own = child[place]
        child[place] = own[np.lexsort((forest.slot[own], forest.parent[own]))]
    return start, child


def find_patterns(forest: Forest, families: Sequence[str]) -> dict[str, FamilyPart]:
    """Distinct patterns of a run of trees and how often each tree has them, family by family."""
    code = codes_of(forest)
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    numbers: dict[str, Ints] = {}
    parts: dict[str, FamilyPart] = {}
    for family in with_below(families):
        below = numbers[BELOW[family]].astype(np.int32) if family in BELOW else None
        keys, node = occurrences(forest, family, code, below)
        number, start, symbol, first = kernels.number(*keys, *empty_keys(), _SEED, True)
        numbers[family] = number
        counts = count_by_tree(tree[node], number, forest.n_trees, len(start) - 1)
        at = node[first]
        example = np.column_stack([tree[at], at - forest.tree_start[tree[at]]]).astype(np.int64).reshape(-1, 2)
        n_trees_with = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)
        parts[family] = FamilyPart(Keys(start, symbol), n_trees_with, example, counts)
    return parts


def count_by_tree(tree: Ints, column: Ints, n_trees: int, n_columns: int) -> Any:
    """Sparse [tree, column] counts of occurrences that come tree by tree."""
    start = np.append(0, np.cumsum(np.bincount(tree, minlength=n_trees)))
    small = max(len(column), n_columns) < 2**31
    kind = np.int32 if small else np.int64
    counts = sparse.csr_array(
        (np.ones(len(column)), column.astype(kind), start.astype(kind)), shape=(n_trees, n_columns)
    )
    counts.sum_duplicates()
    return counts


# ---- keys of several runs under one numbering -----------------------------------------------------------------------


def _in_terms_of(keys: Keys, below: Ints) -> Keys:
    """Keys with the numbers of their children's patterns exchanged; -9, which no key has, where there is none."""
    inner = np.ones(len(keys.symbol), bool)
    inner[keys.start[:-1]] = False
    symbol = keys.symbol.copy()
    mapped = below[keys.symbol[inner]]
    symbol[inner] = np.where(mapped < 0, -9, mapped)
    return Keys(keys.start, symbol)


def add_keys(known: dict[str, Keys], new: dict[str, Keys]) -> tuple[dict[str, Keys], dict[str, Ints]]:
    """The known keys with the new ones after them, and the number of each new one there."""
    out = dict(known)
    numbers: dict[str, Ints] = {}
    for family, keys in new.items():
        own = _in_terms_of(keys, numbers[BELOW[family]]) if family in BELOW else keys
        found, start, symbol, _ = kernels.number(*own, *known.get(family, empty_keys()), _SEED, True)
        out[family], numbers[family] = Keys(start, symbol), found
    return out, numbers


def look_up(known: dict[str, Keys], new: dict[str, Keys]) -> dict[str, Ints]:
    """The number of each new key among the known ones, -1 where it is not among them."""
    numbers: dict[str, Ints] = {}
    for family, keys in new.items():
        own = _in_terms_of(keys, numbers[BELOW[family]]) if family in BELOW else keys
        numbers[family] = kernels.number(*own, *known[family], _SEED, False)[0]
    return numbers


def only(known: dict[str, Keys], keep: dict[str, NDArray[np.bool_]]) -> tuple[dict[str, Keys], dict[str, Ints]]:
    """The keys to keep and those they are made of; and the new number of every old one, -1 where it is left out."""
    need = {family: mask.copy() for family, mask in keep.items()}
    for family in reversed(list(known)):
        if family in BELOW:
            keys = known[family]
            inner = np.repeat(need[family], np.diff(keys.start))
            inner[keys.start[:-1]] = False
            need[BELOW[family]][keys.symbol[inner]] = True
    out: dict[str, Keys] = {}
    new: dict[str, Ints] = {}
    for family, keys in known.items():
        mask = need[family]
        length = np.diff(keys.start)
        new[family] = np.where(mask, np.cumsum(mask) - 1, -1)
        start = np.append(0, np.cumsum(length[mask]))
        left = Keys(start, keys.symbol[np.repeat(mask, length)])
        out[family] = _in_terms_of(left, new[BELOW[family]]) if family in BELOW else left
    return out, new


# ---- hashed columns -------------------------------------------------------------------------------------------------


def hashed_patterns(forest: Forest, families: Sequence[str], label_hash: NDArray[np.int64], n_columns: int) -> Any:
    """Sparse counts [tree, column] of patterns thrown into columns by a hash of label texts; patterns may collide."""
    code = label_hash[forest.label + FIRST_LABEL]
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    hashes: dict[str, Ints] = {}
    trees, columns = [], []
    for family in with_below(families):
        keys, node = occurrences(forest, family, code, hashes.get(BELOW.get(family, "")))
        found = kernels.hash_keys(keys.start, keys.symbol.astype(np.int64), 1 + FAMILIES.index(family))
        hashes[family] = found.view(np.int64)
        if family in families:
            trees.append(tree[node])
            columns.append((found % np.uint64(n_columns)).astype(np.int64))
    order = np.argsort(np.concatenate(trees), kind="stable")
    return count_by_tree(np.concatenate(trees)[order], np.concatenate(columns)[order], forest.n_trees, n_columns)
