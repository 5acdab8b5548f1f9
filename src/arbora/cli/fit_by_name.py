"""How each model is fitted from the command line, by its name for ``--model``."""

from typing import Any

from .. import models
from ..evaluate.wording import counted
from ..forest.forest import Forest
from ..models.registry import typed
from .fitting import OPTIONS, Fitted, fit_mixture, fit_single
from .sampled import fit_grammar, fit_infinite, fit_patterns
from .terminal import Interrupts, Teller
from .unions import fit_unions

FITS = {
    "patterns": fit_patterns,
    "grammar": fit_grammar,
    "mixture": fit_mixture,
    "infinite": fit_infinite,
    "single": fit_single,
    "unions": fit_unions,
}


def fit_as(name: str, forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """The model of this name, fitted in a way of its own, or as any model is."""
    fit = FITS.get(name)
    return (
        fit_plainly(name, forest, components, settings, teller)
        if fit is None
        else fit(forest, components, settings, teller)
    )


def fit_plainly(name: str, forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """Any model of the registry, with those settings that it takes."""
    kind = getattr(models, typed("cluster")[name])
    known = {**settings, **({} if components is None else {"n_components": components})}
    taken = {key: value for key, value in known.items() if key in kind().get_params()}
    with Interrupts() as interrupts, teller.working(f"fitting {typed('cluster')[name]}"):
        model = kind(**taken).fit(forest)
    n_used = len(set(model.labels_.tolist()))
    how = f"{counted(n_used, 'group')} of {typed('cluster')[name]}."
    if "plane" in model.page_parts():
        how = f"The trees are at {n_used} of the {len(model.lattice_)} points of a map; a cluster is a point. "
        how += "For groups, leave --model out."
    return Fitted(model, how, interrupts.heard, {}, [], [], model.verdict().typed(OPTIONS))
