"""Runs of experiments are kept, found again, and not kept when they were cut short or when the code has changed."""

import contextlib
import signal
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from arbora.datasets import make_documents
from papers import codec, runs
from papers import results_cache as kept

calls: list[object] = []


class Part(NamedTuple):
    name: str
    sizes: tuple[int, ...]


@dataclass
class Result:
    values: NDArray[np.float64]
    by_name: dict[str, list[NDArray[np.int64]]]
    part: Part
    pairs: list[tuple[float, int]]
    missing: float | None


def compute(task: tuple[int, str]) -> Result:
    calls.append(task)
    number, name = task
    values = np.array([number / 3, np.nan, np.inf])
    return Result(values, {name: [np.arange(4).reshape(2, 2)]}, Part(name, (1, 2, number)), [(0.5, 1)], None)


def swallow(task: int) -> float:
    """A fit that ends early by Ctrl-C and does not say so."""
    calls.append(task)
    if task == 2 and calls.count(2) == 1:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    return 0.5 * task


@pytest.fixture(autouse=True)
def _fresh():
    calls.clear()


def test_results_come_back_as_they_were():
    first = compute((7, "x"))
    again = codec.decode(codec.encode(first), Result)
    np.testing.assert_array_equal(again.values, first.values)
    assert again.by_name["x"][0].dtype == np.int64
    np.testing.assert_array_equal(again.by_name["x"][0], [[0, 1], [2, 3]])
    assert (again.part, again.pairs, again.missing) == (first.part, first.pairs, None)
    assert isinstance(again.part, Part)


def test_a_task_is_known_by_all_that_it_holds():
    forests = [make_documents(2, noise=0.3, random_state=seed) for seed in (0, 0, 1)]
    keys = [codec.key_of(compute, (forest, {"a": 1})) for forest in forests]
    assert keys[0] == keys[1] != keys[2]
    assert codec.key_of(compute, (1, "x")) != codec.key_of(swallow, (1, "x"))


def test_an_interrupted_experiment_goes_on_at_its_run(tmp_path):
    path = tmp_path / "folder" / "x.runs"
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), runs.keeping(path):
        runs.run_all("x", swallow, [1, 2, 3])
    assert signal.getsignal(signal.SIGINT) is before
    assert calls == [1, 2]
    with runs.keeping(path):
        assert runs.run_all("x", swallow, [1, 2, 3]) == [0.5, 1.0, 1.5]
    assert calls == [1, 2, 2, 3]  # the first is kept, the second was cut short
    assert not path.exists()  # the experiment is whole
    assert runs.run_one("x", swallow, 1) == 0.5  # nothing is kept where nobody asks for it
    assert not path.exists()


def test_time_of_kept_runs_counts(tmp_path, monkeypatch):
    path = tmp_path / "x.runs"
    kept.Kept(path).add(swallow, 1, kept.Timed(0.5, 1000.0))
    start = runs.cpu_seconds()
    with runs.keeping(path):
        runs.run_all("x", swallow, [1])
    assert not calls
    assert 999.999 < runs.cpu_seconds() - start < 1010.0  # the difference of two floats is rounded


def test_a_line_cut_short_is_run_again(tmp_path):
    path = tmp_path / "x.runs"
    for task in (1, 2):
        kept.Kept(path).add(swallow, task, kept.Timed(float(task), 0.0))
    path.write_text(path.read_text()[:-9])
    again = kept.Kept(path)
    assert again.find(swallow, 1) == kept.Timed(1.0, 0.0)
    assert again.find(swallow, 2) is None
    again.add(swallow, 2, kept.Timed(-2.0, 0.0))
    assert [kept.Kept(path).find(swallow, task).result for task in (1, 2)] == [1.0, -2.0]


def test_what_other_code_gave_is_not_found(tmp_path, monkeypatch):
    path = tmp_path / "x.runs"
    kept.Kept(path).add(swallow, 1, kept.Timed(1.0, 0.0))
    monkeypatch.setattr(kept, "code_digest", lambda: "other")
    assert kept.Kept(path).find(swallow, 1) is None
