"""What groups of trees hold in their columns of content: distributions of numbers, shares and lifts of words."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..forest.content import Column, words_by
from ..forest.forest import Forest

N_WORDS = 6  # of a group, those that set it apart most
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Spread(NamedTuple):
    """Numbers, counts or flags of one group."""

    known: int  # nodes with a value
    missing: float  # share of the nodes without one
    mean: float
    deviation: float
    quantiles: tuple[float, ...]  # at QUANTILES


class WordShare(NamedTuple):
    """A word that sets a group apart."""

    word: str
    share: float  # of the group's words
    lift: float  # that share over the share in all trees


class Words(NamedTuple):
    """Codes or words of one group."""

    known: int
    missing: float
    words: tuple[WordShare, ...]


class ColumnByGroup(NamedTuple):
    """One column, group by group, in the order of the groups' numbers."""

    name: str
    kind: str
    groups: tuple[Any, ...]  # Spread or Words


def columns_by_group(forest: Forest, label: NDArray[Any]) -> list[ColumnByGroup]:
    """Summaries of every column of content by group of trees."""
    numbers, rank = np.unique(label, return_inverse=True)
    node_group = np.repeat(rank, forest.sizes)
    return [
        ColumnByGroup(
            name, column.kind, tuple((_words if column.words else _spreads)(column, node_group, len(numbers)))
        )
        for name, column in forest.content.items()
    ]


def _spreads(column: Column, node_group: NDArray[Any], n_groups: int) -> list[Spread]:
    value, gone = column.values.astype(np.float64), column.missing
    found = []
    for g in range(n_groups):
        here = node_group == g
        known = value[here & ~gone]
        n, missing = len(known), 1.0 - len(known) / max(int(here.sum()), 1)
        if not n:
            found.append(Spread(0, missing, np.nan, np.nan, (np.nan,) * len(QUANTILES)))
            continue
        scale = max(float(np.abs(known).max()), 1e-300)  # squares of huge numbers overflow
        deviation = float((known / scale).std() * scale)
        mean = float((known / scale).mean() * scale)
        found.append(Spread(n, missing, mean, deviation, tuple(np.quantile(known, QUANTILES).tolist())))
    return found


def _words(column: Column, node_group: NDArray[Any], n_groups: int) -> list[Words]:
    group, word, times = words_by(column, node_group)
    counts = np.zeros((n_groups, len(column.words)))
    np.add.at(counts, (group, word), times)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    overall = counts.sum(axis=0) / max(counts.sum(), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.where(overall > 0, share / overall, 0.0)
        apart = np.where(share > 0, share * np.log(lift), 0.0)  # what the word adds to the divergence from all trees
    known = np.bincount(node_group[~column.missing], minlength=n_groups)
    size = np.maximum(np.bincount(node_group, minlength=n_groups), 1)
    found = []
    for g in range(n_groups):
        top = np.argsort(-apart[g], kind="stable")[:N_WORDS]
        some = [m for m in top.tolist() if share[g, m] > 0]
        words = tuple(WordShare(column.words[m], float(share[g, m]), float(lift[g, m])) for m in some)
        found.append(Words(int(known[g]), float(1.0 - known[g] / size[g]), words))
    return found


def as_facts(columns: list[ColumnByGroup], numbers: list[int]) -> dict[str, Any]:
    """The same as JSON holds it: by column, then by number of the group; what is not known is None."""
    return {
        one.name: {
            "kind": one.kind,
            "by_cluster": {str(g): _plain(x) for g, x in zip(numbers, one.groups, strict=True)},
        }
        for one in columns
    }


def _plain(group: Any) -> dict[str, Any]:
    if isinstance(group, Words):
        return {**group._asdict(), "words": [word._asdict() for word in group.words]}
    known = {key: value if group.known else None for key, value in group._asdict().items() if key != "quantiles"}
    quantiles = {
        f"q{round(100 * q)}": x if group.known else None for q, x in zip(QUANTILES, group.quantiles, strict=True)
    }
    return {**known, "known": group.known, "missing": group.missing, **quantiles}
