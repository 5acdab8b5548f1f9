"""Recipes of the held-out corpora."""

HELD_OUT = ()
