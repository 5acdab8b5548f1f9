"""One self-contained HTML page about a fitted model and its data: `write_report(model, data, "report.html")`.

`gather` turns a model into plain values, `render` puts them into a page with one script and one style.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..inference.verdict import Verdict
from ..models.assignments import Assignments
from ..models.patterns import GroupName, Namer
from .gather import Context, gather
from .page import render

__all__ = ["Context", "gather", "render", "write_report"]


def write_report(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    target: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    told: Sequence[str] = (),
    warned: Sequence[str] = (),
    command: str | None = None,
    verdict: Verdict | None = None,
    assignments: Assignments | None = None,
    described: Sequence[GroupName] | None = None,
    group_names: Mapping[int, str] | None = None,
    namer: Namer | None = None,
) -> None:
    """Write a page about a fitted model and trees or rows: those it was fitted to, or others.

    `target` are known classes to compare with (of a forest, its own if left out), `names` and `columns` what rows and
    columns are called, `told` and `warned` the first sentences of the page, `command` what was typed.  `verdict` (what
    ``model.verdict()`` gives), `assignments` (``model.assign(data)``) and `described` (`name_groups`) are computed
    unless they are given.  `group_names` are names of clusters by their numbers, in place of those from patterns.
    `namer` has named groups of the same trees before, so that their patterns need not be counted again.
    """
    from ..files.container import written_whole

    known = None if described is None else list(described)
    context = Context(
        os.fspath(path),
        target,
        names,
        columns,
        tuple(told),
        tuple(warned),
        command,
        verdict,
        assignments,
        known,
        group_names,
        namer,
    )
    page = render(gather(model, data, context))
    with written_whole(Path(path)) as temporary:
        Path(temporary).write_text(page, encoding="utf-8", errors="backslashreplace")
