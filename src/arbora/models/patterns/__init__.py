"""Trees as bags of local patterns: the transformer, the mixture, and names of groups."""

from .mixture import PatternMixture
from .naming import GroupName, Namer, PatternLift, name_groups
from .reader import Novelty
from .transformer import TreePatterns

__all__ = ["GroupName", "Namer", "Novelty", "PatternLift", "PatternMixture", "TreePatterns", "name_groups"]
