"""Extrapolation of EM for any tree model: SQUAREM (Varadhan and Roland 2008) on tables of parameters.

From three parameters in a row, a, b and c, with r = b - a and v = (c - b) - r, it goes to a + 2 s r + s^2 v with the
step s = |r| / |v|; s = 1 is c.  Rows that sum to one go on doing so.  An entry that leaves its bounds is set to that of
c, and its row is scaled to sum to one again.  The objective decides whether the result is kept (inference/em.py).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tree_model as tm
from .passes import MixtureParams

Floats = NDArray[np.float64]

WEIGHT = tm.Table("weight_", (), -1)  # of components, which sum to one along the only axis


def extrapolated(
    model: tm.TreeModel, before: MixtureParams, between: MixtureParams, after: MixtureParams, longest: float
) -> tuple[MixtureParams | None, float]:
    """Parameters further along and the step; None where it is that of EM, or where they are none of the model."""
    a, b, c = (_arrays(params) for params in (before, between, after))
    first = {name: b[name] - a[name] for name in a}
    change = {name: (c[name] - b[name]) - first[name] for name in a}
    with np.errstate(all="ignore"):
        step = np.sqrt(_square(first) / _square(change))
    step = float(min(max(step, 1.0), longest)) if np.isfinite(step) else 1.0
    if step <= 1.0:
        return None, step
    tables = {"weight": WEIGHT, **tm.named(model.tables)}
    made = {
        name: _inside(tables[name], a[name] + 2.0 * step * first[name] + step * step * change[name], c[name])
        for name in a
    }
    tree = tm.unnamed(after.tree, made)
    try:
        model.check(tree)
    except ValueError:
        return None, 0.0
    return MixtureParams(made["weight"], tree), step


def _arrays(params: MixtureParams) -> dict[str, Floats]:
    return {"weight": params.weight, **tm.named(params.tree)}


def _square(values: dict[str, Floats]) -> Any:
    return sum(np.square(x).sum() for x in values.values())


def _inside(table: tm.Table, values: Floats, last: Floats) -> Floats:
    """Extrapolated values within the bounds of a table; `last` are those of EM."""
    values = np.where((values > table.least) & (values < table.most), values, last)  # nan as well
    if table.sums_along is None:
        return values
    total = values.sum(axis=table.sums_along, keepdims=True)
    return np.asarray(np.where(total > 0, values / np.where(total > 0, total, 1.0), last))
