"""TreePatterns: trees as sparse rows of the local patterns they contain."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ...forest.trees import Trees
from ..file_checks import check_array, check_whole
from ..forest_estimator import ForestEstimator
from ..settings import check_choice, check_count
from ..sparse_frames import SparseFrames
from . import families as fm
from .sizes import label_by_size
from .table import Known, Learnt, PatternTable, Writer, choose, count_known, from_arrays, known_of, learn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_HASHED = 2**31 - 1


class TreePatterns(SparseFrames, TransformerMixin, ForestEstimator):
    """Turn each tree into a sparse row of the local patterns it contains.

    A `ForestStore` is read file by file, twice, on a Dask cluster if there is one.  Memory holds the distinct patterns
    of all trees and the sparse result.

    Parameters
    ----------
    families : sequence of str, default ("rules", "rules2", "bigrams")
        Families of patterns, with one column per distinct pattern of each: "labels"; "pairs" (label of the parent,
        label); "slots" (slot, label); "paths" (labels from the root, the last eight of them); "rules" (label, ordered
        labels of the children), "rules2" (label, rules of the children), "rules3" (one level more); "sets" (label, set
        of the children's labels); "bigrams" (label, two adjacent children, with marks before the first and after the
        last).
    labels : {"given", "sizes"}, default "given"
        "sizes" labels each node by the number of leaves below it, on a scale of powers of two; it is meant for trees
        without labels.
    values : {"presence", "counts", "log"}, default "presence"
        Values of the columns: 1 if a tree has the pattern, the number of occurrences, or log(1 + count).
    weighting : {"tfidf"} or None, default None
        "tfidf" multiplies each column by log((1 + n_trees) / (1 + trees with the pattern)) + 1.
    norm : {"l2"} or None, default None
        "l2" scales every row to length one.
    min_trees : int, default 2
        Patterns that occur in fewer training trees have no column.
    max_patterns : int or None, default None
        Largest number of columns; the patterns that occur in most trees are kept.
    n_hashed : int or None, default None
        Number of columns into which patterns are hashed, instead of exact columns.  Patterns may then share a column,
        columns have no text, and only weights are learnt from the trees.

    Attributes
    ----------
    vocabulary_ : tuple of str
        Labels of the training trees.  Missing and unseen labels are treated as two more labels.
    family_ : ndarray of shape (n_columns,)
        Family of each column.
    document_frequency_ : ndarray of shape (n_columns,)
        Number of training trees with the pattern of each column.
    example_ : ndarray of shape (n_columns, 2)
        One occurrence of each pattern: training tree, and node of that tree.
    n_trees_seen_ : int
        Number of training trees.
    without_column_ : ndarray of shape (n_families,)
        Share of the patterns of each family, counted once per training tree, that have no column.

    Examples
    --------
    >>> from arbora import TreePatterns
    >>> patterns = TreePatterns(["rules"])
    >>> rows = patterns.fit_transform([("a", ["b", "c"]), ("a", ["b", "c"]), "b"])
    >>> patterns.pattern_texts(), rows.toarray().tolist()
    (['b', 'c', 'a(b, c)'], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "keys_",
        "document_frequency_",
        "example_",
        "n_trees_seen_",
        "provenance_",
    )
    _saved_if_there: ClassVar[tuple[str, ...]] = ("without_column_",)

    def __init__(
        self,
        families: Sequence[str] = fm.DEFAULT,
        *,
        labels: Literal["given", "sizes"] = "given",
        values: Literal["presence", "counts", "log"] = "presence",
        weighting: Literal["tfidf"] | None = None,
        norm: Literal["l2"] | None = None,
        min_trees: int = 2,
        max_patterns: int | None = None,
        n_hashed: int | None = None,
    ):
        self.families = families
        self.labels = labels
        self.values = values
        self.weighting = weighting
        self.norm = norm
        self.min_trees = min_trees
        self.max_patterns = max_patterns
        self.n_hashed = n_hashed

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the patterns; y is ignored."""
        self._learn(self._check_trees(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Learn the patterns, and give the rows of the training trees; y is ignored.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        **params : object
            Ignored.

        Returns
        -------
        array
            One row per tree.
        """
        forest = self._check_trees(X)
        known = self._learn(forest)
        return self.transform(forest) if known is None else self._framed(self._weighed(known.counts))

    def _learn(self, forest: Trees) -> Known | None:
        """Learn from trees; what they have, where that is known already."""
        self._check_settings()
        names = list(self.families)
        self._record_provenance(forest)
        forest = self._labelled(forest)
        self.vocabulary_ = forest.vocabulary
        self.n_trees_seen_ = forest.n_trees
        if self.n_hashed is not None:
            self.__dict__.pop("without_column_", None)
            self.keys_ = None
            self.example_ = np.zeros((0, 2), np.int64)
            with_it = np.zeros(self.n_hashed, np.int64)
            if self.weighting is not None:
                for counts in self._hashed(forest):
                    with_it += np.bincount(counts.indices, minlength=self.n_hashed)
            self.document_frequency_ = with_it
            return None
        held: list[dict[str, fm.FamilyPart]] = []
        if forest.in_memory is None:
            parts: Any = forest.over_parts(_patterns_of_part, None, names)
        else:
            held.append(fm.find_patterns(forest.in_memory, names))
            parts = [(forest.n_trees, held[0])]
        learnt = learn(parts, names)
        table, with_it, example = choose(learnt, names, self.min_trees, self.max_patterns)
        self.without_column_ = _without_column(learnt, table, with_it)
        self.keys_ = table.to_arrays()
        self.document_frequency_, self.example_ = with_it, example
        self._table = table
        if not held:
            return None
        return known_of(held[0], table, fm.look_up(table.keys, {name: part.keys for name, part in held[0].items()}))

    def _check_settings(self) -> None:
        check_families(self.families)
        check_choice("labels", self.labels, ("given", "sizes"))
        check_choice("values", self.values, ("presence", "counts", "log"))
        check_choice("weighting", self.weighting, (None, "tfidf"))
        check_choice("norm", self.norm, (None, "l2"))
        check_count("min_trees", self.min_trees)
        for name in ("max_patterns", "n_hashed"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.n_hashed is not None and self.n_hashed > MAX_HASHED:
            raise SettingError(f"n_hashed={self.n_hashed}; wanted at most {MAX_HASHED}")

    # ---- trees --------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Patterns of each tree, a sparse row per tree; those that are no column are left out."""
        forest = self._in_my_terms(X)
        if self.n_hashed is not None:
            blocks = list(self._hashed(forest))
        else:
            blocks = [known.counts for known in self.known(forest)]
        counts = blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.vstack(blocks, format="csr"))
        return self._framed(self._weighed(counts))

    def unseen_share(self, X: Any) -> Floats:
        """Share of the distinct patterns of each tree that have no column."""
        forest = self._in_my_terms(X)
        if self.n_hashed is not None:
            raise SettingError("unseen_share: hashed columns hold every pattern; set n_hashed=None")
        return np.concatenate([share_of_unseen(known) for known in self.known(forest)])

    def known(self, forest: Trees) -> Iterator[Known]:
        """Counts of known patterns, part by part; labels must be numbered as in training.

        Parameters
        ----------
        forest : Forest
            The trees.

        Returns
        -------
        Iterator[Known]
            Counts of known patterns, part by part.
        """
        return forest.over_parts(_known_of_part, None, self.table)

    def _in_my_terms(self, X: Any) -> Trees:
        check_is_fitted(self, "vocabulary_")
        forest = self._labelled(self._check_trees(X, at_least=0))
        # Hashes are of label texts, which no vocabulary may cut.
        return forest if self.n_hashed is not None else forest.with_vocabulary(self.vocabulary_)

    def _labelled(self, forest: Trees) -> Trees:
        """The trees with the labels that patterns are made of."""
        if self.labels == "given":
            return forest
        if forest.in_memory is None:
            raise SettingError("labels='sizes': trees in memory are wanted; read the store with to_forest()")
        return label_by_size(forest.in_memory)

    def _hashed(self, forest: Trees) -> Iterator[Any]:
        return forest.over_parts(
            _hashed_part, None, list(self.families), label_hashes(forest.vocabulary), self.n_hashed
        )

    def _weighed(self, counts: Any) -> Any:
        """Counts as the values asked for."""
        rows = sparse.csr_array(counts, copy=True)
        if self.values == "presence":
            rows.data[:] = 1.0
        elif self.values == "log":
            rows.data = np.log1p(rows.data)
        if self.weighting == "tfidf":
            idf = np.log((1.0 + self.n_trees_seen_) / (1.0 + self.document_frequency_)) + 1.0
            rows.data *= idf[rows.indices]
        return unit_rows(rows) if self.norm == "l2" else rows

    # ---- columns ------------------------------------------------------------------------------------------------

    @property
    def table(self) -> PatternTable:
        """The patterns that are columns, with the keys they are made of."""
        check_is_fitted(self, "vocabulary_")
        if self.keys_ is None:
            raise SettingError("hashed columns have no patterns; set n_hashed=None")
        return self._table

    @property
    def n_features_out_(self) -> int:
        check_is_fitted(self, "vocabulary_")
        return len(self.document_frequency_)

    @property
    def family_(self) -> NDArray[Any]:
        """Family of each column."""
        return np.array(self.table.families, object)[self.table.family_of_columns()]

    def pattern_texts(self, columns: Any = None) -> list[str]:
        """Patterns of columns as text, of all of them without `columns`; the same text may mean two families.

        Parameters
        ----------
        columns : sequence or None, default None
            Numbers of the columns; None is all of them.

        Returns
        -------
        list[str]
            The patterns, in words.
        """
        every = np.arange(self.n_features_out_)
        return Writer(self.table, self.vocabulary_).texts(every if columns is None else every[np.asarray(columns)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`: family and text, or the number of a hashed column."""
        if self.n_hashed is not None:
            check_is_fitted(self, "vocabulary_")
            return np.array([f"hashed{j}" for j in range(self.n_hashed)], object)
        texts = zip(self.family_, self.pattern_texts(), strict=True)
        return np.array([f"{family}:{text}" for family, text in texts], object)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self._check_settings()
        self.families = tuple(self.families)
        check_whole("n_trees_seen_", self.n_trees_seen_, 1, 2**40)
        n_columns = self.n_hashed
        if n_columns is None:
            self._table = from_arrays(self.keys_, self.families, len(self.vocabulary_))
            n_columns = self._table.n_columns
            check_array("example_", self.example_, np.int64, (n_columns, 2), 0)
        elif self.keys_ is not None:
            raise ValueError("hashed columns have no patterns")
        if "without_column_" in vars(self):
            check_array("without_column_", self.without_column_, np.float64, (len(self.families),), 0.0, 1.0)
        check_array("document_frequency_", self.document_frequency_, np.int64, (n_columns,), 0, self.n_trees_seen_)
        return self


def check_families(given: Any) -> None:
    """Raise unless these are different families."""
    names = list(given) if isinstance(given, (list, tuple)) else []
    if not names or len(set(map(str, names))) != len(names) or any(name not in fm.FAMILIES for name in names):
        raise SettingError(f"families={given!r}; wanted a list of different ones of {', '.join(fm.FAMILIES)}")


def _without_column(learnt: Learnt, table: PatternTable, with_it: Ints) -> Floats:
    """Share of the patterns of each family that are no column, each counted once per tree."""
    kept = np.bincount(table.family_of_columns(), with_it, len(table.families))
    every = np.array([learnt.n_trees_with[family].sum() for family in table.families])
    return np.asarray(1.0 - kept / np.maximum(every, 1)).clip(0.0, 1.0)


# ---- part by part, so that workers can do it ------------------------------------------------------------------------


def _patterns_of_part(forest: Forest, _: None, names: list[str]) -> tuple[int, dict[str, fm.FamilyPart]]:
    parts = fm.find_patterns(forest, names)
    return forest.n_trees, {name: part._replace(counts=None) for name, part in parts.items()}


def _known_of_part(forest: Forest, _: None, table: PatternTable) -> Known:
    return count_known(forest, table)


def _hashed_part(forest: Forest, _: None, names: list[str], label_hash: Ints, n_columns: int) -> Any:
    return fm.hashed_patterns(forest, names, label_hash, n_columns)


def share_of_unseen(known: Known) -> Floats:
    """Share of the distinct patterns of each tree that have no column; zero where there is no pattern at all."""
    n_known = np.diff(known.counts.indptr)
    return np.asarray(1.0 - n_known / np.maximum(known.n_distinct, 1)) * (known.n_distinct > 0)


def unit_rows(rows: Any) -> Any:
    """Sparse rows brought to length one; empty ones stay."""
    length = np.sqrt(
        np.bincount(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.data**2, rows.shape[0])
    )
    rows.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(rows.indptr))
    return rows


def label_hashes(vocabulary: Sequence[str]) -> Ints:
    """A number per label code from its text alone: missing, unseen, and the vocabulary."""
    texts = [b"0", b"1", *(b"2" + word.encode("utf-8", "surrogatepass") for word in vocabulary)]
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<i8").astype(np.int64)
