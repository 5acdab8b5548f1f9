"""``arbora info``, ``formats`` and ``convert``: what files hold, what can be read, and other files made of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .option_checks import check_there
from .options import Classes, FormatOption, Json, Paths, Quiet, ReadOptions, SkipBad
from .root import app
from .terminal import Teller, command, print_json, usage


@app.command(short_help="Describe the trees: sizes, depths, labels, classes.")
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
    """Describe the trees: sizes, depths, labels, shared subtrees, classes.

    \b
    Examples:
      arbora info corpus/
      arbora info "corpus/**/*.xml" --read text=kind
      arbora info trees.jsonl --top 50 --json
    """
    check_there(*paths)
    from . import reading, show

    with Teller(quiet).listening():
        inputs = reading.find(paths, format, read)
        forest = reading.open_trees(inputs, skip_bad, classes, quiet)
        facts = show.forest_facts(forest, top) | {"not_read": inputs.not_read}
    if as_json:
        print_json(facts)
    else:
        show.show_forest(facts)


@app.command(short_help="List the formats that can be read, and their options.")
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


@app.command(short_help="Read trees and write them to one file, or to a store.")
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
        int | None, typer.Option("--shard-nodes", min=1, help="Store: nodes per file. [default: 1048576]")
    ] = None,
    format: FormatOption = None,
    skip_bad: SkipBad = False,
    read: ReadOptions = None,
    classes: Classes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Read trees of any format and write them to one file, or to a store: a folder for more trees than fit in memory.

    A store is written while files are read. If the command is killed, the same command continues.

    \b
    Examples:
      arbora convert corpus/ corpus.store
      arbora convert corpus/ corpus.forest
      arbora convert "treebank/*.mrg" treebank.jsonl --read leaves=false
      arbora convert old/ new/ all.parquet --skip-bad
    """
    check_there(*paths)
    from ..evaluate.wording import counted
    from ..forest.store import SHARD_NODES
    from ..io import write_jsonl
    from . import files, reading

    if not paths:
        raise usage("OUT", f"missing; after {output}, name the file to write")
    with Teller(quiet).listening() as teller:
        inputs = reading.find(paths, format, read)
        suffixes = (".jsonl", ".jsonl.gz", ".forest", ".parquet", ".store")
        files.check_outputs([files.Output("OUT", output, suffixes)], [*inputs.files, files.table_of(classes)])
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
        counts = {"n_trees": forest.n_trees, "n_nodes": forest.n_nodes}
        print_json({"output": str(output), **counts, "not_read": inputs.not_read})
