"""The table of the mixture as encoder, on a few generated trees: what it runs, keeps, and tells when interrupted."""

import numpy as np
import pytest
from scipy import sparse

from arbora.datasets import make_documents
from arbora.metrics import slot_label_counts
from arbora.reproduce import encoder

NAME = "INEX 2005"  # the settings of the paper are looked up by name


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    forest = make_documents(6, noise=0.3, random_state=0)
    train, test = forest[::2], forest[1::2]
    corpus = encoder.Corpus(NAME, train, test, slot_label_counts(test))
    monkeypatch.setenv("ARBORA_RUNS", str(tmp_path))
    monkeypatch.setattr(encoder, "_corpora", lambda quick: [corpus])
    monkeypatch.setattr(encoder, "OTHERS", {name: encoder.OTHERS[name] for name in list(encoder.OTHERS)[2:7]})
    monkeypatch.setattr(encoder, "N_ITER", 2)


def test_an_interrupted_table_shows_what_is_kept_and_goes_on(monkeypatch):
    run = encoder._run

    def interrupted(corpus, setting, *rest):
        if setting == (2, 11):
            raise KeyboardInterrupt
        return run(corpus, setting, *rest)

    monkeypatch.setattr(encoder, "_run", interrupted)
    first = encoder.table2(quick=True)
    assert "Interrupted" in first.remarks[0]
    assert not first.finished
    assert [[*row[:3], row[-1]] for row in first.rows] == [[NAME, "2", "6", "1"]]
    monkeypatch.setattr(encoder, "_run", lambda *rest: run(*rest) | {"error": 12.5})
    second = encoder.table2(quick=True)
    assert second.rows[0] == first.rows[0]  # kept, not run again
    assert [*second.rows[1][:3], *second.rows[1][6:]] == [NAME, "2", "11", "12.50", "1"]
    assert second.finished
    assert not any("Interrupted" in remark for remark in second.remarks)
    assert second.verdict.endswith("of 2")
    assert any("Hidden units chosen: " in remark for remark in second.remarks)
    assert [row[0] for row in second.more[0].rows] == list(encoder.OTHERS)


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
