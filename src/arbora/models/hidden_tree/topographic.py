"""TopographicMap: a hidden tree whose states are points of a lattice, so that trees and nodes have places."""

import logging
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, SettingError
from ...forest.trees import Trees
from ...inference.em import EMResult
from ...inference.verdict import Verdict
from ..settings import check_count, check_number
from . import encoding as enc
from . import fitting, map_start
from . import node_posteriors as nodes
from . import tree_model as tm
from .emissions.choice import emission_for
from .emissions.plane import Plane
from .emissions.plane_columns import on_plane, plane_of
from .finite import Outcome
from .fitted_mixture import SHARD_BYTES
from .map_verdict import judge_map
from .passes import Batch, MixtureParams
from .single import HiddenTree
from .switching_params import Priors
from .switching_settings import check_room, check_switching
from .switching_tree import SwitchingTree

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

MOST_SIDE = 100  # 10,000 states; transitions grow with the fourth power of the side


class TopographicMap(HiddenTree):
    """Place trees, and every node of them, on a plane: a generative topographic map of a forest.

    A hidden tree whose states are the points of a square lattice.  Near points emit like labels, because the emissions
    are smooth functions on the plane.  The place of a tree is the mean of the posterior of its root's point.  EM fits
    it from several starts; the one whose map keeps neighbours best is kept, so there is no `partial_fit`.  Columns of
    content lie on the plane as smoothly: words like labels, numbers by a smooth mean with one variance, counts by a
    smooth rate.

    Parameters
    ----------
    side : int, default 10
        Points on each side of the lattice; there are side * side hidden states.
    basis : int, default 6
        Smooth bumps on each side, at most `side`.  Fewer make a smoother map.
    width : float, default 1.0
        Width of a bump in distances between bumps.
    weight_decay : float, default 0.1
        Precision of the normal prior of the weights of the bumps.
    places : {"random", "contexts"}, default "random"
        Where labels lie at the start: at random, or by the labels above and below them and their slots.
    prior : float, default 1.1
        Dirichlet parameter of transitions, leaves and switches, 1 or more.
    n_init : int, default 3
        Number of starts; the most trustworthy map of up to 1,000 training trees is kept.
    max_iter : int, default 30
        Most iterations of EM.
    tol : float, default 0.0
        EM ends when an iteration gains less than this many nats per tree; 0 runs all iterations.
    n_slots : int or None, default None
        Number of distinct slots; later ones are pooled into the last.  None: as many as the training trees have.
    content : "auto", None or dict, default "auto"
        Columns of content beside the label, as of `HiddenTree`.
    encoding : {"sum", "log", "score"}, default "sum"
        What `encode` sums; see `HiddenTreeMixture`.
    shared : bool, default True
        Whether identical subtrees are computed once.
    shard_bytes : int, default 64 MiB
        Working memory per shard of trees.
    n_jobs : int or None, default None
        Threads over shards; -1 uses all cores.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed.  The same seed gives the same result.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_trees, 2)
        Places of the training trees, in the square from -1 to 1.
    trustworthiness_ : float
        Trustworthiness of the map on training trees; nan of fewer than five trees.
    labels_ : ndarray of shape (n_trees,)
        Likeliest point of the root of each training tree.
    lattice_ : ndarray of shape (side * side, 2)
        Places of the points.
    emission_weight_ : ndarray of shape (basis * basis + 1, n_labels)
        Weights of the bumps, the constant last.
    leaf_prob_, switch_prob_, transition_prob_ : ndarray
        As of `HiddenTree`.
    history_ : list of float
        Objective after each iteration of the start that was kept.  It never decreases.

    References
    ----------
    Bacciu, Micheli and Sperduti (2013), Compositional generative mapping for tree-structured data, part II.
    Boehning (1992), Multinomial logistic regression algorithm.

    Examples
    --------
    >>> from arbora import TopographicMap
    >>> trees = [("a", ["b", "b"]), ("a", ["b"]), ("c", ["d", "d"]), ("c", ["d"])] * 5
    >>> model = TopographicMap(4, basis=3, max_iter=10, random_state=0).fit(trees)
    >>> model.transform([("a", ["b", "b"])]).shape
    (1, 2)
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *(name for name in HiddenTree._saved if name != "emission_prob_"),
        *("emission_weight_", "embedding_", "trustworthiness_"),
    )

    embedding_: Floats
    trustworthiness_: float
    emission_weight_: Floats

    def __init__(
        self,
        side: int = 10,
        *,
        basis: int = 6,
        width: float = 1.0,
        weight_decay: float = 0.1,
        places: str = "random",
        prior: float = 1.1,
        n_init: int = 3,
        max_iter: int = 30,
        tol: float = 0.0,
        n_slots: int | None = None,
        content: str | dict[str, str | None] | None = "auto",
        encoding: str = "sum",
        shared: bool = True,
        shard_bytes: int = SHARD_BYTES,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.side = side
        self.basis = basis
        self.width = width
        self.weight_decay = weight_decay
        self.places = places
        settings = {"n_init": n_init, "max_iter": max_iter, "tol": tol, "n_slots": n_slots, "encoding": encoding}
        super().__init__(
            structure=None,
            prior=prior,
            content=content,
            **settings,  # type: ignore[arg-type]
            sparse_output=True,
            shared=shared,
            shard_bytes=shard_bytes,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )

    @property
    def n_states(self) -> int:
        """Hidden states: the points of the lattice."""
        return self.side * self.side if isinstance(self.side, int) else 0

    @n_states.setter
    def n_states(self, value: int) -> None:
        """The lattice alone decides."""

    @property
    def lattice_(self) -> Floats:
        """Places of the points, [state, 2]."""
        check_is_fitted(self, "weight_")
        return self._plane().lattice

    @property
    def emission_prob_(self) -> Floats:
        """Probability of labels at each point, [state, label]."""
        check_is_fitted(self, "weight_")
        if not self.spec_.emission.has_labels:
            return np.zeros((self.n_states, 0))
        return np.exp(self._plane().softmax(self.emission_weight_[..., None])[:, :, 0])

    @property
    def content_params_(self) -> dict[str, dict[str, Floats]]:
        """Parameters of each column of content at each point; empty without content."""
        check_is_fitted(self, "weight_")
        emission: Any = self.spec_.emission
        return {} if emission.by_label else emission.numbers_at(self._fitted_params().tree.emission)

    def _plane(self) -> Plane:
        plane = plane_of(self.spec_.emission)
        assert plane is not None  # noqa: S101 (for mypy)
        return plane

    # ---- fitting --------------------------------------------------------------------------------------------------

    def _check_params(self) -> Priors:
        check_count("side", self.side, MOST_SIDE)
        check_count("basis", self.basis, MOST_SIDE)
        if self.basis > self.side:
            raise SettingError(f"basis={self.basis}: more bumps than points on a side of {self.side}; take fewer")
        check_number("width", self.width, 0.05, 100.0)
        check_number("weight_decay", self.weight_decay, 1e-9, 1e9)
        if self.places not in map_start.PLACES:
            raise SettingError(f"places={self.places!r}; wanted one of {', '.join(map_start.PLACES)}")
        if enc.needs_posterior(enc.find(self.encoding)) and self.encoding != "score":
            raise SettingError(f"encoding={self.encoding!r}; a map has one component: wanted sum, log or score")
        self._check_fitting()
        return check_switching(self)

    def _new_model(self, forest: Trees) -> SwitchingTree:
        n_slots = max(1, forest.n_slots if self.n_slots is None else self.n_slots)
        plane = Plane(self.side, self.basis, float(self.width), float(self.weight_decay))
        emission = on_plane(emission_for(self.content, forest), plane)
        model = SwitchingTree(n_slots, emission, self.n_states, pooled=forest.n_slots > n_slots)
        check_room(model, 1)
        return model

    def _shaping(self) -> dict[str, tuple[Any, Any]]:
        plane = self._plane()
        return {
            "side": (self.side, plane.side),
            "basis": (self.basis, plane.basis),
            "width": (self.width, plane.width),
            "weight_decay": (self.weight_decay, plane.decay),
        }

    def _check_fit_options(self, sample_weight: Any, known: Any, constraints: Any) -> None:
        if known is not None or constraints is not None:
            raise SettingError("known, constraints: a map has points and no classes; take a HiddenTreeMixture")

    def _check_stepwise(self) -> None:
        raise ArboraError("TopographicMap: no partial_fit; fit all trees, from a store if they are many")

    def _best_start(
        self, rng: np.random.Generator, batch: Batch, forest: Trees, priors: Any, warm: bool, given: Any = None
    ) -> EMResult[MixtureParams]:
        """Of several runs of EM the one with the most trustworthy map; by the objective where there is no telling."""
        every = np.arange(forest.n_trees)
        if forest.n_trees > fitting.MAX_START_TREES:
            every = np.sort(rng.choice(every, fitting.MAX_START_TREES, replace=False))
        known = forest.take(every)
        if len(every) > map_start.MOST_COMPARED:
            every = np.sort(rng.choice(every, map_start.MOST_COMPARED, replace=False))
        compared = forest.take(every)
        best, best_key = None, (-np.inf, -np.inf)
        for _ in range(self.n_init):
            first = MixtureParams(np.ones(1), map_start.start(rng, batch.model, known, self.places))  # type: ignore[arg-type]
            now = EMResult(first, [], converged=False, interrupted=False)
            least = self.tol * batch.total_weight
            result = fitting.run(batch, now, priors, self.max_iter, least, bool(self.verbose))
            with self._batch(compared, batch.model) as some:
                place = self._places(some, result.params)
            trust = map_start.trustworthiness(compared, place, wanted=tm.wanted(batch.model))
            log.info("objective %.3f, trustworthiness %.4f", result.history[-1], trust)
            key = (-1.0 if np.isnan(trust) else trust, result.history[-1])
            if best is None or key > best_key:
                best, best_key, self.trustworthiness_ = result, key, trust
            if result.interrupted:
                break
        if best is None:
            raise ArboraError("the fit has no start; please report this")
        return best

    def _keep(self, found: Outcome) -> None:
        """Store the result; points keep their numbers."""
        super()._keep(found._replace(reorder=False))
        self.embedding_ = self._places(found.batch, found.result.params)

    def _check_fitted(self) -> None:
        if plane_of(self.spec_.emission) is None:
            raise ValueError("what nodes hold is not on a plane")
        super()._check_fitted()
        where = self.embedding_
        if not isinstance(where, np.ndarray) or where.dtype != np.float64 or where.shape[1:] != (2,):
            raise ValueError("embedding_ is no array of places")
        if not (np.abs(where) <= 1.0 + 1e-9).all():
            raise ValueError("embedding_ has places outside the square")
        if not isinstance(self.trustworthiness_, float):
            raise ValueError("trustworthiness_ is no number")

    # ---- places ---------------------------------------------------------------------------------------------------

    def _places(self, batch: Batch, params: MixtureParams) -> Floats:
        """Posterior mean of the root's point; the middle where the model cannot produce the tree."""
        model: Any = batch.model
        return np.asarray(batch.root_posterior(params.tree)[:, :, 0] @ plane_of(model.emission).lattice)  # type: ignore[union-attr]

    def transform(self, X: Any, dtype: Any = np.float64) -> Floats:
        """Place of each tree: the mean of its root's point given the tree, shape (n_trees, 2).

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        dtype : dtype, default float64
            Type of the codes, float64 or float32.

        Returns
        -------
        ndarray of float
            The codes, one row per tree.
        """
        forest = self._in_training_terms(X)
        with self._batch(forest, self.spec_) as batch:
            return self._places(batch, self._fitted_params()).astype(enc.check_dtype(dtype), copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "weight_")
        return np.array(["x", "y"], object)

    def node_positions(self, X: Any) -> Floats:
        """Place of every node: the mean of its point given the tree, shape (n_nodes, 2)."""
        forest, params = self._in_training_terms(X), self._fitted_params().tree
        lattice, found = self.lattice_, [np.zeros((0, 2))]
        for part in forest.parts():
            for shard in nodes.plain_shards(self.spec_, 1, part):
                state = nodes.node_posteriors(self.spec_, params, shard, np.ones((shard.n_trees, 1)))
                found.append(state[:, :, 0] @ lattice)
        return np.concatenate(found)

    def trustworthiness(self, X: Any, n_neighbours: int = map_start.N_NEIGHBOURS) -> float:
        """How far neighbours on the map are neighbours by (slot, label) counts too, from 0 to 1.

        Parameters
        ----------
        X : Forest or trees
            The trees; the distances of all pairs are computed.
        n_neighbours : int, default 10
            Neighbours that are compared.

        Returns
        -------
        float
            1 if no tree has a false neighbour on the map; nan of fewer than five trees.
        """
        check_count("n_neighbours", n_neighbours)
        forest = self._in_training_terms(X)
        whole = forest.take(np.arange(forest.n_trees))
        return map_start.trustworthiness(whole, self.transform(forest), n_neighbours, tm.wanted(self.spec_))

    def verdict(self) -> Verdict:
        """How far to trust the map, by its trustworthiness on training trees and by how they spread."""
        return judge_map(self.trustworthiness_, self.embedding_)

    def point_labels(self) -> NDArray[Any]:
        """Likeliest label at each point: the legend of the map, shape (side * side,)."""
        prob = self.emission_prob_
        if not prob.shape[1]:
            return np.full(len(prob), "", object)
        return np.array(self.vocabulary_, object)[prob.argmax(axis=1)]

    # ---- codes ----------------------------------------------------------------------------------------------------

    def encode(self, X: Any) -> Any:
        """Sums of node posteriors by slot and point, sparse (n_trees, columns): for a read-out of classes."""
        recipe, forest, params = enc.find(self.encoding), self._in_training_terms(X), self._fitted_params().tree
        one = np.ones((forest.n_trees, 1)) if enc.needs_posterior(recipe) else None
        codes, done = [], 0
        for part in forest.parts():
            rows = None if one is None else one[done : done + part.n_trees]
            codes.append(enc.encode(recipe, self.spec_, params, part, rows))
            done += part.n_trees
        return enc.stack(codes)

    def hidden_trees(self) -> Any:
        """None: a page shows the map and its labels instead of tables of a hundred states."""
        return None
