"""What a page says of columns of content: distributions by group, which column decides, average nodes of states."""

from typing import Any

import numpy as np

from ..evaluate.content import ColumnByGroup, Words, columns_by_group
from ..forest.forest import Forest
from ..models.hidden_tree.content_scores import misleading
from . import columns as col
from .grouped import Grouped

MAX_COLUMNS = 24
MAX_WORDS = 3  # of an average node


def gather_contents(model: Any, grouped: Grouped) -> dict[str, Any]:
    """Columns by group, and for hidden trees what each column contributes; nothing where trees hold labels alone."""
    forest = grouped.forest
    if not forest.content_kinds:
        return {}
    columns = columns_by_group(forest, grouped.label)
    notes = [] if len(columns) <= MAX_COLUMNS else [f"The first {MAX_COLUMNS} of {len(columns)} columns."]
    names = [grouped.name(int(n)) for n in np.unique(grouped.label)]
    scores, warned = column_facts(model, forest)
    return {
        "groups": names,
        "columns": [_column(one) for one in columns[:MAX_COLUMNS]],
        "scores": [
            [name, col.figure(one["log_likelihood"], 5), col.figure(one["gain"], 4), col.figure(one["share"])]
            for name, one in scores.items()
        ],
        "note": " ".join(notes),
        "warned": warned,
    }


def column_facts(model: Any, forest: Forest) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Scores of the columns that a hidden tree model takes, and what to warn of; nothing of other models."""
    if "parameters" not in model.page_parts():
        return {}, []
    trees = model.hidden_trees()
    emission: Any = trees.spec_.emission
    if emission.by_label:
        return {}, []
    scores = trees.column_scores(forest)
    return {name: one._asdict() for name, one in scores.items()}, misleading(emission, scores, forest)


def _column(one: ColumnByGroup) -> dict[str, Any]:
    words = any(isinstance(group, Words) for group in one.groups)
    rows = [_words(group) if words else _numbers(group) for group in one.groups]
    return {"name": col.shortened(one.name), "kind": one.kind, "of_words": words, "rows": rows}


def _numbers(group: Any) -> list[Any]:
    figures = (group.mean, group.deviation, *group.quantiles)
    return [group.known, col.figure(group.missing), *(col.figure(x, 4) for x in figures)]


def _words(group: Words) -> list[Any]:
    words = [[col.shortened(x.word), col.figure(x.share), col.figure(x.lift)] for x in group.words]
    return [group.known, col.figure(group.missing), words]


# ---- average nodes --------------------------------------------------------------------------------------------------


def average_nodes(emission: Any, params: Any, words: tuple[str, ...]) -> dict[str, Any]:
    """What a node of each state holds on average, a text per column, given the parameters of one component."""
    families = emission.families[:MAX_COLUMNS]
    shown = [family.shown(params[f"c{x}"], words) for x, (_, family) in enumerate(families)]
    n_states = len(next(iter(shown[0].values()))) if shown and shown[0] else 0
    return {
        "columns": [col.shortened(name) for name, _ in families],
        "average": [[_told(family.name, one, i) for (_, family), one in zip(families, shown, strict=True)]
                    for i in range(n_states)],
    }  # fmt: skip


def _told(family: str, values: dict[str, Any], state: int) -> str:
    if family == "gaussian":
        return f"{_figure(values['mean'][state])} \u00b1 {_figure(values['deviation'][state])}"
    if family == "poisson":
        return f"{_figure(values['rate'][state])} on average"
    if family == "flag":
        return f"{values['chance'][state]:.0%} true"
    top = sorted(values.items(), key=lambda pair: -pair[1][state])[:MAX_WORDS]
    return ", ".join(f"{col.shortened(word)} {share[state]:.0%}" for word, share in top if share[state] >= 0.005)


def _figure(x: float) -> str:
    return f"{x:.4g}"
