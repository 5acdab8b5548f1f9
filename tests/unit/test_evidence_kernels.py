"""The compiled passes over rows of content against numpy, column by column, with bugs that must be found."""

import numpy as np
import pytest
from scipy import sparse

from arbora.forest.sharing import Contents
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions import columns as module
from arbora.models.hidden_tree.emissions.bag import Bag
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.flag import Flag
from arbora.models.hidden_tree.emissions.gaussian import Gaussian, Normal
from arbora.models.hidden_tree.emissions.poisson import Poisson
from arbora.models.hidden_tree.lanes import Workspace, from_lanes, to_lanes

pytestmark = pytest.mark.compiled

N_ROWS, N_STATES = 300, 3
EVERY = Columns(
    (
        ("label", Categorical(4)),
        ("x", Gaussian(0.5, 0.8)),
        ("words", Bag(5, tuple("abcde"), 3)),
        ("ok", Flag()),
        ("n", Poisson(0.4)),
        ("more", Bag(2, ("p", "q"))),
        ("kind", Categorical(2, ("k", "l"))),
        ("y", Gaussian(-3.0, 40.0)),
    )
)
NUMBERS = Columns((("x", Gaussian(0.0, 1.0)),))
WORDS = Columns((("words", Bag(5, tuple("abcde"))),))


def values_of(family, rng):
    """Rows of one column, a fifth of them missing."""
    gone = rng.random(N_ROWS) < 0.2
    if family.name == "bag":
        return sparse.csr_array(np.where(gone[:, None], 0.0, rng.poisson(0.8, (N_ROWS, family.n_codes))))
    if family.name == "categorical":
        return np.where(gone, -1, rng.integers(family.n_codes, size=N_ROWS)).astype(np.int32)
    drawn = {
        "gaussian": rng.normal(0, 30, N_ROWS),
        "poisson": rng.poisson(2.0, N_ROWS),
        "flag": rng.random(N_ROWS) < 0.3,
    }
    return np.where(gone, np.nan, drawn[family.name])


def setting(emission, n_components, seed=0):
    """Contents, parameters with impossible values, and posteriors by row."""
    rng = np.random.default_rng(seed)
    contents = Contents({column: values_of(family, rng) for column, family in emission.families})
    params = emission.draw(rng, N_STATES, n_components, 1.0)
    for key, (_, family) in zip(params, emission.families, strict=True):
        if family.name in ("categorical", "bag"):
            params[key][0, :2] = 0.0  # a word that most states do not have
        elif family.name == "poisson":
            params[key][0] = 0.0
        elif family.name == "flag":
            params[key][1] = 1.0
    sums = rng.random((N_ROWS, N_STATES, n_components)) * (rng.random((N_ROWS, 1, 1)) < 0.9)
    return contents, params, sums


def rows_by_numpy(emission, params, contents):
    """Evidence and offsets, column by column."""
    total = 0.0
    with np.errstate(invalid="ignore"):
        for key, (column, family) in zip(params, emission.families, strict=True):
            density = family.log_density(contents.columns[column], params[key])
            total = total + np.where(np.isnan(density), 0.0, density)  # of bags: 0 times the logarithm of 0
    top = total.max(axis=1)
    offset = np.where(np.isfinite(top), top, 0.0)
    return np.exp(total - offset[:, None]), offset


def off(emission, n_components):
    """Largest difference of log density, of evidence, and of statistics, from numpy."""
    contents, params, sums = setting(emission, n_components)
    if any(family.name == "bag" for _, family in emission.families):
        for key, (_, family) in zip(params, emission.families, strict=True):
            if family.name == "bag":
                params[key] = np.maximum(params[key], 1e-3)  # numpy multiplies 0 by the logarithm of 0
    prob, offset = emission.lane_rows(params, contents, Workspace())
    wanted, wanted_offset = rows_by_numpy(emission, params, contents)
    possible = wanted.max(axis=1) > 0
    found = from_lanes(prob, n_components)
    error = [np.abs(found - wanted).max(), np.abs(offset - wanted_offset)[possible].max()]
    shaped = [
        tm.mapped(
            lambda table: np.zeros((*table.shape, *to_lanes(sums).shape[2:])), emission.statistics_tables(N_STATES)
        )
        for _ in range(2)
    ]
    emission.add_statistics(to_lanes(sums), contents, shaped[0])
    for key, (column, family) in zip(params, emission.families, strict=True):
        family.add_statistics(contents.columns[column], to_lanes(sums), shaped[1][key])
    both = (tm.named(one).values() for one in shaped)
    return (*error, max(np.abs(a - b).max() / (1.0 + np.abs(b).max()) for a, b in zip(*both, strict=True)))


@pytest.mark.parametrize("n_components", [1, 3, 4])
@pytest.mark.parametrize("emission", [EVERY, NUMBERS, WORDS], ids=["every", "numbers", "words"])
def test_passes_over_rows_equal_numpy(emission, n_components):
    evidence, offset, statistics = off(emission, n_components)
    assert evidence < 1e-12
    assert offset < 1e-10
    assert statistics < 1e-13


def test_rows_without_lanes_are_the_same():
    contents, params, _ = setting(EVERY, 3)
    lanes = EVERY.lane_rows(params, contents, Workspace())
    plain = EVERY.rows(params, contents)
    np.testing.assert_array_equal(plain.prob, lanes.prob[..., :3])
    np.testing.assert_array_equal(plain.offset, lanes.offset)


def test_exponentials_are_exact_down_to_the_least_number():
    apart = -np.linspace(0.0, 707.9, 5000)  # of the log densities of two states
    params = {"c0": np.stack([np.zeros(5000), apart], axis=1)[..., None]}
    table = Columns((("k", Categorical(5000)),))
    params["c0"] = np.exp(params["c0"])
    found = table.rows(params, Contents({"k": np.arange(5000, dtype=np.int32)})).prob[:, 1, 0]
    np.testing.assert_allclose(found, params["c0"][:, 1, 0], rtol=3e-16 * 708)
    far = Normal(np.stack([np.zeros(1), np.full(1, 60.0)]), np.full((2, 1), 1.0))
    prob = NUMBERS.rows({"c0": far}, Contents({"x": np.array([0.0, 60.0, 30.0, 1e150])})).prob[:, :, 0]
    np.testing.assert_array_equal(prob, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])


def test_nothing_known_says_nothing():
    contents = Contents({"x": np.full(3, np.nan)})
    prob, offset = NUMBERS.rows(NUMBERS.draw(np.random.default_rng(0), 2, 2, 1.0), contents)
    assert (prob == 1.0).all()
    assert (offset == 0.0).all()


@pytest.mark.parametrize("bug", ["constant", "order", "cap"])
def test_planted_bugs_are_found(bug, monkeypatch):
    if bug == "constant":
        monkeypatch.setattr(Poisson, "row_constant", lambda self, values: 0.0)
    elif bug == "order":  # bags with other columns between them
        monkeypatch.setattr(module, "in_order", list)
    else:
        monkeypatch.setattr(Bag, "row_words", lambda self, values: values)
    assert max(off(EVERY, 3)) > 1e-3
