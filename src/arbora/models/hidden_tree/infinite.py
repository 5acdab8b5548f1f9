"""InfiniteHiddenTreeMixture: a Dirichlet-process mixture of hidden trees (paper 000 section 5)."""

import os
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...forest.forest import Forest
from ..settings import check_count
from .dp_mixture import InfiniteMixture
from .finite import SHARD_BYTES
from .mixture import HiddenTreeMixture
from .slot_rates import pooled_rates
from .switching_params import Priors
from .switching_settings import PROBABILITIES, check_components, check_switching, new_switching_tree
from .switching_tree import Absent, Structure, SwitchingTree

LEAST_PRIOR = 1e-3  # of draws; modes, as update="em" takes them, want one or more

SHARP_PRIOR, FLAT_PRIOR = 0.05, 1.5  # where none is given: of draws, and of modes and the renormalised reading


class InfiniteHiddenTreeMixture(TransformerMixin, InfiniteMixture):
    """Cluster labelled trees without fixing the number of groups.

    Parameters
    ----------
    n_states, absent, structure, prior, leaf_prior, ..., n_slots, encoding, shard_bytes : as in `HiddenTreeMixture`,
        with other defaults where they serve better here (docs/infinite.md).  prior=None is 0.05, and 1.5 for
        ``update="em"`` and for ``absent="renormalised"``.  ``update="gibbs"`` takes priors below one, and
        `branching_prior` is the strength of a Beta prior around the pooled rate of each slot (None: twice `prior`).
    concentration : of the Dirichlet process; larger means more groups a priori.
    concentration_prior : (shape, rate) of a gamma prior, to learn the concentration; None keeps it fixed.
    update : ``"gibbs"`` samples the posterior exactly.  ``"em"`` is the paper's Algorithm 2, drawn seating and one
        MAP-EM step a sweep: quicker, a search and not a sampler.
    n_iter : sweeps of each chain.
    burn_in, thin : draws are kept after `burn_in` sweeps (None: half of them), every `thin`.
    n_start, init : groups to start from, found by k-means; 1 puts all trees into one, as the paper does.  With
        ``init="patterns"`` k-means sees the patterns of the trees, and each chain starts from a number of its own, from
        half to twice `n_start`; with ``"kmeans"`` it sees counts of (slot, label), and all chains start from `n_start`.
    n_auxiliary : empty components in the pool of the exact sampler.
    n_split_merge : proposals of the exact sampler, a sweep, to split a group or to merge two.
    hyperprior : (shape, rate) of a gamma prior, with which the exact sampler learns the Dirichlet parameters too, from
        1e-3 to 1e3, starting from `prior`; None keeps them fixed.
    n_chains, n_jobs : chains, and processes to run them in; the result does not depend on n_jobs.  A single chain
        reports one number of groups with certainty; several show, and `fit` warns, where other starts find another.
    novelty : `predict` answers `NEW_GROUP` for trees more probably than this of a group never seen.
    checkpoint : a folder in which chains are saved as they run, and from which a broken run goes on.

    The fitted model is one draw (`labels_`; `weight_`, `emission_prob_` and so on as in `HiddenTreeMixture`): the last
    of the best chain for "em", the one closest to all others for "gibbs".  `trace_` holds them all; `point_estimate`,
    `co_clustering`, `n_components_posterior` and `chain_report` read it, `history_` is its log joint by sweep.  A saved
    model holds the draw, not the trace, which has a `save` of its own.
    """

    _saved: ClassVar[tuple[str, ...]] = (*InfiniteMixture._saved, *PROBABILITIES)
    _model_type: ClassVar[type[SwitchingTree]] = SwitchingTree

    spec_: SwitchingTree
    mixture_: HiddenTreeMixture

    def __init__(
        self,
        n_states: int = 4,
        *,
        concentration: float = 10.0,
        concentration_prior: tuple[float, float] | None = None,
        update: Literal["em", "gibbs"] = "gibbs",
        n_iter: int = 30,
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
        prior: float | None = None,
        leaf_prior: float | None = None,
        emission_prior: float | None = None,
        switch_prior: float | None = None,
        transition_prior: float | None = None,
        branching_prior: float | None = None,
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
        self.concentration = concentration
        self.concentration_prior = concentration_prior
        self.update = update
        self.n_iter = n_iter
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
        self.prior = prior
        self.leaf_prior = leaf_prior
        self.emission_prior = emission_prior
        self.switch_prior = switch_prior
        self.transition_prior = transition_prior
        self.branching_prior = branching_prior
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

    def _new_model(self, forest: Forest) -> SwitchingTree:
        check_components(self.n_start, forest.n_trees)
        model = new_switching_tree(self, forest, self.n_start)
        return replace(model, rates=pooled_rates(forest, model)) if self.update == "gibbs" else model

    def _check_priors(self) -> Priors:
        check_count("shard_bytes", self.shard_bytes)
        if self.update == "em":
            return check_switching(self, if_none=FLAT_PRIOR)
        sharp = self.absent != "renormalised"
        priors = check_switching(self, LEAST_PRIOR, SHARP_PRIOR if sharp else FLAT_PRIOR)
        # The prior of the branching lies around pooled rates, as strong as Beta(prior, prior) would be.
        return priors if self.branching_prior is not None else priors._replace(branching=2.0 * priors.branching)

    def _marks(self) -> list[str]:
        return ["branching prior by slot"] if self.update == "gibbs" and self.structure else []

    def _finite(self) -> HiddenTreeMixture:
        model = self.spec_
        return HiddenTreeMixture(self.n_components_, model.n_states, absent=model.absent, structure=model.structure)

    # ---- trees --------------------------------------------------------------------------------------------------

    def hidden_trees(self) -> HiddenTreeMixture:
        """The mixture of the fitted draw."""
        check_is_fitted(self, "mixture_")
        return self.mixture_

    def transform(self, X: Any, dtype: Any = np.float64) -> Any:
        """Encode trees as `HiddenTreeMixture.transform` does, by the groups of the fitted draw."""
        return self._encoder().transform(X, dtype)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        return self._encoder().get_feature_names_out()

    def _encoder(self) -> HiddenTreeMixture:
        check_is_fitted(self, "mixture_")
        return self.mixture_.set_params(encoding=self.encoding, sparse_output=self.sparse_output)

    def sample(self, n_samples: int = 1, skeleton: Any = None, random_state: Any = None) -> Forest:
        """Draw trees from the groups found; see `HiddenTreeMixture.sample`."""
        check_is_fitted(self, "mixture_")
        return self.mixture_.sample(n_samples, skeleton, random_state)
