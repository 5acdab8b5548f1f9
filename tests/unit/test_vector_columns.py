"""Rows as the models over arrays take them: columns that never change, scales of any size, cells that are missing."""

import logging
import re

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.errors import ModelFileError, RowsError

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
BRIEF = {"n_iter": 8, "n_chains": 2, "n_jobs": 1, "random_state": 0}
KINDS = [ab.DPGaussianMixture, ab.NHCM, ab.BHMC, ab.RBHMC]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(36, centers=[[0, 0, 0], [12, 0, 3], [0, 12, -3]], random_state=0)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def plain(kind, blobs):
    return kind(**BRIEF).fit(blobs[0])


def with_constants(X, rounding):
    """Three columns that never change, at both ends and in the middle, by no more than rounding."""
    rng = np.random.default_rng(1)
    still = np.array([3.0, 0.0, -1e9]) * (1.0 + rounding * rng.integers(-4, 5, size=(len(X), 3)))
    return np.column_stack([still[:, 0], X[:, 0], still[:, 1], X[:, 1:], still[:, 2]])


# ---- columns that never change --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounding", "scaling"), [(0.0, "default"), (2.0**-52, "default"), (0.0, "common"), (2.0**-52, None)]
)
def test_constant_columns_leave_the_model(kind, plain, blobs, rounding, scaling, caplog):
    X = blobs[0]
    wide = with_constants(X, rounding)
    settings = BRIEF if scaling == "default" else {**BRIEF, "scaling": scaling}
    narrow = plain if scaling == "default" else kind(**settings).fit(X)
    with caplog.at_level(logging.WARNING):
        found = kind(**settings).fit(wide)
    assert "columns 0, 2, 5 are constant" in caplog.text
    np.testing.assert_array_equal(found.draws(), narrow.draws())
    np.testing.assert_array_equal(found.level_labels_, narrow.level_labels_)
    assert found.n_features_in_ == 6
    assert found.varying_columns_.tolist() == [1, 3, 4]
    np.testing.assert_array_equal(found.predict_levels(wide), narrow.predict_levels(X))
    if hasattr(found, "score_samples"):
        np.testing.assert_array_equal(found.score_samples(wide), narrow.score_samples(X))
        assert found.log_joint_ == narrow.log_joint_


def test_many_constant_columns_leave_the_choice_of_a_scaling_alone(blobs):
    noise = np.random.default_rng(0).normal(size=(36, 40))
    assert ab.BHMC(**BRIEF).fit(np.column_stack([blobs[0], 1.0 + 2.0**-52 * noise])).scaling_ == "common"


def test_new_values_in_a_constant_column_are_told_of(kind, blobs, tmp_path, caplog):
    wide = with_constants(blobs[0], 2.0**-52)
    found = kind(**BRIEF).fit(wide)
    with caplog.at_level(logging.WARNING):
        expected = found.predict_levels(wide)
    assert not [r for r in caplog.records if "ignored" in r.message]
    other = wide.copy()
    other[4:9, 2] = 7.0
    found.save(tmp_path / "m.arbora")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(ab.load(tmp_path / "m.arbora").predict_levels(other), expected)
    assert "column 2 was 0 in every training row and is not in the model; 5 rows have another value" in caplog.text


def test_files_of_models_that_had_all_columns_are_read(kind, plain, blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(kind, "_saved", tuple(name for name in kind._saved if name != "varying_columns_"))
    plain.save(tmp_path / "old.arbora")
    monkeypatch.undo()
    old = ab.load(tmp_path / "old.arbora")
    assert old.varying_columns_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(old.predict_levels(blobs[0]), plain.predict_levels(blobs[0]))


@pytest.mark.parametrize("columns", [[0, 1, 1], [2, 1, 0], [0, 1, 3], [-1, 0, 1], [], [0, 1]])
def test_files_with_columns_that_cannot_be_are_refused(plain, tmp_path, columns):
    forged = type(plain)(**BRIEF)
    forged.__dict__.update(plain.__dict__)
    forged.varying_columns_ = np.array(columns, np.int64)
    forged.save(tmp_path / "m.arbora")
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "m.arbora")


def test_a_matrix_as_scale0_loses_the_same_columns(blobs):
    X = blobs[0]
    matrix = 0.1 * np.cov(X.T)
    wide = np.eye(6)
    wide[np.ix_([1, 3, 4], [1, 3, 4])] = matrix
    narrow = ab.NHCM(scale0=matrix, kappa0=0.1, **BRIEF).fit(X)
    found = ab.NHCM(scale0=wide, kappa0=0.1, **BRIEF).fit(with_constants(X, 0.0))
    np.testing.assert_array_equal(found.draws(), narrow.draws())
    np.testing.assert_array_equal(found.base_, narrow.base_)


@pytest.mark.parametrize(
    "X",
    [np.ones((10, 2)), 1e8 * (1.0 + 2.0**-52 * np.arange(30)[:, None] * np.ones(3)), np.full((1, 2), 5.0)],
    ids=["constant", "rounding", "one row"],
)
def test_identical_rows_are_one_group(kind, X, caplog, tmp_path):
    with caplog.at_level(logging.WARNING):
        found = kind(**BRIEF).fit(X)
    assert not found.level_labels_.any()
    assert not found.draws().any() or len(np.unique(found.draws().reshape(-1, len(X)), axis=1).T) == 1
    for level in range(len(found.level_labels_)):
        assert found.n_groups_posterior(level).interval == (1, 1)
    assert ("all rows are the same: one group" in caplog.text) == (len(X) > 1)
    assert np.isfinite(found.trace_.info["log_joint"]).all()
    found.save(tmp_path / "m.arbora")
    assert not ab.load(tmp_path / "m.arbora").predict_levels(X).any()


def test_identical_rows_are_one_group_by_the_papers_procedures_too():
    X = np.ones((10, 2))
    paper = ab.NHCM(variant="paper", scale0=1.0, kappa0=1.0, **BRIEF).fit(X)
    nested = ab.RBHMC(tree="nested", procedure="paper", estimate="best", **BRIEF).fit(X)
    for found in (paper, nested):
        assert not found.level_labels_.any()
    assert not nested.component_.any()


# ---- scales ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [500, -500, -950])
def test_a_power_of_two_as_unit_changes_no_bit(kind, plain, blobs, power):
    found = kind(**BRIEF).fit(np.ldexp(blobs[0], power))
    np.testing.assert_array_equal(found.draws(), plain.draws())
    np.testing.assert_array_equal(found.level_labels_, plain.level_labels_)
    np.testing.assert_array_equal(found.predict_levels(np.ldexp(blobs[0], power)), plain.predict_levels(blobs[0]))


@pytest.mark.parametrize("factor", [1e154, 1e-165])
def test_any_unit_gives_the_same_groups(kind, plain, blobs, factor):
    found = kind(**BRIEF).fit(blobs[0] * factor)
    for one, other in zip(found.level_labels_, plain.level_labels_, strict=True):
        assert adjusted_rand_score(one, other) == 1.0


def test_units_of_columns_may_lie_far_apart(blobs):
    X = blobs[0]
    plain = ab.DPGaussianMixture(**BRIEF).fit(X)
    found = ab.DPGaussianMixture(**BRIEF).fit(np.ldexp(X, [600, -600, 0]))
    np.testing.assert_array_equal(found.draws(), plain.draws())
    assert ab.BHMC(**BRIEF).fit(np.ldexp(X, [600, -600, 0])).scaling_ == "columns"


@pytest.mark.parametrize(
    ("factor", "settings", "told"),
    [
        (1e303, {}, "column 1 has values of"),
        (1e-302, {}, "column 2 varies by"),
        (1e-302, {"scaling": "common"}, "columns vary by"),
        (1e101, {"scaling": None}, "scaling=None and a column that varies by"),
        (1e-102, {"scaling": None}, "scaling=None and a column that varies by"),
    ],
)
def test_scales_that_numbers_cannot_hold_are_refused(kind, blobs, factor, settings, told):
    if kind in (ab.BHMC, ab.RBHMC) and not settings:
        settings = {"scaling": "columns"}
    with pytest.raises(RowsError, match=told):
        kind(**BRIEF, **settings).fit(blobs[0] * factor)


# ---- cells ----------------------------------------------------------------------------------------------------------


def test_masked_cells_are_missing_or_refused(kind, plain, blobs):
    X = np.ma.masked_array(blobs[0], mask=np.zeros((36, 3), bool))
    X.mask[7, 2] = True
    for rows in (X, list(X)):
        if plain.takes_missing():
            assert kind(**BRIEF).fit(rows).missing_cells_.tolist() == [[7, 2]]
            continue
        with pytest.raises(RowsError, match="row 7, column 2: masked; wanted a number"):
            kind(**BRIEF).fit(rows)
    if not plain.takes_missing():
        with pytest.raises(RowsError, match="row 1, column 2: masked"):
            plain.predict(X[6:])
    X.mask[7, 2] = False
    np.testing.assert_array_equal(kind(**BRIEF).fit(X).draws(), plain.draws())


@pytest.mark.parametrize("cell", ["1_1", "\u0661\u0662", "1,5", "x", "", "nan"])
def test_text_that_is_no_plain_number_is_refused(cell):
    """Python takes 1_1 for eleven and reads the digits of every script."""
    rows = [["1", "2.5"], ["3", cell], [" 4e1", "-.5"]]
    told = f"row 1, column 1: the text {cell!r}; wanted a number"
    for X in (rows, np.array(rows), np.array(rows, object)):
        with pytest.raises(RowsError, match=re.escape(told)):
            ab.DPGaussianMixture(**BRIEF).fit(X)
    rows[1][1] = "7"
    ab.DPGaussianMixture(**BRIEF).fit(rows)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_told_by_row_and_column(plain, blobs, value):
    X = blobs[0].copy()
    X[5, 1] = value
    for call in (ab.BHMC(n_iter=4, n_chains=1).fit, *((plain.predict,) if np.isinf(value) else ())):
        with pytest.raises(RowsError, match=f"row 5, column 1: {'NaN' if np.isnan(value) else value}"):
            call(X)


def test_missing_cells_of_data_frames_are_told_by_name(blobs):
    pandas = pytest.importorskip("pandas")
    names = [f"r{n}" for n in range(36)]
    frame = pandas.DataFrame(blobs[0], columns=list("abc"), index=names)
    holes = np.zeros((36, 3), bool)
    holes[9, 1] = True
    for kind_of in ("float64", "Float64", object):
        holed = frame.astype(kind_of).mask(holes, pandas.NA)
        with pytest.raises(RowsError, match=r"row 9 \(r9\), column 1 \(b\): missing; wanted a number"):
            ab.BHMC(n_iter=4, n_chains=1).fit(holed)
        assert ab.NHCM(**BRIEF).fit(holed).missing_cells_.tolist() == [[9, 1]]
    with pytest.raises(RowsError, match="row 1, column 0: missing"):
        ab.NHCM(**BRIEF).fit([[1.0, 2.0], [pandas.NA, 3.0], [3.0, 4.0]])
    whole = ab.NHCM(**BRIEF).fit(frame)
    for kind_of in ("Float64", object):
        np.testing.assert_array_equal(ab.NHCM(**BRIEF).fit(frame.astype(kind_of)).draws(), whole.draws())


# ---- what a fit says of itself --------------------------------------------------------------------------------------


def test_both_learnt_variances_are_those_of_the_draw(blobs):
    found = ab.BHMC(estimate="best", **BRIEF).fit(blobs[0])
    joint = found.trace_.info["log_joint"][:, found.trace_.draw_sweep]
    chain, draw = np.unravel_index(joint.argmax(), joint.shape)
    sweep = found.trace_.draw_sweep[draw]
    told = [found.trace_.info[name][chain, sweep] for name in ("deviation", "mean_deviation")]
    np.testing.assert_array_equal(found.variance_, np.square(told))
    assert len(np.unique(found.trace_.info["mean_deviation"])) == 16  # it is learnt ...
    assert found.variance_[1] != 1.0  # ... from here
    fixed = ab.BHMC(mean_variance=2.0, component_variance=0.5, **BRIEF).fit(blobs[0])
    np.testing.assert_allclose(fixed.variance_, [0.5, 2.0], rtol=1e-15)


def test_an_estimate_outside_its_posterior_is_told(plain):
    alone = {level: plain.n_groups_posterior(level).interval for level in range(len(plain.level_labels_))}
    counts = {level: int(labels.max()) + 1 for level, labels in enumerate(plain.level_labels_)}
    outside = [level for level, (low, high) in alone.items() if not low <= counts[level] <= high]
    assert [one.level for one in plain.estimate_outside_posterior()] == outside
    copy = type(plain)(**BRIEF)
    copy.__dict__.update(plain.__dict__)
    copy.level_labels_ = np.tile(np.arange(36), (len(plain.level_labels_), 1))
    told = copy.estimate_outside_posterior()
    assert len(told) == len(plain.level_labels_)
    low, high = plain.n_groups_posterior(0).interval
    for level, one in enumerate(told):
        assert (one.level, one.n_groups) == (level, 36)
    assert told[0].interval == (low, high)
    assert f"36 groups, outside the 95% interval of their posterior, {low} to {high}" in told[0].sentence
