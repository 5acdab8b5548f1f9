"""Fits whose number of groups is learnt by sampling: what they found, how sure that is, and what to do if it is not."""

import sys
from typing import Any

from ..evaluate.wording import counted
from ..forest.forest import Forest
from ..models import InfiniteHiddenTreeMixture, PatternMixture, TreeGrammarMixture
from .fitting import OPTIONS, Fitted, apart, fit_by_em
from .terminal import Interrupts, Teller

OF_CHAINS = {"n_iter", "n_chains", "concentration", "checkpoint"}


def fit_patterns(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """Groups of trees by the patterns they contain; the number is learnt unless it is given."""
    plain, known = apart(settings)
    moves = plain.pop("moves", [])
    model = PatternMixture(components, **plain, verbose=_bar(teller)).fit(forest, **known)
    before = model.log_posterior_
    model.steer(forest, moves)
    facts: dict[str, Any] = {"power": model.power_, "log_posterior": model.log_posterior_}
    facts["converged"] = model.converged_
    told = []
    if model.moves_:
        gain = model.log_posterior_ - before
        told.append(f"{counted(len(model.moves_), 'move')} by hand changed the log posterior by {gain:+,.1f}.")
        facts["moves"] = model.moves_
    if len(model.fitted_trees_) < forest.n_trees:
        n, most = counted(forest.n_trees, "tree"), counted(len(model.fitted_trees_), "tree")
        told.append(f"Groups were found on {most} drawn at random; the others of {n} were put into them.")
    return _sampled(model, components, facts, told)


def fit_grammar(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """Groups of trees by which label follows which.

    The number is that at the knee of the leave-one-out curve unless it is given; options of chains ask for sampling.
    """
    if components is None and OF_CHAINS & set(settings):
        model = TreeGrammarMixture(None, number="process", **settings, verbose=_bar(teller)).fit(forest)
        return _sampled(model, None, {}, [])
    asked = "1 to 30 components" if components is None else counted(components, "component")
    with Interrupts() as interrupts, teller.working(f"fitting {asked}"):
        model = TreeGrammarMixture(components, **settings).fit(forest)
    knee = f"{counted(model.n_components_, 'component')}, at the knee of the leave-one-out curve, a rule of thumb."
    how = knee if components is None else f"{asked}, as asked."
    return fit_by_em(model, how, interrupts.heard, {}, model.assign(forest))


def fit_infinite(forest: Forest, components: int | None, settings: dict[str, Any], teller: Teller) -> Fitted:
    """A Dirichlet-process mixture of hidden trees; the number of groups is learnt."""
    plain, known = apart(settings)
    model = InfiniteHiddenTreeMixture(**plain, verbose=_bar(teller)).fit(forest, **known)
    kind = "exact sampling" if model.update == "gibbs" else "the paper's Algorithm 2"
    ending = {None: "", True: ", until they settled", False: ", which had not settled by then"}[model.settled_]
    told = [f"{counted(model.n_iter_, 'sweep')} of {kind}, {counted(model.trace_.n_chains, 'chain')}{ending}."]
    facts = {"update": model.update, "concentration": model.concentration_, "objective": model.history_[-1]}
    return _sampled(model, None, facts, told)


def _bar(teller: Teller) -> int:
    return int(not teller.quiet and sys.stderr.isatty())


def _sampled(model: Any, components: int | None, facts: dict[str, Any], told: list[str]) -> Fitted:
    """What chains say of the number of groups and of each other."""
    trace = model.trace_
    posterior = model.n_groups_posterior()
    low, high = (int(n) for n in posterior.interval)
    n = counted(model.n_components_, "group")
    how = f"{n}, as asked." if components is not None else f"{n}, a number learnt from the trees."
    if components is None:
        told = [_number_told(model.n_components_, low, high), *told]
    facts = {
        **facts,
        "sweeps": list(trace.n_sweeps),
        "settled": trace.settled,
        "n_groups_posterior": {
            str(k): float(p) for k, p in zip(posterior.n_groups, posterior.probability, strict=True)
        },
        "n_groups_interval": [low, high],
    }
    if trace.n_chains > 1 and trace.n_draws > 3:
        report = model.chain_report()
        facts["chains"], facts["chains_agree"] = report.verdict, bool(report.agree)
    return Fitted(model, how, trace.interrupted, facts, told, [], model.verdict().typed(OPTIONS))


def _number_told(found: int, low: int, high: int) -> str:
    """The interval of the number of groups, and that the number shown lies outside it, if it does."""
    spread = f"{low}" if low == high else f"{low} to {high}"
    told = f"95 % of the sampled partitions have {spread} group{'' if high == 1 else 's'}"
    if low <= found <= high:
        return f"{told}."
    which = "which is a point estimate" if found == 1 else "which are a point estimate"
    return f"{told}, {'more' if found < low else 'fewer'} than the {found} shown, {which}."
