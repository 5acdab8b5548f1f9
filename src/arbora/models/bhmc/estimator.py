"""BHMC: a tree of groups whose nodes are mixtures that share components (Huang et al. 2021; see bhmc.md)."""

import logging
import os
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...evaluate import hierarchy_metrics
from ...evaluate.hierarchy import Hierarchy
from ...inference import diagnostics
from ..file_checks import check_array
from ..rows import FARTHEST
from ..settings import check_choice, check_count, check_number
from ..vector_estimator import VectorEstimator
from .consensus import MOST_JOINED, consensus, least_expected_vi
from .kernels import mixture_tree
from .kernels.mixture_tree import SweepSettings
from .predictor import Predictor
from .rivals import Rival, compare
from .sampler import HierarchySampler, OneGroup, Start, one_group
from .starts import MOST_LINKED, ward_start

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Estimate = Literal["least_squares", "consensus", "vi", "best"]

PROCEDURES = {"exact": mixture_tree.EXACT, "own": mixture_tree.OWN, "paper": mixture_tree.PAPER}
N_PROJECTED = 10  # principal components kept of wide data
MIXED_UNITS = 10.0  # largest over median deviation of the columns from which on their units must differ
MOST_LEAVES = 100_000
MOST_LEVELS = 100


class BHMC(VectorEstimator):
    """Bayesian hierarchical mixture clustering: rows sorted into a tree whose nodes are mixtures of shared components.

    Parameters
    ----------
    depth : int, default 3
        Levels below the root.
    tree : {"finite", "nested"}, default "finite"
        "finite" gives every inner node `branching` children, some of them empty.  "nested" is the nested Chinese
        restaurant process, in which the data decide the number of children.
    branching : int, default 5
        Children of each inner node of a finite tree.
    procedure : {"exact", "own", "paper"}, default "exact"
        "exact" samples the model.  "own" and "paper" accept a new path as Appendix A and Algorithm 2 of Huang et al.
        do. They need ``tree="nested"``, and with a regulariser their stationary distribution is unknown.
    path_concentration : float, default 1.0
        alpha of the paper.  Larger values give more nodes.
    weight_concentration : float, default 0.5
        gamma of the paper.  Larger values keep the weights of children closer to those of their parent.
    root_concentration : float, default 1.0
        gamma_0 of the paper.  Larger values give more components.
    component_variance, mean_variance : float or None, default None
        Variance of the data within a component, and of the means of components, in the scaled space, where the data
        have mean variance one.  None learns them.
    scaling : {"auto", "columns", "common"} or None, default "auto"
        "columns" scales each column to variance one, "common" scales all by one factor, None does not scale.  "auto" is
        "columns" if the largest standard deviation of a column exceeds ten times the median one, else "common".
    n_projected : int or None, default 10
        Principal components to keep where there are more columns.  None keeps the columns.
    start : {"ward", "prior"}, default "ward"
        Chains start at a Ward tree, or at draws from the prior.
    estimate : {"consensus", "least_squares", "vi", "best"}, default "consensus"
        The tree that represents all draws.  "consensus" is the Ward tree of how often two rows separate, over all
        levels and draws, and of their distance; each level is cut where it departs least from the draws.  (Above 5,000
        rows it is "least_squares".)  "least_squares" is the draw closest to the co-occurrence, "vi" the draw of least
        expected variation of information, summed over levels, "best" the draw of highest (regularised) complete
        log-likelihood.
    n_iter, thin, n_chains : int, default 1000, 5 and 4
        Sweeps of each chain, the step between draws that are kept, and the number of chains.
    until : {"n_iter", "settled"}, default "n_iter"
        "settled" ends the chains before `n_iter` sweeps once they agree on every level; docs/diagnostics.md has the
        rule.
    max_time : float or None, default None
        Seconds after which the chains end.  The number of draws then depends on the machine.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of those that are run.
    checkpoint : path or None, default None
        Folder in which chains are saved as they run, and from which an interrupted fit continues.
    n_jobs : int or None, default None
        Threads that run the chains.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Group of each row on the coarsest level.
    level_labels_ : list of ndarray
        Groups of each level, coarse to fine.
    hierarchy_ : Hierarchy
        The tree.
    component_ : ndarray of shape (n_rows,)
        Component of each row in the chosen draw.
    variance_ : ndarray of shape (2,)
        Variance within components and of their means, of the chosen draw.
    settled_ : bool or None
        Whether the chains ended because they agreed; None if no rule was used.
    trace_ : Trace
        The draws; ``trace_.info`` holds their likelihoods.

    See Also
    --------
    RBHMC : the same model with a max-margin regulariser.

    References
    ----------
    Huang, Ng, Laitonjam and Hurley (2021), Posterior regularization on Bayesian hierarchical mixture clustering,
    arXiv:2105.06903.

    Examples
    --------
    >>> import numpy as np
    >>> from arbora import BHMC
    >>> rows = np.random.default_rng(0).normal(size=(30, 2)) + 8.0 * (np.arange(30) % 3)[:, None]
    >>> model = BHMC(depth=2, n_iter=60, n_chains=1, random_state=0).fit(rows)
    >>> len(model.level_labels_), model.hierarchy_.n_data
    (2, 30)
    """

    _label_level: ClassVar[int] = 0
    _saved: ClassVar[tuple[str, ...]] = (
        *VectorEstimator._common,
        "scaling_",
        "projection_",
        "component_",
        "variance_",
        "linked_",
        "predictor_",
        "rows_",
    )

    def __init__(
        self,
        depth: int = 3,
        *,
        tree: Literal["finite", "nested"] = "finite",
        branching: int = 5,
        procedure: Literal["exact", "own", "paper"] = "exact",
        path_concentration: float = 1.0,
        weight_concentration: float = 0.5,
        root_concentration: float = 1.0,
        component_variance: float | None = None,
        mean_variance: float | None = None,
        scaling: Literal["auto", "columns", "common"] | None = "auto",
        n_projected: int | None = N_PROJECTED,
        start: Literal["ward", "prior"] = "ward",
        estimate: Estimate = "consensus",
        n_iter: int = 1000,
        until: Literal["settled", "n_iter"] = "n_iter",
        max_time: float | None = None,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 4,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self._remember(locals())

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the chains and choose a tree; y is ignored.  Ctrl-C keeps what was sampled so far."""
        self._check_settings()
        rows = self._take(X)
        sampler = self._sampler(rows)
        self._sample(sampler, warn=bool(rows.any()))
        self._keep(rows, sampler)
        return self

    def _check_settings(self) -> None:
        self._check_run()
        check_count("depth", self.depth, MOST_LEVELS)
        check_count("branching", self.branching)
        for name, value, known in [
            ("tree", self.tree, ("finite", "nested")),
            ("procedure", self.procedure, tuple(PROCEDURES)),
            ("start", self.start, ("ward", "prior")),
            ("estimate", self.estimate, ("least_squares", "consensus", "vi", "best")),
            ("scaling", self.scaling, ("auto", "columns", "common", None)),
        ]:
            check_choice(name, value, known)
        if self.tree == "finite" and self.procedure != "exact":
            raise SettingError(
                f"procedure={self.procedure!r} with tree='finite', where every path is drawn exactly; set tree='nested'"
            )
        if self.tree == "finite" and self.branching**self.depth > MOST_LEAVES:
            raise SettingError(
                f"branching={self.branching}, depth={self.depth} make {self.branching**self.depth} leaves; wanted at "
                f"most {MOST_LEAVES}: lower one, or set tree='nested'"
            )
        for name in ("path_concentration", "weight_concentration", "root_concentration"):
            check_number(name, getattr(self, name), 1e-6, 1e6)
        for name in ("component_variance", "mean_variance"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 1e-12, 1e12)
        if self.n_projected is not None:
            check_count("n_projected", self.n_projected)

    def _regularizer(self, n_rows: int) -> tuple[float, float, float]:
        """Strength, margin and scale of directions."""
        return 0.0, 1.0, 1.0

    def _has_intercept(self) -> bool:
        return False

    def _setting(self, n_rows: int) -> SweepSettings:
        """What the chains hold fixed, for so many training rows."""
        strength, margin, scale = self._regularizer(n_rows)
        return SweepSettings(
            path_concentration=float(self.path_concentration),
            weight_concentration=float(self.weight_concentration),
            root_concentration=float(self.root_concentration),
            regularization=float(strength),
            margin=float(margin),
            direction_scale=float(scale),
            branching=int(self.branching) if self.tree == "finite" else 0,
            procedure=PROCEDURES[self.procedure],
            # One datum's worth of belief that a component has a quarter of the variance, and its mean the rest.
            within_prior=(1.0, 0.25) if self.component_variance is None else (0.0, 0.0),
            between_prior=(1.0, 1.0) if self.mean_variance is None else (0.0, 0.0),
        )

    def _sampler(self, rows: Floats) -> HierarchySampler:
        kind: type[HierarchySampler] = HierarchySampler
        starts: tuple[Start, ...] = ()
        if not rows.any():
            kind, starts = OneGroup, (one_group(len(rows), self.depth),)
        elif self.start == "ward":
            branching = self.branching if self.tree == "finite" else 0
            starts = (ward_start(rows, self.depth, branching, seed=0),)
        within = 0.25 if self.component_variance is None else float(self.component_variance)
        between = 1.0 if self.mean_variance is None else float(self.mean_variance)
        setting, variance = self._setting(len(rows)), (within, between)
        return kind(rows, int(self.depth), setting, variance, starts, intercept=self._has_intercept())

    # ---- rows in ------------------------------------------------------------------------------------------------

    def _scaling_for(self, spread: Floats) -> Any:
        mixed = bool(len(spread)) and spread.max() / MIXED_UNITS > np.median(spread)
        self.scaling_ = ("columns" if mixed else "common") if self.scaling == "auto" else self.scaling
        return self.scaling_

    def _take(self, X: Any) -> Floats:
        self.__dict__.pop("projection_", None)  # so that rows come in centred and scaled, but whole
        rows = super()._take(X)
        self.projection_ = np.eye(rows.shape[1])
        if self.n_projected is not None and self.n_projected < rows.shape[1]:
            self.projection_ = principal_axes(rows, self.n_projected)
        if self.scaling is not None:
            unit = np.sqrt((rows @ self.projection_).var(axis=0).mean())
            self.projection_ /= unit if unit > 0 else 1.0
        return np.ascontiguousarray(rows @ self.projection_)

    def _inward(self, rows: Floats) -> Floats:
        inside = super()._inward(rows)
        return np.ascontiguousarray(inside @ self.projection_) if hasattr(self, "projection_") else inside

    # ---- the estimate -------------------------------------------------------------------------------------------

    def _keep(self, rows: Floats, sampler: HierarchySampler) -> None:
        """Set the fitted attributes from the trace."""
        chain, draw = self._choose_draw("best" if self.estimate == "best" else "least_squares")
        flat = self.draws().reshape(-1, *self.draws().shape[2:])
        if self.estimate == "consensus" and len(rows) <= MOST_JOINED:
            levels = consensus(flat, rows)
        elif self.estimate == "vi":
            levels = least_expected_vi(flat)
        else:
            levels = self.draws()[chain, draw]
        self.level_labels_ = diagnostics.canonical(levels)
        self.component_ = self.trace_.draws[chain]["component"][draw].astype(np.int64)
        self.log_joint_ = float(self.trace_.info["log_joint"][chain, self.trace_.draw_sweep[draw]])
        within = self.trace_.info["deviation"][chain, self.trace_.draw_sweep[draw]] ** 2
        between = self.trace_.info["mean_deviation"][chain, self.trace_.draw_sweep[draw]] ** 2
        self.variance_ = np.array([within, between])
        self.rows_ = rows
        self.linked_ = {}
        if 2 <= len(rows) <= MOST_LINKED:
            n_groups = [len(np.unique(row)) for row in self.level_labels_]
            for method in ("ward", "average"):
                self.linked_[method] = hierarchy_metrics.linkage_levels(rows, n_groups, method)
        predictor = Predictor.of(sampler, self.level_labels_, self.component_, self.variance_)
        self.predictor_ = predictor._asdict()

    def co_occurrence(self, level: int) -> Floats:
        """How often two rows share a node of a level, 0 the first below the root, [datum, datum].

        Parameters
        ----------
        level : int
            Level, 0 the first below the root.

        Returns
        -------
        ndarray of float
            How often two rows share a node.
        """
        return self.co_clustering(level)

    def compare(self, target: ArrayLike | None = None) -> list[Rival]:
        """The tree beside Ward and average linkage with as many groups on each level; `target` are known classes.

        Parameters
        ----------
        target : array or None, default None
            Known class of each row.

        Returns
        -------
        list[Rival]
            Measures of each hierarchy.
        """
        check_is_fitted(self, "level_labels_")
        trees = {type(self).__name__: self.level_labels_, **self.linked_}
        return compare(self.rows_, trees, target)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        n, n_levels = len(self.names_), len(self.level_labels_)
        check_array(
            "projection_", self.projection_, np.float64, (len(self.varying_columns_), None), -FARTHEST, FARTHEST
        )
        d = self.projection_.shape[1]
        check_array("rows_", self.rows_, np.float64, (n, d), -FARTHEST, FARTHEST)
        check_array("component_", self.component_, np.int64, (n,), 0, n - 1)
        check_array("variance_", self.variance_, np.float64, (2,), 1e-300, 1e300)
        if d < 1 or self.scaling_ not in ("columns", "common", None):
            raise ValueError("the rows have no scale or no columns")
        if not isinstance(self.linked_, dict) or not set(self.linked_) <= {"ward", "average"}:
            raise ValueError("it has trees of other kinds to compare with")
        for name, levels in self.linked_.items():
            check_array(f"linked_.{name}", levels, np.int64, (n_levels, n), 0, n - 1)
            Hierarchy.from_levels(levels)  # looks whether levels are nested
        n_groups = self.level_labels_.max(axis=1) + 1
        Predictor(**self.predictor_).check(n_groups, d, n, self._has_intercept())
        return self

    # ---- new rows -----------------------------------------------------------------------------------------------

    def predict_levels(self, X: Any) -> Ints:
        """Groups of new rows on every level, [level, datum]: the path to their most probable leaf.

        The tree of the training rows is held; weights, components and directions were drawn given it, and the
        probability of a leaf is the mean over those draws.  Only leaves that hold training rows are considered.
        """
        rows = self._give(X)
        predictor = Predictor(**self.predictor_)
        setting, step = self._setting(len(self.names_)), 1000  # rows at once
        parts = [predictor.leaf_probability(rows[i : i + step], setting) for i in range(0, len(rows), step)]
        return predictor.levels_of(np.concatenate(parts).argmax(axis=1))

    def path_probability(self, X: Any) -> Floats:
        """Probability of the groups of the training rows on every level given the tree, [level, row]."""
        predictor = Predictor(**self.predictor_)
        leaf = predictor.leaf_probability(self._give(X), self._setting(len(self.names_)))
        of_leaf = predictor.levels_of(np.arange(len(predictor.leaf)))  # [level, leaf]
        levels = enumerate(np.asarray(self.level_labels_))
        return np.array([(leaf * (of_leaf[l][None] == labels[:, None])).sum(axis=1) for l, labels in levels])

    def predict(self, X: Any) -> Ints:
        """Group of new rows on the level of `labels_`."""
        return np.asarray(self.predict_levels(X)[self._label_level])


def principal_axes(rows: Floats, n: int) -> Floats:
    """Orthonormal directions of largest variance of centred rows, [feature, direction]; signs are fixed."""
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    axes = axes[:n]
    largest = np.abs(axes).argmax(axis=1)
    return np.ascontiguousarray((axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]).T)
