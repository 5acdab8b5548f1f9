"""Bacciu and Castellana 2018, section 3: the input-output tree and the topographic map beside the mixture."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from arbora.forest.forest import Forest
from arbora.models import SlotLabelCounts, TopographicMap, TransducerClassifier
from arbora.models.classifiers import readout as ro
from arbora.models.classifiers.forest_classifier import split_off
from arbora.models.hidden_tree.map_start import trustworthiness
from arbora.models.transducer.tree_rules import RULES

from . import encoder
from .runs import run_all
from .table import Table, mean_std

DATA = ("INEX 2005", "INEX 2006")
PUBLISHED = {
    ("input-output", "INEX 2005"): "9.83",
    ("input-output", "INEX 2006"): "72.39",
    ("map", "INEX 2005"): "7.52",
    ("map", "INEX 2006"): "69.76",
}
NAMES = {"input-output": "input-output tree (IO-BHTMM)", "map": "topographic map (GTM-SD), logistic read-out"}
N_RUNS, N_COMPARED = {"input-output": 5, "map": 3}, 1200
N_SPLITS = {"input-output": 3, "map": 1}  # times that cross-validation is repeated: starts differ more than settings
STATES, SIDES, ENCODING, COST = (4, 8, 16), (5, 10), "log", 10.0
SVM = "(slot, label) counts, linear support vector machine"


class Task(NamedTuple):
    """One run: of a model ("input-output", "map", "plane" for its picture) on some data."""

    data: str
    model: str
    settings: tuple[Any, ...]  # as cross-validation chose them; of a choice, what it is among
    seed: int
    quick: bool


def comparators(quick: bool = False) -> Table:
    """Errors of the two systems that Bacciu and Castellana 2018 compare with, settings chosen on training trees."""
    header = ["system", "data", "paper: error %", "ours", "verdict", "held out", "chosen on training trees", "runs"]
    table = Table("Bacciu and Castellana 2018: the systems that the mixture is compared with", header)
    seconds = 0.0
    for model, data in PUBLISHED:
        n_runs, n_splits = (2, 1) if quick else (N_RUNS[model], N_SPLITS[model])
        choices = [Task(data, model, way, seed, quick) for way in _settings(model, quick) for seed in range(n_splits)]
        found = run_all(f"{data}: choose the settings, {model}", choose, choices)
        errors: dict[Any, list[float]] = {}
        for result in found:
            for way, error in result["errors"]:
                errors.setdefault(_tuples(way), []).append(error)
        held_out = {way: float(np.mean(of_splits)) for way, of_splits in errors.items()}
        way = min(held_out, key=lambda w: held_out[w])
        tasks = [Task(data, model, way, seed, quick) for seed in range(n_runs)]
        runs = run_all(f"{data}: {model}", run, tasks)
        seconds += sum(result["seconds"] for result in (*found, *runs))
        cells = [mean_std([result["error"] for result in runs]), "", f"{held_out[way]:.2f}", _told(model, way)]
        table.rows.append([NAMES[model], data, PUBLISHED[model, data], *cells, str(n_runs)])
    table.more = [_others(quick), _pictures(quick)]
    table.remarks = [
        "Error: share of test trees given a wrong class, in per cent, mean (deviation) of runs with other seeds; held "
        "out: the same of training trees in 3-fold cross-validation (of the input-output tree repeated "
        f"{N_SPLITS['input-output']} times, with other folds and starts), by which settings were chosen among "
        f"{', '.join(map(str, STATES))} states and {len(RULES)} rules, the class at all nodes and nothing tied "
        f"(input-output), or lattices of {' and '.join(f'{s} by {s}' for s in SIDES)} (map).",
        "30 iterations of EM, default priors; of the map, the most trustworthy of three starts, and logistic "
        "regression on logarithms of sums of node posteriors by slot and point, in place of the articles' kernel "
        "machine.",
        f"CPU time of choices and runs: {seconds:.0f} s.",
    ]
    return table


def _settings(model: str, quick: bool) -> list[tuple[Any, ...]]:
    if model == "input-output":
        return [(n_states,) for n_states in STATES[: 1 if quick else None]]
    return [(side,) for side in SIDES[: 1 if quick else None]]


def _tuples(way: Any) -> Any:
    """A way as it is, also if a file has made lists of its tuples."""
    return tuple(_tuples(part) for part in way) if isinstance(way, (list, tuple)) else way


def _told(model: str, way: tuple[Any, ...]) -> str:
    return f"{way[0]} by {way[0]} points" if model == "map" else f"{way[0]} states, rule {way[1]}"


# ---- runs -----------------------------------------------------------------------------------------------------------


def choose(task: Task) -> dict[str, Any]:
    """Errors on held-out training trees of every way to read one setting out."""
    forest = encoder._corpus(task.data, task.quick).train
    start, true = time.process_time(), np.asarray(forest.target)
    wrong: dict[Any, list[Any]] = {}
    for train, test in ro.folds(task.seed).split(np.zeros(len(true)), true):
        for way, found in _ways(task, *split_off(forest, train, test), true[train]).items():
            wrong.setdefault(way, []).append(found != true[test])
    errors = [(way, 100.0 * float(np.concatenate(parts).mean())) for way, parts in wrong.items()]
    return {"errors": errors, "seconds": time.process_time() - start}


def run(task: Task) -> dict[str, Any]:
    """Error on the test trees of one way."""
    corpus, start = encoder._corpus(task.data, task.quick), time.process_time()
    target = np.asarray(corpus.train.target)
    found = _ways(task, corpus.train, corpus.test, target)[task.settings]
    return {"error": encoder._error(found, corpus.test.target), "seconds": time.process_time() - start}


def _ways(task: Task, train: Forest, test: Forest, target: Any) -> dict[tuple[Any, ...], Any]:
    """Classes of the test trees by all ways to read out a setting, or by the one that the task names."""
    if task.model == "input-output":
        n_states, *rule = task.settings
        model = TransducerClassifier(n_states, calibration=None, random_state=task.seed)
        fitted = model.fit(train, target).transducer_
        return {(n_states, r): fitted.predict_tree(test, r) for r in rule or RULES}
    (side,) = task.settings
    plane = TopographicMap(side, basis=min(6, side), random_state=task.seed).fit(train)
    return {(side,): _classes(plane.set_params(encoding=ENCODING), train, test, target)}


def _classes(plane: TopographicMap, train: Forest, test: Forest, target: Any) -> Any:
    """Classes by logistic regression on the codes of a map; equal trees of a class are one row."""
    old, new = (encoder._rows(forest.with_target(None), plane.encode) for forest in (train, test))
    some, weight = ro.merge(target, old.row)
    readout = LogisticRegression(C=COST, max_iter=300, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        readout.fit(old.codes[old.row[some]], target[some], sample_weight=weight)
    return readout.predict(new.codes)[new.row]


# ---- the same trees by other ways -----------------------------------------------------------------------------------


def _others(quick: bool) -> Table:
    table = Table("Counts on the same trees", ["error % (CPU time)", *DATA])
    found = run_all(SVM, svm, [encoder.Task(data, SVM, 0, quick) for data in DATA])
    table.rows.append([SVM, *(f"{x['error']:.2f} ({x['seconds']:.1f} s)" for x in found)])
    table.remarks.append("Mixtures, other learners on counts, and kernels on the same trees: encoder-table2.")
    return table


def svm(task: encoder.Task) -> dict[str, Any]:
    """A linear support vector machine on log counts; its cost is chosen by cross-validation on the training trees."""
    corpus, start = encoder._corpus(task.data, task.quick), time.process_time()
    counts = SlotLabelCounts().fit(corpus.train)
    train, test = (encoder._rows(forest, counts.transform) for forest in (corpus.train, corpus.test))
    search = GridSearchCV(LinearSVC(random_state=0), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=ro.folds(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(np.log1p(train.codes)[train.row], train.y)
    found = search.predict(np.log1p(test.codes))[test.row]
    return {"error": encoder._error(found, test.y), "seconds": time.process_time() - start}


def _pictures(quick: bool) -> Table:
    """How the map compares as a picture."""
    header = ["picture", "data", "trustworthiness", "1-NN error %", "CPU time"]
    table = Table("The map as a picture of the test trees", header)
    for data in DATA:
        for name in PICTURES:
            (found,) = run_all(f"{data}: {name}", picture, [Task(data, name, (), 0, quick)])
            cells = [f"{found['trust']:.3f}", f"{found['error']:.2f}", f"{found['seconds']:.1f} s"]
            table.rows.append([name, data, *cells])
    table.remarks.append(
        f"Trustworthiness: {N_COMPARED:,} test trees, 10 neighbours, against the Ruzicka distance of (slot, label) "
        "counts; one half is chance. 1-NN: the class of the nearest training tree in the picture."
    )
    return table


def picture(task: Task) -> dict[str, Any]:
    """Trustworthiness and nearest-neighbour error of one picture, the most trustworthy of three starts of a map."""
    corpus, start = encoder._corpus(task.data, task.quick), time.process_time()
    chosen = np.sort(np.random.default_rng(0).permutation(corpus.test.n_trees)[:N_COMPARED])
    some = corpus.test.take(chosen)
    old, new = PICTURES[task.model](corpus.train, corpus.test)
    seconds = time.process_time() - start
    nearest = KNeighborsClassifier(1).fit(old, corpus.train.target)
    error = encoder._error(nearest.predict(new), corpus.test.target)
    return {"trust": trustworthiness(some, new[chosen]), "error": error, "seconds": seconds}


def _components(train: Forest, test: Forest, n: int) -> tuple[Any, Any]:
    counts = SlotLabelCounts().fit(train)
    old, new = (np.log1p(counts.transform(forest)).toarray() for forest in (train, test))
    pca = PCA(n, svd_solver="randomized", random_state=0).fit(old)
    return pca.transform(old), pca.transform(new)


def _principal(train: Forest, test: Forest) -> tuple[Any, Any]:
    return _components(train, test, 2)


def _map(train: Forest, test: Forest) -> tuple[Any, Any]:
    plane = TopographicMap(random_state=0).fit(train)
    return plane.embedding_, plane.transform(test)


PICTURES: dict[str, Any] = {
    "principal components of log counts": _principal,
    "topographic map": _map,
}
