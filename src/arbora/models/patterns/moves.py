"""Groups merged and split by hand: moves of the partition that a model keeps, and that are played again."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...inference import diagnostics
from . import fitted as ft
from . import marginals as mg
from . import search as se
from .changes import Changing
from .constraints import Given, first_of, make_blocks
from .fitted import Sums
from .marginals import Corpus
from .splits import best_split, best_splits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXAMPLE = '{"merge": [0, 5]}, {"split": [3, 8]} or {"split": [[3, 4], [8]]}'


class FittedTrees(NamedTuple):
    """The trees of the fit, read again."""

    forest: Any  # all of them
    corpus: Corpus  # those that groups were found on
    features: Floats


class MovedByHand(Changing):
    """Fitted groups of patterns that a person merges and splits."""

    fitted_trees_: Ints
    constraints_: dict[str, Ints]
    known_classes_: list[str] | None
    moves_: list[dict[str, Any]]

    def merge_groups(self, groups: Sequence[int], X: Any = None) -> Self:
        """Make one group of several; groups are then numbered by size again.

        Parameters
        ----------
        groups : sequence of int
            Numbers of the groups, two or more.
        X : Forest, or what makes one, or None, default None
            The trees of the fit.  With them, scores for `novelty` and splits are computed anew.  Without, scores stay
            those of before, and there are no splits.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_of_fit()
        chosen = np.unique(self._groups(groups))
        if len(chosen) < 2:
            raise SettingError(f"groups={groups!r:.80}; wanted two or more groups to merge")
        self._check_may_merge(chosen)
        trees = None if X is None else self._read_again(X)
        step = {"merge": [self._first_tree(k) for k in chosen.tolist()]}
        number = np.arange(self.n_components_)
        number[chosen] = chosen[0]
        number = mg.compact(number)
        count = np.zeros((int(number.max()) + 1, self.pattern_count_.shape[1]), np.int64)
        np.add.at(count, number, self.pattern_count_)
        sums = Sums(count, np.bincount(number, self.group_size_).astype(np.int64))
        self._moved(sums, number[self.labels_], trees, step)
        return self

    def split_group(self, group: int, X: Any, apart: Any = None) -> Self:
        """Part a group in two; groups are then numbered by size again.

        The parts are those of highest log posterior that some tries find (`splits`), among those that keep `apart` and
        the constraints of the fit.

        Parameters
        ----------
        group : int
            Number of the group.
        X : Forest, or what makes one
            The trees of the fit.
        apart : pair or None, default None
            Two trees of the group that go into different parts, by their numbers; or two lists of trees, each of one
            part.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_of_fit()
        (k,) = self._groups([group]).tolist()
        sides = None if apart is None else self._sides(k, apart)
        trees = self._read_again(X)
        step: dict[str, Any] = {"split": [self._first_tree(k)] if sides is None else sides}
        corpus = trees.corpus._replace(blocks=None)
        given = self._given(sides)
        if given is not None:
            corpus = corpus._replace(blocks=make_blocks(given, corpus.rows, self.fitted_trees_))
        mine = np.flatnonzero(self.left_out_label_ == k)
        rng = np.random.default_rng(0)
        gain, side = best_split(rng, corpus, trees.features, self._tables(corpus), mine, self.n_components_)
        if gain == -np.inf:
            raise SettingError(f"group {k}: it cannot be parted, for it has one tree, or constraints hold it together")
        label = self.left_out_label_.copy()
        label[mine[side == 1]] = self.n_components_
        whole = self.labels_.copy()
        whole[self.fitted_trees_] = label
        sums = ft.sums_of(corpus, label)
        self._set_sums(sums)
        rest = np.setdiff1d(np.flatnonzero(whole == k), self.fitted_trees_)
        if len(rest):  # trees that the groups were not found on
            score = self.predict_log_proba(trees.forest.take(rest))[:, [k, -1]]
            whole[rest[score[:, 1] > score[:, 0]]] = len(sums.size) - 1
        self._moved(sums, whole, trees, step)
        return self

    def steer(self, X: Any, moves: Sequence[Mapping[str, Any]]) -> Self:
        """Merge and split groups that are named by trees they hold, one move after another.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees of the fit.
        moves : sequence of mappings
            ``{"merge": [0, 5]}``: the groups of trees 0 and 5 become one.  ``{"split": [3, 8]}``: the group of trees 3
            and 8 is parted between them; ``{"split": [[3, 4], [8]]}`` has several trees on a side, and parts each group
            that holds trees of both; ``{"split": [3]}`` leaves the parting to the model.  `moves_` holds such moves.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_of_fit()
        if not isinstance(moves, (list, tuple)):
            raise SettingError(f"moves={moves!r:.80}; wanted a list of moves, as {EXAMPLE}")
        for move in moves:
            if not isinstance(move, Mapping) or len(move) != 1 or not set(move) <= {"merge", "split"}:
                raise SettingError(f"move {move!r:.80}; wanted {EXAMPLE}")
            ((kind, trees),) = move.items()
            if not isinstance(trees, (list, tuple)) or (kind == "split" and len(trees) not in (1, 2)):
                raise SettingError(f"move {dict(move)!r:.80}; wanted {EXAMPLE}")
            if kind == "merge":
                self._merge_trees(self._trees(trees), X)
            elif len(trees) == 1:
                (tree,) = self._trees(trees)
                self.split_group(int(self.labels_[tree]), X)
            else:
                self._part(self._checked_sides(trees), X)
        return self

    def _merge_trees(self, trees: list[int], X: Any) -> None:
        """Make one group of those of some trees, unless they are one already."""
        if len(set(trees)) < 2:
            raise SettingError(f"merge of trees {trees}; wanted two trees or more")
        groups = {int(self.labels_[t]) for t in trees}
        if len(groups) > 1:
            self.merge_groups(sorted(groups), X)

    def _part(self, sides: list[list[int]], X: Any) -> None:
        """Part every group that holds trees of both sides between them."""
        while shared := set.intersection(*({int(self.labels_[t]) for t in side} for side in sides)):
            k = min(shared)
            self.split_group(k, X, [[t for t in side if self.labels_[t] == k] for side in sides])

    # ---- what a move may be -------------------------------------------------------------------------------------

    def _check_of_fit(self) -> None:
        check_is_fitted(self, "group_size_")
        n_trees, n_fitted = int(self.provenance_["n_trees"]), int(self.group_size_.sum())
        if len(self.labels_) != n_trees or n_fitted != len(self.fitted_trees_):
            raise SettingError("trees were added or taken out since the fit; move groups right after it, or fit again")

    def _groups(self, groups: Any) -> Ints:
        """Groups that are there."""
        for k in groups:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < self.n_components_:
                raise SettingError(f"group {k!r:.40}; wanted a number from 0 to {self.n_components_ - 1}")
        return np.array(list(groups), np.int64)

    def _trees(self, trees: Any) -> list[int]:
        """Trees of a move."""
        for t in trees:
            if isinstance(t, bool) or not isinstance(t, int | np.integer) or not 0 <= t < len(self.labels_):
                raise SettingError(f"tree {t!r:.40} of a move; wanted a number from 0 to {len(self.labels_) - 1}")
        return [int(t) for t in trees]

    def _sides(self, group: int, apart: Any) -> list[list[int]]:
        """Trees of one part, and of the other, all of the group."""
        sides = self._checked_sides(apart)
        for t in [*sides[0], *sides[1]]:
            if self.labels_[t] != group:
                raise SettingError(f"apart: tree {t} is in group {self.labels_[t]}; wanted trees of group {group}")
            if t not in self.fitted_trees_:
                raise SettingError(f"apart: tree {t} is not among those groups were found on; raise fit_on")
        return sides

    def _checked_sides(self, apart: Any) -> list[list[int]]:
        """Trees of one part, and of the other."""
        if not isinstance(apart, (list, tuple)) or len(apart) != 2:
            raise SettingError(f"apart={apart!r:.80}; wanted two trees of the group, or two lists of its trees")
        sides = [self._trees(one if isinstance(one, (list, tuple)) else [one]) for one in apart]
        if not all(sides) or set(sides[0]) & set(sides[1]):
            raise SettingError(f"apart={apart!r:.80}; wanted one tree or more on each side, none on both")
        return sides

    def _check_may_merge(self, groups: Ints) -> None:
        """Raise where the constraints of the fit keep groups apart."""
        classes = [f"class {name!r} is group {k}" for name, k in self.class_groups_.items() if k in groups]
        if len(classes) > 1:
            raise SettingError(f"merge of groups {groups.tolist()}: {', '.join(classes)}; take out a known class")
        for a, b in self.constraints_["cannot_link"].tolist() if hasattr(self, "constraints_") else []:
            if self.labels_[a] != self.labels_[b] and np.isin(self.labels_[[a, b]], groups).all():
                raise SettingError(f"merge of groups {groups.tolist()}: cannot_link ({a}, {b}); take out the pair")

    @property
    def class_groups_(self) -> dict[str, int]:
        """Group of each class that was known for some trees of the fit."""
        check_is_fitted(self, "group_size_")
        if not self.known_classes_:
            return {}
        return dict(zip(self.known_classes_, self.constraints_["class_group"].tolist(), strict=True))

    # ---- what a move does ---------------------------------------------------------------------------------------

    def _first_tree(self, group: int) -> int:
        """The first tree that groups were found on in a group, which names it in a move."""
        return int(self.fitted_trees_[self.left_out_label_ == group][0])

    def _given(self, sides: list[list[int]] | None) -> Given | None:
        """Constraints of the fit, and those of a split."""
        none, pairs = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
        given = Given(none, none, (), pairs, pairs)
        if hasattr(self, "constraints_"):
            kept = {name: value for name, value in self.constraints_.items() if name != "class_group"}
            given = Given(classes=tuple(self.known_classes_ or ()), **kept)
        if sides is not None:
            tied = [[side[0], t] for side in sides for t in side[1:]]
            must = np.vstack([given.must_link, np.array(tied, np.int64).reshape(-1, 2)])
            cannot = np.vstack([given.cannot_link, [[sides[0][0], sides[1][0]]]])
            given = given._replace(must_link=must, cannot_link=cannot)
        return given if len(given.trees()) else None

    def _tables(self, corpus: Corpus) -> Any:
        return mg.make_tables(corpus, self.strengths_, self.power_, self.model_.prior)

    def _read_again(self, X: Any) -> FittedTrees:
        """The patterns of the trees of the fit; raises if these are other trees."""
        forest = self._check_trees(X)
        model = self.model_
        if forest.n_trees == len(self.labels_):
            known = self.patterns_.transform(forest.take(self.fitted_trees_))
            corpus = Corpus(ft.rows_of(known, model), model.share, model.family, len(model.strengths))
            found = ft.sums_of(corpus, self.left_out_label_)
            # Sums of models lack rare patterns of their parts.
            summed = "sum_of" in self.provenance_ and self.min_trees > 1
            if np.array_equal(found.count, model.sums.count) or (summed and (found.count >= model.sums.count).all()):
                return FittedTrees(forest, corpus, se.directions(se.tfidf_rows(corpus), 0))
        raise SettingError("X: these are not the trees of the fit; give the same trees in the same order")

    def _moved(self, sums: Sums, labels: Ints, trees: FittedTrees | None, step: dict[str, Any]) -> None:
        """Take over a partition, with groups by decreasing size."""
        label = labels[self.fitted_trees_]
        new = np.empty(len(sums.size), np.int64)
        new[label] = diagnostics.canonical(label)
        if hasattr(self, "constraints_"):
            kept = self.constraints_
            first = first_of(kept["known_class"], kept["known_tree"], len(self.known_classes_ or []))
            self.constraints_ = {**kept, "class_group": new[labels[first]]}
        count, size = np.empty_like(sums.count), np.empty_like(sums.size)
        count[new], size[new] = sums
        self.labels_, self.left_out_label_ = new[labels], new[label]
        self._set_sums(Sums(count, size))
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        self.split_gain_ = self.split_side_ = None
        self.moves_ = [*self.moves_, step]
        if trees is not None:
            corpus, tables = trees.corpus, self._tables(trees.corpus)
            given = self._given(None)
            if given is not None:
                corpus = corpus._replace(blocks=make_blocks(given, corpus.rows, self.fitted_trees_))
            groups = mg.seat(corpus, tables, self.left_out_label_)
            self.left_out_ = np.maximum(ft.left_out_scores(corpus, tables, groups), -1e300)
            rng = np.random.default_rng(0)
            self.split_gain_, self.split_side_ = best_splits(rng, corpus, trees.features, tables, self.left_out_label_)


def check_moves(moves: Any, n_trees: int) -> None:
    """Raise unless what a file holds are moves."""
    if not isinstance(moves, list):
        raise ValueError("moves_ are no list")
    for move in moves:
        if not isinstance(move, dict) or len(move) != 1 or not set(move) <= {"merge", "split"}:
            raise ValueError("moves_ hold what is no move")
        (trees,) = move.values()
        inside = [t for one in trees for t in (one if isinstance(one, list) else [one])]
        if not inside or not all(type(t) is int and 0 <= t < n_trees for t in inside):
            raise ValueError("moves_ hold what are no trees")
