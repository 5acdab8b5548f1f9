"""A watcher killed at any moment: every line that was printed is in its log, and it ends as if nothing had been."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.watch import log as lg
from arbora.watch.log import Place, WatchLog, replay
from arbora.watch.watched_trees import lines_of
from arbora.watch.watcher import Watcher
from tests.faults.killing import run_child, seconds
from tests.unit.test_watching import fitted, stream

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork is what is killed here"),
]

TREES = stream(240, 80)
SIZE = 3  # trees at once


@pytest.mark.parametrize("n_kills", [pytest.param(5, id="few"), pytest.param(50, id="many", marks=pytest.mark.slow)])
def test_killed_at_any_moment_nothing_acknowledged_is_lost(
    n_kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lg, "EVERY", 20)  # snapshots, too, are killed
    model = fitted()
    folder, printed = tmp_path / "w", tmp_path / "printed"
    forest = ab.Forest.from_nested(TREES)

    def begin() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        printed.write_text("")
        with WatchLog(folder, Watcher(model, window=9)):
            pass

    def watch() -> None:
        """A line is printed once it is acknowledged; after a crash the stream is read on from the last place."""
        with WatchLog(folder) as log, printed.open("a") as out:
            done = log.places["s"].line if log.places else 0
            assert done == log.watcher.n_trees_
            for a in range(done, len(TREES), SIZE):
                part = forest.take(np.arange(a, min(a + SIZE, len(TREES))))
                names = [f"t{a + i}" for i in range(part.n_trees)]
                batch = log.add(log.watcher.read(part), names, [], [Place("s", a + part.n_trees)])
                out.write("".join(json.dumps(line) + "\n" for line in lines_of(batch.trees, names)))
                out.flush()

    begin()
    longest = seconds(watch)
    wanted, every = Watcher(model, window=9), printed.read_text()
    wanted.update(TREES)
    begin()
    rng = np.random.default_rng(0)
    n_killed = 0
    while n_killed < n_kills:
        ended = run_child(watch, float(rng.uniform(0, 1.1 * longest)))
        n_killed += not ended
        whole = printed.read_text().rpartition("\n")[0].splitlines()
        again = [json.dumps(line) for _, batch in replay(folder) for line in lines_of(batch.trees, batch.names)]
        assert set(whole) <= set(again)  # nothing that was printed is lost
        assert "\n".join(again) + "\n" == every[: sum(len(line) + 1 for line in again)] or not again
        if ended:
            with WatchLog(folder) as log:
                assert log.watcher.digest() == wanted.digest()
            if n_killed < n_kills:
                begin()
    assert run_child(watch)
    with WatchLog(folder) as log:
        assert log.watcher.digest() == wanted.digest()
        assert [b.cluster for b in _births(folder)] == [2]


def _births(folder: Path) -> list[object]:
    return [birth for _, batch in replay(folder) for birth in batch.trees.births]
