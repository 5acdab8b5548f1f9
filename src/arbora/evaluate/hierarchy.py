"""Hierarchy: data sorted into a tree of groups, level by level, and what can be made of it.

Nodes are numbered from the root down, level by level, larger ones first; node 0, level 0, holds all data.  Flat
columns, as in a `Forest`, but parents come before children: one ascending loop goes down, a descending one up.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import notebook
from ..errors import MissingDependencyError
from .stored_hierarchy import HierarchyError, stored_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree of groups of data.

    Parameters
    ----------
    parent : ndarray of shape (n_nodes,)
        Parent of each node, -1 for the root.
    level : ndarray of shape (n_nodes,)
        Level of each node; the root has level 0.
    leaf : ndarray of shape (n_data,)
        Node of each datum farthest from the root.  All nodes above it hold the datum too.
    names : tuple of str
        Name of each datum.
    node_weight : ndarray of shape (n_nodes, n_components) or None
        Weight of each component at each node, if the model has it.

    Examples
    --------
    >>> import numpy as np
    >>> from arbora import Hierarchy
    >>> tree = Hierarchy.from_levels([np.array([0, 0, 1]), np.array([0, 1, 2])])
    >>> tree.n_data, tree.labels(1).tolist()
    (3, [0, 0, 1])
    """

    parent: Ints  # [node], -1 at the root
    level: Ints  # [node], 0 at the root
    leaf: Ints  # [datum]
    names: tuple[str, ...]  # [datum]
    node_weight: Floats | None = None  # [node, component], rows sum to one

    @classmethod
    def from_levels(
        cls,
        levels: ArrayLike,
        names: Sequence[str] | None = None,
        node_weight: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Build the tree from the groups of each level, [level, datum], coarse to fine, below a root that holds all.

        Data that share a group must share one on all coarser levels.  `node_weight[l]` has a row for each number that
        `levels[l - 1]` may hold, and `node_weight[0]` the one row of the root.

        Parameters
        ----------
        levels : array of shape (n_levels, n_data)
            Group of each datum on each level, coarse to fine.
        names : sequence of str or None, default None
            Names of the data.
        node_weight : dict or None, default None
            Weight of each node.

        Returns
        -------
        Hierarchy
            The hierarchy.

        Examples
        --------
        >>> tree = Hierarchy.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]])
        >>> tree.parent.tolist(), tree.level.tolist(), tree.size.tolist()
        ([-1, 0, 0, 1, 1, 2], [0, 1, 1, 2, 2, 2], [4, 3, 1, 2, 1, 1])
        """
        table = np.asarray(levels)
        if table.ndim != 2 or table.dtype.kind not in "iu" or table.shape[1] == 0:
            raise HierarchyError(f"levels: {table.dtype} of shape {table.shape}; wanted integers [level, datum]")
        n_data = table.shape[1]
        parent, level = [np.full(1, -1, np.int64)], [np.zeros(1, np.int64)]
        above, n_nodes = np.zeros(n_data, np.int64), 1
        weight = None if node_weight is None else [np.atleast_2d(np.asarray(node_weight[0], np.float64))[:1]]
        for depth, row in enumerate(table, start=1):
            values, first, group = np.unique(row, return_index=True, return_inverse=True)
            if (above != above[first][group]).any():
                n = int(np.flatnonzero(above != above[first][group])[0])
                raise HierarchyError(
                    f"level {depth}: datum {n} shares a group with datum {first[group[n]]}, but not one level above; "
                    "wanted each group inside one of the coarser level"
                )
            order = np.lexsort((first, -np.bincount(group), above[first]))  # siblings together, larger ones first
            rank = np.empty(len(order), np.int64)
            rank[order] = np.arange(len(order))
            parent.append(above[first][order])
            level.append(np.full(len(order), depth, np.int64))
            if weight is not None and node_weight is not None:
                weight.append(np.asarray(node_weight[depth], np.float64)[values[order]])
            above = n_nodes + rank[group]
            n_nodes += len(order)
        told = tuple(str(n) for n in range(n_data)) if names is None else tuple(str(name) for name in names)
        if len(told) != n_data:
            raise HierarchyError(f"{len(told)} names for {n_data} data; wanted a name for each")
        rows = None if weight is None else np.concatenate(weight)
        return cls(np.concatenate(parent), np.concatenate(level), above, told, rows)

    # ---- what is in it ------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def n_data(self) -> int:
        return len(self.leaf)

    @property
    def n_levels(self) -> int:
        """Levels below the root."""
        return int(self.level.max())

    def __len__(self) -> int:
        return self.n_nodes

    def _repr_html_(self) -> str:
        drawn = self.merged()
        words = [f"{n:,}" if n > 1 else drawn.names[drawn.members(z)[0]] for z, n in enumerate(drawn.size.tolist())]
        title = f"Hierarchy of {self.n_data:,} data in {self.n_nodes:,} groups on {self.n_levels:,} levels"
        return notebook.page(title, notebook.drawing(drawn.parent.tolist(), words, drawn.weight.tolist()))

    def __repr__(self) -> str:
        by_level = ", ".join(str(n) for n in np.bincount(self.level)[1:])
        return f"<Hierarchy: {self.n_data} data, {self.n_nodes} nodes; by level {by_level or 'the root alone'}>"

    @cached_property
    def size(self) -> Ints:
        """Data at or below each node."""
        size = np.bincount(self.leaf, minlength=self.n_nodes)
        for z in range(self.n_nodes - 1, 0, -1):  # parents come first, so this goes up
            size[self.parent[z]] += size[z]
        return size

    @property
    def weight(self) -> Floats:
        """Share of the data at or below each node."""
        return np.asarray(self.size / self.n_data)

    def children(self, z: int) -> Ints:
        """Nodes right below a node.

        Parameters
        ----------
        z : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the children.
        """
        return np.flatnonzero(self.parent == z)

    def members(self, z: int) -> Ints:
        """Data at or below a node.

        Parameters
        ----------
        z : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the data.
        """
        inside = np.zeros(self.n_nodes, bool)
        inside[z] = True
        for y in range(z + 1, self.n_nodes):
            inside[y] = inside[self.parent[y]]
        return np.flatnonzero(inside[self.leaf])

    def nodes_at(self, level: int) -> Ints:
        """Node of each datum on a level; the deepest one it has, if the branch ends above.

        Parameters
        ----------
        level : int
            Level, 0 the first below the root.

        Returns
        -------
        ndarray of int
            Numbers of the nodes.
        """
        if not 0 <= level <= self.n_levels:
            raise HierarchyError(f"level {level}; wanted 0, the root, to {self.n_levels}")
        up = np.arange(self.n_nodes)
        for z in range(self.n_nodes):
            if self.level[z] > level:
                up[z] = up[self.parent[z]]
        return up[self.leaf]

    def labels(self, level: int) -> Ints:
        """Group of each datum on a level, 0, 1, ... by decreasing size.

        Parameters
        ----------
        level : int
            Level, 0 the first below the root.

        Returns
        -------
        ndarray of int
            Group of each datum.
        """
        from ..inference.diagnostics import canonical

        return canonical(self.nodes_at(level))

    # ---- other shapes -------------------------------------------------------------------------------------------

    def merged(self) -> "Hierarchy":
        """The tree as one draws it: a node whose only child holds the same data takes the place of that child.

        Levels stay as they were, so a merged branch may skip some; the root stays.
        """
        n_children = np.bincount(self.parent[1:], minlength=self.n_nodes)
        direct = np.bincount(self.leaf, minlength=self.n_nodes)
        into = np.arange(self.n_nodes)
        for z in range(1, self.n_nodes):
            p = self.parent[z]
            if n_children[p] == 1 and direct[p] == 0:
                into[z] = into[p]
        kept = np.flatnonzero(into == np.arange(self.n_nodes))
        number = np.full(self.n_nodes, -1, np.int64)
        number[kept] = np.arange(len(kept))
        parent = np.where(kept == 0, -1, number[into[self.parent[kept]]])
        rows = None if self.node_weight is None else self.node_weight[kept]
        return Hierarchy(parent, self.level[kept], number[into[self.leaf]], self.names, rows)

    def to_newick(self) -> str:
        """The tree as Newick text: data are the tips, nodes are named by level and number, as ``L1.0``."""
        tips: list[list[str]] = [[] for _ in range(self.n_nodes)]
        for n, z in enumerate(self.leaf):
            tips[z].append(_quoted(self.names[n]))
        rank = _rank_in_level(self.level)
        text = [""] * self.n_nodes
        for z in range(self.n_nodes - 1, -1, -1):  # children before parents
            inside = ",".join(tips[z])
            text[z] = f"({inside})" + ("root" if z == 0 else f"L{self.level[z]}.{rank[z]}")
            if z:
                tips[self.parent[z]].insert(0, text[z])
                text[z] = ""
        return text[0] + ";"

    def to_networkx(self) -> Any:
        """A networkx DiGraph from parents to children; nodes carry level, size, members and weight of components."""
        try:
            import networkx as nx
        except ImportError:
            raise MissingDependencyError("graphs need networkx; install arbora[graphs]") from None
        graph = nx.DiGraph()
        for z in range(self.n_nodes):
            more = {} if self.node_weight is None else {"node_weight": self.node_weight[z]}
            members = [self.names[n] for n in self.members(z)]
            graph.add_node(z, level=int(self.level[z]), size=int(self.size[z]), members=members, **more)
            if z:
                graph.add_edge(int(self.parent[z]), z)
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, as JSON takes them; `from_dict` reads it back."""
        at: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for n, z in enumerate(self.leaf.tolist()):
            at[z].append(n)
        nodes = [
            {
                "parent": int(self.parent[z]) if z else None,
                "level": int(self.level[z]),
                "size": int(self.size[z]),
                "data": at[z],
                **({} if self.node_weight is None else {"node_weight": self.node_weight[z].tolist()}),
            }
            for z in range(self.n_nodes)
        ]
        return {"names": list(self.names), "nodes": nodes}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The hierarchy that `to_dict` returned.

        Parameters
        ----------
        stored : dict
            What `to_dict` returned.

        Returns
        -------
        Hierarchy
            The hierarchy.
        """
        columns, size = stored_columns(stored)
        tree = cls(*columns)
        for z, told in enumerate(size):
            if told is not None and told != tree.size[z]:
                raise HierarchyError(f"not a hierarchy: node {z}: size {told!r}, but it holds {tree.size[z]} data")
        return tree

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The hierarchy that `to_json` wrote.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        Hierarchy
            The hierarchy.
        """
        try:
            stored = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise HierarchyError(f"not a hierarchy, nor JSON ({error}); wanted what to_json gave") from None
        return cls.from_dict(stored)

    def to_linkage(self) -> Floats:
        """SciPy's linkage matrix: two data merge at the height of the node that joins them, n_levels + 1 - its level.

        A node of many children becomes several mergers of one height.  ``fcluster(Z, n_levels + 1 - l, "distance")``
        gives the groups of level l back.
        """
        if self.n_data < 2:
            raise HierarchyError("a linkage needs 2 data or more; there is 1")
        waiting: list[list[tuple[int, int]]] = [[] for _ in range(self.n_nodes)]  # (cluster, size) under each node
        for n, z in enumerate(self.leaf.tolist()):
            waiting[z].append((n, 1))
        rows = np.empty((self.n_data - 1, 4))
        done = 0
        # Deepest level first, so that heights never fall.
        for z in np.lexsort((np.arange(self.n_nodes), -self.level)).tolist():
            if not waiting[z]:
                continue
            one, size = waiting[z][0]
            for other, more in waiting[z][1:]:
                size += more
                rows[done] = min(one, other), max(one, other), self.n_levels + 1 - self.level[z], size
                one = self.n_data + done
                done += 1
            if z:
                waiting[self.parent[z]].append((one, size))
        return rows


def _rank_in_level(level: Ints) -> Ints:
    rank = np.zeros(len(level), np.int64)
    seen: dict[int, int] = {}
    for z, depth in enumerate(level.tolist()):
        rank[z] = seen.get(depth, 0)
        seen[depth] = int(rank[z]) + 1
    return rank


def _quoted(name: str) -> str:
    """A name as Newick takes it."""
    if name and not any(c.isspace() or c in "()[],:;'_" for c in name):
        return name
    return "'" + name.replace("'", "''") + "'"
