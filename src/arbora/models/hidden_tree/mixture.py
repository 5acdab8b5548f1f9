"""HiddenTreeMixture: a finite mixture of hidden trees fitted by EM (Bacciu and Castellana 2018; 2019, section 4)."""

import os
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import SettingError
from ...forest.forest import Forest
from ...forest.trees import Trees
from ...inference.em import EMResult
from . import directions
from .content_scores import column_scores, warn_if_dominant
from .directions import ATTRIBUTES, Direction, HiddenTrees, Structure
from .fitted_mixture import SHARD_BYTES
from .inferred_states import InferredStates
from .learnt_states import LearntStates
from .passes import Batch, MixtureParams
from .switching_settings import check_components, check_room
from .switching_tree import Absent
from .tree_model import Table, named, unnamed

Floats = NDArray[np.float64]


class HiddenTreeMixture(LearntStates):
    """Cluster labelled trees by a mixture of switching-parent hidden tree models.

    In each component every node has a hidden state, which emits the label.  The state of a node depends on the state of
    one of its children, chosen by the switch.  The mixture is fitted by EM.

    Parameters
    ----------
    n_components : int, default 8
        Number of components, the largest number of clusters.
    n_states : int or "infer", default 4
        Hidden states per component.  "infer" learns how many are needed; docs/infinite-states.md.
    max_states : int, default 12
        Most states where ``n_states="infer"``; a fit that uses all of them warns.
    n_sweeps : int, default 0
        Where ``n_states="infer"``: sweeps of each of three chains of an exact sampler after variational EM, which find
        the number of states more often.
    absent : {"bottom", "slot", "literal", "renormalised"}, default "bottom"
        Meaning of an absent child.  "bottom" is a state of its own; the label model is proper.  "slot" follows the code
        of the papers; it also multiplies the probability.  "literal" is Eq. (1) as printed.  In "renormalised" the
        switch chooses among the children that are present.
    structure : {"branching", "state"} or None, default "branching"
        "branching" adds the probability of the tree's shape.  None takes shapes as given.  "state", of
        ``direction="down"``, lets the shape depend on the states.
    direction : {"up", "down"}, default "up"
        "up": the state of a node depends on one of its children.  "down": it depends on the state of its parent, and
        `absent`, `leaf_prior` and `switch_prior` do not apply; docs/top-down.md.
    tied : bool, default False
        Whether all slots share one transition; of ``direction="down"``.
    prior : float, default 1.01
        Dirichlet parameter of every distribution, 1 or more; 1 is maximum likelihood.
    leaf_prior, emission_prior, switch_prior, transition_prior, branching_prior : float or None, default None
        Dirichlet parameters of single distributions.  None uses `prior`.
    root_prior : float or None, default None
        Dirichlet parameter of the state of roots, of ``direction="down"``.  None uses `prior`.
    init : {"patterns", "kmeans", "random"}, default "patterns"
        Start of EM: from clusters of the patterns of `TreePatterns`, from clusters of (slot, label) counts, or from
        Dirichlet draws.
    n_init : int, default 1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default 200
        Most iterations of EM.
    tol : float, default 1e-3
        EM ends when an iteration gains less than this many nats per tree.
    tol_per_node : float, default 0.01
        From clusters of patterns, EM also ends when an iteration gains less than this many nats per node.  Later
        iterations raise the likelihood and make the clusters worse (docs/choose-a-model.md).  0 continues until `tol`.
    acceleration : {"squarem"} or None, default None
        "squarem" extrapolates every second iteration of EM (Varadhan and Roland 2008), unless the objective would fall.
        It takes fewer iterations where EM is slow, and may end at another optimum.
    content : "auto", None or dict, default "auto"
        Columns of content that the model takes beside the label, with a family for each: "categorical", "flag",
        "gaussian", "poisson" or "bag", as ``{"length": "gaussian", "words": "bag"}``.  "auto" takes all that the trees
        have, by their kinds, and None takes none.  ``{"label": None, ...}`` leaves the label out, and "bag:20" weighs
        bags of more than 20 words down to 20.  docs/content.md describes the families.
    n_slots : int or None, default None
        Number of distinct slots; later slots are pooled into the last.  None uses as many as the training trees have.
    warm_start : bool, default False
        Whether `fit` continues from the parameters of the last fit.
    learning_decay : float, default 0.7
        The step of `partial_fit` is the batch's share of all trees seen, to this power.
    encoding : {"sum", "weighted", "log", "posterior", "score"}, default "sum"
        Encoding that `transform` returns; "sum" is that of Bacciu and Castellana 2018, and docs/classification.md
        compares them.  Fitting does not depend on it.
    sparse_output : bool, default False
        Whether `transform` returns a sparse matrix.
    shared : bool, default True
        Whether to compute identical subtrees once.  This is exact; use False only to compare.
    shard_bytes : int, default 64 MB
        Working memory per shard of trees.
    checkpoint : path or None, default None
        File in which `fit` is saved as it runs, and from which an interrupted fit continues.
    n_jobs : int or None, default None
        Threads over shards; -1 uses all cores.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar.  Every iteration is logged at level INFO in any case.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Component of each training tree; components are ordered by decreasing weight.
    weight_ : ndarray of shape (n_components,)
        Mixing weights.
    leaf_prob_ : ndarray of shape (n_components, n_slots + 1, n_states)
        Probability of the state of a leaf, by slot; the last slot is that of a root.
    emission_prob_ : ndarray of shape (n_components, n_states, n_labels)
        Probability of labels given the state.
    switch_prob_ : ndarray of shape (n_components, n_slots)
        Probability that the child in a slot determines the state of its parent.
    transition_prob_ : ndarray of shape (n_components, n_slots, n_states + 1, n_states)
        Probability of the parent's state given the slot and state of the determining child; the last state of the child
        stands for an absent child.  With ``direction="down"``, of a child's state (last axis) given its slot and the
        state of its parent.
    branching_prob_ : ndarray of shape (n_components, n_slots)
        Probability that a node has a child in a slot; empty if `structure` is None.  With ``structure="state"``, the
        last axis is the state.
    root_prob_ : ndarray of shape (n_components, n_states)
        Of ``direction="down"``, which has no `leaf_prob_` and `switch_prob_`: probability of the state of a root.
    content_params_ : dict
        Parameters of each column by name, as ``content_params_["length"]["mean"]``; empty without content.
    n_states_ : ndarray of shape (n_components,)
        Of ``n_states="infer"``: states with more than a hundredth of the nodes.  States are ordered by their nodes.
    state_share_ : ndarray of shape (n_components, max_states)
        Of ``n_states="infer"``: share of the nodes in each state.
    state_weight_ : ndarray of shape (n_components, max_states)
        Of ``n_states="infer"``: weight of each state in all rows of states, around which they lie.
    vocabulary_ : tuple of str
        Labels of the training trees.
    history_ : list of float
        Objective after each iteration.  It never decreases.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.
    n_unexplained_ : int
        Number of training trees that no component can explain.

    References
    ----------
    Bacciu and Castellana (2018), Mixture of hidden Markov models as tree encoder.
    Bacciu and Castellana (2019), Bayesian mixtures of hidden tree Markov models for structured data clustering.

    Examples
    --------
    >>> from arbora import HiddenTreeMixture
    >>> trees = [("a", ["b", "c"])] * 6 + [("d", ["e", "e", "f"])] * 4
    >>> model = HiddenTreeMixture(2, n_states=2, random_state=0).fit(trees)
    >>> model.labels_.tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> model.predict([("a", ["b"])]).tolist()
    [0]
    """

    _saved: ClassVar[tuple[str, ...]] = (*LearntStates._saved, *ATTRIBUTES)
    _model_type: ClassVar[type[HiddenTrees]] = HiddenTrees

    def __init__(
        self,
        n_components: int = 8,
        n_states: int | Literal["infer"] = 4,
        *,
        max_states: int = 12,
        n_sweeps: int = 0,
        absent: Absent = "bottom",
        structure: Structure = "branching",
        direction: Direction = "up",
        tied: bool = False,
        prior: float = 1.01,
        leaf_prior: float | None = None,
        root_prior: float | None = None,
        emission_prior: float | None = None,
        switch_prior: float | None = None,
        transition_prior: float | None = None,
        branching_prior: float | None = None,
        init: str = "patterns",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-3,
        tol_per_node: float = 0.01,
        acceleration: str | None = None,
        content: str | dict[str, str | None] | None = "auto",
        n_slots: int | None = None,
        warm_start: bool = False,
        learning_decay: float = 0.7,
        encoding: str = "sum",
        sparse_output: bool = False,
        shared: bool = True,
        shard_bytes: int = SHARD_BYTES,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_states = n_states
        self.max_states = max_states
        self.n_sweeps = n_sweeps
        self.absent = absent
        self.structure = structure
        self.direction = direction
        self.tied = tied
        self.prior = prior
        self.leaf_prior = leaf_prior
        self.root_prior = root_prior
        self.emission_prior = emission_prior
        self.switch_prior = switch_prior
        self.transition_prior = transition_prior
        self.branching_prior = branching_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.tol_per_node = tol_per_node
        self.acceleration = acceleration
        self.content = content
        self.n_slots = n_slots
        self.warm_start = warm_start
        self.learning_decay = learning_decay
        self.encoding = encoding
        self.sparse_output = sparse_output
        self.shared = shared
        self.shard_bytes = shard_bytes
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit_among(self, forest: Forest, trees: NDArray[np.int64], sample_weight: ArrayLike | None = None) -> Self:
        """Fit to some trees of a forest, with columns, words and priors of content taken from all of it.

        Likelihoods of models of several parts compare then: a word that one part lacks is improbable there, and no
        missing value.

        Parameters
        ----------
        forest : Forest
            All trees.
        trees : array of int
            Numbers of the trees to fit to.
        sample_weight : array of shape (n,) or None, default None
            Weights of these trees.

        Returns
        -------
        object
            The estimator itself.
        """
        self._content_trees = forest
        try:
            return self.fit(forest.take(trees), sample_weight=sample_weight)
        finally:
            del self._content_trees

    # ---- settings ------------------------------------------------------------------------------------------------

    def _new_model(self, forest: Trees) -> Any:
        """Sizes of a model of these trees; refuses tables beyond all measure."""
        check_components(self.n_components, forest.n_trees)
        model = directions.new_hidden_tree(self, forest, self.n_components)
        return model.for_fit() if isinstance(model, InferredStates) else model

    def _grown(self, forest: Trees) -> Any:
        """As of every mixture; refuses tables beyond all measure."""
        model: Any = super()._grown(forest)
        check_room(model, self.n_components)
        return model

    def _shaping(self) -> dict[str, tuple[Any, Any]]:
        return {**super()._shaping(), **directions.shaping(self, self.spec_)}

    def _check_params(self) -> Any:
        """Raise on impossible settings; the priors of the fit.  Modes want priors of one or more."""
        self._check_fitting()
        if isinstance(self.n_sweeps, bool) or not isinstance(self.n_sweeps, int | np.integer) or self.n_sweeps < 0:
            raise SettingError(f"n_sweeps={self.n_sweeps!r}; wanted a whole number, 0 or more")
        return directions.check_hidden(self)

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def _set_fitted_params(self, params: MixtureParams) -> None:
        directions.forget_others(self, self.spec_)
        super()._set_fitted_params(params)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        directions.forget_others(self, self.spec_)
        if isinstance(self.spec_, InferredStates):
            self._check_states()
        return self

    @classmethod
    def from_parameters(
        cls,
        *,
        weight: ArrayLike,
        emission_prob: ArrayLike,
        transition_prob: ArrayLike,
        leaf_prob: ArrayLike | None = None,
        switch_prob: ArrayLike | None = None,
        root_prob: ArrayLike | None = None,
        branching_prob: ArrayLike | None = None,
        vocabulary: Any = None,
        absent: Absent | None = None,
    ) -> Self:
        """A fitted model with these parameters; a vocabulary left out is "0", "1", ...

        With `root_prob` it is a top-down model; without, a bottom-up one, which has `leaf_prob` and `switch_prob`.  The
        structure term is there if branching_prob is.

        Parameters
        ----------
        weight : array of shape (n_components,)
            Mixing weights.
        emission_prob : array
            Probability of each label given each state.
        transition_prob : array
            Transition probabilities, by slot.
        leaf_prob : array or None, default None
            Probability of each state at a leaf, by slot.
        switch_prob : array or None, default None
            Weight of each slot.
        root_prob : array or None, default None
            Probability of each state at the root; top-down trees only.
        branching_prob : array or None, default None
            Probability of a child in each slot; None models labels alone.
        vocabulary : sequence of str or None, default None
            Labels to number by.  Labels outside it are marked unseen.
        absent : str or None, default None
            Reading of absent children.

        Returns
        -------
        HiddenTreeMixture
            The model.
        """
        arrays = {
            "leaf_prob_": leaf_prob,
            "root_prob_": root_prob,
            "emission_prob_": emission_prob,
            "switch_prob_": switch_prob,
            "transition_prob_": transition_prob,
            "branching_prob_": branching_prob,
        }
        if (root_prob is None) == (leaf_prob is None) or (leaf_prob is None) != (switch_prob is None):
            raise ValueError("wanted leaf_prob and switch_prob of a bottom-up model, or root_prob of a top-down one")
        if root_prob is not None and absent is not None:
            raise ValueError(f"absent={absent!r}: a top-down model does not read absent children; leave it out")
        given = {key: np.array(value, np.float64) for key, value in arrays.items() if value is not None}
        if given["emission_prob_"].ndim != 3:
            shape = given["emission_prob_"].shape
            raise ValueError(f"emission_prob has shape {shape}; wanted [component, state, label]")
        spec = directions.model_of(given, "bottom" if absent is None else absent)
        model = cls._sized(len(given["emission_prob_"]), spec)
        words = range(spec.n_labels) if vocabulary is None else vocabulary
        model.vocabulary_, model.spec_, model.n_slots_ = tuple(map(str, words)), spec, spec.n_slots
        model.weight_ = np.array(weight, np.float64)
        for table in named(spec.tables).values():
            model._store(table.name, given.get(table.name, _no_rows(table, model.n_components)))
        model._set_unfitted()
        model._check_params()
        model._check_fitted()
        return model

    @classmethod
    def _sized(cls, n_components: int, spec: Any) -> Self:
        return cls(n_components=n_components, **directions.options_of(spec))

    def hidden_trees(self) -> Self:
        """Itself."""
        return self

    def _warn(self, result: EMResult[MixtureParams], batch: Batch) -> None:
        super()._warn(result, batch)
        emission: Any = self.spec_.emission
        if not emission.by_label:
            counts: Any = unnamed(self.spec_.count_tables, self.counts_)
            tree: Any = self._fitted_params().tree
            warn_if_dominant(column_scores(emission, counts.emission, tree.emission, self._check_params().emission))


def _no_rows(table: Table, n_components: int) -> Floats:
    """The array of a table without entries."""
    return np.zeros((n_components, *table.shown_shape))
