"""PlaneLabels: labels of states that are points of a lattice, so that near points emit like labels.

The emission of point i is softmax(Phi_i W): Phi are Gaussian bumps on the plane and a constant, W has a normal prior.
The M-step takes steps with the bound of Boehning (1992) on the curvature of the softmax: each solves one small system
for all labels and cannot lower the objective.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax

from ....errors import ArboraError
from ..tree_model import Table
from . import Rows, Shown
from .labels import Labels

Floats = NDArray[np.float64]

N_STEPS = 3  # of an M-step
MOST_WEIGHT = 1e6


@dataclass(frozen=True)
class Plane:
    """A square lattice, and smooth bumps on it."""

    side: int  # points of the lattice on each side
    basis: int  # bumps on each side
    width: float  # of a bump, in distances between bumps
    decay: float  # precision of the normal prior of the weights

    @cached_property
    def lattice(self) -> Floats:
        """Points in the square from -1 to 1, row by row, [state, 2]."""
        return _grid(self.side)

    @cached_property
    def bumps(self) -> Floats:
        """Phi: the bumps at each point, and a constant, [state, basis + 1]."""
        centres = _grid(self.basis)
        width = self.width * 2.0 / max(self.basis - 1, 1)
        apart = ((self.lattice[:, None] - centres) ** 2).sum(axis=2)
        return np.concatenate([np.exp(-apart / (2.0 * width**2)), np.ones((len(self.lattice), 1))], axis=1)

    def softmax(self, weights: Floats) -> Floats:
        """Log-probability of words from weights[bump, word, component], [state, word, component]."""
        score = np.einsum("ip,pmk->imk", self.bumps, weights)
        return np.asarray(log_softmax(score, axis=1)) if weights.shape[1] else score

    def softmax_step(self, counts: Floats, weights: Floats) -> Floats:
        """A few bounded Newton steps, given counts[word, state, component]; none lowers the objective."""
        weights = weights.copy()
        for k in range(weights.shape[-1]):
            held = counts[:, :, k].T  # [state, word]
            n = held.sum(axis=1)
            curvature = 0.5 * (self.bumps.T * n) @ self.bumps + self.decay * np.eye(self.bumps.shape[1])
            factor = cho_factor(curvature)
            for _ in range(N_STEPS):
                prob = np.exp(self.softmax(weights[..., k : k + 1])[:, :, 0])
                slope = self.bumps.T @ (held - n[:, None] * prob) - self.decay * weights[..., k]
                weights[..., k] += cho_solve(factor, slope)
        return np.clip(weights, -MOST_WEIGHT, MOST_WEIGHT)

    def fitted_to(self, wanted: Floats) -> Floats:
        """Weights by which the bumps are near to wanted[state, ...], by ridge regression, [bump, ...]."""
        gram = self.bumps.T @ self.bumps + self.decay * np.eye(self.bumps.shape[1])
        return np.asarray(np.linalg.solve(gram, self.bumps.T @ wanted))

    def words_at(self, place: Floats, frequency: Floats, spread: float = 0.5) -> Floats:
        """Weights at which each word is likeliest near its place[word, 2], [bump, word, 1]."""
        apart = ((self.lattice[:, None] - place) ** 2).sum(axis=2)
        wanted = -apart / (2.0 * spread**2) + 0.5 * np.log(np.maximum(frequency, 1e-12))
        wanted -= wanted.sum(axis=1, keepdims=True) / max(len(frequency), 1)  # a constant per point changes nothing
        return self.fitted_to(wanted)[..., None]


@dataclass(frozen=True)
class PlaneLabels(Plane, Labels):
    """A label per node; parameters are one array of weights, [basis + 1, label, component]."""

    def header(self) -> Any:
        """All sizes."""
        return ["plane", self.n_labels, self.side, self.basis, self.width, self.decay]

    @classmethod
    def from_header(cls, values: Any) -> Self:
        """Undo `header`."""
        _, n_labels, side, basis, width, decay = values
        whole = all(type(n) is int for n in (n_labels, side, basis))
        if not whole or n_labels < 0 or not 1 <= basis <= side <= 1000:
            raise ValueError(f"the sizes of the plane make no sense: {values!r:.200}")
        if not all(type(x) is float and 0.0 < x < 1e9 for x in (width, decay)):
            raise ValueError(f"width and decay of the plane make no sense: {values!r:.200}")
        return cls(n_labels, side, basis, width, decay)

    def log_prob(self, params: Floats) -> Floats:
        """Log-probability of labels, [state, label, component]."""
        return self.softmax(params)

    def tables(self, n_states: int) -> Table:
        """Weights stand for themselves."""
        shape = (self.bumps.shape[1], self.n_labels)
        return Table("emission_weight_", shape, None, -MOST_WEIGHT, MOST_WEIGHT)

    def rows(self, params: Floats, contents: Any) -> Rows:
        """P(label | point)."""
        return Rows(np.ascontiguousarray(np.exp(self.log_prob(params)).transpose(1, 0, 2)), None)

    def mode(self, statistics: Floats, params: Floats, prior: float) -> Floats:
        """A few bounded Newton steps from `params`; none lowers expected log-likelihood plus log prior."""
        return self.softmax_step(statistics, params)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Normal draws from the prior."""
        if statistics is not None:
            raise ArboraError("the labels of a plane have no conjugate prior; fit them by EM")
        shape = (self.bumps.shape[1], self.n_labels, n_components)
        return rng.normal(0.0, 1.0 / np.sqrt(self.decay), shape)

    def placed(self, place: Floats, frequency: Floats) -> Floats:
        """Weights at which each label is likeliest near its place[label, 2], by ridge regression of the logarithms."""
        return self.words_at(place, frequency)

    def uniform(self, n_states: int) -> Floats:
        """All labels alike at all points."""
        return np.zeros((self.bumps.shape[1], self.n_labels, 1))

    def log_prior(self, params: Floats, prior: float) -> Any:
        """Normal, up to a constant."""
        return -0.5 * self.decay * (params**2).sum(axis=(0, 1))

    def log_prior_constant(self, n_states: int, prior: float) -> float:
        """The constant of the normal density."""
        return 0.5 * self.bumps.shape[1] * self.n_labels * float(np.log(self.decay / (2.0 * np.pi)))

    def n_free(self, n_states: int) -> int:
        """One weight less than labels for each bump: a constant per bump changes nothing."""
        return self.bumps.shape[1] * max(self.n_labels - 1, 0)

    def in_order(self, values: Floats, order: NDArray[np.int64]) -> Floats:
        """Points stay where they are."""
        if not np.array_equal(order, np.arange(len(order))):
            raise ArboraError("the states of a plane are its points; they have one order")
        return values

    def shown(self, params: Floats, words: tuple[str, ...], most: int) -> Shown:
        """The labels that are most probable at some point."""
        return super().shown(self.rows(params, None).prob, words, most)


def _grid(side: int) -> Floats:
    """side * side points in the square from -1 to 1."""
    line = np.linspace(-1.0, 1.0, side) if side > 1 else np.zeros(1)
    return np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
