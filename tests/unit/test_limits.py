"""Settings beyond all measure are refused before anything is allocated, and settings that no longer fit, too."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from arbora import Forest
from arbora.errors import ArboraError, SettingError
from arbora.inference.chains import run_chains
from arbora.models import (
    BHMC,
    NHCM,
    RBHMC,
    DPGaussianMixture,
    HiddenTree,
    HiddenTreeMixture,
    InfiniteHiddenTreeMixture,
    TreeClassifier,
    TreeUnionMixture,
    UnionEmbedding,
)

TREES = Forest.from_nested([("a", ["b", "c"]), ("a", [("b", ["c"])]), ("b", ["a"]), "a"]).with_target(list("xyxy"))
ROWS = np.arange(12.0).reshape(6, 2)
HUGE = 10**20
VECTORS = (DPGaussianMixture, NHCM, BHMC, RBHMC)


def refuses(model, X):
    """The fit is refused with one sentence, and next to no memory was taken."""
    tracemalloc.start()
    try:
        with pytest.raises(ArboraError, match=r"; (wanted|use|set)") as caught:
            model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        *({name: HUGE} for name in ("n_components", "n_states", "n_init", "max_iter", "n_slots", "n_jobs")),
        *({"n_components": n} for n in (10**8, 5 * 10**8, 10**9)),
        *({"n_states": n} for n in (10**5, 2**31, 10**9)),  # their squares do not fit into a word
        {"n_components": 10**9, "n_states": 10**9, "n_slots": 10**9},
    ],
    ids=str,
)
def test_mixtures_beyond_all_measure(settings):
    refuses(HiddenTreeMixture(**settings), TREES)
    if "n_components" not in settings:
        refuses(HiddenTree(**settings), TREES)


@pytest.mark.parametrize(
    "settings",
    [
        *({name: HUGE} for name in ("n_states", "n_iter", "n_chains", "n_start", "n_auxiliary", "thin", "n_slots")),
        *({name: 10**9} for name in ("n_chains", "n_auxiliary", "n_start", "n_states")),
    ],
    ids=str,
)
def test_infinite_mixtures_beyond_all_measure(settings):
    refuses(InfiniteHiddenTreeMixture(**settings), TREES)


@pytest.mark.parametrize(
    "settings", [{"n_iter": HUGE}, {"n_chains": HUGE}, {"n_chains": 10**9}, {"thin": HUGE}], ids=str
)
@pytest.mark.parametrize("kind", VECTORS)
def test_chains_beyond_all_measure(kind, settings):
    refuses(kind(**settings), ROWS)


def test_other_models_beyond_all_measure():
    refuses(TreeUnionMixture(n_jobs=HUGE), TREES)
    refuses(TreeUnionMixture(HUGE), TREES)
    refuses(TreeUnionMixture(max_rounds=HUGE), TREES)
    refuses(TreeClassifier(HiddenTreeMixture(2, 2, max_iter=2, tol=0.0), hidden_units=HUGE), TREES)


@pytest.mark.parametrize("settings", [{"n_chains": HUGE, "n_sweeps": 1}, {"n_chains": 1, "n_sweeps": HUGE}])
def test_runs_of_chains_beyond_all_measure(settings):
    with pytest.raises(ValueError, match="at most"):
        run_chains(None, seed=0, **settings)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("kind", [TreeUnionMixture, UnionEmbedding])
def test_unions_are_not_read_with_other_labels_than_they_were_fitted_with(kind, fitted, tmp_path):
    model = kind(labels=fitted).fit(TREES) if kind is TreeUnionMixture else kind(2, labels=fitted).fit(TREES)
    model.set_params(labels=not fitted)
    for method in ("predict", "transform", "predict_proba", "merge_gains", "score_samples"):
        if hasattr(model, method):
            with pytest.raises(SettingError, match=f"fitted with labels={fitted}; fit a new model"):
                getattr(model, method)(TREES)
    with pytest.raises(SettingError, match=f"fitted with labels={fitted}; fit a new model"):
        model.save(tmp_path / "m.arbora")  # which could not be read
    model.set_params(labels=fitted).save(tmp_path / "m.arbora")
    assert len(model.predict(TREES)) == TREES.n_trees


@pytest.mark.parametrize("kind", VECTORS)
def test_sparse_rows_are_refused_with_what_to_do(kind):
    model = kind(n_iter=4, n_chains=1, random_state=0)
    for X in (sparse.csr_array(ROWS), sparse.coo_matrix(ROWS)):
        with pytest.raises(TypeError, match=r"[Ss]parse .*toarray"):
            model.fit(X)
    model.fit(ROWS)
    for method in ("predict", "predict_levels"):
        with pytest.raises(TypeError, match=r"[Ss]parse .*toarray"):
            getattr(model, method)(sparse.csr_array(ROWS))
