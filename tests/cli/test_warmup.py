"""`arbora warmup`: afterwards nothing is left to compile."""

import json

import numpy as np
import pytest
from numba.core import event
from typer.testing import CliRunner

import arbora
from arbora.cli import app, warmup

pytestmark = pytest.mark.compiled


def test_parts_are_run_and_timed(monkeypatch):
    ran = []
    monkeypatch.setattr(warmup, "_parts", lambda: {"one": lambda: ran.append(1), "two": lambda: ran.append(2)})
    done = CliRunner().invoke(app, ["warmup"])
    assert ran == [1, 2]
    assert "one: 0.0 s" in done.stderr
    assert done.stdout == "ready after 0 s\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_left_to_compile():
    done = CliRunner().invoke(app, ["warmup", "--json", "--quiet"])
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert set(json.loads(done.stdout)["seconds"]) >= {"mixture", "infinite", "unions", "RBHMC"}
    forest = arbora.datasets.make_documents(4, random_state=0)
    rows = np.random.default_rng(0).normal(size=(12, 3))
    with event.install_recorder("numba:compile") as heard:
        arbora.HiddenTreeMixture(3, 2, max_iter=2, random_state=0).fit(forest).transform(forest)
        arbora.InfiniteHiddenTreeMixture(3, n_iter=2, random_state=0).fit(forest)
        arbora.TreeUnionMixture().fit(forest[:8])
        arbora.NHCM(n_iter=2, n_chains=1, random_state=0).fit(rows)
        arbora.RBHMC(n_iter=2, n_chains=1, random_state=0).fit(rows)
    names = {record.data["dispatcher"].py_func.__qualname__ for _, record in heard.buffer if record.is_start}
    assert not names
