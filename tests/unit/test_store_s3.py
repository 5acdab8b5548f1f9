"""A store on an object server of this machine, read through s3:// by two workers, each a process of its own."""

import socket

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ModelFileError

TREES = [("a", ["b"] * (n % 3) + ["c"] * (n % 2)) for n in range(60)]


@pytest.fixture
def bucket(monkeypatch):
    """The file system of a server with an empty bucket; workers find the server by the environment."""
    server_of = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    s3fs = pytest.importorskip("s3fs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = server_of.ThreadedMotoServer("127.0.0.1", port)
    server.start()
    address = f"http://127.0.0.1:{port}"
    for name, value in [("ENDPOINT_URL", address), ("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x")]:
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    name = f"bucket{port}"  # servers of one process share what they hold
    system.mkdir(name)
    yield system, name
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of boto and of the server
def test_two_workers_read_a_store_on_an_object_server(tmp_path, bucket):
    system, name = bucket
    distributed = pytest.importorskip("distributed")
    forest = ab.Forest.from_nested(TREES)
    here = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=10)
    system.put(here.path, f"{name}/trees.store", recursive=True)
    there = ab.ForestStore(f"s3://{name}/trees.store")
    assert len(there.entries) > 6
    assert list(there) == list(here)
    alone = ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(here)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        ab.distributed(client),
    ):
        fit = ab.HiddenTreeMixture(2, 2, max_iter=3, random_state=0).fit(f"s3://{name}/trees.store")
        assert np.array_equal(fit.emission_prob_, alone.emission_prob_)
        assert np.array_equal(fit.predict(f"s3://{name}/trees.store"), alone.predict(here))
        used = client.run(lambda: "s3fs" in __import__("sys").modules)
    assert list(used.values()) == [True, True]
    system.rm(f"{name}/trees.store", recursive=True)
    with pytest.raises(ModelFileError, match="there is no such file"):
        ab.ForestStore(f"s3://{name}/trees.store")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_folders_patterns_and_models_on_an_object_server(tmp_path, bucket):
    system, name = bucket
    system.pipe({f"{name}/pages/{n}.xml": b"<a><b/></a>" for n in range(12)} | {f"{name}/pages/x.unknown": b"?"})
    assert ab.read(f"s3://{name}/pages").n_trees == ab.read(f"s3://{name}/pages/*.xml").n_trees == 12
    model = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0).fit(ab.Forest.from_nested(TREES))
    model.save(tmp_path / "a.arbora")
    system.put(str(tmp_path / "a.arbora"), f"{name}/a.arbora")
    assert np.array_equal(ab.load(f"s3://{name}/a.arbora").labels_, model.labels_)
