"""What a fitted model shows in a notebook above its parameters: the verdict, and the groups it found."""

from typing import Any

import numpy as np

from .. import notebook
from ..evaluate.wording import counted
from .vector_estimator import VectorEstimator

MOST_GROUPS = 12


def found_html(model: Any) -> str:
    """Verdict, number and sizes of groups of a fitted model, or classes of a classifier, as HTML."""
    verdict = model.verdict()
    rows = [("verdict", f"{verdict.level}: {verdict.reason}")]
    low, high = verdict.interval or (0, 0)
    if low < high:
        rows.append(("number of groups", f"{low} to {high} in 95% of the draws"))
    if "classes" in model.page_parts():
        rows.append(("classes", ", ".join(map(str, model.classes_))))
        return notebook.page(type(model).__name__, notebook.table(rows))
    size = np.bincount(np.asarray(model.labels_, np.int64).clip(0))
    shown = ", ".join(f"{n:,}" for n in size[:MOST_GROUPS])
    rows.append(("sizes of groups", shown + (" and more" if len(size) > MOST_GROUPS else "")))
    what = "row" if isinstance(model, VectorEstimator) else "tree"
    groups = counted(int((size > 0).sum()), "group")
    title = f"{type(model).__name__}: {counted(int(size.sum()), what)} in {groups}"
    return notebook.page(title, notebook.table(rows))
