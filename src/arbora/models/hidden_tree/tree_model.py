"""TreeModel: what a mixture asks of a model of trees, and what the parameters of one are made of.

A tree model is a value: its sizes and readings, fixed during a fit.  Parameters of components, counts and sums are
nested tuples (or dicts) of arrays whose last axis is the component; `mapped` and its relatives work on any of them.
Mixtures, samplers, checkpoints, files and reports use what is here and nothing else of a model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.content_rows import Wanted
from ...forest.sharing import SharedForest
from ...forest.trees import Trees
from .kernels.bags import Bags, CellTable, Layout
from .lanes import Workspace

Floats = NDArray[np.float64]
#: Names that traces, checkpoints and files give to arrays of their own, beside those of the parameters.
RESERVED = ("label", "concentration", "priors", "weight")
Arrays = Any  # an array, or a named tuple or dict of these: parameters, counts or sums


@dataclass(frozen=True)
class Table:
    """One array of parameters, without its component axis, which is the last."""

    name: str  # of the fitted attribute that shows it, as "emission_prob_"
    shape: tuple[int, ...]
    sums_along: int | None = None  # the axis that sums to one; None: each entry stands for itself
    least: float = 0.0
    most: float = 1.0

    def show(self, values: Floats) -> Floats:
        """The array as users see it: component first, the axis that sums to one last."""
        shown = np.moveaxis(values, -1, 0)
        return np.ascontiguousarray(shown if self.sums_along is None else np.moveaxis(shown, self.sums_along + 1, -1))

    def hide(self, shown: Floats) -> Floats:
        """Undo `show`."""
        values = shown if self.sums_along is None else np.moveaxis(shown, -1, self.sums_along + 1)
        return np.ascontiguousarray(np.moveaxis(values, 0, -1))

    @property
    def shown_shape(self) -> tuple[int, ...]:
        """Shape of one component as users see it."""
        if self.sums_along is None:
            return self.shape
        return (*(n for x, n in enumerate(self.shape) if x != self.sums_along), self.shape[self.sums_along])

    def check(self, shown: Floats, n_components: int) -> None:
        """Raise unless an array, component first, holds what this table may hold."""
        name, wanted = self.name.removesuffix("_"), (n_components, *self.shown_shape)
        if shown.shape != wanted:
            raise ValueError(f"{name} has shape {shown.shape}; wanted {wanted}")
        if not np.isfinite(shown).all() or (shown < self.least).any() or (shown > self.most + 1e-9).any():
            what = "are not probabilities" if self.most == 1.0 else "lie outside its bounds"
            raise ValueError(f"{name} holds values that {what}")
        if self.sums_along is not None and wanted[-1] and not np.allclose(shown.sum(axis=-1), 1.0, atol=1e-6):
            raise ValueError(f"{name}: the last axis must sum to one")


class Evidence(NamedTuple):
    """Log marginal likelihood of each tree and the standard error of its estimate, in nats."""

    log_prob: Floats
    error: Floats


class CompletedCounts(Protocol):
    """Trees as bags of counts given their hidden variables: what splits, merges and learnt priors need."""

    layout: Layout

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: Arrays) -> Bags:
        """One bag per tree, given its component and the parameters of all."""

    def table(self, priors: Any) -> CellTable:
        """Rows and Dirichlet parameters of all cells."""

    def kinds(self) -> list[slice]:
        """The cells of each field of the priors."""

    def counts(self, cells: Floats) -> Arrays:
        """Counts of all components in the shapes of their parameters from [component, cell]."""


class TreeModel(Protocol):
    """A family of distributions of trees with its sizes; see docs/add-a-model.md."""

    #: Dirichlet parameters, or whatever priors are made of: a named tuple of numbers, one for each kind of parameter.
    priors_type: ClassVar[Any]

    @property
    def n_slots(self) -> int:
        """Slots that are distinguished; later ones are pooled into the last."""

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary."""

    @property
    def tables(self) -> Any:
        """The parameters: a named tuple, nested or not, of `Table`; no field is called as one of `RESERVED`."""

    @property
    def count_tables(self) -> Any:
        """Shapes and bounds of expected counts: a named tuple, nested or not, of `Table`."""

    @property
    def needs_structure(self) -> bool:
        """Whether `SharedForest.structure` is used, so that stores keep it."""

    def unit_bytes(self, n_components: int) -> int:
        """Working memory of one distinct subtree; cuts between shards depend on it, and the last bits on these."""

    def header(self) -> list[Any]:
        """The model as JSON can hold it."""

    @classmethod
    def from_header(cls, values: Any) -> Self:
        """Undo `header`; refuses what makes no sense by a ValueError."""

    def grown(self, trees: Trees) -> Self:
        """The model with room for labels and words of these trees that are new, behind those that it has."""

    # Parameters

    def start(self, rng: np.random.Generator, n_components: int, forest: Trees, weight: Floats | None) -> Arrays:
        """Random parameters to start EM from."""

    def draw(
        self, rng: np.random.Generator, n_components: int, priors: Any = None, counts: Arrays | None = None
    ) -> Arrays:
        """Parameters from their priors, flat where None, or from the posterior given counts."""

    def uniform(self) -> Arrays:
        """One component at the mean of flat priors."""

    def m_step(self, counts: Arrays, params: Arrays, priors: Any) -> Arrays:
        """Parameters whose expected log-probability plus log prior is highest, or not lower than that of `params`."""

    def log_prior(self, params: Arrays, priors: Any) -> Floats:
        """Log prior density of each component, up to a constant."""

    def log_prior_density(self, params: Arrays, priors: Any) -> Floats:
        """Log prior density of each component, with constants."""

    def n_free_parameters(self) -> int:
        """Free parameters of one component."""

    def check(self, params: Arrays) -> None:
        """Raise a ValueError where parameters are of the right shape and range, and yet make no sense."""

    # Passes over one shard

    def prepare(self, params: Arrays) -> Any:
        """Parameters in the form of the kernels; once per pass over all shards."""

    def upward(self, flow: Any, params: Arrays, shard: SharedForest, workspace: Workspace) -> tuple[Any, Floats]:
        """Messages for `downward`, and log P(tree | component) of distinct trees, without `shape_log_prob`."""

    def empty_sums(self, n_components: int) -> Arrays:
        """Zeros in the shapes that `downward` adds to."""

    def downward(
        self, flow: Any, shard: SharedForest, messages: Any, weight: Floats, sums_out: Arrays, posterior: Any = None
    ) -> None:
        """Add to the sums what weight[distinct tree, component] contributes; fill posterior[unit] if given."""

    def shape_log_prob(self, params: Arrays, shard: SharedForest) -> Floats | None:
        """What the shapes add to the log-probability of the distinct trees; None: nothing."""

    def shape_counts(self, params: Arrays, shard: SharedForest, weight: Floats) -> Arrays:
        """What weight[distinct tree, component] contributes to counts that do not depend on messages."""

    def counts(self, flow: Any, sums: Arrays, shape: Arrays, n_components: int) -> Arrays:
        """Expected counts from the sums over all shards."""

    # Sampling the number of components

    def completed(self, batch: Any) -> CompletedCounts:
        """Bags of counts of the trees of a batch."""

    def evidence(self, batch: Any, priors: Any, floor: Any = None) -> Evidence:
        """Log P(tree) with the parameters integrated out, of every tree of a batch.

        An estimate that is surely below the floor of its tree, if there are floors, may be rough.
        """


def wanted(model: Any) -> tuple[Wanted, ...]:
    """Columns of content that a model asks trees for; none of one that takes labels."""
    return getattr(getattr(model, "emission", None), "wanted", ())


# ---- nested tuples of arrays ----------------------------------------------------------------------------------------


def parts_of(values: Arrays) -> dict[str, Any] | None:
    """Parts by name; None for an array or a table, which has none."""
    if isinstance(values, dict):
        return values
    return dict(zip(values._fields, values, strict=True)) if hasattr(values, "_fields") else None


def mapped(function: Callable[..., Any], first: Arrays, *others: Arrays) -> Arrays:
    """The function of corresponding arrays, in the same nesting."""
    parts = parts_of(first)
    if parts is None:
        return function(first, *others)
    more = [parts_of(other) or {} for other in others]
    made = {name: mapped(function, part, *(other[name] for other in more)) for name, part in parts.items()}
    return made if isinstance(first, dict) else type(first)(**made)


def named(values: Arrays, name: str = "") -> dict[str, Any]:
    """Arrays by name; parts of a part have its name before them, as "emission.mean"."""
    parts = parts_of(values)
    if parts is None:
        return {name: values}
    found: dict[str, Any] = {}
    for field, part in parts.items():
        found |= named(part, f"{name}.{field}" if name else field)
    return found


def unnamed(like: Arrays, arrays: Mapping[str, Any]) -> Arrays:
    """Undo `named`, in the nesting of `like`."""
    names = iter(named(like))
    return mapped(lambda _: arrays[next(names)], like)


def check_names(tables: Any) -> None:
    """Raise if a parameter has a name that is taken."""
    taken_names = sorted(set(named(tables)) & set(RESERVED))
    if taken_names:
        raise ArboraError(f"a tree model has parameters called {taken_names}, which are taken; call them otherwise")


def n_components(params: Arrays) -> int:
    """Components that parameters are of."""
    return int(next(iter(named(params).values())).shape[-1])


def taken(params: Arrays, components: Any) -> Arrays:
    """Parameters of these components, in this order; an index array or a slice."""
    return mapped(lambda x: x[..., components], params)


def split(params: Arrays) -> dict[int, Arrays]:
    """Components as parameters of their own, by number."""
    return {k: taken(params, slice(k, k + 1)) for k in range(n_components(params))}


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Components beside each other."""
    return mapped(lambda *arrays: np.concatenate(arrays, axis=-1), *parts)


def padded(values: Arrays, tables: Any, fill: float) -> Arrays:
    """Parameters or counts of a model before it has grown, in the shapes of its tables now."""

    def pad(x: Floats, table: Table) -> Floats:
        room = [(0, wanted - there) for there, wanted in zip(x.shape, table.shape, strict=False)]
        return np.pad(x, [*room, (0, 0)], constant_values=fill) if any(after for _, after in room) else x

    return mapped(pad, values, tables)


def add_into(total: Arrays, more: Arrays) -> None:
    """total += more."""
    for into, x in zip(named(total).values(), named(more).values(), strict=True):
        into += x
