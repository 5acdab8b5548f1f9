"""Mixtures of label chains: the mathematics is in note.md, an idea in each file, a thin estimator in mixture.py."""

from ..merging import Merges
from .curve import Curve, component_curve
from .mixture import TreeGrammarMixture

__all__ = ["Curve", "Merges", "TreeGrammarMixture", "component_curve"]
