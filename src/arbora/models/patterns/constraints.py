"""Prior knowledge of the groups: some trees' classes, pairs that belong together, pairs that do not."""

import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...errors import SettingError
from ...forest.classes import class_column
from ..file_checks import check_array
from .kernels.blocks import Blocks
from .kernels.group_sweeps import Rows

Ints = NDArray[np.int64]

PAIRS = ("must_link", "cannot_link")


class Given(NamedTuple):
    """Constraints on trees, by their numbers."""

    known_tree: Ints  # trees whose class is known
    known_class: Ints  # their classes, numbers in `classes`
    classes: tuple[str, ...]
    must_link: Ints  # [pair, 2]
    cannot_link: Ints  # [pair, 2]

    def trees(self) -> Ints:
        """All trees that are named."""
        return np.unique(np.concatenate([self.known_tree, self.must_link.ravel(), self.cannot_link.ravel()]))


def read_constraints(known: Any, constraints: Any, n_trees: int) -> Given | None:
    """Constraints as they are given to `fit`; None if there are none."""
    tree, name = _known(known, n_trees)
    classes = tuple(dict.fromkeys(name))
    number = {one: k for k, one in enumerate(classes)}
    if constraints is None:
        constraints = {}
    if not isinstance(constraints, Mapping) or not set(constraints) <= set(PAIRS):
        raise SettingError(f"constraints={constraints!r:.80}; wanted a dict with must_link and cannot_link")
    must, cannot = (_pairs(key, constraints.get(key, ()), n_trees) for key in PAIRS)
    given = Given(np.array(tree, np.int64), np.array([number[one] for one in name], np.int64), classes, must, cannot)
    return given if len(given.trees()) else None


def _known(known: Any, n_trees: int) -> tuple[list[int], list[str]]:
    """Trees of known class, and these classes as text; None and NaN are unknown."""
    if known is None:
        return [], []
    values = known.tolist() if hasattr(known, "tolist") else list(known)
    if len(values) != n_trees:
        raise SettingError(
            f"known has {len(values)} entries; wanted one for each of {n_trees} trees, None where the class is unknown"
        )
    found = [(t, value) for t, value in enumerate(values) if not _unknown(value)]
    for t, value in found:
        if not isinstance(value, (str, bool)) and value == -1:
            raise SettingError(f"known: -1 for tree {t}; write None for an unknown class, or '-1' for a class")
    classes = np.empty(len(found), object)
    classes[:] = [value for _, value in found]
    return [t for t, _ in found], [str(value) for value in class_column(classes).tolist()]


def _unknown(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or a missing value of a data frame."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(value, float) and value != value)


def _pairs(name: str, pairs: Iterable[Any], n_trees: int) -> Ints:
    """Pairs of trees as rows of an array."""
    try:
        rows = [(_tree(a), _tree(b)) for a, b in pairs]
    except (TypeError, ValueError):
        raise SettingError(f"{name}: wanted pairs of whole numbers of trees, as [(0, 5), (3, 4)]") from None
    for tree in (tree for row in rows for tree in row):
        if not 0 <= tree < n_trees:
            raise SettingError(f"{name}: tree {tree}; wanted numbers from 0 to {n_trees - 1}")
    return np.array(rows, np.int64).reshape(-1, 2)


def _tree(number: Any) -> int:
    """The number of a tree; what is no whole number is an error, and not cut off."""
    if isinstance(number, bool):
        raise TypeError
    return operator.index(number)


def choose_trees(rng: np.random.Generator, n_trees: int, most: int, given: Given | None) -> Ints:
    """Trees to find groups on: all, or so many of them, those with constraints first."""
    if n_trees <= most:
        return np.arange(n_trees)
    if given is None:
        return np.sort(rng.choice(n_trees, most, replace=False))
    named = given.trees()
    free = np.setdiff1d(np.arange(n_trees), named)
    n_more = min(len(free), max(most - len(named), 0))
    return np.sort(np.append(named, rng.choice(free, n_more, replace=False)))


def classes_among(given: Given | None, chosen: Ints) -> tuple[Ints, Ints] | None:
    """Places of the trees of known class among those chosen, and their classes; None if there are none."""
    if given is None or not len(given.known_tree):
        return None
    return np.searchsorted(chosen, given.known_tree), given.known_class


# ---- blocks ---------------------------------------------------------------------------------------------------------


def make_blocks(given: Given, rows: Rows, chosen: Ints) -> Blocks:
    """Blocks of the chosen trees, which all constrained trees are among; raises where constraints contradict."""
    block, apart, _ = linked(given, chosen)
    return blocks_of(rows, block, apart)


def linked(given: Given, chosen: Ints) -> tuple[Ints, Ints, Ints]:
    """The block of each chosen tree, pairs of blocks that stay apart, and the block of each class."""
    place = {int(t): i for i, t in enumerate(chosen)}
    known = np.array([place[int(t)] for t in given.known_tree], np.int64)
    must, cannot = (_placed(pairs, place) for pairs in (given.must_link, given.cannot_link))
    first = first_of(given.known_class, known, len(given.classes))
    tied = np.vstack([must, np.column_stack([first[given.known_class], known])])
    block = _components(tied, len(chosen))
    _check_classes(given, block[first], chosen[first])
    both = np.flatnonzero(block[cannot[:, 0]] == block[cannot[:, 1]])
    if len(both):
        a, b = given.cannot_link[both[0]].tolist()
        raise SettingError(
            f"cannot_link ({a}, {b}): must-links or known classes put these trees into one group; take one side out"
        )
    one, two = np.triu_indices(len(first), 1)
    apart = np.vstack([block[cannot], np.column_stack([block[first[one]], block[first[two]]])])
    return block, apart, block[first]


def _placed(pairs: Ints, place: dict[int, int]) -> Ints:
    return np.array([[place[a], place[b]] for a, b in pairs.tolist()], np.int64).reshape(-1, 2)


def first_of(of: Ints, tree: Ints, n: int) -> Ints:
    """The first tree of each class."""
    out = np.empty(n, np.int64)
    out[of[::-1]] = tree[::-1]
    return out


def _components(tied: Ints, n: int) -> Ints:
    graph = coo_array((np.ones(len(tied)), (tied[:, 0], tied[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _check_classes(given: Given, block: Ints, tree: Ints) -> None:
    """Raise where must-links tie two classes."""
    seen: dict[int, int] = {}
    for k, b in enumerate(block.tolist()):
        other = seen.setdefault(b, k)
        if other != k:
            raise SettingError(
                f"must_link ties trees of class {given.classes[other]!r} (tree {tree[other]}) to trees of class "
                f"{given.classes[k]!r} (tree {tree[k]}); take out a link, or give them one class"
            )


def blocks_of(rows: Rows, block: Ints, apart: Ints) -> Blocks:
    """Blocks as sums of rows; `apart` has pairs of blocks."""
    block = np.unique(block, return_inverse=True)[1].astype(np.int64)
    n_blocks, n_patterns = int(block.max()) + 1, int(rows.column.max(initial=-1)) + 1
    key, times = np.unique(
        np.repeat(block, np.diff(rows.start)) * n_patterns + rows.column.astype(np.int64), return_counts=True
    )
    start = np.searchsorted(key, np.arange(n_blocks + 1) * n_patterns)
    total = np.zeros((n_blocks, rows.size.shape[1]), np.int64)
    np.add.at(total, block, rows.size)
    both = np.unique(np.vstack([apart, apart[:, ::-1]]), axis=0).reshape(-1, 2)
    return Blocks(
        of_tree=block,
        first=np.unique(block, return_index=True)[1].astype(np.int64),
        start=start.astype(np.int64),
        column=key % max(n_patterns, 1),
        times=times.astype(np.int64),
        total=total,
        n_trees=np.bincount(block),
        apart_start=np.searchsorted(both[:, 0], np.arange(n_blocks + 1)).astype(np.int64),
        apart=np.ascontiguousarray(both[:, 1]),
    )


def only_blocks(blocks: Blocks, rows: Rows, trees: Ints) -> Blocks:
    """Blocks of some trees, with these rows; a block is among them as a whole or not at all."""
    number = np.full(len(blocks.first), -1, np.int64)
    kept, block = np.unique(blocks.of_tree[trees], return_inverse=True)
    number[kept] = np.arange(len(kept))
    pairs = np.column_stack([np.repeat(number, np.diff(blocks.apart_start)), number[blocks.apart]])
    return blocks_of(rows, block.astype(np.int64), pairs[(pairs >= 0).all(axis=1)])


# ---- starts that keep to them ---------------------------------------------------------------------------------------


def kept_to(blocks: Blocks | None, label: Ints, most: int | None = None) -> Ints:
    """Groups near to those given that keep to the constraints; at most so many, and then no fewer than were given.

    A block goes where most of its trees are.  Of blocks that stay apart, the one with fewest groups left chooses first.
    """
    if blocks is None:
        return label
    label = np.unique(label, return_inverse=True)[1]
    n_blocks, n_groups = len(blocks.first), int(label.max()) + 1
    votes = np.zeros((n_blocks, n_groups), np.int64)
    np.add.at(votes, (blocks.of_tree, label), 1)
    if most is not None and n_groups > most:  # the largest stay; greedy moves mend the rest
        votes = votes[:, np.sort(np.argsort(-votes.sum(axis=0), kind="stable")[:most])]
    chosen = votes.argmax(axis=1)
    _part(blocks, votes, chosen, most)
    if most is not None:
        _fill(blocks, chosen, min(most, n_groups, n_blocks))
    return np.unique(chosen, return_inverse=True)[1][blocks.of_tree].astype(np.int64)


def _part(blocks: Blocks, votes: Ints, chosen_out: Ints, most: int | None) -> None:
    """Choose groups of blocks that stay apart from others (the order of Brelaz 1979)."""
    waiting = set(np.flatnonzero(np.diff(blocks.apart_start)).tolist())
    taken: dict[int, set[int]] = {b: set() for b in waiting}  # groups of those it stays apart from
    n_groups = votes.shape[1]
    while waiting:
        b = max(waiting, key=lambda one: (len(taken[one]), blocks.n_trees[one], -one))
        waiting.remove(b)
        wanted = [k for k in np.argsort(-votes[b], kind="stable").tolist() if votes[b, k] > 0]
        more = list(range(n_groups)) if most is not None and n_groups >= most else [n_groups]
        group = next((k for k in [*wanted, *more] if k not in taken[b]), None)
        if group is None:
            raise SettingError(
                f"n_components={most}: no way was found to keep apart what must be apart; give more groups, or leave "
                "out classes or pairs"
            )
        chosen_out[b] = group
        n_groups = max(n_groups, group + 1)
        for other in blocks.apart[blocks.apart_start[b] : blocks.apart_start[b + 1]].tolist():
            taken[other].add(group)


def _fill(blocks: Blocks, chosen_out: Ints, wanted: int) -> None:
    """Make groups of single blocks until there are so many."""
    while len(groups := np.unique(chosen_out)) < wanted:
        members = np.bincount(chosen_out)
        last = np.flatnonzero(chosen_out == members.argmax())[-1]
        chosen_out[last] = groups.max() + 1


def check_number(given: Given | None, n_components: int | None) -> None:
    """Raise where there are more classes than groups."""
    if given is not None and n_components is not None and len(given.classes) > n_components:
        raise SettingError(
            f"n_components={n_components}, but {len(given.classes)} classes are known, and each has a group of its own"
        )


# ---- in a fitted model ----------------------------------------------------------------------------------------------


def as_arrays(given: Given, label: Ints, chosen: Ints) -> dict[str, Ints]:
    """What a model keeps: the constraints, and the group of each class."""
    first = first_of(given.known_class, given.known_tree, len(given.classes))
    return {
        "known_tree": given.known_tree,
        "known_class": given.known_class,
        "must_link": given.must_link,
        "cannot_link": given.cannot_link,
        "class_group": label[np.searchsorted(chosen, first)],
    }


def check_kept(arrays: Any, classes: Any, n_groups: int) -> None:
    """Raise unless what a file holds are constraints."""
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("known_classes_ are not texts")
    wanted = {"known_tree", "known_class", "must_link", "cannot_link", "class_group"}
    if not isinstance(arrays, dict) or set(arrays) != wanted:
        raise ValueError("constraints_ are not those of a mixture of patterns")
    n_known = len(arrays["known_tree"])
    check_array("known_tree", arrays["known_tree"], np.int64, (n_known,), 0, 2**40)
    check_array("known_class", arrays["known_class"], np.int64, (n_known,), 0, max(len(classes) - 1, 0))
    check_array("class_group", arrays["class_group"], np.int64, (len(classes),), 0, n_groups - 1)
    for name in PAIRS:
        check_array(name, arrays[name], np.int64, (len(arrays[name]), 2), 0, 2**40)
