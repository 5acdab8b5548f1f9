"""What a summary of clusters says, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .summary import Cluster, Rule
    from .traits import Trait

LEGEND = (
    "Labels and pairs of labels, parent > child: how many times as frequent as elsewhere (on so many nodes). "
    "Rules: how many times as frequent as in all trees (share of the trees of the cluster that have it). "
    "Shape: mean in the cluster (elsewhere). Skeleton: rules of most trees, joined from the root. "
    "Typical: the trees nearest to the mean of the cluster."
)


def counted(n: int, what: str) -> str:
    """A number of things: "1 tree", "2 trees"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def enumerated(names: Sequence[str]) -> str:
    """Names as one says them: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def trait_text(trait: "Trait") -> str:
    """A trait in a few words: how much more frequent, and on how many nodes."""
    times = "over 100 times" if trait.lift > 100 else f"{trait.lift:.{0 if trait.lift >= 10 else 1}f} times"
    return f"{trait.what} {times if trait.elsewhere else 'only here'} ({trait.count})"


def rule_text(rule: "Rule", most: int | None = None) -> str:
    """A rule in a few words: how much more frequent, and in how many trees of the cluster; cut after `most` letters."""
    times = "over 100 times" if rule.lift > 100 else f"{rule.lift:.{0 if rule.lift >= 10 else 1}f} times"
    text = rule.text if most is None or len(rule.text) <= most else rule.text[: most - 3] + "..."
    return f"{text} {times} (in {rule.coverage:.0%})"


def shape_text(cluster: "Cluster") -> str:
    """Means of the measures of shape, those of other clusters in brackets."""
    words = []
    for shape in cluster.shapes:
        other = "" if shape.elsewhere is None else f" ({shape.elsewhere:.1f})"
        words.append(f"{shape.mean:.1f}{other} {shape.what}")
    return ", ".join(words)
