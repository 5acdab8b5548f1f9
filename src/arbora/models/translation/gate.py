"""The gate of a mixture of experts: logistic regression of components on rows of numbers, fitted to soft targets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax

Floats = NDArray[np.float64]

MAX_STEPS = 10  # of the optimiser per M-step; it need not end, because EM goes on from where it is


MOST_TURNED = 3000  # rows whose directions are found; the time grows with the third power
FLAT = 1e-10  # share of the largest variance below which a direction is none


class Gate(NamedTuple):
    """Log odds of component k of a row x are x . weight[k] + bias[k]."""

    weight: Floats  # [k, column]
    bias: Floats  # [k]


class Turned(NamedTuple):
    """Rows in directions of their own, no more than there are rows; the products of rows are the same."""

    codes: Any  # [row, direction]
    back: Any  # [direction, row]: weights of the columns are weights of directions @ back @ rows; None: as they were

    def weight(self, weight: Floats, codes: Any) -> Floats:
        """Weights of the columns from those of the directions; both have the same length."""
        return weight if self.back is None else np.asarray(weight @ self.back @ codes)


def turned(codes: Any) -> Turned:
    """Fewer numbers per row where there are more columns than rows: the best weights are sums of rows."""
    n_rows, n_columns = codes.shape
    if n_rows >= n_columns or n_rows > MOST_TURNED:
        return Turned(codes, None)
    gram = codes @ codes.T
    value, vector = np.linalg.eigh(gram.toarray() if sparse.issparse(gram) else gram)
    kept = value > FLAT * max(float(value.max(initial=0.0)), 1e-300)
    scale = np.sqrt(value[kept])
    return Turned(vector[:, kept] * scale, (vector[:, kept] / scale).T)


def even(share: Floats, n_columns: int) -> Gate:
    """A gate that does not look at the rows: log odds of these shares."""
    return Gate(np.zeros((len(share), n_columns)), np.log(np.maximum(share, 1e-12)))


def log_proba(gate: Gate, codes: Any) -> Floats:
    """Log P(component | row), [row, k]."""
    return np.asarray(log_softmax(np.asarray(codes @ gate.weight.T) + gate.bias, axis=1))


def log_prior(gate: Gate, decay: float) -> float:
    """Log density of the weights, a Gaussian of precision `decay`, up to a constant."""
    return -0.5 * decay * float((gate.weight**2).sum())


def objective(gate: Gate, codes: Any, resp: Floats, decay: float) -> tuple[float, Gate]:
    """Expected log P(component | row) plus log prior, and its gradient."""
    log_p = log_proba(gate, codes)
    value = float((resp * log_p).sum()) + log_prior(gate, decay)
    rest = resp - resp.sum(axis=1, keepdims=True) * np.exp(log_p)  # [row, k]
    return value, Gate(np.asarray((codes.T @ rest).T) - decay * gate.weight, rest.sum(axis=0))


def improved(gate: Gate, codes: Any, resp: Floats, decay: float) -> Gate:
    """A gate whose objective is not lower; resp[row, k] is the posterior of components times the weight of the row."""
    shape = gate.weight.shape

    def unpacked(x: Floats) -> Gate:
        return Gate(x[: -shape[0]].reshape(shape), x[-shape[0] :])

    def loss(x: Floats) -> tuple[float, Floats]:
        value, slope = objective(unpacked(x), codes, resp, decay)
        return -value, -np.concatenate([slope.weight.ravel(), slope.bias])

    start = np.concatenate([gate.weight.ravel(), gate.bias])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return unpacked(found.x) if found.fun <= loss(start)[0] else gate
