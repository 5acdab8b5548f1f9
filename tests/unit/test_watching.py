"""A watcher's particles against the enumerated posterior, ids of new groups, what is kept, files, planted bugs."""

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ModelFileError, SettingError
from arbora.inference.kernels import resampling
from arbora.watch import state as st
from arbora.watch import watcher as wt
from arbora.watch.kernels import particles as pt
from arbora.watch.kernels import urns
from arbora.watch.rows import cut
from arbora.watch.watcher import Watcher
from tests.reference import watching as slow

pytestmark = pytest.mark.compiled

SIX = [
    ("a", ["b", "c"]), ("x", ["y", "y"]), ("a", ["b"]),
    ("x", ["y", "c"]), ("d", ["e", "x"]), ("a", ["b", ("c", ["q"])]),
]  # fmt: skip


def fitted(prior="dp", **settings):
    trees = [("a", ["b", "c"])] * 6 + [("a", ["b"])] * 3 + [("d", ["e", "f"])] * 5 + [("d", ["e"])] * 4
    trees += [("a", ["b", "q"]), ("d", ["e", "r"])]
    return ab.PatternMixture(prior=prior, random_state=0, n_chains=1, n_iter=2, **settings).fit(trees)


@pytest.fixture(scope="module")
def model():
    return fitted()


def empty(watcher):
    """Without the groups of the fit: all partitions of the stream are possible."""
    urn = watcher._urn
    sums = watcher._numbers.sums
    nothing = watcher._numbers._replace(sums=sums._replace(count=sums.count[:0], size=sums.size[:0]))
    watcher._numbers = nothing
    watcher._fixed = st.fitted_slots(nothing, urn, 0)
    watcher.state = st.first_state(nothing, urn, 20, wt.N_BINS)
    return watcher


def as_twin(watcher, rows, n_known):
    """What the slow twin wants: the model, the trees, the groups of the fit."""
    numbers, urn = watcher._numbers, watcher._urn
    n_buckets = watcher.settings.buckets
    family = numbers.family
    share = [{j: numbers.share[j] for j in np.flatnonzero(family == f)} for f in range(len(numbers.strengths))]
    trees = []
    for i in range(len(rows.size)):
        columns = rows.column[rows.start[i] : rows.start[i + 1]].tolist()
        tree = []
        for f in range(len(share)):
            buckets = [j for j in columns if j >= n_known and (j - n_known) // n_buckets == f] if n_buckets else []
            assert len(buckets) == rows.size[i, 1, f] == rows.size[i, 2, f]  # no two patterns share a bucket
            tree.append(([j for j in columns if j in share[f]], buckets))
        trees.append(tree)
    twin = {
        "strengths": numbers.strengths, "share": share, "weight": numbers.weight, "bucket": lambda x: x,
        "rare": urn.rare if n_buckets else None, "n_buckets": n_buckets,
        "concentration": urn.concentration, "discount": urn.discount,
    }  # fmt: skip
    groups = []
    for k in range(len(numbers.sums.size)):
        known = [{j: int(numbers.sums.count[k, j]) for j in share[f]} for f in range(len(share))]
        rest = [int(np.rint(sum(known[f].values()) * e / (1 - e))) for f, e in enumerate(urn.rare)]
        groups.append({"size": int(numbers.sums.size[k]), "known": known, "rest": rest})
    return twin, trees, groups


def cloud_of(watcher):
    """Weight of every assignment of the window, new groups numbered as they are opened."""
    found = {}
    label, weight = watcher.state.cloud.label, watcher.state.cloud.weight
    n_fitted = len(watcher._fixed.size)
    for z, w in zip(label.tolist(), weight.tolist(), strict=True):
        number: dict[int, int] = {}
        names, n_named = watcher.state.slots.name, n_fitted + len(watcher.state.opened)
        key = tuple(int(names[k]) if k >= 0 else n_named + number.setdefault(k, len(number)) for k in z)
        found[key] = found.get(key, 0.0) + w
    assert len(found) == len(weight)  # no two particles are alike
    return found


def distance(found, wanted):
    """Total variation."""
    return 0.5 * sum(abs(found.get(z, 0.0) - p) for z, p in wanted.items())


def watched(model, without_fit=False, n=6, **settings):
    watcher = Watcher(model, **settings)
    watcher = empty(watcher) if without_fit else watcher
    rows = watcher.read(ab.Forest.from_nested(SIX[:n]))
    told = watcher.update_rows(rows)
    exact, evidence = slow.posterior(*as_twin(watcher, rows, len(watcher._numbers.share)))
    return cloud_of(watcher), exact, told, evidence


@pytest.fixture
def exactly(monkeypatch):
    monkeypatch.setattr(wt, "FLOOR", 0.0)


@pytest.mark.parametrize("buckets", [1024, 0])
def test_with_a_particle_for_each_of_203_partitions_the_posterior_is_exact(model, exactly, buckets):
    found, exact, told, _ = watched(model, without_fit=True, particles=203, buckets=buckets)
    assert len(exact) == 203
    assert distance(found, exact) < 1e-10
    assert np.abs(told.dropped).max() == 0.0


@pytest.mark.parametrize("prior", ["dp", "pitman-yor"])
def test_beside_the_groups_of_a_fit_the_posterior_is_exact(exactly, prior):
    found, exact, told, evidence = watched(fitted(prior), n=4, particles=1000)
    assert len(exact) > 100
    assert distance(found, exact) < 1e-10
    n_patterns = np.diff(Watcher(fitted(prior)).read(ab.Forest.from_nested(SIX[:4])).start)
    assert -(told.surprise * n_patterns).sum() == pytest.approx(evidence, abs=1e-9)


def test_few_particles_come_near_and_are_unbiased(model, exactly):
    """Weighted by the evidence each run finds, runs have the posterior as their mean."""
    n, near, mean = 300, {}, {}
    for particles in (25, 100):
        near[particles] = np.mean([distance(*watched_fast(model, seed, particles)[:2]) for seed in range(20)])
    for seed in range(n):
        found, exact, told, evidence = watched_fast(model, seed, 25)
        factor = np.exp(-(told.surprise * np.diff(_KEPT[id(model)][1].start)).sum() - evidence)
        for z, w in found.items():
            mean[z] = mean.get(z, 0.0) + w * factor / n
    assert near[100] < near[25] / 1.5
    assert near[100] < 0.3
    assert distance(mean, exact) < 4 * near[25] / np.sqrt(n)


_KEPT: dict[int, tuple[object, ...]] = {}


def watched_fast(model, seed, particles):
    """As `watched`, with rows and the enumeration made once."""
    if id(model) not in _KEPT:
        first = empty(Watcher(model))
        rows = first.read(ab.Forest.from_nested(SIX))
        _KEPT[id(model)] = (model, rows, slow.posterior(*as_twin(first, rows, len(first._numbers.share))))
    _, rows, (exact, evidence) = _KEPT[id(model)]
    watcher = empty(Watcher(model, particles=particles, seed=seed))
    told = watcher.update_rows(rows)
    return cloud_of(watcher), exact, told, evidence


@pytest.mark.parametrize(
    "plant",
    [
        lambda urn: urn._replace(concentration=2 * urn.concentration),
        lambda urn: urn._replace(weight=1.2 * urn.weight),
        lambda urn: urn._replace(rare=urn.rare * 0.3),
        lambda urn: urn._replace(alpha=2 * urn.alpha, log_alpha=np.log(2 * urn.alpha)),
    ],
    ids=["concentration", "weight", "rare", "alpha"],
)
def test_planted_bugs_are_found(model, exactly, plant):
    _, exact, _, _ = watched_fast(model, 0, 203)
    watcher = Watcher(model, particles=203)
    watcher._urn = plant(watcher._urn)
    watcher = empty(watcher)
    watcher.update(SIX)
    assert distance(cloud_of(watcher), exact) > 1e-3


def test_a_frozen_tree_conditions_the_posterior(model, exactly):
    _, exact, _, _ = watched_fast(model, 0, 203)
    watcher = empty(Watcher(model, particles=203, window=4))
    told = watcher.update(SIX)
    # Tree 0 opened group 0; tree 1 is where most of the posterior given five, then six trees has it.
    z1 = int(told.placed[5])
    given = {z: p for z, p in exact.items() if z[1] == z1}
    found = {}
    for z, w in cloud_of(watcher).items():
        number = {}
        key = tuple(number.setdefault(k, len(number)) for k in (0, z1, *z))
        found[key] = w
    wanted = {z: p / sum(given.values()) for z, p in given.items()}
    assert distance(found, wanted) < 1e-10
    assert told.frozen[5] == pytest.approx(sum(given.values()), abs=1e-10)


# ---- resampling -----------------------------------------------------------------------------------------------------


def test_thinning_keeps_large_weights_and_every_expectation():
    weight = np.array([0.4, 0.3, 0.1, 0.08, 0.05, 0.04, 0.02, 0.01])
    mean = np.zeros(8)
    for u in (np.arange(4000) + 0.5) / 4000:
        out = resampling.thin_out(weight, 4, u)
        assert (out > 0).sum() == 4
        assert out[:2].tolist() == [0.4, 0.3]
        assert np.allclose(out[out > 0][2:], 0.15)
        mean += out / 4000
    assert np.abs(mean - weight).max() < 1e-3
    assert resampling.thin_out(weight, 8, 0.5).tolist() == weight.tolist()


def test_numbers_by_place_are_uniform_and_differ_by_purpose():
    u = np.array([[resampling.uniform(7, n, purpose) for purpose in range(3)] for n in range(3000)])
    assert u.min() > 0
    assert u.max() < 1
    assert np.abs(np.sort(u, axis=0) - (np.arange(3000)[:, None] + 0.5) / 3000).max() < 0.035  # Kolmogorov, p = 0.001
    assert np.abs(np.corrcoef(u.T) - np.eye(3)).max() < 0.06


# ---- the stream -----------------------------------------------------------------------------------------------------

KIND = ("x", ["y", "z", ("z", ["y"])])


def stream(n, kind_from=None, seed=0):
    rng = np.random.default_rng(seed)
    every = [("a", ["b", "c"]), ("a", ["b"]), ("d", ["e", "f"]), ("d", ["e"])]
    out = [every[int(rng.integers(4))] for _ in range(n)]
    for t in range(n if kind_from is None else kind_from, n, 3):
        out[t] = KIND
    return out


def test_how_the_stream_is_cut_changes_nothing(model):
    trees = stream(60, 20)
    whole, parts = Watcher(model, window=9), Watcher(model, window=9)
    told = whole.update(trees)
    pieces = [parts.update(trees[a:b]) for a, b in ((0, 1), (1, 7), (7, 31), (31, 31), (31, 60))]
    for name in ("cluster", "opened_by", "probability", "surprise", "rank", "keep", "weight", "frozen", "novelty"):
        assert np.concatenate([getattr(p, name) for p in pieces]).tolist() == getattr(told, name).tolist()
    assert parts.digest() == whole.digest()
    assert sum((p.births for p in pieces), ()) == told.births


def test_a_new_kind_is_born_once_and_keeps_its_number_through_a_file(model, tmp_path):
    trees = stream(90, 30)
    watcher = Watcher(model, window=9)
    first = watcher.update(trees[:60])
    watcher.save(tmp_path / "w.arbora")
    again = Watcher.load(tmp_path / "w.arbora")
    assert again.digest() == watcher.digest()
    second = again.update(trees[60:])
    births = first.births + second.births
    assert [(b.cluster, b.opened_by) for b in births] == [(2, 30)]
    kinds = [i for i in range(45, 90) if trees[i] is KIND]
    cluster = np.append(first.cluster, second.cluster)
    assert {int(cluster[i]) for i in kinds} == {2}
    assert again.groups_[2] == sum(tree is KIND for tree in trees[: 90 - 9])
    assert again.opened_by_ == {2: 30}
    watcher.update(trees[60:])
    assert watcher.digest() == again.digest()


def test_too_many_groups_put_old_ones_aside_for_good(model):
    odd = [(f"k{i}", [f"l{i}", f"m{i}"]) for i in range(30)]
    watcher = Watcher(model, window=2, new_groups=3)
    told = watcher.update([tree for one in odd for tree in [one, one]])
    births = {birth.tree: birth for birth in told.births}
    assert len({birth.cluster for birth in told.births}) == len(births)  # no number comes again
    gone: set[int] = set()
    for tree in range(60):
        assert int(told.placed[tree]) not in gone
        if tree in births and births[tree].retired is not None:
            gone.add(births[tree].retired)
    assert len(gone) > 5
    assert gone.isdisjoint(watcher.groups_)
    assert set(watcher.groups_) >= {0, 1}  # those of the fit stay
    assert watcher.state.slots.count.min() == 0


def test_what_is_kept_stands_for_what_is_not(model):
    told = Watcher(model, keep_share=0.2, seed=1).update(stream(4000))
    assert told.weight[told.keep].sum() == pytest.approx(4000, rel=0.1)
    assert not told.weight[~told.keep].any()
    assert 0.15 < told.keep.mean() < 0.3
    strange = Watcher(model, keep_share=0.0).update([*stream(500), KIND])
    assert strange.keep[-1]
    assert strange.weight[-1] == 1.0


def test_ranks_are_uniform_while_nothing_changes(model):
    told = Watcher(model).update(stream(3000))
    assert np.abs(np.sort(told.rank) - (np.arange(3000) + 0.5) / 3000).max() < 0.036
    assert told.alarms == ()


def test_novelty_is_that_of_the_model(model):
    trees = [*stream(20), ("a", ["c", "b"]), ("d", ["e", "e", "e"])]
    told = Watcher(model, buckets=0).update(trees)
    assert told.novelty.tolist() == model.novelty(trees).p_value.tolist()


def test_settings_and_models_it_cannot_watch(model, tmp_path):
    with pytest.raises(SettingError, match="finite"):
        Watcher(fitted("finite"))
    with pytest.raises(SettingError, match="window=0"):
        Watcher(model, window=0)
    with pytest.raises(SettingError, match="false_alarms"):
        Watcher(model, false_alarms=2)
    watcher = Watcher(model)
    watcher.update(stream(5))
    watcher.state.cloud.label[:] = 999
    watcher.save(tmp_path / "bad.arbora")
    with pytest.raises(ModelFileError, match="does not make a watcher"):
        Watcher.load(tmp_path / "bad.arbora")


def test_an_old_model_file_without_shares_of_rare_patterns_is_watched(model):
    from arbora.models import restore

    header, arrays = model._pack()
    del arrays["patterns_.without_column_"]
    old = restore(header, arrays)
    assert not hasattr(old.patterns_, "without_column_")
    assert Watcher(old).update(stream(20)).cluster.min() >= 0


def test_rows_are_distinct_patterns_of_each_tree(model):
    rows = Watcher(model).read(ab.Forest.from_nested([("x", ["y", "y", "y"]), ("a", ["b", "b", "c"])]))
    n_known = len(model.share_)
    assert (np.diff(rows.start) == rows.size[:, [0, 2]].sum(axis=(1, 2))).all()
    for i in range(2):
        own = cut(rows, i, i + 1).column
        assert (np.diff(own) > 0).all()
        assert (own < n_known).sum() == rows.size[i, 0].sum()
    alone = Watcher(model).read(ab.Forest.from_nested([("a", ["b", "b", "c"])]))
    assert alone.column.tolist() == cut(rows, 1, 2).column.tolist()  # whatever else is read with it


def test_sums_of_slots_are_those_of_the_model(model):
    watcher = Watcher(model, buckets=0)
    score = np.empty((6, 3))
    rows = watcher.read(ab.Forest.from_nested(SIX))
    urns.score_trees(watcher._urn, watcher._fixed, rows, score)
    assert pt.LABEL == 0
    proba = watcher._urn.weight * score + np.log([*model.group_size_, watcher._urn.concentration])
    proba -= np.logaddexp.reduce(proba[:, :2], axis=1, keepdims=True)
    assert proba[:, :2] == pytest.approx(model.predict_log_proba(SIX), abs=1e-10)
