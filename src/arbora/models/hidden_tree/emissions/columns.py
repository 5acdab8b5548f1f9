"""Columns: nodes hold several typed values, independent given the state; each column has a family of its own."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ....errors import ArboraError
from ....forest.content import Column
from ....forest.content_rows import LABEL, Wanted
from ....forest.sharing import Contents, SharedForest
from ....forest.trees import Trees
from ..kernels.content_vectors import RowsInVectors
from ..kernels.number_marginals import N_MOMENTS, N_PRIOR, number_marginal
from ..kernels.upward_downward import LANES
from ..kernels.urns import Urns
from ..lanes import Workspace, from_lanes, lane_shape
from ..tree_model import add_into, named
from . import Rows, Shown
from .bag import Bag
from .categorical import Categorical
from .flag import Flag
from .gaussian import Gaussian
from .kernels.evidence import Held, evidence, row_statistics
from .poisson import Poisson
from .posteriors import posterior_of
from .row_terms import base_two, held_rows, in_order, in_vectors, log_tables, values_at

START_NODES = 4096  # whose values starts may pick
CONTENT = "content_"  # the fitted attribute that holds parameters of columns

Floats = NDArray[np.float64]


class Family(Protocol):
    """The distribution of one column given the state.  `values` are [row, ...], with nan for missing ones."""

    name: ClassVar[str]
    kind: ClassVar[str]  # of the column, as `arbora.forest.content.KINDS` has it
    holds: ClassVar[str]  # of each row: "word", "bag" or "number"

    def header(self) -> list[Any]:
        """Name of the family and its numbers."""

    def tables(self, at: str, n_states: int) -> Any:
        """The parameters, with names that begin as given."""

    def log_density(self, values: NDArray[Any], params: Any) -> Floats:
        """[row, state, component]; 0 where the value is missing.  Passes take `row_terms` instead, which says the same.

        Families of words have `n_words`, `log_words`, `from_words`, and `row_codes` or `row_words`; those of numbers
        have `log_terms`, `row_constant`, `row_moments` and `from_moments`.
        """

    def statistics_tables(self, n_states: int) -> Any:
        """Shapes and bounds of the statistics."""

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Any) -> None:
        """Add what the posterior sums[row, state, lane] contribute."""

    def mode(self, statistics: Any, params: Any, prior: float) -> Any:
        """As `Emission.mode`; families of numbers hold their own prior."""

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Any:
        """As `Emission.draw`."""

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Any:
        """Parameters to start EM from, given values of nodes."""

    def uniform(self, n_states: int) -> Any:
        """One component, all states alike, at the mean or mode of the prior."""

    def log_prior(self, params: Any, prior: float) -> Floats:
        """Log prior density of each component, constants included."""

    def expected(self, statistics: Any, params: Any) -> Floats:
        """Expected log density, [component], of the values that the statistics are of."""

    def log_marginal(self, statistics: Any, prior: float) -> Floats:
        """Log density of the values with the parameters integrated out, [state, component]."""

    def n_free(self, n_states: int) -> int:
        """Free parameters of one component."""

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""

    def sample(self, rng: np.random.Generator, params: Any, state: Any, component: Any) -> Any:
        """Values of nodes in these states and components; None where the family cannot draw them."""

    def shown(self, params: Any, words: tuple[str, ...]) -> dict[str, Floats]:
        """Numbers of each state of one component, [state], by what they are; `words` are those of labels."""


#: Families by the name that a header gives them: a new one is a file beside this, and a row here.
FAMILIES: dict[str, Any] = {kind.name: kind for kind in (Categorical, Flag, Gaussian, Poisson, Bag)}
UNUSED = "unused"  # of labels: the number is kept, because the vocabulary is


@dataclass(frozen=True)
class Columns:
    """Typed columns; parameters and statistics are dicts, "c0" that of the first column."""

    families: tuple[tuple[str, Family], ...]  # by column, in order
    n_unused: int = 0  # labels in the vocabulary that are no column

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Columns":
        """Undo `header`."""
        unused = 0
        if LABEL in header and header[LABEL][0] == UNUSED:
            unused, header = header[LABEL][1], {name: told for name, told in header.items() if name != LABEL}
        unknown = [name for name, *_ in header.values() if name not in FAMILIES]
        if unknown or not header or type(unused) is not int or unused < 0:
            raise ValueError(f"no families of columns are called {unknown}")
        return cls(tuple((column, FAMILIES[name](*numbers)) for column, (name, *numbers) in header.items()), unused)

    def header(self) -> dict[str, Any]:
        """The families and their numbers, by column."""
        unused = {LABEL: [UNUSED, self.n_unused]} if self.n_unused else {}
        return unused | {column: family.header() for column, family in self.families}

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary, whether they are a column or not."""
        return self.n_unused + sum(family.n_codes for column, family in self.families if column == LABEL)  # type: ignore[attr-defined]

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Each column as its family takes it."""
        return tuple(
            Wanted(column, LABEL if column == LABEL else family.kind, () if column == LABEL else _words(family))
            for column, family in self.families
        )

    @property
    def by_label(self) -> bool:
        """Rows are those of each shard."""
        return False

    @property
    def _keyed(self) -> list[tuple[str, str, Family]]:
        """Key, column and family: parameters are keyed by numbers, since files allow no other names than plain ones."""
        return [(f"c{x}", column, family) for x, (column, family) in enumerate(self.families)]

    def tables(self, n_states: int) -> Any:
        """Those of the families."""
        return {
            key: family.tables(column if column == LABEL else f"{CONTENT}.{key}", n_states)
            for key, column, family in self._keyed
        }

    def rows(self, params: Any, contents: Contents | None) -> Rows:
        """Log densities add over columns; the largest of a row is taken out before the exponential."""
        prob, offset = self.lane_rows(params, contents, Workspace())
        return Rows(from_lanes(prob, self._shape(params)[1]), offset)

    def lane_rows(self, params: Any, contents: Contents | None, workspace: Workspace) -> Rows:
        """The same with components in lanes, in the memory of a workspace."""
        n_states, n_components = self._shape(params)
        lanes = lane_shape(n_components)
        held, ordered = self._held(contents)
        n_rows, n_cells = len(held.value), n_states * int(np.prod(lanes))
        prob = workspace.rows((n_rows, n_states, *lanes))
        offset = np.empty((n_rows, n_cells // n_states))
        families = [family for _, _, family in ordered]
        tables = log_tables([params[key] for key, _, _ in ordered], families, n_cells)
        evidence(held, tables, self._constant(contents), prob.reshape(n_rows, n_cells), offset)
        return Rows(prob, offset[:, :n_components])

    def _held(self, contents: Contents | None) -> tuple[Held, list[tuple[Any, ...]]]:
        """Rows in the form of kernels, and the columns in their order there."""
        ordered = in_order(self._keyed)
        values = [self._values(contents, column) for _, column, _ in ordered]
        return held_rows(values, [family for _, _, family in ordered]), ordered

    def _shape(self, params: Any) -> tuple[int, int]:
        """States and components."""
        first = next(iter(named(params["c0"]).values()))
        return int(first.shape[-2]), int(first.shape[-1])

    def _values(self, contents: Contents | None, column: str) -> Any:
        if contents is None or column not in contents.columns:
            raise ArboraError(f"the trees have no column {column!r}; give trees with the columns of the model")
        return contents.columns[column]

    def statistics_tables(self, n_states: int) -> Any:
        """Those of the families."""
        return {key: family.statistics_tables(n_states) for key, _, family in self._keyed}

    def add_statistics(self, sums: Floats, contents: Contents | None, statistics_out: Any) -> None:
        """All columns in one pass over the sums."""
        n_rows, *cells = sums.shape
        n_words, n_cells = sum(family.n_words for _, _, family in self._of_words), int(np.prod(cells))
        total = np.zeros((n_words + N_MOMENTS * self.n_numbers, n_cells))
        by_number = total[n_words:].reshape(self.n_numbers, N_MOMENTS, n_cells)
        held, moments = self._held(contents)[0], self._moments(contents)
        row_statistics(held, moments, sums.reshape(n_rows, n_cells), total[:n_words], by_number)
        self.add_row_sums(total.reshape(-1, *cells), statistics_out)

    def add_row_sums(self, total: Floats, statistics_out: Any) -> None:
        """Add sums, [word of any column or moment of one of numbers, state, lane], to the statistics of families."""
        at = 0
        for key, _, family in in_order(self._keyed):
            of_number = family.holds == "number"
            n = N_MOMENTS if of_number else family.n_words
            found = (family.from_moments if of_number else family.from_words)(total[at : at + n])
            add_into(statistics_out[key], found)
            at += n

    def rows_in_vectors(self, params: Any, shard: SharedForest, workspace: Workspace) -> tuple[Floats, RowsInVectors]:
        """Terms of log densities, and rows of content, as `kernels.content_vectors` takes them."""
        n_states, n_components = self._shape(params)
        held, ordered = self._held(shard.contents)
        (n_lanes,) = lane_shape(n_components)
        tables = log_tables([params[key] for key, _, _ in ordered], [one for *_, one in ordered], n_states * n_lanes)

        def room_for(n_rows: int) -> Floats:
            return workspace.rows((n_lanes // LANES, n_rows, n_states + 1, LANES))

        of_rows = self._moments(shard.contents), self._constant(shard.contents)
        rows = in_vectors(held, of_rows, tables, shard.units, room_for)
        return base_two(tables).reshape(-1, n_states, n_lanes), rows

    def _moments(self, contents: Contents | None) -> Floats:
        """[row, column of numbers, 3]."""
        numbers = [family.row_moments(self._values(contents, column)) for _, column, family in self._of_numbers]
        return np.stack(numbers, axis=1) if numbers else np.zeros((self._n_rows(contents), 0, N_MOMENTS))

    def _n_rows(self, contents: Contents | None) -> int:
        return int(self._values(contents, self.families[0][0]).shape[0])

    def _constant(self, contents: Contents | None) -> Floats:
        """The part of the log density of each row that has no parameters."""
        constant = np.zeros(self._n_rows(contents))
        for _, column, family in self._of_numbers:
            constant += family.row_constant(self._values(contents, column))
        return constant

    def mode(self, statistics: Any, params: Any, prior: float) -> Any:
        """Column by column."""
        return {key: family.mode(statistics[key], params[key], prior) for key, _, family in self._keyed}

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Any:
        """Column by column."""
        given = {key: None for key, _, _ in self._keyed} if statistics is None else statistics
        return {key: family.draw(rng, n_states, n_components, prior, given[key]) for key, _, family in self._keyed}

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, forest: Trees) -> Any:
        """Column by column, given the values of some nodes."""
        node = np.sort(rng.integers(forest.n_nodes, size=START_NODES))
        some = {
            column: values_at(forest, node, one) for (column, _), one in zip(self.families, self.wanted, strict=True)
        }
        return {key: family.start(rng, n_states, n_components, some[column]) for key, column, family in self._keyed}

    def uniform(self, n_states: int) -> Any:
        """Column by column."""
        return {key: family.uniform(n_states) for key, _, family in self._keyed}

    def log_prior(self, params: Any, prior: float) -> Any:
        """The sum over columns."""
        return sum(family.log_prior(params[key], prior) for key, _, family in self._keyed)

    def log_prior_constant(self, n_states: int, prior: float) -> float:
        """None is left out."""
        return 0.0

    def posterior(self) -> "Columns":
        """The same columns with posteriors for parameters, for variational EM."""
        return replace(self, families=tuple((column, posterior_of(family)) for column, family in self.families))

    def points(self) -> "Columns":
        """The columns with the parameters of their families themselves."""
        return replace(self, families=tuple((name, getattr(one, "family", one)) for name, one in self.families))

    def means(self, params: Any) -> Any:
        """Parameters of `points` at the means of posteriors."""
        return {key: family.mean(params[key]) for key, _, family in self._keyed}  # type: ignore[attr-defined]

    def expected(self, statistics: Any, params: Any) -> dict[str, Floats]:
        """Expected log density of each column, [component], of the values that the statistics are of."""
        return {column: family.expected(statistics[key], params[key]) for key, column, family in self._keyed}

    def sample(self, rng: np.random.Generator, params: Any, state: Any, component: Any) -> dict[str, Any]:
        """Contents of nodes in these states and components: codes of the label, columns of the rest."""
        drawn: dict[str, Any] = {}
        for key, column, family in self._keyed:
            values = family.sample(rng, params[key], state, component)
            if values is not None and column == LABEL:
                drawn[column] = values
            elif values is not None:
                drawn[column] = Column(family.kind, values, _words(family)).frozen()
        return drawn

    def n_free(self, n_states: int) -> int:
        """The sum over columns."""
        return sum(family.n_free(n_states) for _, family in self.families)

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered in all columns."""
        return {key: family.in_order(values[key], order) for key, _, family in self._keyed}

    # Completed counts: columns of words are cells, [word, state] each; columns of numbers are sums.

    @property
    def _of_words(self) -> list[tuple[str, str, Any]]:
        return [one for one in self._keyed if one[2].holds != "number"]

    @property
    def _of_numbers(self) -> list[tuple[str, str, Any]]:
        return [one for one in self._keyed if one[2].holds == "number"]

    @property
    def n_numbers(self) -> int:
        """Columns of numbers."""
        return len(self._of_numbers)

    def n_cells(self, n_states: int) -> int:
        """Cells of a component."""
        return sum(family.n_words for _, _, family in self._of_words) * n_states

    def cell_rows(self, n_states: int) -> NDArray[np.int64]:
        """The distribution that each cell belongs to: that of its column and state."""
        column = np.repeat(np.arange(len(self._of_words)), [family.n_words for _, _, family in self._of_words])
        return np.ravel(column[:, None] * n_states + np.arange(n_states)).astype(np.int64)

    def number_priors(self, n_states: int) -> Floats:
        """Priors of the cells of sums, as `kernels.number_marginals` takes them."""
        priors = [[*family.number_prior(), 0.0] for _, _, family in self._of_numbers for _ in range(n_states)]
        table = np.array(priors, np.float64).reshape(-1, N_PRIOR)
        for one in table:
            one[-1] = number_marginal(one, 0.0, 0.0, 0.0)
        return table

    def by_row(self, contents: Contents | None) -> tuple[Any, Floats]:
        """Words of each row, sparse [row, word of any column], and sums of its numbers, [row, column, 3]."""
        words = [family.row_words(self._values(contents, column)) for _, column, family in self._of_words]
        held = sparse.hstack(words, format="csr") if words else sparse.csr_array((self._n_rows(contents), 0))
        return sparse.csr_array(held), self._moments(contents)

    def from_cells(self, cells: Floats, n_states: int, numbers: Floats | None = None) -> Any:
        """Statistics from [cell, component], and those of numbers from [cell of sums, 3, component]."""
        n, at, found = cells.shape[-1], 0, {}
        for key, _, family in self._of_words:
            size = family.n_words * n_states
            found[key] = family.from_words(cells[at : at + size].reshape(family.n_words, n_states, n))
            at += size
        for x, (key, _, family) in enumerate(self._of_numbers):
            sums = np.zeros((n_states, N_MOMENTS, n)) if numbers is None else numbers[x * n_states : (x + 1) * n_states]
            found[key] = family.from_moments(sums.transpose(1, 0, 2))
        return {key: found[key] for key, _, _ in self._keyed}

    def urns(self, contents: Contents | None, prior: float) -> Urns:
        """Words and numbers of each row, with the priors of the columns."""
        words, numbers = self.by_row(contents)
        words.sort_indices()
        entries = words.indptr.astype(np.int64), words.indices.astype(np.int64), words.data.astype(np.float64)
        n_words = np.array([family.n_words for _, _, family in self._of_words], np.int64)
        column = np.repeat(np.arange(len(n_words)), n_words)
        constant = np.zeros(words.shape[0])
        for x, (_, _, family) in enumerate(self._of_numbers):
            constant += family.constant_of(numbers[:, x])
        priors = float(prior), n_words * float(prior)
        return Urns(*entries, column, *priors, numbers, self.number_priors(1), constant, False)

    @property
    def has_labels(self) -> bool:
        """Whether the label is one of the columns."""
        return any(column == LABEL for column, _ in self.families)

    def encoded(self, shard: SharedForest) -> tuple[NDArray[np.int32], int]:
        """The label of each unit, and the number of labels."""
        return self._values(shard.contents, LABEL)[shard.units.label], self.n_labels

    def encoded_names(self, words: tuple[str, ...]) -> list[str]:
        """Names of the labels."""
        return [f"label:{word}" for word in words]

    def shown(self, params: Any, words: tuple[str, ...], most: int) -> Shown:
        """Numbers of each column by state; columns of many words take turns with the others."""
        every = [[*family.shown(params[key], words).items()] for key, _, family in self._keyed]
        taken = sorted(((x, at) for at, one in enumerate(every) for x in range(len(one))))[:most]
        chosen = [(self.families[at][0], *every[at][x]) for at, x in sorted((at, x) for x, at in taken)]
        names = [what if column == LABEL else f"{column}, {what}" for column, what, _ in chosen]
        return Shown(names, np.stack([values for _, _, values in chosen], axis=1))


def _words(family: Any) -> tuple[str, ...]:
    return getattr(family, "words", ())
