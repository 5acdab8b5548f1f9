"""How many components: the leave-one-out curve and its knee, a rule of thumb (note, section 6)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...errors import SettingError
from .mixture import TreeGrammarMixture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUMBERS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30)


class Curve(NamedTuple):
    """Leave-one-out log-likelihood a tree by the number of components, and the number at its knee."""

    n_components: Ints
    leave_one_out: Floats
    knee: int


def component_curve(model: TreeGrammarMixture, X: Any, numbers: Sequence[int] = NUMBERS) -> Curve:
    """Fit the model with each number of components; the curve, and the number at its knee.

    No criterion finds the classes that people name: the curve mostly rises to its end.  Its knee over log K, the point
    farthest above the line from the first point to the last, is a rule of thumb; look at the curve and at
    `hierarchy_`.
    """
    wanted = sorted({int(n) for n in numbers})
    if len(wanted) < 3 or wanted[0] < 1:
        raise SettingError(f"numbers={list(numbers)!r}; wanted three different numbers or more, each 1 or more")
    values = [clone(model).set_params(n_components=n).fit(X).leave_one_out_ for n in wanted]
    return Curve(np.array(wanted), np.array(values), wanted[knee(np.log(wanted), np.array(values))])


def knee(x: Floats, y: Floats) -> int:
    """Index of the point farthest above the line from the first point to the last."""
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    return int(np.argmax(y - y[0] - slope * (x - x[0])))
