"""FittedTranslator: what a fitted translator gives for input trees, and how its file is read."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ...forest.forest import Forest
from ...forest.trees import Trees
from ...seeds import draw_rows, resolve_seed
from ..classifiers.encoders import pack_encoder, restore_encoder
from ..classifiers.readout import below
from ..file_checks import check_array, check_whole
from ..forest_estimator import ForestEstimator
from ..hidden_tree import draw_trees
from ..hidden_tree.mixture import HiddenTreeMixture
from ..hidden_tree.passes import log_sum
from . import choosing
from . import gate as gt

Floats = NDArray[np.float64]

MOST = 1e100  # that a number of the gate may be: sums of them stay finite


class FittedTranslator(ForestEstimator):
    """Output trees of input trees by a fitted model; the subclass has the settings and fits."""

    encoder: Any
    n_draws: int

    encoder_: Any
    outputs_: HiddenTreeMixture
    gate_weight_: Floats
    gate_bias_: Floats
    draw_seed_: int

    def _check_params(self) -> None:
        raise NotImplementedError

    def _paired(self, forest: Trees, y: Any) -> Trees:
        raise NotImplementedError

    @staticmethod
    def _codes(encoder: Any, forest: Trees) -> Any:
        """Rows of numbers of input trees."""
        codes = encoder.transform(forest)
        return sparse.csr_array(codes) if sparse.issparse(codes) else np.asarray(codes, np.float64)

    def _log_gate(self, X: Any) -> Floats:
        """Log P(component | input tree)."""
        check_is_fitted(self, "outputs_")
        codes = self._codes(self.encoder_, self._in_training_terms(X))
        return gt.log_proba(gt.Gate(self.gate_weight_, self.gate_bias_), codes)

    # ---- input trees alone ----------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component of output trees given the input tree, shape (n_trees, n_components)."""
        return np.exp(self._log_gate(X))

    def sample(self, X: Any, random_state: Any = None) -> Forest:
        """Draw an output tree for each input tree; the target of each is its component.

        Parameters
        ----------
        X : Forest, or what makes one
            The input trees.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        Forest
            The trees.
        """
        proba, rng = self.predict_proba(X), resolve_seed(random_state)
        return self._drawn(rng, draw_rows(rng, proba))

    def predict(self, X: Any) -> Forest:
        """An output tree for each input tree: of draws the one with the least expected edit distance.

        `n_draws` trees are drawn of every component, always the same ones.  The expectation is over these draws, each
        component weighted by its probability.

        Parameters
        ----------
        X : Forest, or what makes one
            The input trees.

        Returns
        -------
        Forest
            The trees.
        """
        proba = self.predict_proba(X)
        n = proba.shape[1]
        draws = self._drawn(np.random.default_rng(self.draw_seed_), np.repeat(np.arange(n), self.n_draws))
        return draws.take(choosing.best_draws(choosing.risks(draws, n), proba))

    def _drawn(self, rng: np.random.Generator, component: NDArray[np.int64]) -> Forest:
        mixture = self.outputs_
        return draw_trees.draw_given(rng, mixture.spec_, mixture._fitted_params(), mixture.vocabulary_, component)

    # ---- pairs ----------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, y: Any) -> Floats:
        """Log P(output tree | input tree) of each pair, shape included; -inf if impossible.

        Parameters
        ----------
        X : Forest, or what makes one
            The input trees.
        y : Forest, or what makes one
            The output trees.

        Returns
        -------
        ndarray of shape (n_trees,)
            Log-probabilities.  Labels that are missing, or that no output tree of training had, are summed out.
        """
        gate, mixture = self._log_gate(X), self.outputs_
        outputs = mixture._in_training_terms(self._paired(self._check_trees(X, 0), y))
        with mixture._batch(outputs, mixture.spec_) as batch:
            return log_sum(gate + batch.log_likelihood(mixture._fitted_params().tree))

    def score(self, X: Any, y: Any) -> float:
        """Mean log P(output tree | input tree)."""
        return float(self.score_samples(X, y).mean())

    # ---- files ----------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        arrays |= pack_encoder(self, header)
        header["outputs"], more = self.outputs_._pack()
        return header, arrays | {f"outputs.{name}": value for name, value in more.items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        from .. import restore

        super()._restore(header, arrays)
        self._check_params()
        n_columns = restore_encoder(self, header, arrays)
        outputs: Any = restore(header["outputs"], below("outputs", arrays))
        if not isinstance(outputs, HiddenTreeMixture) or outputs.direction != "down" or outputs.structure != "state":
            raise ValueError("the model of the outputs is no mixture of top-down trees with shapes")
        self.outputs_, n = outputs, len(outputs.weight_)
        check_array("gate_weight_", self.gate_weight_, np.float64, (n, n_columns), -MOST, MOST)
        check_array("gate_bias_", self.gate_bias_, np.float64, (n,), -MOST, MOST)
        check_whole("draw_seed_", self.draw_seed_, 0, 2**31 - 1)
        return self
