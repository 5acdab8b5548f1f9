"""LearntStates: mixtures of hidden trees whose components may learn how many states they need."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError, StatesUsedUpWarning, warn
from ...seeds import resolve_seed
from ..file_checks import check_array
from . import directions
from .finite import Outcome
from .inferred_states import InferredStates, n_states_of
from .mixture_reader import MixtureReader
from .passes import Batch, MixtureCounts, MixtureParams
from .state_gibbs import sample_states

Floats = NDArray[np.float64]

LEARNT_STARTS = 3  # at least, where the number of states is learnt


class LearntStates(MixtureReader):
    """What a fit keeps where ``n_states="infer"``; elsewhere it is that of `FiniteMixture`."""

    n_sweeps: int
    state_share_: Floats
    n_states_: Any

    def _check_fit_options(self, sample_weight: Any, known: Any, constraints: Any) -> None:
        if not directions.infers(self):
            return
        if self.warm_start:
            raise SettingError("warm_start: not with n_states='infer'; set it to False")
        if sample_weight is not None and self.n_sweeps:
            raise SettingError("sample_weight: the sampler counts trees; set n_sweeps=0")
        if not (known is None and constraints is None):
            raise SettingError("known, constraints: not with n_states='infer'; give a number of states")

    def _check_stepwise(self) -> None:
        if directions.infers(self):
            raise SettingError("partial_fit: not with n_states='infer'; give a number")

    def _n_starts(self) -> int:
        """Where states are learnt, starts decide how many are found: three at least."""
        return max(self.n_init, LEARNT_STARTS) if directions.infers(self) else self.n_init

    def _keep(self, found: Outcome) -> None:
        result, batch, model = found.result, found.batch, found.batch.model
        if not isinstance(model, InferredStates):
            super()._keep(found)
            return
        params = MixtureParams(result.params.weight, model.means(result.params.tree))
        means = Batch(model.fitted(), batch.shards, batch.sample_weight, batch.n_threads)
        with means:
            if self.n_sweeps:
                rng = np.random.default_rng(int(resolve_seed(self.random_state).integers(2**62)))
                params = sample_states(rng, means, params, self._check_params(), self.n_sweeps)
            counts, _ = means.expected_counts(params)
            tree, kept, _ = means.model.by_use(params.tree, counts.tree)  # type: ignore[attr-defined]
            result = result._replace(params=MixtureParams(params.weight, tree))
            super()._keep(found._replace(result=result, batch=means, counts=MixtureCounts(counts.weight, kept)))
            self._keep_states(means)

    def _keep_states(self, batch: Batch) -> None:
        """Facts of the states that were found."""
        counts, _ = batch.expected_counts(self._fitted_params())
        nodes = self.spec_.nodes_of(counts.tree).T
        share = nodes / np.maximum(nodes.sum(axis=1, keepdims=True), 1e-300)
        self._store("state_share_", share)
        self._set_n_states(share)
        if (n_states_of(share) >= self.spec_.n_states).any():
            warn(f"a component uses all max_states={self.spec_.n_states} states; raise max_states", StatesUsedUpWarning)

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
