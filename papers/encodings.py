"""What each encoding of trees is worth: cross-validated errors of logistic regression on its codes."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from arbora import datasets
from arbora.forest.forest import Forest
from arbora.models import HiddenTreeMixture, SlotLabelCounts
from arbora.models.classifiers import readout as ro
from arbora.models.hidden_tree.encoding import ENCODINGS

from .runs import run_all
from .table import Table, mean_std

STATES = (2, 4)
N_FOLDS = 3


class Task(NamedTuple):
    """All encodings of one corpus by one number of states."""

    corpus: str
    n_states: int


def encodings(quick: bool = False) -> Table:
    """Errors in 3-fold cross-validation by encoding, corpus and number of states."""
    table = Table(
        "Encodings: classification error in per cent",
        ["corpus", "classes", "states", *(f'"{name}"' for name in ENCODINGS), "mean", "counts"],
    )
    tasks = [Task(name, n) for name in (list(CORPORA)[:1] if quick else CORPORA) for n in STATES]
    for task, found in zip(tasks, run_all("encodings", errors, tasks), strict=True):
        n_classes = len(set(CORPORA[task.corpus]().target))  # type: ignore[arg-type]
        cells = [mean_std(found[column]) for column in (*ENCODINGS, "mean", "counts")]
        table.rows.append([task.corpus, str(n_classes), str(task.n_states), *cells])
    table.remarks.append(
        "Cells: mean (deviation) of three parts held out in turn, by logistic regression on the codes of a mixture "
        "with two components per class, other settings the defaults, fitted to the other two parts without their "
        "classes. mean: sums divided by the number of nodes; counts: logistic regression on log(1 + count) of (slot, "
        "label) pairs, without a mixture. The INEX rows are samples of 900 training trees."
    )
    return table


def _sample(forest: Forest, n_trees: int) -> Forest:
    return forest.take(np.sort(np.random.default_rng(0).permutation(forest.n_trees)[:n_trees]))


def errors(task: Task) -> dict[str, list[float]]:
    """Error of each part held out, by encoding."""
    forest, n_states = CORPORA[task.corpus](), task.n_states
    y = np.asarray(forest.target)
    found: dict[str, list[float]] = {name: [] for name in (*ENCODINGS, "mean", "counts")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer trees than parts
        folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y))
        for seed, (train, test) in enumerate(folds):
            mixture = HiddenTreeMixture(2 * len(set(y.tolist())), n_states, random_state=seed, sparse_output=True)
            mixture.fit(forest.take(train))
            for name in ENCODINGS:
                encoder = mixture.set_params(encoding=name)
                found[name].append(_error(encoder.transform(forest), y, train, test))
            by_node = sparse.diags_array(1.0 / forest.sizes) @ mixture.set_params(encoding="sum").transform(forest)
            found["mean"].append(_error(by_node.tocsr(), y, train, test))
            counts = SlotLabelCounts(log=True).fit(forest.take(train))
            found["counts"].append(_error(counts.transform(forest), y, train, test))
    return found


def _error(codes: Any, y: Any, train: Any, test: Any) -> float:
    readout = ro.make_readout("logistic", 0, y[train], 0).fit(codes[train], y[train])
    return 100.0 * float(np.mean(readout.predict(codes[test]) != y[test]))


# Name -> function that loads it.
CORPORA: dict[str, Callable[[], Forest]] = {
    "noisy documents": lambda: datasets.make_documents(60, noise=0.3, random_state=5),
    "synthetic": lambda: _sample(datasets.load_synthetic("train"), 300),
    "shock trees": datasets.load_shock,
    "INEX 2005": lambda: _sample(datasets.load_inex2005("train"), 900),
    "INEX 2006": lambda: _sample(datasets.load_inex2006("train"), 900),
}
