"""Sequential Monte Carlo of Gaussian groups: the enumerated posterior, planted bugs, names, files, questions."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import logsumexp
from scipy.stats import kstest

import arbora as ab
from arbora.errors import ModelFileError, RowsError, SettingError
from arbora.models.gaussian import sequential
from arbora.models.gaussian import stream as st
from arbora.models.gaussian.kernels import nested_gaussian as ng
from arbora.models.gaussian.kernels import particles as pt
from arbora.models.gaussian.kernels.seating import prior_predictive
from tests.reference import nested_gaussian as reference
from tests.unit.test_gaussian_exact import A0, A1, data, distance
from tests.unit.test_gaussian_kernels import setting_of

pytestmark = pytest.mark.compiled
KINDS = ("single", "flat", "nested")
SLOW = pytest.mark.slow


def nothing(d):
    """A particle that has seen no rows."""
    cloud = st.new_cloud(1, 4, d, 0)
    for name in ("subs", "sub_at", "clusters", "cluster_at"):
        getattr(cloud.pools, name)[:] = np.arange(cloud.sub_name.shape[1])
    none = np.zeros(0, np.int64)
    return st.Stream(cloud, np.zeros((0, d)), none, 0, 0, none, np.zeros((0, 2), np.int64))


def run(kind, x, plan, plant=lambda hyper: hyper, given=None, start=None, cuts=1):
    """Seat rows from nothing, or from a stream; the stream and what was said."""
    setting, _ = setting_of(kind, x.shape[1])
    hyper = plant(st.sampler_of(setting, 200).hyper(np.array([A0, A1]), setting.low))
    stream = nothing(x.shape[1]) if start is None else start
    given, said = np.full(len(x), -1) if given is None else np.array(given), []
    for part in np.array_split(np.arange(len(x)), cuts):
        stream, seated = st.move_on(stream, x[part], given[part], hyper, plan)
        said.append(seated)
    return stream, said


def plan_of(most=2000, window=100, n_moves=0, seed=0, floor=0.0):
    return pt.Plan(0, 0, 0, most, window, n_moves, 0, seed, floor)


def states_of(stream):
    """Weight of every state of the rows of the window."""
    found = {}
    for p, weight in enumerate(stream.cloud.weight):
        key = reference.canonical(stream.cloud.seat[p], stream.cloud.pools.home[p])
        found[key] = found.get(key, 0.0) + weight
    return found


def log_evidence(x, kind):
    prior = setting_of(kind, x.shape[1])[1]
    every = reference.states(len(x), kind)
    return logsumexp([reference.log_prior(*s, kind, A0, A1) + reference.log_likelihood(x, *s, prior) for s in every])


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_particle_for_each_state_the_posterior_is_exact(kind):
    x = data(5)
    truth = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1])
    stream, (said,) = run(kind, x, plan_of())
    found = states_of(stream)
    assert len(found) == len(stream.cloud.weight) == len(truth) == {"single": 52, "flat": 358, "nested": 358}[kind]
    assert distance(found, truth) < 1e-10
    assert said.surprise.sum() == pytest.approx(-log_evidence(x, kind), abs=1e-9)
    assert said.size[-1] == pytest.approx(1 / sum(p**2 for p in truth.values()))
    assert said.new[0] == pytest.approx(1.0)


def average(kind, x, plan, n, plant=lambda hyper: hyper):
    """Mean over runs of the weights of states, runs weighted by the evidence they find; and mean distance of a run."""
    truth, evidence = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1]), log_evidence(x, kind)
    mean, each = {}, []
    for seed in range(n):
        stream, (said,) = run(kind, x, plan._replace(seed=seed), plant)
        found = states_of(stream)
        each.append(distance(found, truth))
        factor = np.exp(-said.surprise.sum() - evidence) / n
        for key, weight in found.items():
            mean[key] = mean.get(key, 0.0) + factor * weight
    return distance(mean, truth), np.mean(each)


@pytest.mark.parametrize(("kind", "n"), [("single", 100), *(pytest.param(k, 300, marks=SLOW) for k in KINDS)])
def test_few_particles_are_unbiased_with_and_without_moves(kind, n):
    x = data(5)
    alone, near = average(kind, x, plan_of(8), n)
    moved, nearer = average(kind, x, plan_of(8, n_moves=3), n)
    assert alone < 3 * near / np.sqrt(n)
    assert moved < 3 * nearer / np.sqrt(n)
    wrong, farther = average(kind, x, plan_of(8, n_moves=3), n, with_other_degrees)
    assert wrong > 6 * farther / np.sqrt(n)
    _, many = average(kind, x, plan_of(40), 20)
    assert many < 0.7 * near


def after_moves(kind, x, n_draws, plant=lambda hyper: hyper):
    """Weights of all states after each row of each was drawn anew, by numbers that are spread evenly."""
    setting, _ = setting_of(kind, x.shape[1])
    hyper = plant(st.sampler_of(setting, 200).hyper(np.array([A0, A1]), setting.low))
    stream, fresh, found = run(kind, x, plan_of())[0], prior_predictive(x, hyper), {}
    for n in range(len(x)):
        for u in (np.arange(n_draws) + 0.5) / n_draws:
            cloud = st._alive(stream.cloud)
            for p in range(len(cloud.weight)):
                pt.move_row(cloud, hyper, p, (x, n), fresh, (u, 99))
            for key, weight in states_of(stream._replace(cloud=cloud)).items():
                found[key] = found.get(key, 0.0) + weight / n_draws / len(x)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_moves_leave_the_posterior_as_it_is(kind):
    x = data(3)
    truth = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1])
    assert distance(after_moves(kind, x, 100), truth) < 0.01
    assert distance(after_moves(kind, x, 100, with_other_degrees), truth) > 0.02


def with_other_concentration(hyper):
    return hyper._replace(subcluster_concentration=2 * A1, cluster_concentration=2 * A0)


def with_wider_prior(hyper):
    return hyper._replace(chol0=1.3 * hyper.chol0, log_det0=hyper.log_det0 + 4 * np.log(1.3))


def with_other_degrees(hyper):
    return hyper._replace(dof0=hyper.dof0 + 1.0)


def with_more_spread(hyper):
    return hyper._replace(spread=hyper.spread + 1.0)


@pytest.mark.parametrize("plant", [with_other_concentration, with_wider_prior, with_other_degrees, with_more_spread])
@pytest.mark.parametrize("kind", KINDS)
def test_planted_bugs_are_found(kind, plant):
    x = data(5)
    truth = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1])
    assert distance(states_of(run(kind, x, plan_of(), plant)[0]), truth) > 0.01


def test_a_weight_of_a_copied_particle_is_found(monkeypatch):
    """A planted bug: particles that are resampled without their weights."""
    x, kind = data(5), "single"
    fair = average(kind, x, plan_of(8), 150)[0]
    truth, mean = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1]), {}
    for seed in range(150):
        stream, _ = run(kind, x, plan_of(8, seed=seed))
        for key in states_of(stream):
            mean[key] = mean.get(key, 0.0) + 1 / len(stream.cloud.weight) / 150
    assert distance(mean, truth) > 0.1 > 1.5 * fair


@pytest.mark.parametrize("kind", KINDS)
def test_known_clusters_are_a_condition_of_the_posterior(kind):
    x = data(5)
    truth = reference.posterior(x, kind, A0, A1, setting_of(kind, 2)[1])
    first = run(kind, x[:1], plan_of())[0]  # its cluster has the name 0
    stream, _ = run(kind, x[1:], plan_of(), given=[-1, 0, -1, 0], start=first)
    kept = {s: p for s, p in truth.items() if s[1][s[0][2]] == s[1][s[0][0]] == s[1][s[0][4]]}
    wanted = {s: p / sum(kept.values()) for s, p in kept.items()}
    # Seating is sequential: a known row conditions all rows before it, too.
    assert distance(states_of(stream), wanted) < 1e-10
    first = first._replace(given=np.zeros(1, np.int64))
    moved, _ = run(kind, x[1:], plan_of(n_moves=4), given=[-1, 0, -1, 0], start=first)
    assert all(s in kept for s in states_of(moved))


def test_how_rows_are_cut_into_calls_changes_nothing():
    x = np.random.default_rng(0).normal(size=(60, 2)) * 2.0
    plan = plan_of(6, window=9, n_moves=2, floor=1e-7)
    (one, (whole,)), (two, parts) = (run("flat", x, plan, cuts=n) for n in (1, 7))
    for a, b in zip(st.pack(one).values(), st.pack(two).values(), strict=True):
        if a.shape == b.shape:
            assert np.array_equal(a, b)
    assert np.array_equal(whole.surprise, np.concatenate([part.surprise for part in parts]))
    assert np.array_equal(whole.new, np.concatenate([part.new for part in parts]))
    assert one.cloud.seat.shape[1] == two.cloud.seat.shape[1] == 9


# ---- the public classes ---------------------------------------------------------------------------------------------


def three_groups(n=40, seed=0, spread=8.0):
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)
    centre = spread * np.array([[0, 0], [1, 0], [0, 1]])
    return rng.normal(size=(n, 2)) + centre[label], label


@pytest.fixture(scope="module")
def models():
    x, label = three_groups()
    settings = {"n_iter": 40, "n_chains": 1, "random_state": 0}
    first = x[label < 2]
    return [ab.DPGaussianMixture(**settings).fit(first), ab.NHCM(**settings, prior="nested").fit(first)]


def copied(model, tmp_path):
    model.save(tmp_path / "m")
    return ab.load(tmp_path / "m")


def test_before_any_row_the_particle_says_what_the_fit_says(models):
    x, _ = three_groups(30, 1)
    for model in models:
        inside = model._give(x)
        found, stream = model._log_weights(inside), model._stream()
        hyper = model._hyper(stream.n_seen)
        own = pt.weigh_rows(inside, st.pool_of(stream, 0), hyper)
        cluster, sub = st.entries(stream, 0, hyper.prior)
        order = [
            int(np.flatnonzero((cluster == c) & (sub == s))[0]) for c, s in zip(found.cluster, found.sub, strict=True)
        ]
        assert np.abs(own[:, order] - found.log).max() < 1e-9


def test_a_new_group_gets_one_number_and_keeps_it_through_a_file(models, tmp_path):
    x, label = three_groups(60, 2)
    for model in (copied(m, tmp_path) for m in models):
        before = model.n_components_
        model.partial_fit(x[:30])
        seen = model.seated_.label
        model = copied(model, tmp_path)
        twin = copied(model, tmp_path)
        model.partial_fit(x[30:])
        twin.partial_fit(x[30:45]).partial_fit(x[45:])
        for key, value in model.stream_.items():
            assert np.array_equal(value, twin.stream_[key]), key
        every = np.concatenate([seen, model.seated_.label])
        numbers = {k: set(every[label == k].tolist()) for k in range(3)}
        assert min(numbers[2]) >= before
        assert numbers[2].isdisjoint(numbers[0] | numbers[1])
        assert model.effective_particles_ == pytest.approx(model.seated_.size[-1])
        fresh, of_fresh = three_groups(30, 3)
        assert set(model.predict(fresh[of_fresh == 2]).tolist()) <= numbers[2]
        assert model.predict_proba(fresh).shape == (30, model.n_components_ + 1)
        assert model.predict_proba(fresh).sum(axis=1) == pytest.approx(np.ones(30))
        assert model.predict_levels(fresh).shape[1] == 30
        assert np.isfinite(model.score_samples(fresh)).all()


def test_surprises_of_a_stream_are_predictive_densities(models, tmp_path):
    x, _ = three_groups(3, 5)
    for model in (copied(m, tmp_path) for m in models):
        for row in x:
            wanted = -model.score_samples(row[None])
            model.partial_fit(row[None])
            assert model.seated_.surprise == pytest.approx(wanted, abs=1e-4)  # but for what is below the floor


def test_p_values_of_rows_of_the_model_are_uniform_and_small_for_others(models):
    x, label = three_groups(600, 7)
    p = models[0].novelty_p_values(x[label < 2])
    assert kstest(p, "uniform").pvalue > 1e-4
    assert models[0].novelty_p_values(x[label == 2]).max() < 0.05
    for model in models:
        p = model.novelty_p_values(x)
        assert p.min() >= 0.0
        assert p.max() <= 1.0


def test_questions_are_about_rows_between_groups_and_answers_are_kept(models, tmp_path):
    x, label = three_groups(60, 8)
    x = x[label < 2]
    between = np.vstack([x[:20], [[4.0, 0.1]], x[20:]])
    for model in (copied(m, tmp_path) for m in models):
        assert model.query(between, 1).tolist() == [20]
        asked = model.query(between, 3)
        assert len(set(asked.tolist())) == 3
        known = model.n_components_ - 1
        model.partial_fit(between[[20, 0]], known=[known, -1])
        assert model.seated_.label[0] == known


def names_of_clusters(stream, n):
    """Names of the clusters of row n of the window, by particle."""
    return [
        int(stream.cloud.cluster_name[p, stream.cloud.pools.home[p, stream.cloud.seat[p, n]]])
        for p in range(len(stream.cloud.weight))
    ]


def entropy(weights, *columns):
    """Entropy of what the columns say together."""
    found = {}
    for key, weight in zip(zip(*columns, strict=True), weights, strict=True):
        found[key] = found.get(key, 0.0) + weight
    return -sum(p * np.log(p) for p in found.values())


def test_what_a_cluster_tells_is_its_entropy_and_the_mutual_information(models):
    model = models[0]
    x = model._give([[4.0, 0.1], [4.3, -0.2], [3.8, 0.4], [0.3, 0.2]])
    stream, hyper = model._stream(), model._hyper(60)
    plan, shared = plan_of()._replace(first_name=99), 0.0
    alone, _ = st.move_on(stream, x[:1], np.full(1, -1), hyper, plan)
    own = entropy(alone.cloud.weight, names_of_clusters(alone, 0))
    for j in range(1, len(x)):
        both, _ = st.move_on(stream, x[[0, j]], np.full(2, -1), hyper, plan)
        mine, other, weight = names_of_clusters(both, 0), names_of_clusters(both, 1), both.cloud.weight
        shared += entropy(weight, mine) + entropy(weight, other) - entropy(weight, mine, other)
    told = sequential._told(x, 0, x[1:], st.pool_of(stream, 0), hyper)
    assert told == pytest.approx(own + shared, abs=1e-6)
    assert shared > 0.1  # so entropy alone would be found


def test_what_partial_fit_refuses(models, tmp_path):
    model = copied(models[0], tmp_path)
    with pytest.raises(RowsError, match="cluster of each of 2"):
        model.partial_fit([[0.0, 0.0], [1.0, 1.0]], known=[0, 99])
    with pytest.raises(SettingError, match="fit first"):
        ab.NHCM().partial_fit([[0.0], [1.0]], known=[0, 0])
    with pytest.raises(ValueError, match="n_moves"):
        model.partial_fit([[0.0, 0.0]], n_moves=64)
    model.partial_fit([[0.0, 0.0]])
    for name, value in (("pool_home", 10**6), ("seat", 99), ("weight", 2.0), ("pool_subs", -1), ("pool_chol", np.nan)):
        kept = model.stream_[name].copy()
        model.stream_[name] = np.full_like(kept, value)
        model.save(tmp_path / "bad")
        with pytest.raises(ModelFileError):
            ab.load(tmp_path / "bad")
        model.stream_[name] = kept
    del model.stream_["weight"]
    model.save(tmp_path / "bad")
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "bad")


def densities(model, row, node, gone):
    """Densities of a row with column `gone` at these values."""
    many = np.repeat(row[None], len(node), axis=0)
    many[:, gone] = node
    return np.exp(model.score_samples(many))


@pytest.fixture(scope="module")
def streamed(models, tmp_path_factory):
    """Models that have taken in 12 rows with 4 particles."""
    folder = tmp_path_factory.mktemp("streamed")
    return [copied(model, folder).partial_fit(three_groups(12, 6)[0], n_particles=4) for model in models]


def test_a_row_without_a_cell_has_the_integral_over_it_in_all_particles(streamed):
    node = 60.0 * np.sinh(np.linspace(-9.0, 9.0, 4001))
    for model in streamed:
        assert len(model.stream_["weight"]) > 1
        for gone in (0, 1):
            row = np.array([1.0, 2.0])
            whole = integrate.trapezoid(densities(model, row, node, gone), node)
            row[gone] = np.nan
            assert model.score_samples(row[None])[0] == pytest.approx(np.log(whole), abs=1e-4)
            assert model.predict_proba(row[None]).sum() == pytest.approx(1.0)
        both = np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, np.nan]])
        assert np.array_equal(model.predict_proba(both)[0], model.predict_proba(both[:1])[0])


def test_the_p_value_of_a_row_without_a_cell_is_the_share_that_is_farther_out():
    x = np.random.default_rng(0).normal(size=(30, 2)) @ np.array([[1.0, 0.7], [0.0, 0.5]])
    model = ab.DPGaussianMixture(concentration=1e-6, n_iter=20, n_chains=1, random_state=0).fit(x)
    assert model.n_components_ == 1  # so the predictive has one peak, and a row is far out if it is improbable
    node = 20.0 * np.sinh(np.linspace(-7.0, 7.0, 8001))
    mass = densities(model, np.array([np.nan, np.nan]), node, 1)
    for value in (0.3, 2.5):
        row = np.array([[np.nan, value]])
        out = np.where(mass < np.exp(model.score_samples(row)), mass, 0.0)
        assert model.novelty_p_values(row)[0] == pytest.approx(integrate.trapezoid(out, node), abs=2e-3)


def test_a_row_that_has_only_constant_columns_is_like_any_other():
    x = np.column_stack([three_groups(40)[0], np.full(40, 3.0)])
    model = ab.DPGaussianMixture(n_iter=4, n_chains=1, random_state=0).fit(x)
    row = np.array([[np.nan, np.nan, 3.0]])
    for _ in range(2):
        share = np.bincount(model.labels_) if not hasattr(model, "stream_") else model.stream_["pool_number"][0]
        assert model.predict_proba(row)[0, :-1].sum() == pytest.approx(share.sum() / (share.sum() + 1.0))
        assert model.score_samples(row)[0] == pytest.approx(0.0)
        assert model.novelty_p_values(row).tolist() == [1.0]
        model.partial_fit(x[:3], n_particles=1)


def test_missing_cells_are_refused_where_sums_would_depend_on_them(models, tmp_path):
    gap = np.array([[0.0, 0.0], [1.0, np.nan]])
    for model in models:
        for act in (model.partial_fit, model.query, type(model)().partial_fit):
            with pytest.raises(RowsError, match=r"row 1, column 1: missing; (partial_fit|query) wants a value"):
                act(gap)
        assert not hasattr(model, "stream_")
    x = three_groups(30, 4)[0]
    x[2, 0] = np.nan
    model = ab.DPGaussianMixture(n_iter=4, n_chains=1, random_state=0).fit(x)
    for act in (model.partial_fit, model.query):
        with pytest.raises(RowsError, match="the rows of the fit have 1 missing cells"):
            act(x[:2])
    assert (model.novelty_p_values(x) > 0).all()
    assert model.fit(x[3:]).partial_fit(x[:2]).n_components_ >= 1


def test_without_a_fit_the_first_rows_are_fitted():
    x, _ = three_groups(30, 9)
    model = ab.DPGaussianMixture(n_iter=20, n_chains=1, random_state=0).partial_fit(x)
    assert model.n_components_ >= 1
    assert not hasattr(model, "stream_")
    assert model.partial_fit(x).fit(x).effective_particles_ == 1.0


def test_rooms_grow_with_the_groups():
    """By a prior that wants a group for each row."""
    x, plan = np.random.default_rng(0).normal(size=(40, 2)), plan_of(4, window=3, n_moves=1, floor=1e-7)
    stream, _ = run("single", x, plan, lambda hyper: hyper._replace(cluster_concentration=1e6))
    assert stream.cloud.pools.n_used[:, 0].max() > 20
    assert stream.cloud.sub_name.shape[1] > ng.N_SCRATCH
