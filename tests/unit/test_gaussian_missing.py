"""Missing cells of DPGaussianMixture and NHCM: integrated out where rows choose groups, drawn given the groups."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.errors import RowsError
from arbora.models.gaussian import sampler as gs
from arbora.models.gaussian.missing_cells import by_pattern
from tests.reference import nested_gaussian as reference
from tests.unit.test_gaussian_exact import A0, A1, distance, frequencies, noise
from tests.unit.test_gaussian_kernels import setting_of

pytestmark = pytest.mark.compiled
NAN = np.nan


def gappy():
    """Four rows of two columns; the third lacks the first cell, the fourth the second."""
    x = np.random.default_rng(1).normal(size=(4, 2)) * 1.6
    x[2, 0] = x[3, 1] = NAN
    return x


class OnlyFirstGuess(gs.NestedGibbs):
    """Planted: missing cells are taken for the means of their columns."""

    def step(self, rng, state):
        after, told = super().step(rng, state)
        return after._replace(cells=self.no_cells()), told

    def _move_data(self, rng, x, state):
        gaps, self.gaps = self.gaps, gs.gaps_of(np.zeros_like(self.missing))
        moved = super()._move_data(rng, x, state)
        self.gaps = gaps
        return moved


@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_frequencies_are_the_posterior_given_the_seen_cells(kind):
    x = gappy()
    setting, prior = setting_of(kind, 2, n_split_merge=2, start="one")
    truth = reference.posterior(x, kind, A0, A1, prior)
    assert distance(frequencies(gs.NestedGibbs(x, setting), 3000, 3), truth) < 1.6 * noise(truth, 3000)


def test_a_planted_error_is_caught():
    x = gappy()
    setting, prior = setting_of("single", 2, n_split_merge=0, start="one")
    truth = reference.posterior(x, "single", A0, A1, prior)
    assert distance(frequencies(OnlyFirstGuess(x, setting), 3000, 3), truth) > 2.5 * noise(truth, 3000)


def conditional(x, prior):
    """Grid and distribution function of the one missing cell, all rows in one group."""
    node, weight = reference.stretched(401)
    row, column = np.argwhere(np.isnan(x))[0]
    whole = np.repeat(x[None], len(node), axis=0)
    whole[:, row, column] = node
    mass = weight * np.exp(reference.log_likelihood(whole, [0] * len(x), [0], prior))
    return node, np.cumsum(mass) / mass.sum()


@pytest.mark.parametrize("kind", ["single", "flat"])
def test_cells_are_drawn_from_their_conditional(kind):
    x = np.random.default_rng(2).normal(size=(6, 3)) @ np.array([[1.0, 0.8, 0.1], [0, 0.6, 0.9], [0, 0, 0.5]])
    x[4, 1] = NAN
    setting, prior = setting_of(kind, 3, start="one")
    sampler = gs.NestedGibbs(x, setting)
    rng = np.random.default_rng(0)
    state = sampler.init(rng)._replace(scales=setting.low)
    drawn = []
    for _ in range(3000):
        state = sampler.refilled(rng, state)
        drawn.append(state.cells[0])
    node, total = conditional(x, prior)
    right = stats.kstest(drawn, lambda v: np.interp(v, node, total))
    assert right.pvalue > 1e-3
    shifted = stats.kstest(np.array(drawn) * 1.15, lambda v: np.interp(v, node, total))
    assert shifted.pvalue < 1e-3  # planted: draws a seventh too wide


def test_patterns_cover_all_rows():
    x = np.array([[1.0, NAN], [NAN, 2.0], [1.0, 2.0], [3.0, NAN]])
    found = {tuple(seen): rows.tolist() for rows, seen in by_pattern(x)}
    assert found == {(0,): [0, 3], (1,): [1], (0, 1): [2]}


@pytest.fixture(scope="module")
def holes():
    """Three groups in four columns, a fifth of the cells missing, and the group of each row."""
    rng = np.random.default_rng(5)
    group = np.arange(150) % 3
    x = rng.normal(size=(150, 4)) + 9.0 * np.array([[0, 0, 0, 0], [1, 1, -1, 1], [-1, 1, 1, -1]])[group]
    x[:, 3] = 100.0 + 1e4 * x[:, 3]
    gone = rng.random(x.shape) < 0.2
    gone[gone.all(axis=1)] = False
    return np.where(gone, NAN, x), x, group


@pytest.mark.parametrize("make", [ab.DPGaussianMixture, ab.NHCM])
def test_groups_are_found_and_cells_with_them(make, holes, tmp_path):
    x, whole, group = holes
    model = make(n_iter=40, n_chains=1, random_state=0)
    model.fit(x)
    assert adjusted_rand_score(group, model.level_labels_[-1]) > 0.95
    gone = np.isnan(x)
    assert np.array_equal(model.missing_cells_, np.argwhere(gone))
    z = (model.missing_mean_ - whole[gone]) / model.missing_deviation_
    assert 0.7 < np.sqrt(np.median(z**2)) / 0.6745 < 1.4  # deviations mean what they say
    filled = model.filled(x)
    assert np.array_equal(filled[~gone], x[~gone])
    assert not np.isnan(filled).any()
    model.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))
    assert np.array_equal(loaded.missing_mean_, model.missing_mean_)
    with pytest.raises(RowsError, match="not the rows of the fit"):
        model.filled(x[::-1])


def test_a_row_without_a_cell_has_the_integral_over_it(holes):
    x, whole, _ = holes
    model = ab.DPGaussianMixture(n_iter=20, n_chains=1, random_state=0).fit(x)
    row = whole[:1].copy()
    node = row[0, 3] + 4e4 * np.sinh(np.linspace(-9.0, 9.0, 4001))
    many = np.repeat(row, len(node), axis=0)
    many[:, 3] = node
    integral = integrate.trapezoid(np.exp(model.score_samples(many)), node)
    row[0, 3] = NAN
    assert model.score_samples(row)[0] == pytest.approx(np.log(integral), abs=2e-3)
    assert model.predict_proba(row).sum() == pytest.approx(1.0)


def test_every_row_and_column_needs_a_value(holes):
    x, _, _ = holes
    model = ab.DPGaussianMixture(n_iter=4, n_chains=1)
    with pytest.raises(RowsError, match="row 3 has no value at all"):
        model.fit(np.where(np.arange(150)[:, None] == 3, NAN, x))
    with pytest.raises(RowsError, match="column 1 has no value at all"):
        model.fit(np.where(np.arange(4) == 1, NAN, x))
    assert model.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("model", [ab.NHCM(variant="paper", scale0=1.0, kappa0=1.0), ab.BHMC(), ab.RBHMC()])
def test_other_models_say_which_ones_take_gaps(model, holes):
    assert not model.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(RowsError, match=r"column \d: NaN; .* DPGaussianMixture and NHCM take rows with missing cells"):
        model.fit(np.where(np.arange(150)[:, None] == 3, NAN, holes[1]))


def test_masked_and_absent_cells_are_nan(holes):
    x, _, _ = holes
    model = ab.DPGaussianMixture(n_iter=4, n_chains=1, random_state=0)
    with_nan = model.fit(x).labels_
    assert np.array_equal(model.fit(np.ma.masked_invalid(x)).labels_, with_nan)
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(model.fit(pandas.DataFrame(x).astype("Float64")).labels_, with_nan)


def test_rows_that_agree_wherever_they_speak_are_one_group():
    x = np.tile([1.0, 2.0], (12, 1))
    x[3, 0] = NAN
    assert ab.DPGaussianMixture(n_iter=4, n_chains=1).fit(x).n_components_ == 1
