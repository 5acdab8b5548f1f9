"""Judges of the tables on trees by structure: Torsello and Hancock 2003."""

from itertools import pairwise

from .judging import claims, mean, numbers
from .table import Table
from .verdict import holds


def figure4(table: Table) -> None:
    """The paper's words beside its own way, and beside the same with exact alignment, on prototypes of any distance."""
    said = []
    for at in (2, 3):
        pairs = {(int(row[0]), int(numbers(row[1])[0])): numbers(row[at]) for row in table.rows}
        said += _words_of_figure4(table.header[at], pairs)
    table.verdict = claims(table, said, ["Means over the numbers of prototypes, or over the amounts of noise."])


def _words_of_figure4(who: str, pairs: dict[tuple[int, int], list[float]]) -> list[tuple[str, str, str]]:
    noises = sorted({noise for _, noise in pairs})
    right = [mean([pairs[n, noise][0] for n in (2, 3, 4)]) for noise in noises]
    fall = [a - b for a, b in pairwise(right)]
    steepest = noises[1 + fall.index(max(fall))]
    index = [mean([pairs[n, noise][1] for noise in noises]) for n in (2, 3, 4)]
    return [
        (
            "works well with compact and well separated classes",
            f"{who}, pairs correct at {noises[0]} % noise: {right[0]:.2f}",
            holds(right[0] >= 0.95),
        ),
        (
            "a sudden drop in performance at 40 % noise",
            f"{who}, pairs correct: " + ", ".join(f"{m:.2f} at {n} %" for m, n in zip(right, noises, strict=True)),
            holds(steepest == 40, f"the steepest fall is at {steepest} %"),
        ),
        (
            "more prototypes are harder to separate",
            f"{who}, adjusted Rand index with 2, 3, 4: " + ", ".join(f"{x:.2f}" for x in index),
            holds(index[0] > index[1] > index[2]),
        ),
    ]


def matching(table: Table) -> None:
    at = next(k for k, name in enumerate(table.header) if name.endswith("(the paper)"))
    shares = [numbers(row[at])[0] for row in table.rows]
    table.verdict = (
        f"no published numbers; the paper's matching reaches {max(shares):.3f} of the greatest gain at "
        f"{table.rows[0][0]} nodes, and {min(shares):.3f} at {table.rows[shares.index(min(shares))][0]}"
    )


def shock(table: Table) -> None:
    """The order of the methods by structure alone, by the adjusted Rand index."""
    index = {row[0]: [numbers(cell)[1] if cell != "-" else float("nan") for cell in row[1:]] for row in table.rows}
    ours = index["mixture of unions, the paper's search and code"][0]
    edit = {name: found for name, found in index.items() if name.startswith("edit distance, ") and "learnt" not in name}
    alone = max(edit, key=lambda name: edit[name][0])
    said = (
        "by structure alone, the mixture outperforms pairwise clustering of edit distances",
        f"adjusted Rand index {ours:.2f}; {alone}: {edit[alone][0]:.2f}",
        holds(ours > edit[alone][0]),
    )
    table.verdict = claims(
        table,
        [said],
        ["The mixture with the paper's search and code against the best of the others, clusters as each finds them."],
    )


ALONE = "mixture, structure alone, the paper's code and search"
RIVALS = ("unweighted edit distance", "weighted edit distance", "one attributed union")


def glyphs(table: Table) -> None:
    """Differences set by set; one that is no more than two standard errors is none."""
    part = next(x for x in table.more if x.title.startswith("Beside the mixture"))
    apart = {row[0]: numbers(row[1]) for row in part.rows}
    sets = next(k for k, name in enumerate(table.header) if name.startswith("sets of"))
    index = {row[0]: numbers(row[sets])[1] for row in table.rows}
    said = []
    for name, (gap, error) in apart.items():
        level = "level with it" if abs(gap) <= 2.0 * error else ""
        shown = f"{index[ALONE]:.2f}; {name}: {index[name]:.2f}, {gap:+.3f} ({error:.3f})"
        if name.startswith(RIVALS[0]):
            said.append(
                ("by structure alone, the mixture outperforms edit distances", shown, holds(gap < -2.0 * error, level))
            )
        elif name.startswith(RIVALS[1:]):
            claim = "by structure alone, it compares favourably with rivals that use geometry"
            said.append((claim, shown, holds(gap <= 2.0 * error, level)))
        elif not name.startswith("mixture, structure alone"):
            said.append(("attributes would improve the mixture further", shown, holds(gap > 2.0 * error, level)))
    said.sort(key=lambda x: x[0], reverse=True)
    remark = (
        "Adjusted Rand index on the sets, clusters as each method finds them, and the mean difference with its "
        "standard error. To outperform is to be ahead by more than two standard errors; to compare favourably is not "
        "to be behind by more."
    )
    table.verdict = claims(table, said, [remark])
