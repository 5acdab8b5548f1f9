"""HiddenTree: a single switching-parent hidden tree model (Bacciu and Castellana (2019) section 3)."""

import os
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...forest.trees import Trees
from ..assignments import Assignments
from . import directions
from . import node_posteriors as nodes
from .content_params import store_table, stored_table
from .directions import Direction, Structure
from .finite import Outcome
from .fitted_mixture import SHARD_BYTES
from .inferred_states import InferredStates
from .mixture import HiddenTreeMixture
from .passes import Batch, log_joint, log_sum
from .switching_tree import Absent

Floats = NDArray[np.float64]


class HiddenTree(HiddenTreeMixture):
    """One switching-parent hidden tree model; it groups trees by the state of their root.

    It is a `HiddenTreeMixture` with one component.  Fitted arrays have no component axis.

    Parameters
    ----------
    n_states : int or "infer", default 4
        Hidden states.  "infer" learns how many are needed; docs/infinite-states.md.
    max_states : int, default 12
        Most states where ``n_states="infer"``; a fit that uses all of them warns.
    n_sweeps : int, default 800
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
    prior : float, default 1.1
        Dirichlet parameter of every distribution, 1 or more; 1 is maximum likelihood.
    leaf_prior, emission_prior, switch_prior, transition_prior, branching_prior : float or None, default None
        Dirichlet parameters of single distributions.  None uses `prior`.
    root_prior : float or None, default None
        Dirichlet parameter of the state of roots, of ``direction="down"``.  None uses `prior`.
    n_init : int, default 1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default 200
        Most iterations of EM.
    tol : float, default 1e-3
        EM ends when an iteration gains less than this many nats per tree.
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
        Most probable state of the root of each training tree; states are ordered by decreasing number of roots.
    leaf_prob_ : ndarray of shape (n_slots + 1, n_states)
        Probability of the state of a leaf, by slot; the last slot is that of a root.
    emission_prob_ : ndarray of shape (n_states, n_labels)
        Probability of labels given the state.
    switch_prob_ : ndarray of shape (n_slots,)
        Probability that the child in a slot determines the state of its parent.
    transition_prob_ : ndarray of shape (n_slots, n_states + 1, n_states)
        Probability of the parent's state given the slot and state of the determining child; the last state of the child
        stands for an absent child.  With ``direction="down"``, of a child's state (last axis) given its slot and the
        state of its parent.
    branching_prob_ : ndarray of shape (n_slots,)
        Probability that a node has a child in a slot; empty if `structure` is None.  With ``structure="state"``, the
        last axis is the state.
    root_prob_ : ndarray of shape (n_states,)
        Of ``direction="down"``, which has no `leaf_prob_` and `switch_prob_`: probability of the state of a root.
    content_params_ : dict
        Parameters of each column by name, as ``content_params_["length"]["mean"]``; empty without content.
    n_states_ : int
        Of ``n_states="infer"``: states with more than a hundredth of the nodes.  States are ordered by their nodes.
    state_share_ : ndarray of shape (max_states,)
        Of ``n_states="infer"``: share of the nodes in each state.
    state_weight_ : ndarray of shape (max_states,)
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
    >>> from arbora import HiddenTree
    >>> trees = [("a", ["b", "c"])] * 6 + [("d", ["e", "e", "f"])] * 4
    >>> model = HiddenTree(2, random_state=0).fit(trees)
    >>> model.emission_prob_.shape
    (2, 6)
    >>> bool(model.score_samples([("a", ["b", "c"])]) > model.score_samples([("a", ["f", "f"])]))
    True
    """

    def __init__(
        self,
        n_states: int | Literal["infer"] = 4,
        *,
        max_states: int = 12,
        n_sweeps: int = 800,
        absent: Absent = "bottom",
        structure: Structure = "branching",
        direction: Direction = "up",
        tied: bool = False,
        prior: float = 1.1,
        leaf_prior: float | None = None,
        root_prior: float | None = None,
        emission_prior: float | None = None,
        switch_prior: float | None = None,
        transition_prior: float | None = None,
        branching_prior: float | None = None,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-3,
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
        super().__init__(
            n_components=1,
            n_states=n_states,
            max_states=max_states,
            n_sweeps=n_sweeps,
            absent=absent,
            structure=structure,
            direction=direction,
            tied=tied,
            prior=prior,
            leaf_prior=leaf_prior,
            root_prior=root_prior,
            emission_prior=emission_prior,
            switch_prior=switch_prior,
            transition_prior=transition_prior,
            branching_prior=branching_prior,
            init="random",
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            acceleration=acceleration,
            content=content,
            n_slots=n_slots,
            warm_start=warm_start,
            learning_decay=learning_decay,
            encoding=encoding,
            sparse_output=sparse_output,
            shared=shared,
            shard_bytes=shard_bytes,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls,
        *,
        emission_prob: ArrayLike,
        transition_prob: ArrayLike,
        leaf_prob: ArrayLike | None = None,
        switch_prob: ArrayLike | None = None,
        root_prob: ArrayLike | None = None,
        branching_prob: ArrayLike | None = None,
        vocabulary: Any = None,
        absent: Absent | None = None,
    ) -> Self:
        """A fitted model with these parameters, without component axis; see `HiddenTreeMixture.from_parameters`.

        Parameters
        ----------
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
        HiddenTree
            The model.
        """

        def alone(values: ArrayLike | None) -> Any:
            return None if values is None else np.asarray(values)[None]

        return super().from_parameters(
            weight=np.ones(1),
            emission_prob=alone(emission_prob),
            transition_prob=alone(transition_prob),
            leaf_prob=alone(leaf_prob),
            switch_prob=alone(switch_prob),
            root_prob=alone(root_prob),
            branching_prob=alone(branching_prob),
            vocabulary=vocabulary,
            absent=absent,
        )

    @classmethod
    def _sized(cls, n_components: int, spec: Any) -> Self:
        return cls(**directions.options_of(spec))

    def _store(self, name: str, values: Floats) -> None:
        store_table(self, name, values[0])

    def _by_component(self, name: str) -> Floats:
        return stored_table(self, name)[None]

    def _keep(self, found: Outcome) -> None:
        """Store the result with states in canonical order: by decreasing number of roots, ties by first tree."""
        batch, tree, counts = found.batch, found.result.params.tree, found.counts
        model: Any = batch.model  # it has hidden states
        if found.reorder and not isinstance(model, InferredStates):
            root = batch.root_posterior(tree)[:, :, 0].argmax(axis=1)
            first = np.full(model.n_states, batch.n_trees)
            np.minimum.at(first, root, np.arange(batch.n_trees))
            order = np.lexsort((first, -np.bincount(root, minlength=model.n_states)))
            params = found.result.params._replace(tree=model.reorder_states(tree, order))
            found = found._replace(result=found.result._replace(params=params))
            if counts is not None:
                found = found._replace(counts=counts._replace(tree=model.reorder_states(counts.tree, order)))
        super()._keep(found._replace(reorder=False))
        fitted = self._fitted_params().tree
        with Batch(self.spec_, batch.shards, batch.sample_weight, batch.n_threads) as again:
            self.labels_ = again.root_posterior(fitted)[:, :, 0].argmax(axis=1)
        self.merge_loss_ = None  # clusters are states of the root, not components

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the root's state of each tree; uniform where the model cannot produce the tree."""
        forest = self._in_training_terms(X)
        with self._batch(forest, self.spec_) as batch:
            return self._root_proba(batch)

    def assign(self, X: Any) -> Assignments:
        """Root state, its probabilities and log-likelihood of each tree, whose subtrees are shared once."""
        forest, params = self._in_training_terms(X), self._fitted_params()
        with self._batch(forest, self.spec_) as batch:
            proba = self._root_proba(batch)
            score = log_sum(log_joint(batch.log_likelihood(params.tree), params.weight))
        return Assignments(np.asarray(proba.argmax(axis=1)), proba, np.asarray(score))

    def _root_proba(self, batch: Batch) -> Floats:
        root = batch.root_posterior(self._fitted_params().tree)[:, :, 0]
        impossible = root.sum(axis=1) <= 0
        root[impossible] = 1.0 / self.spec_.n_states
        return np.asarray(root)

    def posterior(self, X: Any) -> Floats:
        """P(state | tree) of every node, shape (n_nodes, n_states)."""
        forest = self._in_training_terms(X)
        params = self._fitted_params().tree
        parts = [nodes.posterior(self.spec_, params, part, np.ones((part.n_trees, 1))) for part in forest.parts()]
        return np.asarray(np.concatenate(parts)[:, 0])

    def _decoding_component(self, forest: Trees) -> NDArray[np.int64]:
        return np.zeros(forest.n_trees, np.int64)
