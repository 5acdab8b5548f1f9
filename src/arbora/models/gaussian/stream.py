"""Rows that come after a fit: particles that start from its groups, as arrays, moved on, read out and checked."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..file_checks import check_array
from ..rows import FARTHEST
from . import sampler as gs
from .kernels import nested_gaussian as ng
from .kernels import particles as pt
from .kernels.particles import Cloud, Plan

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

FLOOR = 1e-7  # probability below which a seating is not followed
SPARE = 8  # slots that a pool begins with beside those in use
WHOLE = tuple(name for name in ng.Pool._fields if name in
              ("number", "home", "size", "n_sub", "subs", "sub_at", "clusters", "cluster_at", "n_used"))  # fmt: skip


class Stream(NamedTuple):
    """What changes from row to row."""

    cloud: Cloud
    rows: Floats  # those of the window, in the space of the model
    given: Ints  # name of the cluster of each, where it is known, else -1
    n_seen: int  # rows in all, those of the fit among them
    number: int  # rows of the stream
    clusters: Ints  # names of clusters that have a number: the place in this list
    subs: Ints  # [sub-cluster, 2]: names of cluster and sub-cluster of those that have a number


class Point(NamedTuple):
    """The groups of a fit: sub-clusters as number of rows, mean and scatter, and the scale matrix of each cluster."""

    n_rows: Ints
    mean: Floats
    cluster: Ints
    psi: Floats  # [cluster, column, column]


class Seated(NamedTuple):
    """What is said of rows of a stream, in their order."""

    label: Ints  # number of the cluster
    sublabel: Ints  # number of the sub-cluster
    new: Floats  # probability that the row opens a sub-cluster, when it came
    surprise: Floats  # -log predictive density given all rows before it, in the units of the data
    size: Floats  # effective number of particles
    dropped: Floats  # probability of what was too improbable to be followed


def sampler_of(setting: gs.GibbsSettings, n_rows: int) -> gs.NestedGibbs:
    """The model with tables for so many rows."""
    return gs.NestedGibbs(np.empty((n_rows + 2, setting.base.shape[0])), setting)


def new_cloud(n_particles: int, n_slots: int, d: int, n_rows: int) -> Cloud:
    """Room for particles."""
    pool = ng.new_pool(n_slots, d)
    whole = [np.zeros((n_particles, *one.shape), one.dtype) for one in pool]
    names = [np.zeros((n_particles, len(pool.home)), np.int64) for _ in range(2)]
    return Cloud(ng.Pool(*whole), names[0], names[1], np.zeros((n_particles, n_rows), np.int64), np.ones(n_particles))


def first_stream(point: Point, hyper: ng.Hyper) -> Stream:
    """One particle: the groups of the fit, named by their numbers."""
    n_subs, d = point.mean.shape
    cloud = new_cloud(1, n_subs + SPARE, d, 0)
    pool = ng.Pool(*(one[0] for one in cloud.pools))
    for slots in (pool.subs, pool.sub_at, pool.clusters, pool.cluster_at):
        slots[:] = np.arange(len(slots))
    n_clusters = len(point.psi)
    pool.n_used[:] = n_subs, n_clusters
    pool.number[:n_subs], pool.home[:n_subs] = point.n_rows, point.cluster
    pool.total[:n_subs] = point.n_rows[:, None] * point.mean
    share = 1.0 / (1.0 + hyper.spread * point.n_rows)
    pool.size[:n_clusters] = np.bincount(point.cluster, point.n_rows, n_clusters)
    pool.n_sub[:n_clusters] = np.bincount(point.cluster, minlength=n_clusters)
    pool.kappa[:n_clusters] = hyper.kappa0 + np.bincount(point.cluster, point.n_rows * share, n_clusters)
    np.add.at(pool.moment, point.cluster, share[:, None] * pool.total[:n_subs])
    pool.chol[:n_clusters] = np.linalg.cholesky(point.psi)
    pool.log_det[:n_clusters] = 2.0 * np.log(np.diagonal(pool.chol[:n_clusters], axis1=1, axis2=2)).sum(axis=1)
    for r in range(n_clusters):
        ng.settle(pool, hyper, r)
    cloud.sub_name[0] = cloud.cluster_name[0] = np.arange(cloud.sub_name.shape[1])
    subs = np.column_stack([point.cluster, np.arange(n_subs)])
    return Stream(
        cloud, np.zeros((0, d)), np.zeros(0, np.int64), int(point.n_rows.sum()), 0, np.arange(n_clusters), subs
    )


def in_room(cloud: Cloud, n_particles: int, n_slots: int, n_rows: int) -> Cloud:
    """The same particles where there is room for more of all; seats are of the first rows."""
    n, old, d = len(cloud.weight), cloud.sub_name.shape[1], cloud.pools.total.shape[2]
    out = new_cloud(n_particles, n_slots, d, n_rows)
    for name, one in cloud.pools._asdict().items():
        place = getattr(out.pools, name)
        width = slice(None) if name == "n_used" else slice(0, old)
        place[:n, width] = one
    for name in ("subs", "sub_at", "clusters", "cluster_at"):
        getattr(out.pools, name)[:, old:] = np.arange(old, out.sub_name.shape[1])
    out.sub_name[:n, :old], out.cluster_name[:n, :old] = cloud.sub_name, cloud.cluster_name
    out.seat[:n, : cloud.seat.shape[1]] = cloud.seat
    return out._replace(weight=cloud.weight)


def _alive(cloud: Cloud, first_row: int = 0) -> Cloud:
    """A copy of the particles alone, and of their seats from a row on."""
    n = len(cloud.weight)
    pools = ng.Pool(*(one[:n].copy() for one in cloud.pools))
    seat = cloud.seat[:n, first_row:].copy()
    return Cloud(pools, cloud.sub_name[:n].copy(), cloud.cluster_name[:n].copy(), seat, cloud.weight.copy())


def move_on(stream: Stream, x: Floats, given: Ints, hyper: ng.Hyper, plan: Plan) -> tuple[Stream, Seated]:
    """Seat more rows; `given` has the name of the cluster of each, or -1, `plan` all but numbers of rows."""
    rows = np.ascontiguousarray(np.vstack([stream.rows, x]))
    given = np.concatenate([stream.given, given])
    n_before, n = len(stream.rows), len(rows)
    said, named = np.empty((len(x), 4)), np.empty((n, 2), np.int64)
    cloud, first, n_slots = stream.cloud, n_before, stream.cloud.sub_name.shape[1]
    while first < n:
        room = n_slots - ng.N_SCRATCH
        cloud = _alive(in_room(cloud, len(cloud.weight), room, n))
        rooms = (new_cloud(plan.most, room, x.shape[1], n), new_cloud(plan.most, room, x.shape[1], n))
        # A step writes up to plan.most particles.
        now = plan._replace(first=first, number=stream.number - n_before, n_before=stream.n_seen + first - n_before)
        done, lo, cloud = pt.follow((rows, given), cloud, rooms, hyper, now, (said[first - n_before :], named))
        first, n_slots = done, 2 * n_slots + plan.n_moves
    cloud = _alive(cloud, lo) if n > n_before else cloud
    lo = lo if n > n_before else 0
    clusters, subs = _numbered(stream, named[n_before:])
    out = Stream(
        cloud, rows[lo:].copy(), given[lo:].copy(), stream.n_seen + len(x), stream.number + len(x), clusters, subs
    )
    label, sublabel = numbers_of(out, named[n_before:])
    return out, Seated(label, sublabel, said[:, pt.NEW], -said[:, pt.GAIN], said[:, pt.SIZE], said[:, pt.DROPPED])


def _numbered(stream: Stream, named: Ints) -> tuple[Ints, Ints]:
    """Names that have a number, those of more rows among them."""
    clusters, subs = dict.fromkeys(stream.clusters.tolist()), dict.fromkeys(map(tuple, stream.subs.tolist()))
    clusters |= dict.fromkeys(named[:, 0].tolist())
    subs |= dict.fromkeys(map(tuple, named.tolist()))
    return np.array(list(clusters), np.int64), np.array(list(subs), np.int64).reshape(-1, 2)


def numbers_of(stream: Stream, named: Ints) -> tuple[Ints, Ints]:
    """Numbers of named clusters and sub-clusters, -1 for those that have none."""
    cluster = {name: k for k, name in enumerate(stream.clusters.tolist())}
    sub = {tuple(pair): k for k, pair in enumerate(stream.subs.tolist())}
    pairs = named.tolist()
    return (
        np.array([cluster.get(pair[0], -1) for pair in pairs], np.int64),
        np.array([sub.get(tuple(pair), -1) for pair in pairs], np.int64),
    )


def pool_of(stream: Stream, p: int) -> ng.Pool:
    """One of the particles."""
    return ng.Pool(*(one[p] for one in stream.cloud.pools))


def in_columns(pool: ng.Pool, hyper: ng.Hyper, seen: Ints) -> ng.Pool:
    """A particle as it is in some columns: blocks of its sums and matrices; `hyper` is that of these columns."""
    if len(seen) == pool.total.shape[1]:
        return pool
    blocks = {
        name: np.ascontiguousarray(getattr(pool, name)[:, seen]) for name in ("total", "mean", "moment", "new_mean")
    }
    kept = {
        name: getattr(pool, name).copy() for name in ("shrink", "constant", "new_shrink", "new_constant", "log_det")
    }
    out = pool._replace(**blocks, **kept, chol=np.zeros((len(pool.chol), len(seen), len(seen))))
    for r in pool.clusters[: pool.n_used[1]].tolist():
        root = np.tril(pool.chol[r])[seen]
        out.chol[r] = np.linalg.cholesky(root @ root.T)
        out.log_det[r] = 2.0 * np.log(np.diag(out.chol[r])).sum()
        ng.settle(out, hyper, r)
    return out


def entries(stream: Stream, p: int, prior: int) -> tuple[Ints, Ints]:
    """Cluster and sub-cluster of each weight of particle p, -1 for new ones and for those without a number."""
    cloud = stream.cloud
    pool = pool_of(stream, p)
    subs, clusters = pool.subs[: pool.n_used[0]], pool.clusters[: 0 if prior == ng.SINGLE else pool.n_used[1]]
    named = np.column_stack([cloud.cluster_name[p, pool.home[subs]], cloud.sub_name[p, subs]])
    label, sublabel = numbers_of(stream, named)
    own, _ = numbers_of(stream, np.column_stack([cloud.cluster_name[p, clusters], np.zeros(len(clusters), np.int64)]))
    return np.concatenate([label, own, [-1]]), np.concatenate([sublabel, np.full(len(clusters) + 1, -1)])


# ---- files ----------------------------------------------------------------------------------------------------------


def pack(stream: Stream) -> Arrays:
    """The stream as arrays; `unpack` undoes it."""
    out: Arrays = {f"pool_{name}": one for name, one in stream.cloud.pools._asdict().items()}
    out |= {name: one for name, one in stream.cloud._asdict().items() if name != "pools"}
    counts = np.array([stream.n_seen, stream.number])
    return out | {
        "rows": stream.rows,
        "given": stream.given,
        "counts": counts,
        "clusters": stream.clusters,
        "subs": stream.subs,
    }


def unpack(arrays: Arrays, d: int, n_fitted: int) -> Stream:
    """The stream that was packed; raises ValueError unless kernels can go on with it."""
    check_array("counts", arrays["counts"], np.int64, (2,), 0, 2**40)
    n_seen, number = arrays["counts"].tolist()
    check_array("weight", arrays["weight"], np.float64, (None,), 0.0, 1.0 + 1e-9)
    n, n_slots = len(arrays["weight"]), arrays["sub_name"].shape[-1]
    model = new_cloud(1, max(n_slots - ng.N_SCRATCH, 0), d, 0)
    if not n or n_slots <= ng.N_SCRATCH or n_seen != n_fitted + number:
        raise ValueError("particles without slots, or of other rows")
    for name, one in model.pools._asdict().items():
        found = arrays[f"pool_{name}"]
        most = n_slots - 1 if name in WHOLE else FARTHEST**2
        low = 0 if name in WHOLE else -(FARTHEST**2)
        if name in ("number", "size", "n_sub"):
            most = n_seen
        if name == "n_used":
            most = n_slots - ng.N_SCRATCH
        check_array(f"pool_{name}", found, one.dtype.type, (n, *one.shape[1:]), low, most)
    window = arrays["rows"]
    check_array("rows", window, np.float64, (None, d), -FARTHEST, FARTHEST)
    check_array("given", arrays["given"], np.int64, (len(window),), -1)
    check_array("seat", arrays["seat"], np.int64, (n, len(window)), 0, n_slots - 1)
    for name in ("sub_name", "cluster_name"):
        check_array(name, arrays[name], np.int64, (n, n_slots), 0)
    check_array("clusters", arrays["clusters"], np.int64, (None,), 0)
    check_array("subs", arrays["subs"], np.int64, (None, 2), 0)
    if len(window) > number:
        raise ValueError("a window of more rows than there were")
    pools = ng.Pool(*(arrays[f"pool_{name}"].copy() for name in ng.Pool._fields))
    cloud = Cloud(pools, *(arrays[name].copy() for name in Cloud._fields[1:]))
    return Stream(cloud, window.copy(), arrays["given"].copy(), n_seen, number, arrays["clusters"], arrays["subs"])
