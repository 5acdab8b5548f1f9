"""Model files of earlier versions, whose settings have other names or values by now."""

import pytest

import arbora as ab
from arbora.models import restore


@pytest.fixture(scope="module")
def trees():
    return ab.datasets.make_documents(4, random_state=0)


@pytest.mark.compiled
def test_settings_that_are_gone_are_left_out(trees):
    model = ab.PatternMixture(3, random_state=0).fit(trees)
    header, arrays = model._pack()
    header["params"] |= {"n_sweeps": 12, "power": "auto"}
    again = restore(header, arrays)
    assert again.power == 1.0
    assert again.predict(trees).tolist() == model.predict(trees).tolist()
    header["params"]["n_swoops"] = 12
    with pytest.raises(ValueError, match="settings are not those of a PatternMixture"):
        restore(header, arrays)


@pytest.mark.compiled
def test_values_that_are_gone_are_replaced(trees):
    model = ab.TreeGrammarMixture(3, random_state=0).fit(trees)
    header, arrays = model._pack()
    header["params"]["start"] = "kmeans"
    assert restore(header, arrays).start == "communities"
    header["params"]["start"] = ["kmeans"]
    with pytest.raises(ValueError, match="the setting start"):
        restore(header, arrays)
