"""Labelled trees in flat columns: one forest, its shared subtrees, its files, and folders of many."""

from .content import Column
from .forest import Forest, as_forest
from .node_columns import MISSING, UNSEEN

__all__ = ["MISSING", "UNSEEN", "Column", "Forest", "as_forest"]
