"""TreeTranslator: trees of any shape given trees, by a mixture of top-down hidden trees whose gate reads the input."""

import logging
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ForestError
from ...forest.trees import Trees
from ...inference.em import EMResult, run_em, warn_unless_converged
from ...progress import Progress
from ...seeds import resolve_seed
from ..classifiers.encoders import make_encoder
from ..hidden_tree import tree_model as tm
from ..hidden_tree.finite import Outcome
from ..hidden_tree.mixture import HiddenTreeMixture
from ..hidden_tree.passes import Batch, MixtureParams, log_sum
from ..settings import check_count, check_number, check_weight, n_threads
from . import gate as gt
from .fitted_translator import FittedTranslator
from .shape_prior import ShapePrior

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

START_ITERATIONS = 20  # of the mixture of outputs alone, where EM starts


class Params(NamedTuple):
    """All that is learnt."""

    gate: gt.Gate
    tree: tm.Arrays


class TreeTranslator(FittedTranslator):
    """Draw a tree given a tree: the output may have another shape, other labels and another size.

    The input tree becomes a row of numbers.  Logistic regression on it gives the probabilities of the components of a
    mixture of top-down hidden trees, which draws the output, labels and shape.  Both are learnt together by EM from
    pairs of trees.  The output depends on the input through the component alone, so nothing is copied from the input.

    Parameters
    ----------
    n_components : int, default 8
        Kinds of output trees.
    n_states : int, default 4
        Hidden states of each of them.
    encoder : transformer of forests, "mixture" or None, default None
        What makes rows of input trees.  None counts local patterns, as `TreeClassifier` does; "mixture" takes the codes
        of a mixture of hidden trees.
    tied : bool, default False
        Whether all slots of the output trees share one transition.
    prior : float, default 1.01
        Dirichlet parameter of the output trees' distributions, 1 or more.
    decay : float, default 0.1
        Precision of the Gaussian prior of the gate's weights, above 0.
    max_iter : int, default 100
        Most iterations of EM.
    tol : float, default 1e-3
        EM ends when an iteration gains less than this many nats per pair.
    n_slots : int or None, default None
        Slots of the output trees; later ones are pooled into the last.  None: as many as they have.
    n_draws : int, default 32
        Trees that `predict` draws of each component, to choose among.
    n_jobs : int or None, default None
        Threads over shards of output trees; -1 uses all cores.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    encoder_ : transformer
        The fitted encoder of input trees.
    outputs_ : HiddenTreeMixture
        The mixture of output trees; its weights are the mean probabilities of the components.
    gate_weight_ : ndarray of shape (n_components, n_columns)
        Weights of the gate.
    gate_bias_ : ndarray of shape (n_components,)
        Its constants.
    vocabulary_ : tuple of str
        Labels of the input trees; those of the outputs are ``outputs_.vocabulary_``.
    history_ : list of float
        Objective after each iteration.  It never decreases.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether `tol` was reached.

    References
    ----------
    Jacobs, Jordan, Nowlan and Hinton (1991), Adaptive mixtures of local experts.
    Bacciu and Castellana (2018), Mixture of hidden Markov models as tree encoder.

    Examples
    --------
    >>> from arbora import TreeTranslator
    >>> trees = [("list", ["item", "item"]), ("page", ["text"])] * 10
    >>> others = [("ul", [("li", ["a"]), "li"]), "p"] * 10
    >>> model = TreeTranslator(2, 2, random_state=0).fit(trees, others)
    >>> list(model.predict([("page", ["text"])]))
    [{'label': 'p'}]
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "gate_weight_", "gate_bias_", "draw_seed_"),
        *("history_", "n_iter_", "converged_", "provenance_"),
    )

    def __init__(
        self,
        n_components: int = 8,
        n_states: int = 4,
        *,
        encoder: Any = None,
        tied: bool = False,
        prior: float = 1.01,
        decay: float = 0.1,
        max_iter: int = 100,
        tol: float = 1e-3,
        n_slots: int | None = None,
        n_draws: int = 32,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_states = n_states
        self.encoder = encoder
        self.tied = tied
        self.prior = prior
        self.decay = decay
        self.max_iter = max_iter
        self.tol = tol
        self.n_slots = n_slots
        self.n_draws = n_draws
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting --------------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        check_count("max_iter", self.max_iter)
        check_count("n_draws", self.n_draws, 10**5)
        check_number("decay", self.decay, 1e-9, 1e9)
        check_number("tol", self.tol, 0.0, np.inf)
        n_threads(self.n_jobs)

    def _new_outputs(self, seed: int) -> HiddenTreeMixture:
        """The mixture of output trees, which checks its own settings."""
        own: dict[str, Any] = {"tied": self.tied, "prior": self.prior, "n_slots": self.n_slots, "n_jobs": self.n_jobs}
        return HiddenTreeMixture(
            self.n_components,
            self.n_states,
            direction="down",
            structure="state",
            max_iter=START_ITERATIONS,
            tol=0.0,
            random_state=seed,
            **own,
        )

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from pairs of trees.

        Parameters
        ----------
        X : Forest, ForestStore or trees
            The input trees.
        y : Forest, ForestStore or trees
            The output tree of each.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each pair.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_params()
        forest = self._check_trees(X)
        if y is None:
            raise ForestError(f"{type(self).__name__}: no output trees; give y, one tree for each tree of X")
        outputs = self._paired(forest, y)
        weight = check_weight(sample_weight, forest.n_trees)
        rng = resolve_seed(self.random_state)
        seeds = [int(seed) for seed in rng.integers(2**31 - 1, size=3)]
        encoder = make_encoder(self.encoder, self.n_components, seeds[0])
        codes = self._codes(encoder.fit(forest), forest)
        mixture = self._new_outputs(seeds[1]).fit(outputs, sample_weight=weight)
        turned = gt.turned(codes)
        with mixture._batch(outputs, mixture.spec_, weight) as batch:
            result = self._run(mixture, batch, turned.codes)
            self._keep(result, mixture, batch, outputs, turned.codes)
        self.gate_weight_ = np.ascontiguousarray(turned.weight(self.gate_weight_, codes))
        self.encoder_, self.vocabulary_, self.draw_seed_ = encoder, forest.vocabulary, seeds[2]
        self._record_provenance(forest)
        warn_unless_converged(result, self.max_iter, self.tol, "pair")
        return self

    def _paired(self, forest: Trees, y: Any) -> Trees:
        """The output trees, one for each input tree."""
        outputs = self._check_trees(y)
        if outputs.n_trees != forest.n_trees:
            raise ForestError(
                f"{type(self).__name__}: {forest.n_trees} input trees and {outputs.n_trees} output trees; "
                "wanted one output tree for each input tree, in the same order"
            )
        return outputs

    def _run(self, mixture: HiddenTreeMixture, batch: Batch, codes: Any) -> EMResult[Params]:
        """EM from the mixture of outputs alone, whose gate does not look at the input."""
        shapes, model = ShapePrior.of(mixture, batch), batch.model
        priors = mixture._check_params()._replace(branching=1.0)  # its place is taken by that of the shapes
        w = np.ones(batch.n_trees) if batch.sample_weight is None else batch.sample_weight

        def log_prior(params: Params) -> float:
            of_trees = float(model.log_prior(params.tree, priors).sum()) + shapes.log_density(params.tree)
            return of_trees + gt.log_prior(params.gate, self.decay)

        def posterior(params: Params) -> tuple[Floats, float]:
            """Responsibilities times weights, and the objective; impossible pairs have no part in either."""
            joint = gt.log_proba(params.gate, codes) + batch.log_likelihood(params.tree)
            total = log_sum(joint)
            possible = np.isfinite(total)
            safe = np.where(possible, total, 0.0)
            resp = np.exp(joint - safe[:, None]) * (w * possible)[:, None]
            return resp, float(w @ safe) + log_prior(params)

        def e_step(params: Params) -> tuple[Any, float]:
            resp, objective = posterior(params)
            share = np.full(resp.shape[1], 1.0 / resp.shape[1])
            counts, _ = batch.expected_counts(MixtureParams(share, params.tree), resp)
            return (resp, counts.tree), objective

        def m_step(found: Any, params: Params) -> Params:
            resp, counts = found
            gate = gt.improved(params.gate, codes, resp, self.decay)
            return Params(gate, shapes.applied(model.m_step(counts, params.tree, priors), counts))

        def report(now: EMResult[Params]) -> None:
            log.info("iteration %d of at most %d: objective %.6f", len(now.history), self.max_iter, now.history[-1])
            bar.advance(f"EM, objective {now.history[-1]:.2f}")

        weight, tree = mixture._fitted_params()
        first = Params(gt.even(weight, codes.shape[1]), shapes.inside(tree))
        least = self.tol * batch.total_weight
        with Progress("EM", self.max_iter, bool(self.verbose), at_most=True) as bar:
            return run_em(
                first,
                e_step,
                m_step,
                lambda params: posterior(params)[1],
                max_iter=self.max_iter,
                tol=least,
                report=report,
            )

    def _keep(
        self, result: EMResult[Params], mixture: HiddenTreeMixture, batch: Batch, outputs: Trees, codes: Any
    ) -> None:
        """Store the result; components keep the numbers of the mixture of outputs alone."""
        gate, tree = result.params
        w = np.ones(batch.n_trees) if batch.sample_weight is None else batch.sample_weight
        share = np.average(np.exp(gt.log_proba(gate, codes)), axis=0, weights=w)
        params = MixtureParams(share / share.sum(), tree)
        found = EMResult(params, result.history, result.converged, result.interrupted)
        mixture._keep(Outcome(found, batch, outputs, reorder=False))
        self.outputs_ = mixture
        self.gate_weight_, self.gate_bias_ = np.ascontiguousarray(gate.weight), np.ascontiguousarray(gate.bias)
        self.history_, self.n_iter_, self.converged_ = list(result.history), len(result.history), result.converged
