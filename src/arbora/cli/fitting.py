"""Fitting from the command line: settings into a model, and the number of components when nobody gives it."""

from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ForestError
from ..evaluate.wording import counted
from ..forest.forest import Forest
from ..inference.verdict import Verdict, judge_em, unless_few
from ..models import HiddenTree, HiddenTreeMixture, PatternMixture
from ..models.assignments import Assignments
from ..models.choose import choose_model
from .terminal import Interrupts, Teller

# Numbers of components to try; the search ends once two in a row are worse than the best.
CANDIDATES = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32)
SEARCH_STARTS = 3  # starts of each candidate: with one, bad luck of a start is taken for a bad number


STEERING = ("known", "constraints")  # of `fit`, not settings

#: What one types for settings that a verdict asks for.
OPTIONS = {"n_iter": "--sweeps", "n_chains": "--chains", "max_iter": "--max-iter"}


class Fitted(NamedTuple):
    """A fitted model, the sentence on how its number of components came about, and whether Ctrl-C ended the fit."""

    model: Any
    how: str
    interrupted: bool
    facts: dict[str, Any]  # how the fit went, and how well
    told: list[str]  # the same for people
    warned: list[str]
    verdict: Verdict
    assignments: Assignments | None = None  # of all trees, where the fit had to look


def apart(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of a model, and what its `fit` is given beside the trees."""
    plain = {name: value for name, value in settings.items() if name not in STEERING}
    return plain, {name: value for name, value in settings.items() if name in STEERING}


def fit_single(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """One hidden tree model; clusters are states of the root."""
    with Interrupts() as interrupts, teller.working("fitting one hidden tree"):
        model = HiddenTree(**settings).fit(forest)
    n_states = int(model.n_states_) if model.n_states == "infer" else model.n_states
    how = f"One model of {counted(n_states, 'state')}; a cluster is a state of the root."
    how += _in_use(model, n_states)
    return fit_by_em(model, how, interrupts.heard, {}, model.assign(forest))


def fit_mixture(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """A mixture of the given number of components, of that which patterns find, or of that with the lowest AIC."""
    if components is None:
        suited = choose_model(forest).model
        if suited == "infinite":  # labels repeat the shape: patterns see nothing
            return _search(forest, settings, teller)
        return _as_many_as_patterns(forest, suited, settings, teller)
    plain, known = apart(settings)
    with Interrupts() as interrupts, teller.working(f"fitting {counted(components, 'component')}"):
        model = HiddenTreeMixture(components, **plain).fit(forest, **known)
    few = f" for only {counted(forest.n_trees, 'tree')}" if components > forest.n_trees else ""
    n_used = len(set(model.labels_.tolist()))
    used = ", as asked." if n_used == components else f" asked{few}, {n_used} in use."
    return fit_by_em(model, counted(components, "component") + used, interrupts.heard, {}, model.assign(forest))


def _as_many_as_patterns(forest: Forest, suited: str, settings: dict[str, Any], teller: Teller) -> Fitted:
    """As many components as patterns find groups.

    On six development corpora this number gives a mean ARI of .53, the number of classes .50, the lowest AIC .09.
    """
    plain, known = apart(settings)
    labels: Literal["given", "sizes"] = "sizes" if suited == "sizes" else "given"
    with Interrupts() as interrupts:
        with teller.working("looking for the number of components"):
            counted_by = PatternMixture(
                labels=labels, n_chains=1, n_iter=1, random_state=settings.get("random_state")
            ).fit(forest, **known)
        k = counted_by.n_components_
        with teller.working(f"fitting {counted(k, 'component')}"):
            model = HiddenTreeMixture(k, **plain).fit(forest, **known)
    how = (
        f"{counted(k, 'component')}: as many as patterns of {'sizes' if labels == 'sizes' else 'labels'} find groups; "
    )
    how += f"--components sets the number.{_in_use(model, k)}"
    if forest.content_kinds and settings.get("content", "auto") is not None:
        how += " Patterns do not see the content: try other numbers."
    return fit_by_em(model, how, interrupts.heard, {}, model.assign(forest))


def fit_by_em(model: Any, how: str, interrupted: bool, tried: dict[int, float], assignments: Assignments) -> Fitted:
    """What is said of a fit by EM, in terms of the command line."""
    n_parameters = model.n_parameters()
    objective = f"objective {model.history_[-1]:.1f} nats (log-likelihood plus log prior)"
    told = [f"{counted(model.n_iter_, 'iteration')} of EM; {objective}."]
    warned = []
    verdict = judge_em(model.converged_ or model.tol <= 0, model.n_iter_, interrupted)
    verdict = unless_few(verdict, len(model.labels_)).typed(OPTIONS)
    n_unexplained = getattr(model, "n_unexplained_", 0)  # label chains explain every tree
    if n_unexplained:
        trees = counted(n_unexplained, "tree")
        warned.append(f"{trees} cannot come from any component and did not count; use a --prior above 1.")
    facts = {
        "aic_by_components": {str(k): value for k, value in tried.items()},
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "objective": model.history_[-1],
        "n_unexplained": n_unexplained,
        "aic": assignments.aic(n_parameters),
        "bic": assignments.bic(n_parameters),
    }
    return Fitted(model, how, interrupted, facts, told, warned, verdict, assignments)


def _in_use(model: Any, n: int) -> str:
    """A sentence if some components, or states, hold no tree."""
    n_used = len(set(model.labels_.tolist()))
    return "" if n_used == n else f" Only {n_used} of them in use."


def _search(forest: Forest, settings: dict[str, Any], teller: Teller) -> Fitted:
    """Fit one number of components after the other and keep the model with the lowest AIC.

    AIC, because BIC charges more for the large, mostly empty tables, and merges classes on a few hundred trees.
    """
    plain, known = apart({"n_init": SEARCH_STARTS, **settings})
    least = len({name for name in known.get("known", ()) if name is not None})  # each class has a component of its own
    candidates = [k for k in CANDIDATES if least <= k <= forest.n_trees] or [max(least, 1)]
    best: Any = None
    kept = Assignments(np.zeros(0, np.int64))
    tried: dict[int, float] = {}
    worse = 0
    with Interrupts() as interrupts:
        for k in candidates:
            try:
                with teller.working(f"trying {counted(k, 'component')}"):
                    model = HiddenTreeMixture(k, **plain).fit(forest, **known)
            except (KeyboardInterrupt, ForestError):  # interrupted at once, or too large a table
                if best is None:
                    raise
                break
            found = model.assign(forest)
            tried[k] = found.aic(model.n_parameters())
            worse += 1
            if best is None or tried[k] < tried[best.n_components]:
                best, kept, worse = model, found, 0
            if worse == 2 or interrupts.heard:
                break
    values = ", ".join(map(str, tried))
    how = f"{counted(best.n_components, 'component')}: the lowest AIC of {values}; --components sets the number."
    how += _in_use(best, best.n_components)
    return fit_by_em(best, how, interrupts.heard, tried, kept)
