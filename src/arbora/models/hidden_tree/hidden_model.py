"""HiddenModel: a tree model whose nodes have hidden states; what posteriors of nodes, encodings and draws ask of it."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from .emissions import Emission
from .tree_model import Arrays, TreeModel

Floats = NDArray[np.float64]


class HiddenModel(TreeModel, Protocol):
    """A tree model with hidden states and an emission."""

    @property
    def n_states(self) -> int:
        """Hidden states of each component."""

    @property
    def emission(self) -> Emission:
        """What nodes hold, given their states."""

    def root_states(self, messages: Any, shard: SharedForest, n_components: int) -> Floats:
        """P(state of the root | tree), [distinct tree, state, component], from the messages of `upward`."""

    def node_room(self, messages: Any) -> Floats:
        """An array for the posterior of every unit, in lanes, as `downward` fills it."""

    def reorder_states(self, values: Arrays, order: NDArray[np.int64]) -> Arrays:
        """Parameters or counts with states renumbered."""

    def best_states(self, params: Arrays, shard: SharedForest, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """State of every node of a plain shard in the most probable joint choice, each in its component."""

    def draw_labels(
        self, rng: np.random.Generator, params: Arrays, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Labels of the nodes of a plain shard, each in its component."""

    def draw_states(
        self, rng: np.random.Generator, params: Arrays, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """States of the nodes of a plain shard, each in its component."""

    def draw_shapes(self, rng: np.random.Generator, params: Arrays, component: NDArray[np.int64]) -> Any:
        """Trees without labels, one for each component given."""

    def without_subtrees(self, params: Arrays, shard: SharedForest) -> tuple[Floats, Floats]:
        """Of a plain shard, by component: log P(tree) of each tree, without `shape_log_prob`, and of every node
        log P(all labels but those of its subtree) - log P(tree)."""

    def mean_transition(self, params: Arrays) -> Floats:
        """Of one component: [given state, state], a mean over slots."""
