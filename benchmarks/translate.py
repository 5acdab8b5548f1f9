"""Trees of other shapes: TreeTranslator against copies of neighbours and models that do not look at the input.

    python benchmarks/translate.py FOLDER [signatures] [outlines]

FOLDER keeps downloaded packages.  Each of three splits has 400 training and 200 test pairs.  Settings are chosen by the
log-likelihood of 100 of the training pairs, then everything is fitted to all 400.  Prints a table in Markdown.
"""

import os
import sys
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time

import numpy as np
from corpora.pairs import PAIRS
from scipy.special import logsumexp

import arbora as ab

N_SPLITS, N_TRAIN, N_HELD = 3, 400, 100
COMPONENTS, DECAYS, ENCODERS = (1, 4, 8, 16, 32), (0.1, 1.0, 10.0), (None, "mixture")
NEIGHBOURS, SHARES = (1, 5, 20), (0.1, 0.3, 0.5, 0.7, 0.9)


def key_of(tree):
    """A tree as text, so that equal ones are found."""
    return repr(tree)


EVEN = 1e9  # decay of a gate that does not look at the input


def translator(k, decay, encoder, seed):
    return ab.TreeTranslator(k, 4, decay=decay, encoder=encoder, random_state=seed)


class Neighbours:
    """Training pairs by the cosine of the patterns of their inputs."""

    def __init__(self, x, y):
        self.patterns = ab.TreePatterns(values="log", weighting="tfidf", norm="l2", min_trees=1).fit(x)
        self.codes, self.outputs = self.patterns.transform(x), y

    def nearest(self, x, n):
        alike = (self.patterns.transform(x) @ self.codes.T).toarray()
        return np.argsort(-alike, axis=1, kind="stable")[:, :n]

    def share_of_copies(self, x, y, n):
        """For each pair, the share of the n nearest whose output is its own."""
        known = np.array([key_of(tree) for tree in self.outputs])
        return np.mean(known[self.nearest(x, n)] == np.array([key_of(t) for t in y])[:, None], axis=1)


def smoothed(copies, log_p, share):
    """Log of the share of copies mixed with a model that gives every tree a probability."""
    with np.errstate(divide="ignore"):
        return logsumexp([np.log(share) + np.log(copies), np.log1p(-share) + log_p], axis=0)


def medoid(y):
    distance = ab.edit_distances(y, progress=False)
    return int(distance.sum(axis=1).argmin())


def judged(predicted, truth):
    """Mean edit distance and share of exact matches in per cent."""
    far = [ab.edit_distance(a, b) for a, b in zip(predicted, truth, strict=True)]
    return float(np.mean(far)), 100.0 * float(np.mean(np.asarray(far) == 0))


def choose(settings, make, score):
    """The setting of the best held-out log-likelihood."""
    found = {setting: score(make(*setting)) for setting in settings}
    return max(found, key=found.get)


def one_split(x, y, seed):
    """(log-likelihood, edit distance, exact matches) of every way on one split."""
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    fit, held = train[:-N_HELD], train[-N_HELD:]
    results, chosen = {}, {}
    # The mixture of outputs alone.
    (k,) = choose(
        [(k,) for k in COMPONENTS],
        lambda k: translator(k, EVEN, None, seed).fit(x[fit], y[fit]),
        lambda m: m.score(x[held], y[held]),
    )
    plain_before = translator(k, EVEN, None, seed).fit(x[fit], y[fit])
    plain = translator(k, EVEN, None, seed).fit(x[train], y[train])
    chosen["mixture of outputs alone"] = f"{k} components"
    score, drawn = plain.score(x[test], y[test]), plain.sample(x[test], random_state=seed)
    results["mixture of outputs alone, predict"] = (score, *judged(plain.predict(x[test]), y[test]))
    results["mixture of outputs alone, sample"] = (score, *judged(drawn, y[test]))
    # The translator, conditioned on two kinds of codes.
    for encoder in ENCODERS:
        name = f"TreeTranslator, {'patterns' if encoder is None else 'codes of a mixture'}"
        settings = [(k, decay, encoder) for k in COMPONENTS[1:] for decay in DECAYS]
        best = choose(
            settings,
            lambda *way: translator(*way, seed).fit(x[fit], y[fit]),
            lambda m: m.score(x[held], y[held]),
        )
        start = time.process_time()
        model = translator(*best, seed).fit(x[train], y[train])
        chosen[name] = f"{best[0]} components, decay {best[1]:g}, {time.process_time() - start:.1f} s"
        score = model.score(x[test], y[test])
        results[f"{name}, predict"] = (score, *judged(model.predict(x[test]), y[test]))
        results[f"{name}, sample"] = (score, *judged(model.sample(x[test], random_state=seed), y[test]))
    # Copies.
    names = [key_of(tree) for tree in y[train]]
    values, counts = np.unique(names, return_counts=True)
    common = y[train][[names.index(values[counts.argmax()])] * len(test)]
    middle = y[train][[medoid(y[train])] * len(test)]
    near, near_before = Neighbours(x[train], y[train]), Neighbours(x[fit], y[fit])
    log_p, log_before = plain.score_samples(x[test], y[test]), plain_before.score_samples(x[held], y[held])
    n, share = choose(
        [(n, share) for n in NEIGHBOURS for share in SHARES],
        lambda n, share: smoothed(near_before.share_of_copies(x[held], y[held], n), log_before, share),
        np.mean,
    )
    chosen["output of the nearest neighbour"] = f"copies of {n}, share {share:g}"
    copies = smoothed(near.share_of_copies(x[test], y[test], n), log_p, share).mean()
    results["most common output"] = (np.nan, *judged(common, y[test]))
    results["medoid of the outputs"] = (np.nan, *judged(middle, y[test]))
    results["output of the nearest neighbour"] = (copies, *judged(y[train][near.nearest(x[test], 1)[:, 0]], y[test]))
    return results, chosen


def main():
    warnings.simplefilter("ignore")
    folder, *names = sys.argv[1:]
    for name in names or PAIRS:
        x, y = PAIRS[name](folder)
        kinds = len({key_of(tree) for tree in y})
        print(f"{name}: {len(x)} pairs, {x.n_nodes / len(x):.0f} and {y.n_nodes / len(y):.1f} nodes, {kinds} outputs")
        splits = [one_split(x, y, seed) for seed in range(N_SPLITS)]
        print("| | log P per pair | edit distance | exact, % |\n|---|---|---|---|", flush=True)
        for way in splits[0][0]:
            cells = np.array([found[way] for found, _ in splits])
            told = [f"{mean:.2f} ({sd:.2f})" for mean, sd in zip(cells.mean(axis=0), cells.std(axis=0), strict=True)]
            print(f"| {way} | {' | '.join(told)} |".replace("nan (nan)", "-"))
        for way in splits[0][1]:
            print(f"{way}: {'; '.join(chosen[way] for _, chosen in splits)}", flush=True)


if __name__ == "__main__":
    main()
