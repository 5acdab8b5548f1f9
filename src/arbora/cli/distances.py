"""``arbora distances``: edit distances between all trees, as a matrix."""

from pathlib import Path
from typing import Annotated

import typer

from .option_checks import check_jobs
from .options import FormatOption, Jobs, Json, Paths, Quiet, ReadOptions, SkipBad
from .root import app
from .terminal import INTERRUPTED, Teller, command, fail, print_json

SUFFIXES = (".npz", ".csv", ".parquet")


@app.command(short_help="Compute the edit distances between all trees.")
@command
def distances(
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="The matrix: .npz, .csv or .parquet.")],
    unordered: Annotated[bool, typer.Option("--unordered", help="Ignore the order of siblings.")] = False,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Ignore labels: shapes alone.")] = False,
    jobs: Jobs = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compute the edit distances between all trees: how many nodes to delete, insert and rename.

    The .npz holds the arrays distance and name; .csv and .parquet have one row per tree, with its name in the first
    column. Ctrl-C saves the finished part beside the output, under its name and .part, and the exit code is 130; the
    same command continues from there.

    \b
    Examples:
      arbora distances corpus/ --output distances.npz
      arbora distances trees.nwk --unordered --no-labels --output distances.csv --jobs -1
    """
    from ..evaluate.summary import tree_names
    from ..evaluate.wording import counted
    from ..models.edit.distance import edit_distances
    from . import files, reading

    check_jobs(jobs)
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        files.check_outputs([files.Output("--output", output, SUFFIXES)], inputs.files)
        part = output.with_name(output.name + ".part")
        files.check_outputs([files.Output("--output", part)], inputs.files)
        forest = reading.read_trees(inputs, skip_bad, None, quiet)
        if part.exists():
            teller.say(f"going on from {part}")
        try:
            matrix = edit_distances(
                forest, ordered=not unordered, labels=not no_labels, n_jobs=jobs, progress=False if quiet else None,
                checkpoint=part, keep_checkpoint=True,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise fail(
                f"interrupted; {part} has the finished part, and the same command continues from it", INTERRUPTED
            ) from None
        files.write_matrix(output, "distance", matrix, tree_names(forest))
        part.unlink(missing_ok=True)  # not before the output is there
        n = forest.n_trees
        mean = float(matrix.sum()) / max(1, n * (n - 1))  # of pairs; a tree is not one with itself
        if not as_json:
            teller.say(f"{output}: {counted(forest.n_trees, 'tree')}, mean distance {mean:.1f}")
    if as_json:
        print_json({"output": str(output), "n_trees": forest.n_trees, "mean_distance": mean})
