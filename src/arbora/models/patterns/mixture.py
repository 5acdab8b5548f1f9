"""PatternMixture: trees as sets of patterns, in a number of groups that is learnt or given."""

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from threadpoolctl import threadpool_limits

from ...forest.trees import Trees
from ...inference import diagnostics
from ...inference.chains import Trace
from ...seeds import resolve_seed
from ..model_file import plain, settings_text
from ..sampled import ENDING, Sampled, sample_chains
from . import families as fm
from . import fitted as ft
from . import marginals as mg
from . import search as se
from .checking import check_fitted, check_settings
from .constraints import (
    Given,
    as_arrays,
    check_kept,
    check_number,
    choose_trees,
    classes_among,
    make_blocks,
    read_constraints,
)
from .fitted import Sums
from .marginals import Corpus, PartitionPrior
from .moves import MovedByHand, check_moves
from .sampler import ManyGroups, PartitionSampler
from .splits import best_splits
from .transformer import TreePatterns

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Settings that a run has beside those of the model; a checkpoint does not depend on them.
SETTINGS = (*ENDING, "burn_in", "thin", "n_chains", "n_jobs", "checkpoint", "random_state", "verbose")


class PatternMixture(Sampled, ClusterMixin, MovedByHand):
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
    power : float or "calibrated", default 1.0
        Factor of log marginals, because the patterns of a tree depend on each other: smaller ones make fewer groups.
        "calibrated" learns it where the number of groups is learnt, and often finds too few groups.
    prior : {"dp", "pitman-yor", "finite"}, default "dp"
        Prior of the partition: a Dirichlet process, a Pitman-Yor process with discount 0.5, or a mixture of finite
        mixtures.
    concentration : float or None, default None
        Concentration of the process.  None learns it for "dp" with a Gamma(1, 1) prior, and is 1 otherwise.
    n_chains, n_iter, thin : int, default 4, 20 and 1
        Number of chains that sample the posterior of the partition after the search, sweeps of each, and the step
        between draws that are kept.
    until : {"n_iter", "settled"}, default "n_iter"
        "settled" ends the chains before `n_iter` sweeps once they agree; docs/diagnostics.md has the rule.
    max_time : float or None, default None
        Seconds after which the chains end.  The number of draws then depends on the machine.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of those that are run.
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
    class_groups_ : dict
        Group of each class that `fit` was given for some trees.
    constraints_ : dict of arrays
        What `fit` was given: known classes and pairs.  Not there if it was given nothing.
    moves_ : list of dict
        Groups merged and split by hand since the fit; `steer` does the same again after another fit.
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
        k-means start.  `n_groups_posterior`, `co_clustering`, `point_estimate` and `chain_report` summarise the
        draws. The default chains are short: `chain_report` says whether they agree.

    Notes
    -----
    `predict` returns a new group only if asked to.  Probabilities are those of the model as written: with a power below
    one, or more than one family, they are not densities of trees.

    References
    ----------
    Blondel, Guillaume, Lambiotte and Lefebvre (2008), Fast unfolding of communities in large networks.
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
        "known_classes_",
        "provenance_",
    )
    _saved_if_there: ClassVar[tuple[str, ...]] = ("constraints_",)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        families: Sequence[str] = fm.DEFAULT,
        labels: Literal["given", "sizes"] = "given",
        min_trees: int = 2,
        power: float | Literal["calibrated"] = 1.0,
        prior: Literal["dp", "pitman-yor", "finite"] = "dp",
        concentration: float | None = None,
        n_chains: int = 4,
        n_iter: int = 20,
        until: Literal["settled", "n_iter"] = "n_iter",
        max_time: float | None = None,
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
        self.n_chains = n_chains
        self.n_iter = n_iter
        self.until = until
        self.max_time = max_time
        self.burn_in = burn_in
        self.thin = thin
        self.fit_on = fit_on
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, known: Any = None, constraints: Mapping[str, Any] | None = None) -> Self:
        """Find the groups, then sample their posterior, given what is known.  Ctrl-C keeps the draws made so far.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : object, default None
            Ignored.
        known : sequence or None, default None
            Known classes of some trees, one entry per tree; None (or NaN) where the class is not known.  Trees of one
            class share a group, and trees of two classes do not.
        constraints : mapping or None, default None
            ``{"must_link": [(0, 5), ...], "cannot_link": [(1, 2), ...]}``: pairs of trees that share a group, and pairs
            that do not.

        Returns
        -------
        object
            The estimator itself.
        """
        check_settings(self)
        forest = self._check_trees(X)
        self._tell_of_content(forest, "labels and shapes")
        given = read_constraints(known, constraints, forest.n_trees)
        check_number(given, self.n_components)
        rng = resolve_seed(self.random_state)
        chosen = choose_trees(rng, forest.n_trees, self.fit_on, given)
        whole = forest.in_memory if len(chosen) == forest.n_trees else None
        sample = forest.take(chosen) if whole is None else whole
        self.patterns_ = TreePatterns(tuple(self.families), labels=self.labels, min_trees=self.min_trees)
        presence = self.patterns_.fit_transform(sample)
        whole_corpus = mg.corpus_of(presence, self.patterns_.table.family_of_columns(), len(self.families))
        corpus = mg.twins_as_one(whole_corpus)
        if given is not None:
            corpus = corpus._replace(blocks=make_blocks(given, corpus.rows, chosen))
        with threadpool_limits(1):  # small matrices; and the order of sums must not depend on the machine
            rows = se.tfidf_rows(corpus)
            features = se.directions(rows, int(rng.integers(2**31 - 1)))
            found = self._search(rng, corpus, rows, classes_among(given, chosen))
            trace = self._sample(corpus, features, found, self._fingerprint(forest, given))
            self._keep(whole_corpus, found, chosen, forest)
            self._keep_constraints(given)
            tables = mg.make_tables(corpus, found.strengths, found.power, found.prior)
            self.split_gain_, self.split_side_ = best_splits(rng, corpus, features, tables, self.left_out_label_)
        self.trace_ = trace
        self.moves_ = []
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, known: Any = None, constraints: Mapping[str, Any] | None = None
    ) -> Ints:
        """Fit, and return the group of each tree.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : object, default None
            Ignored.
        known : sequence or None, default None
            Known classes of some trees, as in `fit`.
        constraints : mapping or None, default None
            Pairs of trees, as in `fit`.

        Returns
        -------
        ndarray of shape (n_trees,)
            `labels_`.
        """
        return self.fit(X, known=known, constraints=constraints).labels_

    def _keep_constraints(self, given: Given | None) -> None:
        """What was known, for the model file; a fit without it clears that of the fit before."""
        if hasattr(self, "constraints_"):
            del self.constraints_
        self.known_classes_ = None
        if given is not None:
            self.known_classes_ = list(given.classes)
            self.constraints_ = as_arrays(given, self.left_out_label_, self.fitted_trees_)

    def _search(
        self, rng: np.random.Generator, corpus: Corpus, rows: Any, classes: tuple[Ints, Ints] | None
    ) -> se.Found:
        prior = PartitionPrior(self.prior, 1.0 if self.concentration is None else float(self.concentration))
        power = None if isinstance(self.power, str) else float(self.power)
        if self.n_components is not None:
            wanted = 1.0 if power is None else power
            return se.search_given(rng, corpus, rows, self.n_components, prior, wanted, classes)
        return se.search(rng, corpus, rows, prior, power, self.concentration is None)

    def _sample(self, corpus: Corpus, features: Floats, found: se.Found, fingerprint: str) -> Trace:
        """Chains with all but the partition and the concentration held at what the search found."""
        closed = self.n_components is not None
        sampler = PartitionSampler(
            corpus,
            found.strengths,
            found.power,
            found.prior,
            starts=ManyGroups(features, int(found.label.max()) + 1 if closed else None),
            closed=closed,
            learn_concentration=self.concentration is None,
            features=features,
        )
        return sample_chains(self, sampler, fingerprint, threads=True)

    def _fingerprint(self, forest: Trees, given: Given | None) -> str:
        """What a checkpoint belongs to: the trees, the seed of the search, and every setting that shapes it."""
        text = settings_text(self, SETTINGS)
        known = "" if given is None else f"; constraints {[plain(part) for part in given]}"
        return f"{text}, random_state={self.random_state!r}; trees {forest.sha256[:16]}{known}"

    def _keep(self, corpus: Corpus, found: se.Found, chosen: Ints, forest: Trees) -> None:
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

    def _groups_of_drawn(self) -> Ints:
        """Draws are of the trees `fitted_trees_`."""
        return self.labels_[self.fitted_trees_]

    # ---- files --------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        header["patterns"], more = self.patterns_._pack()
        if self.moves_:
            header["moves"] = plain(self.moves_)
        return header, arrays | {f"patterns_.{name}": value for name, value in more.items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        from .. import restore

        super()._restore(header, arrays)
        self.families = tuple(self.families)
        self.checkpoint, checkpoint = None, self.checkpoint
        check_settings(self)
        self.checkpoint = checkpoint
        more = {key.removeprefix("patterns_."): x for key, x in arrays.items() if key.startswith("patterns_.")}
        patterns = restore(header["patterns"], more)
        if not isinstance(patterns, TreePatterns) or patterns.n_hashed is not None:
            raise ValueError("its patterns are none")
        same = self.labels == "sizes" or patterns.vocabulary_ == self.vocabulary_
        if patterns.families != self.families or patterns.labels != self.labels or not same:
            raise ValueError("its patterns are of other families or labels")
        self.patterns_ = patterns
        check_fitted(self)
        if "constraints_" in vars(self):
            check_kept(self.constraints_, self.known_classes_, len(self.group_size_))
        self._set_sums(Sums(self.pattern_count_, self.group_size_))
        self.moves_ = header.get("moves", [])
        check_moves(self.moves_, 2**40)
        return self
