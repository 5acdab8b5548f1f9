"""Classification of the real INEX trees: errors far below the paper's, on the paper's split."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import load_inex2005, load_inex2006
from arbora.errors import DataNotFoundError


def split(load):
    try:
        return load("train"), load("test")
    except DataNotFoundError as error:
        pytest.skip(str(error))


def classifier(n_components, n_states):
    encoder = ab.HiddenTreeMixture(n_components, n_states, structure=None, encoding="score", max_iter=30, tol=0)
    return ab.TreeClassifier(encoder, "logistic", random_state=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::arbora.errors.NotConvergedWarning")
def test_inex_2005_error_is_below_the_published_one():
    """The published best of nine settings is 7.30 %; trees of the test set are seldom novel, nonsense always is."""
    train, test = split(load_inex2005)
    model = classifier(6, 2).fit(train)
    assert 1.0 - model.score(test) < 0.06
    assert model.is_novel(test).mean() < 0.03
    words = train.vocabulary
    nonsense = ab.Forest.from_nested([(words[m], list(words[m + 1 : m + 15])) for m in range(0, 300, 20)])
    assert model.is_novel(nonsense).mean() > 0.9


@pytest.mark.slow
def test_inex_2006_error_is_below_the_published_one():
    """The published best of nine settings is 69.17 %; a planted fault, classes shuffled, is near chance."""
    train, test = split(load_inex2006)
    model = classifier(9, 2).set_params(novelty=None)
    assert 1.0 - model.fit(train).score(test) < 0.65
    shuffled = np.random.default_rng(0).permutation(train.target)
    assert 1.0 - model.fit(train, shuffled).score(test) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("load", "most"), [(load_inex2005, 0.032), (load_inex2006, 0.555)])
def test_the_default_on_inex(load, most):
    """Settings were chosen on other trees; of the test trees about one in a hundred is novel, and nonsense is."""
    train, test = split(load)
    model = ab.TreeClassifier(random_state=0).fit(train)
    assert 1.0 - model.score(test) <= most
    assert 0.002 < model.is_novel(test).mean() < 0.03
    words = train.vocabulary
    top = min(300, len(words) - 16)
    nonsense = ab.Forest.from_nested([(words[m], list(words[m + 1 : m + 15])) for m in range(0, top, 20)])
    assert model.is_novel(nonsense).mean() > 0.9
