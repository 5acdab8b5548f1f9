"""RBHMC: BHMC with a max-margin regulariser (Huang et al. 2021; see bhmc.md)."""

import os
from typing import Any, Literal

from ..settings import check_number
from .estimator import BHMC, N_PROJECTED, Estimate

TOTAL_STRENGTH = 5.0  # regularization times number of rows, by default; bhmc.md says why and what was tried


class RBHMC(BHMC):
    """`BHMC` with a max-margin regulariser that separates siblings.

    Every node has a direction.  A row pays 2 x `regularization` for each unit by which its score along the direction of
    its own node falls short of a sibling's score plus `margin`, at the worst level of its path.

    Parameters
    ----------
    depth : int, default 3
        Levels below the root.
    regularization : float or None, default None
        Strength of the regulariser, C in the paper; None is 5 / number of rows.  With 0 this is `BHMC`.
    margin : float, default 10.0
        Margin between the score of a node and those of its siblings, epsilon_0 in the paper.
    direction_scale : float, default 1.0
        Standard deviation of the prior of directions, nu_0 in the paper.
    intercept : bool, default False
        Whether a boundary between siblings may lie anywhere.  Without it, as in the paper, all boundaries pass through
        the mean of the data.
    tree, branching, procedure
        As in `BHMC`.
    path_concentration, weight_concentration, root_concentration
        As in `BHMC`.
    component_variance, mean_variance, scaling, n_projected, start, estimate
        As in `BHMC`.
    n_iter, until, max_time, burn_in, thin, n_chains, checkpoint, n_jobs, random_state, verbose
        As in `BHMC`.

    Attributes
    ----------
    labels_, level_labels_, hierarchy_, component_, variance_, trace_
        As in `BHMC`.

    See Also
    --------
    BHMC : the model without the regulariser.

    References
    ----------
    Huang, Ng, Laitonjam and Hurley (2021), Posterior regularization on Bayesian hierarchical mixture clustering,
    arXiv:2105.06903.

    Examples
    --------
    >>> import numpy as np
    >>> from arbora import RBHMC
    >>> rows = np.random.default_rng(0).normal(size=(30, 2)) + 8.0 * (np.arange(30) % 3)[:, None]
    >>> RBHMC(depth=2, n_iter=60, n_chains=1, random_state=0).fit(rows).labels_.shape
    (30,)
    """

    def __init__(
        self,
        depth: int = 3,
        *,
        regularization: float | None = None,
        margin: float = 10.0,
        direction_scale: float = 1.0,
        intercept: bool = False,
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

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.regularization is not None:
            check_number("regularization", self.regularization, 0.0, 1e6)
        check_number("margin", self.margin, 0.0, 1e6)
        check_number("direction_scale", self.direction_scale, 1e-6, 1e6)

    def _regularizer(self, n_rows: int) -> tuple[float, float, float]:
        strength = TOTAL_STRENGTH / n_rows if self.regularization is None else self.regularization
        return strength, self.margin, self.direction_scale

    def _has_intercept(self) -> bool:
        return bool(self.intercept)
