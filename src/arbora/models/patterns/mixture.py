"""PatternMixture: trees as sets of patterns, in a number of groups that is learnt or given."""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ...errors import ArboraError, SettingError
from ...forest.forest import Forest
from ...inference import diagnostics
from ...inference.chains import Trace, run_chains
from ...inference.diagnostics import NEW_GROUP
from ...seeds import resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator
from ..merging import GroupsWithinGroups
from ..model_file import plain
from ..sampled import Sampled
from ..settings import check_count, check_number
from . import families as fm
from . import fitted as ft
from . import marginals as mg
from . import search as se
from .fitted import Merges, Model, Sums
from .marginals import Corpus, PartitionPrior
from .node_surprise import node_surprise
from .sampler import PartitionSampler
from .splits import Splits, best_splits, split_labels
from .table import Known
from .transformer import TreePatterns, check_families, share_of_unseen

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_POWER = 0.5  # of power="auto" with the number unknown
#: Settings that a run has beside those of the model; a checkpoint does not depend on them.
SETTINGS = ("n_iter", "burn_in", "thin", "n_chains", "n_jobs", "checkpoint", "random_state", "verbose")


class Novelty(NamedTuple):
    """How new a tree is."""

    p_value: Floats  # [tree]: share of the trees of its group that fit the group no better
    unseen_share: Floats  # [tree]: share of its patterns that the model has no column for


class PatternMixture(Sampled, GroupsWithinGroups, ClusterMixin, ForestEstimator):
    """Cluster trees by the local patterns they contain; the number of groups is learnt or given.

    A tree is the set of its patterns (`TreePatterns`).  A group is a Dirichlet-multinomial over patterns, shrunk to the
    background of all trees.  Families of patterns are averaged, not added.  All parameters of groups are integrated
    out.

    Parameters
    ----------
    n_components : int or None, default None
        Number of groups.  None learns it.
    families : sequence of str, default ("rules", "rules2", "bigrams")
        Families of patterns, as in `TreePatterns`.
    labels : {"given", "sizes"}, default "given"
        Labels of the patterns, as in `TreePatterns`.
    min_trees : int, default 2
        Patterns that occur in fewer training trees are ignored.
    power : float, "calibrated" or "auto", default "auto"
        Factor of log marginals, because the patterns of a tree depend on each other.  "calibrated" learns it.  "auto"
        is calibrated but at least 0.5 if the number of groups is learnt, else 1.
    prior : {"dp", "pitman-yor", "finite"}, default "dp"
        Prior of the partition: a Dirichlet process, a Pitman-Yor process with discount 0.5, or a mixture of finite
        mixtures.
    concentration : float or None, default None
        Concentration of the process.  None learns it for "dp" with a Gamma(1, 1) prior, and is 1 otherwise.
    n_sweeps : int, default 12
        Sweeps of the search that finds `labels_`.
    n_chains, n_iter, thin : int, default 4, 30 and 1
        Number of chains that sample the posterior of the partition after the search, sweeps of each, and the step
        between draws that are kept.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of them.
    fit_on : int, default 2000
        With more trees than this, the groups are found on so many trees drawn at random, and the others are assigned to
        them.
    checkpoint : path or None, default None
        Folder in which chains are saved as they run; it needs a whole number as `random_state`.
    n_jobs : int or None, default None
        Threads that run the chains.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Group of each tree, 0, 1, ... by decreasing size: one good partition, found by a search.
    n_components_ : int
        Number of groups.
    group_size_, weight_ : ndarray of shape (n_components_,)
        Number of fitted trees per group, and their shares.
    strengths_ : ndarray
        How strongly groups are shrunk to the background, by family, learnt by the search.
    power_, concentration_, log_posterior_ : float
        Power, concentration and log posterior (up to a constant) of the partition found.
    converged_ : bool
        Whether at the end of the search no move of a tree and no merge could raise the log posterior.
    patterns_ : TreePatterns
        The fitted patterns.
    pattern_count_ : array of shape (n_components_, n_patterns)
        Number of trees of each group with each pattern.
    fitted_trees_ : ndarray
        Indices of the trees that the groups were found on.
    split_gain_, split_side_ : ndarray
        Gain of the best split of each group, and the part of each fitted tree; `splits` returns them.
    trace_ : Trace
        Draws of the partition, exact given the strengths and the power that the search found.  Each chain has its own
        k-means start.  `n_components_posterior`, `co_clustering`, `point_estimate` and `chain_report` summarise the
        draws. The default chains are short: `chain_report` says whether they agree.

    Notes
    -----
    `predict` returns a new group only if asked to.  Probabilities are those of the model as written: with a power below
    one, or more than one family, they are not densities of trees.

    References
    ----------
    Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.
    Dahl (2005), Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet process mixtures.
    Yin and Wang (2014), A Dirichlet multinomial mixture model-based approach for short text clustering.

    Examples
    --------
    >>> from arbora import PatternMixture
    >>> trees = [("a", ["b", "c"])] * 5 + [("d", ["e", "e", "f"])] * 5
    >>> PatternMixture(random_state=0).fit(trees).labels_.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "labels_",
        "group_size_",
        "pattern_count_",
        "share_",
        "strengths_",
        "power_",
        "concentration_",
        "log_posterior_",
        "converged_",
        "fitted_trees_",
        "left_out_",
        "left_out_label_",
        "split_gain_",
        "split_side_",
        "provenance_",
    )
    _streams: ClassVar[bool] = True
    split_gain_: Floats | None
    split_side_: Any

    def __init__(
        self,
        n_components: int | None = None,
        *,
        families: Sequence[str] = fm.DEFAULT,
        labels: Literal["given", "sizes"] = "given",
        min_trees: int = 2,
        power: float | str = "auto",
        prior: Literal["dp", "pitman-yor", "finite"] = "dp",
        concentration: float | None = None,
        n_sweeps: int = 12,
        n_chains: int = 4,
        n_iter: int = 30,
        burn_in: int | None = None,
        thin: int = 1,
        fit_on: int = 2000,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.families = families
        self.labels = labels
        self.min_trees = min_trees
        self.power = power
        self.prior = prior
        self.concentration = concentration
        self.n_sweeps = n_sweeps
        self.n_chains = n_chains
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.fit_on = fit_on
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the groups, then sample their posterior; y is ignored.  Ctrl-C keeps the draws made so far."""
        self._check_settings()
        forest = self._check_forest(X)
        rng = resolve_seed(self.random_state)
        chosen = np.arange(forest.n_trees)
        if forest.n_trees > self.fit_on:
            chosen = np.sort(rng.choice(forest.n_trees, self.fit_on, replace=False))
        sample = forest if len(chosen) == forest.n_trees and isinstance(forest, Forest) else forest.take(chosen)
        self.patterns_ = TreePatterns(tuple(self.families), labels=self.labels, min_trees=self.min_trees)
        presence = self.patterns_.fit_transform(sample)
        corpus = mg.corpus_of(presence, self.patterns_.table.family_of_columns(), len(self.families))
        with threadpool_limits(1):  # small matrices; and the order of sums must not depend on the machine
            features = se.directions(corpus, int(rng.integers(2**31 - 1)))
            found = self._search(rng, corpus, features)
            trace = self._sample(corpus, features, found, forest)
            self._keep(corpus, found, chosen, forest)
            tables = mg.make_tables(corpus, found.strengths, found.power, found.prior)
            self.split_gain_, self.split_side_ = best_splits(rng, corpus, features, tables, self.left_out_label_)
        self.trace_ = trace
        return self

    def _search(self, rng: np.random.Generator, corpus: Corpus, features: Floats) -> se.Found:
        prior = PartitionPrior(self.prior, 1.0 if self.concentration is None else float(self.concentration))
        powers = self._powers()
        if self.n_components is not None:
            return se.search_given(rng, corpus, features, self.n_components, prior, powers.start)
        start = se.kmeans_start(features, se.n_start(corpus.n_trees), rng)
        return se.search(rng, corpus, start, prior, powers, self.n_sweeps, self.concentration is None)

    def _powers(self) -> se.Powers:
        if isinstance(self.power, str):
            if self.n_components is not None:
                return se.Powers(1.0)
            return se.Powers(1.0, True, LEAST_POWER) if self.power == "auto" else se.Powers(1.0, True)
        return se.Powers(float(self.power))

    def _sample(self, corpus: Corpus, features: Floats, found: se.Found, forest: Forest) -> Trace:
        """Chains with all but the partition and the concentration held at what the search found."""
        n_start = se.n_start(corpus.n_trees) if self.n_components is None else int(found.label.max()) + 1
        sampler = PartitionSampler(
            corpus,
            found.strengths,
            found.power,
            found.prior,
            starts=_KMeansStarts(features, n_start),
            closed=self.n_components is not None,
            learn_concentration=self.concentration is None,
        )
        burn_in = self.n_iter // 2 if self.burn_in is None else self.burn_in
        seed = self.random_state
        trace = run_chains(
            sampler,
            n_chains=self.n_chains,
            n_sweeps=self.n_iter,
            burn_in=burn_in,
            thin=min(self.thin, self.n_iter - burn_in),
            seed=int(seed) if isinstance(seed, (int, np.integer)) else resolve_seed(seed),
            n_jobs=self.n_jobs,
            threads=True,
            checkpoint=self.checkpoint,
            fingerprint=self._fingerprint(forest),
            progress=True if self.verbose else None,
        )
        if trace.n_draws == 0:
            raise KeyboardInterrupt("interrupted before the first draw was kept; nothing to report")
        return trace

    def _fingerprint(self, forest: Forest) -> str:
        """What a checkpoint belongs to: the trees, the seed of the search, and every setting that shapes it."""
        mine = self.get_params(deep=False).items()
        told = [f"{key}={plain(value)}" for key, value in mine if key not in SETTINGS and value is not None]
        return f"{', '.join(told)}, random_state={self.random_state!r}; trees {forest.sha256[:16]}"

    def _keep(self, corpus: Corpus, found: se.Found, chosen: Ints, forest: Forest) -> None:
        label = diagnostics.canonical(found.label)
        self.vocabulary_ = forest.vocabulary
        self.fitted_trees_ = chosen
        self.strengths_, self.power_ = found.strengths, found.power
        self.concentration_, self.log_posterior_ = found.prior.concentration, found.log_posterior
        self.converged_ = found.converged
        self.share_ = corpus.share
        tables = mg.make_tables(corpus, found.strengths, found.power, found.prior)
        groups = mg.seat(corpus, tables, label)
        self.left_out_ = np.maximum(ft.left_out_scores(corpus, tables, groups), -1e300)
        self.left_out_label_ = label
        self._set_sums(ft.sums_of(corpus, label))
        if not found.converged:
            log.info("the search ended at its budget; another random_state may find a better partition")
        if self.n_components is not None and self.n_components_ < self.n_components:
            log.warning("%d groups wanted, but only %d distinct trees", self.n_components, self.n_components_)
        self.labels_ = label
        if len(chosen) < forest.n_trees:
            labels = self.predict(forest)
            labels[chosen] = label
            self.labels_ = labels
        self._record_provenance(forest)

    def _set_sums(self, sums: Sums) -> None:
        self.pattern_count_, self.group_size_ = sums
        self.n_components_ = len(sums.size)
        self.weight_ = sums.size / sums.size.sum()

    def _check_settings(self) -> None:
        check_families(self.families)
        for name in ("min_trees", "n_sweeps", "n_chains", "n_iter", "thin", "fit_on"):
            check_count(name, getattr(self, name))
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if self.burn_in is not None:
            check_number("burn_in", self.burn_in, 0, self.n_iter - 1)
        if self.prior not in ("dp", "pitman-yor", "finite"):
            raise SettingError(f"prior={self.prior!r}; wanted 'dp', 'pitman-yor' or 'finite'")
        if self.power not in ("auto", "calibrated"):
            check_number("power", self.power, 1e-3, 10.0)
        if self.concentration is not None:
            check_number("concentration", self.concentration, 1e-6, 1e6)
        if self.checkpoint is not None and not isinstance(self.random_state, (int, np.integer)):
            raise SettingError(
                f"checkpoint: random_state={self.random_state!r}; wanted a whole number, so that the search before "
                "the chains is the same when they go on"
            )

    # ---- the posterior of the partition -------------------------------------------------------------------------

    def _groups_of_drawn(self) -> Ints:
        """Draws are of the trees `fitted_trees_`."""
        return self.labels_[self.fitted_trees_]

    # ---- trees --------------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Model:
        """The fitted numbers together."""
        check_is_fitted(self, "group_size_")
        sums = Sums(self.pattern_count_, self.group_size_)
        prior = PartitionPrior(self.prior, self.concentration_)
        family = self.patterns_.table.family_of_columns()
        return Model(sums, self.share_, family, self.strengths_, self.power_, prior)

    def _known(self, X: Any) -> Iterator[Known]:
        check_is_fitted(self, "group_size_")
        return self.patterns_.known(self.patterns_._in_my_terms(X))

    def _scores(self, known: Known, model: Model) -> Floats:
        """Log prior weight plus weighted log predictive of each group, and of a new one last; [tree, group + 1]."""
        return model.weight * ft.log_predictive(model, ft.rows_of(known.counts, model)) + ft.log_seats(model)

    def predict(self, X: Any, new_groups: bool = False) -> Ints:
        """Most probable group of each tree; with `new_groups`, -1 where a group of its own is more probable."""
        out = []
        for known in self._known(X):
            score = self._scores(known, self.model_)
            best = score[:, :-1].argmax(axis=1)
            if new_groups:
                best = np.where(score[:, -1] > score[:, :-1].max(axis=1), NEW_GROUP, best)
            out.append(best.astype(np.int64))
        return np.concatenate(out)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log posterior of the group of each tree among those found, [tree, group]; nothing is rounded to zero."""
        out = []
        for known in self._known(X):
            score = self._scores(known, self.model_)[:, :-1]
            out.append(score - logsumexp(score, axis=1, keepdims=True))
        return np.concatenate(out)

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the group of each tree among those found, [tree, group]."""
        return np.exp(self.predict_log_proba(X))

    def assign(self, X: Any) -> Assignments:
        """Group, probabilities and log predictive score of each tree; patterns are counted once."""
        model = self.model_
        score = np.concatenate([self._scores(known, model) for known in self._known(X)])
        own = score[:, :-1]
        log_proba = own - logsumexp(own, axis=1, keepdims=True)
        return Assignments(own.argmax(axis=1).astype(np.int64), np.exp(log_proba), self._total(score))

    def map_codes(self, forest: Forest, training: bool = False) -> tuple[Any, str]:
        """Counts of patterns."""
        return self.patterns_.transform(forest), "the patterns of the trees"

    def score_samples(self, X: Any) -> Floats:
        """Log predictive score of the known patterns of each tree, a new group included if their number is learnt.

        The logarithm of sum_k P(group k) p(patterns | group k) ^ weight, with weight = power / number of families: a
        score to compare trees and models by, and no density of trees.
        """
        return np.concatenate([self._total(self._scores(known, self.model_)) for known in self._known(X)])

    def _total(self, score: Floats) -> Floats:
        last = None if self.n_components is None else -1
        return np.asarray(logsumexp(score[:, :last], axis=1) - logsumexp(ft.log_seats(self.model_)[:last]))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(self._check_forest(X)).mean())

    def novelty(self, X: Any) -> Novelty:
        """How new each tree is: a p-value within its group, and the share of its patterns never met.

        The p-value is the rank of the tree's log predictive per pattern among those of the group's own trees, each left
        out of its group; small where the tree fits worse than they do.
        """
        p_value, unseen = [], []
        model = self.model_
        for known in self._known(X):
            rows = ft.rows_of(known.counts, model)
            score = ft.log_predictive(model, rows)
            label = (model.weight * score + ft.log_seats(model))[:, :-1].argmax(axis=1)
            own = ft.per_pattern(score[np.arange(len(score)), label], rows)
            p_value.append(ft.p_values(np.maximum(own, -1e300), label, self.left_out_, self.left_out_label_))
            unseen.append(share_of_unseen(known))
        return Novelty(np.concatenate(p_value), np.concatenate(unseen))

    def node_surprise(self, X: Any) -> Floats:
        """How much rarer the patterns of each node are in the group of its tree than in all trees.

        Parameters
        ----------
        X : Forest or trees
            The trees; each is looked at in the group that `predict` gives it.

        Returns
        -------
        array of shape (n_nodes,)
            Log ratio of the background to the group, in nats: the mean over families of the mean over the patterns
            that start at the node.  Below zero where the group has them more often.  A pattern that is in no column
            gets the most its family can get.  Trees of the fit are counted in their own groups.

        Examples
        --------
        >>> from arbora import PatternMixture
        >>> model = PatternMixture(2, random_state=0).fit([("a", ["b", "c"])] * 5 + [("d", ["e", "e", "f"])] * 5)
        >>> surprise = model.node_surprise([("a", ["b", ("d", ["e"])])])  # children come before their parents
        >>> [round(x, 1) for x in surprise.tolist()]
        [-0.6, 2.2, 2.1, 1.8]
        """
        check_is_fitted(self, "group_size_")
        forest = self.patterns_._in_my_terms(X)
        out = [np.zeros(0)]
        for part in forest.parts():
            known = next(self.patterns_.known(part))
            label = self._scores(known, self.model_)[:, :-1].argmax(axis=1)
            out.append(node_surprise(part, self.patterns_.table, self.model_, label))
        return np.concatenate(out)

    # ---- more trees, fewer trees --------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Put more trees into the groups found, and count them there; fits if nothing was fitted before.

        `labels_` then is of these trees.  Patterns, strengths and power stay.
        """
        if not hasattr(self, "group_size_"):
            return self.fit(X)
        labels = []
        for known in self._known(self._check_forest(X)):
            model = self.model_
            label = self._scores(known, model)[:, :-1].argmax(axis=1)
            self._set_sums(model.sums.plus(ft.rows_of(known.counts, model), label, 1))
            labels.append(label.astype(np.int64))
        self.labels_ = np.concatenate(labels)
        self.split_gain_ = self.split_side_ = None
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        return self

    def remove(self, X: Any, labels: Any = None) -> Self:
        """Take trees out of the groups they are in: of `labels`, or else those that `predict` gives."""
        forest = self._check_forest(X)
        label = self.predict(forest) if labels is None else np.asarray(labels, np.int64)
        if label.shape != (forest.n_trees,) or label.min(initial=0) < 0 or label.max(initial=0) >= self.n_components_:
            raise SettingError(
                f"labels: wanted the group of each of {forest.n_trees} trees, 0..{self.n_components_ - 1}"
            )
        model, done = self.model_, 0
        sums = model.sums
        for known in self._known(forest):
            rows = ft.rows_of(known.counts, model)
            n = len(rows.start) - 1
            sums = sums.plus(rows, label[done : done + n], -1)
            done += n
        if (sums.size < 1).any() or (sums.count < 0).any():
            raise ArboraError("remove: a group would be left without trees, or these trees were never in it; fit again")
        self._set_sums(sums)
        self.split_gain_ = self.split_side_ = None
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        return self

    # ---- groups within groups -----------------------------------------------------------------------------------

    def merges(self) -> Merges:
        """Groups merged two by two down to one, each time the pair that costs the log posterior least."""
        return ft.best_merges(self.model_, self.log_posterior_)

    def _groupings(self) -> Ints:
        """The group of each group of `labels_` after 0, 1, ... merges, [step + 1, group]."""
        steps = [np.arange(self.n_components_)]
        for stays, goes in self.merges().pair.tolist():
            steps.append(np.where(steps[-1] == goes, stays, steps[-1]))
        return np.stack(steps)

    def splits(self) -> Splits | None:
        """The best split found of each group, and what it gains in log posterior; mostly losses.

        None if the model was fitted to some of its trees alone, or trees were added or taken out since.
        """
        check_is_fitted(self, "group_size_")
        if self.split_gain_ is None or len(self.split_side_) != len(self.labels_):
            return None
        return Splits(self.split_gain_, self.split_side_)

    def cut(self, n_groups: int) -> Ints:
        """Groups of the training trees after merges down to so many, or splits up; 0, 1, ... by decreasing size.

        Each group can be split once, so there are at most about twice as many as `n_components_`.
        """
        check_is_fitted(self, "group_size_")
        check_count("n_groups", n_groups)
        splits = self.splits()
        most = self.n_components_ + (0 if splits is None else int(np.isfinite(splits.gain).sum()))
        if n_groups > most:
            raise SettingError(f"n_groups={n_groups}; wanted at most {most}: n_components_ is {self.n_components_}")
        if n_groups <= self.n_components_ or splits is None:
            return self.merges().labels(self.labels_, n_groups)
        return diagnostics.canonical(split_labels(self.labels_, splits, n_groups - self.n_components_))

    # ---- files --------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        header["patterns"], more = self.patterns_._pack()
        return header, arrays | {f"patterns_.{name}": value for name, value in more.items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        from .. import restore

        super()._restore(header, arrays)
        self.families = tuple(self.families)
        self.checkpoint, checkpoint = None, self.checkpoint
        self._check_settings()
        self.checkpoint = checkpoint
        more = {key.removeprefix("patterns_."): x for key, x in arrays.items() if key.startswith("patterns_.")}
        patterns = restore(header["patterns"], more)
        if not isinstance(patterns, TreePatterns) or patterns.n_hashed is not None:
            raise ValueError("its patterns are none")
        if patterns.families != self.families or patterns.vocabulary_ != self.vocabulary_:
            raise ValueError("its patterns are of other families or labels")
        self.patterns_ = patterns
        check_number("power_", self.power_, 1e-3, 10.0)
        check_number("concentration_", self.concentration_, 1e-6, 1e9)
        check_number("log_posterior_", self.log_posterior_, -1e300, 1e300)
        ft.check_model(self.model_, len(self.families))
        self._set_sums(Sums(self.pattern_count_, self.group_size_))
        n_groups = self.n_components_
        if not isinstance(self.labels_, np.ndarray) or not self.labels_.size or type(self.converged_) is not bool:
            raise ValueError("labels_ or converged_ are missing")
        check_array("labels_", self.labels_, np.int64, (None,), 0, n_groups - 1)
        check_array("fitted_trees_", self.fitted_trees_, np.int64, (None,), 0, 2**40)
        check_array("left_out_", self.left_out_, np.float64, (len(self.fitted_trees_),))
        if self.split_gain_ is not None:
            check_array("split_side_", self.split_side_, np.int64, (len(self.fitted_trees_),), 0, 1)
            _check_gains("split_gain_", self.split_gain_, n_groups)
        check_array("left_out_label_", self.left_out_label_, np.int64, (len(self.fitted_trees_),), 0, n_groups - 1)
        return self


def _check_gains(name: str, gain: Any, n_groups: int) -> None:
    """Raise unless there is a gain for each group; -inf where a group has but one tree."""
    if not isinstance(gain, np.ndarray) or gain.dtype != np.float64 or gain.shape != (n_groups,):
        raise ValueError(f"{name} is not a number for each of {n_groups} groups")
    if np.isnan(gain).any() or np.isposinf(gain).any():
        raise ValueError(f"{name} holds what is no gain")


class _KMeansStarts(NamedTuple):
    """Starts of chains: k-means from a start of each chain's own."""

    features: Floats
    n_groups: int

    def __call__(self, rng: np.random.Generator) -> Ints:
        return se.kmeans_start(self.features, self.n_groups, rng)
