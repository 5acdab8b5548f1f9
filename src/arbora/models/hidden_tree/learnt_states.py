"""LearntStates: mixtures of hidden trees whose components may learn how many states they need."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError, StatesUsedUpWarning
from ...forest.trees import Trees
from ...inference.em import EMResult
from ...seeds import resolve_seed
from ..file_checks import check_array
from . import directions
from .inferred_states import InferredStates, n_states_of
from .mixture_reader import MixtureReader
from .passes import Batch, MixtureCounts, MixtureParams
from .state_gibbs import sample_states

Floats = NDArray[np.float64]

LEARNT_STARTS = 3  # at least, where the number of states is learnt


class LearntStates(MixtureReader):
    """What a fit does where ``n_states="infer"``; elsewhere it is that of `FiniteMixture`."""

    n_sweeps: int
    state_share_: Floats
    n_states_: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        known: Any = None,
        constraints: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit by EM, given what is known; y is ignored.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.
        known : sequence or None, default None
            Known classes of some trees, one entry per tree; None (or NaN) where the class is not known.  Each class has
            a component of its own.
        constraints : mapping or None, default None
            ``{"must_link": [(0, 5), ...], "cannot_link": [(1, 2), ...]}``: pairs of trees that share a component, and
            pairs that do not.

        Returns
        -------
        object
            The estimator itself.
        """
        if self.warm_start and directions.infers(self):
            raise SettingError("warm_start: not with n_states='infer'; set it to False")
        if sample_weight is not None and self.n_sweeps and directions.infers(self):
            raise SettingError("sample_weight: the sampler counts trees; set n_sweeps=0")
        if directions.infers(self) and not (known is None and constraints is None):
            raise SettingError("known, constraints: not with n_states='infer'; give a number of states")
        return super().fit(X, y, sample_weight, known=known, constraints=constraints)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Stepwise EM: move the expected counts towards those of this batch, then re-estimate.

        It goes on from a fit, or from earlier batches.  The first batch fixes the vocabulary and the slots; labels and
        slots first met later are treated as at prediction: summed out, and pooled into the last slot.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        if directions.infers(self):
            raise SettingError("partial_fit: not with n_states='infer'; give a number")
        return super().partial_fit(X, y, sample_weight)

    def _n_starts(self) -> int:
        """Where states are learnt, starts decide how many are found: three at least."""
        return max(self.n_init, LEARNT_STARTS) if directions.infers(self) else self.n_init

    def _keep(
        self,
        result: EMResult[MixtureParams],
        batch: Batch,
        forest: Trees,
        counts: MixtureCounts | None = None,
        reorder: bool = True,
    ) -> None:
        model: Any = batch.model
        if not isinstance(model, InferredStates):
            super()._keep(result, batch, forest, counts, reorder)
            return
        params = MixtureParams(result.params.weight, model.means(result.params.tree))
        means = Batch(model.fitted(), batch.shards, batch.sample_weight, batch.n_threads)
        with means:
            if self.n_sweeps:
                rng = np.random.default_rng(int(resolve_seed(self.random_state).integers(2**62)))
                params = sample_states(rng, means, params, self._check_params(), self.n_sweeps)
            found, _ = means.expected_counts(params)
            tree, kept, _ = means.model.by_use(params.tree, found.tree)  # type: ignore[attr-defined]
            params = MixtureParams(params.weight, tree)
            super()._keep(result._replace(params=params), means, forest, MixtureCounts(found.weight, kept), reorder)
            self._keep_states(means)

    def _keep_states(self, batch: Batch) -> None:
        """Facts of the states that were found."""
        counts, _ = batch.expected_counts(self._fitted_params())
        nodes = self.spec_.nodes_of(counts.tree).T
        share = nodes / np.maximum(nodes.sum(axis=1, keepdims=True), 1e-300)
        self._store("state_share_", share)
        self._set_n_states(share)
        if (n_states_of(share) >= self.spec_.n_states).any():
            warnings.warn(
                f"a component uses all max_states={self.spec_.n_states} states; raise max_states",
                StatesUsedUpWarning,
                stacklevel=5,
            )

    def n_parameters(self) -> int:
        """Free parameters of the fitted model, used or not; of learnt states, those of the states that are used."""
        check_is_fitted(self, "weight_")
        if not isinstance(self.spec_, InferredStates):
            return super().n_parameters()
        each = [replace(self.spec_.tree, n_states=int(n)) for n in np.maximum(np.atleast_1d(self.n_states_), 1)]
        return sum(one.n_free_parameters() + one.n_states - 1 for one in each) + len(each) - 1

    def _check_states(self) -> None:
        """Raise unless shares of states are shares; the numbers of states follow from them."""
        share = self._by_component("state_share_")
        check_array("state_share_", share, np.float64, (len(self.weight_), self.spec_.n_states), 0.0, 1.0 + 1e-9)
        self._set_n_states(share)

    def order_states(self, batch: Batch) -> None:
        """Number the learnt states of a fitted model by their nodes among these trees.

        Parameters
        ----------
        batch : Batch
            The trees as passes take them.
        """
        params = self._fitted_params()
        counts, _ = batch.expected_counts(params)
        self._set_fitted_params(MixtureParams(params.weight, self.spec_.by_use(params.tree, counts.tree)[0]))
        self._keep_states(batch)

    def _set_n_states(self, share: Floats) -> None:
        n_states = n_states_of(share)
        self.n_states_ = n_states if np.ndim(self.state_share_) == 2 else int(n_states[0])

    def _ends_with_em(self) -> bool:
        return not (self.n_sweeps and directions.infers(self))
