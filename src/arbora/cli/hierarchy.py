"""``arbora hierarchy``: sort the rows of a table into groups of groups."""

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ReadError
from ..models.registry import typed
from .option_checks import check_there, command_line
from .options import HierarchyKind, Json, Quiet, ReportPage, SaveModel, Seed, about_models
from .root import app
from .terminal import INTERRUPTED, Teller, command, print_json, printable, stdout_console, usage


class Prior(StrEnum):
    """Priors of NHCM."""

    flat = "flat"
    nested = "nested"


class Scales(StrEnum):
    """Ways to scale columns."""

    columns = "columns"
    common = "common"
    none = "none"


@app.command(short_help="Sort the rows of a table into groups of groups.")
@command
def hierarchy(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Numbers in rows: .csv, .tsv or .txt.")],
    model: Annotated[HierarchyKind, typer.Option("--model", help=about_models("hierarchy"))] = HierarchyKind["nhcm"],
    prior: Annotated[Prior | None, typer.Option("--prior", help="Prior of nhcm. [default: flat]")] = None,
    scaling: Annotated[
        Scales | None,
        typer.Option("--scaling", help="Columns to variance one each, by a common factor, or not. [default: model's]"),
    ] = None,
    names: Annotated[str | None, typer.Option("--names", help="Column with the names of rows.")] = None,
    classes: Annotated[
        str | None, typer.Option("--classes", help="Column with known classes, only to compare with.")
    ] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="Columns to use, as a,b,c. [default: all]")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names columns.")
    ] = None,
    sweeps: Annotated[int | None, typer.Option("--sweeps", min=1, help="Sweeps of each chain.")] = None,
    chains: Annotated[int | None, typer.Option("--chains", min=1, help="Chains. [default: 4]")] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Groups by level: .csv, .json or .parquet.")
    ] = None,
    newick: Annotated[Path | None, typer.Option("--newick", help="The tree: .nwk.")] = None,
    tree: Annotated[Path | None, typer.Option("--tree", help="The tree with all it holds: .json.")] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Rows and tree as a picture: .png.")] = None,
    save: SaveModel = None,
    report: ReportPage = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Sort the rows of a table of numbers into groups of groups.

    The delimiter, a header and a first column of names are detected; give --names, --classes or --columns if that
    fails.  nhcm and dpgmm take rows with missing cells (empty, NA, NaN, null, None or ?) and integrate them out.

    \b
    Examples:
      arbora hierarchy data.csv
      arbora hierarchy data.csv --classes species --output groups.csv --picture tree.png
      arbora hierarchy data.csv --model rbhmc --report report.html
      arbora hierarchy data.tsv --model dpgmm --columns x,y --sweeps 500 --json
      arbora hierarchy data.csv --save hierarchy.arbora; arbora predict hierarchy.arbora new.csv
    """
    check_there(table)
    from ..io.tables import read_table
    from . import files
    from .fitting import OPTIONS

    with Teller(quiet).listening() as teller:
        outputs = [
            files.Output("--output", output, files.TABLES),
            files.Output("--newick", newick, (".nwk",)),
            files.Output("--tree", tree, (".json",)),
            files.Output("--picture", picture, (".png",)),
            files.Output("--save", save, (".arbora",)),
            files.Output("--report", report, (".html",)),
        ]
        files.check_outputs(outputs, [table])
        if picture is not None:
            files.need_matplotlib()
        estimator = _estimator(model, prior, scaling, sweeps, chains, seed)
        chosen = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
        missing = estimator.takes_missing()
        data = read_table(table, header=header, names=names, target=classes, columns=chosen, missing=missing)
        _check_columns(table, data)
        with teller.working(f"sampling {type(estimator).__name__}"):
            estimator.fit(data.X)
        estimator.names_ = data.names
        estimator.provenance_["table"] = {"columns": data.columns, "names": names, "header": header}
        verdict = estimator.verdict().typed(OPTIONS)
        facts = {**_facts(estimator, data, model), "interrupted": estimator.trace_.interrupted}
        found = {"verdict": verdict.as_dict(), **facts}
        _write(estimator, data, verdict, {x.option: x.path for x in outputs if x.path is not None}, teller)
        from .show import warn_of

        warn_of(verdict, teller, as_json)
    if as_json:
        print_json(found)
    else:
        _show(found, verdict)
    if estimator.trace_.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_columns(table: Path, data: Any) -> None:
    """Raise if a column has no number at all, by its name."""
    for name, column in zip(data.columns, data.X.T, strict=True):
        if (column != column).all():
            raise ReadError(
                f"{table}: column {name!r} has no number at all; leave it out: name the others by --columns"
            )


def _write(estimator: Any, data: Any, verdict: Any, paths: dict[str, Path], teller: Teller) -> None:
    """Write the files that were asked for, by option."""
    from . import files

    if "--output" in paths:
        files.write_table(paths["--output"], _columns(estimator.level_labels_, data))
    if "--newick" in paths:
        files.write_text(paths["--newick"], estimator.hierarchy_.merged().to_newick() + "\n")
    if "--tree" in paths:
        files.write_text(paths["--tree"], estimator.hierarchy_.to_json() + "\n")
    if "--picture" in paths:
        from .. import plot

        rows = estimator.filled(data.X) if estimator.takes_missing() else data.X
        figure = plot.hierarchy_overview(rows, estimator.level_labels_, estimator.hierarchy_)
        files.write_bytes(paths["--picture"], plot.png_bytes(figure))
    if "--save" in paths:
        estimator.save(paths["--save"])
    if "--report" in paths:
        from ..report import write_report

        write_report(
            estimator,
            data.X,
            paths["--report"],
            target=data.target,
            names=data.names,
            columns=data.columns,
            command=command_line(),
            verdict=verdict,
        )
    if paths:
        teller.say(f"wrote {', '.join(map(str, paths.values()))}")


def predict_rows(
    estimator: Any,
    path: Path,
    tables: list[Path],
    classes: str | None,
    output: Path | None,
    as_json: bool,
    teller: Teller,
) -> None:
    """Groups of the rows of a new table, read as that of the training was: to stdout, or to `output`."""
    from ..io.tables import read_table
    from . import files

    if len(tables) != 1:
        raise usage("PATH", f"{len(tables)} given; wanted one table for a model of rows")
    files.check_outputs([files.Output("--output", output, files.TABLES)], [tables[0], path])
    data = read_table(tables[0], target=classes, missing=estimator.takes_missing(), **trained_table(estimator))
    if data.X.shape[1] != estimator.n_features_in_:
        raise ReadError(
            f"{tables[0]}: {data.X.shape[1]} columns of numbers; wanted {estimator.n_features_in_}, as the model was "
            "trained on"
        )
    with teller.working("predicting"):
        columns = _columns(estimator.predict_levels(data.X), data)
    if output is not None:
        files.write_table(output, columns)
        teller.say(f"wrote {output}")
        _show_counts({key: columns[key] for key in columns if key.startswith("level_")}, as_json)
    elif as_json:
        print_json(files.records(columns))
    else:
        files.print_csv(columns)


def trained_table(estimator: Any) -> dict[str, Any]:
    """How a model, perhaps from a stranger, says that its table was read, if that makes sense to us."""
    told = estimator.provenance_.get("table")
    if not isinstance(told, dict) or set(told) != {"columns", "names", "header"}:
        return {}
    columns, names, header = told["columns"], told["names"], told["header"]
    good = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    good = good and isinstance(names, str | None) and isinstance(header, bool | None)
    return told if good else {}


def _show_counts(levels: dict[str, list[int]], as_json: bool) -> None:
    """How many rows went to each group of each level."""
    sizes = {level: dict(sorted(Counter(groups).items())) for level, groups in levels.items()}
    if as_json:
        print_json({"sizes": sizes})
        return
    for level, size in sizes.items():
        typer.echo(f"{level}: {', '.join(f'group {group}: {n}' for group, n in size.items())}")


def _estimator(
    model: HierarchyKind,
    prior: Prior | None,
    scaling: Scales | None,
    sweeps: int | None,
    chains: int | None,
    seed: int,
) -> Any:
    """The model as asked for, with its own defaults for the rest."""
    from .. import models

    kind = getattr(models, typed("hierarchy")[model.value])
    settings: dict[str, Any] = {"n_iter": sweeps, "n_chains": chains, "random_state": seed}
    if prior is not None:
        if model != "nhcm":
            raise usage("--prior", f"{model} has none; leave this out, or use --model nhcm")
        settings["prior"] = prior.value
    estimator = kind(**{key: value for key, value in settings.items() if value is not None})
    if scaling is not None:
        if "scaling" not in estimator.get_params():
            raise usage("--scaling", f"{model} has no such choice; leave this out")
        estimator.set_params(scaling=None if scaling is Scales.none else scaling.value)
    return estimator


def _columns(labels: Any, data: Any) -> dict[str, list[Any]]:
    """Rows of the output: name, groups by level, known class."""
    levels = {f"level_{l + 1}": row.tolist() for l, row in enumerate(labels)}
    known = {} if data.target is None else {"class": data.target}
    return {"name": data.names, **levels, **known}


def _facts(estimator: Any, data: Any, model: str) -> dict[str, Any]:
    """What was found, in numbers."""
    from sklearn.metrics import adjusted_rand_score

    levels = []
    outside = {one.level: one.sentence for one in estimator.estimate_outside_posterior()}
    for l, labels in enumerate(estimator.level_labels_):
        count = estimator.n_groups_posterior(l)
        told = {
            "groups": int(labels.max()) + 1,
            "groups_mean": count.mean,
            "groups_interval": list(count.interval),
            "outside_interval": outside.get(l),
            "sizes": [int((labels == g).sum()) for g in range(int(labels.max()) + 1)],
        }
        if data.target is not None:
            told["adjusted_rand"] = float(adjusted_rand_score(data.target, labels))
        levels.append(told)
    return {
        "model": model,
        "n_rows": len(data.X),
        "columns": data.columns,
        "n_missing_cells": int((data.X != data.X).sum()),
        "levels": levels,
        "log_joint": getattr(estimator, "log_joint_", None),
        "newick": estimator.hierarchy_.merged().to_newick() if len(data.X) <= 200 else None,
    }


def _show(found: dict[str, Any], verdict: Any) -> None:
    from ..evaluate.wording import counted
    from .show import show_verdict

    console = stdout_console()
    show_verdict(verdict, console)
    size = f"{counted(found['n_rows'], 'row')}, {counted(len(found['columns']), 'column')}"
    console.print(f"{size}, model {found['model']}")
    if found["n_missing_cells"]:
        share = found["n_missing_cells"] / found["n_rows"] / len(found["columns"])
        console.print(f"{counted(found['n_missing_cells'], 'missing cell')} ({share:.1%}), integrated out")
    for l, level in enumerate(found["levels"], start=1):
        low, high = level["groups_interval"]
        sizes = ", ".join(map(str, level["sizes"][:20])) + (", ..." if len(level["sizes"]) > 20 else "")
        console.print(f"level {l}: {counted(level['groups'], 'group')} of {sizes}")
        agreed = f"; adjusted Rand index {level['adjusted_rand']:.3f}" if "adjusted_rand" in level else ""
        console.print(f"  posterior of their number: mean {level['groups_mean']:.1f}, 95% {low} to {high}{agreed}")
        if level["outside_interval"] is not None:
            console.print(f"  look again: {level['outside_interval']}")
    if found["newick"] is not None and found["n_rows"] <= 60:
        typer.echo(printable(found["newick"]))  # as it is: a console would break the line inside a name
