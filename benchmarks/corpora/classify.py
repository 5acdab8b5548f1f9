"""Test error of classifiers, one stratified half against the other, for each seed."""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import arbora

from . import features

RULES = ("rules", "rules2", "bigrams")


def _columns_of(train, counts):
    """Columns that two training trees have."""
    often = np.asarray((counts[train] > 0).sum(axis=0)).ravel() > 1
    return counts[:, np.flatnonzero(often)]


def subtrees_svm(forest, y, train, test, seed):
    rows = normalize(_columns_of(train, features.subtrees(forest)))
    return LinearSVC(C=1, random_state=seed).fit(rows[train], y[train]).predict(rows[test])


def log_subtrees_svm(forest, y, train, test, seed):
    counts = _columns_of(train, features.subtrees(forest)).copy()
    counts.data = np.log1p(counts.data)
    rows = normalize(counts)
    return LinearSVC(C=1, random_state=seed).fit(rows[train], y[train]).predict(rows[test])


def _patterns(forest, train, test, families, **options):
    columns = arbora.TreePatterns(families=families, norm="l2", **options)
    return columns.fit_transform(forest.take(train)), columns.transform(forest.take(test))


def patterns_svm(forest, y, train, test, seed):
    known, new = _patterns(forest, train, test, RULES)
    return LinearSVC(C=1, random_state=seed).fit(known, y[train]).predict(new)


def patterns_logistic(forest, y, train, test, seed):
    known, new = _patterns(forest, train, test, RULES)
    return LogisticRegression(C=30, max_iter=300).fit(known, y[train]).predict(new)


def patterns_more_logistic(forest, y, train, test, seed):
    known, new = _patterns(forest, train, test, (*RULES, "pairs", "rules3"))
    return LogisticRegression(C=30, max_iter=300).fit(known, y[train]).predict(new)


def patterns_log_svm(forest, y, train, test, seed):
    known, new = _patterns(forest, train, test, (*RULES, "pairs", "labels"), values="log")
    return LinearSVC(C=1, random_state=seed).fit(known, y[train]).predict(new)


def tree_classifier(forest, y, train, test, seed):
    model = arbora.TreeClassifier(random_state=seed)
    return model.fit(forest.take(train), y[train]).predict(forest.take(test))


TITLES = {
    "linear SVM, subtrees to height 3": subtrees_svm,
    "linear SVM, log counts of subtrees": log_subtrees_svm,
    "patterns, linear SVM": patterns_svm,
    "patterns, logistic": patterns_logistic,
    "patterns, pairs, rules3, logistic": patterns_more_logistic,
    "patterns, pairs, labels, log counts, linear SVM": patterns_log_svm,
    "TreeClassifier": tree_classifier,
}


def _halves(y, seed):
    return train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)


def run(folder, corpora, methods):
    import re

    from .methods import quiet
    from .table import SEEDS, _cell, _write, sample

    for title, method in TITLES.items():
        if not re.search(methods, title):
            continue
        for corpus in corpora:
            forest = None
            for seed in SEEDS:
                path = _cell(folder, corpus, title, seed)
                if path.exists():
                    continue
                forest = forest or sample(arbora.load_forest(folder / f"{corpus}.forest"), 1000)
                y = np.unique(forest.target, return_inverse=True)[1]
                train, test = _halves(y, seed)
                started = time.process_time()
                found = quiet(method, forest, y, train, test, seed)
                cpu = time.process_time() - started
                _write(path, {"error": 100 * float(np.mean(found != y[test])), "cpu": cpu})
                print(corpus, title, seed, path.read_text(encoding="utf-8"), flush=True)
