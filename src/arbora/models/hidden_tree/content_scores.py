"""What each column contributes: the log-likelihood by column, and what the states add to it."""

from typing import Any, NamedTuple

from ...errors import ContentWarning, warn
from ...forest.content_rows import LABEL
from ...forest.trees import Trees
from . import tree_model as tm
from .emissions.choice import spike_line, summaries
from .emissions.columns import Columns

DOMINANT = 0.9  # a share of all that the states explain, from which one column decides nearly alone
LEAST_GAIN = 10.0  # nats; below, the states explain nothing that could be shared out


class ColumnScore(NamedTuple):
    """What one column contributes to the log-likelihood of trees, in nats."""

    log_likelihood: float  # expected log density of its values, given states and components
    gain: float  # what that is above the log density with one distribution for all nodes; it has no units
    share: float  # of the gains of all columns


def column_scores(emission: Columns, statistics: Any, params: Any, prior: float) -> dict[str, ColumnScore]:
    """Scores of all columns, from expected statistics of trees."""
    found = emission.expected(statistics, params)
    pooled = tm.mapped(lambda x: x.sum(axis=(-2, -1), keepdims=True), statistics)
    plain = emission.points()
    alone = plain.expected(pooled, plain.mode(pooled, params, max(prior, 1.0)))  # below one there is no mode
    total = {column: float(values.sum()) for column, values in found.items()}
    gain = {column: max(total[column] - float(alone[column].sum()), 0.0) for column in total}
    whole = sum(gain.values())
    return {
        column: ColumnScore(total[column], gain[column], gain[column] / whole if whole else 0.0) for column in total
    }


def dominant_line(scores: dict[str, ColumnScore]) -> str | None:
    """What to say where one of several columns decides nearly alone; None where none does."""
    column, score = max(scores.items(), key=lambda pair: pair[1].share)
    if len(scores) < 2 or column == LABEL or score.share <= DOMINANT or score.gain <= LEAST_GAIN:
        return None
    return (
        f"column {column!r} carries {score.share:.0%} of what the states explain; the other columns hardly count.  "
        f"Leave it out, cap it (bag:20), or take it as codes, if that is not what you want"
    )


def warn_if_dominant(scores: dict[str, ColumnScore]) -> None:
    """Say so where one of several columns decides nearly alone."""
    line = dominant_line(scores)
    if line is not None:
        warn(line, ContentWarning)


def misleading(emission: Columns, scores: dict[str, ColumnScore], trees: Trees) -> list[str]:
    """What to warn of in these columns, in sentences: spikes, and a column that decides nearly alone."""
    gaussian = tuple(column for column, family in emission.families if family.name == "gaussian")
    found = summaries(trees, gaussian)
    lines = [spike_line(column, found[column]) for column in gaussian]
    return [line for line in (*lines, dominant_line(scores) if scores else None) if line is not None]
