"""InfiniteHiddenTreeMixture: a Dirichlet-process mixture of hidden trees (paper 000 section 5)."""

import os
import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import ChainsDisagreeWarning, SettingError
from ...forest.forest import Forest
from ...inference import diagnostics
from ...inference.chains import Trace, run_chains
from ...inference.diagnostics import NEW_GROUP
from ...seeds import resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator, fingerprint, unseen_by_tree
from ..merging import MergedByLoss, check_losses, expected_losses
from ..model_file import plain
from ..settings import MOST_CHAINS, check_count, check_number
from ..vector_estimator import central_draw, spread_out
from . import tree_model as tm
from .base_measure import Evidence, evidence
from .dp_samplers import Seats, Setting, StochasticEM
from .exact_gibbs import ExactGibbs
from .fitting import pooled_rates
from .mixture import SHARD_BYTES, HiddenTreeMixture
from .passes import log_sum
from .starts import hellinger_features

Floats = NDArray[np.float64]

PARAMS = ("weight_", "leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_")
MAX_COMPARED = 100  # draws among which the central one is looked for
LEAST_PRIOR = 1e-3  # of draws; modes, as update="em" takes them, want one or more

MOST_AUXILIARY = 10**4  # groups that are drawn from the prior for every tree, and lie in memory


class InfiniteHiddenTreeMixture(MergedByLoss, ClusterMixin, TransformerMixin, ForestEstimator):
    """Cluster labelled trees without fixing the number of groups.

    Parameters
    ----------
    n_states, absent, structure, prior, leaf_prior, ..., n_slots, encoding, shard_bytes : as in `HiddenTreeMixture`,
        with other defaults where they serve better here (docs/infinite.md).  ``update="gibbs"`` takes priors below one,
        and `branching_prior` is the strength of a Beta prior around the pooled rate of each slot (None: twice `prior`).
    concentration : of the Dirichlet process; larger means more groups a priori.
    concentration_prior : (shape, rate) of a gamma prior, to learn the concentration; None keeps it fixed.
    update : ``"gibbs"`` samples the posterior exactly.  ``"em"`` is the paper's Algorithm 2, drawn seating and one
        MAP-EM step a sweep: quicker, a search and not a sampler.
    n_iter : sweeps of each chain.
    burn_in, thin : draws are kept after `burn_in` sweeps (None: half of them), every `thin`.
    n_start : groups to start from, found by k-means; 1 puts all trees into one, as the paper does.
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

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "spec_",
        *PARAMS,
        "labels_",
        "merge_loss_",
        "group_size_",
        "n_components_",
        "concentration_",
        "priors_",
        "n_nodes_seen_",
        "history_",
        "n_iter_",
        "provenance_",
    )
    _streams: ClassVar[bool] = True

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
        n_auxiliary: int = 3,
        n_split_merge: int = 5,
        hyperprior: tuple[float, float] | None = None,
        n_chains: int = 4,
        absent: tm.Absent = "literal",
        structure: tm.Structure = "branching",
        prior: float = 1.5,
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

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the chains; y is ignored.  Ctrl-C keeps what was sampled so far."""
        template = self._template()
        priors = self._check_priors(template)
        self._check_settings()
        forest = self._check_forest(X)
        spec = template._new_spec(forest)
        if self.update == "gibbs":
            spec = spec._replace(rates=pooled_rates(forest, spec))
        setting = Setting(
            priors,
            float(self.concentration),
            self.concentration_prior,
            self.n_auxiliary,
            self.n_split_merge,
            self.hyperprior,
        )
        kind = StochasticEM if self.update == "em" else ExactGibbs
        burn_in = self.n_iter // 2 if self.burn_in is None else self.burn_in
        whole = isinstance(self.random_state, (int, np.integer))
        seed = int(self.random_state) if whole else resolve_seed(self.random_state)
        with template._batch(forest, spec) as batch:
            sampler = kind(batch, setting, hellinger_features(forest, spec.n_slots), self.n_start)
            trace = run_chains(
                sampler,
                n_chains=self.n_chains,
                n_sweeps=self.n_iter,
                burn_in=burn_in,
                thin=min(self.thin, self.n_iter - burn_in),
                seed=seed,
                n_jobs=self.n_jobs,
                checkpoint=self.checkpoint,
                fingerprint=self._fingerprint(forest),
                progress=bool(self.verbose),
            )
        if trace.n_draws == 0:
            raise KeyboardInterrupt("interrupted before the first draw was kept; nothing to report")
        self._keep(trace, forest, spec)
        self.merge_loss_ = expected_losses(self.mixture_._log_joint(forest), self.weight_)
        self._record_provenance(forest)
        if self.update == "gibbs" and trace.n_chains > 1 and trace.n_draws > 3:
            report = self.chain_report()
            if not report.agree:
                warnings.warn(report.verdict, ChainsDisagreeWarning, stacklevel=2)
        return self

    def _template(self) -> HiddenTreeMixture:
        """A finite mixture with the same settings: it checks them and cuts forests into shards."""
        return HiddenTreeMixture(
            max(self.n_start, 1) if isinstance(self.n_start, int) else 1,
            self.n_states,
            absent=self.absent,
            structure=self.structure,
            prior=self.prior,
            leaf_prior=self.leaf_prior,
            emission_prior=self.emission_prior,
            switch_prior=self.switch_prior,
            transition_prior=self.transition_prior,
            branching_prior=self.branching_prior,
            n_slots=self.n_slots,
            shard_bytes=self.shard_bytes,
        )

    def _check_priors(self, template: HiddenTreeMixture) -> tm.Priors:
        """Raise on impossible settings of the trees' model; the priors of the fit."""
        if self.update == "em":
            return template._check_params()
        priors = template._check_params(LEAST_PRIOR)
        # The prior of the branching lies around pooled rates, as strong as Beta(prior, prior) would be.
        return priors if self.branching_prior is not None else priors._replace(branching=2.0 * priors.branching)

    def _check_settings(self) -> None:
        for name in ("n_iter", "thin", "n_start"):
            check_count(name, getattr(self, name))
        check_count("n_auxiliary", self.n_auxiliary, MOST_AUXILIARY)
        check_count("n_chains", self.n_chains, MOST_CHAINS)
        check_number("concentration", self.concentration, 1e-9, 1e9)
        check_number("novelty", self.novelty, 0.0, 1.0)
        if self.update not in ("em", "gibbs"):
            raise SettingError(f"update={self.update!r}; wanted 'em' or 'gibbs'")
        burn_in = 0 if self.burn_in is None else self.burn_in
        check_number("burn_in", burn_in, 0, self.n_iter - 1)
        if isinstance(self.n_split_merge, bool) or not isinstance(self.n_split_merge, (int, np.integer)):
            raise SettingError(f"n_split_merge={self.n_split_merge!r}; wanted a whole number, 0 or more")
        check_number("n_split_merge", self.n_split_merge, 0, 10**6)
        for name in ("concentration_prior", "hyperprior"):
            value = getattr(self, name)
            if value is not None:
                if not isinstance(value, (tuple, list)) or len(value) != 2:
                    raise SettingError(f"{name}={value!r}; wanted None or two numbers, shape and rate")
                shape, rate = value
                check_number(f"shape of {name}", shape, 1e-9, 1e9)
                check_number(f"rate of {name}", rate, 1e-9, 1e9)
        if self.hyperprior is not None and self.update != "gibbs":
            raise SettingError('hyperprior: only the exact sampler learns Dirichlet parameters; set update="gibbs"')

    def _fingerprint(self, forest: Forest) -> str:
        """What a checkpoint belongs to: the trees and every setting that shapes the chain."""
        free = ("n_iter", "burn_in", "thin", "n_chains", "n_jobs", "verbose", "checkpoint", "random_state", "novelty")
        output = ("encoding", "sparse_output")
        mine = self.get_params(deep=False).items()
        told = [f"{key}={plain(value)}" for key, value in mine if key not in (*free, *output) and value is not None]
        told += ["branching prior by slot"] if self.update == "gibbs" and self.structure else []
        return f"{', '.join(told)}; trees {fingerprint(forest)[:16]}"

    def _keep(self, trace: Trace, forest: Forest, spec: tm.Spec) -> None:
        """Take the model from one draw: the last of the best chain for "em", the central one for "gibbs"."""
        chain, draw = self._chosen_draw(trace)
        arrays = {name: values[draw] for name, values in trace.draws[chain].items()}
        label, count = arrays["label"], np.bincount(arrays["label"])
        order = np.lexsort((np.arange(len(count)), -count))  # groups by decreasing size
        params = tm.Params(*(np.asarray(arrays[name])[..., order] for name in tm.Params._fields))
        self.trace_ = trace
        self.n_iter_ = int(trace.n_sweeps[chain])
        self.history_ = trace.info["log_joint"][chain, : self.n_iter_].tolist()
        self.concentration_ = float(arrays["concentration"])
        self.priors_ = [float(x) for x in arrays["priors"]]
        self.labels_ = np.argsort(order)[label]
        self.n_components_ = len(count)
        self.group_size_ = count[order]
        self.weight_ = self.group_size_ / count.sum()
        self.leaf_prob_ = params.leaf.transpose(2, 0, 1)
        self.emission_prob_ = params.emission.transpose(2, 1, 0)
        self.switch_prob_ = params.switch.T
        self.transition_prob_ = params.transition.transpose(3, 0, 1, 2)
        self.branching_prob_ = params.branching.T
        self.vocabulary_, self.spec_, self.n_nodes_seen_ = forest.vocabulary, spec, forest.n_nodes
        self.mixture_ = self._as_mixture()

    def _as_mixture(self) -> HiddenTreeMixture:
        """The fitted draw as a finite mixture, which knows how to encode, decode and draw."""
        arrays: dict[str, Any] = {name.rstrip("_"): getattr(self, name) for name in PARAMS}
        if not self.spec_.structure:
            arrays["branching_prob"] = None
        mixture = HiddenTreeMixture.from_parameters(**arrays, vocabulary=self.vocabulary_, absent=self.spec_.absent)
        mixture.spec_ = self.spec_
        return mixture

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self.spec_ = tm.spec_of(self.spec_)
        self.mixture_ = self._as_mixture()
        mixture = self.mixture_
        sizes = (mixture.n_slots_, len(self.vocabulary_), mixture.n_states)
        if (
            self.spec_ != tm.Spec(*sizes, mixture.absent, mixture.structure, self.spec_.pooled, self.spec_.rates)
            or type(self.spec_.pooled) is not bool
        ):
            raise ValueError(f"the sizes of the model make no sense: {self.spec_}")
        self._check_settings()
        self._check_priors(self._template())
        if self.n_nodes_seen_ is None:  # written before it was kept
            self.n_nodes_seen_ = int((self.provenance_ or {}).get("n_nodes") or self.group_size_.sum())
        if type(self.n_nodes_seen_) is not int or self.n_nodes_seen_ < 1:
            raise ValueError("the number of nodes seen must be one or more")
        check_number("concentration_", self.concentration_, 1e-9, 1e9)
        if len(self.priors_) != len(tm.Priors._fields):
            raise ValueError("there is not one prior for each kind of parameter")
        for prior in self.priors_:
            check_number("priors_", prior, 1e-9, 1e9)
        count = self.group_size_
        check_losses(self, len(self.weight_))
        check_array("group_size_", count, np.int64, (len(self.weight_),), 1, 2**40)
        if self.n_components_ != len(count) or not np.allclose(self.weight_, count / count.sum()):
            raise ValueError("the weights of the groups are not their sizes")
        return self

    def _chosen_draw(self, trace: Trace) -> tuple[int, int]:
        joint = trace.info["log_joint"]
        if self.update == "em":
            last = [joint[chain, length - 1] for chain, length in enumerate(trace.n_sweeps)]
            return int(np.argmax(last)), -1
        # Densities of different numbers of parameters do not compare, so the most probable draw means nothing.
        labels = trace.stack("label")
        flat = labels.reshape(-1, labels.shape[-1])
        some = spread_out(len(flat), MAX_COMPARED)
        chosen = some[central_draw(flat[some][:, None], "vi")]
        return divmod(int(chosen), labels.shape[1])

    # ---- the posterior of the partition -------------------------------------------------------------------------

    def draws(self) -> NDArray[np.int64]:
        """Labels of the kept draws, [chain, draw, tree], called after the groups of `labels_` they overlap most.

        Groups without a counterpart there get numbers from n_components_ on; `diagnostics.align_labels` aligns the
        labels of another fit of the same trees in the same way.
        """
        check_is_fitted(self, "trace_")
        return diagnostics.align_labels(self.trace_.stack("label"), self.labels_)

    def n_components_posterior(self) -> Any:
        """Posterior of the number of groups."""
        return diagnostics.n_groups_posterior(self._flat_draws())

    def co_clustering(self) -> Floats:
        """How often two trees share a group, [tree, tree]."""
        return diagnostics.co_clustering_matrix(self._flat_draws())

    def point_estimate(self, loss: Literal["vi", "binder"] = "vi") -> Any:
        """The partition of least expected loss under the draws."""
        return diagnostics.point_estimate(self._flat_draws(), loss=loss, random_state=0)

    def chain_report(self) -> Any:
        """Whether the chains agree, in words and figures."""
        check_is_fitted(self, "trace_")
        sweeps = self.trace_.draw_sweep
        return diagnostics.check_chains(self.trace_.stack("label"), log_joint=self.trace_.info["log_joint"][:, sweeps])

    def _flat_draws(self) -> NDArray[np.int64]:
        check_is_fitted(self, "trace_")
        labels = self.trace_.stack("label")
        return labels.reshape(-1, labels.shape[-1])

    # ---- trees --------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the group of each tree given the fitted draw; the last column is a group never seen.

        Group k weighs its number of training trees, a new group the concentration; how probable the tree is under a new
        group is the likelihood at uniform parameters for update="em", as in the paper, and else its marginal likelihood
        under the prior, estimated within the error of `new_group_evidence`.  A label never seen costs a known group
        log(nodes seen in training) nats and a new one log(n_labels + 1).
        """
        return _proba_of(self._log_joint(X))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Most probable group of each tree; `NEW_GROUP` where a new one is more probable than `novelty`."""
        return self._labels_of(self.predict_proba(X))

    def _labels_of(self, proba: Floats) -> NDArray[np.int64]:
        new = (proba[:, -1] > self.novelty) | (proba[:, :-1].sum(axis=1) <= 0)
        return np.where(new, NEW_GROUP, proba[:, :-1].argmax(axis=1))

    def assign(self, X: Any) -> Assignments:
        """Group, probabilities and log predictive probability of each tree, by one pass through them."""
        joint = self._log_joint(X)
        proba = _proba_of(joint)
        return Assignments(self._labels_of(proba), proba, self._scores_of(joint), new_group=True)

    def hidden_trees(self) -> HiddenTreeMixture:
        """The mixture of the fitted draw."""
        check_is_fitted(self, "mixture_")
        return self.mixture_

    def resample_labels(self, X: Any, n_sweeps: int = 10, random_state: Any = None) -> NDArray[np.int64]:
        """The paper's test procedure: seat the new trees among themselves for some sweeps, parameters held fixed.

        Trees seated at a new group all get the number n_components_.  What a tree gets depends on the other trees.
        """
        rng = resolve_seed(random_state)
        columns = self._log_likelihood(X)
        label = rng.integers(0, self.n_components_, len(columns))
        for _ in range(n_sweeps):
            # One column holds those at a new group; another, empty, waits with the weight of the concentration.
            seats = Seats(label, np.column_stack([columns, columns[:, -1]]), n_empty=1)
            done = 0
            while done < len(columns):
                _, t, _ = seats.seat(rng, done, np.log(self.concentration_), False)
                if t < len(columns):
                    seats.empty[0] = seats.add_column(columns[:, -1])
                done = t + 1
            label = np.minimum(seats.label, self.n_components_)
        return label

    def _log_likelihood(self, X: Any) -> Floats:
        """log P(tree | group) of every group and, last, of a group never seen."""
        check_is_fitted(self, "mixture_")
        forest = self._in_training_terms(X)
        params = self.mixture_._fitted_params().tree
        with self.mixture_._batch(forest, self.spec_) as batch:
            known = batch.log_likelihood(params)
            if self.update == "em":
                new = batch.log_likelihood(tm.uniform_params(self.spec_))[:, 0]
            else:
                new = evidence(batch, tm.Priors(*self.priors_)).log_prob
        return np.asarray(np.column_stack([known, new]) - self._unseen_cost(forest))

    def _unseen_cost(self, forest: Forest) -> Floats:
        """Nats for labels never seen, [tree, group]: a group that has none pays more than one that may have any.

        In a known group each counts as one of the nodes seen, as for the classifiers; in a new one, as one more label.
        """
        times = np.concatenate([np.zeros(0), *(unseen_by_tree(part) for part in forest.parts())])
        seen = max(self.n_nodes_seen_, 2)
        cost = np.full(self.n_components_ + 1, np.log(seen))
        cost[-1] = np.log(min(seen, len(self.vocabulary_) + 1))
        return np.multiply.outer(times, cost)

    def new_group_evidence(self, X: Any) -> Evidence:
        """Log-probability of each tree in a group never seen, parameters integrated out, and its standard error.

        Labels never seen are summed out here.  The error is that of sequential imputation, from eight replicates; it is
        zero where the hidden states do not matter.
        """
        check_is_fitted(self, "mixture_")
        forest = self._in_training_terms(X)
        with self.mixture_._batch(forest, self.spec_) as batch:
            return evidence(batch, tm.Priors(*self.priors_))

    def _log_joint(self, X: Any) -> Floats:
        columns = self._log_likelihood(X)
        return np.asarray(columns + np.log(np.append(self.group_size_, self.concentration_)))

    def score_samples(self, X: Any) -> Floats:
        """Log predictive probability of each tree given the fitted draw, a new group included."""
        return self._scores_of(self._log_joint(X))

    def _scores_of(self, joint: Floats) -> Floats:
        return np.asarray(log_sum(joint) - np.log(self.group_size_.sum() + self.concentration_))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive probability a tree."""
        return float(self.score_samples(self._check_forest(X)).mean())

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


def _proba_of(joint: Floats) -> Floats:
    """Posterior of the groups from log P(tree, group), the last a group never seen."""
    total = log_sum(joint)
    proba = np.exp(joint - np.where(np.isfinite(total), total, 0.0)[:, None])
    proba[~np.isfinite(total), -1] = 1.0  # no group can produce the tree
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))
