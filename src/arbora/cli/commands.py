"""The commands; what each needs is imported when it runs, so that help comes at once."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .tell import INTERRUPTED, Teller, command, print_json, usage

app = typer.Typer(
    help="Probabilistic clustering of labelled trees.",
    epilog="Exit codes: 0 done, 1 bad input, 2 wrong use, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class Format(StrEnum):
    """Formats of trees."""

    xml = "xml"
    html = "html"
    json = "json"
    jsonl = "jsonl"
    elastic = "elastic"
    newick = "newick"
    brackets = "brackets"
    conllu = "conllu"
    python = "python"
    forest = "forest"
    parquet = "parquet"


class Kind(StrEnum):
    """Models that cluster."""

    mixture = "mixture"
    single = "single"


class Absent(StrEnum):
    """Readings of absent children."""

    bottom = "bottom"
    slot = "slot"
    literal = "literal"
    renormalised = "renormalised"


class Structure(StrEnum):
    """Models of shape."""

    branching = "branching"
    none = "none"


class Init(StrEnum):
    """Starts of EM."""

    kmeans = "kmeans"
    random = "random"


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Files, globs or directories of one format.", show_default=False)
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that cluster --save wrote.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Format of the files, if their names do not tell.")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be read, and say how many.")]
ReadOptions = Annotated[
    list[str] | None, typer.Option("--read", metavar="KEY=VALUE", help="An option of the reader, such as text=kind.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages but warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; -1 for all cores. Changes no result.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"arbora {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
@command
def info(
    paths: Paths,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the most frequent labels to list.")] = 10,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what the trees are like: sizes, depths, labels, how much they share, classes.

    \b
    Examples:
      arbora info corpus/
      arbora info "corpus/**/*.xml" --read text=kind
      arbora info trees.jsonl --top 50 --json
    """
    from . import files, show

    with Teller(quiet).listening():
        forest = files.read_trees(files.find(paths, format), format, skip_bad, read, quiet)
        facts = show.forest_facts(forest, top)
    if as_json:
        print_json(facts)
    else:
        show.show_forest(facts)


@app.command()
@command
def convert(
    paths: Paths,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: .jsonl, .jsonl.gz, .forest or .parquet.")
    ],
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Read trees of any format and write them to one file.

    \b
    Examples:
      arbora convert corpus/ corpus.forest
      arbora convert "treebank/*.mrg" treebank.jsonl --read leaves=false
      arbora convert old/ new/ all.parquet --skip-bad
    """
    from ..io import write_jsonl
    from . import files

    with Teller(quiet).listening() as teller:
        inputs = files.find(paths, format)
        files.check_output("OUT", output, (".jsonl", ".jsonl.gz", ".forest", ".parquet"), inputs)
        forest = files.read_trees(inputs, format, skip_bad, read, quiet)
        if output.name.lower().endswith((".jsonl", ".jsonl.gz")):
            write_jsonl(forest, output)
        else:
            forest.save(output)
        if not as_json:
            teller.say(f"{output}: {forest.n_trees:,} trees, {forest.n_nodes:,} nodes")
    if as_json:
        print_json({"output": str(output), "n_trees": forest.n_trees, "n_nodes": forest.n_nodes})


@app.command()
@command
def cluster(
    paths: Paths,
    kind: Annotated[
        Kind, typer.Option("--model", help="A mixture, or a single model grouped by root state.")
    ] = Kind.mixture,
    components: Annotated[
        int | None,
        typer.Option("--components", "-k", min=1, help="Most clusters. If left out: lowest AIC, 3 starts."),
    ] = None,
    states: Annotated[int | None, typer.Option("--states", min=1, help="Hidden states of each component.")] = None,
    absent: Annotated[Absent | None, typer.Option("--absent", help="What an absent child means.")] = None,
    structure: Annotated[Structure | None, typer.Option("--structure", help="Whether shapes count.")] = None,
    prior: Annotated[float | None, typer.Option("--prior", min=1.0, help="Dirichlet prior; 1 is none.")] = None,
    init: Annotated[Init | None, typer.Option("--init", help="Where EM starts.")] = None,
    n_init: Annotated[int | None, typer.Option("--n-init", min=1, help="Starts; the best is kept.")] = None,
    max_iter: Annotated[int | None, typer.Option("--max-iter", min=1, help="Most iterations of EM.")] = None,
    tol: Annotated[
        float | None, typer.Option("--tol", min=0.0, help="EM ends at a gain below, in nats a tree.")
    ] = None,
    n_slots: Annotated[
        int | None, typer.Option("--n-slots", min=1, help="Slots told apart; others are pooled.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Clusters: .csv, .json or .parquet.")] = None,
    save: Annotated[Path | None, typer.Option("--save", help="The fitted model: .arbora.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="A page with tables and picture: .html.")] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="The picture alone: .png.")] = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster trees, and say what sets each cluster apart.

    Settings left out are those of the model. Ctrl-C ends the fit: what its last finished iteration gave is written,
    and the exit code is 130.

    \b
    Examples:
      arbora cluster corpus/
      arbora cluster corpus/ -k 11 --states 4 --output clusters.csv --save model.arbora
      arbora cluster trees.jsonl --report report.html --seed 7 --jobs -1
      arbora cluster trees.nwk --model single --states 6 --json
    """
    from . import files, fitting, results

    settings = _settings(
        n_states=states,
        absent=absent and absent.value,
        prior=prior,
        init=init and init.value,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        n_slots=n_slots,
        n_jobs=_check_jobs(jobs),
        random_state=seed,
    )
    if structure is not None:
        settings["structure"] = None if structure is Structure.none else structure.value
    if kind is Kind.single:
        for option, value in (("--components", components), ("--init", init)):
            if value is not None:
                raise usage(option, "a single model has none; leave this out, or use --model mixture")
    with Teller(quiet).listening() as teller:
        inputs = files.find(paths, format)
        targets = results.Outputs(output, save, report, picture)
        targets.check(inputs)
        forest = files.read_trees(inputs, format, skip_bad, read, quiet)
        if kind is Kind.single:
            fitted = fitting.fit_single(forest, settings, teller)
        else:
            fitted = fitting.fit_mixture(forest, components, settings, teller)
        results.tell(forest, fitted, targets, _command_line(), as_json, teller)
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command()
@command
def predict(
    model: ModelFile,
    paths: Paths,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Rows to .csv, .json or .parquet instead of stdout.")
    ] = None,
    jobs: Jobs = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Assign new trees to the clusters of a model.

    A row a tree: cluster, its probability, log-likelihood, whether any component explains the tree, and how many of
    its labels were never seen in training. Rows go to stdout, or to --output and only their counts to stdout.

    \b
    Examples:
      arbora predict model.arbora new/ --output new.csv
      arbora predict model.arbora one.xml
      arbora predict model.arbora new.jsonl --json
    """
    from . import files, show

    with Teller(quiet).listening() as teller:
        inputs = files.find(paths, format)
        files.check_output("--output", output, files.TABLES, [*inputs, model])
        fitted = _load(model, jobs)
        forest = files.read_trees(inputs, format, skip_bad, read, quiet)
        with teller.working("predicting"):
            columns = files.assignments(fitted, forest)
        facts = show.assignment_facts(columns)
        if output is not None:
            files.write_table(output, columns)
            teller.say(f"wrote {output}")
    if output is None:
        if as_json:
            print_json(files.records(columns))
        else:
            typer.echo(files.csv_text(columns), nl=False)
        for line in show.assignment_lines(facts):
            teller.say(line)
    elif as_json:
        print_json(facts)
    else:
        show.show_assignments(facts)


@app.command()
@command
def encode(
    model: ModelFile,
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="Codes: .npz (sparse), .csv or .parquet.")],
    jobs: Jobs = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn trees into vectors for other learners: posterior mass by component, slot and state.

    scipy.sparse.load_npz reads the .npz; .csv and .parquet also hold the names of trees and columns.

    \b
    Examples:
      arbora encode model.arbora corpus/ --output codes.npz
      arbora encode model.arbora trees.jsonl --output codes.csv
    """
    from ..summary import tree_names
    from . import files

    with Teller(quiet).listening() as teller:
        inputs = files.find(paths, format)
        files.check_output("--output", output, (".npz", ".csv", ".parquet"), [*inputs, model])
        fitted = _load(model, jobs)
        forest = files.read_trees(inputs, format, skip_bad, read, quiet)
        with teller.working("encoding"):
            codes = fitted.set_params(sparse_output=True).transform(forest)
        files.write_encoding(output, codes, tree_names(forest), fitted.get_feature_names_out().tolist())
        if not as_json:
            teller.say(f"{output}: {codes.shape[0]:,} trees, {codes.shape[1]:,} columns, {codes.nnz:,} values not zero")
    if as_json:
        print_json(
            {"output": str(output), "n_trees": codes.shape[0], "n_columns": codes.shape[1], "n_nonzero": codes.nnz}
        )


@app.command()
@command
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results; made if need be.")] = Path(
        "arbora-demo"
    ),
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster 300 documents that come with Arbora, and compare with their known kinds.

    Leaves report.html, clusters.csv, clusters.png and model.arbora in the folder.

    \b
    Examples:
      arbora demo
      arbora demo --output /tmp/demo --seed 1
    """
    from ..datasets import load_demo
    from ..errors import ReadError
    from . import files, fitting, results

    with Teller(quiet).listening() as teller:
        if output.exists() and not output.is_dir():
            raise ReadError(f"{output}: this is a file; name a folder with --output")
        output.mkdir(parents=True, exist_ok=True)
        picture = output / "clusters.png" if files.has_package("matplotlib") else None
        targets = results.Outputs(output / "clusters.csv", output / "model.arbora", output / "report.html", picture)
        forest = load_demo()
        fitted = fitting.fit_mixture(forest, None, {"random_state": seed, "max_iter": 1000}, teller)
        results.tell(forest, fitted, targets, _command_line(), as_json, teller)
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)


def _settings(**given: Any) -> dict[str, Any]:
    """The settings that were given; all others are the model's own."""
    return {key: value for key, value in given.items() if value is not None}


def _check_jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1 and jobs != -1:
        raise usage("--jobs", f"{jobs}; wanted a number of threads, or -1 for all cores")
    return jobs


def _load(path: Path, jobs: int | None) -> Any:
    from .. import load

    model = load(path)
    if _check_jobs(jobs) is not None:
        model.set_params(n_jobs=jobs)
    return model


def _command_line() -> str:
    return shlex.join(["arbora", *sys.argv[1:]])
