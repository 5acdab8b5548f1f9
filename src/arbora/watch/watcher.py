"""Watcher: a fitted pattern mixture that follows a stream of trees."""

import os
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError, SettingError
from ..files.container import read_container, write_container
from ..forest.forest import Forest
from ..models import restore
from ..models.forest_estimator import read_or_convert
from ..models.patterns import fitted as ft
from ..models.patterns.kernels.group_sweeps import Rows
from ..models.patterns.mixture import PatternMixture
from ..models.settings import check_count, check_integer, check_number
from . import state as st
from .drift import N_BINS, bins_of, watch_drift
from .kernels import particles as pt
from .kernels.betting import choose_kept
from .kernels.urns import Stream, score_trees
from .rows import concatenated, cut, from_on, known_part, read_rows
from .watched_trees import Birth, WatchedTrees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VERSION = 1
FLOOR = 1e-7  # probability below which an assignment is not followed
AT_ONCE = 4096  # trees whose scores by group are held at once


class Settings(NamedTuple):
    """Settings of a watcher; the defaults are those of `Watcher`."""

    particles: int = 32
    window: int = 50
    new_groups: int = 64
    buckets: int = 1024
    false_alarms: float = 1e-5
    baseline: int = 200
    keep_novel: float = 0.01
    keep_share: float = 0.05
    seed: int = 0


class Watcher:
    """Follow a stream of trees with a fitted `PatternMixture`: groups, new groups, drift, and what to keep.

    Trees go one after another into the groups of the model, or open new ones, by sequential Monte Carlo over the
    assignments of the last trees (the window).  Parameters of groups are integrated out, so a weight of a particle is
    exact.  All that is random is drawn from the seed and the number of the tree: the same trees give the same bits,
    however they are cut into calls.

    Parameters
    ----------
    model : PatternMixture
        The fitted model; it is not changed.  Its prior must be a process ("dp" or "pitman-yor").
    particles : int, default 32
        Most assignments of the window that are followed at once.
    window : int, default 50
        Trees whose groups may still change.  The oldest goes into its most probable group for good.
    new_groups : int, default 64
        Most groups that the stream may add.  Beyond them, the one that is longest without a tree is put aside.
    buckets : int, default 1024
        Columns that patterns without a column in the model are hashed into, per family.  0 leaves such patterns out;
        then trees whose patterns are all new say nothing.
    false_alarms : float, default 1e-5
        Level of the tests of drift: expected number of false alarms per tree, at most.
    baseline : int, default 200
        Trees at the start, and after each alarm, that fix the weights of groups to compare with.
    keep_novel : float, default 0.01
        Trees of a p-value of novelty, or of a rank of surprise, up to this are kept, and those of groups not yet final.
    keep_share : float, default 0.05
        Share of the other trees that is kept, at random.
    seed : int, default 0
        Seed of all that is random.

    Attributes
    ----------
    n_trees_ : int
        Trees of the stream so far.
    groups_ : dict
        Number of trees of each group, by the number that the group keeps; those of the fit come first.
    opened_by_ : dict
        Tree of the stream that opened each group that is not of the fit.

    References
    ----------
    Fearnhead (2004), Particle filters for mixture models with an unknown number of components.
    Fearnhead and Clifford (2003), On-line inference for hidden Markov models via particle filters.
    Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World.
    Shin, Ramdas and Rinaldo (2024), E-detectors: a nonparametric framework for sequential change detection.

    Examples
    --------
    >>> from arbora import PatternMixture, Watcher
    >>> model = PatternMixture(random_state=0).fit([("a", ["b", "c"])] * 9 + [("d", ["e", "e", "f"])] * 9)
    >>> watcher = Watcher(model, window=4)
    >>> found = watcher.update([("a", ["b", "c"]), ("d", ["e", "e", "f"]), *[("x", ["y", "z", "z"])] * 6])
    >>> found.cluster.tolist(), found.opened_by.tolist()
    ([0, 1, -1, -1, -1, -1, -1, 2], [-1, -1, 2, 2, 2, 2, 2, -1])
    >>> [(birth.cluster, birth.opened_by) for birth in found.births]
    [(2, 2)]
    """

    def __init__(
        self,
        model: PatternMixture,
        *,
        particles: int = 32,
        window: int = 50,
        new_groups: int = 64,
        buckets: int = 1024,
        false_alarms: float = 1e-5,
        baseline: int = 200,
        keep_novel: float = 0.01,
        keep_share: float = 0.05,
        seed: int = 0,
    ):
        self.model = model
        self.settings = Settings(
            particles, window, new_groups, buckets, false_alarms, baseline, keep_novel, keep_share, seed
        )
        _check(self.settings)
        if not isinstance(model, PatternMixture):
            raise SettingError(f"a {type(model).__name__}; wanted a fitted PatternMixture")
        self._numbers = numbers = model.model_
        if numbers.prior.kind == "finite":
            raise SettingError('prior="finite": no watcher; fit with prior="dp" or "pitman-yor"')
        rare = getattr(model.patterns_, "without_column_", None)
        self._urn = st.make_urn(numbers, rare, buckets)
        self._fixed = st.fitted_slots(numbers, self._urn, 0)
        self.state = st.first_state(numbers, self._urn, new_groups + window + 1, N_BINS)

    # ---- trees --------------------------------------------------------------------------------------------------

    def update(self, X: Any) -> WatchedTrees:
        """Take in more trees of the stream.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees, in their order.

        Returns
        -------
        WatchedTrees
            What there is to say of each of them.
        """
        return self.update_rows(self.read(read_or_convert(X)))

    def read(self, forest: Forest) -> Stream:
        """Trees as rows of patterns: all that a watcher reads of them.

        Parameters
        ----------
        forest : Forest
            The trees.

        Returns
        -------
        Stream
            A row per tree.
        """
        return read_rows(self.model.patterns_, forest, self.settings.buckets)

    def update_rows(self, rows: Stream) -> WatchedTrees:
        """As `update`, for rows.

        Parameters
        ----------
        rows : Stream
            What `read` returns.

        Returns
        -------
        WatchedTrees
            What there is to say of each tree.
        """
        before = self.state
        said, whole = self._step(rows)
        fixed, group, novelty = self._by_the_fit(rows)
        at = (before.number, self.settings.seed)
        rank, alarms = watch_drift(before.drift, fixed, group, *at, self.settings.false_alarms, self.settings.baseline)
        surprise = -said[:, pt.GAIN] / np.maximum(np.diff(rows.start), 1)
        label = whole[:, pt.LABEL]
        novelty = np.where((label >= 0) & (label < len(self._fixed.size)), novelty, 1.0)
        sure, weight = (novelty <= self.settings.keep_novel) | (label < -1), np.zeros(len(label))
        level = (float(self.settings.keep_novel), float(self.settings.keep_share))
        choose_kept(before.seen, bins_of(surprise), sure, at, level, weight)
        unseen = rows.size[:, 1].sum(axis=1)
        return WatchedTrees(
            first=before.number,
            cluster=np.maximum(label, -1),
            opened_by=np.where(label < -1, -2 - label, -1),
            probability=said[:, pt.PROBABILITY],
            new=said[:, pt.NEW],
            novelty=novelty,
            unseen=unseen / np.maximum(unseen + rows.size[:, 0].sum(axis=1), 1),
            rank=rank,
            surprise=surprise,
            keep=weight > 0,
            weight=weight,
            size=said[:, pt.SIZE],
            particles=whole[:, pt.ALIVE],
            dropped=said[:, pt.DROPPED],
            frozen=said[:, pt.FROZEN],
            placed=whole[:, pt.PLACED],
            births=self._births(whole, before.number),
            alarms=tuple(alarms),
        )

    def _step(self, rows: Stream) -> tuple[Floats, Ints]:
        """Move the particles on, and say what they say; `number` and the particles of the state are new then."""
        state, n = self.state, len(rows.size)
        n_before = len(state.cloud.rows.size)
        every = concatenated(state.cloud.rows, rows)
        label = np.zeros((len(state.cloud.weight), n_before + n), np.int64)
        label[:, :n_before] = state.cloud.label
        said, whole = np.empty((n, 6)), np.empty((n, 5), np.int64)
        s = self.settings
        n_fitted = len(self._fixed.size)
        plan = pt.Plan(
            n_before,
            state.number - n_before,
            n_fitted + len(state.opened),
            s.particles,
            s.window,
            n_fitted,
            s.seed,
            FLOOR,
        )
        frame, start = pt.Frame(self._urn, state.slots), pt.Cloud(label, state.cloud.weight)
        lo, (label, weight) = pt.watch(frame, every, start, plan, said, whole)
        label = label[:, lo:]
        cloud = st.Cloud(from_on(every, lo), np.where(label < 0, label + lo, label), weight)
        born = np.flatnonzero(whole[:, pt.BORN] >= 0)
        opened = np.append(state.opened, state.number + born - s.window)
        self.state = state._replace(cloud=cloud, number=state.number + n, opened=opened)
        return said, whole

    def _births(self, whole: Ints, first: int) -> tuple[Birth, ...]:
        out = []
        for i in np.flatnonzero(whole[:, pt.BORN] >= 0).tolist():
            cluster, retired = int(whole[i, pt.BORN]), int(whole[i, pt.RETIRED])
            opened = int(self.state.opened[cluster - len(self._fixed.size)])
            out.append(Birth(first + i, opened, cluster, None if retired < 0 else retired))
        return tuple(out)

    def _by_the_fit(self, rows: Stream) -> tuple[Floats, Ints, Floats]:
        """By the groups of the fit alone: misfit per pattern, group (the last is a new one), p-value of novelty."""
        model, n_fitted = self._numbers, len(self._fixed.size)
        parts = []
        for first in range(0, len(rows.size), AT_ONCE):
            part = cut(rows, first, min(first + AT_ONCE, len(rows.size)))
            score = np.empty((len(part.size), n_fitted + 1))
            score_trees(self._urn, self._fixed, part, score)
            group = (self._urn.weight * score + ft.log_seats(model)).argmax(axis=1)
            own = score[np.arange(len(score)), group]
            n_patterns = np.diff(part.start)
            misfit = np.where(n_patterns > 0, -own / np.maximum(n_patterns, 1), np.inf)
            parts.append((misfit, group.astype(np.int64), self._novelty(part)))
        if not parts:
            return np.zeros(0), np.zeros(0, np.int64), np.zeros(0)
        misfit, group, novelty = (np.concatenate(one) for one in zip(*parts, strict=True))
        return misfit, group, novelty

    def _novelty(self, rows: Stream) -> Floats:
        """As `PatternMixture.novelty`, from known patterns alone."""
        model = self._numbers
        if not len(model.sums.size):
            return np.ones(len(rows.size))
        start, column = known_part(rows, len(model.share))
        known = Rows(start, column, np.ascontiguousarray(rows.size[:, 0]))
        score = ft.log_predictive(model, known)
        label = (model.weight * score + ft.log_seats(model))[:, :-1].argmax(axis=1)
        own = ft.per_pattern(score[np.arange(len(score)), label], known)
        return ft.p_values(np.maximum(own, -1e300), label, self.model.left_out_, self.model.left_out_label_)

    # ---- groups -------------------------------------------------------------------------------------------------

    @property
    def n_trees_(self) -> int:
        """Trees of the stream so far."""
        return self.state.number

    @property
    def groups_(self) -> dict[int, int]:
        """Number of trees of each group, without those of the window; groups that were put aside are not among them."""
        slots = self.state.slots
        there = slots.name >= 0
        return dict(sorted(zip(slots.name[there].tolist(), slots.size[there].tolist(), strict=True)))

    @property
    def opened_by_(self) -> dict[int, int]:
        """Tree of the stream that opened each group that is not of the fit."""
        return {len(self._fixed.size) + k: int(tree) for k, tree in enumerate(self.state.opened)}

    def digest(self) -> str:
        """Checksum of all that changes from tree to tree; equal states have equal ones."""
        return st.digest(self.state)

    # ---- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], **more: Any) -> None:
        """Write the model, the settings and the state to one file.

        Parameters
        ----------
        path : path
            File to write.
        **more : object
            What else the header holds, as JSON; `load_with` returns it.
        """
        head, arrays = self.model._pack()
        header = {"model": head, "settings": self.settings._asdict(), "more": more}
        packed = {f"model_.{key}": x for key, x in arrays.items()} | {
            f"state_.{key}": x for key, x in st.pack(self.state).items()
        }
        write_container(path, kind="watcher", version=VERSION, header=header, arrays=packed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a watcher that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Watcher
            The same watcher, at the same tree.
        """
        return cls.load_with(path)[0]

    @classmethod
    def load_with(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any]]:
        """As `load`, with what else the header holds.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        tuple of Watcher and dict
            The watcher, and what `save` was given beside the path.
        """
        version, header, arrays = read_container(path, "watcher")
        if version != VERSION:
            raise ModelFileError(f"{path}: watcher version {version}, wanted {VERSION}; load it with its own Arbora")
        try:
            model = restore(header["model"], _below(arrays, "model_."))
            if not isinstance(model, PatternMixture):
                raise ValueError("its model is no PatternMixture")
            out = cls(model, **header["settings"])
            out.state = st.unpack(_below(arrays, "state_."), out.state, out._urn)
            return out, dict(header["more"])
        except (TypeError, KeyError, ValueError, AttributeError, IndexError, OverflowError) as error:
            why = " ".join(str(error).split())[:200]
            raise ModelFileError(f"{path}: its content does not make a watcher ({why}); restore a copy") from None


def _below(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): x for key, x in arrays.items() if key.startswith(prefix)}


def _check(settings: Settings) -> None:
    """Raise unless the settings are what they should be."""
    check_count("particles", settings.particles, 10**5)
    check_count("window", settings.window, 10**4)
    check_count("new_groups", settings.new_groups, 10**4)
    check_integer("buckets", settings.buckets, 0, 2**20)
    check_number("false_alarms", settings.false_alarms, 1e-12, 0.5)
    check_count("baseline", settings.baseline)
    check_number("keep_novel", settings.keep_novel, 0.0, 1.0)
    check_number("keep_share", settings.keep_share, 0.0, 1.0)
    check_integer("seed", settings.seed, 0, 2**63 - 1)
