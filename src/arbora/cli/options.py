"""Options that commands share: their choices, their defaults from the models, and what is checked about them."""

import ast
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .tell import usage


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
    store = "store"


class Kind(StrEnum):
    """Models that cluster."""

    mixture = "mixture"
    infinite = "infinite"
    single = "single"
    unions = "unions"


class Search(StrEnum):
    """Searches for unions."""

    full = "full"
    greedy = "greedy"


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


class Update(StrEnum):
    """Ways through the infinite mixture."""

    gibbs = "gibbs"
    em = "em"


class Init(StrEnum):
    """Starts of EM."""

    kmeans = "kmeans"
    random = "random"


class Encoding(StrEnum):
    """Encodings of trees."""

    sum = "sum"
    weighted = "weighted"
    log = "log"
    posterior = "posterior"
    score = "score"


def defaults(module: str = "mixture", name: str = "HiddenTreeMixture") -> dict[str, Any]:
    """Defaults of a model, from the signature in its source: to import it would take seconds."""
    source = (Path(__file__).parents[1] / "models" / f"{module}.py").read_text(encoding="utf-8")
    (model,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == name)
    (made,) = (node for node in ast.walk(model) if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    given = made.args
    positional = zip(given.args[-len(given.defaults) :], given.defaults, strict=True)
    every = [*positional, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return {name.arg: value.value for name, value in every if isinstance(value, ast.Constant)}


DEFAULTS = defaults()
INFINITE = defaults("infinite", "InfiniteHiddenTreeMixture")


def setting(*names: str, of: str, help: str, unless: str = "", **more: Any) -> Any:
    """An option that sets a parameter of the model, with the model's own default in the help."""
    mine, other = DEFAULTS.get(of, INFINITE.get(of)), INFINITE.get(of)
    default = unless or (mine if other in (None, mine) else f"{mine}, infinite: {other}")
    return typer.Option(*names, help=f"{help} [default: {default}]", show_default=False, **more)


Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH", help="Files, globs or directories of one format; see arbora formats.", show_default=False
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that --save wrote.")]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Format of the files, if their names do not tell; of folders, only these are read."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be read, and say how many.")]
ReadOptions = Annotated[
    list[str] | None,
    typer.Option("--read", metavar="KEY=VALUE", help="An option of the reader, as text=kind; see arbora formats."),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="folder|FILE.csv",
        help="Known classes to compare with: the folder each file is in, or a table with the columns name and class.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages but warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; -1 for all cores. Changes no result.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler, as tcp://host:8786, whose workers go through a .store. Changes no result.",
    ),
]
Memory = Annotated[
    int | None,
    typer.Option("--memory", metavar="MB", min=0, help="Of a .store, keep so much between passes. [default: 1024]"),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]


FOR_TREES = "is for trees; leave it out for a model of rows"


def refuse(options: dict[str, Any], why: str) -> None:
    """End with a word on the first of these options that was given."""
    for option, value in options.items():
        if value is not None:
            raise usage(option, why)


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; all others are the model's own."""
    return {key: value for key, value in options.items() if value is not None}


def check_jobs(jobs: int | None) -> int | None:
    """The number of threads, if it is one."""
    if jobs is not None and jobs < 1 and jobs != -1:
        raise usage("--jobs", f"{jobs}; wanted a number of threads, or -1 for all cores")
    return jobs


def command_line() -> str:
    """What was typed."""
    return shlex.join(["arbora", *sys.argv[1:]])


def load_model(path: Path) -> Any:
    """The model in a file."""
    import zipfile

    from .. import load
    from ..errors import ModelFileError

    if path.is_file() and not zipfile.is_zipfile(path):
        raise ModelFileError(f"{path}: this is not a model file; name one that an option --save wrote")
    return load(path)
