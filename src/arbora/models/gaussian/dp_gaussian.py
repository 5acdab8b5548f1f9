"""DPGaussianMixture: a Dirichlet-process mixture of Gaussians, the number of groups learnt."""

import os
from typing import Any

from ..settings import check_number
from ..vector_estimator import Estimate, Scaling
from .kernels import nested_gaussian as ng
from .model import GaussianHierarchy
from .sampler import Start


class DPGaussianMixture(GaussianHierarchy):
    """Cluster rows by a mixture of Gaussians with full covariances, without fixing the number of groups.

    Means and covariances are integrated out; partitions are sampled by collapsed Gibbs (Neal's Algorithm 3) and by
    splits and mergers (Jain and Neal), exactly, in several chains.

    Parameters
    ----------
    concentration : of the Dirichlet process; larger means more groups a priori.
    concentration_prior : (shape, rate) of a gamma prior, to learn the concentration; None keeps it fixed.
    scale0 : of the inverse-Wishart prior.  None learns it: a multiple of the identity in the space of the scaled data,
        log-uniform from 1e-4 to 10, where 1 is the variance of all data.  A number fixes the multiple; a matrix, in
        the units of the data, fixes it all.  The covariance of a group is scale0 / (dof0 - n_columns - 1) on average.
    kappa0 : how close to the centre of the data means of groups are, in covariances of a group; None learns it,
        log-uniform from 1e-3 to 10.
    dof0 : degrees of freedom of the prior; None: 2 more than columns that vary.
    scaling : ``"columns"`` brings every column to variance one, ``"common"`` all of them by one factor, None neither.
    n_split_merge : splits or mergers tried in a sweep.
    init, n_start : where chains start: "sequential", rows seated one after the other (of 1,000 rows or more, 500
        first, by a short chain of their own); "kmeans", a random number of groups up to n_start; or "one".
    estimate : what `labels_` are: "vi", the partition of least expected variation of information; "least_squares",
        the draw closest to the co-clustering matrix; "best", the draw of highest log joint.
    novelty : `predict` answers -1 for rows more probably than this of a group never seen.
    n_iter, burn_in, thin : sweeps; draws are kept after `burn_in` of them (None: half), every `thin`.
    n_chains, n_jobs : chains, and threads to run them in; the result does not depend on n_jobs.
    checkpoint : a folder in which chains are saved as they run, and from which a broken run goes on.
    """

    def __init__(
        self,
        *,
        concentration: float = 1.0,
        concentration_prior: tuple[float, float] | None = None,
        scale0: Any = None,
        kappa0: float | None = None,
        dof0: float | None = None,
        scaling: Scaling = "columns",
        n_split_merge: int = 5,
        init: Start = "sequential",
        n_start: int = 20,
        estimate: Estimate = "vi",
        novelty: float = 0.5,
        n_iter: int = 200,
        burn_in: int | None = None,
        thin: int = 1,
        n_chains: int = 4,
        n_jobs: int | None = -1,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self._remember(locals())

    def _prior(self) -> int:
        return ng.SINGLE

    def _concentrations(self) -> tuple[float, float]:
        check_number("concentration", self.concentration, 1e-9, 1e9)
        return float(self.concentration), 0.0
