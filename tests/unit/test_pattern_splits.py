"""Finer groups of pattern mixtures: gains against the log posterior of the partition, cuts beyond the number found."""

from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import SettingError
from arbora.models.patterns import fitted as ft
from arbora.models.patterns import marginals as mg

pytestmark = pytest.mark.compiled

TREES = make_documents(10, random_state=0)


@pytest.fixture(scope="module")
def model() -> ab.PatternMixture:
    return ab.PatternMixture(3, concentration=2.5, n_iter=4, n_chains=1, random_state=0).fit(TREES)


def log_posterior(model: ab.PatternMixture, label: np.ndarray) -> float:
    known = model.patterns_._in_my_terms(TREES)
    rows = ft.rows_of(next(iter(model.patterns_.known(known))).counts, model.model_)
    corpus = mg.Corpus(rows, model.share_, model.model_.family, len(model.strengths_))
    return ft.log_posterior_of(model.model_._replace(sums=ft.sums_of(corpus, label)))


def test_the_gain_of_a_split_is_that_of_the_log_posterior(model: ab.PatternMixture) -> None:
    splits = model.splits()
    before = log_posterior(model, model.labels_)
    for k, gain in enumerate(splits.gain):
        parted = np.where((model.labels_ == k) & (splits.side == 1), 3, model.labels_)
        assert log_posterior(model, parted) - before == pytest.approx(gain, abs=1e-6)


def test_cuts_go_on_beyond_the_number_of_groups(model: ab.PatternMixture) -> None:
    before = model.labels_
    for n in range(4, 7):
        label = model.cut(n)
        assert len(np.unique(label)) == n
        assert len(np.unique(np.column_stack([before, label]), axis=0)) == n
        before = label
    with pytest.raises(SettingError, match="wanted at most 6"):
        model.cut(7)


def test_a_split_finds_kinds_that_were_put_together() -> None:
    # Five kinds of documents in three groups: the best split parts one group by its kinds.
    model = ab.PatternMixture(3, n_iter=4, n_chains=1, random_state=0).fit(TREES)
    splits = model.splits()
    k = int(splits.gain.argmax())
    kinds = [set(TREES.target[(model.labels_ == k) & (splits.side == s)]) for s in (0, 1)]
    assert splits.gain[k] > 0
    assert not kinds[0] & kinds[1]


def test_edges() -> None:
    alike = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0).fit([("a", ["b"])] * 6)
    assert len(np.unique(alike.cut(2))) == 2
    one = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0).fit([("a", ["b"])])
    assert one.splits().gain.tolist() == [-np.inf]
    with pytest.raises(SettingError, match="at most 1"):
        one.cut(2)
    some = ab.PatternMixture(2, fit_on=20, n_iter=2, n_chains=1, random_state=0).fit(TREES)
    assert some.splits() is None
    more = ab.PatternMixture(2, n_iter=2, n_chains=1, random_state=0).fit(TREES).partial_fit(TREES)
    assert more.splits() is None


def test_splits_are_saved_and_do_not_depend_on_the_run(model: ab.PatternMixture, tmp_path: Path) -> None:
    model.save(tmp_path / "m.arbora")
    again = ab.PatternMixture(3, concentration=2.5, n_iter=4, n_chains=1, random_state=0).fit(TREES)
    for other in (ab.load(tmp_path / "m.arbora"), again):
        np.testing.assert_array_equal(other.splits().gain, model.splits().gain)
        np.testing.assert_array_equal(other.cut(5), model.cut(5))
