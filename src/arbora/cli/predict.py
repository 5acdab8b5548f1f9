"""``arbora predict`` and ``arbora encode``: what a saved model says of new trees or rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .class_options import Encoding
from .option_checks import FOR_TREES, check_jobs, check_there, load_model, refuse
from .options import Classes, FormatOption, Jobs, Json, Memory, ModelFile, Paths, Quiet, ReadOptions, Scheduler, SkipBad
from .root import app
from .terminal import Teller, command, print_json, usage


@app.command(short_help="Assign new trees, or new rows, to groups of a model.")
@command
def predict(
    model: ModelFile,
    paths: Paths,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Rows to .csv, .json or .parquet instead of stdout.")
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option("--nodes", help="A row per node to .csv, .json or .parquet: how surprising it is, in nats."),
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option(
            "--new", help="Trees with patterns that the model does not have, to .jsonl or .forest: cluster them next."
        ),
    ] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    memory: Memory = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    classes: Classes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Assign new trees to the clusters of a model, or new rows of a table to the groups of arbora hierarchy.

    One row per tree: cluster, its probability, log-likelihood, whether any component explains the tree, and how many of
    its nodes have a label never seen in training. Rows go to stdout, or to --output and only their counts to stdout.
    Files are read as those of the training were, unless --format or --read say otherwise. A row of a table has its
    group on every level, -1 for a group never seen; there --classes is a column. --nodes has tree, node, label, path
    of labels from the root, and surprise. Rare kinds join the group that they resemble most; --new leaves the groups
    of the model out of the way, so that arbora cluster finds kinds among what is new.

    \b
    Examples:
      arbora predict model.arbora new/ --output new.csv
      arbora predict hierarchy.arbora rows.csv
      arbora predict model.arbora one.xml
      arbora predict model.arbora new.jsonl --json
      arbora predict model.arbora new/ --output new.csv --nodes nodes.csv
      arbora predict model.arbora new/ --output new.csv --new odd.jsonl
    """
    check_there(model, *paths)
    from ..models.patterns.reader import PatternReader
    from . import files, reading, show
    from .hierarchy import predict_rows
    from .nodes import node_columns

    with Teller(quiet).listening() as teller:
        loaded = load_model(model)
        if "levels" in loaded.page_parts():
            of_trees = {"--jobs": jobs, "--format": format, "--skip-bad": skip_bad or None, "--read": read}
            refuse(
                {**of_trees, "--nodes": nodes, "--new": new, "--scheduler": scheduler, "--memory": memory}, FOR_TREES
            )
            predict_rows(loaded, model, paths, classes, output, as_json, teller)
            return
        fitted = _check_clusters(loaded, model, jobs)
        inputs = reading.find_like_training(fitted, paths, format, read, teller)
        read_too = [*inputs.files, model, files.table_of(classes)]
        tables = [files.Output("--output", output, files.TABLES), files.Output("--nodes", nodes, files.TABLES)]
        files.check_outputs([*tables, files.Output("--new", new, (".jsonl", ".forest"))], read_too)
        if nodes is not None and not hasattr(fitted, "node_surprise"):
            raise usage("--nodes", f"a {type(fitted).__name__} gives nodes no surprise; leave this out")
        if new is not None and not isinstance(fitted, PatternReader):
            raise usage("--new", f"a {type(fitted).__name__} has no patterns; leave this out, or fit --model patterns")
        forest = reading.open_trees(inputs, skip_bad, classes, quiet, memory)
        with reading.workers_of(scheduler, forest), teller.working("predicting"):
            columns = files.assignments(fitted, forest)
        facts = show.assignment_facts(columns, forest.n_nodes)
        warning = show.assignment_warning(facts)
        if warning is not None:
            teller.warn(warning)
        written = [] if output is None else [(output, columns)]
        if nodes is not None:
            written.append((nodes, node_columns(fitted, forest)))
        for path, rows in written:
            files.write_table(path, rows)
            teller.say(f"wrote {path}")
        if new is not None:
            _write_new(fitted, forest, new, teller)
    show.show_rows(columns, show.NewTrees(facts, "cluster", show.assignment_lines(facts)), output, as_json, teller)


def _write_new(model: Any, forest: Any, path: Path, teller: Teller) -> None:
    """Write the trees that have a pattern without a column in the model."""
    import numpy as np

    from ..evaluate.wording import counted
    from ..io import write_jsonl

    rows = np.flatnonzero(model.novelty(forest).unseen_share > 0)
    if not len(rows):
        teller.say(f"no tree has a pattern that the model does not have; {path} was not written")
        return
    found = forest.take(rows)
    if path.name.lower().endswith(".jsonl"):
        write_jsonl(found, path)
    else:
        found.save(path)
    teller.say(f"wrote {path}: {counted(len(rows), 'tree')} with patterns that the model does not have")


@app.command(short_help="Turn trees into vectors for other learners.")
@command
def encode(
    model: ModelFile,
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="Codes: .npz (sparse), .csv or .parquet.")],
    encoding: Annotated[
        Encoding | None,
        typer.Option(
            "--encoding",
            help="What the codes hold: sum, posterior mass by component, slot and state; weighted, that times the "
            "component's probability; log, its logarithm; posterior, the sums and the components' "
            "probabilities; score, logarithms by slot and by label, and the components'. [default: the model's]",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    memory: Memory = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn trees into vectors for other learners: posterior mass by component, slot and state, or patterns.

    MODEL may be a classifier; then the codes are those that it reads, by default patterns. scipy.sparse.load_npz reads
    the .npz; .csv and .parquet also hold the names of trees and columns. Files are read as those of the training were,
    unless --format or --read say otherwise.

    \b
    Examples:
      arbora encode model.arbora corpus/ --output codes.npz
      arbora encode model.arbora trees.jsonl --output codes.csv
      arbora encode model.arbora trees.jsonl --output codes.npz --encoding score
    """
    check_there(model, *paths)
    from scipy import sparse

    from ..evaluate.summary import tree_names
    from ..evaluate.wording import counted
    from . import files, reading

    with Teller(quiet).listening() as teller:
        fitted, trained = _load_encoder(model, jobs)
        if encoding is not None:
            if "encoding" not in fitted.get_params():
                raise usage("--encoding", f"a {type(fitted).__name__} has one encoding only; leave this out")
            fitted.set_params(encoding=encoding.value)
        inputs = reading.find_like_training(trained, paths, format, read, teller)
        files.check_outputs([files.Output("--output", output, (".npz", ".csv", ".parquet"))], [*inputs.files, model])
        forest = reading.open_trees(inputs, skip_bad, None, quiet, memory)
        with teller.working("encoding"):
            if "sparse_output" in fitted.get_params():
                fitted.set_params(sparse_output=True)
            codes = sparse.csr_array(fitted.transform(forest))
        files.write_encoding(output, codes, tree_names(forest), fitted.get_feature_names_out().tolist())
        if not as_json:
            shape = f"{counted(codes.shape[0], 'tree')}, {counted(codes.shape[1], 'column')}"
            teller.say(f"{output}: {shape}, {codes.nnz:,} values not zero")
    if as_json:
        print_json(
            {"output": str(output), "n_trees": codes.shape[0], "n_columns": codes.shape[1], "n_nonzero": codes.nnz}
        )


def _check_clusters(model: Any, path: Path, jobs: int | None) -> Any:
    """The model, if it clusters trees."""
    from ..errors import ModelFileError

    if "classes" in model.page_parts():
        raise ModelFileError(f"{path}: this is a classifier; arbora classify gives trees their classes by it")
    if not {"clusters", "probabilities"} <= model.page_parts():
        raise ModelFileError(f"{path}: a {type(model).__name__} gives trees no clusters here; load it from Python")
    return model if check_jobs(jobs) is None else model.set_params(n_jobs=jobs)


def _load_encoder(path: Path, jobs: int | None) -> tuple[Any, Any]:
    """A model that encodes, and the one that holds how its trees were read: itself, or the classifier around it."""
    from ..errors import ModelFileError

    model = load_model(path)
    encoder = model.tree_encoder()
    if encoder is None:
        raise ModelFileError(f"{path}: this model holds no mixture that encodes trees; name one that does")
    if check_jobs(jobs) is not None and "n_jobs" in encoder.get_params():
        encoder.set_params(n_jobs=jobs)
    return encoder, model
