"""Runs of experiments are kept, found again, and not kept when they were cut short."""

import contextlib
import signal

import pytest

from arbora.reproduce.kept import Runs


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.setenv("ARBORA_RUNS", str(tmp_path / "runs"))


def test_a_run_is_computed_once():
    calls = []
    for _ in range(2):
        runs = Runs("x")  # as a second command would
        assert runs.get({"a": 1, "b": 2}, lambda: calls.append(1) or {"error": 3.5}) == {"error": 3.5}
        assert runs.get({"b": 2, "a": 1}, lambda: calls.append(1) or {"error": 3.5}) == {"error": 3.5}
    assert calls == [1]
    assert Runs("y").get({"a": 1, "b": 2}, lambda: {"error": 1.0}) == {"error": 1.0}


def test_a_line_cut_short_is_run_again():
    runs = Runs("x")
    runs.get({"a": 1}, lambda: {"error": 1.0})
    runs.get({"a": 2}, lambda: {"error": 2.0})
    text = runs.path.read_text()
    runs.path.write_text(text[:-9])
    again = Runs("x")
    assert again.get({"a": 1}, lambda: {"error": -1.0}) == {"error": 1.0}
    assert again.get({"a": 2}, lambda: {"error": -2.0}) == {"error": -2.0}
    assert Runs("x").get({"a": 2}, lambda: {"error": 0.0}) == {"error": -2.0}


def test_a_run_that_swallowed_an_interrupt_is_not_kept():
    def cut_short():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return {"error": 9.0}

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Runs("x").get({"a": 1}, cut_short)
    assert signal.getsignal(signal.SIGINT) is before
    assert Runs("x").get({"a": 1}, lambda: {"error": 1.0}) == {"error": 1.0}
