"""TreeUnionMixture: groups of trees by structure alone, by description length (Torsello and Hancock 2003)."""

import logging
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin

from ...errors import NotConvergedWarning, warn
from ...forest.forest import Forest
from ...progress import Progress
from ..file_checks import check_array
from ..settings import check_choice, check_count, check_number, n_threads
from .matching import Matching, choose_matcher
from .moves import Refinement
from .node_codes import CODES, Code, CodeName, make_code
from .reader import UnionReader
from .search import Merge, Merging, start_store
from .tree_union import TreeUnion, sparse_labels
from .union_arrays import check_code, check_samples, check_unions, flatten
from .union_content import check_union_content, choose_content, content_code, content_header, read_header
from .working_union import (
    Samples,
    Union,
    collect_samples,
    total_length,
    union_length,
)

log = logging.getLogger(__name__)
Ints = NDArray[np.int64]

SEARCHES = ("full", "greedy")


class _Fit(NamedTuple):
    """What the search found."""

    unions: list[Union]
    history: list[Merge]
    start_length: float
    converged: bool
    n_matched: int
    n_inexact: int


class TreeUnionMixture(ClusterMixin, TransformerMixin, UnionReader):
    """Cluster trees by structure into a mixture of tree-unions of least description length; the number of groups is
    learnt.

    The search is deterministic.

    Parameters
    ----------
    n_components : int or None, default None
        Number of groups.  None takes as many as make the description shortest.
    node_cost : float, default 1.0
        Nats for a node of a union (1 in the paper).
    noise_cost : float or None, default 2.0
        Nats for a node described with its one tree instead of with the union.  None is the paper's code, in which every
        node of every tree is a node of a union.
    code : {"ml", "kt"}, default "ml"
        Code for which trees have a node: the entropy of the frequency (the paper's), or Krichevsky and Trofimov's.
    labels : bool, default False
        Whether labels count; if not, structure alone does.
    label_strength : float, default 1.0
        Observations that the overall shares of labels are worth at a node.
    content : dict, "auto" or None, default None
        Families of the columns of content that count, as ``{"length": "gaussian"}``: gaussian, poisson or flag.  "auto"
        takes every column of numbers, counts and flags; None takes none.
    content_spread : float, default 0.1
        Share of the variance of a Gaussian column that the values of one node are expected to have.
    matching : {"auto", "alignment", "edit", "relaxation"}, default "auto"
        "auto" and "alignment" match nodes by dynamic programming.  "edit" and "relaxation" exist for comparison.
    search : {"full", "greedy"}, default "full"
        "full" moves trees and re-aligns unions after merging.  "greedy" stops after merging, as in the paper.
    max_rounds : int, default 20
        Most rounds of moves and deep merges.
    block_size : int, default 300
        With more distinct trees than this, so many are compared with each other at a time, and the others with the
        unions that these made.  This approximates the search in time linear in their number.
    novelty : float, default 0.0
        `predict` answers -1 if no group gains more than this, in nats, by taking the tree.
    sparse_output : bool, default False
        Whether `transform` returns a sparse matrix.
    n_jobs : int or None, default None
        Threads.  The result does not depend on it.
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Group of each tree, by decreasing size.
    n_components_ : int
        Number of groups.
    weight_ : ndarray
        Share of the trees in each group.
    unions_ : list of TreeUnion
        The archetype of each group.
    node_match_ : list of ndarray
        Node of the union that each node of each tree corresponds to.
    description_length_, start_length_ : float
        Nats to describe trees and model, at the end and with every tree by itself.
    merges_, merge_gain_, merge_length_ : ndarray
        The merges in their order, what each gained, and the length after it.
    exact_ : bool
        Whether all matchings were optimal; `n_matched_` and `n_inexact_` count them.
    converged_ : bool
        Whether the search ended because nothing improved.
    history_ : ndarray
        Description length after each round.

    References
    ----------
    Torsello and Hancock (2003), Learning mixtures of tree-unions by minimizing description length.

    Examples
    --------
    >>> from arbora import TreeUnionMixture
    >>> stars, chains = [("a", ["b"] * k) for k in (5, 6, 7)], [("a", [("b", [("c", [("d", ["e"])])])])] * 3
    >>> TreeUnionMixture().fit(stars + chains).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "arrays_",
        "labels_",
        "weight_",
        "node_match_",
        "n_components_",
        "description_length_",
        "start_length_",
        "merges_",
        "merge_gain_",
        "merge_length_",
        "exact_",
        "n_matched_",
        "n_inexact_",
        "converged_",
        "history_",
        "content_columns_",
        "provenance_",
    )
    arrays_: dict[str, NDArray[Any]]
    content_columns_: list[list[Any]]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        node_cost: float = 1.0,
        noise_cost: float | None = 2.0,
        code: CodeName = "ml",
        labels: bool = False,
        label_strength: float = 1.0,
        content: Any = None,
        content_spread: float = 0.1,
        matching: Matching = "auto",
        search: Literal["full", "greedy"] = "full",
        max_rounds: int = 20,
        block_size: int = 300,
        novelty: float = 0.0,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.node_cost = node_cost
        self.noise_cost = noise_cost
        self.code = code
        self.labels = labels
        self.label_strength = label_strength
        self.content = content
        self.content_spread = content_spread
        self.matching = matching
        self.search = search
        self.max_rounds = max_rounds
        self.block_size = block_size
        self.novelty = novelty
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search for the mixture; y is ignored.  Ctrl-C keeps the mixture found so far."""
        self._check_settings()
        forest = self._check_forest(X)
        self._content = choose_content(self.content, self.content_spread, forest)
        self.content_columns_ = content_header(self._content)
        samples = collect_samples(forest, self.labels, self._moments_of(forest))
        code = self._make_code(samples, forest.n_trees, len(forest.vocabulary))
        self._keep(self._search(samples, code), samples, code, forest)
        self._record_provenance(forest)
        if not self.converged_:
            warn(
                "the search ended before nothing more could shorten the description; raise max_rounds",
                NotConvergedWarning,
            )
        return self

    def _check_settings(self) -> None:
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_count("max_rounds", self.max_rounds)
        check_count("block_size", self.block_size)
        check_number("node_cost", self.node_cost, 1e-9, 1e9)
        if self.noise_cost is not None:
            check_number("noise_cost", self.noise_cost, self.node_cost, np.inf)
        check_number("label_strength", self.label_strength, 1e-9, 1e9)
        check_union_content(self.content, self.content_spread)
        check_number("novelty", self.novelty, -1e9, 1e9)
        check_choice("code", self.code, CODES)
        check_choice("search", self.search, SEARCHES)
        choose_matcher(self.matching)
        n_threads(self.n_jobs)

    def _make_code(self, samples: Samples, n_trees: int, n_labels: int) -> Code:
        prior = None
        if self.labels:
            # Copies count; every label of the vocabulary keeps a share, for trees to come.
            each = np.repeat(samples.weight, np.diff(samples.start))
            known = samples.label >= 0
            count = np.bincount(samples.label[known], each[known], n_labels) + 0.5
            prior = count / count.sum()
        noise = np.inf if self.noise_cost is None else float(self.noise_cost)
        content = content_code(self._content)
        return make_code(self.code, n_trees + 1, self.node_cost, noise, prior, self.label_strength, content)

    def _search(self, samples: Samples, code: Code) -> _Fit:
        """Merge, then refine; an interrupt ends whichever is going on."""
        store = self._new_store(code)
        start_store(samples, code, store)
        start_length = total_length(store.unions, code)
        n = len(samples.weight)
        converged = False
        wanted = True if self.verbose > 0 else None if self.verbose == 0 else False
        merging = Merging(store, samples, start_length)
        refinement: Refinement | None = None
        try:
            with Progress("merging", n - 1, wanted) as bar:
                merging.run(self.block_size, self.n_components, bar.advance)
            converged = True
            if self.search == "full" and n > 1:
                with Progress("moving trees", n, wanted) as bar:
                    fixed = self.n_components is not None
                    refinement = Refinement(merging.unions, samples, store, fixed, _turn(bar))
                    converged = refinement.run(self.max_rounds)
        except KeyboardInterrupt:
            converged = False
            log.warning("interrupted: keeping the mixture found so far")
        unions = merging.unions if refinement is None else refinement.complete
        return _Fit(unions, merging.history, start_length, converged, *store.tally)

    def _keep(self, fit: _Fit, samples: Samples, code: Code, forest: Forest) -> None:
        """Store the result with classes in canonical order: decreasing size, ties by first tree."""
        first = [int(np.flatnonzero(np.isin(samples.sample_id, u.member))[0]) for u in fit.unions]
        order = sorted(range(len(first)), key=lambda c: (-fit.unions[c].n_assigned, first[c]))
        unions = [fit.unions[c] for c in order]
        self.vocabulary_ = forest.vocabulary
        self.n_components_ = len(unions)
        self.arrays_ = flatten(unions, samples, code)
        self.weight_ = np.array([u.n_assigned for u in unions]) / forest.n_trees
        self.description_length_ = total_length(unions, code)
        self.start_length_ = fit.start_length
        self.merges_ = np.array([(m.first, m.second) for m in fit.history], np.int64).reshape(-1, 2)
        self.merge_gain_ = np.array([m.gain for m in fit.history])
        self.merge_length_ = np.array([m.description_length for m in fit.history])
        self.history_ = [fit.start_length, *self.merge_length_.tolist(), self.description_length_]
        self.n_matched_, self.n_inexact_ = fit.n_matched, fit.n_inexact
        self.exact_ = fit.n_inexact == 0 and self.matching in ("auto", "alignment")
        self.converged_ = fit.converged
        self._revive()
        place = np.empty(len(samples.weight), np.int64)
        for c, union in enumerate(unions):
            place[union.member] = c
        self.labels_ = place[samples.sample_id]
        self.node_match_ = self._flat_match(forest.tree_start)
        self._show_unions()

    def _flat_match(self, tree_start: Ints) -> Ints:
        """Node of its class's union for each node of the training forest."""
        samples = self._samples
        match = np.empty(samples.start[-1], np.int64)
        for union in self._unions:
            lo = 0
            for t in union.member:
                size = samples.size(int(t))
                match[samples.start[t] : samples.start[t + 1]] = union.node_match[lo : lo + size]
                lo += size
        base = np.repeat(samples.start[samples.sample_id], np.diff(tree_start))
        return match[base + samples.position]

    def _show_unions(self) -> None:
        """The archetypes as users see them."""
        samples, n_labels = self._samples, len(self._code.label_prior)
        sizes = np.diff(samples.start)[samples.sample_id]
        start = np.append(0, np.cumsum(sizes))
        self.unions_ = []
        for c, u in enumerate(self._unions):
            tree = np.flatnonzero(self.labels_ == c)
            match = [self.node_match_[start[t] : start[t + 1]] for t in tree]
            self.unions_.append(
                TreeUnion(
                    parent=np.where(u.parent == u.n_nodes, -1, u.parent),
                    node_count=u.node_count,
                    n_assigned=u.n_assigned,
                    description_length=union_length(u, self._code),
                    label_count=sparse_labels(u.entry, u.entry_count, u.n_nodes, n_labels) if n_labels else None,
                    vocabulary=self.vocabulary_,
                    tree=tree,
                    match_start=np.append(0, np.cumsum(sizes[tree])),
                    match=np.concatenate(match),
                    content=self._content,
                    moment=u.moment,
                )
            )

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        header["attributes"].setdefault("content_columns_", [])  # files written before unions had content
        super()._restore(header, arrays)
        self._check_settings()
        n_labels = len(self.vocabulary_) if self.labels else 0
        self._content = read_header(self.content_columns_)
        check_samples(self.arrays_, n_labels, len(self._content))
        self._revive()
        samples, unions = self._samples, self._unions
        check_code(self._code, len(samples.sample_id), n_labels)
        check_unions(unions, samples, n_labels)
        n, n_trees = len(unions), len(samples.sample_id)
        sizes = np.diff(samples.start)[samples.sample_id]
        check_array("labels_", self.labels_, np.int64, (n_trees,), 0, n - 1)
        check_array("weight_", self.weight_, np.float64, (n,), 0.0, 1.0)
        check_array("node_match_", self.node_match_, np.int64, (int(sizes.sum()),), 0)
        right = self.n_components_ == n and np.array_equal(self.labels_, self._place()[samples.sample_id])
        right = right and np.allclose(self.weight_, [u.n_assigned / n_trees for u in unions])
        if not right or not np.array_equal(self.node_match_, self._flat_match(np.append(0, np.cumsum(sizes)))):
            raise ValueError("classes, weights and correspondences contradict each other")
        if self.description_length_ is None or self.start_length_ is None:
            raise ValueError("a description length is not there")
        check_array("merges_", self.merges_, np.int64, (None, 2), 0)
        check_array("merge_gain_", self.merge_gain_, np.float64, (len(self.merges_),))
        check_array("merge_length_", self.merge_length_, np.float64, (len(self.merges_),))
        self._show_unions()
        return self


def _turn(bar: Progress) -> Any:
    """A callback that moves a bar on, and starts it again when it is full."""

    def advance(what: str) -> None:
        if bar.done >= bar.total:
            bar.done = 0
        bar.advance(what)

    return advance
