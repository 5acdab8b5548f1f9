"""Fitted unions as arrays for files, and the checks of arrays that come from anyone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..file_checks import check_array, check_offsets
from ..settings import check_number
from .node_codes import CODES, Code, make_code
from .union_content import N_SUMS, ContentCode, check_moments
from .working_union import (
    Samples,
    Union,
    check_entries,
    member_moments,
)

Ints = NDArray[np.int64]

_PER_UNION = ("parent", "node_count", "entry", "entry_count", "member", "node_match")


def flatten(unions: list[Union], samples: Samples, code: Code) -> dict[str, NDArray[Any]]:
    """Everything that prediction needs, as arrays."""
    arrays: dict[str, NDArray[Any]] = {"n_assigned": np.array([u.n_assigned for u in unions], np.int64)}
    for name in _PER_UNION:
        parts = [np.asarray(getattr(u, name), np.int64) for u in unions]
        arrays[name] = np.concatenate(parts)
        arrays[f"{name}_start"] = np.append(0, np.cumsum([len(p) for p in parts])).astype(np.int64)
    arrays |= {f"sample_{name}": np.asarray(value) for name, value in samples._asdict().items()}
    arrays |= {f"code_{name}": np.asarray(value, np.float64) for name, value in code._asdict().items()}
    arrays["code_family"] = code.family
    return arrays


def unflatten(arrays: dict[str, NDArray[Any]]) -> tuple[list[Union], Samples, Code]:
    """The inverse of `flatten`; arrays that contradict each other are refused."""
    arrays = _with_content(arrays)
    check_array("n_assigned", arrays["n_assigned"], np.int64, (None,), 1)
    n = len(arrays["n_assigned"])
    parts: dict[str, list[Ints]] = {}
    for name in _PER_UNION:
        start, values = arrays[f"{name}_start"], arrays[name]
        check_array(name, values, np.int64, (None,), 0)
        check_offsets(f"{name}_start", start, n, len(values), empty=name.startswith("entry"))
        parts[name] = [values[start[c] : start[c + 1]] for c in range(n)]
    samples = Samples(*(arrays[f"sample_{name}"] for name in Samples._fields))
    unions = [
        Union(
            parts["parent"][c],
            parts["node_count"][c],
            int(arrays["n_assigned"][c]),
            parts["entry"][c],
            parts["entry_count"][c],
            parts["member"][c],
            parts["node_match"][c],
            member_moments(parts["member"][c], parts["node_match"][c], len(parts["parent"][c]), samples),
        )
        for c in range(n)
    ]
    tables = {name: arrays[f"code_{name}"] for name in Code._fields}
    scalars = {name: float(tables[name]) for name in ("node_cost", "noise_cost", "label_strength")}
    return unions, samples, Code(**{**tables, **scalars})  # type: ignore[arg-type]


def _with_content(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays with those of content; files written before there was any lack them."""
    n = len(arrays["sample_parent"])
    none = {
        "sample_moment": np.zeros((n, 0, N_SUMS)),
        "code_family": np.zeros(0, np.int64),
        "code_content_prior": np.zeros((0, 2)),
    }
    return none | arrays


def check_samples(arrays: dict[str, NDArray[Any]], n_labels: int, n_columns: int) -> None:
    """Raise ValueError unless the distinct trees are trees, and each node of each tree of the fit is one of theirs."""
    arrays = _with_content(arrays)
    samples = Samples(*(arrays[f"sample_{name}"] for name in Samples._fields))
    n_nodes, n_distinct = len(samples.parent), len(samples.weight)
    check_array("code_family", arrays["code_family"], np.int64, (n_columns,), 0, 2)
    check_array("code_content_prior", arrays["code_content_prior"], np.float64, (n_columns, 2), 0.0, 1e9)
    check_moments(ContentCode(arrays["code_family"], arrays["code_content_prior"]), samples.moment, n_nodes)
    check_offsets("sample_start", samples.start, n_distinct, n_nodes)
    sizes = np.diff(samples.start)
    check_array("sample_parent", samples.parent, np.int64, (n_nodes,), 0)
    check_array("sample_label", samples.label, np.int64, (n_nodes if n_labels else None,), -1, n_labels - 1)
    place = np.arange(n_nodes) - np.repeat(samples.start[:-1], sizes)
    last = np.repeat(sizes, sizes)
    is_root = place == last - 1
    if (samples.parent <= place).any() or not np.array_equal(samples.parent == last, is_root):
        raise ValueError("a tree of the fit is damaged")
    if (samples.parent > last).any() or len(samples.label) not in (0, n_nodes):
        raise ValueError("a tree of the fit is damaged")
    check_array("sample_sample_id", samples.sample_id, np.int64, (None,), 0, n_distinct - 1)
    check_array("sample_weight", samples.weight, np.int64, (n_distinct,), 1)
    if not np.array_equal(np.bincount(samples.sample_id, minlength=n_distinct), samples.weight):
        raise ValueError("the trees of the fit and their copies contradict each other")
    own = sizes[samples.sample_id]
    check_array("sample_position", samples.position, np.int64, (int(own.sum()),), 0)
    tree = np.repeat(np.arange(len(own)), own)
    order = np.lexsort((samples.position, tree))
    if not np.array_equal(samples.position[order], np.arange(len(tree)) - np.repeat(np.cumsum(own) - own, own)):
        raise ValueError("the trees of the fit and their copies contradict each other")


def check_unions(unions: list[Union], samples: Samples, n_labels: int) -> None:
    """Raise ValueError unless every distinct tree is in one union, and its counts are those of its trees."""
    members = np.concatenate([u.member for u in unions])
    if not np.array_equal(np.sort(members), np.arange(len(samples.weight))):
        raise ValueError("a tree of the fit is in no class, or in two")
    for u in unions:
        n = u.n_nodes
        if (u.parent <= np.arange(n)).any() or (u.parent > n).any() or u.n_assigned != samples.weight[u.member].sum():
            raise ValueError("a union's order is damaged")
        node = np.concatenate([np.arange(samples.start[t], samples.start[t + 1]) for t in u.member])
        check_array("node_match", u.node_match, np.int64, (len(node),), 0, n - 1)
        weight = np.repeat(samples.weight[u.member], np.diff(samples.start)[u.member])
        if not np.array_equal(np.bincount(u.node_match, weight, n), u.node_count):
            raise ValueError("the counts of the nodes are not those of the trees")
        check_entries(u, n_labels)
        label = samples.label[node] if n_labels else np.zeros(0, np.int64)
        known = np.flatnonzero(label >= 0)
        key = u.node_match[known] * n_labels + label[known]
        entry, at = np.unique(key, return_inverse=True)
        count = np.bincount(at.reshape(-1), weight[known], len(entry))
        if not (np.array_equal(entry, u.entry) and np.array_equal(count, u.entry_count)):
            raise ValueError("the counts of labels are not those of the trees")


def check_code(code: Code, n_trees: int, n_labels: int) -> None:
    """Raise ValueError unless the tables are those of a known code; the search trusts their curvature."""
    check_number("code_node_cost", code.node_cost, 1e-9, 1e9)
    if code.noise_cost != np.inf:
        check_number("code_noise_cost", code.noise_cost, code.node_cost, 1e100)
    check_number("code_label_strength", code.label_strength, 1e-9, 1e9)
    check_array("code_label_prior", code.label_prior, np.float64, (n_labels,), 1e-300, 1.0)
    if n_labels and not np.isclose(code.label_prior.sum(), 1.0):
        raise ValueError("the shares of the labels do not sum to one")
    tables = ("top", "present", "absent")
    for name in tables:
        check_array(f"code_{name}", getattr(code, name), np.float64, (n_trees + 2,))
    known = [make_code(name, n_trees + 1, 1.0) for name in CODES]
    if not any(all(np.allclose(getattr(code, t), getattr(one, t)) for t in tables) for one in known):
        raise ValueError("the tables of the code are of no code that is known")
