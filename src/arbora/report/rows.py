"""The page of rows sorted into a hierarchy: the tree, its levels, paths and their probabilities, chains."""

import hashlib
import itertools
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ArboraError
from ..evaluate.agreement import agree
from ..evaluate.projection import plane
from ..evaluate.wording import counted
from ..inference import diagnostics
from . import columns as col
from .gather import Context
from .grouped import Grouped, confusion
from .posterior import chain_facts, group_count, together, traces

MAX_NODES = 1_500
MAX_TRAITS = 6
MAX_DEEPER = 60  # groups of a level below the first that are described
MIN_TRAIT = 0.5  # standard deviations

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _digest(rows: Floats) -> str:
    return hashlib.sha256(rows.tobytes()).hexdigest()


def _check(model: Any, data: Any, context: Context) -> Floats:
    """The rows, if they are those of the fit, with as many names, classes and columns as there should be."""
    rows = np.ascontiguousarray(data, np.float64)
    wanted = (model.provenance_["n_rows"], model.provenance_["n_columns"])
    if rows.shape != wanted or _digest(rows) != model.provenance_["data_sha256"]:
        raise ArboraError(
            f"a report on a hierarchy needs the {wanted[0]} rows of {wanted[1]} columns it was fitted to; found other "
            f"rows, of shape {rows.shape}; fit the model to these, or give it its own"
        )
    for what, given, n in (
        ("names", context.names, len(rows)),
        ("target", context.target, len(rows)),
        ("columns", context.columns, rows.shape[1]),
    ):
        if given is not None and len(given) != n:
            raise ArboraError(f"{what} has {len(given)} entries; wanted {n}, for rows of shape {rows.shape}")
    return rows


def _missing_line(n_missing: int, n_cells: int) -> str:
    missing = counted(n_missing, "cell")
    return f"{missing} of {n_cells} had no value and were integrated out; pictures show their posterior means"


def gather_rows(model: Any, data: Any, context: Context) -> dict[str, Any]:
    """The page of a model over rows; they must be those it was fitted to, which is what its tree holds."""
    levels = np.asarray(model.level_labels_)
    rows = _check(model, data, context)
    n_missing = int(np.isnan(rows).sum())
    rows = model.filled(rows) if n_missing else rows
    names = [str(name) for name in (model.names_ if context.names is None else context.names)]
    tree = model.hierarchy_
    order = np.lexsort(tuple(tree.nodes_at(level) for level in range(tree.n_levels, -1, -1)))
    target = None if context.target is None else [str(name) for name in context.target]
    path_prob = path_probability(model, rows)
    shown = col.spread(len(rows), col.MAX_ITEMS)
    items: dict[str, Any] = {"name": [col.shortened(names[n]) for n in shown], "folder": "", "base": None}
    runs = equal_runs(levels)
    own = [run[0] for run in runs]  # levels with groups of their own
    items |= {"group": levels[0][shown].tolist(), "levels": levels[own][:, shown].tolist()}
    classes: list[str] = []
    if target is not None:
        classes, known = (part.tolist() for part in np.unique(target, return_inverse=True))
        items["known"] = [known[n] for n in shown]
    if path_prob is not None:
        items["path"] = col.rounded(path_prob[:, shown], 2)
        items["p"] = items["path"][0]
    page: dict[str, Any] = {
        "kind": type(model).__name__,
        "title": f"{counted(len(rows), 'row')} in a hierarchy of {counted(len(levels), 'level')}",
        "noun": "group",
        "item": "row",
        "notes": [],
        "lines": [_missing_line(n_missing, rows.size)] if n_missing else [],
        "warned": [],
        "tiles": _tiles(rows, levels, runs, target, _intervals(model, levels)),
        "level_names": [level_name(run) for run in runs],
        "groups": _groups(rows, levels[0], _columns(model, context, rows), target),
        "deeper": _deeper(rows, levels, runs, _columns(model, context, rows), target),
        "group_names": [str(g) for g in range(int(levels[0].max()) + 1)],
        "items": items,
        "classes": [col.shortened(name) for name in classes],
        "map": _map(rows, shown),
        "hierarchy": _tree(tree, levels, runs, order, names),
        "agreement": _agreement(levels, runs, target),
        "path_about": PATH_ABOUT["draws" if "draws" in model.page_parts() else "model"],
        "data_facts": {"n_rows": rows.shape[0], "n_columns": rows.shape[1], "data_sha256": _digest(rows)},
    }
    page["n_groups"] = len(page["group_names"])
    if page["hierarchy"] is None:
        page["notes"].append(f"The tree has {tree.n_nodes:,} nodes, more than the {MAX_NODES:,} that can be drawn.")
    if len(shown) < len(rows):
        page["notes"].append(f"{len(shown):,} of {len(rows):,} rows, evenly spread, are on the map and in the list.")
    if "draws" in model.page_parts():
        page["posterior"] = _posterior(model, levels, names, order)
    else:
        page["notes"].append("A model file holds no chains: traces, R-hat and co-occurrence are only in a report that "
                             "is written when the model is fitted.")  # fmt: skip
    return page


PATH_ABOUT = {
    "draws": "Path: level by level, the share of draws in which the row is in its group (groups of a draw are matched "
    "to those of the tree by overlap).",
    "model": "Path: level by level, the probability of the row's group given the tree, as for a new row.",
}


def _columns(model: Any, context: Context, rows: Floats) -> list[str]:
    given = context.columns or model.columns_ or [f"column {c + 1}" for c in range(rows.shape[1])]
    return [col.shortened(str(name)) for name in given]


def _intervals(model: Any, levels: Ints) -> list[str]:
    """What 95% of the draws have on each level, in words; nothing without draws."""
    if "draws" not in model.page_parts():
        return [""] * len(levels)
    found = [model.n_groups_posterior(level).interval for level in range(len(levels))]
    return [f"{low} to {high}" if low < high else f"{low}" for low, high in found]


def equal_runs(levels: Ints) -> list[list[int]]:
    """Numbers of the levels, those side by side with the same groups together.

    >>> equal_runs(np.array([[0, 0, 1], [0, 1, 2], [2, 0, 1]]))
    [[0], [1, 2]]
    """
    runs: list[list[int]] = []
    for level, labels in enumerate(levels):
        same = bool(runs) and len({*zip(labels.tolist(), levels[level - 1].tolist(), strict=True)}) == len(
            set(labels.tolist())
        ) == len(set(levels[level - 1].tolist()))
        if same:
            runs[-1].append(level)
        else:
            runs.append([level])
    return runs


def level_name(run: list[int]) -> str:
    """What the page calls levels with the same groups."""
    numbers = [str(level + 1) for level in run]
    return f"level {numbers[0]}" if len(run) == 1 else f"levels {', '.join(numbers[:-1])} and {numbers[-1]}"


def _tiles(
    rows: Floats, levels: Ints, runs: list[list[int]], target: list[str] | None, intervals: list[str]
) -> list[list[Any]]:
    tiles: list[list[Any]] = [[f"{len(rows):,}", "rows"], [f"{rows.shape[1]:,}", "columns"]]
    for run in runs:
        what = f"groups on {level_name(run)}" if len(levels) > 1 else "groups"
        drawn = " and ".join(dict.fromkeys(intervals[level] for level in run if intervals[level]))
        tiles.append([f"{int(levels[run[0]].max()) + 1:,}", what + (f"; 95% of draws {drawn}" if drawn else "")])
    if target is not None:
        best = max(agree(target, labels).ari for labels in levels)
        tiles.append([f"{best:.2f}", "adjusted Rand index" + (", best level" if len(levels) > 1 else "")])
    return tiles


def _groups(rows: Floats, label: Ints, columns: list[str], target: list[str] | None) -> list[dict[str, Any]]:
    """Groups of the first level and the columns in which they differ most from the rest, in standard deviations."""
    scale = rows.std(axis=0)
    found = []
    for g in range(int(label.max()) + 1):
        mine = label == g
        traits: list[list[Any]] = []
        if (~mine).any():
            inside, outside = rows[mine].mean(axis=0), rows[~mine].mean(axis=0)
            gap = (inside - outside) / np.where(scale > 0, scale, 1.0)
            most = [c for c in np.argsort(-np.abs(gap), kind="stable")[:MAX_TRAITS] if abs(gap[c]) >= MIN_TRAIT]
            traits = [[columns[c], *(col.figure(float(x[c])) for x in (inside, outside, gap))] for c in most]
        size = int(mine.sum())
        known = None if target is None else [name for name, here in zip(target, mine, strict=True) if here]
        found.append(
            {
                "index": g,
                "name": str(g),
                "size": size,
                "share": col.figure(size / len(rows)),
                "main": None if known is None else col.shortened(max(sorted(set(known)), key=known.count)),
                "silhouette": None,
                "columns": traits,
                "typical": [],
            }
        )
    return found


def _deeper(
    rows: Floats, levels: Ints, runs: list[list[int]], columns: list[str], target: list[str] | None
) -> list[dict[str, Any]]:
    """Groups of each level below the first against the other rows of the group above; groups that are whole are left
    out, for their columns are those of the group above."""
    found = []
    for above, run in itertools.pairwise(runs):
        upper, lower = levels[above[0]], levels[run[0]]
        cards: list[dict[str, Any]] = []
        for g in np.unique(upper).tolist():
            inside = upper == g
            numbers, label = np.unique(lower[inside], return_inverse=True)
            if len(numbers) < 2:
                continue
            known = None if target is None else [name for name, here in zip(target, inside, strict=True) if here]
            first = int(levels[0][inside][0])
            for one in _groups(rows[inside], label, columns, known):
                number = int(numbers[one["index"]])
                cards.append({**one, "name": str(number), "number": number, "index": first, "above": int(g)})
        many = sorted(cards, key=lambda one: -one["size"])[:MAX_DEEPER]
        found.append(
            {
                "name": level_name(run),
                "above": level_name(above),
                "groups": [one for one in cards if one in many],
                "hidden": max(len(cards) - MAX_DEEPER, 0),
            }
        )
    return found


def _map(rows: Floats, shown: Ints) -> dict[str, Any]:
    place, axes = plane(rows)
    page = col.on_grid(place[shown])
    page |= {"axes": axes, "name": "columns" if rows.shape[1] == 2 else "principal components"}
    about = "the two columns themselves" if rows.shape[1] == 2 else "two principal components of the scaled columns"
    page["about"] = f"Each mark is a row: {about}. Groups that overlap here need not overlap in the model."
    return page


def _tree(tree: Any, levels: Ints, runs: list[list[int]], order: Ints, names: list[str]) -> dict[str, Any] | None:
    """Nodes with the stretch of the sorted rows that each holds; of equal levels only the first has nodes."""
    if tree.n_nodes > MAX_NODES:
        return None
    place = np.empty(tree.n_data, np.int64)
    place[order] = np.arange(tree.n_data)
    first, last = np.full(tree.n_nodes, tree.n_data), np.full(tree.n_nodes, -1)
    np.minimum.at(first, tree.leaf, place)
    np.maximum.at(last, tree.leaf, place)
    for z in range(tree.n_nodes - 1, 0, -1):
        p = tree.parent[z]
        first[p], last[p] = min(first[p], first[z]), max(last[p], last[z])
    member = order[first]  # some datum of each node tells what the node is called on its level
    number = [0, *(int(levels[tree.level[z] - 1, member[z]]) for z in range(1, tree.n_nodes))]
    listed = order if tree.n_data <= col.MAX_ITEMS else order[:0]
    own = {run[0] + 1: number for number, run in enumerate(runs, 1)} | {0: 0}
    kept = [z for z in range(tree.n_nodes) if int(tree.level[z]) in own]
    above = _kept_above(tree.parent.tolist(), set(kept))
    place_of = {z: at for at, z in enumerate(kept)} | {-1: -1}
    return {
        "parent": [place_of[above[z]] for z in kept],
        "level": [own[int(tree.level[z])] for z in kept],
        "first": first[kept].tolist(),
        "size": tree.size[kept].tolist(),
        "number": [number[z] for z in kept],
        "group": levels[0, member[kept]].tolist(),
        "names": [col.shortened(names[n]) for n in listed],
        "order": listed.tolist(),
    }


def _kept_above(parent: list[int], kept: set[int]) -> list[int]:
    """For each node the nearest kept one above it; parents come first."""
    above: list[int] = []
    for p in parent:
        above.append(p if p < 0 or p in kept else above[p])
    return above


def _agreement(levels: Ints, runs: list[list[int]], target: list[str] | None) -> list[dict[str, Any]]:
    """Known classes by group, level by level."""
    if target is None:
        return []
    found = []
    for run in runs:
        labels = levels[run[0]]
        table = confusion(agree(target, labels), Grouped(None, labels, None, {}, "group", True))  # type: ignore[arg-type]
        found.append({"level": level_name(run), **(table or {})})
    return found


# ---- draws ----------------------------------------------------------------------------------------------------------


def path_probability(model: Any, rows: Floats) -> Floats | None:
    """[level, datum]: how sure it is that the row is in its group, from the draws, or from the model alone."""
    levels = np.asarray(model.level_labels_)
    if "draws" in model.page_parts():
        found = np.empty(levels.shape)
        for level, labels in enumerate(levels):
            draws = model.draws(level)
            aligned = diagnostics.align_labels(draws.reshape(-1, draws.shape[-1]), labels)
            found[level] = (aligned == labels).mean(axis=0)
        return found
    return cast("Floats | None", model.path_probability(rows))


def _posterior(model: Any, levels: Ints, names: list[str], order: Ints) -> dict[str, Any]:
    trace = model.trace_
    found = []
    for level, labels in enumerate(levels):
        draws = model.draws(level)
        found.append(
            {
                "name": f"level {level + 1}" if len(levels) > 1 else "",
                "count": group_count(model.n_groups_posterior(level)),
                "chains": chain_facts(lambda level=level: model.chain_report(level), trace),
                "together": together(draws.reshape(-1, draws.shape[-1]), labels, names, order),
            }
        )
    return {"traces": traces(trace), "burn_in": int(trace.schedule.burn_in), "levels": found}
