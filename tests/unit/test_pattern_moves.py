"""Groups merged and split by hand: what changes, what is kept, what is refused, and that moves are played again."""

import itertools

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ModelFileError, SettingError
from arbora.models.patterns import fitted as ft

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def demo():
    return ab.datasets.load_demo()[::4]


def fitted(demo, **more):
    settings = {"n_chains": 1, "n_iter": 2, "random_state": 0} | more.pop("settings", {})
    return ab.PatternMixture(**settings).fit(demo, **more)


def partition(label):
    return {frozenset(np.flatnonzero(label == k).tolist()) for k in np.unique(label)}


def test_merged_groups_are_one_and_nothing_else_changes(demo):
    model, before = fitted(demo), fitted(demo)
    model.merge_groups([0, 2], demo)
    wanted = np.where(before.labels_ == 2, 0, before.labels_)
    assert partition(model.labels_) == partition(wanted)
    assert (np.diff(model.group_size_) <= 0).all()
    assert model.group_size_.tolist() == np.bincount(model.labels_).tolist()
    assert model.log_posterior_ == pytest.approx(ft.log_posterior_of(model.model_), rel=1e-12)
    step = ft.best_merges(before.model_, before.log_posterior_)
    if sorted(step.pair[0].tolist()) == [0, 2]:
        assert model.log_posterior_ == pytest.approx(step.log_posterior[1], rel=1e-12)
    bare = fitted(demo).merge_groups([2, 0])
    for name in ("labels_", "group_size_", "pattern_count_", "log_posterior_"):
        assert np.array_equal(getattr(bare, name), getattr(model, name)), name
    assert bare.splits() is None
    assert len(model.splits().gain) == model.n_components_
    assert model.moves_ == [{"merge": [int(np.flatnonzero(before.labels_ == k)[0]) for k in (0, 2)]}]


def test_merged_scores_are_those_of_trees_left_out_of_the_merged_group(demo):
    model = fitted(demo).merge_groups([0, 1], demo)
    n = int(np.flatnonzero(model.labels_ == 0)[0])
    rest = model.model_.sums.plus(rows := ft.rows_of(model.patterns_.transform(demo[n : n + 1]), model.model_), [0], -1)
    score = ft.per_pattern(ft.log_predictive(model.model_._replace(sums=rest), rows)[:, 0], rows)
    assert model.left_out_[n] == pytest.approx(score[0], rel=1e-10)


def test_a_split_has_no_better_neighbour_and_gains_what_it_says(demo):
    model, before = fitted(demo, settings={"n_components": 3}), fitted(demo, settings={"n_components": 3})
    gain = before.splits().gain
    model.split_group(0, demo)
    assert model.n_components_ == 4
    assert model.log_posterior_ - before.log_posterior_ >= gain[0] - 1e-6  # as good as the split of the fit
    assert {frozenset(x) for x in partition(before.labels_)} - partition(model.labels_) == {
        frozenset(np.flatnonzero(before.labels_ == 0).tolist())
    }


@pytest.mark.parametrize("apart", [[[0, 1], [2]], [[0, 4], [1]]])  # trees 0 and 1 are the same, 0 and 4 are not
def test_the_best_split_of_six_trees_is_the_best_of_all_that_keep_apart(apart):
    """Every parting of one group that keeps two sides apart and each whole, by enumeration."""
    trees = [("a", ["b", c]) for c in "ccddee"] + [("x", ["y"])] * 6
    free = fitted(trees, settings={"n_components": 2})
    assert sorted(free.group_size_) == [6, 6]
    k = int(free.labels_[0])
    values = {}
    numbers = free.model_
    for side in itertools.product((0, 1), repeat=6):
        of_one, of_other = ({side[t] for t in trees_of} for trees_of in apart)
        if not (len(of_one) == len(of_other) == 1 and of_one != of_other):
            continue
        label = np.where(free.labels_ == k, 0, 1)
        label[np.flatnonzero(free.labels_ == k)] = np.array(side) * 2
        rows = ft.rows_of(free.patterns_.transform(trees), numbers)
        nothing = ft.Sums(np.zeros((3, len(numbers.share)), np.int64), np.zeros(3, np.int64))
        values[side] = ft.log_posterior_of(numbers._replace(sums=nothing.plus(rows, label, 1)))
    free.split_group(k, trees, apart=apart)
    assert free.log_posterior_ == pytest.approx(max(values.values()), rel=1e-12)
    (one, two), (other,) = apart
    assert free.labels_[one] == free.labels_[two] != free.labels_[other]


def test_a_class_cannot_be_parted():
    trees = [("a", ["b", c]) for c in "ccddee"] + [("x", ["y"])] * 6
    model = fitted(trees, known=["one"] * 6 + ["two"] * 6)
    with pytest.raises(SettingError, match="parted"):
        model.split_group(int(model.labels_[0]), trees)
    with pytest.raises(SettingError, match="cannot_link"):
        model.split_group(int(model.labels_[0]), trees, apart=[0, 1])


def test_moves_are_played_again_and_live_in_the_file(demo, tmp_path):
    model = fitted(demo).merge_groups([0, 1], demo).split_group(0, demo, apart=None)
    t = int(np.flatnonzero(model.labels_ == 1)[0])
    u = int(np.flatnonzero(model.labels_ == 1)[-1])
    model.split_group(1, demo, apart=[t, u])
    model.save(tmp_path / "m")
    again = ab.load(tmp_path / "m")
    assert again.moves_ == model.moves_ == [*model.moves_[:2], {"split": [[t], [u]]}]
    played = fitted(demo).steer(demo, again.moves_)
    assert np.array_equal(played.labels_, model.labels_)
    assert np.array_equal(played.left_out_, model.left_out_)
    assert played.moves_ == model.moves_
    assert fitted(demo).moves_ == []


def test_forged_moves_are_refused(demo, tmp_path):
    model = fitted(demo).merge_groups([0, 1])
    for forged in ([{"merge": []}], [{"join": [0, 1]}], [{"merge": ["a"]}], {"merge": [0]}, [3]):
        model.moves_ = forged
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError):
            ab.load(tmp_path / "m")


def test_trees_beside_the_sample_follow(demo):
    model = fitted(demo, settings={"fit_on": 40})
    before = model.labels_.copy()
    model.split_group(0, demo)
    parted = partition(before) - partition(model.labels_)
    assert len(parted) == 1
    rest = np.setdiff1d(np.arange(demo.n_trees), model.fitted_trees_)
    assert np.mean(model.predict(demo.take(rest)) == model.labels_[rest]) > 0.9
    assert model.group_size_.sum() == 40


def test_constraints_of_the_fit_hold_for_moves(demo):
    y = [str(c) if t % 7 == 0 else None for t, c in enumerate(demo.target)]
    a, b = (int(np.flatnonzero(demo.target == c)[1]) for c in np.unique(demo.target)[:2])
    model = fitted(demo, known=y, constraints={"cannot_link": [(a, b)]})
    groups = list(model.class_groups_.values())
    with pytest.raises(SettingError, match="class"):
        model.merge_groups(groups[:2])
    with pytest.raises(SettingError, match="cannot_link"):
        fitted(demo, constraints={"cannot_link": [(a, b)]}).merge_groups(range(5), demo)
    name = model.known_classes_[0]
    model.split_group(model.class_groups_[name], demo)
    mine = [t for t, c in enumerate(y) if c == name]
    assert set(model.labels_[mine].tolist()) == {model.class_groups_[name]}


@pytest.mark.parametrize(
    ("move", "says"),
    [
        (lambda m, x: m.merge_groups([0]), "two or more"),
        (lambda m, x: m.merge_groups([0, 99]), "99"),
        (lambda m, x: m.merge_groups([0, True]), "True"),
        (lambda m, x: m.merge_groups([0, 1], x[1:]), "not the trees"),
        (lambda m, x: m.merge_groups([0, 1], x[::-1]), "not the trees"),
        (lambda m, x: m.split_group(0, x, apart=[0]), "two trees"),
        (lambda m, x: m.split_group(int(m.labels_[0]), x, apart=[0, 0]), "none on both"),
        (lambda m, x: m.split_group(int(m.labels_[0] == 0), x, apart=[0, 1]), "is in group"),
        (lambda m, x: m.steer(x, [{"merge": [0, 1000]}]), "1000"),
        (lambda m, x: m.steer(x, [{"join": [0, 1]}]), "join"),
        (lambda m, x: m.partial_fit(x).merge_groups([0, 1]), "since the fit"),
        (lambda m, x: m.steer(x, {"merge": [0, 1]}), "a list of moves"),
        (lambda m, x: m.steer(x, [{"merge": 5}]), "wanted"),
        (lambda m, x: m.steer(x, [{"merge": []}]), "two trees or more"),
        (lambda m, x: m.steer(x, [{"merge": [3, 3]}]), "two trees or more"),
        (lambda m, x: m.steer(x, [{"merge": [3, [4]]}]), r"tree \[4\] of a move"),
        (lambda m, x: m.steer(x, [{"split": []}]), "wanted"),
        (lambda m, x: m.steer(x, [{"split": [[0, 1]]}]), r"tree \[0, 1\] of a move"),
        (lambda m, x: m.steer(x, [{"split": [0, 1, -1 + len(x)]}]), "wanted"),
    ],
)
def test_what_is_no_move_is_refused(demo, move, says):
    with pytest.raises(SettingError, match=says):
        move(fitted(demo), demo)


def test_moves_already_made_are_not_made_again(demo):
    model = fitted(demo)
    t = int(np.flatnonzero(model.labels_ != model.labels_[0])[0])
    model.steer(demo, [{"merge": [0, t]}, {"merge": [0, t]}, {"split": [0, t]}, {"split": [0, t]}])
    assert [next(iter(move)) for move in model.moves_] == ["merge", "split"]
    assert model.labels_[0] != model.labels_[t]


def test_sides_that_share_a_group_are_parted_in_it(demo):
    """A tree of a side that is elsewhere does not make the others apart."""
    model = fitted(demo)
    one, other = (np.flatnonzero(model.labels_ == k)[:3].tolist() for k in (0, 1))
    model.steer(demo, [{"split": [[one[0], other[0]], [one[1], other[1]]]}])
    assert len(model.moves_) == 2
    assert model.labels_[one[0]] != model.labels_[one[1]]
    assert model.labels_[other[0]] != model.labels_[other[1]]
    model.steer(demo, [{"split": [[one[0]], [other[0]]]}])
    assert len(model.moves_) == 2  # they were apart
