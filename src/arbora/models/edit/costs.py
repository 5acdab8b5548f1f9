"""Costs of edits, checked and laid out by label."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import SettingError

Floats = NDArray[np.float64]


#: One cost for every node, or costs by label; labels not named cost 1.
NodeCost = float | Mapping[str, float]


#: One cost for every change of label, or costs by (from, to); pairs not named cost 1.
RenameCost = float | Mapping[tuple[str, str], float]


MOST_TABLED = 5_000  # labels: a table of renames is square in them


class Costs(NamedTuple):
    """Costs over a vocabulary, as kernels take them; rows and entries are label + 2, so that -2 and -1 have theirs."""

    delete: Floats
    insert: Floats
    rename: Floats  # (n_labels + 2, n_labels + 2), or 1 x 1: the one price of a rename

    @property
    def symmetric(self) -> bool:
        """Whether the distance is the same both ways."""
        return np.array_equal(self.delete, self.insert) and np.array_equal(self.rename, self.rename.T)


def make_costs(
    vocabulary: tuple[str, ...], labels: bool, delete: NodeCost, insert: NodeCost, rename: RenameCost
) -> Costs:
    """Check the costs and lay them out by label; labels outside the vocabulary are allowed and do not occur."""
    if not labels:
        for name, cost in (("delete", delete), ("insert", insert)):
            if isinstance(cost, Mapping):
                raise SettingError(f"{name}: costs by label, but labels=False ignores labels; give one number")
        words: tuple[str, ...] = ()
        return Costs(_by_label("delete", delete, words), _by_label("insert", insert, words), np.zeros((1, 1)))
    table = np.full((1, 1), 1.0)
    if not isinstance(rename, Mapping):
        table[0, 0] = _one_cost("rename", rename)
    elif rename:
        table = _rename_table(vocabulary, rename)
    return Costs(_by_label("delete", delete, vocabulary), _by_label("insert", insert, vocabulary), table)


def _by_label(name: str, cost: NodeCost, vocabulary: tuple[str, ...]) -> Floats:
    if not isinstance(cost, Mapping):
        return np.full(len(vocabulary) + 2, _one_cost(name, cost))
    known = {str(label): _one_cost(f"{name}[{label!r}]", value) for label, value in cost.items()}
    return np.array([1.0, 1.0, *(known.get(word, 1.0) for word in vocabulary)])


def _rename_table(vocabulary: tuple[str, ...], rename: Mapping[tuple[str, str], float]) -> Floats:
    if len(vocabulary) > MOST_TABLED:
        raise SettingError(f"rename: costs by label for {len(vocabulary)} labels; at most {MOST_TABLED}; give a number")
    table = np.ones((len(vocabulary) + 2,) * 2)
    np.fill_diagonal(table, 0.0)
    index = {word: m + 2 for m, word in enumerate(vocabulary)}
    for pair, value in rename.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise SettingError(f"rename: key {pair!r}; wanted a pair of labels (from, to)")
        one, two = str(pair[0]), str(pair[1])
        cost = _one_cost(f"rename[{one!r}, {two!r}]", value)
        if one in index and two in index:
            table[index[one], index[two]] = cost
            if (pair[1], pair[0]) not in rename:  # the way back costs the same unless it is named
                table[index[two], index[one]] = cost
    return table


def _one_cost(name: str, cost: Any) -> float:
    is_number = isinstance(cost, (int, float, np.integer, np.floating)) and not isinstance(cost, bool)
    if not is_number or not 0.0 <= cost < np.inf:
        raise SettingError(f"{name}={cost!r}; wanted a finite cost of 0 or more")
    return float(cost)
