"""The procedure of Mohamad et al. 2015, Algorithm 1, behind the interface of the exact sampler."""

from collections.abc import Mapping

import numpy as np

from .kernels import blocks as bl
from .kernels.nhcm_paper import paper_sweep
from .sampler import NestedClusters, NestedGibbs


class PaperProcedure(NestedGibbs):
    """Algorithm 1 as printed; "log_joint" is that of the model, which the procedure does not sample."""

    exact = False

    def step(self, rng: np.random.Generator, state: NestedClusters) -> tuple[NestedClusters, Mapping[str, float]]:
        """One iteration over all data in random order."""
        hyper = self.hyper(state.concentration, state.scales)
        subcluster, order, n = state.subcluster.copy(), rng.permutation(len(self.x)), len(self.x)
        cluster, done = self._room(state.cluster), 0
        while (done := done + paper_sweep(rng, self.x, order[done:], subcluster, cluster, hyper)) < n:
            cluster = self._room(cluster)
        used, subcluster = np.unique(subcluster, return_inverse=True)
        cluster = np.unique(cluster[used], return_inverse=True)[1].astype(np.int64)
        state = NestedClusters(subcluster.astype(np.int64), cluster, state.concentration, state.scales)
        blocks = bl.summarise(self.x, state.subcluster, len(cluster))
        told = {
            "log_joint": self.log_joint(state, blocks),
            "n_clusters": float(cluster.max() + 1),
            "n_subclusters": float(len(cluster)),
            "n_accepted": 0.0,
        }
        return state, told

    def _room(self, cluster: np.ndarray) -> np.ndarray:
        """The same clusters in twice the slots."""
        slots = np.zeros(2 * len(cluster) + 16, np.int64)
        slots[: len(cluster)] = cluster
        return slots
