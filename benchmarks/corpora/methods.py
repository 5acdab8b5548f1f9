"""The methods of the table; each takes a forest, the number of classes (or None) and a seed, and gives groups."""

import warnings

import numpy as np
from networkx import from_scipy_sparse_array
from networkx.algorithms.community import louvain_communities
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

import arbora
from arbora.models.choose import choose_model
from papers.tree_kernels import ODDFeatures

from . import features

MOST_GROUPS = 40  # of mixtures that find their number


def _kmeans(rows, n, seed):
    return KMeans(n, n_init=10, random_state=seed).fit_predict(rows)


def kmeans_subtrees(forest, n, seed):
    return _kmeans(features.tfidf(features.subtrees(forest)), n, seed)


def kmeans_pairs(forest, n, seed):
    return _kmeans(features.tfidf(features.pairs(forest)), n, seed)


def kmeans_paths(forest, n, seed):
    return _kmeans(features.logs(features.paths(forest)), n, seed)


def ward_subtrees(forest, n, seed):
    return AgglomerativeClustering(n).fit_predict(directions(features.tfidf(features.subtrees(forest)), 50, seed))


def directions(rows, n, seed):
    """Singular directions of rows, brought to length one again."""
    n = min(n, min(rows.shape) - 1)
    return normalize(TruncatedSVD(n, random_state=seed).fit_transform(rows)) if n > 1 else rows.toarray()


def spherical_paths(forest, n, seed):
    rows = directions(features.logs(features.paths(forest)), 50, seed)
    return GaussianMixture(n, covariance_type="spherical", n_init=3, random_state=seed).fit_predict(rows)


def gaussian_paths(forest, n, seed):
    rows = directions(features.logs(features.paths(forest)), 50, seed)
    return GaussianMixture(n, covariance_type="diag", n_init=3, random_state=seed).fit_predict(rows)


def _spectral(counts, n, seed):
    """Spectral clustering by the cosine of counts, which is the kernel brought to ones on the diagonal."""
    rows = normalize(counts)
    kernel = (rows @ rows.T).toarray()
    return SpectralClustering(n, affinity="precomputed", random_state=seed).fit_predict(kernel)


def spectral_neighbourhoods(forest, n, seed):
    return _spectral(features.neighbourhoods(forest), n, seed)


def spectral_subtrees(forest, n, seed):
    return _spectral(features.subtrees(forest), n, seed)


def spectral_decomposition(forest, n, seed):
    """Ordered decomposition DAGs, ODD-ST of Da San Martino and others (2012): height 3, weight decay 1."""
    return _spectral(ODDFeatures(height=3).fit_transform(forest), n, seed)


def average_edit_distance(forest, n, seed):
    """Distances are divided by the nodes of both trees, lest groups be those of like size."""
    distances = arbora.edit_distances(forest) / np.add.outer(forest.sizes, forest.sizes)
    return AgglomerativeClustering(n, metric="precomputed", linkage="average").fit_predict(distances)


def bayesian_paths(forest, n, seed):
    rows = directions(features.logs(features.paths(forest)), 50, seed)
    most = min(MOST_GROUPS, forest.n_trees)
    model = BayesianGaussianMixture(n_components=most, covariance_type="diag", max_iter=300, random_state=seed)
    return model.fit_predict(rows)


def hdbscan_paths(forest, n, seed):
    rows = directions(features.logs(features.paths(forest)), 50, seed)
    return HDBSCAN(min_cluster_size=10, copy=True).fit_predict(rows)  # what it calls noise is one group


def hdbscan_subtrees(forest, n, seed):
    rows = directions(features.tfidf(features.subtrees(forest)), 50, seed)
    return HDBSCAN(min_cluster_size=10, copy=True).fit_predict(rows)


def _communities(rows, seed):
    """Louvain communities, resolution 1, of 15 nearest neighbours by cosine."""
    graph = kneighbors_graph(rows, 15, metric="cosine", mode="distance")
    graph.data = np.maximum(1.0 - graph.data, 1e-9)
    found = louvain_communities(from_scipy_sparse_array(0.5 * (graph + graph.T)), seed=seed)
    label = np.empty(graph.shape[0], np.int64)
    for number, nodes in enumerate(found):
        label[list(nodes)] = number
    return label


def communities_pairs(forest, n, seed):
    return _communities(features.tfidf(features.pairs(forest)), seed)


def communities_subtrees(forest, n, seed):
    return _communities(features.tfidf(features.subtrees(forest)), seed)


def communities_paths(forest, n, seed):
    return _communities(features.logs(features.paths(forest)), seed)


def tsne_subtrees(forest, n, seed):
    """HDBSCAN on two dimensions of t-SNE, as topics of texts are often found."""
    rows = directions(features.tfidf(features.subtrees(forest)), 50, seed)
    plane = TSNE(init="random", random_state=seed).fit_transform(rows)
    return HDBSCAN(min_cluster_size=10, copy=True).fit_predict(plane)


def spectral_neighbours(forest, n, seed):
    """Spectral clustering of 15 nearest neighbours by cosine of tf-idf of pairs."""
    graph = kneighbors_graph(features.tfidf(features.pairs(forest)), 15, metric="cosine")
    cut = SpectralClustering(n, affinity="precomputed", assign_labels="cluster_qr", random_state=seed)
    return cut.fit_predict(0.5 * (graph + graph.T))


def hidden_trees(forest, n, seed):
    return arbora.HiddenTreeMixture(n, random_state=seed).fit_predict(forest)


def infinite_hidden_trees(forest, n, seed):
    return arbora.InfiniteHiddenTreeMixture(random_state=seed).fit_predict(forest)


def pattern_mixture(forest, n, seed):
    """Patterns of labels, or of sizes where `choose_model` takes those."""
    labels = "sizes" if choose_model(forest).model == "sizes" else "given"
    return arbora.PatternMixture(n, labels=labels, random_state=seed).fit_predict(forest)


def grammar_mixture(forest, n, seed):
    return arbora.TreeGrammarMixture(n, random_state=seed).fit_predict(forest)


GIVEN = {
    "k-means, tf-idf of subtrees to height 3": kmeans_subtrees,
    "k-means, tf-idf of pairs": kmeans_pairs,
    "k-means, log counts of root paths": kmeans_paths,
    "Ward, tf-idf of subtrees": ward_subtrees,
    "spherical mixture, root paths": spherical_paths,
    "Gaussian mixture, root paths": gaussian_paths,
    "spectral, Weisfeiler-Lehman kernel": spectral_neighbourhoods,
    "spectral, subtree kernel": spectral_subtrees,
    "spectral, ODD kernel": spectral_decomposition,
    "spectral, neighbours by pairs": spectral_neighbours,
    "average linkage, edit distances": average_edit_distance,
    "HiddenTreeMixture": hidden_trees,
    "PatternMixture": pattern_mixture,
    "TreeGrammarMixture": grammar_mixture,
}
UNKNOWN = {
    "Bayesian Gaussian mixture, root paths": bayesian_paths,
    "HDBSCAN, root paths": hdbscan_paths,
    "HDBSCAN, tf-idf of subtrees": hdbscan_subtrees,
    "t-SNE and HDBSCAN, tf-idf of subtrees": tsne_subtrees,
    "Louvain communities, tf-idf of pairs": communities_pairs,
    "Louvain communities, tf-idf of subtrees": communities_subtrees,
    "Louvain communities, root paths": communities_paths,
    "InfiniteHiddenTreeMixture": infinite_hidden_trees,
    "PatternMixture, number learnt": pattern_mixture,
    "TreeGrammarMixture, number learnt": grammar_mixture,
}
MOST_NODES = {average_edit_distance: 40}  # nodes of a tree on average, above which a method takes too long
SEEDLESS = (average_edit_distance,)


def feasible(method, forest):
    """Whether a method ends in a minute or so on these trees."""
    return forest.n_nodes <= MOST_NODES.get(method, np.inf) * forest.n_trees


def quiet(method, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(*arguments)
