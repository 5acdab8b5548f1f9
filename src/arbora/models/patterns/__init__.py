"""Trees as bags of local patterns: the transformer, the mixture, and names of groups."""

from .mixture import Novelty, PatternMixture
from .transformer import TreePatterns

__all__ = ["Novelty", "PatternMixture", "TreePatterns"]
