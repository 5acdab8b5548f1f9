"""The page of a clustering of trees: groups, map, silhouettes, known classes, border, history, parameters."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingError
from ..evaluate.metrics import slot_label_counts
from ..evaluate.summary import Cluster, Summary, summarise, tree_names
from ..evaluate.wording import counted
from ..forest.forest import Forest
from ..forest.node_columns import UNSEEN, natural_order
from ..models.assignments import Assignments
from ..models.forest_estimator import read_or_convert
from ..models.patterns import Namer
from . import columns as col
from .contents import gather_contents
from .gather import Context
from .group_names import describe_groups
from .grouped import Grouped, border, confusion
from .maps import Marks, gather_lattice, gather_maps, gather_plane
from .silhouettes import gather_silhouettes
from .tree_drawings import Words, draw_typical

MAX_GROUPS = 60  # described one by one
MAX_SKELETON = 600  # characters
MAX_LIKELY, MAX_UNSURE = 4, 2_000  # groups of a tree that is not sure of its own, and such trees
SURE = 0.995  # beyond it, another group is not worth a word

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_forest_with(data: Any, context: Context) -> Forest:
    """The trees, with the classes and names that the caller gave."""
    forest = read_or_convert(data)
    if context.target is not None:
        forest = forest.with_target([str(name) for name in context.target])
    return forest if context.names is None else forest.with_name([str(name) for name in context.names])


def gather_clusters(model: Any, data: Any, context: Context) -> dict[str, Any]:
    """The page of a model that groups trees."""
    forest = as_forest_with(data, context)
    digest = forest.sha256
    training = digest == model.provenance_.get("data_sha256") and len(model.labels_) == forest.n_trees
    parts = model.page_parts()
    found = context.assignments or _assigned(model, forest, training)
    called = {-1: "new"}
    if found.proba is not None and found.new_group:
        called[found.proba.shape[1] - 1] = "new"  # the last column is a group never seen
    grouped = Grouped(forest, found.labels, found.proba, called, "cluster", training)
    page = gather_groups(model, grouped, context)
    page["title"] = f"{counted(forest.n_trees, 'tree')} in {counted(len(page['groups']), 'cluster')}"
    page["kind"] = type(model).__name__
    page["data_facts"] = data_facts(forest, digest)
    page["history"] = history(model)
    page["parameters"] = parameters(model)
    if "draws" in parts:
        from .posterior import gather_draws

        page["posterior"] = gather_draws(model, grouped)
        low, high = page["posterior"]["levels"][0]["count"]["interval"]
        if getattr(model, "n_components", None) is None:  # a number that was asked for has no posterior
            page["tiles"].insert(4, [f"{low}" if low == high else f"{low} to {high}", "groups in 95% of draws"])
    elif "sampled" in parts:
        page["notes"].append("A model file holds one draw and no chains: the posterior is only in a report that is "
                             "written when the model is fitted.")  # fmt: skip
    if "plane" in parts:
        page["lattice"] = gather_lattice(model, grouped.label)
    if "archetypes" in parts:
        from .unions import gather_unions

        page |= gather_unions(model)
        if page["merges"] is None and len(model.merges_):
            page["notes"].append(f"{len(model.merges_):,} merges are too many to draw.")
    return page


def _assigned(model: Any, forest: Forest, training: bool) -> Assignments:
    """Groups of the trees; those of the fit are where the fit put them."""
    if not training:
        return cast(Assignments, model.assign(forest))
    if "probabilities" not in model.page_parts():
        return Assignments(np.asarray(model.labels_, np.int64))
    return cast(Assignments, model.assign(forest)._replace(labels=np.asarray(model.labels_, np.int64)))


def data_facts(forest: Forest, digest: str) -> dict[str, Any]:
    """What the manifest says of the trees."""
    return {"n_trees": forest.n_trees, "n_nodes": forest.n_nodes, "n_labels": forest.n_labels, "data_sha256": digest}


def gather_groups(model: Any, grouped: Grouped, context: Context) -> dict[str, Any]:
    """What holds for groups of trees of any kind, clusters or classes."""
    forest = grouped.forest
    namer = context.namer or Namer(forest)
    named = describe_groups(namer, grouped.label) if context.described is None else context.described
    stability = model.found_again() if grouped.training and grouped.noun == "cluster" else None
    summary = summarise(forest, grouped.label, n_traits=6, named=named, stability=stability)
    if grouped.noun == "cluster":
        own = {c: one.name for c, one in enumerate(named)} | _given_names(context, grouped)
        own = {c: f"{c} \u00b7 {name}" for c, name in own.items()}
        grouped = grouped._replace(called={**own, **grouped.called})
    numbers = [cluster.cluster for cluster in summary.clusters]
    rank = np.searchsorted(numbers, grouped.label)
    shown = col.spread(forest.n_trees, col.MAX_ITEMS)
    names = tree_names(forest)
    silhouette, curves = gather_silhouettes(model, grouped, rank, len(numbers))
    items, classes = _items(grouped, names, (rank, shown), silhouette, context.path)
    notes: list[str] = []
    if len(shown) < forest.n_trees:
        notes.append(f"{len(shown):,} of {forest.n_trees:,} trees, evenly spread, are on the map and in the list.")
    page: dict[str, Any] = {
        "noun": grouped.noun,
        "item": "tree",
        "notes": notes,
        "tiles": _tiles(summary, silhouette, grouped.noun),
        "groups": _groups(summary, grouped, silhouette, rank, context.path),
        "items": items,
        "classes": [col.shortened(name) for name in classes],
        "map": _map(model, grouped, shown),
        "silhouette": curves,
        "confusion": confusion(summary.agreement, grouped),
        "border": border(grouped, names, summary.folder),
        "lines": [],
        "warned": _unseen(model, forest),
    }
    from .to_copy import gather_to_copy

    gather_to_copy(grouped, page["groups"], numbers)
    if grouped.noun == "cluster":
        from .finer import gather_finer
        from .levels import gather_levels

        page["joined"] = []  # cards of groups that are not those of the fit
        page |= gather_levels(model, grouped, page, namer, context.path)
        page |= gather_finer(model, grouped, page, namer, shown, context.path)
    page["content"] = gather_contents(model, grouped)
    page["warned"] += page["content"].pop("warned", [])
    words = Words()
    page |= draw_typical(model, forest, shown, [*page["groups"], *page.get("joined", [])], words)
    page["words"] = [col.shortened(word) for word in words.listed]
    if len(page["groups"]) < len(numbers):
        notes.append(f"{len(page['groups'])} of {len(numbers)} {grouped.noun}s, the largest, are described one by one.")
    page["n_groups"] = len(numbers)
    page["group_names"] = [grouped.name(n) for n in numbers]
    return page


def _items(
    grouped: Grouped, names: Sequence[str], place: tuple[Ints, Ints], silhouette: Floats | None, path: str
) -> tuple[dict[str, Any], list[str]]:
    """Columns of the trees that are listed, and the known classes; `place` has ranks of groups and the listed trees."""
    forest, (rank, shown) = grouped.forest, place
    items = col.named([names[t] for t in shown], path)
    items |= {"group": rank[shown].tolist(), "size": forest.sizes[shown].tolist()}
    if silhouette is not None:
        items["silhouette"] = col.rounded(silhouette[shown], 2)
    classes: list[str] = []
    if forest.target is not None:
        known = [str(name) for name in forest.target.tolist()]
        classes = sorted(set(known), key=natural_order)
        number = {name: c for c, name in enumerate(classes)}
        items["known"] = [number[known[t]] for t in shown]
    if grouped.proba is not None:
        items["p"] = col.rounded(_own_probability(grouped)[shown])
        items["likely"] = _likely(grouped, shown)
    return items, classes


def _given_names(context: Context, grouped: Grouped) -> dict[int, str]:
    """Names that the caller gives to clusters, all of which there are."""
    given = {} if context.group_names is None else dict(context.group_names)
    there = set(np.unique(grouped.label).tolist())
    for number in given:
        if number not in there:
            clusters = ", ".join(str(n) for n in sorted(there)[:20])
            raise SettingError(f"group_names: there is no cluster {number!r}; wanted some of {clusters}")
    return given


def _own_probability(grouped: Grouped) -> Floats:
    """Probability of its own group of each tree; group -1 is the last column."""
    assert grouped.proba is not None  # noqa: S101 (for mypy; callers look first)
    return grouped.proba[np.arange(len(grouped.label)), grouped.label]


def _likely(grouped: Grouped, shown: Ints) -> dict[str, list[list[Any]]]:
    """The most probable groups of the trees that are not sure of theirs: name and probability, by place in the list."""
    assert grouped.proba is not None  # noqa: S101 (for mypy; callers look first)
    proba = grouped.proba[shown]
    found = {}
    for i in np.flatnonzero(proba.max(axis=1) < SURE)[:MAX_UNSURE].tolist():
        best = np.argsort(-proba[i], kind="stable")[:MAX_LIKELY]
        found[str(i)] = [[grouped.name(int(k)), col.figure(float(proba[i, k]))] for k in best if proba[i, k] >= 0.001]
    return found


def _unseen(model: Any, forest: Forest) -> list[str]:
    if getattr(model, "labels", True) is False or tuple(forest.vocabulary) == tuple(model.vocabulary_):
        return []
    n = int((forest.with_vocabulary(model.vocabulary_).label == UNSEEN).sum())
    if not n:
        return []
    nodes = f"{counted(n, 'node')}, {n / max(forest.n_nodes, 1):.0%} of all,"
    return [f"{nodes} have labels never seen in training; the model learnt nothing of these labels."]


def _tiles(summary: Summary, silhouette: Floats | None, noun: str) -> list[list[Any]]:
    tiles: list[list[Any]] = [
        [f"{summary.n_trees:,}", "trees"],
        [f"{summary.n_nodes:,}", "nodes"],
        [f"{summary.n_labels:,}", "labels"],
        [f"{len(summary.clusters):,}", "classes given" if noun == "class" else f"{noun}s"],
    ]
    if silhouette is not None:
        tiles.append([f"{np.nanmean(silhouette):.2f}", "mean silhouette"])
    if summary.agreement is not None:
        tiles.append([f"{summary.agreement.ari:.2f}", "adjusted Rand index"])
    return tiles


def _groups(
    summary: Summary, grouped: Grouped, silhouette: Floats | None, rank: Ints, report: str
) -> list[dict[str, Any]]:
    """Each group, the largest ones if they are very many; typical trees by number, to be drawn."""
    many = sorted(range(len(summary.clusters)), key=lambda c: (-summary.clusters[c].size, c))[:MAX_GROUPS]
    found = []
    for c in sorted(many):
        cluster = summary.clusters[c]
        main = col.shortened(cluster.main_class) if cluster.main_class and grouped.noun != "class" else None
        own = None if silhouette is None else _mean(silhouette[rank == c])
        about = {"index": c, "name": grouped.name(cluster.cluster), "main": main, "silhouette": own}
        found.append({**about, **card(cluster, summary.folder, report)})
    return found


def card(cluster: Cluster, folder: str, report: str) -> dict[str, Any]:
    """What the card of a group says of its trees; typical ones by number, to be drawn."""
    traits = {
        kind: [{**asdict(trait), "what": col.shortened(trait.what), "lift": col.figure(trait.lift)}
               for trait in getattr(cluster, kind)]
        for kind in ("labels", "pairs", "slots")
    }  # fmt: skip
    return {
        "size": cluster.size,
        "folder": cluster.folder and col.shortened(cluster.folder),
        "stability": None if cluster.stability is None else f"{cluster.fate} ({cluster.stability:.2f})",
        "share": col.figure(cluster.share),
        **traits,
        "rules": [[col.shortened(r.text), col.figure(r.lift), col.figure(r.coverage)] for r in cluster.rules],
        "skeleton": cluster.skeleton and _cut(cluster.skeleton),
        "shapes": [[s.what, col.figure(s.mean), None if s.elsewhere is None else col.figure(s.elsewhere)]
                   for s in cluster.shapes],
        "typical": [{"tree": t, **_one_name(name, folder, report)}
                    for t, name in zip(cluster.typical_trees, cluster.typical, strict=True)],
    }  # fmt: skip


def _one_name(name: str, folder: str, report: str) -> dict[str, Any]:
    short = name.removeprefix(folder)
    return {"name": col.shortened(short), "base": col.link_base([name], folder, report)
            if col.shortened(short) == short else None}  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SKELETON else text[: MAX_SKELETON - 1] + "\u2026"


def _mean(values: Floats) -> float | int | None:
    known = values[~np.isnan(values)]
    return col.figure(float(known.mean()), 2) if len(known) else None


# ---- map ------------------------------------------------------------------------------------------------------------


def _map(model: Any, grouped: Grouped, shown: Ints) -> dict[str, Any]:
    """Trees on planes of their codes."""
    marks = Marks("tree", grouped.noun, "counts of labels by place", grouped.label)
    if "plane" in model.page_parts():
        counted = gather_maps(slot_label_counts(grouped.forest), marks, shown)
        return gather_plane(model, model.transform(grouped.forest)[shown], counted, marks)
    codes, what = model.map_codes(grouped.forest, grouped.training)
    return gather_maps(codes, marks._replace(what=what), shown)


# ---- fit ------------------------------------------------------------------------------------------------------------


def history(model: Any) -> dict[str, Any] | None:
    """The objective after each iteration, for models that climb."""
    values, parts = getattr(model, "history_", None), model.page_parts()
    if values is None or len(values) < 2 or "draws" in parts:
        return None
    if "archetypes" in parts:
        return {"what": "description length, nats", "x": "merge", "about": "Shorter is better; the last point is after "
                "moving trees and re-aligning.", **col.thinned(values)}  # fmt: skip
    sampled = "sampled" in parts
    done = "" if getattr(model, "converged_", True) else " It had not converged."
    return {
        "what": "log joint, nats" if sampled else "objective, nats",
        "x": "sweep" if sampled else "iteration of EM",
        "about": ("The log joint of one chain." if sampled else "Log-likelihood plus log prior; EM never goes down.")
        + done,
        **col.thinned(values),
    }  # fmt: skip


def parameters(model: Any) -> dict[str, Any] | None:
    """Probabilities of each component of a mixture of hidden trees, by hidden state."""
    if "parameters" not in model.page_parts():
        return None
    from .parameters import gather_parameters

    return gather_parameters(model.hidden_trees())
