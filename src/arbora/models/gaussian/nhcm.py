"""NHCM: clusters of sub-clusters of Gaussian data (Mohamad et al. 2015); note.md has the equations."""

import os
from typing import Any, Literal

from ...errors import SettingError
from ..settings import check_choice, check_number
from ..vector_estimator import Estimate, Scaling
from . import sampler as gs
from .gaussian_hierarchy import Floats, GaussianHierarchy
from .kernels import nested_gaussian as ng
from .nhcm_paper import PaperProcedure


class NHCM(GaussianHierarchy):
    """Cluster rows on two levels: sub-clusters that differ in place, within clusters that differ in covariance.

    Parameters
    ----------
    variant : {"exact", "paper"}, default "exact"
        "exact" samples the posterior.  "paper" is Algorithm 1 of Mohamad et al. with the equations as printed.  It does
        not sample the model (its draws have no comparable log joint) and exists to reproduce the paper's figures.
    prior : {"flat", "nested"}, default "flat"
        "flat" is Eq. (7): sub-clusters by one Chinese restaurant process, clusters by another over sub-clusters.
        "nested" is the reading of Eq. (6) under which Eq. (9) holds: sub-clusters by a restaurant within each cluster.
    cluster_concentration, subcluster_concentration : float, default 1.0
        Concentrations of the two Dirichlet processes.
    concentration_prior : tuple of two floats or None, default None
        Shape and rate of a gamma prior on both concentrations, to learn them.  None keeps them fixed.
    spread : float or None, default 3.0
        Variance of sub-cluster means around the centre of their cluster, in covariances of the cluster.  None learns
        it, log-uniform from 0.1 to 10.
    scale0, kappa0, dof0, scaling, n_split_merge, init, n_start, novelty
        As in `DPGaussianMixture`.
    estimate : {"least_squares", "vi", "best"}, default "least_squares"
        What `labels_` holds: the draw closest to the co-clustering matrices of both levels, the draw of least expected
        variation of information summed over levels, or the draw of highest log joint.
    n_iter, burn_in, thin, n_chains, n_jobs, checkpoint, random_state, verbose
        As in `DPGaussianMixture`; `n_iter` is 300.
    until, max_time : default "n_iter" and None
        As in `DPGaussianMixture`; both levels must settle.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row.
    level_labels_ : list of two ndarrays
        Clusters, and sub-clusters.
    hierarchy_ : Hierarchy
        The tree of clusters and sub-clusters.
    missing_cells_ : ndarray of shape (n_missing, 2)
        Row and column of each cell that is nan; these are integrated out.
    missing_mean_, missing_deviation_ : ndarray of shape (n_missing,)
        Posterior mean and standard deviation of these cells.
    seated_ : Seated
        Cluster, surprise and more of each row that the last `partial_fit` took in.
    trace_ : Trace
        The draws.  `co_clustering`, `draws`, `chain_report` and `n_groups_posterior` take a level, 0 or 1.

    References
    ----------
    Mohamad, Bouchachia and Sayed-Mouchaweh (2015), A non-parametric hierarchical clustering model,
    doi:10.1109/EAIS.2015.7368803.

    Examples
    --------
    >>> import numpy as np
    >>> from arbora import NHCM
    >>> rows = np.random.default_rng(0).normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
    >>> model = NHCM(n_iter=40, n_chains=1, random_state=0).fit(rows)
    >>> [labels.shape for labels in model.level_labels_]
    [(40,), (40,)]
    """

    def __init__(
        self,
        *,
        variant: Literal["exact", "paper"] = "exact",
        prior: Literal["flat", "nested"] = "flat",
        cluster_concentration: float = 1.0,
        subcluster_concentration: float = 1.0,
        concentration_prior: tuple[float, float] | None = None,
        spread: float | None = 3.0,
        scale0: Any = None,
        kappa0: float | None = None,
        dof0: float | None = None,
        scaling: Scaling = "columns",
        n_split_merge: int = 5,
        init: gs.Start = "sequential",
        n_start: int = 20,
        estimate: Estimate = "least_squares",
        novelty: float = 0.5,
        n_iter: int = 300,
        until: Literal["settled", "n_iter"] = "n_iter",
        max_time: float | None = None,
        burn_in: int | None = None,
        thin: int = 1,
        n_chains: int = 4,
        n_jobs: int | None = -1,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self._remember(locals())

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("variant", self.variant, ("exact", "paper"))
        check_choice("prior", self.prior, ("flat", "nested"))
        if self.spread is not None:
            check_number("spread", self.spread, 1e-9, 1e9)
        if self.variant == "paper":
            for name in ("scale0", "kappa0", "spread"):
                if getattr(self, name) is None:
                    raise SettingError(f"{name}=None; the paper's procedure learns no scales, so give a number")
            if self.concentration_prior is not None or self.prior != "flat":
                raise SettingError("the paper's procedure has fixed concentrations and prior='flat'; leave them so")

    def takes_missing(self) -> bool:
        return self.variant == "exact"

    def _prior(self) -> int:
        return ng.FLAT if self.prior == "flat" else ng.NESTED

    def _concentrations(self) -> tuple[float, float]:
        check_number("cluster_concentration", self.cluster_concentration, 1e-9, 1e9)
        check_number("subcluster_concentration", self.subcluster_concentration, 1e-9, 1e9)
        return float(self.cluster_concentration), float(self.subcluster_concentration)

    def _spread(self) -> float | None:
        return self.spread

    def _sampler(self, x: Floats, setting: gs.GibbsSettings) -> Any:
        return gs.NestedGibbs(x, setting) if self.variant == "exact" else PaperProcedure(x, setting)

    @property
    def subcluster_labels_(self) -> Any:
        """Sub-cluster of each training row, 0, 1, ... by decreasing size."""
        return self.level_labels_[1]
