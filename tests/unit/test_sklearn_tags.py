"""What scikit-learn asks of an estimator about its input, and data frames of sparse counts."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import arbora as ab
from arbora.errors import SettingError

TREES = [("a", ["b"]), "a", ("a", ["b", "c"])]
SPARSE = [ab.TreePatterns(["labels"], min_trees=1), ab.SlotLabelCounts()]


def test_samples_are_trees_and_not_rows():
    tags = get_tags(ab.HiddenTreeMixture(2))
    assert (tags.input_tags.two_d_array, tags.input_tags.dict, tags.input_tags.string) == (False, True, True)
    assert tags.no_validation
    assert tags.non_deterministic
    assert tags.estimator_type == "clusterer"
    assert not get_tags(ab.TreePatterns()).non_deterministic
    assert get_tags(ab.TreeClassifier()).estimator_type == "classifier"
    assert get_tags(ab.TreeClassifier()).target_tags.required
    assert get_tags(ab.DPGaussianMixture()).input_tags.two_d_array


@pytest.mark.parametrize("transformer", SPARSE, ids=["patterns", "counts"])
def test_sparse_rows_become_a_frame_of_sparse_columns(transformer):
    pd = pytest.importorskip("pandas")
    rows = clone(transformer).fit_transform(TREES)
    assert sparse.issparse(rows)
    framed = clone(transformer).set_output(transform="pandas")
    for table in (framed.fit_transform(TREES), clone(framed).fit(TREES).transform(TREES)):
        assert isinstance(table, pd.DataFrame)
        assert table.columns.tolist() == [str(name) for name in framed.get_feature_names_out()]
        assert np.array_equal(table.sparse.to_coo().toarray(), rows.toarray())
    assert sparse.issparse(framed.set_output(transform="default").transform(TREES))


def test_a_pipeline_sets_the_output_of_its_steps():
    pd = pytest.importorskip("pandas")
    pipeline = make_pipeline(ab.SlotLabelCounts(sparse_output=False)).set_output(transform="pandas")
    assert isinstance(pipeline.fit_transform(TREES), pd.DataFrame)


def test_what_cannot_be_is_refused():
    with pytest.raises(SettingError, match=r'wanted "default", "pandas" or "polars"'):
        ab.TreePatterns().set_output(transform="arrow")
    with pytest.raises(SettingError, match="polars has no sparse columns"):
        clone(SPARSE[0]).set_output(transform="polars").fit_transform(TREES)


def test_models_that_count_patterns_ignore_the_global_setting():
    pytest.importorskip("pandas")
    with sklearn.config_context(transform_output="pandas"):
        rows = clone(SPARSE[0]).fit_transform(TREES)
    assert sparse.issparse(rows)
