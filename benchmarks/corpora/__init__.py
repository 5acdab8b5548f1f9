"""Corpora of labelled trees with known classes, made from packages on the public registries, and a table of methods."""
