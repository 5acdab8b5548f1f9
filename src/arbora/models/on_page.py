"""What a fitted model says of itself to pages and to the command line, so that neither looks for attributes."""

from typing import Any

from ..inference.convergence import MIN_DRAWS
from ..inference.stability import Stability
from ..inference.verdict import LEVELS, Run, Shown, Verdict, judge_chains, judge_em, unless_few
from .merging import coarser_levels
from .registry import MODELS
from .sampled import Sampled

#: Parts that a fitted model need not hold: a file has no draws, a model from given parameters no groups of trees.
HELD = {"draws": "trace_", "clusters": "labels_"}


class OnPage:
    """Mixin of every estimator: which parts it has (`registry.PARTS`), and what some of them are."""

    def page_parts(self) -> frozenset[str]:
        """Names of what this fitted model has: those of its row in the registry that it holds."""
        row = next((MODELS[kind.__name__] for kind in type(self).__mro__ if kind.__name__ in MODELS), None)
        parts = frozenset(() if row is None else row.page)
        return parts - {part for part, name in HELD.items() if name not in vars(self)}

    def hidden_trees(self) -> Any:
        """The mixture of hidden trees whose parameters a page shows; None if there is none."""
        return None

    def tree_encoder(self) -> Any:
        """What turns trees into rows of numbers with names; None if nothing does."""
        return self if "codes" in self.page_parts() else None

    def found_again(self) -> Stability | None:
        """How well each group is found again in all chains; None of a model without chains to compare."""
        if not isinstance(self, Sampled) or "draws" not in self.page_parts():
            return None
        return None if self.trace_.n_chains < 2 or self.trace_.n_draws < MIN_DRAWS else self.stability()

    def verdict(self) -> Verdict:
        """How far to trust the fit, why, and what would settle it.

        Returns
        -------
        Verdict
            Level ("sound", "look again" or "do not trust"), reason, what to do.
        """
        parts = self.page_parts()
        if "classes" in parts:
            return Verdict("sound", "classes were learnt from known ones; the scores say how well")
        found = self._verdict_on_search(parts)
        grouped = vars(self).get("labels_")
        return found if grouped is None or "draws" in parts else unless_few(found, len(grouped))

    def _verdict_on_search(self, parts: frozenset[str]) -> Verdict:
        """The verdict on how the groups were found."""
        model: Any = self
        if "draws" in parts:
            return _of_draws(model, parts)
        if "sampled" in parts:
            return Verdict(
                "look again",
                "a model file holds no chains, so nothing says how sure the groups are",
                "write the report where the model is fitted",
            )
        if "archetypes" in parts:
            return _of_search(bool(model.converged_))
        if "converged_" in vars(self):
            return judge_em(bool(model.converged_), int(getattr(model, "n_iter_", len(model.history_))))
        return Verdict(
            "look again",
            "no probabilities stand behind these groups, so nothing says how sure they are",
            "compare with a model that learns the number of groups, as PatternMixture",
        )


def _of_search(converged: bool) -> Verdict:
    """The verdict on a search for the shortest description."""
    if converged:
        return Verdict("sound", "the search ended where no move shortens the description")
    return Verdict("look again", "the search ended while moves still shortened the description", "fit again to the end")


def _shown(model: Any) -> Shown | None:
    """The groups of the trees that were drawn, and what becomes of them as they are merged."""
    if not isinstance(model, Sampled):
        return None
    labels = model._groups_of_drawn()
    return Shown(labels, tuple(level.group[labels] for level in coarser_levels(model, labels)), "trees")


def _of_draws(model: Any, parts: frozenset[str]) -> Verdict:
    """The verdict on chains, on the worst of all levels."""
    trace = model.trace_
    joint = trace.info["log_joint"][:, trace.draw_sweep]
    run = Run(int(model.n_iter), bool(trace.interrupted), trace.settled, max(trace.n_sweeps))
    if "levels" not in parts:
        learnt = getattr(model, "n_components", None) is None
        n_groups = int(model.n_components_) if learnt else None
        return judge_chains(trace.stack("label"), joint, run, n_groups=n_groups, shown=_shown(model))
    levels = model.level_labels_
    found = [
        judge_chains(
            model.draws(level),
            joint,
            run,
            n_groups=int(labels.max()) + 1,
            where=f"level {level + 1}: " if len(levels) > 1 else "",
        )
        for level, labels in enumerate(levels)
    ]
    own = found[model._label_level].interval
    return max(found, key=lambda one: LEVELS.index(one.level))._replace(interval=own)
