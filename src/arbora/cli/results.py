"""What a clustering leaves behind: tables, model, picture, page, and the summary on stdout."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..forest import Forest
from ..report import write_report
from ..summary import Summary, summarise
from . import files, show
from .fitting import Fitted
from .tell import Teller, print_json


class Outputs(NamedTuple):
    """Where results go; None where nobody asked."""

    table: Path | None
    model: Path | None
    report: Path | None
    picture: Path | None

    def check(self, inputs: Sequence[str]) -> None:
        """Refuse what cannot be written before any work is done."""
        files.check_output("--output", self.table, files.TABLES, inputs)
        files.check_output("--save", self.model, (".arbora",), inputs)
        files.check_output("--report", self.report, (".html",), inputs)
        files.check_output("--picture", self.picture, (".png",), inputs)
        files.check_distinct(
            {"--output": self.table, "--save": self.model, "--report": self.report, "--picture": self.picture}
        )
        if self.picture is not None:
            files.need_matplotlib()


def tell(forest: Forest, fitted: Fitted, outputs: Outputs, command_line: str, as_json: bool, teller: Teller) -> None:
    """Write every output and print the summary."""
    model = fitted.model
    with teller.working("summing up"):
        columns = files.assignments(model, forest, model.labels_)
        summary = summarise(forest, columns["cluster"], model.predict_proba(forest))
        told = [fitted.how, *fitted.told], fitted.warned
        facts = _facts(model, fitted, forest)
        if outputs.table is not None:
            files.write_table(outputs.table, columns)
        if outputs.model is not None:
            model.save(outputs.model)
        if outputs.picture is not None:
            files.write_bytes(outputs.picture, _draw(model, forest, columns["cluster"], summary))
        if outputs.report is not None:
            write_report(model, forest, outputs.report, told=told[0], warned=told[1], command=command_line)
    for line in told[1]:
        teller.warn(line)
    if as_json:
        print_json({**facts, "summary": summary.as_dict()})
    else:
        show.show_summary(summary, *told)
    written = [str(path) for path in outputs if path is not None]
    if written:
        teller.say(f"wrote {', '.join(written)}")


def _facts(model: Any, fitted: Fitted, forest: Forest) -> dict[str, Any]:
    """How the model was fitted and how well; with the data, enough to fit it again."""
    return {
        "seed": model.random_state,
        "components": fitted.how,
        "interrupted": fitted.interrupted,
        **fitted.facts,
        "mean_log_likelihood": model.score(forest),
        "provenance": model.provenance_,
    }


def _draw(model: Any, forest: Forest, labels: Sequence[int], summary: Summary) -> bytes:
    from .. import plot

    sparse_output = model.sparse_output
    codes = model.set_params(sparse_output=True).transform(forest)
    model.set_params(sparse_output=sparse_output)
    figure = plot.overview(codes, labels, model.history_, forest.target, summary.agreement)
    return plot.png_bytes(figure)
