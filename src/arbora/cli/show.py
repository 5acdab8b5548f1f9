"""Results as people read them: a summary of clusters, of a forest, of predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..forest import Forest
from ..report import LEGEND, shape_told, told
from ..sharing import share
from ..summary import Summary
from .tell import printable, stdout_console

Columns = Mapping[str, Sequence[Any]]


def fit_told(model: Any, how: str, interrupted: bool) -> list[str]:
    """How the model came about, in sentences."""
    ended = "interrupted" if interrupted else "converged" if model.converged_ else "not converged"
    n = model.n_iter_
    lines = [how, f"{n} iteration{'' if n == 1 else 's'} of EM, {ended}; objective {model.history_[-1]:.1f} nats."]
    if model.n_unexplained_:
        lines.append(f"{model.n_unexplained_} trees have probability zero under every component.")
    return lines


def show_summary(summary: Summary, lines: Sequence[str]) -> None:
    """Print what `summarise` found."""
    console = stdout_console()
    n_clusters = len(summary.clusters)
    console.print(
        f"{summary.n_trees:,} trees, {summary.n_nodes:,} nodes, {summary.n_labels:,} labels: "
        f"{n_clusters} cluster{'' if n_clusters == 1 else 's'}"
    )
    for line in lines:
        console.print(printable(line))
    for cluster in summary.clusters:
        known = "" if cluster.main_class is None else f", mostly {printable(cluster.main_class)}"
        console.print()
        console.print(f"cluster {cluster.cluster}: {cluster.size} trees, {cluster.share:.0%}{known}", style="bold")
        rows = {
            "labels": ", ".join(map(told, cluster.labels)),
            "pairs": ", ".join(map(told, cluster.pairs)),
            "shape": shape_told(cluster),
            "typical": ", ".join(cluster.typical),
        }
        grid = _grid()
        for what, value in rows.items():
            if value:
                grid.add_row(f"  {what}", printable(value))
        console.print(grid)
    console.print()
    console.print(LEGEND)
    _show_agreement(summary, console)
    _show_uncertain(summary, console)


def _show_agreement(summary: Summary, console: Any) -> None:
    found = summary.agreement
    if found is None:
        return
    console.print()
    console.print("agreement with the known classes", style="bold")
    console.print(f"adjusted Rand index {found.ari:.3f}, normalised mutual information {found.nmi:.3f}")
    table = _table("class \\ cluster", *(str(cluster) for cluster in found.clusters))
    for name, counts in zip(found.classes, found.table, strict=True):
        table.add_row(printable(name), *(str(n) if n else "" for n in counts))
    console.print(table)


def _show_uncertain(summary: Summary, console: Any) -> None:
    if not summary.uncertain:
        return
    console.print()
    console.print(f"least certain trees ({len(summary.uncertain)} of {summary.n_uncertain})", style="bold")
    table = _table("tree", "cluster", "probability", "or", "probability")
    for u in summary.uncertain:
        table.add_row(
            printable(u.name), str(u.cluster), f"{u.probability:.3f}", str(u.other), f"{u.other_probability:.3f}"
        )
    console.print(table)


def show_assignments(facts: Mapping[str, Any]) -> None:
    """Print how many trees went where."""
    console = stdout_console()
    table = _table("cluster", "trees")
    for cluster, n in facts["sizes"].items():
        table.add_row(str(cluster), str(n))
    console.print(table)
    for line in assignment_lines(facts):
        console.print(line)


def assignment_facts(columns: Columns) -> dict[str, Any]:
    """Sizes of the clusters, and trees and labels that the model does not know."""
    cluster, size = np.unique(np.asarray(columns["cluster"], np.int64), return_counts=True)
    return {
        "n_trees": len(columns["name"]),
        "sizes": dict(zip(cluster.tolist(), size.tolist(), strict=True)),
        "n_unexplained": columns["explained"].count(False),
        "n_unseen_labels": sum(columns["unseen_labels"]),
        "n_trees_with_unseen_labels": sum(1 for n in columns["unseen_labels"] if n),
    }


def assignment_lines(facts: Mapping[str, Any]) -> list[str]:
    """What deserves a remark: trees that no component explains, labels never seen."""
    lines = []
    if facts["n_unexplained"]:
        lines.append(f"{facts['n_unexplained']} trees cannot come from any component; their cluster means nothing")
    if facts["n_unseen_labels"]:
        n, trees = facts["n_unseen_labels"], facts["n_trees_with_unseen_labels"]
        lines.append(f"{n} labels in {trees} trees were never seen in training; they are summed out")
    return lines


# ---- forests --------------------------------------------------------------------------------------------------------


def forest_facts(forest: Forest, n_top: int) -> dict[str, Any]:
    """What `describe` says, the most frequent labels, distinct subtrees and trees, and the classes."""
    facts = forest.describe()
    count = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels)
    top = [m for m in np.argsort(-count, kind="stable")[:n_top].tolist() if count[m]]
    facts["top_labels"] = {forest.vocabulary[m]: int(count[m]) for m in top}
    shards = share(forest.arrays, max(forest.n_slots, 1))
    facts["n_distinct_subtrees"] = sum(shard.n_units for shard in shards)
    facts["n_distinct_trees"] = sum(shard.n_distinct_trees for shard in shards)
    facts["classes"] = None
    if forest.target is not None:
        names, size = np.unique(forest.target, return_counts=True)
        facts["classes"] = {str(name): int(n) for name, n in zip(names.tolist(), size, strict=True)}
    return facts


def show_forest(facts: Mapping[str, Any]) -> None:
    """Print what a forest is like."""
    console = stdout_console()
    low, quarter, median, most, high = facts["tree_size_quartiles"]
    subtrees, nodes = facts["n_distinct_subtrees"], facts["n_nodes"]
    rows = {
        "trees": f"{facts['n_trees']:,}, of which {facts['n_distinct_trees']:,} distinct",
        "nodes": f"{nodes:,}, in {subtrees:,} distinct subtrees ({nodes / max(subtrees, 1):.1f} nodes to one)",
        "nodes a tree": f"{low} to {high}; half of the trees {quarter} to {most}, median {median}",
        "depth": f"at most {facts['max_depth']}",
        "children": f"at most {facts['max_children']}, in {facts['n_slots']} slots",
        "leaves": f"{facts['leaf_fraction']:.0%} of the nodes",
        "labels": f"{facts['n_labels']:,}",
    }
    for key, what in (("n_missing_labels", "missing"), ("n_unseen_labels", "outside the vocabulary")):
        if facts[key]:
            rows["labels"] += f"; {facts[key]:,} {what}"
    if facts["top_labels"]:
        rows["most frequent"] = ", ".join(f"{label} ({n:,})" for label, n in facts["top_labels"].items())
    if facts["classes"] is not None:
        rows["classes"] = ", ".join(f"{name} ({n:,})" for name, n in facts["classes"].items())
    grid = _grid()
    for what, value in rows.items():
        grid.add_row(what, printable(value))
    console.print(grid)


def _grid() -> Any:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    return grid


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for c, column in enumerate(columns):
        table.add_column(column, justify="left" if c == 0 else "right", overflow="fold")
    return table
