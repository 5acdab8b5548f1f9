"""Clustering by structure from the command line: mixtures of tree-unions and what they report."""

from typing import Any

from ..evaluate.wording import counted
from ..forest.forest import Forest
from ..inference.verdict import Verdict
from ..models import TreeUnionMixture
from .fitting import Fitted
from .terminal import Interrupts, Teller


def fit_unions(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """A mixture of unions; its own progress bar shows how far the search is."""
    known = {name: value for name, value in settings.items() if name != "random_state"}  # the search draws nothing
    with Interrupts() as interrupts:
        model = TreeUnionMixture(components, **known, verbose=-1 if teller.quiet else 0).fit(forest)
    how, *told = _told(model)
    verdict = model.verdict()
    if interrupts.heard:
        verdict = Verdict("look again", "the search was interrupted", "run it again to the end")
    return Fitted(model, how, interrupts.heard, _facts(model), told, _warned(model), verdict)


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


def _warned(model: Any) -> list[str]:
    """What the search left undone."""
    lines = []
    if not model.exact_:
        n, total = model.n_inexact_, model.n_matched_
        lines.append(f"{n:,} of {total:,} matchings may not be the best: some nodes have very many different children.")
    return lines


def _facts(model: Any) -> dict[str, Any]:
    """How the mixture was found and how well it describes the trees."""
    return {
        "description_length": model.description_length_,
        "start_length": model.start_length_,
        "merges": len(model.merges_),
        "exact": model.exact_,
        "converged": model.converged_,
        "unions": [
            {"n_trees": u.n_assigned, "parent": u.parent.tolist(), "node_prob": u.node_prob.tolist()}
            for u in model.unions_
        ],
    }
