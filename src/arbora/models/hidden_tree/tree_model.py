"""The switching-parent hidden tree model of paper 000 section 3: its mathematics, for many components at once.

Equations and where we differ from the papers: hidden_tree.md beside this file.  Arrays carry the component axis last,
as kernels like it; the estimators show it first.
"""

from threading import local
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

from ...forest.sharing import SharedForest
from .kernels import upward_downward as ud
from .kernels import upward_downward_single as single

Absent = Literal["bottom", "slot", "literal", "renormalised"]
Structure = Literal["branching"] | None
Floats = NDArray[np.float64]

ABSENT: tuple[str, ...] = get_args(Absent)
# Smaller probabilities are set to zero: they never matter, and subnormal numbers are slow.
TINY = 1e-100
SMALL_SHAPE = 0.1  # of a gamma distribution: below it, draws may vanish


class Spec(NamedTuple):
    """Sizes and the reading of the model; fixed during a fit."""

    n_slots: int
    n_labels: int
    n_states: int
    absent: Absent = "bottom"
    structure: Structure = None
    pooled: bool = False  # the last slot stands for all later ones, and may hold several children
    rates: tuple[float, ...] = ()  # around which the prior of the branching lies, by slot; none: around one half

    @property
    def absent_is_state(self) -> bool:
        """Whether an absent child is one more state of a child, or says nothing."""
        return self.absent in ("bottom", "slot")


class Params(NamedTuple):
    """Probabilities, component axis last; the axis that sums to one is named in brackets."""

    leaf: Floats  # [slot + root, (state), k]; in the slot reading one state more: nothing there
    emission: Floats  # [(label), state, k]
    switch: Floats  # [(slot), k]
    transition: Floats  # [slot, child state (+ absent), (state), k]
    branching: Floats  # [slot, k]: chance that a node has a child there; no rows without the structure term


class Counts(NamedTuple):
    """Expected counts in the shapes of Params; they add over trees, shards and machines."""

    leaf: Floats
    emission: Floats
    switch: Floats
    transition: Floats
    branching: Floats  # [2, slot, k]: children there, and nodes that could have one
    exposure: Floats  # [slot, k]: what the renormalised reading divides switch counts by; else no rows


class Priors(NamedTuple):
    """Symmetric Dirichlet parameters; modes want one or more, draws anything above zero.

    With `Spec.rates` that of the branching is the strength of its prior: Beta(strength rate, strength (1 - rate)).
    """

    leaf: float = 1.0
    emission: float = 1.0
    switch: float = 1.0
    transition: float = 1.0
    branching: float = 1.0


class ShapeCounts(NamedTuple):
    """The part of the counts that comes from the shapes of the trees; arrays without rows where not needed."""

    nothing: Floats  # [slot, k]: absent slots of internal nodes, for the slot reading's leaf prior
    branching: Floats  # [2, slot, k]
    exposure: Floats  # [slot, k]


# ---- shapes and starts ------------------------------------------------------------------------------------------


def param_shapes(spec: Spec, n_components: int) -> Params:
    """The shape of every parameter array."""
    n_slots, n_labels, n_states, k = spec.n_slots, spec.n_labels, spec.n_states, n_components
    return Params(
        leaf=(n_slots + 1, n_states + (spec.absent == "slot"), k),  # type: ignore[arg-type]
        emission=(n_labels, n_states, k),  # type: ignore[arg-type]
        switch=(n_slots, k),  # type: ignore[arg-type]
        transition=(n_slots, n_states + spec.absent_is_state, n_states, k),  # type: ignore[arg-type]
        branching=(n_slots if spec.structure else 0, k),  # type: ignore[arg-type]
    )


# The axis of each parameter array that sums to one.
SUM_AXIS = Params(leaf=1, emission=0, switch=0, transition=2, branching=None)  # type: ignore[arg-type]


def spec_of(values: Any) -> Spec:
    """The spec from what a model file holds; files written before there were rates have none."""
    fixed, rates = list(values[:6]), list(values[6]) if len(values) > 6 else []
    if rates and (len(rates) != fixed[0] or not all(type(r) is float and 0.0 < r < 1.0 for r in rates)):
        raise ValueError(f"the rates of the branching make no sense: {rates!r:.80}")
    return Spec(*fixed)._replace(rates=tuple(rates))


def branching_prior(spec: Spec, priors: Priors) -> tuple[Floats, Floats]:
    """Parameters of the Beta prior of the branching of each slot."""
    if not spec.rates:
        both = np.full(spec.n_slots if spec.structure else 0, priors.branching)
        return both, both
    rate = np.array(spec.rates)
    return priors.branching * rate, priors.branching * (1.0 - rate)


def _dirichlet(rng: np.random.Generator, shape: Floats, axis: int, root_is_there: bool) -> Floats:
    """Draws that sum to one along an axis; `root_is_there` keeps the last cell of the last row at zero.

    Gamma draws of small shapes would all be zero, so they are taken by their logarithm: one of Gamma(a) is one of
    Gamma(a + 1) times u ** (1 / a).
    """
    if shape.size and shape.min() < SMALL_SHAPE:
        logs = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape
        if root_is_there:
            logs[-1, -1] = -np.inf
        gamma = np.exp(logs - logs.max(axis=axis, keepdims=True))
    else:
        gamma = rng.standard_gamma(shape)
        if root_is_there:
            gamma[-1, -1] = 0.0
    total = gamma.sum(axis=axis, keepdims=True)
    return np.asarray(gamma / np.where(total > 0, total, 1.0))


def draw_params(
    rng: np.random.Generator,
    spec: Spec,
    n_components: int,
    priors: Priors | None = None,
    counts: Counts | None = None,
) -> Params:
    """Parameters from their Dirichlet (and Beta) priors, flat without priors, or from the posterior given counts."""
    alpha = priors or Priors()
    shapes = param_shapes(spec, n_components)
    drawn = {}
    for name in ("leaf", "emission", "switch", "transition"):
        axis = getattr(SUM_AXIS, name)
        shape = np.full(getattr(shapes, name), getattr(alpha, name))
        shape = shape if counts is None else shape + getattr(counts, name)
        drawn[name] = _dirichlet(rng, shape, axis, name == "leaf" and spec.absent == "slot")  # a root is never absent
    hits, tries = (0.0, 0.0) if counts is None else counts.branching
    a, b = (x[:, None] for x in branching_prior(spec, alpha))
    branching = rng.beta(a + hits, b + tries - hits, shapes.branching)
    # Neither certain nor impossible, whatever rounding says: its log is taken.
    return Params(**drawn, branching=np.clip(branching, TINY, 1.0 - np.finfo(np.float64).eps))


def uniform_params(spec: Spec) -> Params:
    """One component with uniform distributions and even chances of branching: the mean of flat priors."""
    shapes = param_shapes(spec, 1)
    values = {}
    for name in ("leaf", "emission", "switch", "transition"):
        ones = np.ones(getattr(shapes, name))
        if name == "leaf" and spec.absent == "slot":
            ones[-1, -1] = 0.0
        values[name] = ones / np.maximum(ones.sum(axis=getattr(SUM_AXIS, name), keepdims=True), 1.0)
    return Params(**values, branching=np.full(shapes.branching, 0.5))


def draw_start(rng: np.random.Generator, spec: Spec, n_components: int, rate: Floats) -> Params:
    """Flat draws to start EM from, except for the branching, which starts at the overall rate of each slot.

    A random branching would say more about a tree than all its labels, and send every tree to one component.
    """
    params = draw_params(rng, spec, n_components)
    if spec.structure is None:
        return params
    return params._replace(branching=np.repeat(rate[:, None], n_components, axis=1))


# ---- the passes -------------------------------------------------------------------------------------------------


def to_lanes(x: Floats) -> Floats:
    """[..., component] as kernels take it: components padded with zeros; a single one loses its axis."""
    n_components = x.shape[-1]
    if n_components == 1:
        return np.ascontiguousarray(x[..., 0])
    missing = -n_components % ud.LANES
    if not missing:
        return np.ascontiguousarray(x)
    return np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1)


def from_lanes(x: Floats, n_components: int) -> Floats:
    """Undo `to_lanes`."""
    return x[..., None] if n_components == 1 else x[..., :n_components]


def as_flow(spec: Spec, params: Params) -> ud.Flow:
    """Parameters in the form of the kernels: switch times transition, and sums over absent slots."""
    switch = params.switch
    if spec.absent == "renormalised":
        # Where no present slot has any weight, they share it evenly; see hidden_tree.md.
        switch = np.maximum(switch, TINY)
    flow = params.transition * switch[:, None, None, :]
    tail = np.zeros((0, spec.n_states, switch.shape[1]))
    if spec.absent_is_state:
        tail = np.zeros((spec.n_slots + 1, spec.n_states, switch.shape[1]))
        tail[:-1] = np.cumsum(flow[::-1, spec.n_states], axis=0)[::-1]
    return ud.Flow(*(to_lanes(x) for x in (params.leaf[:, : spec.n_states], params.emission, flow, tail)))


class Workspace(local):
    """Message arrays kept between calls, one set a thread, because fresh pages cost more than the arithmetic."""

    buffer: Floats = np.empty(0)

    def messages(self, n_units: int, n_states: int, lanes: tuple[int, ...]) -> ud.Messages:
        shapes = [(n_units, n_states, *lanes)] * 2 + [(n_units, *lanes)] * 2
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        if len(self.buffer) < ends[-1]:
            self.buffer = np.empty(ends[-1])
        parts = np.split(self.buffer[: ends[-1]], ends[:-1])
        return ud.Messages(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


def unit_bytes(spec: Spec, n_components: int) -> int:
    """Working memory of one unit in the passes, one number a lane for what its tree needs included.

    Cuts between shards depend on it, and with them the last bits of every result.
    """
    n_lanes = 1 if n_components == 1 else n_components + -n_components % ud.LANES
    return 8 * n_lanes * (2 * spec.n_states + 3)


def upward(flow: ud.Flow, shard: SharedForest, n_components: int, workspace: Workspace) -> tuple[ud.Messages, Floats]:
    """Run the upward pass; log P(labels of distinct tree t | component k), without structure terms."""
    _, n_states, *lanes = flow.emission.shape
    messages = workspace.messages(shard.n_units, n_states, tuple(lanes))
    (single if n_components == 1 else ud).upward(shard.units, flow, messages)
    return messages, from_lanes(messages.log_prob[shard.tree_root], n_components)


def empty_sums(spec: Spec, flow: ud.Flow) -> ud.Sums:
    """Zeros in the shapes the downward pass adds to."""
    last = flow.emission.shape[1:]
    absent = (spec.n_slots + 1 if spec.absent_is_state else 0, *last)
    pair = (spec.n_slots, spec.n_states, *last)
    leaf = (spec.n_slots + 1, *last)
    return ud.Sums(*(np.zeros(shape) for shape in (leaf, flow.emission.shape, pair, absent, absent)))


def downward(
    flow: ud.Flow,
    shard: SharedForest,
    messages: ud.Messages,
    weight: Floats,
    sums: ud.Sums,
    posterior: Floats | None = None,
) -> None:
    """Run the downward pass with weight[distinct tree, component]: adds to `sums`, fills posterior[unit] if given."""
    if posterior is None:
        posterior = np.empty((0, *messages.up.shape[1:]))
    weighted = (shard.tree_root, to_lanes(weight))
    (single if weight.shape[1] == 1 else ud).downward(shard.units, flow, messages, weighted, posterior, sums)


def counts_from_sums(spec: Spec, flow: ud.Flow, sums: ud.Sums, shape: ShapeCounts, n_components: int) -> Counts:
    """Expected counts: pair sums times flow, absent sums times the absent flow, and the counts of the shapes."""
    transition = np.empty_like(flow.flow)
    n = spec.n_states
    np.multiply(flow.flow[:, :n], sums.pair, out=transition[:, :n])
    if spec.absent_is_state:
        absent = sums.gap[:-1] + np.cumsum(sums.tail[:-1], axis=0)
        np.multiply(flow.flow[:, n], absent, out=transition[:, n])
    leaf, emission, transition = (from_lanes(x, n_components) for x in (sums.leaf, sums.emission, transition))
    if spec.absent == "slot":
        nothing = np.concatenate([shape.nothing, np.zeros((1, n_components))])
        leaf = np.concatenate([leaf, nothing[:, None]], axis=1)
    return Counts(leaf, emission, transition.sum(axis=(1, 2)), transition, shape.branching, shape.exposure)


# ---- structure terms: what a reading says about the shape, outside the passes -----------------------------------


def needs_structure(spec: Spec) -> bool:
    """Whether the shape of a tree enters its probability."""
    return spec.structure is not None or spec.absent in ("slot", "renormalised")


def structure_log_prob(spec: Spec, params: Params, shard: SharedForest) -> Floats:
    """Log of the structure factor of each distinct tree and component; section 5 of the note."""
    n_lanes = params.switch.shape[1]
    out = np.zeros((shard.n_distinct_trees, n_lanes))
    if not needs_structure(spec):
        return out
    s = shard.structure
    if spec.absent == "slot":  # every absent slot of an internal node is a leaf prior's "nothing there"
        out += _log_power(s.n_internal, s.with_slot, params.leaf[:-1, -1])
    if spec.absent == "renormalised":  # switches point to present children only
        mass = s.pattern @ np.maximum(params.switch, TINY)
        out -= s.with_pattern @ np.log(mass)
    if spec.structure == "branching":
        never = params.branching <= 0
        out += s.in_slot @ np.log(np.where(never, 1.0, params.branching))
        if never.any():
            out[s.in_slot @ never.astype(np.float64) > 0] = -np.inf
        alone = spec.n_slots - spec.pooled  # slots with at most one child: one chance a node, taken or not
        taken = s.with_slot[:, :alone] if spec.pooled else s.with_slot  # a slice is a copy, even of everything
        out += _log_power(s.n_nodes, taken, 1.0 - params.branching[:alone])
        if spec.pooled:  # any number of children: a chance after each, and one that fails
            out += np.multiply.outer(s.n_nodes, np.log1p(-params.branching[-1]))
    return out


def _log_power(total: Floats, taken: Any, prob: Floats) -> Floats:
    """Log of prod_l prob[l, k] ** (total[t] - taken[t, l]); 0 ** 0 is one, 0 to any more is impossible."""
    zero = prob <= 0
    log_prob = np.log(np.where(zero, 1.0, prob))
    out: Floats = np.multiply.outer(total, log_prob.sum(axis=0))
    out -= taken @ log_prob
    if zero.any():
        hits = np.multiply.outer(total, zero.sum(axis=0)) - taken @ zero.astype(np.float64)
        out[hits > 0.5] = -np.inf
    return out


def structure_counts(spec: Spec, params: Params, shard: SharedForest, weight: Floats) -> ShapeCounts:
    """What weight[distinct tree, component] contributes to the counts of the structure terms."""
    n_slots, n_lanes = params.switch.shape
    none = np.zeros((0, n_lanes))
    nothing, branching, exposure = none, np.zeros((2, 0, n_lanes)), none
    if spec.absent == "slot":
        s = shard.structure
        nothing = np.maximum(s.n_internal @ weight - s.with_slot.T @ weight, 0.0)  # rounding
    if spec.absent == "renormalised":
        s = shard.structure
        mass = s.pattern @ np.maximum(params.switch, TINY)
        exposure = s.pattern.T @ ((s.with_pattern.T @ weight) / mass)
    if spec.structure == "branching":
        s = shard.structure
        branching = np.stack([s.with_slot.T @ weight, np.broadcast_to(s.n_nodes @ weight, (n_slots, n_lanes))])
        if spec.pooled:
            branching[0, -1] = (s.in_slot.T @ weight)[-1]
            branching[1, -1] += branching[0, -1]
    return ShapeCounts(nothing, branching, exposure)


def reorder_states(spec: Spec, values: Any, order: NDArray[np.int64]) -> Any:
    """Params or Counts with states renumbered; the absent state, where there is one, stays last."""
    rows = np.append(order, np.arange(spec.n_states, values.leaf.shape[1]))
    children = np.append(order, np.arange(spec.n_states, values.transition.shape[1]))
    return values._replace(
        leaf=values.leaf[:, rows],
        emission=values.emission[:, order],
        transition=values.transition[:, children][:, :, order],
    )


# ---- M-step -----------------------------------------------------------------------------------------------------


def m_step(spec: Spec, counts: Counts, params: Params, priors: Priors) -> Params:
    """Parameters that maximise the expected complete log-likelihood plus log prior; section 4 of the note."""
    leaf_counts = counts.leaf
    leaf = _normalise(leaf_counts, 1, priors.leaf)
    if spec.absent == "slot":
        leaf[-1] = 0.0
        leaf[-1, :-1] = _normalise(leaf_counts[-1, :-1], 0, priors.leaf)
    if spec.absent == "renormalised":
        switch = _switch_mm_step(counts.switch, counts.exposure, params.switch, priors.switch)
    else:
        switch = _normalise(counts.switch, 0, priors.switch)
    return Params(
        leaf=leaf,
        emission=_normalise(counts.emission, 0, priors.emission),
        switch=switch,
        transition=_normalise(counts.transition, 2, priors.transition),
        branching=_bernoulli(counts.branching[0], counts.branching[1], priors.branching),
    )


def _normalise(counts: Floats, axis: int, alpha: float) -> Floats:
    """Posterior mode of a categorical distribution; uniform where there is nothing to go by."""
    x = counts + (alpha - 1.0)
    total = x.sum(axis=axis, keepdims=True)
    empty = total <= TINY
    if empty.any():
        x = np.where(empty, 1.0, x)
        total = np.where(empty, float(x.shape[axis]), total)
    x /= total
    x[x < TINY] = 0.0
    return x


def _bernoulli(hits: Floats, tries: Floats, alpha: float) -> Floats:
    """Posterior mode of a Bernoulli chance under Beta(alpha, alpha); zero where nothing was seen."""
    tries = tries + 2.0 * (alpha - 1.0)
    return np.divide(hits + (alpha - 1.0), tries, out=np.zeros_like(hits), where=tries > 0)


def _switch_mm_step(wins: Floats, exposure: Floats, switch: Floats, alpha: float) -> Floats:
    """One minorise-maximise step for switch weights that are renormalised over the present slots (Bradley-Terry).

    switch_l = (wins_l + alpha - 1) / (exposure_l + c), with c such that the weights sum to one; with alpha = 1 the
    scale is free, so c = 0 and the weights are rescaled.
    """
    wins = wins + (alpha - 1.0)
    if alpha == 1.0:
        raw = np.divide(wins, exposure, out=np.zeros_like(wins), where=exposure > TINY)
        total = raw.sum(axis=0)
        return np.where(total > 0, raw / np.where(total > 0, total, 1.0), switch)
    # sum_l wins / (exposure + c) falls in c; bracket the root of "= 1" and halve.
    low = np.max(wins - exposure, axis=0)  # there the largest term alone is one
    high = np.sum(wins, axis=0) - exposure.min(axis=0)  # there all terms together are at most one
    high = np.maximum(high, low)
    for _ in range(200):
        middle = 0.5 * (low + high)
        above = (wins / (exposure + middle)).sum(axis=0) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    raw = wins / (exposure + high)
    return raw / raw.sum(axis=0)


def log_prior(params: Params, priors: Priors) -> Floats:
    """Log prior density of each component's parameters, up to a constant; zero where every prior is one."""
    total = np.zeros(params.switch.shape[1])
    for name in ("leaf", "emission", "switch", "transition"):
        alpha, value = getattr(priors, name), getattr(params, name)
        if alpha != 1.0:
            # The root's row of the slot reading has no "absent" entry: xlogy would make it -inf.
            logs = xlogy(alpha - 1.0, np.where(value > 0, value, 1.0))
            total += logs.sum(axis=tuple(range(value.ndim - 1)))
    a = priors.branching - 1.0
    if a != 0.0 and params.branching.size:
        total += (xlogy(a, params.branching) + xlog1py(a, -params.branching)).sum(axis=0)
    return total


def log_prior_density(spec: Spec, params: Params, priors: Priors) -> Floats:
    """Log density of each component's parameters under their priors, with the normalising constants.

    With `Spec.rates` that of the branching is the density of its log odds: near zero, where draws of a rare slot lie,
    the density of the chance itself has no bound.
    """
    total = log_prior(params._replace(branching=params.branching[:0]), priors)
    for name in ("leaf", "emission", "switch", "transition"):
        alpha, value, axis = getattr(priors, name), getattr(params, name), getattr(SUM_AXIS, name)
        n = value.shape[axis]
        if n == 0:  # no label was ever seen: there is nothing to be probable
            continue
        n_rows = value[..., 0].size // n
        total += n_rows * (gammaln(n * alpha) - n * gammaln(alpha))
        if name == "leaf" and spec.absent == "slot":  # the root's row is one shorter
            total += gammaln((n - 1) * alpha) - gammaln(n * alpha) + gammaln(alpha)
    a, b = (x[:, None] for x in branching_prior(spec, priors))
    less = 0.0 if spec.rates else 1.0
    chance = params.branching
    return np.asarray(total + (xlogy(a - less, chance) + xlog1py(b - less, -chance) - betaln(a, b)).sum(axis=0))


def n_free_parameters(spec: Spec) -> int:
    """Free parameters of one component."""
    shapes: Any = param_shapes(spec, 1)
    free = 0
    for name in ("leaf", "emission", "switch", "transition"):
        shape, axis = getattr(shapes, name), getattr(SUM_AXIS, name)
        free += int(np.prod(shape)) // shape[axis] * (shape[axis] - 1) if shape[axis] else 0
    if spec.absent == "slot":
        free -= 1  # a root is never absent
    return free + int(np.prod(shapes.branching))
