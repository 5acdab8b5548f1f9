"""TreeGrammarMixture: a mixture of label chains, fitted by EM or, with the number unknown, sampled."""

import os
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin

from ...errors import SettingError
from ...forest.trees import Trees
from ...inference.chains import Trace
from ...inference.em import warn_unless_converged
from ...seeds import resolve_seed
from ..model_file import plain
from ..sampled import sample_chains
from ..settings import check_weight
from . import backoff, fitting, infinite
from .backoff import Counts
from .burstiness import log_likelihood
from .checking import check_content, check_settings
from .curve import Curve, at_knee
from .em import Chains, evaluate, prior_of
from .events import Alphabet, alphabet_of
from .merging import Marginal, merge_all
from .reader import ChainReader

Floats = NDArray[np.float64]


class TreeGrammarMixture(ClusterMixin, ChainReader):
    """Cluster labelled trees by a mixture of label chains; each gives the next child, or the end, a probability.

    The probability of the next child, or of STOP, depends on the label of the parent and of the previous sibling.  Rows
    are shrunk to shorter contexts (back-off), and a tree may repeat itself (burstiness).  The model is a distribution
    of whole ordered trees: `score_samples` is the log-likelihood of shape, labels and order, and `sample` draws whole
    trees.

    Parameters
    ----------
    n_components : int or None, default 8
        Number of components.  None finds it as `number` says.
    number : {"knee", "process"}, default "knee"
        How ``n_components=None`` finds the number.  "knee" fits 1 to 30 components and keeps the number at the knee of
        the leave-one-out curve (`curve_`), a rule of thumb.  "process" samples a Dirichlet process, without burstiness
        and with rows that are shrunk to contexts of all trees.  Its groups are mostly finer than those that people
        name; see `hierarchy_`.
    burstiness : float or "learn", default "learn"
        How much a tree repeats itself; 0 is a plain mixture of multinomials.
    start : {"patterns", "communities", "random"}, default "patterns"
        Start of EM: from the groups that `PatternMixture` finds, from communities of trees with like counts, or at
        random.  Trees with empty slots, which patterns do not see, start from communities in place of patterns.
    n_init : int, default 1
        Number of starts; the one with the highest objective is kept.  A higher objective is not always a better
        clustering.
    max_iter : int, default 100
        Most iterations of EM.
    tol : float, default 1e-3
        EM ends when an iteration gains less than this many nats per tree.
    learning_decay : float, default 0.7
        The step of `partial_fit` is the batch's share of all trees seen, to this power.
    concentration : float, default 1.0
        Concentration of the Dirichlet process.  Larger values give more groups a priori.
    concentration_prior : tuple of two floats or None, default None
        Shape and rate of a gamma prior, to learn the concentration.  None keeps it fixed.
    n_start : int, default 20
        Number of groups that the chains start from.
    n_split_merge : int, default 5
        Split or merge proposals per sweep.
    n_iter, until, max_time, thin, n_chains : default 60, "n_iter", None, 1 and 4
        Sweeps of each chain; whether it ends before, once chains have "settled" (docs/diagnostics.md), or after so many
        seconds; the step between draws that are kept; the number of chains.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of those that are run.
    checkpoint : path or None, default None
        Folder in which chains are saved as they run, and from which an interrupted fit continues.
    n_jobs : int or None, default None
        Processes that run the chains.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar of the chains.  Every iteration is logged at level INFO in any case.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Component of each training tree; components are ordered by decreasing weight.
    n_components_ : int
        Number of components.
    weight_ : ndarray of shape (n_components_,)
        Mixing weights.
    burstiness_ : float
        Burstiness in use.
    strength_ : ndarray of shape (n_levels, 3)
        How strongly rows are shrunk to shorter contexts; the columns are chains, the root and jumps.
    cell_key_, cell_count_, base_count_ : ndarray
        The counts behind the probabilities (see note.md beside the source).
    positional_ : bool
        Whether empty slots are events: true if a training tree leaves one before or between children.
    history_ : list of float
        Objective after each iteration in nats per tree: log-likelihood, minus s0 KL(shorter context || row) of all
        rows, plus the logs of the weights.  It never decreases.  With ``number="process"``, the log joint by sweep.
    leave_one_out_ : float
        Mean log-likelihood per training tree, each scored without its own counts.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Number of iterations or sweeps.
    concentration_ : float or None
        Concentration of the Dirichlet process; None without one.
    hierarchy_ : Hierarchy
        Merges of the components as a tree of groups; `merges` has the gains, `cut` the labels.
    curve_ : Curve
        The leave-one-out curve, if the number was found at its knee.  It is not saved.
    trace_ : Trace
        Draws of the chains, with ``number="process"``.  They are not saved.

    Notes
    -----
    A missing label is not an event, but a context of its own.  A label that did not occur in training has the
    probability that the pool of all outcomes leaves to it.  A model of trees without gaps uses the order of children
    and not their slots.

    Examples
    --------
    >>> import arbora as ab
    >>> trees = [("a", ["b", "b"]), ("a", ["b"]), ("a", ["c", "d"]), ("a", ["c"])] * 5
    >>> model = ab.TreeGrammarMixture(2, random_state=0).fit(trees)
    >>> (model.labels_[:4] == model.labels_[0]).tolist()
    [True, True, False, False]
    >>> model.sample(2, random_state=0).n_trees
    2
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "positional_",
        "n_components_",
        "weight_",
        "cell_key_",
        "cell_count_",
        "base_count_",
        "strength_",
        "burstiness_",
        "concentration_",
        "leave_one_out_",
        "labels_",
        "names_",
        "merge_pair_",
        "merge_gain_",
        "log_posterior_",
        "history_",
        "n_iter_",
        "converged_",
        "component_total_",
        "seen_weight_",
        "n_batches_",
        "provenance_",
    )

    history_: list[float]
    curve_: Curve
    trace_: Trace
    seen_weight_: float
    n_batches_: int
    concentration_: float | None

    def __init__(
        self,
        n_components: int | None = 8,
        *,
        number: Literal["knee", "process"] = "knee",
        burstiness: Literal["learn"] | float = "learn",
        start: str = "patterns",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        learning_decay: float = 0.7,
        concentration: float = 1.0,
        concentration_prior: tuple[float, float] | None = None,
        n_start: int = 20,
        n_split_merge: int = 5,
        n_iter: int = 60,
        until: Literal["settled", "n_iter"] = "n_iter",
        max_time: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        n_chains: int = 4,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.number = number
        self.burstiness = burstiness
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.learning_decay = learning_decay
        self.concentration = concentration
        self.concentration_prior = concentration_prior
        self.n_start = n_start
        self.n_split_merge = n_split_merge
        self.n_iter = n_iter
        self.until = until
        self.max_time = max_time
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit by EM, or run the chains if n_components is None; y is ignored.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        check_settings(self)
        rng = resolve_seed(self.random_state)
        forest = self._check_trees(X)
        self._tell_of_content(forest, "labels and shapes")
        weight = check_weight(sample_weight, forest.n_trees)
        trees = fitting.trees_of(forest, alphabet_of(forest), weight)
        if self.n_components is None and self.number == "process":
            if weight is not None:
                raise SettingError(
                    "sample_weight: a Dirichlet process seats whole trees; give n_components, or no weights"
                )
            return self._fit_process(rng, forest, trees)
        curve = None
        starts = fitting.starts_of(forest, trees, self.start)
        if self.n_components is None:
            best, curve = at_knee(rng, trees, self._plan(), starts)
        else:
            fitting.check_size(trees, self.n_components)
            best = fitting.best_start(rng, trees, self.n_components, self._plan(), starts)
        self._keep(best, forest, trees)
        self._keep_total(best.model, float(trees.data.weight.sum()))
        if curve is not None:
            self.curve_ = curve
        warn_unless_converged(best, self.max_iter, self.tol)
        return self

    def _plan(self) -> fitting.Plan:
        tau = None if self.burstiness == "learn" else float(self.burstiness)
        return fitting.Plan(tau, self.n_init, self.max_iter, self.tol)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Stepwise EM: move the counts towards those of this batch; shorter contexts and strengths follow.

        It continues a fit, or earlier batches.  The first batch fixes burstiness and whether empty slots count; labels
        that are new are learnt.  The objective may fall from batch to batch.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        check_settings(self)
        if self.n_components is None:
            raise SettingError("partial_fit: finding the number takes all trees at once; give n_components, or use fit")
        forest = self._check_trees(X)
        weight = check_weight(sample_weight, forest.n_trees)
        if not hasattr(self, "weight_"):
            self.n_batches_ = 0
            trees = fitting.trees_of(forest, alphabet_of(forest), weight)
            fitting.check_size(trees, self.n_components)
            starts = fitting.starts_of(forest, trees, self.start)
            resp = starts(resolve_seed(self.random_state), self.n_components)
            model, seen, history = fitting.started(trees, resp, self._plan().tau), 0.0, []
            total = resp.sum(axis=0)
        else:
            if self.n_components != self.n_components_:
                raise SettingError(
                    f"partial_fit: n_components={self.n_components}, but it was fitted with {self.n_components_}; fit "
                    "a new model"
                )
            forest = forest.with_vocabulary(tuple(dict.fromkeys([*self.vocabulary_, *forest.vocabulary])))
            alphabet = Alphabet(forest.n_labels, self.positional_)
            model, key = fitting.grown(self._model(), self.cell_key_, self._alphabet(), alphabet)
            trees = fitting.trees_of(forest, alphabet, weight, key)
            fitting.check_size(trees, self.n_components)
            model = fitting.widened(model, key, trees.data.levels, alphabet)
            seen, history = self.seen_weight_, self.history_
            model, total = fitting.stepwise(trees, model, self.component_total_, seen, self.learning_decay)
        history = [*history, evaluate(trees.data, prior_of(trees.data, model), model).objective]
        batches = self.n_batches_
        self._keep(fitting.Fit(model, history, False, True), forest, trees, reorder=seen == 0.0, total=total)
        self.seen_weight_, self.n_batches_ = seen + float(trees.data.weight.sum()), batches + 1
        return self

    def _fit_process(self, rng: np.random.Generator, forest: Trees, trees: fitting.CountedTrees) -> Self:
        """Sample partitions; the model is the draw closest to all others."""
        process = float(self.concentration), self.concentration_prior
        plan = infinite.ChainPlan(*process, self.n_start, self.n_split_merge)
        sampler, model = infinite.sampler_of(trees, rng, plan)
        trace = sample_chains(self, sampler, self._chain_name(forest) if self.checkpoint is not None else "", rng=rng)
        centre = infinite.central(trace)
        model = infinite.with_groups(trees, model, centre.label, int(centre.label.max()) + 1)
        self._keep(fitting.Fit(model, centre.history, False, True), forest, trees, given=centre.label)
        self._keep_total(model, float(forest.n_trees))
        self.concentration_, self.trace_ = centre.concentration, trace
        self._warn_of_chains()
        return self

    def _chain_name(self, forest: Trees) -> str:
        """What a checkpoint belongs to."""
        names = ("concentration", "concentration_prior", "n_start", "n_split_merge")
        told = [f"{name}={plain(getattr(self, name))}" for name in names]
        return f"TreeGrammarMixture, {', '.join(told)}; trees {forest.sha256[:16]}"

    def _keep(
        self,
        result: fitting.Fit,
        forest: Trees,
        trees: fitting.CountedTrees,
        reorder: bool = True,
        total: Floats | None = None,
        given: NDArray[np.int64] | None = None,
    ) -> None:
        """Store a model with components by decreasing weight, ties by their first tree."""
        model, alphabet = result.model, trees.data.alphabet
        n = len(model.weight)
        for name in ("trace_", "curve_"):
            if hasattr(self, name):
                delattr(self, name)
        self.vocabulary_, self.positional_ = forest.vocabulary, bool(alphabet.positional)
        label = given if given is not None else _joint(model, trees)[trees.tree_row].argmax(axis=1)
        first = np.full(n, len(label))
        np.minimum.at(first, label, np.arange(len(label)))
        order = np.lexsort((first, -model.weight.round(9))) if reorder else np.arange(n)
        shared = model.counts.pair.shape[1] != n  # one base for all components
        pair = model.counts.pair if shared else np.ascontiguousarray(model.counts.pair[:, order])
        counts = Counts(np.ascontiguousarray(model.counts.cell[:, order]), pair)
        model = Chains(model.weight[order], counts, model.strength, model.tau)
        self.labels_ = np.argsort(order)[label].astype(np.int64)
        self.n_components_ = n
        self.weight_, self.strength_, self.burstiness_ = model.weight, model.strength, float(model.tau)
        self.cell_key_ = trees.data.levels.cell_key
        self.cell_count_ = np.ascontiguousarray(model.counts.cell.T)
        self.base_count_ = np.ascontiguousarray(model.counts.pair.T)
        self.component_total_ = np.zeros(n) if total is None else total[order]
        self.concentration_ = None
        self.leave_one_out_ = fitting.left_out(model, trees)
        self.names_ = None if forest.name is None else [str(name) for name in forest.name]
        self._keep_merges(model, trees)
        self.history_, self.n_iter_, self.converged_ = list(result.history), len(result.history), result.converged
        self._record_provenance(forest)

    def _keep_merges(self, model: Chains, trees: fitting.CountedTrees) -> None:
        size = np.bincount(self.labels_, minlength=self.n_components_).astype(np.float64)
        found = merge_all(model, Marginal(model, self.cell_key_, trees.data.alphabet), size)
        self.merge_pair_, self.merge_gain_, self.log_posterior_ = found

    def _keep_total(self, model: Chains, seen: float) -> None:
        """What stepwise EM continues from."""
        n = len(self.weight_)
        self.component_total_ = np.maximum(self.weight_ * (seen + n) - 1.0, 0.0)
        self.seen_weight_, self.n_batches_ = seen, 1

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        check_settings(self)
        check_content(self)
        return self


def _joint(model: Chains, trees: fitting.CountedTrees) -> Floats:
    """log P(distinct tree, component) of training trees."""
    data = trees.data
    tables = backoff.tables_of(data.levels, model.counts, data.alphabet)
    prob = backoff.probabilities(tables, data.places, model.strength)
    return np.asarray(log_likelihood(data.urns, prob, model.tau)[0] + np.log(model.weight))
