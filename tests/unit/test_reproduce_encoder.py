"""The table of the mixture as encoder, on a few generated trees: what it runs, and how it goes on."""

import numpy as np
import pytest
from scipy import sparse

from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.evaluate.metrics import slot_label_counts
from papers import authors, encoder, encoder_causes
from papers.judges import judge
from papers.runs import keeping
from papers.verdict import WORDS

NAME = "INEX 2005"  # the settings of the paper are looked up by name


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    forest = make_documents(6, noise=0.3, random_state=0)
    train, test = forest[::2], forest[1::2]
    corpus = encoder.Corpus(NAME, train, test, slot_label_counts(test))
    monkeypatch.setattr(encoder, "PAPER", {NAME: encoder.PAPER[NAME]})
    monkeypatch.setattr(encoder, "_corpus", lambda name, quick: corpus)
    monkeypatch.setattr(encoder, "OTHERS", {name: encoder.OTHERS[name] for name in list(encoder.OTHERS)[2:7]})
    monkeypatch.setattr(encoder, "N_ITER", 2)


def test_an_interrupted_table_goes_on(monkeypatch, tmp_path):
    run, path = encoder._run, tmp_path / "encoder-table2.runs"

    def interrupted(corpus, setting, *rest):
        if setting == (2, 11):
            raise KeyboardInterrupt
        return run(corpus, setting, *rest) | {"error": 25.0}

    monkeypatch.setattr(encoder, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt), keeping(path):
        encoder.table2(quick=True)
    monkeypatch.setattr(encoder, "_run", lambda *rest: run(*rest) | {"error": 12.5})
    with keeping(path):
        table = encoder.table2(quick=True)
    assert [row[:3] for row in table.rows] == [[NAME, "2", "6"], [NAME, "2", "11"]]
    assert [row[7] for row in table.rows] == ["25.00", "12.50"]  # the first is kept, not run again
    judge("encoder-table2", table)
    assert [row[8] for row in table.rows] == ["differs (+7.34)", "matches"]
    assert any("Hidden units chosen: " in remark for remark in table.remarks)
    assert [row[0] for row in table.more[0].rows] == list(encoder.OTHERS)


def test_a_network_sees_all_of_the_codes_if_the_directions_suffice():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 15)
    codes = sparse.csr_array(rng.random((30, 7)) + np.where(y == "a", 2.0, 0.0)[:, None])
    rows = encoder.Rows(codes, np.arange(30), y)
    found = encoder._read_out("mlp", rows, rows, (2, 4), 0)
    assert found["left_out"] < 1e-6
    assert found["hidden"] in (2, 4)
    assert found["error"] < 10.0
    assert encoder._read_out("logistic", rows, rows, (), 0) == {"error": 0.0}


@pytest.mark.compiled
def test_codes_of_the_authors_count_every_child_once():
    forest = make_asymmetric_trees(3, random_state=0)
    sizes = authors.Sizes(3, 4, 2)
    fit = authors.fit_finite(forest, forest, sizes, 2, 0, 2)
    codes = encoder_causes.authors_codes(forest, fit.theta, sizes).toarray().reshape(len(forest), 2, 3, 2)
    parts = np.split(forest.slot, forest.tree_start[1:-1])
    slots = np.stack([np.bincount(part[part >= 0], minlength=3) for part in parts])
    np.testing.assert_allclose(codes.sum(axis=3), np.repeat(slots[:, None], 2, axis=1), rtol=1e-5)


def test_causes_have_a_column_for_each_way(monkeypatch):
    monkeypatch.setattr(encoder_causes, "SETTINGS", {NAME: ((2, 6),)})
    encoder_causes._encode.cache_clear()
    table = encoder_causes.causes(quick=True)
    judge("encoder-causes", table)
    assert table.rows[0][:4] == [NAME, "2", "6", "17.66 (1.55)"]
    assert len(table.rows[0]) == len(table.header)
    assert all(word.split()[0] in WORDS for word in table.rows[0][5::2])
