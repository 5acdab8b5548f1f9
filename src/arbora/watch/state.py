"""All that a watcher holds beside its model and settings, as arrays: made, checked, written and read."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.file_checks import check_array, check_offsets
from ..models.patterns.fitted import Model
from ..models.patterns.marginals import DISCOUNT
from .drift import Drift, new_drift
from .kernels.betting import Bets
from .kernels.urns import Slots, Stream, Urn, fill_logs
from .rows import no_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

RARE = 0.02  # share of patterns without a column, for model files that do not hold it
LEAST_RARE = 1e-4


class Cloud(NamedTuple):
    """Particles over the trees of the window."""

    rows: Stream  # trees of the window
    label: Ints  # [particle, tree of the window]
    weight: Floats  # [particle]


class State(NamedTuple):
    """What changes from tree to tree."""

    slots: Slots
    cloud: Cloud
    drift: Drift
    seen: Ints  # [bin]: surprises so far, halved now and then
    opened: Ints  # tree that opened each group that the stream has brought, in order of their numbers
    number: int  # trees so far


def make_urn(model: Model, rare: Floats | None, n_buckets: int) -> Urn:
    """What all groups share; with no buckets, patterns without a column do not count."""
    alpha = model.strengths[model.family] * model.share
    n_families = len(model.strengths)
    if n_buckets:
        alpha = np.append(alpha, np.repeat(model.strengths / n_buckets, n_buckets))
        rare = np.full(n_families, RARE) if rare is None else rare
        rare = np.clip(rare, LEAST_RARE, 1.0 - LEAST_RARE)
    else:
        rare = np.zeros(0)
    discount = DISCOUNT if model.prior.kind == "pitman-yor" else 0.0
    return Urn(alpha, np.log(alpha), model.strengths.copy(), rare, model.weight, model.prior.concentration, discount)


def fitted_slots(model: Model, urn: Urn, n_spare: int) -> Slots:
    """The groups of a fit, and empty slots; patterns without a column have their share in each."""
    n_fitted, n_columns = len(model.sums.size), len(urn.alpha)
    n_slots = n_fitted + n_spare
    count = np.zeros((n_columns, n_slots), np.int32)
    count[: model.sums.count.shape[1], :n_fitted] = model.sums.count.T
    total = np.zeros((3, len(model.strengths), n_slots), np.int64)
    total[0, :, :n_fitted] = model.totals()
    if len(urn.rare):
        total[1, :, :n_fitted] = np.rint(total[0, :, :n_fitted] * (urn.rare / (1.0 - urn.rare))[:, None])
    size, name = np.zeros(n_slots, np.int64), np.full(n_slots, -1, np.int64)
    size[:n_fitted], name[:n_fitted] = model.sums.size, np.arange(n_fitted)
    slots = Slots(count, np.empty((n_columns, n_slots)), total, size, name, np.full(n_slots, -1, np.int64))
    fill_logs(urn, slots)
    return slots


def first_state(model: Model, urn: Urn, n_spare: int, n_bins: int) -> State:
    """The state before the first tree."""
    cloud = Cloud(no_rows(len(model.strengths)), np.zeros((1, 0), np.int64), np.ones(1))
    drift = new_drift(len(model.sums.size))
    return State(fitted_slots(model, urn, n_spare), cloud, drift, np.zeros(n_bins, np.int64), np.zeros(0, np.int64), 0)


# ---- as arrays ------------------------------------------------------------------------------------------------------


def pack(state: State) -> Arrays:
    """The state as arrays; `unpack` undoes it."""
    out: Arrays = {f"slots.{key}": x for key, x in state.slots._asdict().items() if key != "logs"}
    out |= {f"rows.{key}": x for key, x in state.cloud.rows._asdict().items()}
    out |= {"label": state.cloud.label, "weight": state.cloud.weight, "seen": state.seen, "opened": state.opened}
    for kind, bets in state.drift._asdict().items():
        out |= {f"{kind}.{key}": getattr(bets, key) for key in ("seen", "share", "sum", "log", "since")}
    return out | {"number": np.array([state.number])}


def unpack(arrays: Arrays, start: State, urn: Urn) -> State:
    """The state that was packed, of the same sizes as the one given; raises ValueError unless it is one."""
    wanted = {key: x for key, x in pack(start).items() if key not in ("label", "weight", "opened", "number")}
    for key, x in wanted.items():
        if not key.startswith("rows."):
            check_array(key, arrays[key], x.dtype.type, x.shape)
    check_array("number", arrays["number"], np.int64, (1,), 0, 2**60)
    number = int(arrays["number"][0])
    held: Arrays = {key: arrays[f"slots.{key}"].copy() for key in Slots._fields if key != "logs"}
    slots = Slots(logs=np.empty(start.slots.logs.shape), **held)
    check_array("size", slots.size, np.int64, slots.size.shape, 0, 2**60)
    check_array("count", slots.count, np.int32, slots.count.shape, 0)
    fill_logs(urn, slots)
    drift = Drift(*(_bets(arrays, kind, getattr(start.drift, kind)) for kind in Drift._fields))
    check_array("opened", arrays["opened"], np.int64, (None,), 0, number)
    return State(
        slots, _cloud(arrays, urn, len(slots.size), number), drift, arrays["seen"].copy(), arrays["opened"], number
    )


def _bets(arrays: Arrays, kind: str, start: Bets) -> Bets:
    held = {key: arrays[f"{kind}.{key}"].copy() for key in ("seen", "share", "sum", "log", "since")}
    check_array(f"{kind}.seen", held["seen"], np.int64, start.seen.shape, 0)
    return start._replace(**held)


def _cloud(arrays: Arrays, urn: Urn, n_slots: int, number: int) -> Cloud:
    """The particles of a file: kernels look at no bounds."""
    rows = Stream(*(arrays[f"rows.{key}"] for key in Stream._fields))
    n = len(rows.size)
    check_array("rows.size", rows.size, np.int64, (n, 3, len(urn.strength)), 0, 2**40)
    check_offsets("rows.start", rows.start, n, len(rows.column), empty=True)
    check_array("rows.column", rows.column, np.int32, (None,), 0, len(urn.alpha) - 1)
    label, weight = arrays["label"], arrays["weight"]
    check_array("label", label, np.int64, (len(weight), n), -n, n_slots - 1)
    check_array("weight", weight, np.float64, (None,), 0.0, 1.0 + 1e-9)
    if not len(weight) or n > number or (-1 - label > np.arange(n)).any():
        raise ValueError("particles with groups that no tree opened")
    return Cloud(rows, label, weight)


def digest(state: State) -> str:
    """A checksum of the whole state."""
    total = hashlib.sha256()
    for key, x in sorted(pack(state).items()):
        total.update(f"{key}{x.dtype}{x.shape}".encode())
        total.update(np.ascontiguousarray(x).tobytes())
    return total.hexdigest()
