"""Sequential Monte Carlo over the groups of the trees of a window (Fearnhead 2004).

A particle is one assignment of the trees of the window; no two are alike.  A label is a slot, or -1 - i for the group
that tree i of the window opened, so a group has the same name in all particles.  Every group a tree may join is tried
in every particle; then `thin_out` leaves so many.  A tree that leaves the window goes for good into the group that most
weight is on, and particles that say otherwise are dropped: their weight is the error of this step.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...inference.kernels.resampling import branch, thin_out, uniform
from ...jit import jit
from .urns import BUCKETS, KNOWN, REST, Slots, Stream, Urn, clear, log_family, put, score_slots

# Columns of what a step says in numbers, and in whole numbers.
PROBABILITY, NEW, SIZE, DROPPED, GAIN, FROZEN = range(6)
LABEL, ALIVE, PLACED, BORN, RETIRED = range(5)


class Frame(NamedTuple):
    """What all groups share, and the groups."""

    urn: Urn
    slots: Slots


class View(NamedTuple):
    """Trees lo, lo + 1, ... before tree i are the window."""

    stream: Stream
    lo: int
    i: int


class Cloud(NamedTuple):
    """Particles; columns of `label` before the window are of trees that are final."""

    label: NDArray[np.int64]  # [particle, tree]
    weight: NDArray[np.float64]  # [particle]


class Plan(NamedTuple):
    """What a run of steps is given."""

    first: int  # first tree that is not of the window
    number: int  # that of tree 0 in the stream
    next_name: int  # that the next new group gets
    most: int  # particles
    window: int
    n_fitted: int  # slots of the fit
    seed: int
    floor: float  # probability below which an assignment is not followed


@jit
def find_shared(view, mark, shared_out):
    """Which patterns of tree i the trees of the window have: shared[tree of the window, pattern]."""
    stream, lo, i = view
    at = stream.start[i]
    n = stream.start[i + 1] - at
    for e in range(n):
        mark[stream.column[at + e]] = e + 1
    for w in range(lo, i):
        shared_out[w - lo, :n] = 0
        for x in range(stream.start[w], stream.start[w + 1]):
            e = mark[stream.column[x]]
            if e > 0:
                shared_out[w - lo, e - 1] = 1
    for e in range(n):
        mark[stream.column[at + e]] = 0


@jit
def score_joint(frame, view, shared, label, g):
    """log p(tree i | slot or opened group g with its trees of the window), unweighted, and the number of these."""
    (urn, slots), (stream, lo, i) = frame, view
    at = stream.start[i]
    n = stream.start[i + 1] - at
    n_families = urn.strength.shape[0]
    own, more = stream.size[i], np.zeros((3, n_families), np.int64)
    extra = np.zeros(n, np.int64)
    members = 0
    for w in range(lo, i):
        if label[w] == g:
            members += 1
            more += stream.size[w]
            for e in range(n):
                extra[e] += shared[w - lo, e]
    out = 0.0
    for f in range(n_families):
        if g >= 0:
            for kind in range(3):
                more[kind, f] += slots.total[kind, f, g]
        out += log_family(urn, f, more[KNOWN, f], more[REST, f], more[BUCKETS, f], own)
    for e in range(n):
        j = stream.column[at + e]
        before = slots.count[j, g] if g >= 0 else 0
        if extra[e] > 0:
            out += math.log(urn.alpha[j] + before + extra[e])
        else:
            out += slots.logs[j, g] if g >= 0 else urn.log_alpha[j]
    return out, members


@jit
def like_particle(label, view, p, g):
    """An earlier particle in which group g has the same trees of the window as in particle p, or -1."""
    for q in range(p):
        same = True
        for w in range(view.lo, view.i):
            if (label[q, w] == g) != (label[p, w] == g):
                same = False
                break
        if same:
            return q
    return -1


@jit
def score_children(frame, view, shared, cloud, scores, child_out):
    """Log prior weight and weighted log predictive of every group in every particle, [particle, slot, then opener].

    What is left of the width is -inf.  `scores` are those of slots without the window, and of no group.
    """
    (urn, slots), lo, i = frame, view.lo, view.i
    base, new = scores
    n_slots = slots.size.shape[0]
    child_out[:] = -np.inf
    for p in range(child_out.shape[0]):
        label, n_groups = cloud.label[p], 0
        for k in range(n_slots):
            if slots.size[k] > 0:
                n_groups += 1
                child_out[p, k] = urn.weight * base[k] + math.log(slots.size[k] - urn.discount)
        for w in range(lo, i):
            g = label[w]
            first = True
            for v in range(lo, w):
                if label[v] == g:
                    first = False
                    break
            if not first:
                continue
            n_groups += g < 0
            place = g if g >= 0 else n_slots + (-1 - g) - lo
            q = like_particle(cloud.label, view, p, g)
            if q >= 0:
                child_out[p, place] = child_out[q, place]
                continue
            score, members = score_joint(frame, view, shared, label, g)
            members += slots.size[g] if g >= 0 else 0
            child_out[p, place] = urn.weight * score + math.log(members - urn.discount)
        prior = math.log(urn.concentration + urn.discount * n_groups)
        child_out[p, n_slots + i - lo] = urn.weight * new + prior


@jit
def grow(children, label, view, n_slots, most, u):
    """The particles after tree i: their labels and weights."""
    lo, i = view.lo, view.i
    flat = np.flatnonzero(children.ravel() > 0.0)
    kept = thin_out(children.ravel()[flat], most, u)
    alive = np.flatnonzero(kept > 0.0)
    out, weight = np.empty((len(alive), label.shape[1]), np.int64), kept[alive]
    weight /= weight.sum()
    width = children.shape[1]
    for x in range(len(alive)):
        p, g = flat[alive[x]] // width, flat[alive[x]] % width
        out[x, lo:i] = label[p, lo:i]
        out[x, i] = g if g < n_slots else -1 - (lo + g - n_slots)
    return Cloud(out, weight)


@jit
def free_slot(frame, cloud, view, n_fitted):
    """An empty slot, and the name of the group that was put aside for it, or -1.

    That is the group of which the window has least, by the weight of the particles, and longest none.
    """
    urn, slots = frame
    n_slots = slots.size.shape[0]
    for k in range(n_slots):
        if slots.name[k] < 0:
            return k, -1
    use = np.zeros(n_slots)
    for p in range(cloud.label.shape[0]):
        for k in np.unique(cloud.label[p, view.lo : view.i + 1]):
            if k >= 0:
                use[k] += cloud.weight[p]
    oldest = n_fitted
    for k in range(n_fitted + 1, n_slots):
        if use[k] < use[oldest] or (use[k] == use[oldest] and slots.last[k] < slots.last[oldest]):
            oldest = k
    name = slots.name[oldest]
    clear(urn, slots, oldest)
    return oldest, name


@jit
def without(cloud, view, slot):
    """The particles that have no tree of the window in a slot, and the weight on them; there are some."""
    stay = np.ones(cloud.label.shape[0], np.bool_)
    for p in range(cloud.label.shape[0]):
        for w in range(view.lo, view.i + 1):
            if cloud.label[p, w] == slot:
                stay[p] = False
    left = cloud.weight[stay]
    return Cloud(cloud.label[stay], left / left.sum()), left.sum()


@jit
def freeze(frame, cloud, view, n_fitted, number, next_name):
    """Put the oldest tree of the window into its most probable group; drop particles that have it elsewhere.

    Returns the particles, the weight on that group, its slot, and the names of a group that was born and of one that
    was put aside, or -1.
    """
    (urn, slots), (stream, lo, i) = frame, view
    label, weight = cloud
    best, most = label[0, lo], -1.0
    for p in range(label.shape[0]):
        on = 0.0
        for q in range(label.shape[0]):
            if label[q, lo] == label[p, lo]:
                on += weight[q]
        if on > most + 1e-12:
            best, most = label[p, lo], on
    stay = np.flatnonzero(label[:, lo] == best)
    cloud = Cloud(label[stay], weight[stay] / weight[stay].sum())
    born = retired = -1
    slot = best
    if best < 0:
        slot, retired = free_slot(frame, cloud, view, n_fitted)
        if retired >= 0:
            cloud, left = without(cloud, view, slot)
            most *= left
        born = next_name
        slots.name[slot] = born
        for p in range(cloud.label.shape[0]):
            for w in range(lo, i + 1):
                if cloud.label[p, w] == best:
                    cloud.label[p, w] = slot
    put(urn, slots, stream, lo, slot, number + lo)
    return cloud, min(most, 1.0), slot, born, retired


@jit
def best_label(children, slots, view, number):
    """The group of most weight, its name or -2 - n if tree number n opened it; its weight, and that of new ones."""
    n_slots = slots.size.shape[0]
    on = children.sum(axis=0)
    best = int(np.argmax(on))
    label = slots.name[best] if best < n_slots else -2 - (number + view.lo + best - n_slots)
    return label, on[best] / on.sum(), on[n_slots + view.i - view.lo] / on.sum()


@jit
def watch(frame, stream, cloud, plan, said_out, whole_out):
    """Take trees `plan.first` and on, of the rows; those before are the window.

    Returns where the window now begins, and the particles.
    """
    urn, slots = frame
    n_slots, n = slots.size.shape[0], stream.start.shape[0] - 1
    lo, next_name, longest = 0, plan.next_name, 0
    for i in range(n):
        longest = max(longest, stream.start[i + 1] - stream.start[i])
    shared = np.zeros((plan.window + 1, longest), np.uint8)
    mark = np.zeros(urn.alpha.shape[0], np.int64)
    base = np.empty(n_slots)
    for i in range(plan.first, n):
        view = View(stream, lo, i)
        new = score_slots(urn, slots, stream, i, base)
        find_shared(view, mark, shared)
        child = np.empty((len(cloud.weight), n_slots + plan.window + 1))
        score_children(frame, view, shared, cloud, (base, new), child)
        log_seats = math.log(slots.size.sum() + i - lo + urn.concentration)
        children, gain, dropped = branch(child, cloud.weight, log_seats, plan.floor)
        said, whole = said_out[i - plan.first], whole_out[i - plan.first]
        whole[LABEL], said[PROBABILITY], said[NEW] = best_label(children, slots, view, plan.number)
        cloud = grow(children, cloud.label, view, n_slots, plan.most, uniform(plan.seed, plan.number + i, 0))
        said[SIZE], said[DROPPED], said[GAIN], said[FROZEN] = 1.0 / (cloud.weight**2).sum(), dropped, gain, 1.0
        whole[ALIVE], whole[PLACED], whole[BORN], whole[RETIRED] = len(cloud.weight), -1, -1, -1
        if i - lo + 1 > plan.window:
            cloud, said[FROZEN], slot, whole[BORN], whole[RETIRED] = freeze(
                frame, cloud, view, plan.n_fitted, plan.number, next_name
            )
            whole[PLACED] = slots.name[slot]
            next_name += whole[BORN] >= 0
            lo += 1
    return lo, cloud
