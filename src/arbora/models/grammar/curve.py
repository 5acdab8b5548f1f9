"""How many components: the leave-one-out curve and its knee, a rule of thumb (note, section 6)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...errors import SettingError
from . import fitting

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUMBERS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30)


class Curve(NamedTuple):
    """Leave-one-out log-likelihood per tree by the number of components, and the number at its knee."""

    n_components: Ints
    leave_one_out: Floats
    knee: int


def component_curve(model: Any, X: Any, numbers: Sequence[int] = NUMBERS) -> Curve:
    """Fit a `TreeGrammarMixture` with each number of components; the curve, and the number at its knee.

    The knee is a rule of thumb.  Look at the curve and at `hierarchy_`.

    Parameters
    ----------
    model : TreeGrammarMixture
        The settings; its number of components is not used.
    X : Forest, or what makes one
        Trees.
    numbers : sequence of int
        Numbers of components to try, three different ones or more.

    Returns
    -------
    Curve
        Numbers, leave-one-out log-likelihood per tree, and the number at the knee.

    Examples
    --------
    >>> import arbora as ab
    >>> from arbora.models.grammar import component_curve
    >>> forest = ab.datasets.make_asymmetric_trees(20, random_state=0)
    >>> int(component_curve(ab.TreeGrammarMixture(random_state=0), forest, (1, 2, 3, 4, 6, 8)).knee)
    3
    """
    wanted = sorted({int(n) for n in numbers})
    if len(wanted) < 3 or wanted[0] < 1:
        raise SettingError(f"numbers={list(numbers)!r}; wanted three different numbers or more, each 1 or more")
    values = [clone(model).set_params(n_components=n).fit(X).leave_one_out_ for n in wanted]
    return curve_of(wanted, values)


def at_knee(
    rng: np.random.Generator, trees: fitting.CountedTrees, plan: fitting.Plan, starts: fitting.Starts
) -> tuple[fitting.Fit, Curve]:
    """One fit for each number, as many as there are distinct trees at most; that at the knee, and the curve."""
    numbers, results, values = [], [], []
    for n in NUMBERS:
        if n > min(trees.events.n_trees, fitting.most_components(trees)):
            break
        result = fitting.best_start(rng, trees, n, plan, starts)
        numbers.append(n)
        results.append(result)
        values.append(fitting.left_out(result.model, trees))
        if result.interrupted:
            break
    curve = curve_of(numbers, values)
    return results[numbers.index(curve.knee)], curve


def curve_of(numbers: Sequence[int], values: Sequence[float]) -> Curve:
    """The curve of these values, with its knee."""
    n, value = np.array(numbers, np.int64), np.array(values, np.float64)
    return Curve(n, value, int(n[knee(n.astype(np.float64), value)]))


def knee(n: Floats, value: Floats) -> int:
    """Index of the point farthest above the line from the first point to the last.

    The highest point where it is the first, or where no point is above the line.
    """
    best = int(np.argmax(value))
    if best == 0:
        return 0
    slope = (value[-1] - value[0]) / (n[-1] - n[0])
    found = int(np.argmax(value - value[0] - slope * (n - n[0])))
    return found if found > 0 else best
