"""A fit by EM that was broken off goes on to the same end."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from arbora import HiddenTree, HiddenTreeMixture, ModelFileError
from arbora.datasets import make_documents
from arbora.errors import SettingError
from arbora.models.hidden_tree import fit_checkpoint, fitting


class _Killed(BaseException):
    """What a kill is to the code that it hits."""


@pytest.mark.parametrize(
    "model",
    [
        HiddenTreeMixture(3, 2, init="kmeans", n_init=3, max_iter=4),
        HiddenTree(3, n_init=2, max_iter=4),
        HiddenTree(3, max_iter=9, acceleration="squarem"),
    ],
)
@pytest.mark.parametrize("kill_at", [1, 6, 8])
def test_resumed_fit_is_that_of_a_run_without_a_break(tmp_path, monkeypatch, model, kill_at):
    forest = make_documents(6, random_state=0)
    model.set_params(tol=0, random_state=0)
    whole = clone(model).fit(forest)
    monkeypatch.setattr(fit_checkpoint, "EVERY", 0.0)
    steps = []
    m_step = fitting.m_step

    def dying(*args):
        steps.append(1)
        if len(steps) == kill_at:
            raise _Killed
        return m_step(*args)

    saved = clone(model).set_params(checkpoint=tmp_path / "fit")
    with monkeypatch.context() as patch, contextlib.suppress(_Killed):
        patch.setattr(fitting, "m_step", dying)
        saved.fit(forest)
    assert kill_at == 1 or (tmp_path / "fit").exists()
    for _ in range(2):  # the second time there is nothing left to do
        resumed = clone(saved).fit(forest)
        assert resumed.history_ == whole.history_
        assert np.array_equal(resumed.emission_prob_, whole.emission_prob_)
        assert np.array_equal(resumed.transition_prob_, whole.transition_prob_)


def test_checkpoint_of_another_fit_is_refused(tmp_path):
    forest = make_documents(4, random_state=0)
    new = {"n_components": 2, "n_states": 2, "max_iter": 2, "tol": 0, "random_state": 0, "checkpoint": tmp_path / "fit"}
    HiddenTreeMixture(**new).fit(forest)
    with pytest.raises(SettingError, match="made with n_states=2, not 3; ask for the same n_states, or give another"):
        HiddenTreeMixture(**new | {"n_states": 3}).fit(forest)
    with pytest.raises(SettingError, match="made with trees="):
        HiddenTreeMixture(**new).fit(forest[:5])
    with pytest.raises(SettingError, match="made with sample_weight="):
        HiddenTreeMixture(**new).fit(forest, sample_weight=np.full(len(forest), 2.0))
    (tmp_path / "fit").write_bytes((tmp_path / "fit").read_bytes()[:-40])
    with pytest.raises(ModelFileError, match="damaged, cut short"):
        HiddenTreeMixture(**new).fit(forest)


def test_checkpoint_of_another_generator_is_refused(tmp_path: Path) -> None:
    def fit(generator: Any) -> HiddenTreeMixture:
        path = tmp_path / type(generator).__name__
        model = HiddenTreeMixture(2, 2, init="random", max_iter=3, tol=0, random_state=generator, checkpoint=path)
        return model.fit(make_documents(5, random_state=0))

    for make in (np.random.default_rng, np.random.RandomState):
        first = fit(make(0))
        assert fit(make(0)).history_ == first.history_
        with pytest.raises(SettingError, match="made with random_state='generator"):
            fit(make(1))
