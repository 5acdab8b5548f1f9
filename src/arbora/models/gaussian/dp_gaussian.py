"""DPGaussianMixture: a Dirichlet-process mixture of Gaussians, the number of groups learnt."""

import os
from typing import Any, Literal

from ..settings import check_number
from ..vector_estimator import Estimate, Scaling
from .gaussian_hierarchy import GaussianHierarchy
from .kernels import nested_gaussian as ng
from .sampler import Start


class DPGaussianMixture(GaussianHierarchy):
    """Cluster rows by a Dirichlet-process mixture of Gaussians with full covariances; the number of groups is learnt.

    Means and covariances are integrated out.  Partitions are sampled exactly, in several chains, by collapsed Gibbs
    (Neal's Algorithm 3) and by split-merge moves (Jain and Neal).

    Parameters
    ----------
    concentration : float, default 1.0
        Concentration of the Dirichlet process.  Larger values give more groups a priori.
    concentration_prior : tuple of two floats or None, default None
        Shape and rate of a gamma prior, to learn the concentration.  None keeps it fixed.
    scale0 : float, matrix or None, default None
        Scale of the inverse-Wishart prior.  None learns it: a multiple of the identity in the space of the scaled data,
        log-uniform from 1e-4 to 10, where 1 is the variance of all data.  A number fixes the multiple; a matrix, in the
        units of the data, fixes the whole.  The covariance of a group is scale0 / (dof0 - n_columns - 1) on average.
    kappa0 : float or None, default None
        Precision of group means around the centre of the data, in covariances of a group.  None learns it, log-uniform
        from 1e-3 to 10.
    dof0 : float or None, default None
        Degrees of freedom of the prior.  None is 2 more than the number of columns that vary.
    scaling : {"columns", "common"} or None, default "columns"
        "columns" scales every column to variance one, "common" scales all by one factor, None does not scale.
    n_split_merge : int, default 5
        Split-merge proposals per sweep.
    init : {"sequential", "kmeans", "one"}, default "sequential"
        Start of the chains: rows seated one after the other (of 1,000 rows or more, 500 first, by a short chain of
        their own), k-means with a random number of groups up to `n_start`, or one group.
    n_start : int, default 20
        Most groups of the k-means start.
    estimate : {"vi", "least_squares", "best"}, default "vi"
        What `labels_` holds: the partition of least expected variation of information, the draw closest to the
        co-clustering matrix, or the draw of highest log joint.
    novelty : float, default 0.5
        `predict` answers -1 for rows that belong to a group never seen with more than this probability.
    n_iter, thin, n_chains : int, default 200, 1 and 4
        Sweeps of each chain, the step between draws that are kept, and the number of chains.
    until : {"n_iter", "settled"}, default "n_iter"
        "settled" ends the chains before `n_iter` sweeps once they agree; docs/diagnostics.md has the rule.  "n_iter"
        runs all sweeps, as does a single chain.
    max_time : float or None, default None
        Seconds after which the chains end.  The number of draws then depends on the machine.
    burn_in : int or None, default None
        Sweeps that are not kept; None is half of those that are run.
    n_jobs : int or None, default -1
        Threads that run the chains.  The result does not depend on it.
    checkpoint : path or None, default None
        Folder in which chains are saved as they run, and from which an interrupted fit continues.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Group of each row, 0, 1, ... by decreasing size.
    concentration_ : float or ndarray
        Concentration of the chosen draw.
    varying_columns_ : ndarray
        Columns that enter the model; constant columns do not.
    missing_cells_ : ndarray of shape (n_missing, 2)
        Row and column of each cell that is nan; these are integrated out.
    missing_mean_, missing_deviation_ : ndarray of shape (n_missing,)
        Posterior mean and standard deviation of these cells.
    seated_ : Seated
        Cluster, surprise and more of each row that the last `partial_fit` took in.
    settled_ : bool or None
        Whether the chains ended because they agreed; None if no rule was used.
    trace_ : Trace
        The draws.  `n_groups_posterior`, `co_clustering`, `point_estimate` and `chain_report` summarise them.

    References
    ----------
    Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.
    Jain and Neal (2004), A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture model.

    Examples
    --------
    >>> import numpy as np
    >>> from arbora import DPGaussianMixture
    >>> rows = np.random.default_rng(0).normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
    >>> model = DPGaussianMixture(n_iter=40, n_chains=1, random_state=0).fit(rows)
    >>> np.bincount(model.labels_).tolist()
    [20, 20]
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

    def _prior(self) -> int:
        return ng.SINGLE

    def _concentrations(self) -> tuple[float, float]:
        check_number("concentration", self.concentration, 1e-9, 1e9)
        return float(self.concentration), 0.0
