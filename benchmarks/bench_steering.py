"""Questions, novelty and partial labels: labels needed for an error, AUC on classes held out, NMI with 5 % known.

``--corpora FOLDER`` has forests that ``python -m benchmarks.corpora make`` wrote; INEX is read from ARBORA_DATA.  Trees
are drawn, at most so many of each, and every figure is over the seeds that are named.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from measure import finish, judge
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score

import arbora as ab
from arbora.datasets import load_inex2005, load_inex2006
from arbora.errors import DataNotFoundError

STEPS = (20, 40, 80, 160)  # labels
CORPORA = ("operations", "expressions")
DEVELOPMENT = ("django", "expressions", "glycans", "icons", "operations", "payloads", "scripts", "sentences")
SCORES = (normalized_mutual_info_score, adjusted_rand_score)


def drawn(forest, n, seed):
    """So many trees, at random."""
    rng = np.random.default_rng(seed)
    return forest.take(np.sort(rng.choice(forest.n_trees, min(n, forest.n_trees), replace=False)))


def corpora(folder, n):
    """INEX 2005 and development corpora: name, trees."""
    try:
        yield "INEX 2005", drawn(load_inex2005(), n, 0)
    except DataNotFoundError as error:
        print(f"  {error}")
    for name in CORPORA if folder else ():
        yield name, drawn(ab.load_forest(Path(folder, f"{name}.forest")), n, 0)


# ---- questions ------------------------------------------------------------------------------------------------------


def errors(pool, test, asks, seed):
    """Test error after each number of labels: the first 20 at random, all others asked for, or at random."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(pool.n_trees)
    known, out, model = order[: STEPS[0]], [], None
    for n in STEPS:
        if n > len(known):
            rest = np.setdiff1d(order, known)
            more = model.query(pool.take(rest), n - len(known)) if asks else rng.permutation(len(rest))
            known = np.append(known, rest[more[: n - len(known)]])
        model = ab.TreeClassifier(novelty=None, random_state=0).fit(pool.take(known))
        out.append(float(np.mean(model.predict(test) != test.target)))
    return out


def questions(folder, n, seeds):
    """Error after 20, 40, 80, 160 labels: asked for by `query`, against drawn at random."""
    for name, forest in corpora(folder, n):
        rng = np.random.default_rng(1)
        order = rng.permutation(forest.n_trees)
        pool, test = forest.take(np.sort(order[::2])), forest.take(np.sort(order[1::2]))
        asked, drawn_ = (np.mean([errors(pool, test, asks, s) for s in range(seeds)], axis=0) for asks in (True, False))
        told = ", ".join(f"{k}: {100 * a:.1f} / {100 * b:.1f}" for k, a, b in zip(STEPS, asked, drawn_, strict=True))
        print(f"  {name}, {pool.n_trees} trees to ask about, {seeds} seeds; % error by labels, query / random: {told}")
        needed = float(np.interp(-drawn_[-1], -asked, STEPS)) if asked[-1] <= drawn_[-1] else float("inf")
        judge(f"{name}: labels for the error of {STEPS[-1]} random ones", needed, STEPS[-1], at_least=False)


# ---- novelty --------------------------------------------------------------------------------------------------------


def novelty(folder, n, n_classes):
    """AUC of telling trees of a class held out of training from others that were held out, by class."""
    for name, forest in corpora(folder, n):
        classes, times = np.unique(forest.target, return_counts=True)
        found = []
        for new in classes[np.argsort(-times, kind="stable")][:n_classes]:
            rng = np.random.default_rng(0)
            is_new = np.asarray(forest.target) == new
            old = rng.permutation(np.flatnonzero(~is_new))
            train, test = (
                forest.take(np.sort(old[::2])),
                forest.take(np.sort(np.append(old[1::2], np.flatnonzero(is_new)))),
            )
            truth = np.asarray(test.target) == new
            model = ab.PatternMixture(random_state=0, n_chains=1, n_iter=2).fit(train)
            encoder = ab.TreePatterns(norm="l2").fit(train)
            rows, others = encoder.transform(train), encoder.transform(test)
            centre = np.stack(
                [np.asarray(rows[model.labels_ == k].mean(axis=0)).ravel() for k in range(model.n_components_)]
            )
            gap = (np.square(centre).sum(axis=1) - 2 * (others @ centre.T)).min(axis=1)
            trees = IsolationForest(random_state=0).fit(rows)
            watcher = ab.Watcher(model)
            misfit = watcher._by_the_fit(watcher.read(test))[0]  # what `rank` ranks
            new_to = model.novelty(test)
            scores = (-new_to.p_value, new_to.unseen_share, misfit, gap, -trees.score_samples(others))
            found.append([roc_auc_score(truth, score) for score in scores])
        mean = np.mean(found, axis=0)
        told = "p-value {:.3f}, unseen {:.3f}, misfit of a watcher {:.3f}; centroid {:.3f}, isolation forest {:.3f}"
        print(f"  {name}, {len(found)} classes: {told.format(*mean)}")
        judge(f"{name}: share of unseen patterns - best rival", mean[1] - max(mean[3:]), -0.02)


# ---- partial labels -------------------------------------------------------------------------------------------------


def partial(folder, n, seeds):
    """Scores of trees whose class is not given, without known classes and with 5 % of them; INEX 2006, test trees."""
    for name in DEVELOPMENT if folder else ():
        _partial(name, drawn(ab.load_forest(Path(folder, f"{name}.forest")), n, 0), seeds)
    try:
        gain = _partial("INEX 2006", drawn(load_inex2006("test"), n, 0), seeds)
    except DataNotFoundError as error:
        print(f"  {error}")
        return
    judge("INEX 2006: NMI that 5 % of the classes add", gain, 0.0)


def _partial(name, forest, seeds):
    """The figures of one corpus; what the classes add to NMI."""
    classes, scores = np.asarray(forest.target).astype(str), []
    for seed in range(seeds):
        given = np.zeros(forest.n_trees, bool)
        given[np.random.default_rng(seed).permutation(forest.n_trees)[: forest.n_trees // 20]] = True
        known = [one if is_given else None for one, is_given in zip(classes.tolist(), given.tolist(), strict=True)]
        fits = [
            ab.PatternMixture(len(np.unique(classes)), n_chains=1, n_iter=2, random_state=seed).fit(forest, known=what)
            for what in (None, known)
        ]
        told = ab.TreeClassifier(novelty=None, random_state=seed).fit(forest.take(np.flatnonzero(given)))
        labels = [*(fit.labels_ for fit in fits), told.predict(forest)]
        scores.append([score(classes[~given], np.asarray(one)[~given]) for one in labels for score in SCORES])
    mean = np.mean(scores, axis=0)
    told = "; ".join(
        f"{what} {mean[2 * i]:.3f} / {mean[2 * i + 1]:.3f}" for i, what in enumerate(("none", "5 %", "classifier"))
    )
    print(
        f"  {name}, {forest.n_trees} trees, {seeds} seeds, number of classes given: NMI / ARI with {told}", flush=True
    )
    return mean[2] - mean[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", help="a folder of development corpora")
    parser.add_argument("--only", choices=("questions", "novelty", "partial"))
    parser.add_argument("--trees", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, part in (
        ("questions", lambda: questions(options.corpora, options.trees, options.seeds)),
        ("novelty", lambda: novelty(options.corpora, options.trees, options.seeds)),
        ("partial", lambda: partial(options.corpora, options.trees, options.seeds)),
    ):
        if options.only in (None, name):
            begin = time.process_time()
            print(globals()[name].__doc__.splitlines()[0])
            part()
            print(f"  {time.process_time() - begin:.0f} s of CPU", flush=True)
    finish()


if __name__ == "__main__":
    main()
