"""``arbora report``: a page on a saved model and trees or rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .option_checks import FOR_TREES, check_there, command_line, load_model, refuse
from .root import app
from .terminal import Teller, command, usage


@app.command(short_help="Write one page on a saved model.")
@command
def report(
    model: opt.ModelFile,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA", help="Trees, as for cluster; the table, if the model is a hierarchy.", show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page: .html.")] = Path("report.html"),
    names: Annotated[
        str | None,
        typer.Option(
            "--names",
            metavar="FILE.csv|COLUMN",
            help="Names for clusters, a table with the columns cluster and name; of a table, the column with names.",
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Of a table: columns to use, as a,b,c. [default: all]")
    ] = None,
    format: opt.FormatOption = None,
    skip_bad: opt.SkipBad = False,
    read: opt.ReadOptions = None,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="folder|FILE.csv|COLUMN",
            help="Known classes to compare with, as for cluster; of a table, the column that holds them.",
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write one page on a saved model: groups, map, typical trees, parameters, and more.

    Trees may be those of the training or others; a hierarchy needs the table it was fitted to. Chains are not saved
    with a model, so only a report written at the fit shows them: arbora cluster --report, hierarchy --report.

    \b
    Examples:
      arbora report model.arbora corpus/ --output report.html
      arbora report model.arbora corpus/ --names names.csv
      arbora report classifier.arbora test/ --classes folder -o test.html
      arbora report hierarchy.arbora table.csv --classes species
    """
    check_there(model, *paths)
    from ..report import write_report
    from . import files, reading

    with Teller(quiet).listening() as teller:
        fitted = load_model(model)
        if "levels" in fitted.page_parts():
            files.check_outputs([files.Output("--output", output, (".html",))], [*paths, model])
            refuse({"--format": format, "--skip-bad": skip_bad or None, "--read": read}, FOR_TREES)
            table = _table(fitted, paths, names, classes, columns)
            write_report(
                fitted,
                table.X,
                output,
                target=table.target,
                names=table.names,
                columns=table.columns,
                command=command_line(),
            )
        else:
            if columns is not None:
                raise usage("--columns", "trees have none; leave this out")
            called = None if names is None else files.read_names(Path(names))
            inputs = reading.find_like_training(fitted, paths, format, read, teller)
            read_too = [*inputs.files, model, files.table_of(classes), names]
            files.check_outputs([files.Output("--output", output, (".html",))], read_too)
            forest = reading.read_trees(inputs, skip_bad, classes, quiet)
            with teller.working("summing up"):
                write_report(fitted, forest, output, command=command_line(), group_names=called)
        teller.say(f"wrote {output}")


def _table(fitted: Any, paths: list[Path], names: str | None, classes: str | None, columns: str | None) -> Any:
    """The table, read as it was for the fit unless something else is asked for."""
    from ..io.tables import read_table
    from .hierarchy import trained_table

    if len(paths) != 1:
        raise usage("DATA", f"{len(paths)} files; wanted the one table that the hierarchy was fitted to")
    how = dict(trained_table(fitted))
    if names is not None:
        how["names"] = names
    if columns is not None:
        how["columns"] = [name.strip() for name in columns.split(",") if name.strip()]
    return read_table(paths[0], target=classes, missing=fitted.takes_missing(), **how)
