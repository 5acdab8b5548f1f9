"""The table: every method on every corpus, cell by cell, kept in FOLDER/cells so that a run goes on where it ended."""

import json
import os
import re
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import arbora

from . import classify
from .methods import GIVEN, SEEDLESS, UNKNOWN, feasible, quiet

SEEDS = (0, 1, 2)
MOST_TREES = 400


def sample(forest, most=MOST_TREES):
    """The same random trees for every method."""
    if forest.n_trees <= most:
        return forest
    return forest.take(np.sort(np.random.default_rng(0).permutation(forest.n_trees)[:most]))


def run(folder, names=(), methods=""):
    """Compute the cells that are missing, of methods whose titles match a regular expression."""
    folder = Path(folder)
    corpora = names or sorted(path.stem for path in folder.glob("*.forest"))
    listed = {title: (title in GIVEN, method) for title, method in {**GIVEN, **UNKNOWN}.items()}
    fill(folder, corpora, {t: m for t, m in listed.items() if re.search(methods, t)})
    classify.run(folder, corpora, methods)


def fill(folder, corpora, methods, seeds=SEEDS):
    """Compute the missing cells of methods; a method is whether the number is given, and a function."""
    for title, (given, method) in methods.items():
        warmed = False
        for corpus in corpora:
            cells = [_cell(folder, corpus, title, seed) for seed in seeds[: 1 if method in SEEDLESS else None]]
            if all(path.exists() for path in cells):
                continue
            forest = sample(arbora.load_forest(folder / f"{corpus}.forest"))
            if not feasible(method, forest):
                continue
            truth = np.unique(forest.target, return_inverse=True)[1]
            n = int(truth.max() + 1) if given else None
            if not warmed:  # compile, and import what is imported late
                quiet(method, forest.take(np.arange(0, forest.n_trees, 10)), None if n is None else 3, 0)
                warmed = True
            for seed, path in zip(seeds, cells, strict=False):
                if not path.exists():
                    _write(path, _measured(method, forest, truth, n, seed))
                    print(corpus, title, seed, path.read_text(encoding="utf-8"), flush=True)


def _measured(method, forest, truth, n, seed):
    started = time.process_time()
    groups = quiet(method, forest, n, seed)
    cpu = time.process_time() - started
    return {
        "nmi": normalized_mutual_info_score(truth, groups),
        "ari": adjusted_rand_score(truth, groups),
        "found": len(np.unique(groups)),
        "classes": int(truth.max() + 1),
        "cpu": cpu,
    }


def _cell(folder, corpus, title, seed):
    return folder / "cells" / f"{corpus}.{re.sub('[^a-zA-Z0-9]+', '-', title)}.{seed}.json"


def _write(path, value):
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value), encoding="utf-8")
    os.replace(partial, path)


def _mean(folder, corpus, title):
    """Means over the seeds that are there, or None."""
    cells = [path for seed in SEEDS if (path := _cell(folder, corpus, title, seed)).exists()]
    values = [json.loads(path.read_text(encoding="utf-8")) for path in cells]
    return {key: float(np.mean([v[key] for v in values])) for key in values[0]} if values else None


def markdown(folder, corpora, methods, shown, last):
    """A table of methods by corpora; `shown` makes a cell of the means, `last` the last column of all of them."""
    lines = ["| | " + " | ".join(corpora) + " | mean |", "|---" * (len(corpora) + 2) + "|"]
    for title in methods:
        cells = [_mean(Path(folder), corpus, title) for corpus in corpora]
        if any(cells):
            texts = [shown(cell) if cell else "-" for cell in cells]
            lines.append(f"| {title} | " + " | ".join(texts) + f" | {last(cells) if all(cells) else '-'} |")
    return "\n".join(lines)


def _two(value):
    return f"{value:.2f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.2f}"


def _scores(cell):
    return f"{_two(cell['nmi'])} / {_two(cell['ari'])}"


def _scores_found(cell):
    return f"{_scores(cell)} / {cell['found']:.0f}"


def _average(cells, key):
    return float(np.mean([cell[key] for cell in cells]))


def page(folder, names=()):
    """The three tables as markdown."""
    corpora = names or sorted(path.stem for path in Path(folder).glob("*.forest"))

    def given(cells):
        return f"**{_two(_average(cells, 'nmi'))} / {_two(_average(cells, 'ari'))}**, {_average(cells, 'cpu'):.1f} s"

    def unknown(cells):
        ratio = np.exp(np.mean([abs(np.log(cell["found"] / cell["classes"])) for cell in cells]))
        means = f"**{_two(_average(cells, 'nmi'))} / {_two(_average(cells, 'ari'))}**"
        return f"{means}, off by {ratio:.1f}, {_average(cells, 'cpu'):.1f} s"

    def error(cells):
        return f"**{_average(cells, 'error'):.1f}**, {_average(cells, 'cpu'):.1f} s"

    parts = [
        "**Number of classes given**, NMI / ARI:",
        markdown(folder, corpora, GIVEN, _scores, given),
        "**Number unknown**, NMI / ARI / groups found:",
        markdown(folder, corpora, UNKNOWN, _scores_found, unknown),
        "**Classification**, test error in %:",
        markdown(folder, corpora, classify.TITLES, lambda cell: f"{cell['error']:.1f}", error),
    ]
    return "\n\n".join(parts)
