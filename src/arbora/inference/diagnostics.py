"""What to read off posterior draws of a partition: who belongs together, the best single partition, and can I trust it.

`labels` has the group of each datum in each draw, [draw, datum], or [chain, draw, datum] with the chains pooled where
they do not matter.  The numbers that name groups mean nothing, and may change from draw to draw: no result depends on
them.  Only `co_clustering_matrix` returns something of the size of all pairs.
"""

from .chain_agreement import ChainReport, Convergence, check_chains, convergence, summaries
from .drawn_partitions import (
    NEW_GROUP,
    Loss,
    Measure,
    adjusted_rand,
    align_labels,
    binder_loss,
    canonical,
    co_clustering_matrix,
    compare_to_draws,
    cut_levels,
    variation_of_information,
)
from .point_estimates import (
    CredibleBall,
    GroupCount,
    PointEstimate,
    credible_ball,
    expected_losses,
    n_groups_posterior,
    point_estimate,
)

__all__ = [
    "NEW_GROUP",
    "ChainReport",
    "Convergence",
    "CredibleBall",
    "GroupCount",
    "Loss",
    "Measure",
    "PointEstimate",
    "adjusted_rand",
    "align_labels",
    "binder_loss",
    "canonical",
    "check_chains",
    "co_clustering_matrix",
    "compare_to_draws",
    "convergence",
    "credible_ball",
    "cut_levels",
    "expected_losses",
    "n_groups_posterior",
    "point_estimate",
    "summaries",
    "variation_of_information",
]
