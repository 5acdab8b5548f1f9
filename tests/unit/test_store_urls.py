"""Stores and saved trees behind URLs: in memory, and on a server of this machine that two workers read."""

import functools
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ModelFileError

fsspec = pytest.importorskip("fsspec", reason="arbora[remote] is not installed")

TREES = [("a", ["b"] * (n % 3) + ["c"] * (n % 2)) for n in range(24)]


@pytest.fixture
def store(tmp_path):
    return ab.ForestStore.write(ab.Forest.from_nested(TREES), tmp_path / "trees.store", shard_nodes=10)


@pytest.fixture
def memory(store):
    system = fsspec.filesystem("memory")
    system.put(store.path, "/bucket/trees.store", recursive=True)
    yield system
    system.rm("/bucket", recursive=True)


def test_a_store_in_memory(memory, store):
    there = ab.ForestStore("memory://bucket/trees.store/")
    assert repr(there) == repr(store)
    assert len(there.entries) > 3
    assert list(there) == list(store)
    assert there.sha256 == store.sha256
    assert there[5] == store[5]
    assert ab.ForestStore(Path("memory://bucket/trees.store")).n_trees == 24


def test_fits_and_readers_take_the_url_of_a_store(memory, store):
    for url in ("memory://bucket/trees.store", "memory://bucket"):
        assert ab.read(url).n_trees == 24
    fits = [
        ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(x) for x in ("memory://bucket/trees.store", store)
    ]
    assert np.array_equal(*(fit.predict(store) for fit in fits))
    assert fits[0].provenance_["data_sha256"] == fits[1].provenance_["data_sha256"]


@pytest.mark.parametrize("suffix", ["forest", "parquet"])
def test_saved_trees(suffix, tmp_path, memory):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    ab.Forest.from_nested(TREES).save(tmp_path / f"a.{suffix}")
    memory.put(str(tmp_path / f"a.{suffix}"), f"/bucket/a.{suffix}")
    assert list(ab.load_forest(f"memory://bucket/a.{suffix}")) == list(ab.Forest.from_nested(TREES))
    assert ab.read(f"memory://bucket/a.{suffix}").n_trees == 24


def test_saved_models(tmp_path, memory):
    model = ab.TreePatterns(["labels"]).fit(TREES)
    model.save(tmp_path / "m.arbora")
    memory.put(str(tmp_path / "m.arbora"), "/bucket/m.arbora")
    assert ab.load("memory://bucket/m.arbora").vocabulary_ == model.vocabulary_


def test_faults(memory, store):
    with pytest.raises(ModelFileError, match=r"memory://bucket/none\.store/.*there is no such file"):
        ab.ForestStore("memory://bucket/none.store")
    with pytest.raises(ModelFileError, match="a store is written to a folder of this machine"):
        ab.ForestStore.write(store, "memory://bucket/new.store")
    shard = f"/bucket/trees.store/{store.entries[0].file}"
    memory.pipe(shard, memory.cat(shard)[:-1])
    with pytest.raises(ModelFileError, match="it is not the file that the manifest lists"):
        ab.ForestStore("memory://bucket/trees.store").to_forest()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_workers_read_a_store_of_a_server(store):
    pytest.importorskip("aiohttp")
    distributed = pytest.importorskip("distributed")
    folder = str(Path(store.path).parent)
    alone = ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(store)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder)) as server,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/trees.store"
        with ab.distributed(client):
            there = ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(url)
        server.shutdown()
        thread.join()
    assert np.array_equal(alone.weight_, there.weight_)
    assert alone.history_ == there.history_
