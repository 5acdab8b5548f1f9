"""The models: one row each, from which public names, the loader, `--model`, pages and the warm-up all derive.

This module imports nothing, so that `import arbora` stays quick.  A new model is a class and a row here.
"""

#: What a page on a fitted model may hold; a row names what its model has, and `page_parts` what a fitted one has.
PARTS = {
    "clusters": "groups of trees: `labels_`",
    "levels": "groups of rows within groups: `level_labels_`",
    "classes": "known classes of trees: `classes_`",
    "probabilities": "how probable each group is: `predict_proba`",
    "codes": "rows of numbers with names: `transform`, `get_feature_names_out`",
    "sampled": "the groups are those of Markov chains",
    "draws": "the chains themselves, which no model file holds: `trace_`",
    "parameters": "probabilities by hidden state: `hidden_trees`",
    "splits": "finer groupings: `splits`",
    "distances": "distances of its own among the trees of the fit: `distances`",
    "plane": "places of trees and of labels on a plane: `transform`, `lattice_`, `point_labels`",
    "archetypes": "unions of trees, and the order of their merges: `unions_`",
}

_EM = ("n_init", "max_iter", "tol")
_TREE = ("states", "direction", "tied", "absent", "structure", "prior", "n_slots")
_CHAINS = ("sweeps", "chains", "concentration")
_PASSES = ("memory", "scheduler", "checkpoint")


class Model:
    """One row."""

    def __init__(
        self,
        module: str,
        page: tuple[str, ...] = (),
        *,
        cluster: str = "",
        hierarchy: str = "",
        about: str = "",
        options: tuple[str, ...] = (),
        warm_up: tuple[dict[str, object], ...] = (),
        warm_calls: tuple[str, ...] = ("predict",),
    ):
        self.module = module  #: below `arbora.models`
        self.page = page  #: names of `PARTS`
        self.cluster = cluster  #: what one types for it after ``arbora cluster --model``
        self.hierarchy = hierarchy  #: the same of ``arbora hierarchy --model``
        self.about = about  #: a few words for the help of ``--model``
        self.options = options  #: of ``arbora cluster`` that it has, by the names of their parameters
        self.warm_up = warm_up  #: settings of the small fits that compile its kernels
        self.warm_calls = warm_calls  #: read after each of these fits, and called with its data if they are methods


#: Public name -> row.  Every one can be saved and loaded.  Of several that an option fits, `auto` takes the first.
MODELS = {
    "PatternMixture": Model(
        "patterns.mixture",
        ("clusters", "probabilities", "sampled", "draws", "splits"),
        cluster="patterns",
        about="local patterns of labels; the number of groups is learnt, or given",
        options=("components", *_CHAINS, *_PASSES, "known", "constraints", "steer"),
        warm_up=(
            {"n_iter": 4, "n_chains": 1, "random_state": 0},
            {"n_components": 2, "labels": "sizes", "n_iter": 4, "n_chains": 1, "random_state": 0},
        ),
        warm_calls=("predict", "hierarchy_"),
    ),
    "HiddenTreeMixture": Model(
        "hidden_tree.mixture",
        ("clusters", "probabilities", "codes", "parameters"),
        cluster="mixture",
        about="hidden trees",
        options=("components", *_TREE, "content", "init", *_EM, "acceleration", *_PASSES, "known", "constraints"),
        warm_up=(
            {"n_components": 2, "n_states": 2, "max_iter": 2, "random_state": 0},
            {"n_components": 2, "n_states": 2, "max_iter": 2, "random_state": 0, "direction": "down"},
        ),
        warm_calls=("transform", "predict"),
    ),
    "InfiniteHiddenTreeMixture": Model(
        "hidden_tree.infinite",
        ("clusters", "probabilities", "codes", "parameters", "sampled", "draws"),
        cluster="infinite",
        about="hidden trees, the number of groups learnt",
        options=(*_TREE, "content", "update", *_CHAINS, *_PASSES, "known", "constraints"),
        warm_up=(
            {"n_states": 2, "update": "gibbs", "n_iter": 3, "random_state": 0},
            {"n_states": 2, "update": "em", "n_iter": 3, "random_state": 0},
            {"n_states": 2, "direction": "down", "n_iter": 3, "random_state": 0},
        ),
    ),
    "HiddenTree": Model(
        "hidden_tree.single",
        ("clusters", "probabilities", "codes", "parameters"),
        cluster="single",
        about="root states of one hidden tree",
        options=(*_TREE, "content", *_EM, "acceleration", *_PASSES),
    ),
    "TopographicMap": Model(
        "hidden_tree.topographic",
        ("clusters", "probabilities", "codes", "plane"),
        cluster="map",
        about="places of trees on a plane",
        options=("prior", "n_slots", "content", *_EM, "memory", "scheduler"),
        warm_up=({"side": 2, "basis": 2, "n_init": 1, "max_iter": 2, "random_state": 0},),
        warm_calls=("transform", "encode", "predict"),
    ),
    "TreeUnionMixture": Model(
        "unions.mixture",
        ("clusters", "probabilities", "codes", "archetypes"),
        cluster="unions",
        about="shapes, in any order of children",
        options=("components", "labels", "noise_cost", "search"),
        warm_up=({},),
    ),
    "TreeGrammarMixture": Model(
        "grammar.mixture",
        ("clusters", "probabilities", "sampled", "draws"),
        cluster="grammar",
        about="which label follows which",
        options=("components", *_EM, *_CHAINS, *_PASSES),
        warm_up=(
            {"n_components": 2, "max_iter": 2, "random_state": 0},
            {"n_components": None, "number": "process", "n_iter": 4, "n_chains": 1, "random_state": 0},
        ),
    ),
    "TreeEditClustering": Model(
        "edit.clustering", ("clusters", "codes", "distances"), warm_up=({"n_clusters": 2},), warm_calls=()
    ),
    "UnionEmbedding": Model("unions.embedding", ("clusters", "codes", "distances")),
    "NHCM": Model(
        "gaussian.nhcm",
        ("levels", "probabilities", "sampled", "draws"),
        hierarchy="nhcm",
        about="clusters of sub-clusters",
        warm_up=({"n_iter": 4, "n_chains": 1, "random_state": 0},),
    ),
    "DPGaussianMixture": Model(
        "gaussian.dp_gaussian",
        ("levels", "probabilities", "sampled", "draws"),
        hierarchy="dpgmm",
        about="one level of Gaussian groups",
        warm_up=({"n_iter": 4, "n_chains": 1, "random_state": 0},),
    ),
    "BHMC": Model(
        "bhmc.estimator",
        ("levels", "sampled", "draws"),
        hierarchy="bhmc",
        about="a tree of mixtures",
        warm_up=({"n_iter": 4, "n_chains": 1, "random_state": 0},),
    ),
    "RBHMC": Model(
        "bhmc.regularised",
        ("levels", "sampled", "draws"),
        hierarchy="rbhmc",
        about="a tree of mixtures that keeps siblings apart",
        warm_up=({"n_iter": 4, "n_chains": 1, "random_state": 0},),
    ),
    "TreeClassifier": Model(
        "classifiers.tree_classifier",
        ("classes", "probabilities", "codes", "parameters"),
        warm_up=(
            {"encoder": None, "readout": "logistic", "random_state": 0},
            {"encoder": "mixture", "readout": "logistic", "random_state": 0},
        ),
    ),
    "GenerativeTreeClassifier": Model("classifiers.generative", ("classes", "probabilities")),
    "TransducerClassifier": Model(
        "classifiers.transducer",
        ("classes", "probabilities"),
        warm_up=({"n_states": 2, "max_iter": 2, "random_state": 0},),
    ),
    "TreeTransducer": Model("transducer.transducer"),
    "TreeTranslator": Model("translation.translator"),
    "TreePatterns": Model("patterns.transformer", ("codes",)),
    "SlotLabelCounts": Model("classifiers.slot_label_counts", ("codes",)),
}
# Classes that models return or take; they are not saved by themselves.
OTHERS = {"ForestEstimator": "forest_estimator", "TreeUnion": "unions.tree_union"}


def typed(command: str) -> dict[str, str]:
    """What one types after ``--model`` of a command, ``"cluster"`` or ``"hierarchy"``: name -> class."""
    return {name: model for model, row in MODELS.items() if (name := getattr(row, command))}
