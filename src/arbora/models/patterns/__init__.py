"""Trees as bags of local patterns: the transformer, the mixture, and names of groups."""

from .transformer import TreePatterns

__all__ = ["TreePatterns"]
