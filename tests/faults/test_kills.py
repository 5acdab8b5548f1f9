"""Killed at any moment, every file is the old or the new one, whole, and the next run ends as if nothing had been."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora import Forest, ForestStore
from arbora.cli import reading
from arbora.datasets import make_documents
from arbora.io import write_jsonl
from arbora.models.hidden_tree import fit_checkpoint
from tests.faults.killing import run_child, seconds

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork is what is killed here"),
]

# Starts by k-means are left out: its OpenMP threads do not live on in a fork.

#: Kills of each kind of work; all kinds together make more than a hundred in the slow run.
KILLS = [pytest.param(3, id="few"), pytest.param(40, id="many", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Everything the work needs, compiled before the first fork."""
    forest = make_documents(4, random_state=0)
    ab.HiddenTreeMixture(2, 2, max_iter=2, tol=0, random_state=0).fit(forest)
    ab.InfiniteHiddenTreeMixture(2, n_iter=2, n_start=2, random_state=0).fit(forest)


@pytest.fixture
def old() -> Forest:
    return make_documents(3, random_state=1)


@pytest.fixture
def new() -> Forest:
    return make_documents(60, random_state=2)


def kill_until(
    n_kills: int, begin: Callable[[], None], work: Callable[[], object], check: Callable[[bool], None]
) -> None:
    """Kill the work at random moments, resuming it until it ends, and then from the beginning; check every time."""
    rng = np.random.default_rng(0)
    begin()
    longest = seconds(work)
    check(True)
    begin()
    n_killed = n_ended = 0
    while n_killed < n_kills or not n_ended:
        # Late enough kills only, once all are done, would never let it end.
        delay = None if n_killed >= n_kills else float(rng.uniform(0, 1.1 * longest))
        ended = run_child(work, delay)
        check(ended)
        n_killed += not ended
        if ended:
            n_ended += 1
            begin()


@pytest.mark.parametrize("n_kills", KILLS)
def test_convert(n_kills: int, old: Forest, new: Forest, tmp_path: Path) -> None:
    source, target = tmp_path / "new.jsonl", tmp_path / "trees.store"
    write_jsonl(new, source)

    def convert() -> None:
        reading.write_store(reading.find([source], None, None), target, False, None, True, 150)

    convert()
    wanted = ForestStore(target)

    def begin() -> None:
        ForestStore.write(old, target)

    def check(ended: bool) -> None:
        found = ForestStore(target)
        assert found.to_forest() == (new if found.n_trees == new.n_trees else old)
        if ended:
            assert found.sha256 == wanted.sha256
            assert len(os.listdir(target)) == len(wanted.entries) + 1  # nothing is left of the killed ones

    kill_until(n_kills, begin, convert, check)


@pytest.mark.parametrize("n_kills", KILLS)
def test_fit_and_save(n_kills: int, old: Forest, new: Forest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_checkpoint, "EVERY", 0.0)  # in the children, too
    monkeypatch.chdir(tmp_path)
    ForestStore.write(new, "trees.store", shard_nodes=700)
    model = ab.HiddenTreeMixture(3, 2, init="random", n_init=2, max_iter=6, tol=0, random_state=0, checkpoint="fit")

    def fit() -> None:
        model.fit("trees.store").save("model.arbora")

    fit()
    wanted = Path("model.arbora").read_bytes()
    Path("fit").unlink()
    ab.HiddenTreeMixture(2, 2, max_iter=1, tol=0, random_state=0).fit(old).save("old.arbora")
    before = Path("old.arbora").read_bytes()

    def begin() -> None:
        Path("fit").unlink(missing_ok=True)
        Path("model.arbora").write_bytes(before)

    def check(ended: bool) -> None:
        found = Path("model.arbora").read_bytes()
        assert found == wanted or (found == before and not ended)

    kill_until(n_kills, begin, fit, check)


@pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")  # eight sweeps are too few, and enough here
@pytest.mark.parametrize("n_kills", KILLS)
def test_chains(n_kills: int, new: Forest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arbora.inference import chains as chain
    from arbora.inference.traces import load_trace

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(chain.run_chains.__kwdefaults__, "checkpoint_every", 0.0)
    some = new[:60]

    def sample(folder: str = "chains") -> None:
        new = {"n_iter": 8, "n_start": 1, "n_chains": 2, "random_state": 0, "checkpoint": folder}
        ab.InfiniteHiddenTreeMixture(2, **new).fit(some).trace_.save(f"{folder}.trace")

    sample("wanted")
    wanted = Path("wanted.trace").read_bytes()

    def begin() -> None:
        for path in (*Path("chains").glob("*"), Path("chains.trace")):
            path.unlink(missing_ok=True)

    def check(ended: bool) -> None:
        if ended or Path("chains.trace").exists():
            assert Path("chains.trace").read_bytes() == wanted
            assert load_trace("chains.trace").n_chains == 2

    kill_until(n_kills, begin, sample, check)


@pytest.mark.parametrize("n_kills", KILLS)
@pytest.mark.parametrize("ending", [".forest", ".jsonl", ".jsonl.gz"])
def test_save(n_kills: int, ending: str, old: Forest, new: Forest, tmp_path: Path) -> None:
    path = tmp_path / f"trees{ending}"
    forests = (old, new[:20])

    def save() -> None:
        for forest in 5 * forests:
            forest.save(path) if ending == ".forest" else write_jsonl(forest, path)

    def begin() -> None:
        for left in tmp_path.iterdir():
            left.unlink()
        forests[0].save(path) if ending == ".forest" else write_jsonl(forests[0], path)

    def check(ended: bool) -> None:
        assert ab.read(path, on_error="raise") if ending != ".forest" else ab.load_forest(path) in forests
        if ending != ".forest":
            assert ab.read(path) in forests

    kill_until(n_kills, begin, save, check)
