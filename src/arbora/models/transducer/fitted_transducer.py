"""FittedTransducer: what a fitted transducer gives for nodes and for whole trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import ForestError, SettingError
from ...forest.forest import Forest
from ...forest.sharing import SharedForest
from ...seeds import resolve_seed
from ..forest_estimator import ForestEstimator
from ..hidden_tree.lanes import Workspace
from ..hidden_tree.passes import Batch
from ..settings import n_threads
from . import node_outputs as no
from .coded_trees import CodedTrees, Sizes
from .input_output_tree import BoundTree, InputOutputTree, Params
from .kernels import choices, passes
from .tree_rules import RULES, by_tree, lanes_of

Floats = NDArray[np.float64]

TABLES = ("leaf_prob_", "switch_prob_", "transition_prob_", "absent_prob_", "output_prob_")


class FittedTransducer(ForestEstimator):
    """Outputs of nodes and of trees by a fitted model; the subclass has the settings and fits."""

    n_jobs: int | None
    shard_bytes: int
    shared: bool

    outputs_: NDArray[Any]
    output_prob_: Floats
    pairs_: NDArray[np.int64]
    n_slots_: int

    def _check_params(self) -> tuple[str, ...]:
        """Raise on impossible settings; what is tied, in order."""
        raise NotImplementedError

    def _fitted(self) -> tuple[InputOutputTree, Params]:
        check_is_fitted(self, "outputs_")
        tie = self._check_params()
        width = 1 if "transition" in tie else max(1, len(self.vocabulary_))
        key = self.pairs_[:, 0] * width + self.pairs_[:, 1]
        sizes = (self.n_slots_, len(self.vocabulary_), self.output_prob_.shape[1], len(self.outputs_))
        return InputOutputTree(*sizes, tie, key), Params(*(getattr(self, name)[..., None] for name in TABLES))

    def _batch(
        self, model: InputOutputTree, coded: CodedTrees, lanes: str = "known", weight: Floats | None = None
    ) -> Batch:
        """The trees as shards, ready for the passes."""
        bound: Any = BoundTree(model, coded.codes, lanes)
        n_lanes = model.n_outputs if lanes == "classes" else 1
        shards = coded.shards(max(1024, self.shard_bytes // _unit_bytes(model, n_lanes)), self.shared)
        return Batch(bound, shards, weight, n_threads(self.n_jobs))

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any, known: Any = None) -> Floats:
        """Probability of each output at every node, columns as in `outputs_`.

        Parameters
        ----------
        X : Forest, ForestStore or trees
            The trees.
        known : as y of `fit`, or None, default None
            Outputs that are known; they change the probabilities at other nodes.  At their own node they are certain.

        Returns
        -------
        ndarray of shape (n_nodes, n_outputs)
            Probabilities, nodes in their order.
        """
        model, params = self._fitted()
        coded = self._coded(X, known)
        bound = BoundTree(model, coded.codes)
        flow, table = bound.prepare(params), np.ascontiguousarray(model.outputs(params))
        found = [np.zeros((0, model.n_outputs))]
        for shard in self._plain(coded, model):
            messages, log_prob = bound.upward(flow, params, shard, Workspace())
            weight = np.isfinite(log_prob).astype(np.float64)
            state, proba = np.empty((shard.n_units, model.n_states)), np.empty((shard.n_units, model.n_outputs))
            bound.downward(flow, shard, messages, weight, bound.empty_sums(1), state)
            passes.output_marginals(shard.units, flow.row_input, state, table, proba)
            total = proba.sum(axis=1, keepdims=True)  # zero in trees whose known outputs are impossible
            proba = np.where(total > 0, proba / np.where(total > 0, total, 1.0), 1.0 / model.n_outputs)
            output = coded.codes.row_output[shard.units.label]
            proba[output >= 0] = np.eye(model.n_outputs)[output[output >= 0]]
            found.append(proba)
        return np.concatenate(found)

    def predict(self, X: Any, known: Any = None) -> NDArray[Any]:
        """Likeliest output of every node, each by itself; `known` as for `predict_proba`.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        known : array or None, default None
            Outputs that are known, one per node.

        Returns
        -------
        ndarray
            The most probable value of each.
        """
        best = self.predict_proba(X, known).argmax(axis=1)
        return np.asarray(self.outputs_[best])

    def decode(self, X: Any, known: Any = None) -> NDArray[Any]:
        """Outputs of all nodes in the likeliest joint choice of states, switches and outputs of each tree.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        known : array or None, default None
            Outputs that are known, one per node.

        Returns
        -------
        ndarray
            The most probable outputs.
        """
        model, params = self._fitted()
        coded = self._coded(X, known)
        output = model.outputs(params)
        x, y = coded.codes.row_input, coded.codes.row_output
        likeliest = np.where(y[:, None] >= 0, y[:, None], output.argmax(axis=2)[x])  # [row, state]
        best = np.take_along_axis(output[x], likeliest[:, :, None], axis=2)[:, :, 0]
        flow = model.flow(params, coded.codes)
        found = [np.zeros(0, np.int64)]
        for shard in self._plain(coded, model):
            state = choices.best_states(shard.units, flow, np.ascontiguousarray(best))
            found.append(likeliest[shard.units.label, state])
        return np.asarray(self.outputs_[np.concatenate(found)])

    def sample(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Draw outputs for all nodes of given trees.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        ndarray
            The trees.
        """
        model, params = self._fitted()
        coded, rng = self._coded(X, None), resolve_seed(random_state)
        flow, table = model.flow(params, coded.codes), np.ascontiguousarray(model.outputs(params))
        drawn = [choices.draw_outputs(rng, shard.units, flow, table) for shard in self._plain(coded, model)]
        return np.asarray(self.outputs_[np.concatenate([np.zeros(0, np.int64), *drawn])])

    def transduce(self, X: Any, known: Any = None) -> Forest:
        """Trees of the same shapes whose labels are the likeliest outputs.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        known : array or None, default None
            Outputs that are known, one per node.

        Returns
        -------
        Forest
            The trees with the outputs as labels.
        """
        found = self.predict(X, known)
        forest = self._check_trees(X, at_least=0)
        words = tuple(str(output) for output in self.outputs_.tolist())
        label = np.searchsorted(self.outputs_, found).astype(np.int32)
        parts, node = [], 0
        for part in forest.parts():
            columns = {**part._columns(), "label": label[node : node + part.n_nodes], "vocabulary": words}
            columns["content"] = {}
            parts.append(Forest._trusted(**columns))
            node += part.n_nodes
        return Forest.concat(parts)

    # ---- trees ----------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, y: Any = None) -> Floats:
        """Log P(outputs | labels, shape) of each tree, outputs that are not known summed out; -inf if impossible.

        Where no output is known it is 0, up to rounding: the model does not describe labels and shapes.
        """
        model, params = self._fitted()
        with self._batch(model, self._coded(X, y)) as batch:
            return batch.log_likelihood(params)[:, 0]

    def score(self, X: Any, y: Any) -> float:
        """Share of the nodes with a known output whose output is found from labels and shapes alone."""
        forest = self._check_trees(X)
        values, known = no.known_outputs(y, forest, type(self).__name__)
        if not known.any():
            raise ForestError(f"{type(self).__name__}: no node has a known output; nothing to score")
        return float(np.mean(self.predict(forest)[known] == values[known]))

    def tree_scores(self, X: Any, rule: str = "joint") -> Floats:
        """Score of each output for each tree as a whole, shape (n_trees, n_outputs).

        Parameters
        ----------
        X : Forest, ForestStore or trees
            The trees.
        rule : {"joint", "pool", "root", "vote"}, default "joint"
            "joint" is log P(this output at every node); "pool" the sum over nodes of its log-probabilities; "root" its
            log-probability at the root; "vote" the number of nodes where it is the likeliest.

        Returns
        -------
        ndarray of shape (n_trees, n_outputs)
            Scores; the highest is the tree's.
        """
        if rule not in RULES:
            raise SettingError(f"rule={rule!r}; wanted one of {', '.join(RULES)}")
        model, params = self._fitted()
        with self._batch(model, self._coded(X, None), lanes_of(rule)) as batch:
            return by_tree(batch, params, rule, model.n_outputs)

    def predict_tree(self, X: Any, rule: str = "joint") -> NDArray[Any]:
        """One output per tree, by a rule of `tree_scores`.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        rule : str or None, default "joint"
            How outputs of nodes make the class of a tree.

        Returns
        -------
        ndarray
            Class of each tree.
        """
        best = self.tree_scores(X, rule).argmax(axis=1)
        return np.asarray(self.outputs_[best])

    def _coded(self, X: Any, known: Any) -> CodedTrees:
        """Trees in training terms, with the outputs that are known."""
        forest = self._in_training_terms(X)
        code = None if known is None else no.in_terms_of(known, forest, self.outputs_, type(self).__name__)
        return CodedTrees(forest, Sizes(self.n_slots_, len(self.vocabulary_), len(self.outputs_)), code)

    def _plain(self, coded: CodedTrees, model: InputOutputTree) -> Iterator[SharedForest]:
        return coded.plain_shards(max(1024, self.shard_bytes // _unit_bytes(model, 1)))


def _unit_bytes(model: InputOutputTree, n_lanes: int) -> int:
    return 8 * n_lanes * (2 * model.n_states + 3)
