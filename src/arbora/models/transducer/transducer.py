"""TreeTransducer: outputs at the nodes of trees given their labels, learnt from nodes whose output is known."""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ForestError, SettingError
from ...forest.trees import Trees
from ...inference.em import EMResult, warn_unless_converged
from ...seeds import resolve_seed
from ..file_checks import check_array, check_whole
from ..hidden_tree import fitting
from ..hidden_tree.passes import MixtureParams
from ..settings import MOST_STARTS, check_count, check_number, check_weight, n_threads
from . import node_outputs as no
from .coded_trees import CodedTrees, Codes, Sizes
from .fitted_transducer import TABLES, FittedTransducer
from .input_output_tree import TIES, InputOutputTree, pair_keys

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

SHARD_BYTES = 64 * 2**20  # working memory of a shard
MAX_TABLE_BYTES = 4 * 2**30  # of all tables while a model is fitted
TABLE_COPIES = 6


class TreeTransducer(FittedTransducer):
    """Predict an output at every node of a tree from the labels, the shape and outputs that are known.

    Every node has a hidden state, which depends on its label (the input) and on the state of one of its children; the
    state and the label give the output.  Labels are conditioned on: the model does not describe how probable a tree
    is.  Outputs that are not known are summed out, so a few annotated nodes per tree are enough to learn from.

    Parameters
    ----------
    n_states : int, default 8
        Hidden states.
    tie : sequence of {"leaf", "switch", "transition", "output", "slot"}, default ()
        Distributions that do not depend on the label; "slot": leaves and transitions are the same in all slots.
    prior : float, default 1.01
        Dirichlet parameter of every distribution, 1 or more.  With 1, an output never seen at a label is impossible.
    n_init : int, default 1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default 30
        Most iterations of EM.
    tol : float, default 0.0
        EM ends when an iteration gains less than this many nats per tree; 0 runs all iterations.
    n_slots : int or None, default None
        Number of distinct slots; later ones are pooled into the last.  None: as many as the training trees have.
    shared : bool, default True
        Whether identical subtrees are computed once.  It changes the time, not the result.
    shard_bytes : int, default 64 MiB
        Working memory per shard of trees.
    n_jobs : int or None, default None
        Threads over shards; -1 uses all cores.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    outputs_ : ndarray of shape (n_outputs,)
        The outputs, in order.
    leaf_prob_ : ndarray of shape (n_slots + 1, n_inputs, n_states)
        Probability of the state of a leaf; the last slot is that of a tree of one node.  A tied axis has length one.
    switch_prob_ : ndarray of shape (n_inputs, n_slots)
        Probability that a slot determines the state of its parent.
    transition_prob_ : ndarray of shape (n_pairs, n_states, n_states)
        Probability of the parent's state given that of the child, for the pairs of slot and label in `pairs_`.
    pairs_ : ndarray of shape (n_pairs, 2)
        Slot and label number of the parent; 0 where tied.
    absent_prob_ : ndarray of shape (n_inputs, n_slots, n_states)
        The same where the slot that determines is empty.
    output_prob_ : ndarray of shape (n_inputs, n_states, n_outputs)
        Probability of outputs given label and state.
    vocabulary_ : tuple of str
        Labels of the training trees.
    n_slots_ : int
        Number of distinct slots.
    history_ : list of float
        Objective after each iteration.  It never decreases.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.

    References
    ----------
    Bacciu, Micheli and Sperduti (2013), An input-output hidden Markov model for tree transductions.

    Examples
    --------
    >>> from arbora import TreeTransducer
    >>> trees = [("list", ["item", "item"]), ("page", ["item"])] * 5
    >>> outputs = [["entry", "entry", "menu"], [None, "body"]] * 5  # children before their parents; None: not known
    >>> model = TreeTransducer(2, random_state=0).fit(trees, outputs)
    >>> model.predict([("page", ["item"])]).tolist()
    ['entry', 'body']
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "n_slots_", "outputs_", *TABLES, "pairs_"),
        *("history_", "n_iter_", "converged_", "provenance_"),
    )

    history_: list[float]

    def __init__(
        self,
        n_states: int = 8,
        *,
        tie: Sequence[str] = (),
        prior: float = 1.01,
        n_init: int = 1,
        max_iter: int = 30,
        tol: float = 0.0,
        n_slots: int | None = None,
        shared: bool = True,
        shard_bytes: int = SHARD_BYTES,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_states = n_states
        self.tie = tie
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_slots = n_slots
        self.shared = shared
        self.shard_bytes = shard_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting --------------------------------------------------------------------------------------------------

    def _check_params(self) -> tuple[str, ...]:
        """Raise on impossible settings; what is tied, in order."""
        check_count("n_states", self.n_states, 10**4)
        check_count("n_init", self.n_init, MOST_STARTS)
        check_count("max_iter", self.max_iter)
        check_count("shard_bytes", self.shard_bytes)
        if self.n_slots is not None:
            check_count("n_slots", self.n_slots)
        check_number("prior", self.prior, 1.0, 1e9)
        check_number("tol", self.tol, 0.0, np.inf)
        n_threads(self.n_jobs)
        if isinstance(self.tie, str) or not set(self.tie) <= set(TIES):
            raise SettingError(f"tie={self.tie!r}; wanted a list of some of {', '.join(TIES)}")
        return tuple(name for name in TIES if name in self.tie)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from outputs at nodes.

        Parameters
        ----------
        X : Forest, ForestStore or trees
            The trees.
        y : array, list, Forest or str
            Outputs: one per node in the order of the nodes (children before their parents), a list of them per tree,
            trees of the same shapes whose labels they are, or the name of a column of content.  None, nan and values
            that are missing there are not known.
        sample_weight : array-like of shape (n_trees,) or None, default None
            Weights of the trees.

        Returns
        -------
        self
        """
        forest = self._check_trees(X)
        if y is None:
            raise ForestError(f"{type(self).__name__}: no outputs; give y, with None where an output is not known")
        outputs, code = no.numbered(y, forest, type(self).__name__)
        self._tell_of_content(forest, "labels and shapes as inputs", y if isinstance(y, str) else None)
        return self._fit(forest, outputs, code, check_weight(sample_weight, forest.n_trees))

    def _fit(self, forest: Trees, outputs: NDArray[Any], code: NDArray[np.int32], weight: Floats | None) -> Self:
        """Learn from the numbers of outputs by node, or by tree: then every node has the tree's."""
        tie = self._check_params()
        rng = resolve_seed(self.random_state)
        n_slots = max(1, forest.n_slots if self.n_slots is None else self.n_slots)
        coded = CodedTrees(forest, Sizes(n_slots, forest.n_labels, len(outputs)), code)
        model = _new_model(coded.codes, self.n_states, tie)
        _check_room(model)
        with self._batch(model, coded, weight=weight) as batch:
            least = self.tol * batch.total_weight
            best: EMResult[MixtureParams] | None = None
            for _ in range(self.n_init):
                start = EMResult(MixtureParams(np.ones(1), model.start(rng)), [], converged=False, interrupted=False)
                result = fitting.run(batch, start, self.prior, self.max_iter, least, bool(self.verbose))
                if best is None or result.history[-1] > best.history[-1]:
                    best = result
                if result.interrupted:
                    break
        self._keep(model, outputs, forest, best)
        return self

    def _keep(self, model: InputOutputTree, outputs: NDArray[Any], forest: Trees, best: Any) -> None:
        self.vocabulary_, self.outputs_, self.n_slots_ = forest.vocabulary, outputs, model.n_slots
        for name, table in zip(TABLES, best.params.tree, strict=True):
            setattr(self, name, np.ascontiguousarray(table[..., 0]))
        width = 1 if "transition" in model.tie else max(1, model.n_inputs)
        self.pairs_ = np.stack([model.pair_key // width, model.pair_key % width], axis=1)
        self.history_, self.n_iter_, self.converged_ = list(best.history), len(best.history), best.converged
        self._record_provenance(forest)
        warn_unless_converged(best, self.max_iter, self.tol)

    # ---- files ------------------------------------------------------------------------------------------------------

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self.tie = tie = self._check_params()
        check_whole("n_slots_", self.n_slots_, 1, 2**31 - 1)
        if self.outputs_.ndim != 1 or not len(self.outputs_) or self.outputs_.dtype.kind not in "biufU":
            raise ValueError("the outputs must be one or more numbers or texts")
        if not np.array_equal(np.unique(self.outputs_), self.outputs_):
            raise ValueError("the outputs must differ, and be in order")
        check_array("pairs_", self.pairs_, np.int64, (None, 2), 0, 2**40)
        highest = (1 if "slot" in tie else self.n_slots_, 1 if "transition" in tie else len(self.vocabulary_))
        if len(self.pairs_) and (self.pairs_.max(axis=0) >= highest).any():
            raise ValueError("pairs_ names slots or labels that the model has not")
        check_array("output_prob_", self.output_prob_, np.float64, (None, self.n_states, len(self.outputs_)), 0, 1.0)
        model, _ = self._fitted()
        if (np.diff(model.pair_key) <= 0).any():
            raise ValueError("pairs_ are not in order")
        for name, shape in zip(TABLES, model.shapes, strict=True):
            table = getattr(self, name)
            check_array(name, table, np.float64, shape, 0.0, 1.0 + 1e-9)
            if table.size and not np.allclose(table.sum(axis=-1), 1.0, atol=1e-6):
                raise ValueError(f"{name}: the last axis must sum to one")
        return self


def _new_model(codes: Codes, n_states: int, tie: tuple[str, ...]) -> InputOutputTree:
    """Sizes by the trees: pairs of slot and input that occur have transitions of their own."""
    n_slots, n_inputs, n_outputs = codes.sizes
    key = np.unique(pair_keys(codes.edge_slot, codes.edge_input, n_inputs, tie))
    return InputOutputTree(n_slots, n_inputs, n_states, n_outputs, tie, key[key >= 0])


def _check_room(model: InputOutputTree) -> None:
    """Refuse tables that would fill the memory, before any is made."""
    full = (model.n_inputs + 1) * model.n_states * (3 * model.n_slots + 2 + model.n_outputs)
    n_bytes = 8 * TABLE_COPIES * (full + len(model.pair_key) * model.n_states**2)
    if n_bytes > MAX_TABLE_BYTES:
        raise ForestError(
            f"{model.n_inputs} labels, {model.n_slots} slots and {model.n_outputs} outputs make tables of "
            f"{n_bytes / 2**30:.1f} GiB in a fit, more than {MAX_TABLE_BYTES / 2**30:g}; set n_slots (say 16) to pool "
            "the last slots, or use fewer states"
        )
