"""Maps of trees with content: families on the plane, steps that never fall, places by numbers, files."""

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.forest.sharing import share
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions import emission_of, plane_columns
from arbora.models.hidden_tree.emissions.plane import Plane
from arbora.models.hidden_tree.emissions.plane_columns import ON_PLANE, PlaneColumns
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.report import gather
from tests.unit.test_families import FAMILIES, values_of
from tests.unit.test_infinite_content import _forest as all_families
from tests.unit.test_infinite_content import planted

PLANE = Plane(4, 3, 1.0, 0.1)
families = pytest.mark.parametrize("name", FAMILIES)
quiet = pytest.mark.filterwarnings("ignore::arbora.errors.ContentWarning")


def small(**more):
    return ab.TopographicMap(**{"side": 4, "basis": 3, "n_init": 1, "max_iter": 8, "random_state": 0, **more})


def on_plane(name):
    return ON_PLANE[type(FAMILIES[name])](FAMILIES[name], PLANE)


def statistics_of(name, rng):
    """Statistics of values in all points, of few and of many nodes."""
    family, values = FAMILIES[name], values_of(name, rng, 30)
    made = tm.mapped(lambda table: np.zeros((*table.shape, 1)), family.statistics_tables(16))
    family.add_statistics(values, rng.gamma(0.3, rng.choice([0.1, 10.0, 1000.0]), (30, 16, 1)), made)
    return made


def falls(name, n=60):
    """How many steps from random parameters lower expected log-likelihood plus log prior."""
    rng, one, found = np.random.default_rng(0), on_plane(name), 0
    for _ in range(n):
        statistics, params = statistics_of(name, rng), one.draw(rng, 16, 1, 1.0)
        before, after = (
            float(one.expected(statistics, p)[0] + one.log_prior(p, 1.0)[0])
            for p in (params, one.mode(statistics, params, 1.0))
        )
        found += after < before - 1e-9 * abs(before)
    return found


@families
def test_no_step_lowers_the_objective(name):
    assert falls(name) == 0


def test_steps_that_are_too_long_are_found(monkeypatch):
    monkeypatch.setattr(plane_columns, "HALVINGS", 1)
    monkeypatch.setattr(plane_columns.PlanePoisson, "_objective", lambda *given: 0.0)  # any step is taken
    assert falls("poisson") > 5


def test_the_mode_of_a_smooth_mean_cannot_be_bettered():
    rng, one = np.random.default_rng(1), on_plane("gaussian")
    for _ in range(20):
        statistics = statistics_of("gaussian", rng)
        best = one.mode(statistics, one.uniform(16), 1.0)
        top = one.expected(statistics, best) + one.log_prior(best, 1.0)
        for _ in range(10):
            other = tm.mapped(lambda x: x * np.exp(1e-3 * rng.standard_normal(x.shape)), best)
            assert (one.expected(statistics, other) + one.log_prior(other, 1.0) < top).all()


def test_the_mode_of_rates_is_reached():
    rng, one = np.random.default_rng(1), on_plane("poisson")
    for _ in range(5):
        statistics = statistics_of("poisson", rng)
        best = one.uniform(16)
        for _ in range(30):
            best = one.mode(statistics, best, 1.0)
        top = one.expected(statistics, best) + one.log_prior(best, 1.0)
        for _ in range(10):
            other = best + 1e-3 * rng.standard_normal(best.shape)
            assert (one.expected(statistics, other) + one.log_prior(other, 1.0) < top).all()


def test_priors_are_those_of_scipy():
    rng = np.random.default_rng(2)
    one, family = on_plane("gaussian"), FAMILIES["gaussian"]
    p = one.draw(rng, 16, 1, 1.0)
    v = p.variance[0, 0]
    wanted = stats.norm.logpdf(p.weight[:, 0], 0.0, np.sqrt(v / PLANE.decay)).sum()
    wanted += stats.invgamma.logpdf(v, 0.5 * family.dof, scale=0.5 * family.dof * family.scale)
    assert one.log_prior(p, 1.0)[0] == pytest.approx(wanted, rel=1e-12)
    for name in ("poisson", "categorical"):
        w = on_plane(name).draw(rng, 16, 1, 1.0)
        wanted = stats.norm.logpdf(w, 0.0, 1.0 / np.sqrt(PLANE.decay)).sum()
        assert on_plane(name).log_prior(w, 1.0)[0] == pytest.approx(wanted, rel=1e-12)


@families
def test_points_are_functions_of_the_bumps(name):
    rng, one = np.random.default_rng(3), on_plane(name)
    p = one.start(rng, 16, 1, values_of("gaussian", rng, 30) ** 2)
    at = one.point(p)
    if name == "gaussian":
        np.testing.assert_allclose(at.mean, FAMILIES[name].centre + PLANE.bumps @ p.weight, rtol=1e-12)
        assert np.ptp(at.variance) == 0.0
    elif name == "poisson":
        np.testing.assert_allclose(at, np.exp(PLANE.bumps @ p) / FAMILIES[name].rate, rtol=1e-12)
    else:
        prob = at if name != "flag" else np.stack([1.0 - at, at])
        score = np.exp(np.einsum("ip,pmk->mik", PLANE.bumps, p))
        np.testing.assert_allclose(prob, score / score.sum(axis=0), rtol=1e-9)


@quiet
@pytest.mark.parametrize("places", ["random", "contexts"])
def test_em_with_all_families_never_falls_and_equals_the_columns_of_its_points(places):
    forest = all_families()
    model = small(places=places).fit(forest)
    assert set(model.content_params_) == {"label", "x", "n", "f", "c", "w"}
    assert len(model.history_) == 8
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])
    emission, params = model.spec_.emission, model._fitted_params().tree
    plain = SwitchingTree(model.n_slots_, emission.points(), 16)
    inside = params._replace(emission=emission.by_point(params.emission))
    with Batch(plain, share(forest.arrays, model.n_slots_, content=forest.rows(emission.wanted)), None, 1) as batch:
        np.testing.assert_allclose(model.score_samples(forest), batch.log_likelihood(inside)[:, 0], rtol=1e-11)
    assert sum(score.share for score in model.column_scores(forest).values()) == pytest.approx(1.0)
    assert len(model.emissions(4)[0].columns) == 4


@pytest.fixture(scope="module")
def fitted():
    forest = planted(60)
    with pytest.warns(ab.errors.ContentWarning):
        return ab.TopographicMap(6, basis=4, n_init=2, max_iter=20, random_state=0).fit(forest), forest


@quiet
def test_places_follow_numbers_where_labels_say_nothing(fitted, tmp_path):
    model, forest = fitted
    values = forest.content["x"].values
    nearest = np.linalg.norm(model.node_positions(forest)[:, None] - model.lattice_, axis=2).argmin(axis=1)
    assert np.corrcoef(model.content_params_["x"]["mean"][nearest], values)[0, 1] > 0.9
    assert model.trustworthiness_ > 0.65
    assert model.trustworthiness(forest) == pytest.approx(model.trustworthiness_)
    model.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(again.transform(forest), model.transform(forest))
    assert again.spec_ == model.spec_
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=60)
    np.testing.assert_allclose(model.score_samples(store), model.score_samples(forest), rtol=1e-10)
    alone = small(max_iter=2).fit(store)
    np.testing.assert_allclose(alone.history_, small(max_iter=2).fit(forest).history_, rtol=1e-9)
    assert "lattice" in gather(model, forest)


@quiet
def test_labels_and_content_can_be_left_out(fitted):
    _, forest = fitted
    numbers = small(content={"label": None, "x": "gaussian"}).fit(forest)
    assert numbers.emission_prob_.shape == (16, 0)
    assert set(numbers.point_labels()) == {""}
    labels = small(content=None).fit(forest)
    assert labels.content_params_ == {}
    np.testing.assert_array_equal(labels.history_, small().fit(forest.with_content({})).history_)


@quiet
def test_headers_come_back_and_odd_ones_are_refused(fitted):
    emission = fitted[0].spec_.emission
    header = emission.header()
    assert emission_of(header) == emission
    assert isinstance(emission_of(header), PlaneColumns)
    for sizes in ([6, 7, 1.0, 0.1], [6, 4, 1.0], [6, 4, "a", 0.1], "plane"):
        with pytest.raises(ValueError, match="plane"):
            emission_of([header[0], sizes, header[2]])


@quiet
def test_the_command_line_maps_numbers(tmp_path):
    trees = "".join(f"((a:{n % 5},b:{n % 3 + 1}):1.5,c:{n % 7});\n" for n in range(30))
    (tmp_path / "t.nwk").write_text(trees)
    command = ["cluster", str(tmp_path / "t.nwk"), "--model", "map", "--content", "length:gaussian", "--max-iter", "3"]
    found = CliRunner().invoke(app, [*command, "--save", str(tmp_path / "m.arbora"), "-q"])
    assert found.exit_code == 0, found.output
    assert "length" in ab.load(tmp_path / "m.arbora").content_params_
