"""InfiniteHiddenTreeMixture: a Dirichlet-process mixture of hidden trees (Bacciu and Castellana 2019, section 5)."""

import os
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ...forest.trees import Trees
from ...inference.chains import Trace
from ..settings import check_count
from . import directions
from .directions import ATTRIBUTES, Direction, HiddenTrees, Structure
from .dp_mixture import InfiniteMixture
from .fitted_mixture import SHARD_BYTES
from .inferred_states import InferredStates
from .mixture import HiddenTreeMixture
from .slot_rates import pooled_rates
from .state_gibbs import StateGibbs
from .switching_settings import check_components
from .switching_tree import Absent

LEAST_PRIOR = 1e-3  # of draws; modes, as update="em" takes them, want one or more

SHARP_PRIOR, FLAT_PRIOR = 0.01, 1.5  # where none is given: of draws, and of modes and the renormalised reading


class InfiniteHiddenTreeMixture(TransformerMixin, InfiniteMixture):
    """Cluster labelled trees by a Dirichlet-process mixture of hidden tree models; the number of groups is learnt.

    Groups are the switching-parent hidden tree models of `HiddenTreeMixture`.

    Parameters
    ----------
    n_states : int or "infer", default 4
        Hidden states per group.  "infer" learns how many are needed; docs/infinite-states.md.
    max_states : int, default 12
        Most states where ``n_states="infer"``; a fit that uses all of them warns.
    concentration : float, default 10.0
        Concentration of the Dirichlet process.  Larger values give more groups a priori.
    concentration_prior : tuple of two floats or None, default None
        Shape and rate of a gamma prior, to learn the concentration.  None keeps it fixed.
    update : {"gibbs", "em"}, default "gibbs"
        "gibbs" samples the posterior exactly.  "em" is Algorithm 2 of Bacciu and Castellana 2019: assignments are
        drawn, with one MAP-EM step per sweep.  It is faster, but a search and not a sampler.
    n_iter : int, default 30
        Sweeps per chain, at most.
    until : {"settled", "n_iter"}, default "settled"
        "settled" ends the chains of the exact sampler before `n_iter` sweeps once they agree, by the rule of
        `arbora.inference.settling.Settled`.  "n_iter" runs all sweeps, as do a single chain and ``update="em"``.
    max_time : float or None, default None
        Seconds after which the chains end.  The number of draws then depends on the machine.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of those that are run.
    thin : int, default 1
        Step between draws that are kept.
    n_start : int, default 10
        Number of groups of the k-means start.  1 puts all trees into one group, as in the paper.
    init : {"patterns", "kmeans"}, default "patterns"
        Data of the k-means start.  "patterns" uses the patterns of the trees, and each chain starts from its own number
        of groups, from half to twice `n_start`.  "kmeans" uses counts of (slot, label), and all chains start from
        `n_start`.
    n_auxiliary : int, default 3
        Empty components in the pool of the exact sampler.
    n_split_merge : int, default 5
        Split or merge proposals per sweep of the exact sampler; none with ``n_states="infer"``.
    hyperprior : tuple of two floats or None, default None
        Shape and rate of a gamma prior, with which the exact sampler also learns the Dirichlet parameters, from 1e-3 to
        1e3, starting from `prior`.  None keeps them fixed.
    n_chains : int, default 4
        Number of chains.  A single chain reports one number of groups with certainty.  Several show where other starts
        find another number, and `fit` then warns.
    absent : {"bottom", "slot", "literal", "renormalised"}, default "literal"
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
    prior : float or None, default None
        Dirichlet parameter of every distribution; "gibbs" allows values below one.  None is 0.01, or 1.5 for
        ``update="em"`` and for ``absent="renormalised"``.
    leaf_prior, emission_prior, switch_prior, transition_prior, branching_prior : float or None, default None
        Dirichlet parameters of single distributions.  None uses `prior`.  With ``update="gibbs"``, `branching_prior` is
        the strength of a Beta prior around the pooled rate of each slot, and None is twice `prior`.
    root_prior : float or None, default None
        Dirichlet parameter of the state of roots, of ``direction="down"``.  None uses `prior`.
    content : "auto", None or dict, default "auto"
        Columns of content that the model takes beside the label, with a family for each: "categorical", "flag",
        "gaussian", "poisson" or "bag", as ``{"length": "gaussian", "words": "bag"}``.  "auto" takes all that the trees
        have, by their kinds, and None takes none.  ``{"label": None, ...}`` leaves the label out, and "bag:20" weighs
        bags of more than 20 words down to 20.  docs/content.md describes the families.
    n_slots : int or None, default None
        Number of distinct slots; later slots are pooled into the last.  None uses as many as the training trees have.
    novelty : float, default 0.5
        `predict` returns `NEW_GROUP` (-1) for trees that belong to a group never seen with more than this probability.
    encoding : {"sum", "weighted", "log", "posterior", "score"}, default "sum"
        Encoding that `transform` returns; "sum" is that of Bacciu and Castellana 2018, and docs/classification.md
        compares them.  Fitting does not depend on it.
    sparse_output : bool, default False
        Whether `transform` returns a sparse matrix.
    shard_bytes : int, default 64 MB
        Working memory per shard of trees.
    checkpoint : path or None, default None
        Folder in which chains are saved as they run, and from which an interrupted fit continues.
    n_jobs : int or None, default None
        Processes that run the chains.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Group of each training tree, in one draw: the one closest to all others for "gibbs", the last of the best chain
        for "em".  The attributes below belong to the same draw.
    n_components_ : int
        Number of groups.
    group_size_ : ndarray of shape (n_components_,)
        Number of trees per group.
    weight_ : ndarray of shape (n_components_,)
        Mixing weights.
    concentration_ : float
        Concentration of the Dirichlet process.
    leaf_prob_ : ndarray of shape (n_components_, n_slots + 1, n_states)
        Probability of the state of a leaf, by slot; the last slot is that of a root.
    emission_prob_ : ndarray of shape (n_components_, n_states, n_labels)
        Probability of labels given the state.
    switch_prob_ : ndarray of shape (n_components_, n_slots)
        Probability that the child in a slot determines the state of its parent.
    transition_prob_ : ndarray of shape (n_components_, n_slots, n_states + 1, n_states)
        Probability of the parent's state given the slot and state of the determining child; the last state of the child
        stands for an absent child.  With ``direction="down"``, of a child's state (last axis) given its slot and the
        state of its parent.
    branching_prob_ : ndarray of shape (n_components_, n_slots)
        Probability that a node has a child in a slot; empty if `structure` is None.  With ``structure="state"``, the
        last axis is the state.
    root_prob_ : ndarray of shape (n_components_, n_states)
        Of ``direction="down"``, which has no `leaf_prob_` and `switch_prob_`: probability of the state of a root.
    content_params_ : dict
        Parameters of each column by name, as ``content_params_["length"]["mean"]``; empty without content.
    n_states_ : ndarray of shape (n_components_,)
        Of ``n_states="infer"``: states with more than a hundredth of the nodes.  States are ordered by their nodes.
    state_share_ : ndarray of shape (n_components_, max_states)
        Of ``n_states="infer"``: share of the nodes in each state.
    state_weight_ : ndarray of shape (n_components_, max_states)
        Of ``n_states="infer"``: weight of each state in all rows of states, around which they lie.
    vocabulary_ : tuple of str
        Labels of the training trees.
    history_ : list of float
        Log joint by sweep.
    n_iter_ : int
        Number of sweeps.
    settled_ : bool or None
        Whether the chains ended because they agreed; None if no rule was used.
    trace_ : Trace
        All draws.  `n_groups_posterior`, `co_clustering`, `point_estimate` and `chain_report` summarise them.  A
        saved model does not include the trace, which has its own `save`.

    References
    ----------
    Bacciu and Castellana (2019), Bayesian mixtures of hidden tree Markov models for structured data clustering.
    Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.

    Examples
    --------
    >>> from arbora import InfiniteHiddenTreeMixture
    >>> trees = [("a", ["b", "c"])] * 6 + [("d", ["e", "e", "f"])] * 4
    >>> model = InfiniteHiddenTreeMixture(2, n_chains=1, n_iter=10, random_state=0).fit(trees)
    >>> model.n_components_, model.labels_.tolist()
    (2, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    """

    _saved: ClassVar[tuple[str, ...]] = (*InfiniteMixture._saved, *ATTRIBUTES)
    _model_type: ClassVar[type[HiddenTrees]] = HiddenTrees

    spec_: Any
    mixture_: HiddenTreeMixture

    def __init__(
        self,
        n_states: int | Literal["infer"] = 4,
        *,
        max_states: int = 12,
        concentration: float = 10.0,
        concentration_prior: tuple[float, float] | None = None,
        update: Literal["em", "gibbs"] = "gibbs",
        n_iter: int = 30,
        until: Literal["settled", "n_iter"] = "settled",
        max_time: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        n_start: int = 10,
        init: Literal["patterns", "kmeans"] = "patterns",
        n_auxiliary: int = 3,
        n_split_merge: int = 5,
        hyperprior: tuple[float, float] | None = None,
        n_chains: int = 4,
        absent: Absent = "literal",
        structure: Structure = "branching",
        direction: Direction = "up",
        tied: bool = False,
        prior: float | None = None,
        leaf_prior: float | None = None,
        root_prior: float | None = None,
        emission_prior: float | None = None,
        switch_prior: float | None = None,
        transition_prior: float | None = None,
        branching_prior: float | None = None,
        content: str | dict[str, str | None] | None = "auto",
        n_slots: int | None = None,
        novelty: float = 0.5,
        encoding: str = "sum",
        sparse_output: bool = False,
        shard_bytes: int = SHARD_BYTES,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_states = n_states
        self.max_states = max_states
        self.concentration = concentration
        self.concentration_prior = concentration_prior
        self.update = update
        self.n_iter = n_iter
        self.until = until
        self.max_time = max_time
        self.burn_in = burn_in
        self.thin = thin
        self.n_start = n_start
        self.init = init
        self.n_auxiliary = n_auxiliary
        self.n_split_merge = n_split_merge
        self.hyperprior = hyperprior
        self.n_chains = n_chains
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
        self.content = content
        self.n_slots = n_slots
        self.novelty = novelty
        self.encoding = encoding
        self.sparse_output = sparse_output
        self.shard_bytes = shard_bytes
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- the tree model -----------------------------------------------------------------------------------------

    def _new_model(self, forest: Trees) -> Any:
        check_components(self.n_start, forest.n_trees)
        model = directions.new_hidden_tree(self, forest, self.n_start)
        if self.update != "gibbs":
            return model
        if isinstance(model, InferredStates):
            return replace(model, tree=replace(model.tree, rates=pooled_rates(forest, model.tree)))
        return replace(model, rates=pooled_rates(forest, model))

    def _check_priors(self) -> Any:
        check_count("shard_bytes", self.shard_bytes)
        if directions.infers(self) and (self.update == "em" or self.hyperprior is not None):
            raise SettingError("n_states='infer': only with update='gibbs' and hyperprior=None")
        if self.update == "em":
            return directions.check_hidden(self, if_none=FLAT_PRIOR)
        sharp = self.absent != "renormalised"
        priors = directions.check_hidden(self, LEAST_PRIOR, SHARP_PRIOR if sharp else FLAT_PRIOR)
        # The prior of the branching lies around pooled rates, as strong as Beta(prior, prior) would be.
        return priors if self.branching_prior is not None else priors._replace(branching=2.0 * priors.branching)

    def _marks(self) -> list[str]:
        return ["branching prior by slot"] if self.update == "gibbs" and self.structure else []

    def _finite(self) -> HiddenTreeMixture:
        return HiddenTreeMixture(self.n_components_, **directions.options_of(self.spec_))

    def _keep(self, trace: Trace, forest: Trees, model: Any) -> None:
        directions.forget_others(self, model)
        super()._keep(trace, forest, model)
        if isinstance(model, InferredStates):
            with self.mixture_._batch(forest, model) as batch:
                self.mixture_.order_states(batch)
            for name in (*self.mixture_.probabilities(), "state_share_", "n_states_"):
                attribute = name.partition(".")[0]  # parameters of columns are entries of one
                setattr(self, attribute, getattr(self.mixture_, attribute))

    def _sampler(self) -> Any:
        return StateGibbs if directions.infers(self) else super()._sampler()

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        directions.forget_others(self, self.spec_)
        if isinstance(self.spec_, InferredStates):
            self.mixture_.state_share_ = self.state_share_
            self.mixture_._check_states()
            self.n_states_ = self.mixture_.n_states_
        return self

    # ---- trees --------------------------------------------------------------------------------------------------

    def hidden_trees(self) -> HiddenTreeMixture:
        """The mixture of the fitted draw."""
        check_is_fitted(self, "mixture_")
        return self.mixture_

    @property
    def content_params_(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Parameters of each column of content."""
        return self.hidden_trees().content_params_

    def node_surprise(self, X: Any) -> NDArray[np.float64]:
        """Surprise of every node, as `HiddenTreeMixture.node_surprise`, by the groups of the fitted draw."""
        return self.hidden_trees().node_surprise(X)

    def transform(self, X: Any, dtype: Any = np.float64) -> Any:
        """Encode trees as `HiddenTreeMixture.transform` does, by the groups of the fitted draw.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        dtype : dtype, default float64
            Type of the codes, float64 or float32.

        Returns
        -------
        array
            The codes, one row per tree.
        """
        return self._encoder().transform(X, dtype)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        return self._encoder().get_feature_names_out()

    def _encoder(self) -> HiddenTreeMixture:
        check_is_fitted(self, "mixture_")
        return self.mixture_.set_params(encoding=self.encoding, sparse_output=self.sparse_output)

    def sample(self, n_samples: int = 1, skeleton: Any = None, random_state: Any = None) -> Forest:
        """Draw trees from the groups found; see `HiddenTreeMixture.sample`.

        Parameters
        ----------
        n_samples : int, default 1
            Number of trees.
        skeleton : Forest or None, default None
            Trees whose shapes are used; None draws shapes too.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        Forest
            The trees.
        """
        check_is_fitted(self, "mixture_")
        return self.mixture_.sample(n_samples, skeleton, random_state)
