"""Content at the nodes of unions: which columns count, their values as the search takes them, and what they cost."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ...errors import ContentWarning, SettingError, warn
from ...forest.content import Column
from ...forest.content_rows import LABEL
from ...forest.forest import Forest
from ..file_checks import check_array
from ..hidden_tree.emissions.choice import asked_families, check_content, summaries
from .kernels import content_lengths as lengths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAMILIES = ("gaussian", "poisson", "flag")  # place: number in the kernels
N_SUMS = 4  # of the values of a column at a node: their number, two sums, and their lengths each alone
LARGEST = 1e6  # standard deviations from the mean; values beyond are taken as this far


class ContentColumn(NamedTuple):
    """A column that counts: values are (value - centre) / unit in the search, and lengths those of such values."""

    name: str
    family: str
    centre: float
    unit: float
    prior: tuple[float, float]  # scale and strength of a Gaussian; rate of a Poisson, and nothing


Content = tuple[ContentColumn, ...]


def check_union_content(content: Any, spread: float) -> None:
    """Raise unless the setting can be one, whatever the trees are."""
    check_content(content)
    if isinstance(content, Mapping):
        for column, family in content.items():
            if family is not None and (column == LABEL or str(family) not in FAMILIES):
                wanted = ", ".join(FAMILIES) + "; labels count by labels=True"
                raise SettingError(f"content: column {column!r} has family {family!r}; unions take {wanted}")
    if not 0.0 < spread < 1.0:
        raise SettingError(f"content_spread={spread!r}; wanted a share between 0 and 1")


def choose_content(content: Any, spread: float, forest: Forest) -> Content:
    """The columns that count, with the prior that suits each; "auto" leaves out codes and bags."""
    check_union_content(content, spread)
    asked = {c: str(f) for c, f in asked_families(content, forest.content_kinds).items() if f in FAMILIES}
    found = summaries(forest, tuple(asked))
    out = []
    for name, family in asked.items():
        summary = found[name]
        if family == "gaussian":
            # A value alone is then as spread as the column, and values of one node by the share `spread` of that.
            unit = float(np.sqrt(summary.variance)) or 1.0
            out.append(ContentColumn(name, family, summary.mean, unit, (spread, spread / (1.0 - spread))))
        else:
            out.append(ContentColumn(name, family, 0.0, 1.0, (1.0 / max(summary.mean, 1e-3), 0.0)))
    return tuple(out)


def content_values(content: Content, forest: Forest) -> Floats:
    """[node, column] values in the units of the search; nan is missing."""
    out = np.empty((forest.n_nodes, len(content)))
    for c, column in enumerate(content):
        if column.name not in forest.content:
            raise SettingError(f"content: the trees have no column {column.name!r}, which the fit took")
        held = forest.content[column.name]
        values = np.where(held.missing, np.nan, held.values.astype(np.float64))
        if column.family == "gaussian":
            values = _bounded((values - column.centre) / column.unit, column.name)
        out[:, c] = values
    return out + 0.0  # no -0.0: equal values have equal bytes


def _bounded(values: Floats, name: str) -> Floats:
    """Values in standard deviations, those beyond all measure brought nearer; a warning says so."""
    far = int((np.abs(values) > LARGEST).sum())  # a missing value is not
    if far:
        warn(
            f"column {name!r}: {far} values lie more than {LARGEST:,.0f} standard deviations of training trees from "
            f"their mean, and are taken as that far.  Are they in other units, or do they stand for missing ones?",
            ContentWarning,
        )
    return np.clip(values, -LARGEST, LARGEST)


def content_ids(label: Ints, moment: Floats) -> Ints:
    """A number for each node, the same exactly where label and content are."""
    rows = np.column_stack([label.astype(np.float64), moment[:, :, 0], moment[:, :, 1]])
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


class ContentCode(NamedTuple):
    """Families and priors as kernels take them."""

    family: Ints
    prior: Floats  # [column, 2]


def content_code(content: Content) -> ContentCode:
    """Families and priors of the columns."""
    family = np.array([FAMILIES.index(column.family) for column in content], np.int64)
    return ContentCode(family, np.array([column.prior for column in content], np.float64).reshape(-1, 2))


def value_moments(code: ContentCode, values: Floats) -> Floats:
    """[node, column, 4] what one copy of each value adds at its node: to the sums, and its length alone."""
    family = code.family
    seen = ~np.isnan(values)
    x = np.where(seen, values, 0.0)
    second = np.where(family == lengths.POISSON, gammaln(x + 1.0), np.where(family == lengths.FLAG, 0.0, x * x))
    out = np.stack([seen.astype(np.float64), x, np.where(seen, second, 0.0), np.zeros_like(x)], axis=2)
    for c in range(len(family)):
        out[:, c, 3] = shared_lengths(ContentCode(family[c : c + 1], code.prior[c : c + 1]), out[:, c : c + 1])
    return out


def shared_lengths(code: ContentCode, moment: Floats) -> Floats:
    """Length of the content of each node, coded together."""
    out = np.zeros(len(moment))
    lengths.content_lengths(code.family, code.prior, np.ascontiguousarray(moment), out)
    return out


def summed(moment: Floats, node: Ints, weight: Any, n_nodes: int) -> Floats:
    """Sums over the nodes of trees, by node of the union."""
    if not moment.shape[1]:
        return np.zeros((n_nodes, *moment.shape[1:]))
    out = np.zeros((n_nodes, *moment.shape[1:]))
    np.add.at(out, node, moment * np.asarray(weight, np.float64).reshape(-1, *[1] * (moment.ndim - 1)))
    return out


def check_moments(code: ContentCode, moment: Floats, n_nodes: int) -> None:
    """Raise ValueError unless these (from a file) are what one value, or none, of each column gives."""
    check_array("sample_moment", moment, np.float64, (n_nodes, len(code.family), N_SUMS), -1e300, 1e300)
    if (code.prior[:, 0] <= 0.0).any() or (code.prior[code.family == lengths.GAUSSIAN, 1] <= 0.0).any():
        raise ValueError("the prior of a column of content is damaged")
    values = np.where(moment[:, :, 0] > 0.0, moment[:, :, 1], np.nan)
    if (values[:, code.family != lengths.GAUSSIAN] < 0.0).any() or (values[:, code.family == lengths.FLAG] > 1.0).any():
        raise ValueError("the content of the trees of the fit is damaged")
    if not np.allclose(value_moments(code, values), moment):
        raise ValueError("the content of the trees of the fit is damaged")


def content_header(content: Content) -> list[list[Any]]:
    """The columns as a file holds them."""
    return [[c.name, c.family, c.centre, c.unit, *c.prior] for c in content]


def read_header(header: list[list[Any]]) -> Content:
    """The inverse of `content_header`; raises ValueError on what is none."""
    out = []
    for name, family, centre, unit, one, two in header:
        if not isinstance(name, str) or family not in FAMILIES:
            raise ValueError("a column of content is of no family that is known")
        numbers = [float(x) for x in (centre, unit, one, two)]
        if not np.isfinite(numbers).all() or numbers[1] <= 0.0:
            raise ValueError("the units of a column of content are damaged")
        out.append(ContentColumn(name, family, numbers[0], numbers[1], (numbers[2], numbers[3])))
    return tuple(out)


# ---- what users see of it -------------------------------------------------------------------------------------------


def content_means(content: Content, moment: Floats) -> dict[str, Floats]:
    """Mean of each column at each node, in its own units."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = moment[:, :, 1] / moment[:, :, 0]
    return {column.name: column.centre + column.unit * mean[:, c] for c, column in enumerate(content)}


def content_log_prob(content: Content, moment: Floats, tree: Forest) -> Floats:
    """[node of a tree, node of a union] log density of the content of the one, given that at the other."""
    code = content_code(content)
    values = content_values(content, tree)
    told, unit = value_moments(code, values), np.log([column.unit for column in content])
    before = shared_lengths(code, moment)
    out = np.empty((len(told), len(moment)))
    for u in range(len(told)):
        out[u] = before - shared_lengths(code, moment + told[u]) - unit @ ~np.isnan(values[u])
    return out


def draw_content(rng: np.random.Generator, content: Content, moment: Floats) -> dict[str, Column]:
    """New values at nodes with these sums: parameters from the posterior, then values."""
    out = {}
    for c, column in enumerate(content):
        n, first, second = moment[:, c, 0], moment[:, c, 1], moment[:, c, 2]
        if column.family == "gaussian":
            scale, strength = column.prior
            rate = 0.5 * (lengths.DOF * scale + np.maximum(second - first**2 / (strength + n), 0.0))
            variance = rate / rng.standard_gamma(0.5 * (lengths.DOF + n))
            spread = np.sqrt(variance * (1.0 + 1.0 / (strength + n)))
            x = first / (strength + n) + spread * rng.standard_normal(len(n))
            out[column.name] = Column.numbers(column.centre + column.unit * x)
        elif column.family == "poisson":
            drawn = rng.gamma(lengths.SHAPE + first, 1.0 / (column.prior[0] + n))
            out[column.name] = Column.counts(rng.poisson(drawn))
        else:
            out[column.name] = Column.flags(rng.random(len(n)) < rng.beta(1.0 + first, 1.0 + n - first))
    return out
