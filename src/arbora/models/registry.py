"""The models: one row each. Public names, lazy imports, the loader and the warm-up derive from these rows.

This module imports nothing, so that `import arbora` stays quick.
"""

# Public name -> module below `arbora.models` that defines it; every one of them can be saved and loaded.
MODELS = {
    "BHMC": "bhmc.estimators",
    "DPGaussianMixture": "gaussian.dp_gaussian",
    "GenerativeTreeClassifier": "classifiers.generative",
    "HiddenTree": "hidden_tree.single",
    "HiddenTreeMixture": "hidden_tree.mixture",
    "InfiniteHiddenTreeMixture": "hidden_tree.infinite",
    "NHCM": "gaussian.nhcm",
    "PatternMixture": "patterns.mixture",
    "RBHMC": "bhmc.estimators",
    "SlotLabelCounts": "classifiers.slot_label_counts",
    "TreeClassifier": "classifiers.tree_classifier",
    "TreeEditClustering": "edit.clustering",
    "TreeGrammarMixture": "grammar.mixture",
    "TreePatterns": "patterns.transformer",
    "TreeUnionMixture": "unions.mixture",
    "UnionEmbedding": "unions.embedding",
}
# Classes that models return or take; they are not saved by themselves.
OTHERS = {"ForestEstimator": "forest_estimator", "TreeUnion": "unions.tree_union"}
