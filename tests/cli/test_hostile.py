"""Hostile command lines: whatever is typed, one clear message, a known exit code, and no traceback."""

import inspect
import re
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
import pytest
from typer.models import ArgumentInfo
from typer.testing import CliRunner

from arbora.cli import app
from arbora.datasets import make_documents
from arbora.io import write_jsonl
from arbora.models import GenerativeTreeClassifier, HiddenTree, HiddenTreeMixture

HUGE = "1" + "0" * 20
NUMBERS = (
    "",
    " ",
    "-1",
    "0",
    HUGE,
    f"-{HUGE}",
    "2147483648",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-300",
    "0x10",
    "x",
    "😀",
)
TEXTS = (
    "",
    " ",
    "=",
    "a=b",
    "\0",
    "\udcff",
    "😀\u202e",
    "-",
    "x" * 5000,
    "folder",
    "text=",
    "max_depth=-1",
    "max_bytes=x",
)
NAMES = ("", ".", "-", "no/such/name", "folder", "\0", "\udcff", "😀\u202e", "x" * 5000, "/dev/null", "[", "noise.bin")
SUFFIXES = {
    "output": ("", ".csv", ".npz", ".jsonl", ".html"),
    "save": (".arbora",),
    "report": (".html",),
    "picture": (".png",),
    "checkpoint": ("",),
    "newick": (".nwk",),
    "tree": (".json",),
    "nodes": (".csv",),
    "documents": ("",),
    "known": (".csv", ".json", ".parquet"),
    "template": (".csv",),
    "held_out": (".jsonl",),
    "names": (".csv",),
    "log": ("",),
    "new": (".jsonl",),
}


class Parameter(NamedTuple):
    """One that takes a value."""

    command: str
    name: str
    option: str | None  # None: an argument
    values: tuple[str, ...]


def _parts(kind: Any) -> set[Any]:
    return {kind}.union(*map(_parts, get_args(kind)))


def _values(name: str, kinds: set[Any]) -> tuple[str, ...]:
    if Path in kinds:
        return NAMES if name in ("paths", "model", "table") else tuple(n + s for n in NAMES for s in SUFFIXES[name])
    if kinds & {int, float}:
        return NUMBERS
    if any(isinstance(kind, type) and issubclass(kind, Enum) for kind in kinds) or str in kinds:
        return (*TEXTS, *NUMBERS)
    return ()


def _parameters(command: str, function: Any) -> list[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name in inspect.signature(function).parameters:
        kind, told = get_args(hints[name])[:2]
        option = None if isinstance(told, ArgumentInfo) else str(told.default)
        found.append(Parameter(command, name, option, _values(name, _parts(kind))))
    return found


COMMANDS = {c.name or str(c.callback and c.callback.__name__): c.callback for c in app.registered_commands}
# Lines that work and are quick; what takes long however it is called is asked only for what it refuses.
LINES = {
    "info": ["info", "trees.jsonl"],
    "formats": ["formats"],
    "convert": ["convert", "trees.jsonl", "out.jsonl"],
    "cluster": ["cluster", "trees.jsonl", "-k", "2", "--states", "2", "--max-iter", "2", "--tol", "0"],
    "predict": ["predict", "mixture.arbora", "trees.jsonl"],
    "encode": ["encode", "mixture.arbora", "trees.jsonl", "-o", "codes.npz"],
    "train-classifier": ["train-classifier", "trees.jsonl", "--readout", "generative", "--states", "2", "--folds", "0"],
    "classify": ["classify", "classifier.arbora", "trees.jsonl"],
    "distances": ["distances", "trees.jsonl", "-o", "distances.npz"],
    "hierarchy": ["hierarchy", "table.csv", "--model", "dpgmm", "--sweeps", "4", "--chains", "1"],
    "report": ["report", "mixture.arbora", "trees.jsonl"],
    "label-nodes": ["label-nodes", "trees.jsonl", "--template", "nodes.csv"],
    "demo": ["demo", "--output", "noise.bin"],
    "describe": ["describe", "mixture.arbora", "trees.jsonl", "--cluster", "0", "--only", "paths"],
    "watch": ["watch", "mixture.arbora", "trees.jsonl"],
    "replay": ["replay", "folder"],
}
EVERY = [p for name, function in COMMANDS.items() if name in LINES for p in _parameters(name, function)]
QUICK = [p for p in EVERY if (p.command, p.name) != ("demo", "output")]  # which works, for seconds, with any folder
CASES = [(p, value) for p in QUICK for value in p.values if p.option is not None]
ARGUMENTS = [(p.command, k, v) for p in EVERY if p.option is None for k in (1, 2) for v in NAMES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    trees = make_documents(3, random_state=0)
    write_jsonl(trees, path / "trees.jsonl")
    (path / "table.csv").write_text("x,y\n" + "".join(f"{k % 3},{k // 3}\n" for k in range(9)))
    (path / "noise.bin").write_bytes(np.random.default_rng(0).bytes(500))
    (path / "folder").mkdir()
    for suffix in (".csv", ".json", ".html", ".arbora", ".png", ".npz", ".nwk", ".jsonl"):
        (path / f"folder{suffix}").mkdir()
    HiddenTreeMixture(2, 2, max_iter=1, tol=0, random_state=0).fit(trees).save(path / "mixture.arbora")
    GenerativeTreeClassifier(HiddenTree(2, max_iter=1, tol=0), random_state=0).fit(trees).save(
        path / "classifier.arbora"
    )
    return path


def survives(line: list[str]) -> None:
    """A command ends with a known code, and says why if that is not 0."""
    done = CliRunner().invoke(app, line)
    told = f"{line}: {done.exit_code} {done.exception!r}\n{done.stderr}"
    assert isinstance(done.exception, SystemExit | None), told
    assert done.exit_code in (0, 1, 2, 130), told
    assert "Traceback" not in done.stdout + done.stderr, told
    if done.exit_code == 1:
        assert re.search(r"^arbora: .+\n\Z", done.stderr, re.MULTILINE), told
    elif done.exit_code == 2:
        assert "Error" in done.stderr, told


def chosen(cases: list[Any], n: int) -> list[Any]:
    return [cases[k] for k in np.random.default_rng(0).permutation(len(cases))[:n]]


def option_line(p: Parameter, value: str) -> list[str]:
    return [*LINES[p.command], f"{p.option}={value}"]


def argument_line(command: str, place: int, value: str) -> list[str]:
    line = LINES[command]
    return [*line[:place], value, *line[place + 1 :]] if place < len(line) else [*line, value]


def test_every_command_has_a_line() -> None:
    assert set(COMMANDS) == {*LINES, "warmup"}


def run_all(lines: list[list[str]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    failures = []
    for line in lines:
        try:
            survives(line)
        except AssertionError as error:
            failures.append(str(error).partition("\nassert")[0])
    assert not failures, f"{len(failures)} of {len(lines)}\n" + "\n".join(failures)


def test_some_hostile_command_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [option_line(*case) for case in chosen(CASES, 120)]
    lines += [argument_line(*case) for case in chosen(ARGUMENTS, 40)]
    run_all(lines, folder, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("command", LINES)
def test_hostile_command_lines(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [option_line(*case) for case in CASES if case[0].command == command]
    lines += [argument_line(*case) for case in ARGUMENTS if case[0] == command]
    run_all(lines, folder, monkeypatch)


def test_pairs_of_hostile_options(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [case for case in CASES if case[0].command == "cluster"]
    cases = chosen(ours, 60)
    lines = [[*option_line(*one), option_line(*two)[-1]] for one, two in zip(cases[::2], cases[1::2], strict=True)]
    run_all(lines, folder, monkeypatch)
