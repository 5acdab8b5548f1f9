"""What chains say: numbers by sweep, the number of groups, whether chains agree, and who is with whom."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate.summary import common_folder, tree_names
from ..inference import diagnostics
from . import columns as col

MAX_TOGETHER = 150  # data of a co-clustering matrix
MAX_CHAINS = 8
MAX_TRACES = 6
#: Numbers of a sweep that are worth a picture, and what they are.
TRACES = {
    "log_joint": "log joint, nats",
    "n_groups": "groups",
    "n_clusters": "groups of level 1",
    "n_subclusters": "groups of level 2",
    "n_nodes": "nodes of the tree",
    "n_components": "components",
    "deviation": "deviation within a component",
    "concentration": "concentration",
}

Ints = NDArray[np.int64]


def gather_draws(model: Any, grouped: Any) -> dict[str, Any]:
    """The posterior of a partition of trees."""
    trace = model.trace_
    labels = trace.stack("label")
    names = tree_names(grouped.forest) if grouped.training else []
    folder = common_folder(names)
    names = [name.removeprefix(folder) for name in names]
    same = grouped.training and labels.shape[2] == grouped.forest.n_trees
    level = {
        "name": "",
        "count": group_count(model.n_groups_posterior()),
        "chains": chain_facts(model.chain_report, trace),
        "together": together(labels.reshape(-1, labels.shape[2]), model.labels_, names) if same else None,
    }
    return {"traces": traces(trace), "burn_in": int(trace.schedule.burn_in), "levels": [level]}


def traces(trace: Any) -> list[dict[str, Any]]:
    """A line for each chain."""
    found: list[dict[str, Any]] = []
    for name, what in TRACES.items():
        if name in trace.info and len(found) < MAX_TRACES:
            rows = np.asarray(trace.info[name], np.float64)[:MAX_CHAINS]
            if np.nanmax(rows) > np.nanmin(rows):
                found.append({"what": what, "chains": [col.thinned(row) for row in rows]})
    return found


def group_count(count: Any) -> dict[str, Any]:
    """Posterior of the number of groups."""
    return {
        "number": [int(n) for n in count.n_groups],
        "probability": col.rounded(count.probability),
        "interval": [int(x) for x in count.interval],
        "mean": col.figure(float(count.mean)),
    }


def chain_facts(report: Any, trace: Any) -> dict[str, Any]:
    """Whether chains agree, in words, with R-hat and effective draws; `report` computes it."""
    if trace.n_chains < 2:
        return {"agree": None, "verdict": "One chain: there is nothing to compare it with. Run four or more."}
    if trace.n_draws < 4:
        return {"agree": None, "verdict": "Fewer than four draws per chain: too few to compare. Run longer."}
    found = report()
    rows = [
        [name.replace("_", " "), _shown(x.rhat), col.figure(x.ess_bulk, 4), col.figure(x.ess_tail, 4)]
        for name, x in found.convergence.items()
    ]
    rows.append(["co-clustering", _shown(found.co_clustering_rhat), None, None])
    verdict = found.verdict[0].upper() + found.verdict[1:] + "."
    return {"agree": bool(found.agree), "verdict": verdict, "rows": rows}


def _shown(rhat: float) -> float | int | str | None:
    """R-hat as the page takes it: infinity is text, and None is for what never changes."""
    return "\u221e" if np.isposinf(rhat) else col.figure(rhat, 4)


def together(draws: Any, labels: Any, names: Any, order: Ints | None = None) -> dict[str, Any]:
    """How often two data share a group, of at most MAX_TOGETHER of them, sorted by `order` or by group."""
    flat = np.asarray(draws)
    label = np.asarray(labels)
    order = np.argsort(label, kind="stable") if order is None else order
    chosen = order[col.spread(len(order), MAX_TOGETHER)]
    matrix = diagnostics.co_clustering_matrix(np.ascontiguousarray(flat[:, chosen]))
    note = f"{len(chosen)} of {len(order):,}, evenly spread over the groups. " if len(chosen) < len(order) else ""
    return {
        "n": len(chosen),
        "cells": col.packed(matrix),
        "names": [col.shortened(str(names[t])) for t in chosen],
        "group": label[chosen].tolist(),
        "note": note,
    }
