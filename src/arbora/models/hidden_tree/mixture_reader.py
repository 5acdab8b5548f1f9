"""What a fitted mixture of hidden trees returns: parameters, posteriors of nodes, novelty, codes and drawn trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...forest.forest import Forest
from ...forest.trees import Trees
from ...seeds import resolve_seed
from . import draw_trees
from . import encoding as enc
from . import node_posteriors as nodes
from . import novelty as nv
from .content_params import by_column
from .content_scores import ColumnScore, column_scores
from .emissions import Shown
from .finite import FiniteMixture
from .node_surprise import node_surprise
from .novelty import Novelty
from .tree_model import named, split, taken

Floats = NDArray[np.float64]


class MixtureReader(TransformerMixin, FiniteMixture):
    """Mixin of `HiddenTreeMixture`: what it returns once it is fitted."""

    encoding: Any
    sparse_output: bool

    @property
    def content_params_(self) -> dict[str, dict[str, Floats]]:
        """Parameters of each column of content."""
        check_is_fitted(self, "weight_")
        return by_column(self, self.spec_.emission)

    def emissions(self, most: int) -> list[Shown]:
        """What nodes hold in each state, by component, as small tables of at most so many columns.

        Parameters
        ----------
        most : int
            Most labels to list.

        Returns
        -------
        list[Shown]
            Labels and their probabilities.
        """
        return [self.spec_.emission.shown(one, self.vocabulary_, most) for one in self.emission_params().values()]

    def emission_params(self) -> dict[int, Any]:
        """Parameters of what nodes hold, by number of the component, each with one component.

        Returns
        -------
        dict
            Arrays as the families of the columns take them.
        """
        params: Any = self._fitted_params().tree
        return split(params.emission)

    def probabilities(self) -> list[str]:
        """Names of the fitted arrays of the tree model."""
        check_is_fitted(self, "weight_")
        return [table.name for table in named(self.spec_.tables).values()]

    def mean_transition(self, component: int) -> Floats:
        """Probability of a state (last axis) given that of the child, or parent, it depends on; a mean over slots.

        Parameters
        ----------
        component : int
            Number of the component.

        Returns
        -------
        ndarray of float
            Transition probabilities.
        """
        params = self._fitted_params().tree
        return np.asarray(self.spec_.mean_transition(taken(params, slice(component, component + 1))))

    def column_scores(self, X: Any) -> dict[str, ColumnScore]:
        """What each column of content contributes to the log-likelihood of these trees.

        Parameters
        ----------
        X : trees.

        Returns
        -------
        dict from columns to ColumnScore : `log_likelihood`, the expected log density of the values given states and
            components; `gain`, what it is above that of one distribution for all nodes, which does not depend on units;
            `share`, the gain as a share of all.  Empty for trees with labels alone.

        Examples
        --------
        >>> from arbora import Forest, HiddenTreeMixture
        >>> lengths = [n % 3 + n / 100 for n in range(40)]
        >>> forest = Forest.from_nested([("a", ["b"])] * 20).with_content({"length": lengths})
        >>> sorted(HiddenTreeMixture(2, 2, random_state=0).fit(forest).column_scores(forest))
        ['label', 'length']
        """
        forest, params = self._in_training_terms(X), self._fitted_params()
        emission: Any = self.spec_.emission
        if emission.by_label:
            return {}
        with self._batch(forest, self.spec_) as batch:
            counts: Any = batch.expected_counts(params)[0].tree
        tree: Any = params.tree
        return column_scores(emission, counts.emission, tree.emission, self._check_params().emission)

    # ---- nodes ---------------------------------------------------------------------------------------------------

    def posterior(self, X: Any) -> Floats:
        """P(component, state | tree) of every node, shape (n_nodes, n_components, n_states)."""
        forest = self._in_training_terms(X)
        params, proba = self._fitted_params().tree, _rows_of(forest, self.predict_proba(forest))
        return np.concatenate([nodes.posterior(self.spec_, params, part, rows) for part, rows in proba])

    def decode(self, X: Any) -> NDArray[np.int64]:
        """State of every node in the most probable joint choice of states and switches, in the predicted component."""
        forest = self._in_training_terms(X)
        params, component = self._fitted_params().tree, _rows_of(forest, self._decoding_component(forest))
        return np.concatenate([nodes.decode(self.spec_, params, part, rows) for part, rows in component])

    def _decoding_component(self, forest: Trees) -> NDArray[np.int64]:
        return self.predict(forest)

    def node_surprise(self, X: Any) -> Floats:
        """How improbable the labels from each node down are, given the shape and all other labels of its tree.

        Parameters
        ----------
        X : Forest or trees
            The trees.

        Returns
        -------
        array of shape (n_nodes,)
            -log P(labels of the subtree | the rest), in nats, exact.  At a root it is -log P(labels | shape).  Missing
            and unseen labels are summed out.  Components that cannot produce a tree do not count there; nan if none
            can.

        Examples
        --------
        >>> from arbora import HiddenTreeMixture
        >>> trees = [("a", ["b", "b"])] * 20 + [("c", ["d", "d"])] * 20
        >>> model = HiddenTreeMixture(2, 2, random_state=0).fit(trees)
        >>> surprise = model.node_surprise([("a", ["b", "d"])])  # children come before their parents
        >>> bool(surprise[1] > surprise[0] + 1)
        True
        """
        forest, params = self._in_training_terms(X), self._fitted_params()
        return np.concatenate([node_surprise(self.spec_, params, part) for part in forest.parts()])

    def novelty(self, X: Any, training: Any) -> Novelty:
        """How new each tree is, by its fit to its group compared with that of the training trees.

        Parameters
        ----------
        X : trees.
        training : the trees that the model was fitted on.  The model does not hold them.

        Returns
        -------
        Novelty : `p_value`, the rank of the tree's log-probability per node among those of the training trees of its
            group, each by parameters estimated without it; small where the tree fits worse than they do.
            `unseen_share`, the share of its nodes with a label never seen in training.

        Examples
        --------
        >>> from arbora import HiddenTreeMixture
        >>> from arbora.datasets import make_documents
        >>> trees = make_documents(20, random_state=0)
        >>> found = HiddenTreeMixture(5, random_state=0).fit(trees).novelty([("zebra", ["gnu", "emu"])], trees)
        >>> bool(found.p_value[0] < 0.05), found.unseen_share.tolist()
        (True, [1.0])
        """
        known, forest, params = self._in_training_terms(training), self._in_training_terms(X), self._fitted_params()
        with self._batch(known, self.spec_) as batch:
            left_out = nv.fit_left_out(batch, params, known, self._check_params())
        with self._batch(forest, self.spec_) as batch:
            new = nv.fit_of_new(batch, params, forest, known.n_nodes)
        return nv.rank(new, left_out, nv.unseen_times(forest) / np.maximum(nv.sizes_of(forest), 1.0))

    def transform(self, X: Any, dtype: Any = np.float64) -> Any:
        """Encode each tree, by default as posterior mass by component, slot and state (Bacciu and Castellana 2018).

        Columns run over components, then slots (the root has one of its own, the last), then states;
        `get_feature_names_out` names them.  Other choices of `encoding` change the values or add columns.  Values are
        computed in double precision; dtype=np.float32 rounds them at the end, to half the memory.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        dtype : dtype, default float64
            Type of the codes, float64 or float32.

        Returns
        -------
        array
            The codes, one row per tree.
        """
        recipe = enc.find(self.encoding)
        forest = self._in_training_terms(X)
        proba = self._component_proba(forest) if enc.needs_posterior(recipe) else None
        params = self._fitted_params().tree
        codes = [enc.encode(recipe, self.spec_, params, part, rows, dtype) for part, rows in _rows_of(forest, proba)]
        if self.sparse_output:
            return enc.stack(codes)
        return codes[0].toarray() if len(codes) == 1 else np.concatenate([part.toarray() for part in codes])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "weight_")
        return enc.column_names(enc.find(self.encoding), len(self.weight_), self.spec_, self.vocabulary_)

    def sample(self, n_samples: int = 1, skeleton: Any = None, random_state: Any = None) -> Forest:
        """Draw trees; the target of each is its component.

        Whole trees need the structure term.  With `skeleton` the shapes are given, one tree for each of its trees:
        the component of each is drawn given its shape, P(component | shape), and then its labels.

        Parameters
        ----------
        n_samples : int, default 1
            Number of trees.
        skeleton : Forest or None, default None
            Trees whose shapes are used; None draws shapes too.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        Forest
            The trees.
        """
        params = self._fitted_params()
        rng = resolve_seed(random_state)
        shape = None if skeleton is None else self._check_forest(skeleton)
        return draw_trees.draw_forest(rng, self.spec_, params, self.vocabulary_, n_samples, shape)


def _rows_of(forest: Trees, values: Any) -> Iterator[tuple[Forest, Any]]:
    """The parts of a forest or store, each with the rows of its trees; None stays None."""
    done = 0
    for part in forest.parts():
        yield part, None if values is None else values[done : done + part.n_trees]
        done += part.n_trees
