"""TreeUnion: the archetype of a class of trees, from which every tree of the class comes by leaving nodes out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import notebook
from ...errors import ForestError
from ...forest.forest import Forest
from ...forest.kernels.tree_shape import make_shape
from ...forest.node_columns import MISSING
from ...seeds import resolve_seed
from ..forest_estimator import read_or_convert
from .kernels import union_order
from .kernels.tree_alignment import align
from .union_content import Content, content_log_prob, content_means, draw_content
from .working_union import NO_CONTENT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MAX_TRIES = 1000  # of drawing a sample that is one tree, before its root is pinned


@dataclass(frozen=True, eq=False, repr=False)
class TreeUnion:
    """A tree order whose nodes occur independently in each sample, each with a probability of its own.

    `TreeUnionMixture` makes unions; `TreeUnion.of` makes one from trees.

    Parameters
    ----------
    parent : ndarray
        Parent of each node, -1 for a root.
    node_count : ndarray
        Trees that have each node.
    n_assigned : int
        Trees that the union describes.
    description_length : float
        Nats to describe these trees.
    label_count : matrix or None
        Count of each label at each node.
    vocabulary : tuple of str
        The labels.
    tree : ndarray
        Numbers of the trees.
    match_start, match : ndarray
        Node of the union for each node of each tree, tree after tree; `node_match` gives those of one tree.
    content, moment : tuple and ndarray
        The columns of content that count, and sums of their values; `content_mean` gives means.

    Examples
    --------
    >>> from arbora import TreeUnion
    >>> union = TreeUnion.of([("a", ["b", "c"]), ("a", ["b"]), ("a", ["b", ("c", ["d"])])])
    >>> union
    TreeUnion(4 nodes, 3 trees)
    >>> sorted(union.node_prob.round(2).tolist())
    [0.33, 0.67, 1.0, 1.0]
    """

    parent: Ints  # children before parents; -1 at a root
    node_count: Ints  # trees of the class that have the node
    n_assigned: int  # trees of the class
    description_length: float  # of nodes, occurrences and labels, in nats
    label_count: Any  # sparse [node, label], or None where labels did not count
    vocabulary: tuple[str, ...]
    tree: Ints  # numbers of the training trees of the class
    match_start: Ints  # nodes of the x-th of them: match[match_start[x] : match_start[x + 1]]
    match: Ints  # node of the union for each of their nodes
    content: Content = ()  # columns of content that count
    moment: Floats = field(default_factory=NO_CONTENT.copy)  # [node, column, 4] sums of the content at each node

    @classmethod
    def of(cls, trees: Any, **settings: Any) -> "TreeUnion":
        """The union of all these trees; settings are those of `TreeUnionMixture`.

        Parameters
        ----------
        trees : iterable
            The trees.
        **settings : object
            Further settings.

        Returns
        -------
        TreeUnion
            The union.
        """
        from .mixture import TreeUnionMixture

        return TreeUnionMixture(n_components=1, **settings).fit(trees).unions_[0]

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def node_prob(self) -> Floats:
        """Probability of each node, theta = p / n."""
        return self.node_count / max(self.n_assigned, 1)

    @property
    def content_mean(self) -> dict[str, Floats]:
        """Mean of each column of content at each node; nan where no tree has a value."""
        return content_means(self.content, self.moment)

    @cached_property
    def depth(self) -> Ints:
        """Number of edges from the root."""
        out = np.zeros(self.n_nodes, np.int64)
        for u in range(self.n_nodes - 1, -1, -1):
            if self.parent[u] >= 0:
                out[u] = out[self.parent[u]] + 1
        return out

    def _repr_html_(self) -> str:
        order = np.argsort(self.depth, kind="stable")  # parents first
        rank = np.argsort(order)
        parent = [int(rank[p]) if p >= 0 else -1 for p in self.parent[order]]
        prob = self.node_prob[order].tolist()
        names = self.label_names()
        words = [f"{names[u]} {p:.0%}".strip() for u, p in zip(order.tolist(), prob, strict=True)]
        return notebook.page(repr(self), notebook.drawing(parent, words, prob))

    def __repr__(self) -> str:
        return f"TreeUnion({self.n_nodes} nodes, {self.n_assigned} trees)"

    # ---- members ------------------------------------------------------------------------------------------------

    def node_match(self, tree: int) -> Ints:
        """Node of the union for each node of this training tree, in the order of the forest.

        Parameters
        ----------
        tree : int
            Number of the tree.

        Returns
        -------
        ndarray of int
            Node of the union of each node.
        """
        at = np.flatnonzero(self.tree == tree)
        if not len(at):
            raise ForestError(f"tree {tree} is not of this union; its trees are in `tree`")
        return self.match[self.match_start[at[0]] : self.match_start[at[0] + 1]]

    def restrict(self, nodes: Any) -> Ints:
        """Parents among these nodes of the union, ascending: what is left when all others are taken out.

        Parameters
        ----------
        nodes : sequence of int
            Nodes to keep.

        Returns
        -------
        ndarray of int
            The smaller union.
        """
        keep = np.zeros(self.n_nodes, bool)
        keep[np.asarray(nodes, np.int64)] = True
        parent, _ = union_order.restrict(self._up, keep)
        return np.where(parent == keep.sum(), -1, parent)

    @cached_property
    def _up(self) -> Ints:
        return np.where(self.parent < 0, self.n_nodes, self.parent)

    # ---- probability --------------------------------------------------------------------------------------------

    def log_prob(self, X: Any, smoothing: float = 0.0) -> Floats:
        """Log-probability of each tree with its best correspondence; -inf where some node has no counterpart.

        Probabilities are (count + smoothing) / (n + 2 smoothing): 0 is maximum likelihood, 0.5 is Krichevsky and
        Trofimov's.  Labels, where they count, are as probable as among the trees of the class at the node.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        smoothing : float, default 0.0
            What is added to counts.

        Returns
        -------
        ndarray of float
            Log-probability of each tree.
        """
        forest = read_or_convert(X)
        if self.label_count is not None:
            forest = forest.with_vocabulary(self.vocabulary)
        prob: Floats = np.asarray((self.node_count + smoothing) / (self.n_assigned + 2.0 * smoothing), np.float64)
        return np.array([self._log_prob(forest, t, prob) for t in range(forest.n_trees)])

    def _log_prob(self, forest: Forest, t: int, prob: Floats) -> float:
        lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
        parent = np.where(forest.parent[lo:hi] < 0, -1, forest.parent[lo:hi] - lo)
        with np.errstate(divide="ignore"):
            here, gone = np.log(prob), np.log1p(-prob)
        label = self._label_log_prob(forest.label[lo:hi])
        if self.content:
            label = label + content_log_prob(self.content, self.moment, forest.take([t]))
        # First as many nodes as can be, of the tree and of those no sample lacks; then the most probable of these.
        must = ~np.isfinite(gone)
        worth = np.where(must, 0.0, here - np.where(must, 0.0, gone))[None, :] + label
        finite = np.isfinite(worth)
        step = 2.0 * np.abs(worth[finite]).sum() + 1.0 if finite.any() else 1.0
        gain = np.where(finite, worth + step * (1.0 + must), 0.0)
        found = align(make_shape(parent), make_shape(self.parent), np.ascontiguousarray(gain))
        kept = np.zeros(self.n_nodes, bool)
        kept[found.pairs[:, 1]] = True
        if len(found.pairs) < hi - lo or (must & ~kept).any():
            return -np.inf
        told = label[found.pairs[:, 0], found.pairs[:, 1]].sum()
        return float(here[kept].sum() + gone[~kept].sum() + told)

    def _label_log_prob(self, label: NDArray[np.int32]) -> Floats:
        """[node of a tree, node of the union] log-probability of the label; 0 where it is not known."""
        out = np.zeros((len(label), self.n_nodes))
        if self.label_count is None:
            return out
        count = self.label_count.toarray()
        total = count.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.where(total[:, None] > 0, np.log(count / total[:, None]), 0.0)
        known = label >= 0
        out[known] = table[:, label[known]].T
        return out

    # ---- sampling -----------------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Forest:
        """Draw trees: keep each node with its probability, given that what is kept is one tree.

        Labels are drawn from those of the node; where labels did not count they are missing.  Content that counts is
        drawn given the values at the node.

        Parameters
        ----------
        n_samples : int, default 1
            Number of trees.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        Forest
            The trees.
        """
        rng = resolve_seed(random_state)
        parents: list[Ints] = []
        labels: list[Ints] = []
        nodes: list[Ints] = []
        start = [0]
        for _ in range(n_samples):
            keep = self._draw_nodes(rng)
            node = np.flatnonzero(keep)
            parent, _ = union_order.restrict(self._up, keep)
            parents.append(np.where(parent == len(node), -1, parent + start[-1]))
            labels.append(self._draw_labels(rng, node))
            nodes.append(node)
            start.append(start[-1] + len(node))
        held = None
        if self.content and nodes:
            held = draw_content(rng, self.content, self.moment[np.concatenate(nodes)])
        return _forest_of(parents, labels, self.vocabulary if self.label_count is not None else (), held)

    def _draw_nodes(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        prob = self.node_prob
        keep = rng.random(self.n_nodes) < prob
        for _ in range(_MAX_TRIES):
            parent, _ = union_order.restrict(self._up, keep)
            if keep.any() and (parent == keep.sum()).sum() == 1:
                return keep
            keep = rng.random(self.n_nodes) < prob
        # A tree is all but impossible: keep the likeliest root and what is below it.
        root = int(np.argmax(np.where(self.parent < 0, prob, -1.0)))
        below = np.zeros(self.n_nodes + 1, bool)
        below[root] = True
        for u in range(root - 1, -1, -1):
            below[u] = below[self.parent[u]]
        keep &= below[:-1]
        keep[root] = True
        return keep

    def _draw_labels(self, rng: np.random.Generator, node: Ints) -> Ints:
        out = np.full(len(node), MISSING, np.int64)
        if self.label_count is not None:
            for x, u in enumerate(node):
                row = self.label_count[[u]].tocsr()
                if row.nnz:
                    out[x] = rng.choice(row.indices, p=row.data / row.data.sum())
        return out

    # ---- looking ------------------------------------------------------------------------------------------------

    def label_names(self) -> list[str]:
        """Most frequent label of each node; empty where none is known."""
        if self.label_count is None:
            return [""] * self.n_nodes
        return [self.vocabulary[int(r.indices[r.data.argmax()])] if r.nnz else "" for r in self._rows()]

    def _rows(self) -> Iterator[Any]:
        return (self.label_count[[u]].tocsr() for u in range(self.n_nodes))

    def draw(self, ax: Any = None, **looks: Any) -> Any:
        """Draw the archetype on a matplotlib axis: the area of a node is its probability; returns the axis.

        Parameters
        ----------
        ax : matplotlib Axes or None, default None
            Where to draw; None makes a figure.
        **looks : object
            Options of the drawing.

        Returns
        -------
        array
            What was drawn on.
        """
        from ...plot import union_archetype

        return union_archetype(self, ax, **looks)


def _forest_of(parents: list[Ints], labels: list[Ints], vocabulary: tuple[str, ...], content: Any = None) -> Forest:
    """A Forest from flat trees, children before parents."""
    empty = np.zeros(0, np.int64)
    parent = np.concatenate(parents) if parents else empty
    tree = np.repeat(np.arange(len(parents)), [len(p) for p in parents]) if parents else empty
    label = np.concatenate(labels) if labels else empty
    return Forest.from_parents(parent, label, tree=tree, vocabulary=list(vocabulary), content=content)


def sparse_labels(entry: Ints, count: Ints, n_nodes: int, n_labels: int) -> Any:
    """Counts by node and label as a sparse matrix, from entries node * n_labels + label."""
    return sparse.csr_array((count, (entry // n_labels, entry % n_labels)), shape=(n_nodes, n_labels))
