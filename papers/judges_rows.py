"""Judges of the tables on rows of numbers: Huang et al. 2021 and Mohamad et al. 2015."""

import re

from .judging import claims, columns, first, mean, numbers, put
from .table import Table
from .verdict import compare, holds, tally

# Huang et al. 2021, in words: improvement over BHMC in AID and in AOD.
STRONG = 0.1  # C that is strong on both data sets
PERCENT = 1.0  # of AID or AOD, about a standard error; a smaller improvement is no evidence
UNIT = 0.01  # in which uncertainty is printed; a smaller fall is no evidence
MEASURES = ("AID", "AOD", "less uncertainty", "F of best")
IMPROVEMENT = {"Animals": ("20 to 25 %", "10 %"), "Fashion": ("27 to 28 %", "7.5 %")}


def bhmc(table: Table) -> None:
    """Every regularised run beside the improvement that the paper reports, and beside its picture of certainty."""
    paper = next(found for name, found in IMPROVEMENT.items() if name in table.title)
    known = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    part = Table(
        "Improvement over BHMC beside the paper's",
        [
            "model",
            "paper: AID",
            "ours",
            "verdict",
            "paper: AOD",
            "ours",
            "verdict",
            "uncertainty",
            "verdict",
            "F of best",
            "verdict",
        ],
    )
    for name, cells in known.items():
        if not name.startswith("RBHMC"):
            continue
        aid, aod = cells["improvement AID / AOD"].split(" / ")
        base = next(
            b for b in known if b.startswith("BHMC") and known[b]["improvement AID / AOD"] == "-" and _same(b, name)
        )
        before, after = (numbers(known[x]["uncertainty by level"])[0] for x in (base, name))
        certain = [f"{before:.2f}, now {after:.2f}", holds(before - after > 1.5 * UNIT)]
        certain += _beats([known[x]["F of best (R)CDLL"] for x in (base, name)])
        part.rows.append([name, paper[0], aid, compare(paper[0], aid), paper[1], aod, compare(paper[1], aod), *certain])
    part.remarks.append(
        "The paper prints its figures in words, as the best of a grid of settings: better, and matches, count a run "
        "that reaches them. Uncertainty, of the first level: the paper's pictures show less than with BHMC. F of "
        "best: by level, of the tree of highest (R)CDLL; the paper's Figures 9 and 16 show it higher than with BHMC on "
        "every level."
    )
    put(table, part)
    counts = [tally(row[at] for row in part.rows) for at in columns(part, "verdict")]
    said = _less_structure(known) + _by_margin(known) + _both_measures(known)
    remark = (
        f"Strong: C of {STRONG} or more; the greatest of each sampler, or the least and the greatest epsilon_0. To "
        f"improve is to do so by more than {PERCENT:g}%."
    )
    words = claims(table, said, [remark])
    table.verdict = "; ".join([*(f"{w}: {n}" for w, n in zip(MEASURES, counts, strict=True)), words])


def _less_structure(known: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    """Nodes under the strongest regulariser of each sampler beside those without any."""
    strongest: dict[str, tuple[float, str]] = {}
    for name in known:
        found = re.match(r"RBHMC, (.*), C=([\d.]+)", name)
        if found and float(found[2]) >= STRONG:
            strongest[found[1]] = max(strongest.get(found[1], (0.0, "")), (float(found[2]), name))
    said = []
    for _, name in strongest.values():
        base = next(b for b in known if _same(b, name))
        before, after = (float(known[x]["nodes"]) for x in (base, name))
        shown = f"{name}: {after:.1f} nodes; C=0: {before:.1f}"
        claim = "strong C and epsilon_0 reduce the structure of the hierarchy"
        said.append((claim, shown, holds(after < before)))
    return said


def _by_margin(known: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    """The least and the greatest epsilon_0 of a sampler with the same strong C: nodes, and uncertainty."""
    margins: dict[tuple[str, str], dict[float, str]] = {}
    for name in known:
        found = re.match(r"RBHMC, (.*), C=([\d.]+), eps=([\d.]+)", name)
        if found and float(found[2]) >= STRONG:
            margins.setdefault((found[1], found[2]), {})[float(found[3])] = name
    said = []
    for (sampler, c), names in margins.items():
        if len(names) > 1:
            less, more = min(names), max(names)
            what = f"RBHMC, {sampler}, C={c}, eps={less:g} and {more:g}"
            before, after = (float(known[names[eps]]["nodes"]) for eps in (less, more))
            claim = "strong C and epsilon_0 reduce the structure of the hierarchy"
            said.append((claim, f"{what}: {before:.1f} and {after:.1f} nodes", holds(after < before)))
            before, after = (numbers(known[names[eps]]["uncertainty by level"])[0] for eps in (less, more))
            claim = "the greater epsilon_0 leaves less uncertainty on the first level"
            said.append((claim, f"{what}: {before:.2f} and {after:.2f}", holds(before - after > 1.5 * UNIT)))
    return said


def _both_measures(known: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    """How many settings of each sampler improve both distances."""
    settings: dict[str, list[bool]] = {}
    for name, cells in known.items():
        found = re.match(r"RBHMC, (.*), C=", name)
        if found:
            both = [first(part) > PERCENT for part in cells["improvement AID / AOD"].split(" / ")]
            settings.setdefault(found[1], []).append(all(both))
    claim = "some settings improve AID and AOD together"
    return [
        (claim, f"RBHMC, {sampler}: {sum(better)} of {len(better)} settings", holds(any(better)))
        for sampler, better in settings.items()
    ]


def _beats(cells: list[str]) -> list[str]:
    """F by level before and after, and whether it is higher on every level by more than a unit of the last digit."""
    before, after = map(numbers, cells)
    gains = [round(b - a, 2) for a, b in zip(before, after, strict=True)]
    return [f"{cells[0]}, now {cells[1]}", holds(min(gains) > UNIT, f"by {min(gains):+.2f} to {max(gains):+.2f}")]


def _same(base: str, name: str) -> bool:
    from .bhmc import _base

    return _base(name) == base


PAIRS = {
    "RBHMC, own-datum rule": "BHMC",
    "RBHMC, paper's Algorithm 2": "BHMC",
    "RBHMC, finite": "BHMC, finite",
}


def figures9_and_16(table: Table) -> None:
    """Regularised trees beside those of the same kind without: F on the first level, and on the later ones."""
    found = {(row[0], row[1]): [numbers(cell)[0] for cell in row[2].split(" / ")] for row in table.rows}
    cells = {(row[0], row[1]): row for row in table.rows}
    saved = table.header.index("saved")
    said = []
    for data, model in found:
        if model not in PAIRS:
            continue
        before, after = found[data, PAIRS[model]], found[data, model]
        gains = [round(b - a, 2) for a, b in zip(before, after, strict=True)]
        shown = f"{data}, {model}: {before[0]:.2f}, now {after[0]:.2f}"
        said.append(("first level: F tends to be higher with regularisation", shown, holds(gains[0] > UNIT)))
        shown = f"{data}, {model}: by {' / '.join(f'{gain:+.2f}' for gain in gains[1:])}"
        said.append(("later levels: higher as well", shown, holds(min(gains[1:]) > UNIT)))
        less, more = (first(cells[data, x][saved]) for x in (PAIRS[model], model))
        shown = f"{data}, {model}: saves {less:.2f} of the looks, now {more:.2f}"
        claim = "a better separated hierarchy is easier to search"
        said.append((claim, shown, holds(round(more - less, 2) > UNIT)))
    said += _against_gaussian_steps(found)
    table.verdict = claims(
        table, said, [f"Means over the chains. Higher: by more than {UNIT}. The paper shows boxes and no numbers."]
    )


def _against_gaussian_steps(found: dict[tuple[str, str], list[float]]) -> list[tuple[str, str, str]]:
    """F, averaged over the levels, of the best hierarchy of mixtures beside the tree of Gaussian steps."""
    said = []
    for data in dict.fromkeys(data for data, _ in found):
        ours = {model: mean(f) for (x, model), f in found.items() if x == data and "HMC" in model}
        steps = next((mean(f) for (x, model), f in found.items() if x == data and "diffusion" in model), None)
        if steps is not None:
            best = max(ours, key=lambda model: ours[model])
            shown = f"{data}, {best}: mean F {ours[best]:.2f}; Dirichlet diffusion tree: {steps:.2f}"
            claim = "mixtures suit a hierarchy better than Gaussian-to-Gaussian steps"
            said.append((claim, shown, holds(ours[best] - steps > UNIT)))
    return said


def against_ward(table: Table) -> None:
    gain = {row[0]: numbers(row[table.header.index("gain in F")])[0] for row in table.rows if row[1] == "consensus"}
    level = sum(g >= 0 for g in gain.values())
    table.verdict = (
        f"not in the paper; F of the default, averaged over the levels, is at least Ward's on {level} of {len(gain)} "
        "data sets"
    )


SEVERAL = 2.0  # sub-clusters a cluster, from which on there are "many"


def banana(table: Table) -> None:
    """Every NHCM beside DPGMM of as many sweeps: many sub-clusters a cluster, and fewer clusters than groups."""
    part = Table(
        'Beside the paper\'s words: "each cluster forms a base-prior for many sub-clusters", DPGMM creates more',
        ["data", "method", "clusters over sub-clusters", "verdict", "clusters; groups of DPGMM", "verdict"],
    )
    rivals = {(row[0], _budget(row[1])): row for row in table.rows if row[1].startswith("DPGMM")}
    for data, method, clusters, below, *_ in table.rows:
        if method.startswith("NHCM"):
            top, fine = numbers(clusters)[0], numbers(below)[0]
            groups = numbers(rivals[data, _budget(method)][2])[0]
            cells = [f"{top} over {fine}", holds(fine >= SEVERAL * top), f"{top}; {groups}", holds(groups > top)]
            part.rows.append([data, method, *cells])
    part.remarks.append(f"Many: {SEVERAL:g} or more a cluster, in the mean over seeds; DPGMM of as many sweeps.")
    table.more = [part]
    many, more = (tally(row[at] for row in part.rows) for at in (3, 5))
    table.verdict = f"in words, many sub-clusters a cluster: {many}; more groups with DPGMM: {more}"


def _budget(method: str) -> str:
    """Which rows are compared: our defaults, the paper's ten sweeps, or long chains."""
    return next((word for word in ("our defaults", "10 sweeps") if word in method), "long")


def nhcm_shapes(table: Table) -> None:
    """NHCM beside flat methods that must find the number, by the adjusted Rand index, data set by data set."""
    found = {
        row[0]: dict(zip(table.header[2:], [numbers(cell)[0] for cell in row[2:]], strict=True)) for row in table.rows
    }
    said = []
    for data, index in found.items():
        rival = max(
            (name for name in index if "NHCM" not in name and "given" not in name), key=lambda name: index[name]
        )
        shown = f"{data}: NHCM {index['NHCM']:.2f}; {rival} {index[rival]:.2f}"
        said.append(
            ("better than flat clustering on any multi-modal skewed data", shown, holds(index["NHCM"] > index[rival]))
        )
    table.verdict = claims(
        table,
        said,
        ["NHCM by its clusters; beside it the better of DPGMM and HDBSCAN, which find the number themselves, too."],
    )
