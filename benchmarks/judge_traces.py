"""How well faults of `make_traces` are found: by groups of requests, and by the spans that surprise most.

``python benchmarks/judge_traces.py FOLDER --clusters today.csv --spans spans.csv`` reads tables that ``arbora cluster
--output`` and ``arbora predict --nodes`` wrote, beside ``classes.csv`` and ``guilty.csv`` in the folder.
"""

import argparse
import csv
import re
from collections import Counter, defaultdict
from pathlib import Path

csv.field_size_limit(10**6)
ENDS = re.compile(r"(\|[0-9]+)?(\|error)?(?=/[a-z]+:|$)")  # of labels with durations and failures


def rows(path):
    with open(path, newline="") as file:
        yield from csv.DictReader(file)


def groups_of(clusters, kind):
    """By kind of request: traces, the group with the best F-score, its recall, precision and size."""
    size, both = Counter(clusters.values()), defaultdict(Counter)
    for name, group in clusters.items():
        both[kind[name]][group] += 1
    for one, counts in sorted(both.items()):
        n = counts.total()
        best = max(counts, key=lambda group: 2 * counts[group] / (n + size[group]))
        yield one, n, best, counts[best] / n, counts[best] / size[best], size[best]


def surprises_of(table):
    """Spans by trace, the most surprising first: (surprise, path)."""
    found = defaultdict(list)
    for row in rows(table):
        found[Path(row["tree"]).name].append((float(row["surprise"]), ENDS.sub("", row["path"])))
    return {name: sorted(spans, reverse=True) for name, spans in found.items()}


def guilty_first(spans, guilty, kind):
    """By faulty kind: traces, and how many have a guilty span, or the one that called it, at the top."""
    count, first, near = Counter(), Counter(), Counter()
    for name, paths in guilty.items():
        top = spans[name][0][1]
        count[kind[name]] += 1
        first[kind[name]] += top in paths
        near[kind[name]] += top in paths or any(path.rpartition("/")[0] == top for path in paths)
    return [(one, n, first[one] / n, near[one] / n) for one, n in sorted(count.items())]


def guilty_on_top(spans, guilty, n):
    """Of the traces whose worst spans surprise most, the share that has a fault."""
    worst = sorted(((mine[0][0], name) for name, mine in spans.items()), reverse=True)[:n]
    return sum(name in guilty for _, name in worst) / len(worst)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clusters", type=Path)
    parser.add_argument("--spans", type=Path)
    given = parser.parse_args()
    kind = {row["name"]: row["class"] for row in rows(given.folder / "classes.csv")}
    guilty = defaultdict(set)
    for row in rows(given.folder / "guilty.csv"):
        guilty[row["name"]].add(row["path"])
    if given.clusters:
        clusters = {Path(row["name"]).name: row["cluster"] for row in rows(given.clusters)}
        print("| kind | traces | group | recall | precision | size |\n|---|---|---|---|---|---|")
        for one, n, best, recall, precision, size in groups_of(clusters, kind):
            print(f"| {one} | {n} | {best} | {recall:.3f} | {precision:.3f} | {size} |")
    if given.spans:
        spans = surprises_of(given.spans)
        print("| fault | traces | guilty span first | or the span that called it |\n|---|---|---|---|")
        for one, n, first, near in guilty_first(spans, guilty, kind):
            print(f"| {one} | {n} | {first:.3f} | {near:.3f} |")
        for n in (100, len(guilty)):
            print(
                f"of the {n} traces with the most surprising spans, {guilty_on_top(spans, guilty, n):.3f} have a fault"
            )


if __name__ == "__main__":
    main()
