"""InfiniteMixture: a Dirichlet-process mixture of any tree model; the number of groups is learnt.

A subclass names its settings, gives a `TreeModel` of the training trees, and shows a draw as a `FiniteMixture`.
"""

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.content_rows import LABEL
from ...forest.trees import Trees
from ...inference.chains import Trace
from ...inference.diagnostics import NEW_GROUP
from ...seeds import resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator, unseen_by_tree
from ..merging import MergedByLoss, check_losses, expected_losses
from ..model_file import plain, settings_text
from ..patterns.constraints import Given, check_kept, read_constraints
from ..sampled import ENDING, Sampled, central_draw, check_ending, sample_chains, spread_out
from ..settings import MOST_CHAINS, check_choice, check_count, check_gamma, check_integer, check_number
from . import tree_model as tm
from .conditioned_gibbs import conditioned
from .content_params import CONTENT, store_table, stored_table
from .content_starts import with_content
from .dp_samplers import ProcessPrior, Seats, StochasticEM
from .exact_gibbs import ExactGibbs
from .finite import FiniteMixture
from .fitted_mixture import SHARD_BYTES
from .known_classes import KnownClasses
from .passes import Batch, log_sum, shards_of
from .starts import hellinger_features, pattern_features

Floats = NDArray[np.float64]

MAX_COMPARED = 100  # draws among which the central one is looked for
MATTERS = 20.0  # nats below the best known group, from where the evidence of a new one may be rough
MOST_AUXILIARY = 10**4  # groups that are drawn from the prior for every tree, and lie in memory


class InfiniteMixture(KnownClasses, Sampled, MergedByLoss, ClusterMixin, ForestEstimator):
    """A Dirichlet-process mixture of tree models: chains, the chosen draw, new groups, files; subclasses choose."""

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "spec_",
        "weight_",
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
    _saved_if_there: ClassVar[tuple[str, ...]] = (CONTENT, "constraints_")
    #: The tree model, which reads itself from a file.
    _model_type: ClassVar[Any]

    # Settings that every subclass has in its __init__; those with a value here need not be settings.
    concentration: float
    n_iter: int
    until: Literal["settled", "n_iter"] = "n_iter"
    max_time: float | None = None
    n_start: int
    n_chains: int
    random_state: Any
    concentration_prior: tuple[float, float] | None = None
    update: Literal["em", "gibbs"] = "gibbs"
    burn_in: int | None = None
    init: Literal["patterns", "kmeans"] = "kmeans"
    thin: int = 1
    n_auxiliary: int = 3
    n_split_merge: int = 5
    hyperprior: tuple[float, float] | None = None
    novelty: float = 0.5
    shard_bytes: int = SHARD_BYTES
    checkpoint: str | os.PathLike[str] | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def _new_model(self, forest: Trees) -> tm.TreeModel:
        """The tree model of these trees, by the settings."""
        raise NotImplementedError

    def _check_priors(self) -> Any:
        """Raise on impossible settings of the tree model; the priors of the fit."""
        raise NotImplementedError

    def _finite(self) -> FiniteMixture:
        """A finite mixture of the same tree model, of `n_components_` components and not yet fitted."""
        raise NotImplementedError

    def _marks(self) -> list[str]:
        """What a checkpoint depends on beside trees and settings."""
        return []

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, known: Any = None, constraints: Mapping[str, Any] | None = None) -> Self:
        """Run the chains, given what is known; y is ignored.  Ctrl-C keeps what was sampled so far.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        known : sequence or None, default None
            Known classes of some trees, one entry per tree; None (or NaN) where the class is not known.  Each class has
            a group of its own, in every draw.
        constraints : mapping or None, default None
            ``{"must_link": [(0, 5), ...], "cannot_link": [(1, 2), ...]}``: pairs of trees that share a group in every
            draw, and pairs that do not.

        Returns
        -------
        object
            The estimator itself.
        """
        priors = self._check_priors()
        self._check_settings()
        forest = self._check_trees(X)
        given = read_constraints(known, constraints, forest.n_trees)
        if given is not None and self.update == "em":
            raise SettingError('known, constraints: only the exact sampler keeps them; set update="gibbs"')
        model = self._new_model(forest)
        with self._batch(forest, model, max(self.n_start, 1)) as batch:
            trace = self._run(batch, priors, forest, given)
        self._keep(trace, forest, model)
        self.merge_loss_ = expected_losses(self.mixture_._log_joint(forest), self.weight_)
        self._record_provenance(forest)
        self._keep_constraints(given, forest.n_trees)
        if self.update == "gibbs":
            self._warn_of_chains()
        return self

    def _run(self, batch: Batch, priors: Any, forest: Trees, given: Given | None) -> Trace:
        """Run the chains."""
        process = ProcessPrior(
            *(priors, float(self.concentration), self.concentration_prior),
            *(self.n_auxiliary, self.n_split_merge, self.hyperprior),
        )
        kind = self._sampler() if given is None else conditioned(self._sampler(), given)
        sampler = kind(batch, process, *self._starts(forest, batch.model))
        known = "" if given is None else f"; known {[plain(part) for part in given]}"
        return sample_chains(self, sampler, self._fingerprint(forest) + known, settles=self.update == "gibbs")

    def _sampler(self) -> Any:
        """The kind of chain."""
        return StochasticEM if self.update == "em" else ExactGibbs

    def _starts(self, forest: Trees, model: tm.TreeModel) -> tuple[Any, int, bool]:
        """What k-means groups the trees by before the first sweep, into how many, and whether that varies by chain."""
        features = pattern_features(forest, np.random.default_rng(0)) if self.init == "patterns" else None
        by_patterns, wanted = features is not None, tm.wanted(model)
        if features is None:
            features = hellinger_features(forest, model.n_slots)
        # Content of a store lies in its parts; there, labels alone make the start.
        held = features if forest.in_memory is None else with_content(features, forest.in_memory, wanted)
        return held, self.n_start, by_patterns

    def _batch(self, forest: Trees, model: tm.TreeModel, n_components: int) -> Batch:
        """The trees of a forest (in training terms) as shards for passes with so many components."""
        return Batch(model, shards_of(forest, model, self.shard_bytes // model.unit_bytes(n_components)), None, 1)

    def _check_settings(self) -> None:
        for name in ("n_iter", "thin", "n_start"):
            check_count(name, getattr(self, name))
        check_count("n_auxiliary", self.n_auxiliary, MOST_AUXILIARY)
        check_count("n_chains", self.n_chains, MOST_CHAINS)
        check_number("concentration", self.concentration, 1e-9, 1e9)
        check_number("novelty", self.novelty, 0.0, 1.0)
        check_choice("init", self.init, ("patterns", "kmeans"))
        check_ending(self)
        check_choice("update", self.update, ("em", "gibbs"))
        burn_in = 0 if self.burn_in is None else self.burn_in
        check_number("burn_in", burn_in, 0, self.n_iter - 1)
        check_integer("n_split_merge", self.n_split_merge, 0, 10**6)
        check_gamma("concentration_prior", self.concentration_prior)
        check_gamma("hyperprior", self.hyperprior)
        if self.hyperprior is not None and self.update != "gibbs":
            raise SettingError('hyperprior: only the exact sampler learns Dirichlet parameters; set update="gibbs"')

    def _fingerprint(self, forest: Trees) -> str:
        """What a checkpoint belongs to: the trees and every setting that shapes the chain."""
        free = (*ENDING, "burn_in", "thin", "n_chains", "n_jobs", "verbose", "checkpoint", "random_state")
        output = ("novelty", "encoding", "sparse_output")
        auto = ("content",) if self.get_params(deep=False).get("content") == "auto" else ()  # the trees decide
        text = ", ".join([settings_text(self, (*free, *output, *auto)), *self._marks()])
        return f"{text}; trees {forest.sha256[:16]}"

    def _keep(self, trace: Trace, forest: Trees, model: tm.TreeModel) -> None:
        """Take the model from one draw: the last of the best chain for "em", the central one for "gibbs"."""
        chain, draw = self._chosen_draw(trace)
        arrays = {name: values[draw] for name, values in trace.draws[chain].items()}
        label, count = arrays["label"], np.bincount(arrays["label"])
        order = np.lexsort((np.arange(len(count)), -count))  # groups by decreasing size
        params = tm.taken(tm.mapped(np.asarray, tm.unnamed(model.tables, arrays)), order)
        self.trace_ = trace
        self.n_iter_ = int(trace.n_sweeps[chain])
        self.history_ = trace.info["log_joint"][chain, : self.n_iter_].tolist()
        self.concentration_ = float(arrays["concentration"])
        self.priors_ = [float(x) for x in arrays["priors"]]
        self.labels_ = np.argsort(order)[label]
        self.n_components_ = len(count)
        self.group_size_ = count[order]
        self.weight_ = self.group_size_ / count.sum()
        self.__dict__.pop(CONTENT, None)  # of another fit
        tm.mapped(lambda table, x: store_table(self, table.name, table.show(x)), model.tables, params)
        self.vocabulary_, self.spec_, self.n_nodes_seen_ = forest.vocabulary, model, forest.n_nodes
        self.mixture_ = self._as_mixture()

    def _as_mixture(self) -> FiniteMixture:
        """The fitted draw as a finite mixture, which can encode, decode and draw."""
        mixture = self._finite()
        mixture.spec_, mixture.n_slots_, mixture.vocabulary_ = self.spec_, self.spec_.n_slots, self.vocabulary_
        mixture.weight_ = np.array(self.weight_)
        for table in tm.named(self.spec_.tables).values():
            mixture._store(table.name, np.array(stored_table(self, table.name)))
        mixture._set_unfitted()
        mixture._check_params()
        mixture._check_fitted()
        return mixture

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self.spec_ = self._model_type.from_header(self.spec_)
        count = self.group_size_
        check_array("weight_", self.weight_, np.float64, (None,), 0.0, 1.0 + 1e-9)
        check_array("group_size_", count, np.int64, (len(self.weight_),), 1, 2**40)
        if self.n_components_ != len(count) or not np.allclose(self.weight_, count / count.sum()):
            raise ValueError("the weights of the groups are not their sizes")
        self.mixture_ = self._as_mixture()
        self._check_settings()
        self._check_priors()
        if self.n_nodes_seen_ is None:  # written before it was kept
            self.n_nodes_seen_ = int((self.provenance_ or {}).get("n_nodes") or self.group_size_.sum())
        if type(self.n_nodes_seen_) is not int or self.n_nodes_seen_ < 1:
            raise ValueError("the number of nodes seen must be one or more")
        check_number("concentration_", self.concentration_, 1e-9, 1e9)
        if len(self.priors_) != len(self.spec_.priors_type._fields):
            raise ValueError("there is not one prior for each kind of parameter")
        for prior in self.priors_:
            check_number("priors_", prior, 1e-9, 1e9)
        check_losses(self, len(self.weight_))
        if "constraints_" in vars(self):
            check_kept(vars(self)["constraints_"], self.provenance_.get("known_classes"), len(self.weight_))
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

    def resample_labels(self, X: Any, n_sweeps: int = 10, random_state: Any = None) -> NDArray[np.int64]:
        """The paper's test procedure: seat the new trees among themselves for some sweeps, parameters held fixed.

        Trees seated at a new group all get the number n_components_.  What a tree gets depends on the other trees.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        n_sweeps : int, default 10
            Number of sweeps.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        ndarray of int
            Group of each tree.
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
        cost = self._unseen_cost(forest)
        with self.mixture_._batch(forest, self.spec_) as batch:
            known = batch.log_likelihood(params)
            if self.update == "em":
                new = batch.log_likelihood(self.spec_.uniform())[:, 0]
            else:
                joint = known - cost[:, :-1] + np.log(self.group_size_)
                floor = joint.max(axis=1) + cost[:, -1] - np.log(self.concentration_) - MATTERS
                new = self.spec_.evidence(batch, self.spec_.priors_type(*self.priors_), floor).log_prob
        return np.asarray(np.column_stack([known, new]) - cost)

    def _unseen_cost(self, forest: Trees) -> Floats:
        """Nats for labels never seen, [tree, group]: a group that has none pays more than one that may have any.

        In a known group each counts as one of the nodes seen, as for the classifiers; in a new one, as one more label.
        Where the model leaves labels out, none costs anything.
        """
        columns = tm.wanted(self.spec_)
        if columns and all(one.name != LABEL for one in columns):
            return np.zeros((forest.n_trees, self.n_components_ + 1))
        times = np.concatenate([np.zeros(0), *(unseen_by_tree(part) for part in forest.parts())])
        seen = max(self.n_nodes_seen_, 2)
        cost = np.full(self.n_components_ + 1, np.log(seen))
        cost[-1] = np.log(min(seen, len(self.vocabulary_) + 1))
        return np.multiply.outer(times, cost)

    def new_group_evidence(self, X: Any) -> tm.Evidence:
        """Log-probability of each tree in a group never seen, parameters integrated out, and its standard error.

        Labels, codes and words never seen are summed out here.  The error is that of sequential imputation, from eight
        replicates; it is zero where the hidden states do not matter.
        """
        check_is_fitted(self, "mixture_")
        forest = self._in_training_terms(X)
        with self.mixture_._batch(forest, self.spec_) as batch:
            evidence: tm.Evidence = self.spec_.evidence(batch, self.spec_.priors_type(*self.priors_))
            return evidence

    def _log_joint(self, X: Any) -> Floats:
        columns = self._log_likelihood(X)
        return np.asarray(columns + np.log(np.append(self.group_size_, self.concentration_)))

    def score_samples(self, X: Any) -> Floats:
        """Log predictive probability of each tree given the fitted draw, a new group included."""
        return self._scores_of(self._log_joint(X))

    def _scores_of(self, joint: Floats) -> Floats:
        return np.asarray(log_sum(joint) - np.log(self.group_size_.sum() + self.concentration_))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive probability per tree."""
        return float(self.score_samples(self._check_trees(X)).mean())


def _proba_of(joint: Floats) -> Floats:
    """Posterior of the groups from log P(tree, group), the last a group never seen."""
    total = log_sum(joint)
    proba = np.exp(joint - np.where(np.isfinite(total), total, 0.0)[:, None])
    proba[~np.isfinite(total), -1] = 1.0  # no group can produce the tree
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))
