"""What is checked about options, and what commands read off the command line."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ReadError
from ..files.urls import as_given, is_url
from .terminal import usage

MOST_JOBS = 4096  # as models.settings has it, which takes seconds to import
FOR_TREES = "is for trees; leave it out for a model of rows"


def refuse(options: Mapping[str, Any], why: str) -> None:
    """End with a word on the first of these options that was given; names are as typed, or those of parameters."""
    for option, value in options.items():
        if value is not None:
            raise usage(option if option.startswith("-") else f"--{option.replace('_', '-')}", why)


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; all others are the model's own."""
    return {key: value for key, value in options.items() if value is not None}


def check_jobs(jobs: int | None) -> int | None:
    """The number of threads, if it is one."""
    if jobs is not None and jobs != -1 and not 1 <= jobs <= MOST_JOBS:
        raise usage("--jobs", f"{jobs}; wanted a number of threads up to {MOST_JOBS:,}, or -1 for all cores")
    return jobs


def command_line() -> str:
    """What was typed, without the folders of absolute paths: a page goes to people who have no business with them."""
    return shlex.join(["arbora", *map(_without_folders, sys.argv[1:])])


def _without_folders(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return f"{option}{equals}.../{os.path.basename(value.rstrip(os.sep))}" if os.path.isabs(value) else word


def check_there(*paths: Path) -> None:
    """Refuse a file that is not there before anything slow is imported; globs are left to those who expand them."""
    for path in paths:
        name = as_given(path)
        if name != "-" and not is_url(name) and not any(c in name for c in "*?[") and not os.path.lexists(name):
            raise ReadError(f"{path}: there is no such file; check the path")


def load_model(path: Path) -> Any:
    """The model in a file."""
    import zipfile

    from .. import load
    from ..errors import ModelFileError

    if path.is_file() and not zipfile.is_zipfile(path):
        raise ModelFileError(f"{path}: this is not a model file; name one that an option --save wrote")
    return load(path)
