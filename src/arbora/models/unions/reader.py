"""What a fitted mixture of tree-unions returns for trees: classes, gains, vectors; and merges of its classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ...inference.diagnostics import NEW_GROUP
from ...seeds import resolve_seed
from ..assignments import Assignments
from ..forest_estimator import ForestEstimator
from ..merging import GroupsWithinGroups, Merges
from ..settings import check_count, n_threads
from .matching import Matching, choose_matcher
from .node_codes import Code, mixing_length
from .packed import UnionStore
from .search import Agglomeration
from .tree_union import TreeUnion
from .union_arrays import unflatten
from .union_content import Content, content_code, content_ids, content_values, value_moments
from .working_union import Samples, Union, collect_samples, number_subtrees, single, union_length

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PREDICT_BLOCK = 256  # new trees at a time


class UnionReader(GroupsWithinGroups, ForestEstimator):
    """Estimator with fitted unions; the subclass fits them."""

    labels: bool
    matching: Matching
    novelty: float
    sparse_output: bool
    n_jobs: int | None
    n_components_: int
    weight_: Floats
    description_length_: float
    arrays_: dict[str, NDArray[Any]]
    unions_: list[TreeUnion]
    _unions: list[Union]
    _samples: Samples
    _code: Code
    _content: Content

    def _revive(self) -> None:
        """Unions, samples and code as the search handles them, from the arrays that are saved."""
        self._unions, self._samples, self._code = unflatten(self.arrays_)

    # ---- new trees ----------------------------------------------------------------------------------------------

    def _check_labels(self) -> None:
        """Raise if labels count now and did not in training, or the other way round."""
        fitted = len(self._samples.label) > 0
        if bool(self.labels) != fitted:
            raise SettingError(f"labels={self.labels!r}, but it was fitted with labels={fitted}; fit a new model")

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        self._check_labels()  # the file could not be read
        return super()._pack()

    def _read_new(self, X: Any) -> Forest:
        """New trees; raises if labels count now and did not in training, or the other way round."""
        self._check_labels()
        return self._forest_in_training_terms(X) if self.labels else self._check_forest(X, at_least=0)

    def merge_gains(self, X: Any) -> Floats:
        """What each class gains, in nats, by taking each tree: [tree, class]; below 0 the tree is better off alone."""
        check_is_fitted(self, "vocabulary_")
        forest = self._read_new(X)
        new, _ = self._new_samples(forest)
        return self._gains(new)[new.sample_id]

    def predict(self, X: Any) -> Ints:
        """Class that gains most by taking each tree; -1, a new class, where none gains more than `novelty`.

        A tree that occurred in training, node order aside, is of the class it was put into.
        """
        check_is_fitted(self, "vocabulary_")
        forest = self._read_new(X)
        new, known = self._new_samples(forest)
        return self._labels_of(self._gains(new, known < 0), known)[new.sample_id]

    def _labels_of(self, gain: Floats, known: Ints) -> Ints:
        """Class of each distinct tree."""
        best = gain.argmax(axis=1)
        label = np.where(gain.max(axis=1, initial=-np.inf) > self.novelty, best, NEW_GROUP)
        label[known >= 0] = self._place()[known[known >= 0]]
        return label

    def assign(self, X: Any) -> Assignments:
        """Class, weights of the classes and score of each tree; distinct trees are matched once."""
        check_is_fitted(self, "vocabulary_")
        new, known = self._new_samples(self._read_new(X))
        gain = self._gains(new)
        labels, proba, score = self._labels_of(gain, known), _weights(gain), self._scores_of(new, gain)
        return Assignments(labels[new.sample_id], proba[new.sample_id], score[new.sample_id], new_group=True)

    def map_codes(self, forest: Forest, training: bool = False) -> tuple[Any, str]:
        return self.merge_gains(forest), "what each cluster would gain by taking the tree, in nats"

    def predict_proba(self, X: Any) -> Floats:
        """Weights proportional to 2 ** -(code length) in bits of each tree in each class; the last is a new class."""
        return _weights(self.merge_gains(X))

    def score_samples(self, X: Any) -> Floats:
        """Minus the nats that describing each tree, too, would take, in its best class or in a new one."""
        check_is_fitted(self, "vocabulary_")
        forest = self._read_new(X)
        new, _ = self._new_samples(forest)
        return self._scores_of(new, self._gains(new))[new.sample_id]

    def _scores_of(self, new: Samples, gain: Floats) -> Floats:
        """Score of each distinct tree."""
        n_labels, n = len(self._code.label_prior), len(self.labels_)
        alone = np.array([union_length(single(new, t, n_labels), self._code) for t in range(len(new.weight))])
        saved = gain.max(axis=1, initial=0.0)
        length = mixing_length(n + 1) - mixing_length(n) + alone - saved
        length[np.abs(length) < 1e-9] = 0.0  # rounding
        return np.asarray(0.0 - length)  # and never -0.0

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(self._check_forest(X)).mean())

    def transform(self, X: Any) -> Any:
        """Pattern vectors: which nodes of its class's union each tree has, one block of columns per class.

        The mean over a class is its node probabilities.  Trees of training have the correspondences found there; a new
        tree is matched to the class that gains most, or loses least, by taking it.
        """
        check_is_fitted(self, "vocabulary_")
        forest = self._read_new(X)
        new, known = self._new_samples(forest)
        start = np.append(0, np.cumsum([u.n_nodes for u in self._unions]))
        place, match = self._place(), self._sample_match()
        gain = self._gains(new, known < 0)
        store = self._store_of_classes()
        row: list[Ints] = []
        for t in range(len(new.weight)):
            if known[t] >= 0:
                row.append(start[place[known[t]]] + match[known[t]])
                continue
            c = int(gain[t].argmax())
            tree = store.add(single(new, t, store.n_labels))
            row.append(start[c] + store.match(c, tree).pairs[:, 0])
            store.drop_last()
        rows = [np.sort(row[s]) for s in new.sample_id]
        ends = np.append(0, np.cumsum([len(r) for r in rows]))
        columns = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        out = sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), int(start[-1])))
        return out if self.sparse_output else out.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "vocabulary_")
        names = [f"class{c}_node{u}" for c, union in enumerate(self._unions) for u in range(union.n_nodes)]
        return np.array(names, dtype=object)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Forest:
        """Draw trees: a class by its weight, then a tree from its union (`TreeUnion.sample`); `target` is the class.

        Parameters
        ----------
        n_samples : int, default 1
            Number of trees.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        Forest
            The trees.
        """
        check_is_fitted(self, "vocabulary_")
        check_count("n_samples", n_samples)
        rng = resolve_seed(random_state)
        target = rng.choice(self.n_components_, n_samples, p=self.weight_)
        drawn = [self.unions_[c].sample(1, rng) for c in target]
        return Forest.concat(drawn).with_target(target)

    # ---- groups within groups -----------------------------------------------------------------------------------

    def merges(self) -> Merges:
        """Merges of the classes down to one, each time the pair that lengthens the description least.

        `merges_` are those of trees that led to the classes.  `log_posterior` is minus the description length.
        """
        check_is_fitted(self, "arrays_")
        store = self._store_of_classes()
        found = Agglomeration(store, list(range(self.n_components_)), self.description_length_)
        while len(found.unions) > 1 and found.step(-np.inf):
            pass
        pair = np.array([sorted((m.first, m.second)) for m in found.history], np.int64).reshape(-1, 2)
        length = [self.description_length_, *(m.description_length for m in found.history)]
        return Merges(pair, np.array([m.gain for m in found.history], np.float64), -np.array(length))

    # ---- what these share ---------------------------------------------------------------------------------------

    def _new_samples(self, forest: Forest) -> tuple[Samples, Ints]:
        """Distinct new trees, one copy each, and the distinct training tree each of them is (-1: none)."""
        new = collect_samples(forest, self.labels, self._moments_of(forest))
        old = self._samples
        n_old, n_new = len(old.weight), len(new.weight)
        root = np.concatenate([old.start[1:], new.start[1:] + old.start[-1]]) - 1
        parent = np.concatenate(
            [
                old.parent + np.repeat(old.start[:-1], np.diff(old.start)),
                new.parent + np.repeat(new.start[:-1] + old.start[-1], np.diff(new.start)),
            ]
        )
        parent[root] = -1
        label = np.concatenate([old.label, new.label]) if self.labels else None
        if self._content:
            known_label = np.zeros(len(parent), np.int64) if label is None else label
            label = content_ids(known_label, np.concatenate([old.moment, new.moment]))
        canon = number_subtrees(parent, None if label is None else label.tolist())[root]
        where = {int(c): t for t, c in enumerate(canon[:n_old])}
        known = np.array([where.get(int(c), -1) for c in canon[n_old:]], np.int64)
        return new._replace(weight=np.ones(n_new, np.int64)), known

    def _moments_of(self, forest: Forest) -> Floats:
        """[node, column, 4] the content that counts, as the search takes it."""
        return value_moments(content_code(self._content), content_values(self._content, forest))

    def _new_store(self, code: Code) -> UnionStore:
        matcher = None if self.matching in ("auto", "alignment") else choose_matcher(self.matching)
        return UnionStore(code, matcher, n_threads(self.n_jobs))

    def _store_of_classes(self) -> UnionStore:
        store = self._new_store(self._code)
        for union in self._unions:
            store.add(union)
        return store

    def _gains(self, new: Samples, wanted: NDArray[np.bool_] | None = None) -> Floats:
        """[distinct new tree, class] gain of taking the tree; -inf for trees that are not wanted."""
        k, n = len(self._unions), len(new.weight)
        out = np.full((n, k), -np.inf)
        todo = np.arange(n) if wanted is None else np.flatnonzero(wanted)
        for lo in range(0, len(todo), PREDICT_BLOCK):
            store = self._store_of_classes()
            block = todo[lo : lo + PREDICT_BLOCK]
            numbers = np.array([store.add(single(new, int(t), store.n_labels)) for t in block], np.int64)
            pairs = np.column_stack([np.tile(np.arange(k), len(block)), np.repeat(numbers, k)])
            out[block] = store.gains(pairs).gain.reshape(len(block), k)
        return out

    def _place(self) -> Ints:
        """Class of each distinct training tree."""
        place = np.empty(len(self._samples.weight), np.int64)
        for c, union in enumerate(self._unions):
            place[union.member] = c
        return place

    def _sample_match(self) -> dict[int, Ints]:
        """Nodes of its class's union that each distinct training tree has."""
        out = {}
        for union in self._unions:
            lo = 0
            for t in union.member.tolist():
                out[t] = union.node_match[lo : lo + self._samples.size(t)]
                lo += self._samples.size(t)
        return out


def _weights(gain: Floats) -> Floats:
    """Weights of the classes, and of a new one last, from what each gains by taking the tree."""
    gain = np.column_stack([gain, np.zeros(len(gain))])
    weight = np.exp(gain - gain.max(axis=1, initial=-np.inf, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
