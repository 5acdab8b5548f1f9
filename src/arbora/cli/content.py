"""``--content``: which columns a model takes, by which families; and what is said of columns that were taken or not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import SettingError
from .terminal import usage

MAX_TOLD = 8  # columns in the line on what each explains

EVERY = "all"
STORED = ("forest", "parquet", "store")  # formats whose files hold columns already


def parse(text: str) -> dict[str, str | None]:
    """Families by column of ``length:gaussian,words:bag``; a column without one gets that of its kind."""
    asked: dict[str, str | None] = {}
    for part in text.split(","):
        name, _, family = part.strip().partition(":")
        if not name or name in asked:
            raise usage("--content", f"{text!r}: wanted COLUMN or COLUMN:FAMILY, separated by commas, or all")
        asked[name] = family or None
    if EVERY in asked and len(asked) > 1:
        raise usage("--content", f"{text!r}: all stands for every column; leave the others out")
    return asked


def reading_options(content: str | None, format: str, options: Sequence[str] | None) -> list[str]:
    """Options of the reader such that it reads the columns; files of Arbora hold them already."""
    given = list(options or ())
    if content is None or format in STORED or any(one.startswith("content=") for one in given):
        return given
    names = [name for name in parse(content) if name != "label"]
    return [*given, f"content={','.join(names)}"]


def setting(content: str | None, forest: Any) -> Any:
    """The setting of a model, once it is known what the trees hold."""
    from ..models.hidden_tree.emissions.choice import DEFAULTS, asked_families

    if content is None:
        return None
    asked = parse(content)
    if EVERY in asked:
        return "auto"
    kinds = forest.content_kinds
    families = {name: family or DEFAULTS[kinds[name]] if name in kinds else family for name, family in asked.items()}
    if "label" in families:
        families["label"] = None if families["label"] == "none" else families["label"] or "categorical"
    lost = [name for name in families if name != "label" and name not in kinds]
    if lost:
        held = ", ".join(kinds) or "none"
        raise usage("--content", f"the trees have no column {', '.join(lost)}; found {held} (all takes every column)")
    try:
        asked_families(families, kinds)
    except SettingError as error:
        raise usage("--content", str(error).removeprefix("content: ")) from None
    return families


def lines(model: Any, forest: Any) -> tuple[list[str], list[str], dict[str, Any]]:
    """What to say of content, what to warn of, and the facts."""
    if not forest.content_kinds:
        return [], [], {}
    emission: Any = getattr(getattr(model, "spec_", None), "emission", None)
    families = (
        [] if emission is None or emission.by_label else [(c, f.name) for c, f in emission.families if c != "label"]
    )
    taken = dict(families)
    unused = [name for name in forest.content_kinds if name not in taken]
    told, warned = [], []
    if taken:
        told.append(f"Content: {', '.join(f'{name} ({family})' for name, family in taken.items())}.")
    if unused:
        warned.append(f"this model does not use {', '.join(unused)}; --content takes columns of content")
    facts: dict[str, Any] = {"taken": taken, "unused": unused}
    if forest.in_memory is not None:
        facts |= _figures(model, forest.in_memory)
        told += _speaking(facts["scores"])
    return told, warned, {"content": facts}


def _figures(model: Any, forest: Any) -> dict[str, Any]:
    """Scores of columns, warnings, and distributions by cluster."""
    from ..evaluate.content import as_facts, columns_by_group
    from ..report.contents import column_facts

    label = np.asarray(model.labels_)
    scores, warnings = column_facts(model, forest)
    by_cluster = as_facts(columns_by_group(forest, label), np.unique(label).tolist())
    return {"scores": scores, "warnings": warnings, "columns": by_cluster}


def _speaking(scores: dict[str, dict[str, float]]) -> list[str]:
    """Which columns explain the most, in one line."""
    told = sorted(scores.items(), key=lambda pair: -pair[1]["share"])[:MAX_TOLD]
    shares = ", ".join(f"{name} {one['share']:.0%}" for name, one in told)
    return [f"What the states explain, by column: {shares}."] if len(scores) > 1 else []
