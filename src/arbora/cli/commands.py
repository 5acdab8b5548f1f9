"""The commands; what each needs is imported when it runs, so that help comes at once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import (
    DEFAULTS,
    FOR_TREES,
    Absent,
    Classes,
    Encoding,
    FormatOption,
    Init,
    Jobs,
    Json,
    Kind,
    Memory,
    ModelFile,
    Paths,
    Quiet,
    ReadOptions,
    Scheduler,
    Search,
    Seed,
    SkipBad,
    Structure,
    Update,
    check_jobs,
    command_line,
    given,
    load_model,
    refuse,
    setting,
)
from .tell import INTERRUPTED, Teller, command, print_json, usage

app = typer.Typer(
    help="Probabilistic clustering of labelled trees.",
    epilog="Exit codes: 0 done, 1 bad input, 2 wrong use, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


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
    classes: Classes = None,
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
    from . import reading, show

    with Teller(quiet).listening():
        forest = reading.open_trees(reading.find(paths, format, read), skip_bad, classes, quiet)
        facts = show.forest_facts(forest, top)
    if as_json:
        print_json(facts)
    else:
        show.show_forest(facts)


@app.command()
@command
def formats(as_json: Json = False) -> None:
    """List the formats: what becomes a tree, the suffixes of files, and the options for --read.

    \b
    Examples:
      arbora formats
      arbora formats --json
    """
    from . import reading, show

    facts = reading.formats_facts()
    if as_json:
        print_json(facts)
    else:
        show.show_formats(facts)


@app.command()
@command
def convert(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Files to read, as for cluster.", default_factory=list, show_default=False
        ),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: .jsonl, .jsonl.gz, .forest or .parquet; or .store.")
    ],
    shard_nodes: Annotated[
        int | None, typer.Option("--shard-nodes", min=1, help="Store: nodes a file. [default: 1048576]")
    ] = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    classes: Classes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Read trees of any format and write them to one file, or to a store: a folder for more trees than fit in memory.

    A store is written as files are read. The same command goes on where one that was killed stopped.

    \b
    Examples:
      arbora convert corpus/ corpus.store
      arbora convert corpus/ corpus.forest
      arbora convert "treebank/*.mrg" treebank.jsonl --read leaves=false
      arbora convert old/ new/ all.parquet --skip-bad
    """
    from ..io import write_jsonl
    from ..store import SHARD_NODES
    from ..summary import counted
    from . import files, reading

    if not paths:
        raise usage("OUT", f"missing; after {output}, name the file to write")
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        files.check_output("OUT", output, (".jsonl", ".jsonl.gz", ".forest", ".parquet", ".store"), inputs.files)
        if output.suffix == ".store":
            forest: Any = reading.write_store(inputs, output, skip_bad, classes, quiet, shard_nodes or SHARD_NODES)
        else:
            if shard_nodes is not None:
                raise usage("--shard-nodes", f"{output} is one file; leave this out, or write a .store")
            forest = reading.read_trees(inputs, skip_bad, classes, quiet)
            if output.name.lower().endswith((".jsonl", ".jsonl.gz")):
                write_jsonl(forest, output)
            else:
                forest.save(output)
        if not as_json:
            teller.say(f"{output}: {counted(forest.n_trees, 'tree')}, {counted(forest.n_nodes, 'node')}")
    if as_json:
        print_json({"output": str(output), "n_trees": forest.n_trees, "n_nodes": forest.n_nodes})


@app.command()
@command
def cluster(
    paths: Paths,
    kind: Annotated[
        Kind,
        typer.Option(
            "--model",
            help="A mixture; an infinite one, which learns how many groups; a single model's root states; unions: by "
            "structure, for any order of nodes.",
        ),
    ] = Kind.mixture,
    components: Annotated[
        int | None,
        setting("--components", "-k", of="n_components", unless="lowest AIC, 3 starts", min=1, help="Most clusters."),
    ] = None,
    states: Annotated[
        int | None, setting("--states", of="n_states", min=1, help="Hidden states of each component.")
    ] = None,
    absent: Annotated[
        Absent | None,
        setting(
            "--absent",
            of="absent",
            help="What a node without a child in some slot says: bottom, being absent is a state like others; slot, it "
            "also multiplies the probability; literal, as the equation is printed; renormalised, it says nothing.",
        ),
    ] = None,
    structure: Annotated[
        Structure | None,
        setting("--structure", of="structure", help="Whether shapes count: branching, or none for labels alone."),
    ] = None,
    prior: Annotated[
        float | None, setting("--prior", of="prior", min=1.0, help="Dirichlet prior; 1 is none, more is smoother.")
    ] = None,
    init: Annotated[
        Init | None, setting("--init", of="init", help="Where EM starts: clusters by k-means, or at random.")
    ] = None,
    n_init: Annotated[
        int | None,
        setting(
            "--n-init",
            of="n_init",
            unless=f"{DEFAULTS['n_init']}, or 3 without --components",
            min=1,
            help="Starts; the best is kept.",
        ),
    ] = None,
    max_iter: Annotated[int | None, setting("--max-iter", of="max_iter", min=1, help="Most iterations of EM.")] = None,
    tol: Annotated[
        float | None,
        setting("--tol", of="tol", min=0.0, help="EM ends when an iteration gains less than this, in nats a tree."),
    ] = None,
    n_slots: Annotated[
        int | None,
        setting(
            "--n-slots",
            of="n_slots",
            unless="all",
            min=1,
            help="Slots told apart (slot: a child's position among its siblings); later ones count as the last.",
        ),
    ] = None,
    update: Annotated[
        Update | None,
        setting("--update", of="update", help="Infinite: sample the posterior (gibbs), or the paper's search (em)."),
    ] = None,
    sweeps: Annotated[int | None, setting("--sweeps", of="n_iter", min=1, help="Infinite: sweeps of a chain.")] = None,
    chains: Annotated[
        int | None, setting("--chains", of="n_chains", min=1, help="Infinite: chains to compare.")
    ] = None,
    concentration: Annotated[
        float | None,
        setting("--concentration", of="concentration", min=1e-9, help="Infinite: more means more groups a priori."),
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="Unions: labels count, too; without this, structure alone.")
    ] = False,
    noise_cost: Annotated[
        float | None,
        typer.Option(
            "--noise-cost", help="Unions: nats for a node told with its tree alone; 2 if left out; inf: none."
        ),
    ] = None,
    search: Annotated[
        Search | None,
        typer.Option("--search", help="Unions: full, or greedy, which stops after merging; full if left out."),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="A file (infinite: a folder) to save the fit in as it runs; the same command then goes on from it.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Clusters: .csv, .json or .parquet.")] = None,
    save: Annotated[Path | None, typer.Option("--save", help="The fitted model: .arbora.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="One page on all that was found: .html.")] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="The picture alone: .png.")] = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    classes: Classes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster trees, and say what sets each cluster apart.

    Ctrl-C ends the fit: what its last finished iteration gave is written,
    and the exit code is 130.

    \b
    Examples:
      arbora cluster corpus/
      arbora cluster corpus/ -k 11 --states 4 --output clusters.csv --save model.arbora
      arbora cluster trees.jsonl --report report.html --seed 7 --jobs -1
      arbora cluster corpus/ --classes folder --read text=kind
      arbora cluster corpus/ --model infinite --chains 4 --jobs -1
      arbora cluster corpus.store -k 11 --scheduler tcp://host:8786
      arbora cluster trees.nwk --model single --states 6 --json
      arbora cluster trees.nwk --model unions --picture archetypes.png
    """
    from . import fitting, reading, results, unions

    unions_only = given(labels=labels or None, noise_cost=noise_cost, search=search and search.value)
    if kind is Kind.unions:
        unions.check_options(
            states=states, absent=absent, structure=structure, prior=prior, init=init, n_init=n_init, max_iter=max_iter,
            tol=tol, n_slots=n_slots,
        )  # fmt: skip
    else:
        unions.check_not_given(**unions_only)
    settings = given(
        n_states=states,
        absent=absent and absent.value,
        prior=prior,
        init=init and init.value,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        n_slots=n_slots,
        update=update and update.value,
        n_iter=sweeps,
        n_chains=chains,
        concentration=concentration,
        checkpoint=None if checkpoint is None else str(checkpoint),
        n_jobs=check_jobs(jobs),
        random_state=seed,
    )
    if structure is not None:
        settings["structure"] = None if structure is Structure.none else structure.value
    by_em = {"--components": components, "--init": init, "--n-init": n_init, "--max-iter": max_iter, "--tol": tol}
    by_sweep = {"--update": update, "--sweeps": sweeps, "--chains": chains, "--concentration": concentration}
    if kind is Kind.infinite:
        refuse(by_em, "the infinite mixture has none; leave this out, or use --model mixture")
    else:
        refuse(by_sweep, "only the infinite mixture has one; leave this out, or use --model infinite")
    if kind is Kind.single:
        only = {option: by_em[option] for option in ("--components", "--init")}
        refuse(only, "a single model has none; leave this out, or use --model mixture")
    if checkpoint is not None and kind is Kind.mixture and components is None:
        raise usage("--checkpoint", "the search for the number of clusters has none; give --components")
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        targets = results.Outputs(output, save, report, picture)
        targets.check(inputs.files)
        if kind is Kind.unions:
            in_memory = {"--memory": memory, "--scheduler": scheduler, "--checkpoint": checkpoint}
            refuse(in_memory, "unions are found in memory and in one go; leave this out")
            forest = reading.read_trees(inputs, skip_bad, classes, quiet)
            found = unions.fit(forest, components, {**unions_only, **given(n_jobs=jobs)}, teller)
            found.model.provenance_["reading"] = inputs.remembered()
            unions.tell(forest, found, targets, command_line(), as_json, teller)
            if found.interrupted:
                raise typer.Exit(INTERRUPTED)
            return
        forest = reading.open_trees(inputs, skip_bad, classes, quiet, memory)
        with reading.workers_of(scheduler, forest):
            if kind is Kind.single:
                fitted = fitting.fit_single(forest, settings, teller)
            elif kind is Kind.infinite:
                fitted = fitting.fit_infinite(forest, settings, teller)
            else:
                fitted = fitting.fit_mixture(forest, components, settings, teller)
        fitted.model.provenance_["reading"] = inputs.remembered()
        results.tell(forest, fitted, targets, command_line(), as_json, teller)
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
    scheduler: Scheduler = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    classes: Classes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Assign new trees to the clusters of a model, or new rows of a table to the groups of arbora hierarchy.

    A row a tree: cluster, its probability, log-likelihood, whether any component explains the tree, and how many of
    its nodes have a label never seen in training. Rows go to stdout, or to --output and only their counts to stdout.
    Files are read as those of the training were, unless --format or --read say otherwise. A row of a table has its
    group on every level, -1 for a group never seen; there --classes is a column.

    \b
    Examples:
      arbora predict model.arbora new/ --output new.csv
      arbora predict hierarchy.arbora rows.csv
      arbora predict model.arbora one.xml
      arbora predict model.arbora new.jsonl --json
    """
    from . import files, reading, show
    from .hierarchy import predict_rows

    with Teller(quiet).listening() as teller:
        loaded = load_model(model)
        if hasattr(loaded, "level_labels_"):
            of_trees = {"--jobs": jobs, "--format": format, "--skip-bad": skip_bad or None, "--read": read}
            refuse({**of_trees, "--scheduler": scheduler}, FOR_TREES)
            predict_rows(loaded, model, paths, classes, output, as_json, teller)
            return
        fitted = _check_clusters(loaded, model, jobs)
        inputs = reading.find_like_training(fitted, paths, format, read, teller)
        files.check_output("--output", output, files.TABLES, [*inputs.files, model])
        forest = reading.open_trees(inputs, skip_bad, classes, quiet)
        with reading.workers_of(scheduler, forest), teller.working("predicting"):
            columns = files.assignments(fitted, forest)
        facts = show.assignment_facts(columns, forest.n_nodes)
        warning = show.assignment_warning(facts)
        if warning is not None:
            teller.warn(warning)
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
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn trees into vectors for other learners: posterior mass by component, slot and state.

    MODEL may be a classifier; then the codes are those that it reads. scipy.sparse.load_npz reads the .npz; .csv and
    .parquet also hold the names of trees and columns. Files are read as those of the training were, unless --format or
    --read say otherwise.

    \b
    Examples:
      arbora encode model.arbora corpus/ --output codes.npz
      arbora encode model.arbora trees.jsonl --output codes.csv
      arbora encode model.arbora trees.jsonl --output codes.npz --encoding score
    """
    from scipy import sparse

    from ..summary import counted, tree_names
    from . import files, reading

    with Teller(quiet).listening() as teller:
        fitted, trained = _load_encoder(model, jobs)
        if encoding is not None:
            if "encoding" not in fitted.get_params():
                raise usage("--encoding", f"a {type(fitted).__name__} has one encoding only; leave this out")
            fitted.set_params(encoding=encoding.value)
        inputs = reading.find_like_training(trained, paths, format, read, teller)
        files.check_output("--output", output, (".npz", ".csv", ".parquet"), [*inputs.files, model])
        forest = reading.open_trees(inputs, skip_bad, None, quiet)
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


@app.command()
@command
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results; made if need be.")] = Path(
        "arbora-demo"
    ),
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Also write the documents here, as XML in folders by kind.")
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster 300 documents that come with Arbora, and compare with their known kinds.

    Leaves report.html, clusters.csv, clusters.png and model.arbora in the folder.

    \b
    Examples:
      arbora demo
      arbora demo --output demo-results --seed 1
      arbora demo --documents corpus
    """
    from ..datasets import load_demo
    from ..datasets.documents import write_documents
    from ..errors import ReadError
    from . import files, fitting, results

    with Teller(quiet).listening() as teller:
        if output.exists() and not output.is_dir():
            raise ReadError(f"{output}: this is a file; name a folder with --output")
        output.mkdir(parents=True, exist_ok=True)
        picture = output / "clusters.png" if files.has_package("matplotlib") else None
        targets = results.Outputs(output / "clusters.csv", output / "model.arbora", output / "report.html", picture)
        forest = load_demo()
        if documents is not None:
            teller.say(f"{documents}: {write_documents(forest, documents)} documents")
        fitted = fitting.fit_mixture(forest, None, {"random_state": seed}, teller)
        results.tell(forest, fitted, targets, command_line(), as_json, teller)
    if fitted.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_clusters(model: Any, path: Path, jobs: int | None) -> Any:
    """The model, if it clusters trees."""
    from ..errors import ModelFileError

    if hasattr(model, "classes_"):
        raise ModelFileError(f"{path}: this is a classifier; arbora classify gives trees their classes by it")
    if not (hasattr(model, "vocabulary_") and hasattr(model, "predict_proba")):
        raise ModelFileError(f"{path}: a {type(model).__name__} gives trees no clusters here; load it from Python")
    return model if check_jobs(jobs) is None else model.set_params(n_jobs=jobs)


def _load_encoder(path: Path, jobs: int | None) -> tuple[Any, Any]:
    """A model that encodes, and the one that knows how its trees were read: itself, or the classifier around it."""
    from ..errors import ModelFileError

    model = load_model(path)
    encoder = getattr(model, "encoder_", model)
    if not (hasattr(encoder, "vocabulary_") and hasattr(encoder, "get_feature_names_out")):
        raise ModelFileError(f"{path}: this model holds no mixture that encodes trees; name one that does")
    return (encoder if check_jobs(jobs) is None else encoder.set_params(n_jobs=jobs)), model
