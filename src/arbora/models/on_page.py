"""What a fitted model says of itself to pages and to the command line, so that neither looks for attributes."""

from typing import Any

from .registry import MODELS

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
