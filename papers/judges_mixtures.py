"""Judges of the tables of Bacciu and Castellana 2018 and 2019."""

import re

from .encoder import TRUE_SILHOUETTE
from .judging import claims, columns, fill, first, mean, numbers, true_silhouette
from .table import Table
from .verdict import COLLAPSED, NUMBER, holds, tally


def table1(table: Table) -> None:
    """Every column beside the paper's; then its words, by the authors' procedure and by the library."""
    fill(table)
    beside = table.verdict
    fill(table.more[0])
    said = [claim for at in columns(table, "verdict")[:2] for claim in _words_of_table1(table, at - 1)]
    table.verdict = f"{beside}; {claims(table, said)}" if said else beside


def _words_of_table1(table: Table, at: int) -> list[tuple[str, str, str]]:
    """Claims on one column; none where rows are missing."""
    who, found = table.header[at], {(row[0], row[1]): row[at] for row in table.rows}
    single = [first(cell) for (_, name), cell in found.items() if name == "single"]
    finite = {n: [first(c) for (_, x), c in found.items() if x == f"{n} components"] for n in (3, 5, 7)}
    infinite = {x: cell for x, cell in found.items() if x[1].startswith("alpha")}
    if len(single) < 3 or not all(finite.values()) or len(infinite) < 9:
        return []
    best = {
        "single": max(single),
        "finite": max(map(max, finite.values())),
        "infinite": max(map(first, infinite.values())),
    }
    steady = [x for x, cell in infinite.items() if first(cell) == best["infinite"] and numbers(cell)[1] == 0.0]
    few, many = mean(finite[3]), mean(finite[7])
    return [
        (
            "the single model is far from both mixtures",
            f"{who}, best silhouettes: " + ", ".join(f"{k} {v:.2f}" for k, v in best.items()),
            holds(best["single"] + 0.2 < min(best["finite"], best["infinite"])),
        ),
        (
            "the infinite mixture reaches the best figure with zero deviation",
            f"{who}: in {len(steady)} of {len(infinite)} settings",
            holds(len(steady) > 0),
        ),
        (
            "the finite mixture does better with more components than there are clusters",
            f"{who}: mean silhouette {few:.2f} with 3, {mean(finite[5]):.2f} with 5, {many:.2f} with 7 components",
            holds(many > few + 0.01),
        ),
    ]


def table1_of_2018(table: Table) -> None:
    """Every column beside the paper's; then its words, by the same columns."""
    fill(table)
    truth = true_silhouette(table)
    said = []
    for at in (k - 1 for k in columns(table, "verdict")):
        found = {(row[0], row[1]): first(row[at]) for row in table.rows}
        single = [value for (_, name), value in found.items() if name == "single"]
        mixture = [value for (_, name), value in found.items() if name != "single"]
        if truth is None or len(single) < 3 or len(mixture) < 9:
            continue
        who, far = table.header[at], [abs(value - truth) for value in mixture]
        said += [
            (
                "the mixture is always closer to the true types' silhouette than the single model",
                f"{who}: mixtures {_range(mixture)}, single {_range(single)}",
                holds(max(far) < min(abs(value - truth) for value in single)),
            ),
            (
                "the single model is always near 0",
                f"{who}: {_range(single)}",
                holds(max(map(abs, single)) <= 0.12),
            ),
        ]
    if said:
        table.verdict += f"; {claims(table, said, ['Near 0: at most 0.12 away, as the paper has -0.11.'])}"


def _range(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def encoder_table2(table: Table) -> None:
    """Silhouettes and errors beside the paper's, then its words on both."""
    fill(table, truths=TRUE_SILHOUETTE)
    found = {(row[0], int(row[1]), int(row[2])): (row[4], row[7]) for row in table.rows}
    if len(found) == 18:
        above = (
            "Higher, above: beyond the paper's figure and that of the true classes of the test trees, which is "
            + " and ".join(f"{truth} on {data}" for data, truth in TRUE_SILHOUETTE.items())
            + ". On INEX 2006 the paper's own figures are above that of the true classes, too."
        )
        table.verdict += f"; {claims(table, _words_of_encoder(found), [above])}"


def _words_of_encoder(found: dict[tuple[str, int, int], tuple[str, str]]) -> list[tuple[str, str, str]]:
    """On the error by components, on silhouettes by states, and on 44 and 72 states against 400."""
    old, new = "INEX 2005", "INEX 2006"
    error = {n: mean([first(found[old, c, n][1]) for c in (2, 4, 8)]) for n in (6, 11, 22)}
    best = max((key for key in found if key[0] == old), key=lambda key: first(found[key][0]))
    alone = [key[2] for key in found if key[:2] == (new, 8) and re.search(COLLAPSED, found[key][0])]
    spread = [max(v) - min(v) for v in ([first(found[new, c, n][1]) for n in (9, 18, 30)] for c in (2, 4, 8))]
    fall = [first(found[old, c, 6][1]) - first(found[old, c, 22][1]) for c in (2, 4, 8)]
    said = [
        (
            "INEX 2005: the error is lower when more components are used",
            ", ".join(f"{v:.2f} % with {n}" for n, v in error.items()) + ", means over the states",
            holds(error[6] > error[11] > error[22]),
        ),
        (
            "INEX 2005: more states lower the error as well",
            ", ".join(f"{mean([first(found[old, c, n][1]) for n in (6, 11, 22)]):.2f} % with {c}" for c in (2, 4, 8)),
            holds(first(found[old, 2, 6][1]) > first(found[old, 4, 6][1]) > first(found[old, 8, 6][1])),
        ),
        (
            "INEX 2005: the best silhouette is that of 2 states",
            f"{found[best][0]} with {best[1]} states and {best[2]} components",
            holds(best[1] == 2),
        ),
        (
            "INEX 2006: with 8 states there tends to be one cluster only",
            f"runs with one cluster with {', '.join(map(str, alone))} components" if alone else "in no run",
            holds(len(alone) > 0),
        ),
        (
            "INEX 2006: components matter less",
            f"error changes by at most {max(spread):.1f} points with them, on INEX 2005 by up to {max(fall):.1f}",
            holds(max(spread) < max(fall)),
        ),
    ]
    for data, states, size, number in ((old, 2, 22, 400), (new, 8, 9, 400)):
        error_there = GTM_SD[data]
        cell = found[data, states, size][1]
        said.append(
            (
                f"{data}: {states * size} states do what GTM-SD does with {number}, {error_there:.2f} %",
                f"{cell} %",
                holds(first(cell) <= error_there + 0.5),
            )
        )
    return said


# Errors in per cent that the paper quotes of others.
GTM_SD = {"INEX 2005": 7.52, "INEX 2006": 69.76}


def tables2_and_3(table: Table) -> None:
    """Tables 2 and 3 and Figures 8, 10 and 11."""
    fill(table)
    beside = table.verdict
    parts = {part.title.partition(": ")[2]: part for part in table.more}
    in_use = parts["clusters in use on INEX 2005"]
    fill(in_use, "same")
    fill(parts["clusters in use, best run of the best setting"], "same")
    _classes(parts["classes that share a cluster"])
    said = _figure10(in_use) + _words_of_table2(table)
    table.verdict = f"{beside}; {claims(table, said)}" if said else beside


def _figure10(table: Table) -> list[tuple[str, str, str]]:
    """How clusters in use go with the hyper-parameters, by the authors' procedure; none where rows are missing."""
    at = columns(table, "verdict")[0] - 1
    found = {(int(row[0]), row[1]): first(row[at]) for row in table.rows}
    states = sorted({n for n, _ in found})
    if states != [2, 4, 8] or len(found) < 21:
        return []
    sizes = {n: mean([found[c, f"{n} components"] for c in states]) for n in (6, 11, 22)}
    alphas = {a: mean([found[c, f"alpha {a:g}"] for c in states]) for a in (1.0, 1.2, 1.5, 2.0)}
    by_states = {
        kind: [mean([v for (c, name), v in found.items() if c == n and kind in name]) for n in states]
        for kind in ("components", "alpha")
    }
    finite, infinite = by_states["components"], by_states["alpha"]
    fall = list(alphas.values())
    return [
        (
            "finite: more components, more clusters in use",
            ", ".join(f"{v:.1f} with {n}" for n, v in sizes.items()),
            holds(sizes[6] < sizes[11] < sizes[22]),
        ),
        (
            "finite: two states have more clusters in use than eight",
            f"{finite[0]:.1f} and {finite[2]:.1f}",
            holds(finite[0] > finite[2]),
        ),
        (
            "infinite: a greater alpha, fewer clusters; from more than 20 to around 5",
            ", ".join(f"{v:.1f} at {a:g}" for a, v in alphas.items()),
            holds(fall == sorted(fall, reverse=True) and fall[0] > 20 and fall[-1] <= 6),
        ),
        (
            "infinite: the more states, the fewer clusters",
            ", ".join(f"{v:.1f} with {n} states" for n, v in zip(states, infinite, strict=True)),
            holds(infinite[0] > infinite[1] > infinite[2]),
        ),
    ]


def _classes(table: Table) -> None:
    """Whether the classes that the paper puts together share a cluster, and none other is with them."""
    for row in table.rows:
        wanted, found = _clusters(row[2]), _clusters(row[3])
        row[4] = "" if not wanted else _grouped(wanted, found)
    table.verdict = tally(row[4] for row in table.rows)


def _clusters(cell: str) -> list[dict[int, float]]:
    """From "{1, 2 (40%)} {3}": each cluster with the shares of its classes."""
    return [
        {int(name): float(share or 100) for name, share in re.findall(rf"(\d+)(?: \(({NUMBER})%\))?", inner)}
        for inner in re.findall(r"\{([^}]*)\}", cell)
    ]


UNSURE = {9, 10}  # the paper lists class 9 in two clusters, and 10 in none


def _grouped(wanted: list[dict[int, float]], found: list[dict[int, float]]) -> str:
    """Every wanted cluster must be there, with its classes and no other; one listed twice must be two clusters."""
    for group in wanted:
        classes = set(group) - UNSURE
        homes = [k for k, cluster in enumerate(found) if classes <= set(cluster)]
        named = "{" + ", ".join(map(str, sorted(classes))) + "}"
        if not homes:
            return holds(False, f"{named} do not share a cluster" if len(classes) > 1 else f"no cluster holds {named}")
        pure = [k for k in homes if set(found[k]) - UNSURE == classes]
        if len(pure) < wanted.count(group):
            others = set().union(*(found[k] for k in homes)) - UNSURE - classes
            also = f"with {named} are {', '.join(map(str, sorted(others)))}" if others else f"{named} has one cluster"
            return holds(False, also)
    return holds(True)


def figures5_to_7(table: Table) -> None:
    """Figure 5: three clusters; 6: many components, then three; 7: slower than three components, then faster."""
    start: dict[str, list[float]] = {}  # first and last milliseconds of the mixture of three, by procedure
    for figure, what, paper, ours, *_ in table.rows:
        found, whose = numbers(ours), what.partition(" components")[0].rpartition(", ")[0]
        if figure == "7" and not paper:
            start.setdefault(whose, found)
    for row in table.rows:
        figure, what, paper, ours, _ = row
        found = numbers(ours)
        word = ""
        if paper and figure == "5":
            word = holds(found[0] == 3)
        elif paper and figure == "6":
            after = found[4]  # mean (deviation) after sweeps 1, 3, 10, 30
            word = holds(found[0] > 2 * after and abs(after - 3.0) <= 0.5)
        elif paper and figure == "7":
            early, late = start[what.partition(", alpha")[0]]
            why = f"{found[0]:g} against {early:g} ms at first, {found[-1]:g} against {late:g} at last"
            word = holds(found[0] > early and found[-1] < late, why)
        row[4] = word
    table.verdict = tally(row[4] for row in table.rows)


def figure9(table: Table) -> None:
    """The paper names class 6, and its neighbour 11."""
    rows = {cells[0]: cells for cells in table.rows}
    if "6" not in rows:
        table.verdict = "undefined: no class 6 among these trees"
        return
    _, _, within, closest, similarity = rows["6"]
    alike = closest == "11" and float(similarity) > float(within)
    found = f"class 6 has {within} within, and {similarity} with class {closest}, its closest"
    table.verdict = holds(alike, f"{found}; the paper finds it closer to 11 than to itself")


def _words_of_table2(table: Table) -> list[tuple[str, str, str]]:
    """What the paper says of its Table 2, by the first column of ours; nothing for a table without all rows."""
    at = columns(table, "verdict")[0] - 1
    by_size: dict[str, list[float]] = {}
    for row in table.rows:
        by_size.setdefault(row[1], []).append(first(row[at]))
    sizes = [name for name in by_size if "components" in name]
    if len(sizes) < 3 or len(by_size) < 7:
        return []
    few, many = by_size[sizes[0]], by_size[sizes[-1]]
    finite = max(max(by_size[name]) for name in sizes)
    infinite = max(max(values) for name, values in by_size.items() if name not in sizes)
    return [
        (
            "more components help the finite mixture to better silhouettes",
            ", ".join(f"{mean(by_size[name]):.2f} with {name.split()[0]}" for name in sizes),
            holds(mean(many) - mean(few) > 0.01),
        ),
        (
            "the best silhouette is that of the infinite mixture",
            f"{infinite:.2f}, finite {finite:.2f}",
            holds(infinite > finite),
        ),
    ]
