"""A real cluster of processes: the same results to the last bit, also when a worker is killed on the way."""

import contextlib
import importlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arbora as ab
from arbora import Forest, ForestStore, distributed
from arbora.datasets import make_documents
from arbora.errors import SettingError
from arbora.inference.distribute import Cluster, reduce_pairwise

dask = pytest.importorskip("distributed")
pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PARAMETERS = ("weight_", "leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = dask.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    )
    with cluster, dask.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def forest() -> Forest:
    return make_documents(30, random_state=5)


@pytest.fixture
def store(forest: Forest, tmp_path: Path) -> ForestStore:
    return ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=700)


def model(**more: Any) -> ab.HiddenTreeMixture:
    return ab.HiddenTreeMixture(**{"n_components": 3, "n_states": 2, "max_iter": 5, "tol": 0, "random_state": 0} | more)


def test_cluster_equals_one_machine_to_the_last_bit(client: Any, forest: Forest, store: ForestStore) -> None:
    here = model().fit(store)
    weight = np.linspace(0.5, 2, len(store))
    weighted = model().fit(store, sample_weight=weight)
    with distributed(client):
        there = model().fit(ForestStore(store.path))
        weighted_there = model().fit(store, sample_weight=weight)
        proba, codes = there.predict_proba(store), there.transform(store)
    for name in PARAMETERS:
        assert np.array_equal(getattr(here, name), getattr(there, name))
        assert np.array_equal(getattr(weighted, name), getattr(weighted_there, name))
    assert here.history_ == there.history_
    assert np.array_equal(here.labels_, there.labels_)
    assert np.array_equal(proba, here.predict_proba(store))
    assert np.array_equal(codes, here.transform(store))
    in_memory = model().fit(forest)
    for name in PARAMETERS:
        np.testing.assert_allclose(getattr(in_memory, name), getattr(there, name), rtol=0, atol=1e-9)


def test_scheduler_by_address_and_its_absence(client: Any, store: ForestStore) -> None:
    with distributed(client.scheduler.address):
        assert model().fit(store).history_ == model().fit(ForestStore(store.path)).history_
    with pytest.raises(SettingError, match="wanted a Dask client or a scheduler's address"), distributed(3):
        pass


def test_workers_are_found_while_the_client_refreshes_what_it_knows(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client's timer asks for no workers and may do so between our question and its answer.
    monkeypatch.setattr(client, "scheduler_info", lambda **_: {"workers": {}})
    assert len(Cluster(client).workers()) == 2


@pytest.mark.parametrize("n", [1, 2, 5, 11, 67])
def test_sums_of_a_cluster_have_the_order_of_those_here(client: Any, n: int) -> None:
    here = reduce_pairwise(map(str, range(n)), bracketed)
    assert Cluster(client).sum(str, range(n), bracketed) == here
    assert list(Cluster(client).map(str, range(n))) == [str(x) for x in range(n)]


def bracketed(a: str, b: str) -> str:
    return f"({a} {b})"


def test_runs_are_powers_of_two_and_few_for_many_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(None)
    for n_workers, n_items, length in [
        (1, 3, 1),
        (1, 24, 8),
        (2, 24, 4),
        (2, 100, 16),
        (8, 100, 2),
        (800, 24_000, 16),
        (100, 24_000, 64),
    ]:
        monkeypatch.setattr(cluster, "workers", lambda n_workers=n_workers: ["worker"] * n_workers)
        assert cluster.run_length(n_items) == length
        assert n_items / length >= min(n_items, n_workers)


def test_chains_are_tasks(client: Any, forest: Forest, store: ForestStore, tmp_path: Path) -> None:
    def fitted(X: Any, **more: Any) -> ab.InfiniteHiddenTreeMixture:
        new = {"n_iter": 4, "n_start": 3, "n_chains": 3, "random_state": 0, **more}
        return ab.InfiniteHiddenTreeMixture(2, **new).fit(X)

    for update in ("em", "gibbs"):
        here = fitted(store, update=update)
        with distributed(client):
            there = fitted(store, update=update, checkpoint=tmp_path / update)
            again = fitted(store, update=update, checkpoint=tmp_path / update)
        for other in (there, again):
            assert np.array_equal(here.trace_.stack("label"), other.trace_.stack("label"))
            assert np.array_equal(here.trace_.info["log_joint"], other.trace_.info["log_joint"])


def test_bag_becomes_a_store(client: Any, forest: Forest, tmp_path: Path) -> None:
    bag = pytest.importorskip("dask.bag")
    trees = [{"tree": tree} for tree in forest]
    with distributed(client):
        store = ForestStore.from_bag(
            bag.from_sequence(trees, npartitions=4), tmp_path / "bag.store", lambda item: item["tree"], shard_nodes=900
        )
    assert store.to_forest() == Forest.from_nested(list(forest))
    assert store.vocabulary == Forest.from_nested(list(forest)).vocabulary
    assert len(store.entries) > 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_killed_worker_changes_nothing(forest: Forest, store: ForestStore) -> None:
    here = model(max_iter=12).fit(store)
    cluster = dask.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0, silence_logs=50
    )
    killed: list[int] = []

    def kill(client: Any) -> None:
        for delay in (0.7, 1.0):
            time.sleep(delay)
            pids = [pid for pid in client.run(os.getpid).values() if pid not in killed]
            if pids:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

    with dask.Client(cluster) as client:
        client.run(_slow_down)
        killer = threading.Thread(target=kill, args=(client,))
        killer.start()
        with distributed(client):
            there = model(max_iter=12).fit(ForestStore(store.path, memory=0))
        killer.join()
    with contextlib.suppress(TimeoutError):  # a worker may still be starting in a dead one's place
        cluster.close(timeout=60)
    assert len(killed) == 2
    assert here.history_ == there.history_
    for name in PARAMETERS:
        assert np.array_equal(getattr(here, name), getattr(there, name))


def _slow_down() -> None:
    """On a worker: make every shard take a while, so that a kill finds work under way."""
    from arbora.forest import store as module

    read = module.ForestStore.part

    def slowly(*args: Any, **more: Any) -> Any:
        time.sleep(0.04)
        return read(*args, **more)

    module.ForestStore.part = slowly  # type: ignore[method-assign]


def dying(_run: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def said_to_be_dead(_run: int) -> None:
    """What a scheduler raises of a task whose workers died, without the processes."""
    scheduler = importlib.import_module("distributed.scheduler")
    raise scheduler.KilledWorker("run", SimpleNamespace(address="tcp://gone"), 0)


def lacking(_run: int) -> None:
    raise ModuleNotFoundError("No module named 'arbora'")


def test_workers_that_cannot_do_it_are_told(client: Any) -> None:
    with pytest.raises(SettingError, match=r"a worker lacks a package .*; install arbora"):
        Cluster(client).sum(lacking, range(1), bracketed)
    with pytest.raises(SettingError, match="died again and again"):
        list(Cluster(client).map(said_to_be_dead, range(1)))


@pytest.mark.slow
def test_workers_that_die_again_and_again_are_told() -> None:
    with importlib.import_module("dask").config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0")
        with cluster, dask.Client(cluster) as other, pytest.raises(SettingError, match="died again and again"):
            list(Cluster(other).map(dying, range(1)))


def test_a_worker_that_leaves_changes_nothing(store: ForestStore, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "memory_limit": 0}
    here = model().fit(store)
    read, left = ForestStore.part, threading.Event()
    with dask.LocalCluster(n_workers=2, **options) as cluster, dask.Client(cluster) as client:

        def slowly(*args: Any, **more: Any) -> Any:
            if not left.is_set():
                left.set()
                client.loop.add_callback(cluster.scale, 1)
            time.sleep(0.01)
            return read(*args, **more)

        monkeypatch.setattr(ForestStore, "part", slowly)
        with distributed(client):
            there = model().fit(ForestStore(store.path, memory=0))
        assert left.is_set()
        assert len(cluster.workers) == 1
    assert here.history_ == there.history_


def test_workers_that_come_back_are_waited_for(store: ForestStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # Workers in this process start at once; that they come is what counts here, not where they run.
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with dask.LocalCluster(n_workers=0, **options) as cluster, dask.Client(cluster) as client:
        monkeypatch.setattr("arbora.inference.distribute.PATIENCE", 0.5)
        with distributed(client), pytest.raises(SettingError, match=r"no workers for 0\.5 seconds"):
            model().fit(store)
        monkeypatch.setattr("arbora.inference.distribute.PATIENCE", 60)
        threading.Timer(1.0, cluster.scale, (1,)).start()
        with distributed(client):
            assert model().fit(store).history_ == model().fit(ForestStore(store.path)).history_
