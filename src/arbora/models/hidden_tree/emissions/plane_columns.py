"""PlaneColumns: columns of content of states that are points of a lattice, so that near points hold alike.

Codes, flags and bags have softmax emissions, as labels (plane.py).  The mean of a number is a smooth function on the
plane, mean_i = centre + Phi_i w, with one variance for all points: the map of Bishop, Svensen and Williams (1998).  The
logarithm of the rate of a count is smooth, log rate_i = log mean + Phi_i w.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ....errors import ArboraError
from ....forest.content_rows import LABEL
from ..tree_model import Table, named
from .bag import Bag
from .categorical import Categorical
from .columns import Columns
from .flag import Flag
from .gaussian import LARGEST, Gaussian, Moments, Normal
from .plane import MOST_WEIGHT, Plane, PlaneLabels
from .poisson import LARGEST as MOST_RATE
from .poisson import Poisson, Totals
from .wrapped import Wrapped

Floats = NDArray[np.float64]

TILT = 1.0  # of a start: how far numbers go from the middle to a side, in standard deviations
HALVINGS = 40  # of a Newton step that would lower the objective
PLANE = "plane columns"  # what the header begins with


@dataclass(frozen=True)
class OnPlane(Wrapped):
    """A family whose parameters are smooth functions on the plane; `point` gives those of the family inside."""

    plane: Plane

    def point(self, params: Any) -> Any:
        """Parameters of the family at each point."""
        raise NotImplementedError

    def log_density(self, values: Any, params: Any) -> Floats:
        """As the family says at each point."""
        return np.asarray(self.family.log_density(values, self.point(params)))

    def log_terms(self, params: Any) -> Any:
        """As the family says at each point."""
        return self.family.log_terms(self.point(params))

    def expected(self, statistics: Any, params: Any) -> Floats:
        """Expected log density by component."""
        return np.asarray(self.family.expected(statistics, self.point(params)))

    def sample(self, rng: np.random.Generator, params: Any, state: Any, component: Any) -> Any:
        """Values of nodes in these states and components."""
        return self.family.sample(rng, self.point(params), state, component)

    def shown(self, params: Any, words: tuple[str, ...]) -> dict[str, Floats]:
        """Numbers of each point."""
        found: dict[str, Floats] = self.family.shown(self.point(params), words)
        return found

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """Points stay where they are."""
        if not np.array_equal(order, np.arange(len(order))):
            raise ArboraError("the states of a plane are its points; they have one order")
        return values

    def _log_normal(self, weights: Floats) -> Floats:
        """Log density of the normal prior of weights, with its constant, by component."""
        squares = (weights**2).reshape(-1, weights.shape[-1]).sum(axis=0)
        n = weights[..., 0].size
        return np.asarray(0.5 * n * np.log(self.plane.decay / (2.0 * np.pi)) - 0.5 * self.plane.decay * squares)

    def _tilted(self, rng: np.random.Generator, n_components: int) -> Floats:
        """Weights of planes that rise in a random direction, [bump, component]."""
        direction = rng.normal(size=(2, n_components))
        direction /= np.maximum(np.sqrt((direction**2).sum(axis=0)), 1e-12)
        return self.plane.fitted_to(TILT * self.plane.lattice @ direction)


class PlaneWords(OnPlane):
    """Codes, flags and bags; parameters are weights, [bump, word, component]."""

    def tables(self, at: str, n_states: int) -> Table:
        """Weights stand for themselves."""
        name = "emission_weight_" if at == LABEL else f"{at}.weight"
        return Table(name, (self.plane.bumps.shape[1], self.family.n_words), None, -MOST_WEIGHT, MOST_WEIGHT)

    def log_words(self, params: Floats) -> Floats:
        """Log-probability of words at each point."""
        return np.ascontiguousarray(self.plane.softmax(params).transpose(1, 0, 2))

    def point(self, params: Floats) -> Floats:
        """Probabilities at each point, as the family has them."""
        prob = np.exp(self.log_words(params))
        return np.asarray(prob[1]) if isinstance(self.family, Flag) else prob

    def mode(self, statistics: Any, params: Floats, prior: float) -> Floats:
        """A few bounded Newton steps from `params`."""
        if isinstance(self.family, Flag):
            misses = np.maximum(statistics.weight - statistics.hits, 0.0)  # rounding
            return self.plane.softmax_step(np.stack([misses, statistics.hits]), params)
        return self.plane.softmax_step(statistics, params)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Normal draws from the prior."""
        _no_statistics(statistics)
        shape = (self.plane.bumps.shape[1], self.family.n_words, n_components)
        return rng.normal(0.0, 1.0 / np.sqrt(self.plane.decay), shape)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """Words at random places."""
        n = self.family.n_words
        even = np.full(n, 1.0 / max(n, 1))
        each = [self.plane.words_at(rng.uniform(-1.0, 1.0, (n, 2)), even) for _ in range(n_components)]
        return np.concatenate(each, axis=-1)

    def uniform(self, n_states: int) -> Floats:
        """All words alike at all points."""
        return np.zeros((self.plane.bumps.shape[1], self.family.n_words, 1))

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Normal."""
        return self._log_normal(params)

    def n_free(self, n_states: int) -> int:
        """One weight less than words for each bump."""
        return self.plane.bumps.shape[1] * max(self.family.n_words - 1, 0)


class Surface(NamedTuple):
    """Weights of the mean, [bump, component], from the centre on, and one variance, [1, component]."""

    weight: Floats
    variance: Floats


class PlaneGaussian(OnPlane):
    """Numbers; w given the variance is normal with variance / weight_decay, so that the mode has a closed form."""

    def tables(self, at: str, n_states: int) -> Surface:
        """Weights and a variance."""
        weight = Table(f"{at}.weight", (self.plane.bumps.shape[1],), None, -LARGEST, LARGEST)
        return Surface(weight, Table(f"{at}.variance", (1,), None, 1.0 / LARGEST**2, LARGEST))  # type: ignore[arg-type]

    def point(self, params: Surface) -> Normal:
        """Mean and variance at each point."""
        mean = self.family.centre + self.plane.bumps @ params.weight
        return Normal(mean, np.broadcast_to(params.variance, mean.shape))

    def mode(self, statistics: Moments, params: Surface, prior: float) -> Surface:
        """The joint mode of weights and variance: ridge regression, then the variance that is left."""
        one: Gaussian = self.family
        bumps, decay = self.plane.bumps, self.plane.decay
        weight, variance = np.empty_like(params.weight), np.empty_like(params.variance)
        for k in range(weight.shape[-1]):
            n, first, second = (x[:, k] for x in statistics)
            gram = (bumps.T * n) @ bumps + decay * np.eye(bumps.shape[1])
            w = weight[:, k] = np.linalg.solve(gram, bumps.T @ first)
            mean = bumps @ w
            left = max(float((second - 2.0 * mean * first + mean * mean * n).sum()), 0.0)  # rounding
            rate = left + decay * float(w @ w) + one.dof * one.scale
            variance[0, k] = rate / (n.sum() + len(w) + one.dof + 2.0)
        return Surface(weight, variance)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Surface:
        """Variance, then weights, from the prior."""
        _no_statistics(statistics)
        one: Gaussian = self.family
        gamma = np.maximum(rng.standard_gamma(0.5 * one.dof, (1, n_components)), 1e-100)
        variance = np.minimum(0.5 * one.dof * one.scale / gamma, LARGEST)
        shape = (self.plane.bumps.shape[1], n_components)
        return Surface(rng.normal(size=shape) * np.sqrt(variance / self.plane.decay), variance)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Surface:
        """A plane that rises in a random direction, with the variance of the column."""
        known = values[~np.isnan(values)]
        spread = float(np.var(known - self.family.centre)) if len(known) else 0.0
        variance = min(max(spread, self.family.scale), LARGEST)
        return Surface(np.sqrt(variance) * self._tilted(rng, n_components), np.full((1, n_components), variance))

    def uniform(self, n_states: int) -> Surface:
        """The centre and the scale at all points."""
        return Surface(np.zeros((self.plane.bumps.shape[1], 1)), np.full((1, 1), self.family.scale))

    def log_prior(self, params: Surface, prior: float) -> Floats:
        """Normal times inverse gamma."""
        weight, variance = params.weight, params.variance[0]
        shape, rate = 0.5 * self.family.dof, 0.5 * self.family.dof * self.family.scale
        of_variance = shape * np.log(rate) - gammaln(shape) - (shape + 1.0) * np.log(variance) - rate / variance
        log_scale = 0.5 * len(weight) * np.log(variance)
        return np.asarray(of_variance + self._log_normal(weight / np.sqrt(variance)) - log_scale)

    def n_free(self, n_states: int) -> int:
        """A weight for each bump and a variance."""
        return self.plane.bumps.shape[1] + 1


class PlanePoisson(OnPlane):
    """Counts; parameters are weights of the logarithm of the rate, [bump, component], from that of the mean on."""

    def tables(self, at: str, n_states: int) -> Table:
        """Weights stand for themselves."""
        return Table(f"{at}.weight", (self.plane.bumps.shape[1],), None, -MOST_WEIGHT, MOST_WEIGHT)

    def _log_rate(self, weight: Floats) -> Floats:
        highest = 0.5 * np.log(MOST_RATE)
        return np.clip(self.plane.bumps @ weight - np.log(self.family.rate), -highest, highest)

    def point(self, params: Floats) -> Floats:
        """Rates at each point."""
        return np.exp(self._log_rate(params))

    def mode(self, statistics: Totals, params: Floats, prior: float) -> Floats:
        """A Newton step from `params`, halved until it does not lower the objective, which is concave."""
        bumps, decay = self.plane.bumps, self.plane.decay
        weights = params.copy()
        for k in range(weights.shape[-1]):
            n, total = statistics.weight[:, k], statistics.total[:, k]
            w = weights[:, k]
            expected = n * np.exp(self._log_rate(w))
            curvature = (bumps.T * expected) @ bumps + decay * np.eye(len(w))
            step = np.linalg.solve(curvature, bumps.T @ (total - expected) - decay * w)
            before = self._objective(n, total, w)
            for _ in range(HALVINGS):
                if self._objective(n, total, w + step) >= before:
                    weights[:, k] = np.clip(w + step, -MOST_WEIGHT, MOST_WEIGHT)
                    break
                step = 0.5 * step
        return weights

    def _objective(self, n: Floats, total: Floats, w: Floats) -> float:
        log_rate = self._log_rate(w)
        return float(total @ log_rate - n @ np.exp(log_rate) - 0.5 * self.plane.decay * w @ w)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Normal draws from the prior."""
        _no_statistics(statistics)
        return rng.normal(0.0, 1.0 / np.sqrt(self.plane.decay), (self.plane.bumps.shape[1], n_components))

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """Logarithms that rise in a random direction, by as much as the standard deviation says."""
        known = values[~np.isnan(values)]
        spread = float(np.log1p(known.std() / max(known.mean(), 1e-300))) if len(known) else 0.0
        return spread * self._tilted(rng, n_components)

    def uniform(self, n_states: int) -> Floats:
        """The mean at all points."""
        return np.zeros((self.plane.bumps.shape[1], 1))

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Normal."""
        return self._log_normal(params)

    def n_free(self, n_states: int) -> int:
        """A weight for each bump."""
        return self.plane.bumps.shape[1]


def _no_statistics(statistics: Any) -> None:
    if statistics is not None:
        raise ArboraError("the columns of a plane have no conjugate prior; fit them by EM")


#: What stands on the plane for each family.
ON_PLANE: dict[type, type[Any]] = {
    Categorical: PlaneWords,
    Bag: PlaneWords,
    Flag: PlaneWords,
    Gaussian: PlaneGaussian,
    Poisson: PlanePoisson,
}


NO_PLANE = Plane(1, 1, 1.0, 1.0)  # one point


@dataclass(frozen=True)
class PlaneColumns(Columns):
    """Typed columns on a plane."""

    plane: Plane = NO_PLANE

    @classmethod
    def around(cls, columns: Columns, plane: Plane) -> Self:
        """Columns, put on a plane."""
        made = tuple((column, ON_PLANE[type(family)](family, plane)) for column, family in columns.families)
        return cls(made, columns.n_unused, plane)

    def header(self) -> Any:
        """The plane, and the families."""
        plane = self.plane
        return [PLANE, [plane.side, plane.basis, plane.width, plane.decay], super().header()]

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Undo `header`."""
        _, sizes, columns = header
        if not isinstance(sizes, list) or len(sizes) != 4 or not isinstance(columns, dict):
            raise ValueError(f"the columns of the plane make no sense: {header!r:.200}")
        checked = PlaneLabels.from_header(["plane", 0, *sizes])
        return cls.around(
            Columns.from_header(columns), Plane(checked.side, checked.basis, checked.width, checked.decay)
        )

    def points(self) -> Columns:
        """The same columns without a plane."""
        return Columns(tuple((column, family.family) for column, family in self.families), self.n_unused)  # type: ignore[attr-defined]

    def by_point(self, params: Any) -> Any:
        """Parameters of `points`, at each point of the lattice."""
        return {key: family.point(params[key]) for key, _, family in self._keyed}  # type: ignore[attr-defined]

    def _shape(self, params: Any) -> tuple[int, int]:
        """Points and components."""
        first = next(iter(named(params["c0"]).values()))
        return self.plane.side**2, int(first.shape[-1])

    def placed(self, params: Any, place: Floats, frequency: Floats) -> Any:
        """Parameters with labels near places, where the label is a column."""
        if not self.has_labels:
            return params
        key = next(key for key, column, _ in self._keyed if column == LABEL)
        return params | {key: self.plane.words_at(place, frequency)}

    def numbers_at(self, params: Any) -> dict[str, dict[str, Floats]]:
        """Parameters of each column at each point, of one component, states first, as those of `HiddenTree`."""
        tables, found = self.points().tables(self.plane.side**2), {}
        at = self.by_point(params)
        for key, column, _ in self._keyed:
            each = zip(named(tables[key]).values(), named(at[key]).values(), strict=True)
            found[column] = {table.name.rpartition(".")[2].strip("_"): table.show(values)[0] for table, values in each}
        return found


def on_plane(emission: Any, plane: Plane) -> Any:
    """Labels or columns of hidden trees, put on a plane."""
    if emission.by_label:
        return PlaneLabels(emission.n_labels, plane.side, plane.basis, plane.width, plane.decay)
    return PlaneColumns.around(emission, plane)


def plane_of(emission: Any) -> Plane | None:
    """The plane that an emission is on."""
    if isinstance(emission, PlaneColumns):
        return emission.plane
    return emission if isinstance(emission, Plane) else None
