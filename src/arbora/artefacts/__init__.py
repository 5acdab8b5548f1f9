"""What one can copy of a group of trees: a skeleton with probabilities, paths that select it, a JSON Schema."""

from .describe import ClusterArtefacts, Coverage, describe_clusters
from .queries import Condition, PathSet
from .skeletons import SkeletonNode

__all__ = ["ClusterArtefacts", "Condition", "Coverage", "PathSet", "SkeletonNode", "describe_clusters"]
