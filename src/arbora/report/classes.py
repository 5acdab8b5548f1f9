"""The page of a classifier: what each class was given, how well, and trees unlike any seen in training."""

from typing import Any

import numpy as np

from ..evaluate.agreement import class_facts
from ..evaluate.summary import common_folder, tree_names
from ..evaluate.wording import counted
from ..inference.verdict import Verdict
from . import columns as col
from .clusters import as_forest_with, data_facts, gather_groups, parameters
from .gather import Context
from .grouped import Grouped

MAX_NOVEL = 40
ON_TRAINING = Verdict(
    "look again",
    "these are the trees of the training, so the scores say little about new ones",
    "classify trees that were held out",
)
UNSCORED = Verdict(
    "look again", "no known classes are here, so nothing says how well these were given", "compare with known classes"
)


def gather_classes(model: Any, data: Any, context: Context) -> dict[str, Any]:
    """The page of a classifier of trees."""
    forest = as_forest_with(data, context)
    proba = np.asarray(model.predict_proba(forest))
    best = proba.argmax(axis=1)
    called = {c: str(name) for c, name in enumerate(model.classes_.tolist())}
    digest = forest.sha256
    training = digest == model.provenance_.get("data_sha256")
    grouped = Grouped(forest, best, proba, called, "class", training)
    page = gather_groups(model, grouped, context)
    page["title"] = f"{counted(forest.n_trees, 'tree')} classified"
    page["kind"] = type(model).__name__
    page["data_facts"] = data_facts(forest, digest)
    page["parameters"] = parameters(model)
    page["novel"] = _novel(model, grouped, page)
    if forest.target is not None:
        given = [called[c] for c in best.tolist()]
        page["scores"] = _scores(class_facts(forest.target.tolist(), given), page)
        page["confusion"] = None  # the table of known and given classes is with the scores
    if training:
        page["judged"] = ON_TRAINING
    elif forest.target is None:
        page["judged"] = UNSCORED
    return page


def _scores(facts: dict[str, Any], page: dict[str, Any]) -> dict[str, Any]:
    names, table = [col.shortened(name) for name in facts["confusion"]["classes"]], facts["confusion"]["table"]
    page["tiles"] = [tile for tile in page["tiles"] if tile[1] != "adjusted Rand index"]
    page["tiles"] += [[f"{facts['error']:.1%}", "error"], [f"{facts['mean_f1']:.2f}", "mean F1"]]
    wrong = np.array(table)
    np.fill_diagonal(wrong, 0)
    worst = np.dstack(np.unravel_index(np.argsort(-wrong, axis=None, kind="stable")[:5], wrong.shape))[0]
    return {
        "rows": [
            [col.shortened(name), row["trees"], *(col.figure(row[key]) for key in ("precision", "recall", "f1"))]
            for name, row in facts["by_class"].items()
        ],
        "names": names,
        "table": table,
        "mistaken": [[names[a], names[b], int(wrong[a, b])] for a, b in worst.tolist() if wrong[a, b]],
    }


def _novel(model: Any, grouped: Grouped, page: dict[str, Any]) -> dict[str, Any] | None:
    """Trees more surprising than those of the training, the most surprising first."""
    if not len(model.surprise_quantiles_) or model.novelty is None:
        return None
    forest, best = grouped.forest, grouped.label
    surprise, novel = np.asarray(model.surprise(forest)), np.asarray(model.is_novel(forest))
    names = tree_names(forest)
    folder = common_folder(names)
    short = {t: col.shortened(names[t].removeprefix(folder)) for t in np.flatnonzero(novel).tolist()}
    page["items"]["novel"] = novel[col.spread(forest.n_trees, col.MAX_ITEMS)].astype(int).tolist()
    page["tiles"].append([f"{int(novel.sum()):,}", "novel trees"])
    listed = np.flatnonzero(novel)[np.argsort(-surprise[novel], kind="stable")][:MAX_NOVEL].tolist()
    return {
        "n": int(novel.sum()),
        "share": col.figure(float(model.novelty)),
        "rows": [[short[t], grouped.name(int(best[t])), col.figure(float(surprise[t]))] for t in listed],
    }
