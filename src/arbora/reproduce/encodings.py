"""What each encoding of trees is worth: cross-validated errors of logistic regression on its codes."""

import logging
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from .. import datasets
from ..forest import Forest
from ..models import HiddenTreeMixture, SlotLabelCounts
from ..models import readout as ro
from ..models.encoding import ENCODINGS
from .kept import Runs
from .table import Table, mean_std

log = logging.getLogger(__name__)

STATES = (2, 4)
N_FOLDS = 3
VERSION = 1


def encodings(quick: bool = False) -> Table:
    """Errors in 3-fold cross-validation by encoding, corpus and number of states; resumable."""
    table = Table(
        "Encodings: classification error in per cent",
        ["corpus", "classes", "states", *(f'"{name}"' for name in ENCODINGS), "mean", "counts"],
    )
    runs = Runs("encodings-quick" if quick else "encodings")
    for name, forest in _corpora(quick).items():
        for n_states in STATES:
            key = {"corpus": name, "states": n_states, "version": VERSION}
            found = runs.get(key, partial(_errors, forest, n_states))
            cells = [mean_std(found[column]) for column in (*ENCODINGS, "mean", "counts")]
            table.rows.append([name, str(len(set(forest.target))), str(n_states), *cells])  # type: ignore[arg-type]
            log.info("encodings: %s, %s states done", name, n_states)
    table.remarks.append(
        "Cells: mean (deviation) of three parts held out in turn, by logistic regression on the codes of a mixture "
        "with two components for each class, 30 iterations, fitted to the other two parts without their classes. "
        "mean: sums divided by the number of nodes; counts: logistic regression on log(1 + count) of (slot, label) "
        "pairs, without a mixture. The INEX rows are samples of 900 training trees. Runs kept from earlier commands "
        "are not run again, and are not in the time below."
    )
    return table


def _corpora(quick: bool) -> dict[str, Forest]:
    corpora = {"noisy documents": datasets.make_documents(60, noise=0.3, random_state=5)}
    if not quick:
        corpora["synthetic (paper 000)"] = _sample(datasets.load_synthetic("train"), 300)
        corpora["shock trees"] = datasets.load_shock()
        corpora["INEX 2005"] = _sample(datasets.load_inex2005("train"), 900)
        corpora["INEX 2006"] = _sample(datasets.load_inex2006("train"), 900)
    return corpora


def _sample(forest: Forest, n_trees: int) -> Forest:
    return forest.take(np.sort(np.random.default_rng(0).permutation(forest.n_trees)[:n_trees]))


def _errors(forest: Forest, n_states: int) -> dict[str, list[float]]:
    y = np.asarray(forest.target)
    found: dict[str, list[float]] = {name: [] for name in (*ENCODINGS, "mean", "counts")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer trees than parts
        folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y))
        for seed, (train, test) in enumerate(folds):
            mixture = HiddenTreeMixture(2 * len(set(y.tolist())), n_states, max_iter=30, tol=0.0, random_state=seed)
            mixture.set_params(sparse_output=True).fit(forest.take(train))
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
