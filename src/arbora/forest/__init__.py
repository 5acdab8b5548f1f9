"""Labelled trees in flat columns: one forest, its shared subtrees, its files, and folders of many."""
