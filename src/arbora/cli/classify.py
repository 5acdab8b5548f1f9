"""``arbora classify``: classes of new trees by a saved classifier, and which trees are unlike any it has seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .option_checks import check_there, command_line, load_model
from .root import app
from .terminal import Teller, command, usage


@app.command(short_help="Give new trees their classes; flag those unlike any.")
@command
def classify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A classifier that train-classifier --save wrote.")],
    paths: opt.Paths,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Rows to .csv, .json or .parquet instead of stdout.")
    ] = None,
    novelty: Annotated[
        float | None,
        typer.Option(
            "--novelty",
            min=0.0,
            max=1.0,
            help="Flag trees more surprising than all but this share of the training trees. [default: the model's]",
            show_default=False,
        ),
    ] = None,
    report: opt.ReportPage = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: opt.Classes = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Give new trees their classes, and flag trees unlike any seen in training.

    One row per tree: class, its probability, how many of its nodes have a label never seen, whether the tree is novel,
    and its surprise in nats per pattern, or per node of hidden trees. If classes are known, a confusion matrix and
    scores of each class follow, with --output on stdout and else on stderr. Files are read as those of the training
    were, unless --format or --read say otherwise.

    \b
    Examples:
      arbora classify classifier.arbora new/ --output new.csv
      arbora classify classifier.arbora test/ --classes folder --output test.csv --report test.html
      arbora classify classifier.arbora new.jsonl --json
    """
    check_there(model, *paths)
    from . import files, reading, scores, show

    with Teller(quiet).listening() as teller:
        fitted = load_classifier(model)
        if novelty is not None:
            if not len(fitted.surprise_quantiles_):
                raise usage(
                    "--novelty", "this classifier cannot detect novel trees; train it with 3 or more of each class"
                )
            fitted.set_params(novelty=novelty)
        inputs = reading.find_like_training(fitted, paths, format, read, teller)
        files.check_outputs(
            [files.Output("--output", output, files.TABLES), files.Output("--report", report, (".html",))],
            [*inputs.files, model, files.table_of(classes)],
        )
        forest = reading.read_trees(inputs, skip_bad, classes, quiet)
        with teller.working("classifying"):
            columns = classified(fitted, forest)
        if report is not None:
            from ..report import write_report

            write_report(fitted, forest, report, command=command_line())
            teller.say(f"wrote {report}")
        facts = _classified_facts(columns, [str(name) for name in fitted.classes_.tolist()])
        if output is not None:
            files.write_table(output, columns)
            teller.say(f"wrote {output}")
    new = show.NewTrees(facts, "class", scores.remarks(facts))
    if show.show_rows(columns, new, output, as_json, teller):
        scores.show_known_classes(facts)


def load_classifier(path: Path) -> Any:
    """The classifier of a file, or a word on what the file holds instead."""
    from ..errors import ModelFileError

    model = load_model(path)
    if "classes" not in model.page_parts():
        raise ModelFileError(f"{path}: this is no classifier; arbora predict assigns trees to its clusters")
    return model


def classified(model: Any, forest: Any) -> dict[str, list[Any]]:
    """Columns about each tree: class, probability, whether it is novel, surprise, nodes with labels never seen."""
    import numpy as np

    from ..evaluate.summary import tree_names
    from ..forest.node_columns import UNSEEN

    forest = forest.with_vocabulary(model.vocabulary_)
    probability = model.predict_proba(forest)
    best = probability.argmax(axis=1)
    columns: dict[str, list[Any]] = {
        "name": tree_names(forest),
        "class": [str(name) for name in model.classes_[best].tolist()],
        "probability": probability[np.arange(len(best)), best].tolist(),
        "nodes_with_unseen_label": np.add.reduceat(
            (forest.label == UNSEEN).astype(np.int64), forest.tree_start[:-1]
        ).tolist(),
    }
    if len(model.surprise_quantiles_) and model.novelty is not None:
        columns |= {"novel": model.is_novel(forest).tolist(), "surprise": model.surprise(forest).tolist()}
    if forest.target is not None:
        columns["known"] = [str(name) for name in forest.target.tolist()]
    return columns


def _classified_facts(columns: Mapping[str, Sequence[Any]], known: Sequence[str]) -> dict[str, Any]:
    from .scores import class_facts

    facts: dict[str, Any] = {
        "n_trees": len(columns["name"]),
        "sizes": {name: columns["class"].count(name) for name in known},
        "n_novel": sum(columns["novel"]) if "novel" in columns else None,
        "n_nodes_with_unseen_label": sum(columns["nodes_with_unseen_label"]),
    }
    if "known" in columns:
        facts |= class_facts(columns["known"], columns["class"])
        facts["classes_never_trained"] = sorted(set(columns["known"]) - set(known))
    return facts
