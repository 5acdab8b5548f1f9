"""Each method of the corpora tables beside Arbora's default: on how many corpora it is better, and worse.

`python -m benchmarks.corpora.versus` reads README.md and writes docs/reproduction/versus.md.
"""

import re
from pathlib import Path

README = Path(__file__).with_name("README.md")
PAGE = Path(__file__).parents[2] / "docs" / "reproduction" / "versus.md"
# Kind of task -> our default, and by how much a figure must differ to count.
TASKS = {
    "Number of classes given": ("PatternMixture", 0.02),
    "Number unknown": ("PatternMixture, number learnt", 0.02),
    "Classification": ("TreeClassifier", 0.5),
}


def read_tables(text):
    """(set, task) -> method -> figures of the corpora: adjusted Rand index, or error in per cent."""
    found = {}
    for section in text.split("\n## Results on the ")[1:]:
        name, _, section = section.partition("\n")
        section = section.split("\n## ", 1)[0]
        for task in TASKS:
            if f"**{task}**" not in section:
                continue
            lines = section.split(f"**{task}**", 1)[1].split("\n**", 1)[0].splitlines()
            rows = [
                [cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("| ")
            ]
            found[name, task] = {row[0]: [_figure(cell, task) for cell in row[1:-1]] for row in rows if row[0]}
    return found


def _figure(cell, task):
    numbers = re.findall(r"-?\d*\.\d+", cell)
    if not numbers:
        return None
    return float(numbers[0 if task == "Classification" else 1])


def count(ours, theirs, task):
    """On how many corpora theirs is better, and worse, and on how many both were run."""
    sign, least = (-1.0 if task == "Classification" else 1.0), TASKS[task][1]
    gaps = [sign * (b - a) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return sum(gap > least + 1e-9 for gap in gaps), sum(gap < -least - 1e-9 for gap in gaps), len(gaps)


def beside(counts):
    """A cell: better, worse, and of how many; sums over several sets of corpora."""
    better, worse, n = map(sum, zip(*counts, strict=True))
    return f"{better} / {worse} of {n}" if n else "-"


def page(text):
    """The table of all methods."""
    tables = read_tables(text)
    sets = list(dict.fromkeys(name for name, _ in tables))
    lines = []
    for task, (default, least) in TASKS.items():
        methods = list(
            dict.fromkeys(name for where in sets for name in tables.get((where, task), {}) if name != default)
        )
        unit = "points of error" if task == "Classification" else "of the adjusted Rand index"
        lines += [f"**{task}**: better / worse than `{default.partition(',')[0]}` by more than {least:g} {unit}", ""]
        lines += [f"| | {' | '.join(sets)} | all |", "|" + "---|" * (len(sets) + 2)]
        for method in methods:
            there = [tables.get((where, task), {}) for where in sets]
            counts = [count(some[default], some[method], task) if method in some else (0, 0, 0) for some in there]
            lines.append(f"| {method} | {' | '.join(beside([one]) for one in counts)} | {beside(counts)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(README.read_text(encoding="utf-8")), encoding="utf-8")
