"""No command writes over a file that it reads, or twice to one file: every command, every option that names a file."""

import inspect
import itertools
import os
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest
from typer.models import ArgumentInfo
from typer.testing import CliRunner

from arbora.cli import app
from arbora.datasets import make_documents
from arbora.io import write_jsonl
from arbora.models import DPGaussianMixture, GenerativeTreeClassifier, HiddenTree, HiddenTreeMixture


class Parameter(NamedTuple):
    """One that takes text or a path."""

    name: str
    option: str | None  # None: an argument
    required: bool


def _parts(kind: Any) -> set[Any]:
    """The types that a type is made of."""
    return {kind}.union(*map(_parts, get_args(kind)))


def _parameters(function: Any) -> list[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name, given in inspect.signature(function).parameters.items():
        kind, told = get_args(hints[name])[:2]
        if _parts(kind) & {str, Path}:
            is_argument = isinstance(told, ArgumentInfo)
            needed = given.default is inspect.Parameter.empty and told.default_factory is None
            found.append(Parameter(name, None if is_argument else told.default, needed))
    return found


COMMANDS = {c.name or str(c.callback and c.callback.__name__): _parameters(c.callback) for c in app.registered_commands}

# What each parameter that takes text or a path is; a new one must be put here, and into `check_outputs` if it writes.
READS = {"paths", "model", "table", "classes", "known", "constraints", "steer", "held_out"}
WRITES = {
    "output": ".csv",
    "save": ".arbora",
    "report": ".html",
    "picture": ".png",
    "checkpoint": ".fit",
    "newick": ".nwk",
    "tree": ".json",
    "nodes": ".csv",
    "new": ".jsonl",
    "template": ".csv",
}
NEITHER = {"column", "read", "scheduler", "names", "columns", "hidden", "content"}
NEITHER |= {"documents", "log"}  # folders: of new files, of a watcher
SUFFIX = {("convert", "output"): ".jsonl", ("report", "output"): ".html", ("describe", "output"): ".json"}
COLUMN = {("hierarchy", "classes")}  # names a column, not a file
FOLDERS = {("demo", "output")}
OF_MODELS = {"predict": "mixture", "encode": "mixture", "report": "mixture", "classify": "classifier"}
OF_MODELS |= {"label-nodes": "mixture", "describe": "mixture", "watch": "mixture"}
# A checkpoint that is one file belongs to hidden trees, and this input belongs to patterns.
APART = {("cluster", "checkpoint"): {"steer"}}


def parameters(command: str, kind: Any) -> list[str]:
    names = [p.name for p in COMMANDS[command]]
    return [n for n in names if n in kind and (command, n) not in COLUMN | FOLDERS]


def test_every_parameter_that_may_name_a_file_is_known_here() -> None:
    for command in COMMANDS:
        names = {p.name for p in COMMANDS[command]}
        assert names <= READS | set(WRITES) | NEITHER, f"{command}: what are {names - READS - set(WRITES) - NEITHER}?"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file of each sort that commands read."""
    folder = tmp_path_factory.mktemp("read")
    trees = make_documents(4, random_state=0)
    paths = {name: folder / f"{name}.arbora" for name in ("mixture", "classifier", "groups")}
    paths |= {"paths": folder / "trees.jsonl", "table": folder / "table.csv", "classes": folder / "classes.csv"}
    paths["known"] = folder / "known.csv"
    paths["known"].write_text("tree,node,output\n0,0,x\n")
    paths["constraints"] = folder / "constraints.json"
    paths["constraints"].write_text('{"must_link": []}')
    paths["steer"] = folder / "steer.json"
    paths["steer"].write_text('{"moves": []}')
    paths["held_out"] = folder / "held-out.jsonl"
    write_jsonl(make_documents(2, random_state=1), paths["held_out"])
    write_jsonl(trees, paths["paths"])
    rows = [[float(k % 3), float(k // 3)] for k in range(9)]
    paths["table"].write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    paths["classes"].write_text("name,class\na,b\n")
    HiddenTreeMixture(2, 2, max_iter=1, tol=0, random_state=0).fit(trees).save(paths["mixture"])
    GenerativeTreeClassifier(HiddenTree(2, max_iter=1, tol=0), random_state=0).fit(trees).save(paths["classifier"])
    DPGaussianMixture(n_iter=4, n_chains=1, random_state=0).fit(rows).save(paths["groups"])
    return paths


def words(command: str, given: dict[str, Path]) -> list[str]:
    """A command line with these files, in the order that the command takes them."""
    line = [command]
    for name, option, _ in COMMANDS[command]:
        if name in given:
            line += [*([option] if option else []), str(given[name])]
    return line


def reads_of(command: str, files: dict[str, Path], *outputs: str) -> dict[str, Path]:
    """The inputs that a command can take beside these outputs."""
    kind = OF_MODELS.get(command)
    apart = set().union(*(APART.get((command, output), set()) for output in outputs))
    names = [name for name in parameters(command, READS) if name not in apart]
    return {name: files[str(kind)] if name == "model" else files[name] for name in names}


def required(command: str, folder: Path) -> dict[str, Path]:
    """Outputs that must be named."""
    needed = [p.name for p in COMMANDS[command] if p.required and p.name in WRITES]
    return {name: folder / f"needed{suffix_of(command, name)}" for name in needed}


def suffix_of(command: str, name: str) -> str:
    return SUFFIX.get((command, name), WRITES[name])


def extras(command: str, name: str) -> list[str]:
    return ["--model", "mixture", "-k", "2"] if (command, name) == ("cluster", "checkpoint") else []


def refused(line: list[str], why: str) -> None:
    done = CliRunner().invoke(app, line)
    said = " ".join(done.stderr.replace("│", " ").split())
    assert done.exit_code == 2, (line, done.exit_code, done.stdout, said, done.exception)
    assert why in said, (line, said)
    assert done.stdout == ""


PAIRS = [(c, w, r) for c in COMMANDS for w in parameters(c, WRITES) for r in parameters(c, READS)]
PAIRS = [(c, w, r) for c, w, r in PAIRS if r not in APART.get((c, w), set())]


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize(("command", "writes", "reads"), PAIRS)
def test_no_output_is_a_file_that_the_command_reads(
    command: str, writes: str, reads: str, link: str, files: dict[str, Path], tmp_path: Path
) -> None:
    given = reads_of(command, files, writes)
    target = tmp_path / f"link{suffix_of(command, writes)}"
    getattr(target, link)(given[reads])
    before = given[reads].read_bytes()
    line = words(command, {**given, **required(command, tmp_path), writes: target})
    refused(line + extras(command, writes), "this is an input, and would be overwritten")
    assert given[reads].read_bytes() == before
    assert not [name for name in os.listdir(tmp_path) if name != target.name]


@pytest.mark.parametrize(
    ("command", "writes", "reads"),
    [("cluster", "output", "classes"), ("predict", "output", "classes"), ("train-classifier", "output", "classes"),
     ("classify", "output", "classes"), ("convert", "output", "paths"), ("hierarchy", "output", "table")],
)  # fmt: skip
def test_no_output_is_by_its_own_name_what_the_command_reads(
    command: str, writes: str, reads: str, files: dict[str, Path]
) -> None:
    given = reads_of(command, files)
    before = given[reads].read_bytes()
    refused(words(command, {**given, writes: given[reads]}), "this is an input, and would be overwritten")
    assert given[reads].read_bytes() == before


TWICE = [(c, *pair) for c in COMMANDS for pair in itertools.combinations(parameters(c, WRITES), 2)]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("command", "one", "two"), TWICE)
def test_no_two_outputs_are_one_file(
    command: str, one: str, two: str, is_there: bool, files: dict[str, Path], tmp_path: Path
) -> None:
    given = {name: path for name, path in reads_of(command, files, one, two).items() if name != "classes"}
    first = tmp_path / f"first{suffix_of(command, one)}"
    second = tmp_path / f"second{suffix_of(command, two)}"
    if is_there:
        first.write_text("mine")
    second.symlink_to(first)
    line = words(command, {**given, **required(command, tmp_path), one: first, two: second})
    refused(line + extras(command, one) + extras(command, two), "writes to this file, too")
    assert first.read_text() == "mine" if is_there else not first.exists()


def test_the_lists_are_not_empty() -> None:
    assert {c for c, _, _ in PAIRS} >= {"cluster", "predict", "encode", "classify", "train-classifier", "hierarchy"}
    assert {c for c, _, _ in PAIRS} >= {"distances", "report", "convert"}
    assert ("cluster", "output", "classes") in PAIRS
    assert ("convert", "output", "classes") in PAIRS
    assert {("cluster", "report", "known"), ("cluster", "save", "constraints")} <= set(PAIRS)


@pytest.mark.parametrize("reads", sorted(APART["cluster", "checkpoint"]))
def test_inputs_that_exclude_an_output_are_refused_with_it(reads: str, files: dict[str, Path], tmp_path: Path) -> None:
    line = ["cluster", str(files["paths"]), "--checkpoint", str(tmp_path / "c.fit"), f"--{reads}", str(files[reads])]
    refused([*line, *extras("cluster", "checkpoint")], "only patterns")


def test_models_of_rows_are_checked_too(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "link.csv").hardlink_to(files["groups"])
    (tmp_path / "link.html").hardlink_to(files["table"])
    for output in (files["table"], tmp_path / "link.csv"):
        refused(["predict", str(files["groups"]), str(files["table"]), "-o", str(output)], "this is an input")
    refused(["report", str(files["groups"]), str(files["table"]), "-o", str(tmp_path / "link.html")], "is an input")


def test_what_a_store_holds_is_an_input(files: dict[str, Path], tmp_path: Path) -> None:
    store = tmp_path / "s.store"
    assert CliRunner().invoke(app, ["convert", str(files["paths"]), str(store)]).exit_code == 0
    inside = next(path for path in store.iterdir())
    refused(["convert", str(store), str(store / "x.forest")], "this is an input")
    refused(["cluster", str(store), "--checkpoint", str(inside), "--model", "mixture", "-k", "2"], "this is an input")


def test_distances_also_spares_what_its_part_would_overwrite(files: dict[str, Path], tmp_path: Path) -> None:
    part = tmp_path / "d.npz.part"
    part.hardlink_to(files["paths"])
    refused(["distances", str(files["paths"]), "-o", str(tmp_path / "d.npz")], "this is an input")
