"""TransducerClassifier: a class per tree by a model of outputs at nodes (Bacciu, Micheli and Sperduti 2013)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...forest.trees import Trees
from ..settings import check_choice
from ..transducer.coded_trees import NO_OUTPUT
from ..transducer.transducer import SHARD_BYTES, TreeTransducer
from ..transducer.tree_rules import RULES
from . import readout as ro
from .forest_classifier import ForestClassifier, TrainingSet, split_off

Floats = NDArray[np.float64]


class TransducerClassifier(ForestClassifier):
    """Classify trees by an input-output hidden tree whose nodes all have the class of their tree.

    Parameters
    ----------
    n_states : int, default 8
        Hidden states.
    rule : {"joint", "pool", "root", "vote"}, default "joint"
        How a tree gets its class: the one most probable at all nodes at once, the one with the highest sum of
        log-probabilities over nodes, the likeliest at the root, or that of most nodes.
    at : {"nodes", "root"}, default "nodes"
        Where the class is the output in training: at every node, or at the root alone.
    tie : sequence of {"leaf", "switch", "transition", "output", "slot"}, default ()
        As of `TreeTransducer`.
    prior : float, default 1.01
        Dirichlet parameter of every distribution.
    n_init : int, default 1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default 30
        Iterations of EM.
    tol : float, default 0.0
        As of `TreeTransducer`.
    n_slots : int or None, default None
        Number of distinct slots.
    calibration : {"temperature"} or None, default "temperature"
        "temperature" makes probabilities as certain as held-out trees justify, by 3 more fits.  None leaves the scores
        as they are: probabilities near 0 and 1, whether right or wrong.
    shared : bool, default True
        Whether identical subtrees are computed once.
    shard_bytes : int, default 64 MiB
        Working memory per shard of trees.
    n_jobs : int or None, default None
        Threads over shards; -1 uses all cores.
    random_state : int, Generator or None, default None
        Seed.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    transducer_ : TreeTransducer
        The fitted model of outputs at nodes.
    temperature_ : float
        Divisor of the scores.

    References
    ----------
    Bacciu, Micheli and Sperduti (2013), An input-output hidden Markov model for tree transductions.

    Examples
    --------
    >>> from arbora import TransducerClassifier
    >>> trees = [("a", ["b"]), ("a", ["b", "b"]), ("c", ["d"]), ("c", ["d", "e"])]
    >>> model = TransducerClassifier(2, calibration=None, random_state=0).fit(trees, ["x", "x", "y", "y"])
    >>> model.predict([("a", ["b"]), ("c", ["e"])]).tolist()
    ['x', 'y']
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "classes_", "temperature_", "surprise_quantiles_", "n_nodes_seen_", "provenance_"),
    )
    novelty = None  # labels are conditioned on, so no tree is improbable

    def __init__(
        self,
        n_states: int = 8,
        *,
        rule: str = "joint",
        at: str = "nodes",
        tie: Sequence[str] = (),
        prior: float = 1.01,
        n_init: int = 1,
        max_iter: int = 30,
        tol: float = 0.0,
        n_slots: int | None = None,
        calibration: str | None = "temperature",
        shared: bool = True,
        shard_bytes: int = SHARD_BYTES,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_states = n_states
        self.rule = rule
        self.at = at
        self.tie = tie
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_slots = n_slots
        self.calibration = calibration
        self.shared = shared
        self.shard_bytes = shard_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, known: TrainingSet) -> None:
        """Fit a model of outputs at nodes, or at roots."""
        self._check_rule()
        forest, target, weight, rng = known
        self._tell_of_content(forest, "labels and shapes")
        self.classes_, true = np.unique(target, return_inverse=True)
        self.vocabulary_ = forest.vocabulary
        self.temperature_ = 1.0
        if self.calibration is not None:
            held_out = self._held_out(forest, true, weight, rng)
            self.temperature_ = ro.fit_temperature(held_out, true, weight)
        self.transducer_ = self._fit_one(forest, true, weight, rng)
        self._keep_surprise(forest, None)

    def _given(self, X: Any, at_least: int = 0) -> Trees:
        return self._check_trees(X, at_least)

    def _check_rule(self) -> None:
        check_choice("rule", self.rule, RULES)
        check_choice("at", self.at, ("nodes", "root"))

    def _fit_one(
        self, forest: Trees, true: NDArray[np.int64], weight: Floats | None, rng: np.random.Generator
    ) -> TreeTransducer:
        """A model of outputs at nodes, or at roots, that are the classes of the trees."""
        own = set(TreeTransducer().get_params()) - {"random_state"}
        settings = {name: value for name, value in self.get_params(deep=False).items() if name in own}
        model = TreeTransducer(**settings, random_state=int(rng.integers(2**31 - 1)))
        code = true.astype(np.int32)
        if self.at == "root":
            sizes = np.concatenate([part.sizes for part in forest.parts()])
            code = np.full(forest.n_nodes, NO_OUTPUT, np.int32)
            code[np.cumsum(sizes) - 1] = true
        return model._fit(forest, self.classes_, code, weight)

    def _held_out(
        self, forest: Trees, true: NDArray[np.int64], weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        """Log-probabilities of the classes of each tree by models that have not seen it."""
        log_proba = np.empty((forest.n_trees, len(self.classes_)))
        folds = ro.folds(int(rng.integers(2**31 - 1)))
        for train, test in folds.split(np.zeros(len(true)), true):
            part, held = split_off(forest, train, test)
            self.transducer_ = self._fit_one(part, true[train], None if weight is None else weight[train], rng)
            log_proba[test] = self._log_proba(held)
        return log_proba

    def _log_proba(self, forest: Trees) -> Floats:
        score = self.transducer_.tree_scores(forest, self.rule)
        score[~np.isfinite(score).any(axis=1)] = 0.0  # no class is possible
        return ro.soften(score, 1.0)

    def _log_likelihood(self, forest: Trees) -> None:
        """The model gives no probability to trees."""

    # ---- files ------------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        header["transducer"], more = self.transducer_._pack()
        return header, arrays | {f"transducer.{name}": value for name, value in more.items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        from .. import restore

        super()._restore(header, arrays)
        self._check_rule()
        self.tie = tuple(self.tie)
        found = restore(header["transducer"], ro.below("transducer", arrays))
        if not isinstance(found, TreeTransducer):
            raise ValueError("the model of the outputs is no TreeTransducer")
        if found.vocabulary_ != self.vocabulary_ or not np.array_equal(found.outputs_, self.classes_):
            raise ValueError("labels or classes are not those of the model of the outputs")
        self.transducer_ = found
        return self
