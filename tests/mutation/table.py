"""The table of planted bugs, read from mutants.toml."""

import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Mutant(NamedTuple):
    """One planted bug, and the quick tests that must find it."""

    name: str
    file: str
    old: str  # occurs once in the file
    new: str
    by: str  # the test that finds it first, in pytest's words; it runs alone, the others only if it passes
    tests: tuple[str, ...]
    compiled: bool  # whether the tests need compiled kernels


def read() -> list[Mutant]:
    """All mutants, in the order of the table."""
    with (Path(__file__).parent / "mutants.toml").open("rb") as file:
        sets = tomllib.load(file)["sets"]
    return [
        Mutant(name, one["folder"] + file, old, new, by[0] if by else "", tuple(one["tests"]), one["compiled"])
        for one in sets
        for name, file, old, new, *by in one["mutants"]
    ]


def planted(text: str, mutant: Mutant) -> str:
    """The text with the bug; an error unless the table names one place."""
    found = text.count(mutant.old)
    if found != 1:
        raise ValueError(f"{mutant.name}: {mutant.file} has {found} times {mutant.old!r}; wanted once")
    return text.replace(mutant.old, mutant.new)


MUTANTS = read()
