"""How well classes are distinguished: error, scores of each class, confusion matrix, and what deserves a remark."""

from collections.abc import Mapping
from typing import Any

from ..evaluate.agreement import class_facts
from ..evaluate.wording import counted
from .show import _table
from .terminal import printable, stdout_console

__all__ = ["class_facts", "remarks", "show_known_classes", "show_training"]


def show_training(facts: Mapping[str, Any]) -> None:
    """Print how a classifier did on trees held out."""
    console = stdout_console()
    if "error" not in facts:
        console.print(f"{facts['n_trees']:,} trees, {facts['n_classes']} classes; no tree was held out.")
        return
    console.print(
        f"{facts['n_trees']:,} trees, {facts['n_classes']} classes. Error on trees held out, {facts['folds']} parts in "
        f"turn: {facts['error']:.2%}; mean F1 of the classes {facts['mean_f1']:.3f}."
    )
    _show_scores(facts, console)


def show_known_classes(facts: Mapping[str, Any]) -> None:
    """Print how well trees of known classes were classified."""
    if "error" in facts:
        _show_scores(facts, stdout_console())


def remarks(facts: Mapping[str, Any]) -> list[str]:
    """What deserves a remark: novel trees, unseen labels, classes never trained, the error."""
    lines = []
    if facts["n_novel"]:
        lines.append(f"{counted(facts['n_novel'], 'tree')} unlike those of the training; do not rely on their classes")
    if facts["n_nodes_with_unseen_label"]:
        nodes = counted(facts["n_nodes_with_unseen_label"], "node")
        lines.append(f"{nodes} with labels never seen in training; the model learnt nothing of these labels")
    if facts.get("classes_never_trained"):
        lines.append(f"known classes that the classifier has never seen: {', '.join(facts['classes_never_trained'])}")
    if "error" in facts:
        lines.append(f"error {facts['error']:.2%}, mean F1 of the classes {facts['mean_f1']:.3f}")
    return lines


def _show_scores(facts: Mapping[str, Any], console: Any) -> None:
    scores = _table("class", "trees", "precision", "recall", "F1")
    for name, row in facts["by_class"].items():
        figures = (f"{row[key]:.3f}" for key in ("precision", "recall", "f1"))
        scores.add_row(printable(name), str(row["trees"]), *figures)
    console.print(scores)
    names = facts["confusion"]["classes"]
    confusion = _table("known \\ given", *map(printable, names))
    for name, counts in zip(names, facts["confusion"]["table"], strict=True):
        confusion.add_row(printable(name), *(str(n) if n else "" for n in counts))
    console.print(confusion)
