"""What a clustering leaves behind: tables, model, picture, page, and the summary on stdout."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..evaluate.summary import Summary, summarise
from ..forest.trees import Trees
from ..models.assignments import Assignments
from ..models.merging import coarser_levels
from ..models.patterns import GroupName, Namer
from ..report import write_report
from ..report.group_names import describe_groups
from . import files, levels, show
from .fitting import Fitted
from .terminal import Teller, print_json

MAX_SUMMED_UP = 20_000  # trees of a store; those of a forest are in memory anyway


class Outputs(NamedTuple):
    """Where results go; None where nobody asked."""

    table: Path | None
    model: Path | None
    report: Path | None
    picture: Path | None

    def check(self, reads: Sequence[str | None], checkpoint: Path | None, in_folder: bool) -> None:
        """Refuse what cannot be written before any work is done; a checkpoint may be a folder, which is made."""
        files.check_outputs(
            [
                files.Output("--output", self.table, files.TABLES),
                files.Output("--save", self.model, (".arbora",)),
                files.Output("--report", self.report, (".html",)),
                files.Output("--picture", self.picture, (".png",)),
                files.Output("--checkpoint", checkpoint, is_folder=in_folder),
            ],
            reads,
        )
        if self.picture is not None:
            files.need_matplotlib()


def tell(
    forest: Trees,
    fitted: Fitted,
    outputs: Outputs,
    command_line: str,
    as_json: bool,
    teller: Teller,
    called: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Write every output and print the summary; `called` are names of clusters in place of our own."""
    model = fitted.model
    with teller.working("summing up"):
        chosen = _for_summary(forest, teller)
        some = forest.take(chosen) if forest.in_memory is None else forest.in_memory
        labels = model.labels_[chosen]
        whole = assigned(fitted, forest) if some is forest or outputs.table is not None else fitted.assignments
        found = assigned(fitted._replace(assignments=whole and whole.take(chosen)), some, labels)
        coarser = coarser_levels(model, labels)
        namer = Namer(some)
        described = _renamed(describe_groups(namer, labels), called, teller)
        summary = summarise(
            some,
            labels,
            found.proba,
            new_group=found.new_group,
            named=described,
            levels=[labels, *(level.group[labels] for level in coarser[:-1])] if coarser else [],
            stability=model.found_again(),
        )
        verdict = fitted.verdict
        grouped = [*levels.lines(coarser), *levels.finer_lines(model), *levels.odd_lines(labels)]
        told = [fitted.how, *grouped, *fitted.told], fitted.warned
        facts = {**_facts(model, fitted, found), "coarser": levels.facts(coarser), "finer": levels.finer(model)}
        if outputs.model is not None:  # first, for it took longest to make
            model.save(outputs.model)
        if outputs.table is not None:
            files.write_table(outputs.table, _columns(model, forest, whole or found, summary))
        if outputs.picture is not None:
            files.write_bytes(outputs.picture, _draw(model, some, labels, summary))
        if outputs.report is not None:
            write_report(
                model,
                some,
                outputs.report,
                told=told[0],
                warned=told[1],
                command=command_line,
                verdict=verdict,
                assignments=found,
                described=described,
                namer=namer,
            )
    for line in told[1]:
        teller.warn(line)
    show.warn_of(verdict, teller, as_json)
    if as_json:
        print_json({"verdict": verdict.as_dict(), **facts, "summary": summary.as_dict()})
    else:
        show.show_summary(summary, verdict, *told)
    written = [str(path) for path in outputs if path is not None]
    if written:
        teller.say(f"wrote {', '.join(written)}")


def _renamed(described: Sequence[GroupName], called: Mapping[int, str], teller: Teller) -> list[GroupName]:
    """The descriptions of clusters with the names that were given."""
    for number in called:
        if number >= len(described):
            teller.warn(f"--names: there is no cluster {number}; clusters are 0 to {len(described) - 1}")
    return [one._replace(name=called.get(k, one.name)) for k, one in enumerate(described)]


def _for_summary(forest: Trees, teller: Teller) -> NDArray[np.int64]:
    """Numbers of the trees that are summed up: all, or of a large store some, evenly spread."""
    n = forest.n_trees
    if forest.in_memory is not None or n <= MAX_SUMMED_UP:
        return np.arange(n)
    teller.say(f"the summary is of {MAX_SUMMED_UP:,} of the {n:,} trees")
    return np.linspace(0, n - 1, MAX_SUMMED_UP).astype(np.int64)


def assigned(fitted: Fitted, forest: Trees, labels: Any = None) -> Assignments:
    """Where these trees belong, labels as the fit has them; probabilities unless a broken-off search left too many."""
    model = fitted.model
    own = np.asarray(model.labels_ if labels is None else labels, np.int64)
    if fitted.assignments is not None:
        return fitted.assignments._replace(labels=own)
    if (fitted.interrupted and "archetypes" in model.page_parts()) or "probabilities" not in model.page_parts():
        return Assignments(own)
    return cast(Assignments, model.assign(forest)._replace(labels=own))


def _columns(model: Any, forest: Trees, found: Assignments, summary: Summary) -> Any:
    """Columns of the table, names of clusters beside their numbers."""
    columns = files.assigned(found.labels, forest) if found.proba is None else files.assignments(model, forest, found)
    called = {cluster.cluster: cluster.name or "" for cluster in summary.clusters}
    names = [called.get(number, "") for number in np.asarray(columns["cluster"]).tolist()]
    about: dict[str, Any] = {"name": columns["name"], "cluster": columns["cluster"], "cluster_name": names}
    stable = {cluster.cluster: cluster.stability for cluster in summary.clusters if cluster.stability is not None}
    if stable:
        about["cluster_stability"] = [stable.get(k, math.nan) for k in np.asarray(columns["cluster"]).tolist()]
    return {**about, **columns}


def _facts(model: Any, fitted: Fitted, found: Assignments) -> dict[str, Any]:
    """How the model was fitted and how well; with the data, enough to fit it again."""
    return {
        "model": type(model).__name__,
        "n_components": getattr(model, "n_components_", getattr(model, "n_components", None)),
        "seed": getattr(model, "random_state", None),
        "components": fitted.how,
        "interrupted": fitted.interrupted,
        **fitted.facts,
        "mean_log_likelihood": None if found.log_likelihood is None else float(np.mean(found.log_likelihood)),
        "provenance": model.provenance_,
    }


def _draw(model: Any, forest: Trees, labels: Sequence[int], summary: Summary) -> bytes:
    from .. import plot

    if "archetypes" in model.page_parts():
        return plot.png_bytes(plot.archetypes(model))
    codes, _ = model.map_codes(forest)
    figure = plot.overview(codes, labels, getattr(model, "history_", None), forest.target, summary.agreement)
    return plot.png_bytes(figure)
