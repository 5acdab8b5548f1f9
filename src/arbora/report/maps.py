"""Maps of a page: trees or rows by their neighbours, by what parts the groups, and by principal components."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluate.neighbour_map import neighbour_map
from ..evaluate.projection import discriminant_plane, principal_components
from . import columns as col

N_COMPONENTS = 50  # that distances between neighbours are of
FEWEST = 30  # items that have neighbours worth a map

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Marks(NamedTuple):
    """What is put on a map."""

    item: str  # "tree" or "row"
    noun: str  # what a group is
    what: str  # what the codes are
    label: Ints  # group of each


def gather_maps(codes: Any, marks: Marks, shown: Ints) -> dict[str, Any]:
    """The map that a page opens with, and `others` to switch to; every one says what it shows."""
    found, explained = principal_components(codes, N_COMPONENTS)
    place, label = found[shown], marks.label[shown]
    principal = _principal(place, explained, marks)
    parted = discriminant_plane(place, label)
    others = [] if parted is None else [_discriminant(parted, marks)]
    if len(place) < FEWEST or place.shape[1] < 3:
        return {**principal, "others": others}
    return {**_neighbours(place, marks), "others": [*others, principal]}


def gather_plane(model: Any, place: Floats, others: dict[str, Any], marks: Marks) -> dict[str, Any]:
    """The plane that a model itself puts trees on, with its labels; maps of counts to switch to."""
    grid = col.on_grid(place)
    low, high = place.min(axis=0), place.max(axis=0)
    points = np.rint((model.lattice_ - low) / np.maximum(high - low, 1e-12) * col.GRID).clip(-col.FAR, col.FAR)
    words = [col.shortened(str(word)) for word in model.point_labels()]
    trust = f"{model.trustworthiness_:.3f}" if np.isfinite(model.trustworthiness_) else "not known: too few trees"
    about = (
        f"{_each(marks)} The model itself puts it here, new trees too: the mean of its root's point on a lattice of "
        f"{model.side} by {model.side}. Grey words are the likeliest label at each point. Trustworthiness on the "
        f"training trees: {trust}; 1 means that no neighbour here is a stranger by labels and places."
    )
    more = others.pop("others", [])
    own = {"name": "the model's plane", "axes": ["", ""], "about": about, **grid}
    spots = [[int(x), int(y), word] for (x, y), word in zip(points.astype(np.int64).tolist(), words, strict=True)]
    return {**own, "points": spots, "others": [others, *more]}


def gather_lattice(model: Any, label: Ints) -> dict[str, Any]:
    """Likeliest label, and trees, at each point; rows from the top of the plane down, as the map has them."""
    order = np.arange(model.side**2).reshape(model.side, model.side).T[::-1]
    count = np.bincount(label, minlength=model.side**2)
    words = model.point_labels()
    rows = [[[col.shortened(str(words[i])), int(count[i])] for i in row] for row in order.tolist()]
    return {"rows": rows, "used": int((count > 0).sum())}


def _principal(place: Floats, explained: Floats, marks: Marks) -> dict[str, Any]:
    about = (
        f"{_each(marks)} The first two principal components of {marks.what}, rows brought to one length, hold "
        f"{explained[:2].sum():.0%} of the variance: groups that overlap here need not overlap in the model."
    )
    axes = [f"principal component {c + 1}, {explained[c]:.0%} of the variance" for c in range(2)]
    return {"name": "principal components", "axes": axes, "about": about, **col.on_grid(place[:, :2])}


def _discriminant(place: Floats, marks: Marks) -> dict[str, Any]:
    about = (
        f"{_each(marks)} The two directions that part the {marks.noun}s best, chosen with the {marks.noun}s in view: "
        f"that they lie apart here is no evidence for them."
    )
    return {
        "name": f"what parts the {marks.noun}s" if marks.noun != "class" else "what parts the classes",
        "axes": ["discriminant direction 1", "discriminant direction 2"],
        "about": about,
        **col.on_grid(place),
    }


def _neighbours(place: Floats, marks: Marks) -> dict[str, Any]:
    about = (
        f"{_each(marks)} Near ones are alike by {marks.what} (a neighbour embedding, which does not look at the "
        f"{'classes' if marks.noun == 'class' else marks.noun + 's'}); distances between far ones mean little."
    )
    return {"name": "neighbours", "axes": ["", ""], "about": about, **col.on_grid(neighbour_map(place, place[:, :2]))}


def _each(marks: Marks) -> str:
    return f"Each mark is a {marks.item}, or several in one place."
