"""Settings to choose between, on the development corpora alone: the rows of the second table of the page."""

import numpy as np
from sklearn.preprocessing import normalize

import arbora

from . import features
from .methods import directions


def _patterns(n_given, **settings):
    def method(forest, n, seed):
        settings.setdefault("n_chains", 1)  # the chains do not change the groups
        settings.setdefault("n_iter", 2)
        return arbora.PatternMixture(n, random_state=seed, **settings).fit_predict(forest)

    return n_given, method


def _hidden(starts=None, **settings):
    def method(forest, n, seed):
        if starts is None:
            return arbora.HiddenTreeMixture(n, random_state=seed, **settings).fit_predict(forest)
        from arbora.models.hidden_tree import fitting

        before = fitting.cluster_start
        fitting.cluster_start = lambda forest, n_slots, n, rng, weight=None: starts(forest, n, rng)
        try:
            return arbora.HiddenTreeMixture(n, random_state=seed, **settings).fit_predict(forest)
        finally:
            fitting.cluster_start = before

    return True, method


def start_from_bigrams(forest, n, rng):
    """Groups by k-means on singular directions of tf-idf rows of sibling bigrams and rules."""
    from sklearn.cluster import KMeans

    columns = arbora.TreePatterns(families=("rules", "rules2", "bigrams"), weighting="tfidf", norm="l2")
    rows = directions(columns.fit_transform(forest), 50, 0)
    seed = int(rng.integers(2**31 - 1))
    return KMeans(n, n_init=10, random_state=seed).fit_predict(rows).astype(np.int64)


def start_from_pairs(forest, n, rng):
    from sklearn.cluster import KMeans

    rows = normalize(features.tfidf(features.pairs(forest)))
    return KMeans(n, n_init=10, random_state=int(rng.integers(2**31 - 1))).fit_predict(rows).astype(np.int64)


def the_start_itself(forest, n, seed):
    return start_from_bigrams(forest, n, np.random.default_rng(seed))


def merged_down(forest, n, seed):
    """As many groups as are wanted by merging those found, best merge first."""
    model = arbora.PatternMixture(random_state=seed, power=1.0, n_chains=1, n_iter=2).fit(forest)
    if model.n_components_ < n:
        return arbora.PatternMixture(n, random_state=seed, n_chains=1, n_iter=2).fit_predict(forest)
    return model.cut(n)


RULES = ("rules", "rules2", "bigrams")
# Name: (whether the number of classes is given, method)
PATTERNS = {
    "patterns, power 1": _patterns(False, power=1.0),
    "patterns, calibrated": _patterns(False, power="calibrated"),
    "patterns, power 0.5": _patterns(False, power=0.5),
    "patterns, power 1.5": _patterns(False, power=1.5),
    "patterns, finite mixtures prior": _patterns(False, prior="finite"),
    "patterns with pairs": _patterns(False, families=(*RULES, "pairs")),
    "patterns with sets": _patterns(False, families=(*RULES, "sets")),
    "patterns, fit on 300": _patterns(False, fit_on=300),
    "patterns, given, power 1": _patterns(True, power=1.0),
    "patterns, given, power 0.5": _patterns(True, power=0.5),
    "patterns, given, with pairs": _patterns(True, families=(*RULES, "pairs")),
    "patterns, given, merged down": (True, merged_down),
}
HIDDEN = {
    "hidden trees, defaults": _hidden(),
    "hidden trees, start from patterns": _hidden(start_from_bigrams),
    "the start from patterns itself": (True, the_start_itself),
    "hidden trees, start from patterns, 5 iterations": _hidden(start_from_bigrams, max_iter=5),
    "hidden trees, start from patterns, no structure": _hidden(start_from_bigrams, structure=None),
    "hidden trees, start from patterns, prior 1.5": _hidden(start_from_bigrams, prior=1.5),
    "hidden trees, start from patterns, 1 state": _hidden(start_from_bigrams, n_states=1),
    "hidden trees, start from patterns, 8 states": _hidden(start_from_bigrams, n_states=8),
}
