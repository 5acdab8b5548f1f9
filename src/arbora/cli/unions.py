"""Clustering by structure from the command line: mixtures of tree-unions, their settings, and what they leave."""

from typing import Any, NamedTuple

from ..evaluate.summary import counted, summarise
from ..forest.forest import Forest
from ..models import TreeUnionMixture
from ..report import write_report
from . import files, show
from .results import Outputs
from .terminal import Interrupts, Teller, print_json


class Fitted(NamedTuple):
    """A fitted mixture, and whether Ctrl-C ended the search."""

    model: Any
    interrupted: bool


def fit(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """A mixture of unions; its own progress bar shows how far the search is."""
    with Interrupts() as interrupts:
        model = TreeUnionMixture(components, **settings, verbose=-1 if teller.quiet else 0).fit(forest)
    return Fitted(model, interrupts.heard)


def tell(forest: Forest, fitted: Fitted, outputs: Outputs, command_line: str, as_json: bool, teller: Teller) -> None:
    """Write every output and print the summary; the picture shows the archetypes."""
    model = fitted.model
    with teller.working("summing up"):
        # A search that was broken off may have nearly as many unions as trees: too many to compare them all.
        columns = files.assignments(model, forest) if not fitted.interrupted else files.assigned(model.labels_, forest)
        summary = summarise(forest, columns["cluster"])
        told, warned = _told(model), _warned(fitted)
        facts = _facts(fitted)
        if outputs.table is not None:
            files.write_table(outputs.table, columns)
        if outputs.model is not None:
            model.save(outputs.model)
        if outputs.picture is not None:
            from .. import plot

            files.write_bytes(outputs.picture, plot.png_bytes(plot.archetypes(model)))
        if outputs.report is not None:
            write_report(model, forest, outputs.report, told=told, warned=warned, command=command_line)
    for line in warned:
        teller.warn(line)
    if as_json:
        print_json({**facts, "summary": summary.as_dict()})
    else:
        show.show_summary(summary, told, warned)
    written = [str(path) for path in outputs if path is not None]
    if written:
        teller.say(f"wrote {', '.join(written)}")


def _told(model: Any) -> list[str]:
    """How the classes came about, in sentences."""
    found = "the number that makes the description shortest" if model.n_components is None else "as asked"
    saved = model.start_length_ - model.description_length_
    sizes = ", ".join(str(union.n_nodes) for union in model.unions_[:12])
    more = ", ..." if model.n_components_ > 12 else ""
    what = "structure and labels" if model.labels else "structure alone"
    return [
        f"{counted(model.n_components_, 'union')} of trees by {what}: {found}.",
        f"Description length {model.description_length_:.1f} nats, {saved:.1f} less than each distinct tree alone.",
        f"Nodes of the unions: {sizes}{more}.",
    ]


def _warned(fitted: Fitted) -> list[str]:
    """What the search left undone."""
    lines = []
    model = fitted.model
    if fitted.interrupted:
        lines.append("Interrupted: this is the mixture found so far, not a finished search.")
    elif not model.converged_:
        lines.append("The search ended before nothing more could shorten the description.")
    if not model.exact_:
        n, total = model.n_inexact_, model.n_matched_
        lines.append(f"{n:,} of {total:,} matchings may not be the best: some nodes have very many different children.")
    return lines


def _facts(fitted: Fitted) -> dict[str, Any]:
    """How the mixture was found and how well it describes the trees."""
    model = fitted.model
    return {
        "n_components": model.n_components_,
        "description_length": model.description_length_,
        "start_length": model.start_length_,
        "merges": len(model.merges_),
        "exact": model.exact_,
        "converged": model.converged_,
        "interrupted": fitted.interrupted,
        "unions": [
            {"n_trees": u.n_assigned, "parent": u.parent.tolist(), "node_prob": u.node_prob.tolist()}
            for u in model.unions_
        ],
        "provenance": model.provenance_,
    }
