"""NHCM: clusters of sub-clusters of Gaussian data (Mohamad et al. 2015); note.md has the equations."""

import os
from typing import Any, Literal

from ...errors import SettingError
from ..settings import check_number
from ..vector_estimator import Estimate, Scaling
from . import sampler as gs
from .kernels import nested_gaussian as ng
from .model import Floats, GaussianHierarchy
from .nhcm_paper import PaperProcedure


class NHCM(GaussianHierarchy):
    """Cluster rows on two levels, sub-clusters that differ in place within clusters that differ in covariance.

    Parameters
    ----------
    variant : "exact" samples the posterior; "paper" is Algorithm 1 with the equations as printed, a procedure that is
        no sampler of the model (its draws have no log joint to compare) and is here for the paper's figures.
    prior : "flat" is Eq. (7), sub-clusters by one Chinese restaurant and clusters by another over sub-clusters;
        "nested" the reading of Eq. (6) under which Eq. (9) holds, sub-clusters by a restaurant inside each cluster.
    cluster_concentration, subcluster_concentration : of the two Dirichlet processes.
    concentration_prior : (shape, rate) of a gamma prior on both, to learn them; None keeps them fixed.
    spread : variance of sub-cluster means around the centre of their cluster, in covariances of the cluster; None
        learns it, log-uniform from 0.1 to 10.
    estimate : "least_squares", the draw closest to the co-clustering matrices of both levels; "vi", the draw of least
        expected variation of information summed over levels; "best", the draw of highest log joint.
    scale0, kappa0, dof0, scaling, n_split_merge, init, n_start, novelty : as in `DPGaussianMixture`.
    n_iter, burn_in, thin, n_chains, n_jobs, checkpoint : as in `DPGaussianMixture`.

    ``level_labels_[0]`` are clusters, as `labels_`, and ``level_labels_[1]`` sub-clusters; `hierarchy_` is the tree of
    both, and `co_clustering`, `draws`, `chain_report` and `n_groups_posterior` take a level, 0 or 1.
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
        if self.variant not in ("exact", "paper"):
            raise SettingError(f"variant={self.variant!r}; wanted 'exact' or 'paper'")
        if self.prior not in ("flat", "nested"):
            raise SettingError(f"prior={self.prior!r}; wanted 'flat' or 'nested'")
        if self.spread is not None:
            check_number("spread", self.spread, 1e-9, 1e9)
        if self.variant == "paper":
            for name in ("scale0", "kappa0", "spread"):
                if getattr(self, name) is None:
                    raise SettingError(f"{name}=None; the paper's procedure learns no scales, so give a number")
            if self.concentration_prior is not None or self.prior != "flat":
                raise SettingError("the paper's procedure has fixed concentrations and prior='flat'; leave them so")

    def _prior(self) -> int:
        return ng.FLAT if self.prior == "flat" else ng.NESTED

    def _concentrations(self) -> tuple[float, float]:
        check_number("cluster_concentration", self.cluster_concentration, 1e-9, 1e9)
        check_number("subcluster_concentration", self.subcluster_concentration, 1e-9, 1e9)
        return float(self.cluster_concentration), float(self.subcluster_concentration)

    def _spread(self) -> float | None:
        return self.spread

    def _sampler(self, x: Floats, setting: gs.Setting) -> Any:
        return gs.NestedGibbs(x, setting) if self.variant == "exact" else PaperProcedure(x, setting)

    @property
    def subcluster_labels_(self) -> Any:
        """Sub-cluster of each training row, 0, 1, ... by decreasing size."""
        return self.level_labels_[1]
