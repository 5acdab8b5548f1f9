"""Fitting from the command line: settings into a model, and the number of components when nobody gives it."""

import warnings
from typing import Any, NamedTuple

from ..errors import ForestError
from ..forest import Forest
from ..models import HiddenTree, HiddenTreeMixture
from .tell import Interrupts, Teller

# Numbers of components to try; the search ends once two in a row are worse than the best.
CANDIDATES = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32)
SEARCH_STARTS = 3  # starts of each candidate: with one, bad luck of a start is taken for a bad number


class Fitted(NamedTuple):
    """A fitted model, the sentence on how its number of components came about, and whether Ctrl-C ended the fit."""

    model: Any
    how: str
    interrupted: bool
    aic: dict[int, float]  # of every number of components that was tried


def fit_single(forest: Forest, settings: dict[str, Any], teller: Teller) -> Fitted:
    """One hidden tree model; clusters are states of the root."""
    with Interrupts() as interrupts, teller.working("fitting one hidden tree"):
        model = HiddenTree(**settings).fit(forest)
    how = f"One model of {model.n_states} states; a cluster is a state of the root."
    return Fitted(model, how, interrupts.count > 0, {})


def fit_mixture(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """A mixture of the given number of components, or of the number with the lowest AIC."""
    if components is None:
        return _search(forest, settings, teller)
    with Interrupts() as interrupts, teller.working(f"fitting {components} components"):
        model = HiddenTreeMixture(components, **settings).fit(forest)
    return Fitted(model, f"{components} components, as asked.", interrupts.count > 0, {})


def _search(forest: Forest, settings: dict[str, Any], teller: Teller) -> Fitted:
    """Fit one number of components after the other and keep the model with the lowest AIC.

    AIC, because BIC counts every parameter of the large tables, used or not, and merges classes on a few hundred trees.
    """
    candidates = [k for k in CANDIDATES if k <= forest.n_trees] or [1]
    settings = {"n_init": SEARCH_STARTS, **settings}
    best: Any = None
    heard: list[warnings.WarningMessage] = []
    tried: dict[int, float] = {}
    worse = 0
    with Interrupts() as interrupts:
        for k in candidates:
            try:
                with warnings.catch_warnings(record=True) as caught, teller.working(f"trying {k} components"):
                    warnings.simplefilter("always")
                    model = HiddenTreeMixture(k, **settings).fit(forest)
            except (KeyboardInterrupt, ForestError):  # interrupted at once, or too large a table
                if best is None:
                    raise
                break
            tried[k] = model.aic(forest)
            worse += 1
            if best is None or tried[k] < tried[best.n_components]:
                best, heard, worse = model, caught, 0
            if worse == 2 or interrupts.count:
                break
    for warning in heard:  # of the model that was kept; the others are nobody's concern
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    values = ", ".join(map(str, tried))
    how = f"{best.n_components} components: the lowest AIC of {values}; --components sets the number."
    return Fitted(best, how, interrupts.count > 0, tried)
