"""Assignments: what one pass gives is what each method gives, for every model that clusters trees."""

import warnings

import numpy as np
import pytest

import arbora as ab
from arbora.models.registry import MODELS, typed

FOREST = ab.datasets.make_documents(2, random_state=0)
NEW = ab.Forest.from_nested([("article", ["nothing seen", "title"]), ("never", ["seen"])])
SETTINGS = {
    "PatternMixture": {"n_iter": 4, "n_chains": 1},
    "HiddenTreeMixture": {"n_components": 3, "n_states": 2, "max_iter": 3},
    "InfiniteHiddenTreeMixture": {"n_states": 2, "n_iter": 3, "n_chains": 1},
    "HiddenTree": {"n_states": 3, "max_iter": 3},
    "TopographicMap": {"side": 3, "basis": 2, "n_init": 1, "max_iter": 3},
    "TreeUnionMixture": {},
    "TreeGrammarMixture": {"n_components": 2, "max_iter": 3},
}


@pytest.mark.parametrize("name", typed("cluster").values())
def test_one_pass_gives_what_the_methods_give(name):
    settings = {"random_state": 0, **SETTINGS[name]} if name != "TreeUnionMixture" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(ab, name)(**settings).fit(FOREST)
    assert {"clusters", "probabilities"} <= model.page_parts() <= set(MODELS[name].page)
    for trees in (FOREST, NEW):
        found = model.assign(trees)
        assert np.array_equal(found.labels, model.predict(trees))
        assert np.array_equal(found.proba, model.predict_proba(trees))
        assert np.array_equal(found.log_likelihood, model.score_samples(trees))
        n_groups = getattr(model, "n_components_", found.proba.shape[1])
        assert found.new_group == (found.proba.shape[1] > n_groups)
        some = found.take([0])
        assert some.labels.shape == (1,)
        assert np.array_equal(some.proba, found.proba[:1])
    if hasattr(model, "aic"):
        found = model.assign(FOREST)
        assert found.aic(model.n_parameters()) == pytest.approx(model.aic(FOREST), rel=1e-12)
        assert found.bic(model.n_parameters()) == pytest.approx(model.bic(FOREST), rel=1e-12)


def test_a_model_without_a_likelihood_has_no_criterion():
    found = ab.TreeEditClustering(2, method="average").fit(FOREST[:6]).assign(FOREST[:6])
    assert found.proba is None
    with pytest.raises(ValueError, match="no information criterion"):
        found.aic(3)
