"""Results as people read them: a summary of clusters, of a forest, of predictions."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..evaluate.summary import Summary
from ..evaluate.wording import LEGEND, counted, rule_text, shape_text, trait_text
from ..forest.description import size_quartiles
from ..forest.sharing import iter_shards
from ..forest.trees import Trees
from ..inference.verdict import Verdict
from .files import Columns, print_csv, records
from .terminal import Teller, print_json, printable, stdout_console

MOST_LETTERS = 120  # of a rule; a report has it in full
MOST_UNSEEN = 0.5  # share of nodes with unseen labels beyond which predictions mean little


STYLES = {"sound": "bold green", "look again": "bold yellow", "do not trust": "bold red"}


def show_verdict(verdict: Verdict, console: Any) -> None:
    """Print how far to trust what follows."""
    console.print(printable(verdict.sentence), style=STYLES[verdict.level])


def warn_of(verdict: Verdict, teller: Teller, as_json: bool) -> None:
    """Repeat a verdict that is not sound among the messages, unless a terminal shows it first anyway."""
    if verdict.level != "sound" and (as_json or not sys.stdout.isatty()):
        teller.warn(verdict.sentence)


def show_summary(summary: Summary, verdict: Verdict, lines: Sequence[str], warned: Sequence[str]) -> None:
    """Print the verdict and what `summarise` found."""
    console = stdout_console()
    show_verdict(verdict, console)
    trees, nodes, labels = summary.n_trees, summary.n_nodes, summary.n_labels
    console.print(
        f"{counted(trees, 'tree')}, {counted(nodes, 'node')}, {counted(labels, 'label')}: "
        f"{counted(len(summary.clusters), 'cluster')}"
    )
    for line in lines:
        console.print(printable(line))
    for line in warned:
        console.print(printable(line), style="bold red")
    _show_overview(summary, console)
    for cluster in summary.clusters:
        name = "" if cluster.name is None else f", {printable(cluster.name)}"
        known = "" if cluster.main_class is None else f", mostly {printable(cluster.main_class)}"
        console.print()
        console.print(
            f"cluster {cluster.cluster}{name}: {counted(cluster.size, 'tree')}, {cluster.share:.0%}{known}",
            style="bold",
        )
        rows = {
            "rules": "; ".join(rule_text(rule, MOST_LETTERS) for rule in cluster.rules),
            "labels": ", ".join(map(trait_text, cluster.labels)),
            "pairs": ", ".join(map(trait_text, cluster.pairs)),
            "shape": shape_text(cluster),
            "skeleton": cluster.skeleton or "",
            "typical": ", ".join(map(summary.short, cluster.typical)),
        }
        grid = _grid()
        for what, value in rows.items():
            if value:
                grid.add_row(f"  {what}", printable(value))
        console.print(grid)
    console.print()
    console.print(LEGEND)
    if summary.folder:
        console.print(f"Names of trees are below {printable(summary.folder)}")
    _show_agreement(summary, console)
    _show_uncertain(summary, console)


def _show_overview(summary: Summary, console: Any) -> None:
    """A line per cluster: its size, its name, and whether all runs find it."""
    if len(summary.clusters) < 2 or all(cluster.name is None for cluster in summary.clusters):
        return
    judged = any(cluster.stability is not None for cluster in summary.clusters)
    placed = any(cluster.folder for cluster in summary.clusters)
    table = _table("cluster", "trees", "share")
    for wanted, head in ((judged, "in all runs"), (placed, "mostly below")):
        if wanted:
            table.add_column(head, overflow="fold")
    table.add_column("what sets it apart", overflow="fold")
    for cluster in summary.clusters:
        row = [str(cluster.cluster), f"{cluster.size:,}", f"{cluster.share:.0%}"]
        if judged:
            row.append(cluster.fate or "")
        if placed:
            row.append(printable(cluster.folder or ""))
        table.add_row(*row, printable(cluster.name or ""))
    console.print(table)


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
    if len(summary.levels) > 1:
        levels = _table("groups", "adjusted Rand index", "normalised mutual information")
        for level in summary.levels:
            levels.add_row(str(level.n_groups), f"{level.ari:.3f}", f"{level.nmi:.3f}")
        console.print(levels)


def _show_uncertain(summary: Summary, console: Any) -> None:
    if not summary.uncertain:
        return
    console.print()
    console.print(f"least certain trees ({len(summary.uncertain)} of {summary.n_uncertain})", style="bold")
    table = _table("tree", "cluster", "probability", "or", "probability")
    for u in summary.uncertain:
        table.add_row(
            printable(summary.short(u.name)),
            _called(u.cluster),
            f"{u.probability:.3f}",
            _called(u.other),
            f"{u.other_probability:.3f}",
        )
    console.print(table)


def _called(cluster: int) -> str:
    return "new" if cluster < 0 else str(cluster)


class NewTrees(NamedTuple):
    """What `predict` and `classify` say of new trees: counts of them in `facts`, and remarks."""

    facts: Mapping[str, Any]
    group: str  # what trees were given: a cluster or a class
    remarks: Sequence[str]


def show_rows(columns: Columns, new: NewTrees, output: Path | None, as_json: bool, teller: Teller) -> bool:
    """Print one row per tree; with --output, which holds the rows, how many trees were given what.

    Returns whether counts were printed as a table, which more may follow.
    """
    if output is None:
        if as_json:
            print_json(records(columns))
        else:
            print_csv(columns)
        for line in new.remarks:
            teller.say(line)
        return False
    if as_json:
        print_json(new.facts)
        return False
    console = stdout_console()
    table = _table(new.group, "trees")
    for group, n in new.facts["sizes"].items():
        table.add_row(printable(group), str(n))
    console.print(table)
    for line in new.remarks:
        console.print(printable(line))
    return True


def assignment_facts(columns: Columns, n_nodes: int) -> dict[str, Any]:
    """Sizes of the clusters, and trees and labels that are new to the model."""
    cluster, size = np.unique(columns["cluster"], return_counts=True)
    unseen = columns["nodes_with_unseen_label"]
    return {
        "n_trees": len(columns["name"]),
        "n_nodes": n_nodes,
        "sizes": dict(zip(cluster.tolist(), size.tolist(), strict=True)),
        "n_unexplained": int(np.sum(~columns["explained"])),
        "n_nodes_with_unseen_label": int(np.sum(unseen)),
        "n_trees_with_unseen_label": int(np.count_nonzero(unseen)),
    }


def assignment_lines(facts: Mapping[str, Any]) -> list[str]:
    """What deserves a remark: trees that no component explains, labels never seen."""
    lines = []
    if facts["n_unexplained"]:
        lines.append(f"{counted(facts['n_unexplained'], 'tree')} cannot come from any component; disregard the cluster")
    if facts["n_nodes_with_unseen_label"]:
        nodes = counted(facts["n_nodes_with_unseen_label"], "node")
        trees = counted(facts["n_trees_with_unseen_label"], "tree")
        lines.append(f"{nodes} in {trees} have labels never seen in training; the model learnt nothing of these labels")
    return lines


def assignment_warning(facts: Mapping[str, Any]) -> str | None:
    """What must not be overlooked: data that do not look like those of the training."""
    share = facts["n_nodes_with_unseen_label"] / max(facts["n_nodes"], 1)
    if share <= MOST_UNSEEN:
        return None
    return (
        f"{share:.0%} of the nodes have labels never seen in training; these trees do not look like the training data, "
        "so do not rely on the clusters (are they read in the same way?)"
    )


# ---- forests --------------------------------------------------------------------------------------------------------


def forest_facts(forest: Trees, n_top: int) -> dict[str, Any]:
    """What `describe` says, the most frequent labels, distinct subtrees and trees, and the classes.

    A store is gone through file by file; subtrees and trees that are the same in two files count twice.
    """
    count, classes = np.zeros(forest.n_labels, np.int64), Counter[str]()
    described, sizes, n_units, n_distinct, has_classes = [], [], 0, 0, False
    for part in forest.parts():
        described.append(part.describe())
        sizes.append(part.sizes)
        count += np.bincount(part.label[part.label >= 0], minlength=forest.n_labels)
        for shard in iter_shards(part.arrays, max(forest.n_slots, 1)):
            n_units, n_distinct = n_units + shard.n_units, n_distinct + shard.n_distinct_trees
        if part.target is not None:
            has_classes = True
            names, size = np.unique(part.target, return_counts=True)
            classes.update({str(name): int(n) for name, n in zip(names.tolist(), size, strict=True)})
    top = [m for m in np.argsort(-count, kind="stable")[:n_top].tolist() if count[m]]
    n_leaves = sum(round(one["leaf_fraction"] * one["n_nodes"]) for one in described)
    return {
        **{key: getattr(forest, key) for key in ("n_trees", "n_nodes", "n_labels", "n_slots")},
        "n_files": len(described),
        "tree_size_quartiles": size_quartiles(np.concatenate(sizes)),
        **{key: max(one[key] for one in described) for key in ("max_depth", "max_children")},
        "leaf_fraction": n_leaves / max(forest.n_nodes, 1),
        **{key: sum(one[key] for one in described) for key in ("n_missing_labels", "n_unseen_labels")},
        "top_labels": {forest.vocabulary[m]: int(count[m]) for m in top},
        "n_distinct_subtrees": n_units,
        "n_distinct_trees": n_distinct,
        "n_classes": len(classes) if has_classes else None,
        "classes": dict(sorted(classes.items())) if has_classes else None,
    }


def show_forest(facts: Mapping[str, Any]) -> None:
    """Print what a forest is like."""
    console = stdout_console()
    low, quarter, median, most, high = facts["tree_size_quartiles"]
    subtrees, nodes = facts["n_distinct_subtrees"], facts["n_nodes"]
    where = " (file by file)" if facts["n_files"] > 1 else ""
    rows = {
        "trees": f"{facts['n_trees']:,}, of which {facts['n_distinct_trees']:,} distinct{where}",
        "nodes": f"{nodes:,}, in {subtrees:,} distinct subtrees{where} ({nodes / max(subtrees, 1):.1f} nodes to one)",
        "nodes per tree": f"{low} to {high}; half of the trees {quarter} to {most}, median {median}",
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


def show_formats(facts: Mapping[str, Any]) -> None:
    """Print every format with its suffixes, what it makes of a file, and the options for --read."""
    console = stdout_console()
    for format, about in facts.items():
        console.print(f"{format}  ({', '.join(about['suffixes'])})", style="bold")
        console.print(f"  {about['makes']}")
        grid = _grid()
        for name, option in about["options"].items():
            grid.add_row(f"  {name}=", f"{option['meaning']}: {option['values']} [default: {option['default']}]")
        if about["options"]:
            console.print(grid)
        console.print()
    console.print("Each suffix may be followed by .gz, except those of forest and parquet.")


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
