"""Labelled trees in flat columns: one forest, its shared subtrees, its files, and folders of many."""

from .forest import MISSING, UNSEEN, Forest, as_forest

__all__ = ["MISSING", "UNSEEN", "Forest", "as_forest"]
