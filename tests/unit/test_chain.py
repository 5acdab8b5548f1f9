"""The loop of all samplers: a chain is the same however it is run, stopped, killed and resumed."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from arbora.errors import ChainError, MissingDependencyError, ModelFileError
from arbora.files.container import read_container, write_container
from arbora.inference import chains as chain
from arbora.inference.chains import load_trace, run_chains

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="it sends signals to processes")


class Pair(NamedTuple):
    """A point of the toy's distribution, changed in place, and a cloud of random size."""

    point: np.ndarray
    cloud: np.ndarray
    sweep: np.ndarray


@dataclass(frozen=True)
class Toy:
    """Gibbs sampling of two normal variables with unit variances; what else it does, samplers might do too."""

    correlation: float = 0.5
    pause: float = 0.0
    size: int = 4
    planted_bug: bool = False
    stuck: bool = False
    trouble: tuple[int, Any] = (0, None)  # at this sweep, this error

    def init(self, rng):
        return Pair(
            rng.normal(size=2) + (10 * rng.normal() if self.stuck else 0), rng.normal(size=3), np.zeros((), int)
        )

    def step(self, rng, state):
        if self.pause:
            time.sleep(self.pause)
        spread = 1 - self.correlation if self.planted_bug else 1 - self.correlation**2
        for one, other in [(0, 1), (1, 0)] if not self.stuck else []:
            state.point[one] = rng.normal(self.correlation * state.point[other], np.sqrt(spread))
        if self.stuck:
            state.point[:] += 1e-3 * rng.normal(size=2)
        child = rng.spawn(1)[0]  # its numbers depend on how many were spawned before
        cloud = child.normal(size=(int(rng.integers(0, self.size)), 2))
        state.sweep[...] += 1
        at, error = self.trouble
        if int(state.sweep) == at:
            raise error
        return Pair(state.point, cloud, state.sweep), {"n_points": len(cloud), "log_joint": -state.point @ state.point}

    def draw(self, state):
        return {"point": state.point, "cloud": state.cloud, "sweep": state.sweep}

    def pack(self, state):
        return state._asdict()

    def unpack(self, arrays):
        return Pair(**{name: value.copy() for name, value in arrays.items()})


def content(trace, path):
    """A trace as the bytes of its file: equal bytes, equal traces."""
    trace.save(path)
    return path.read_bytes()


def same(one, other, tmp_path):
    return content(one, tmp_path / "one.trace") == content(other, tmp_path / "other.trace")


# ---- what is sampled ------------------------------------------------------------------------------------------------


def moments_are_right(sampler):
    point = run_chains(sampler, n_chains=2, n_sweeps=2500, burn_in=50, seed=1).stack("point")
    x, y = point.reshape(-1, 2).T
    error = np.sqrt((1 + 0.5**2) / (1 - 0.5**2) / len(x))  # of a mean, given the autocorrelation 0.5**2
    found = np.array([x.mean(), y.mean(), (x**2).mean(), (y**2).mean(), (x * y).mean()])
    return bool((np.abs(found - [0, 0, 1, 1, 0.5]) < 4 * error * np.sqrt([1, 1, 2, 2, 1.25])).all())


def test_moments_are_those_of_the_target_and_a_planted_bug_is_seen():
    assert moments_are_right(Toy())
    assert not moments_are_right(Toy(planted_bug=True))


def test_burn_in_and_thinning_keep_exactly_the_sweeps_they_name():
    full = run_chains(Toy(), n_chains=2, n_sweeps=23, seed=5)
    thin = run_chains(Toy(), n_chains=2, n_sweeps=23, burn_in=4, thin=3, seed=5)
    kept = [7, 10, 13, 16, 19, 22]
    assert full.stack("sweep").tolist() == [list(range(1, 24))] * 2
    assert thin.stack("sweep").tolist() == [kept] * 2
    assert (thin.draw_sweep + 1).tolist() == kept
    assert (thin.n_chains, thin.n_draws, thin.n_sweeps, thin.interrupted) == (2, 6, (23, 23), False)
    for name in ("n_points", "log_joint"):
        assert thin.info[name].shape == (2, 23)
        assert np.array_equal(thin.info[name], full.info[name])
    assert np.array_equal(thin.stack("point"), full.stack("point")[:, [sweep - 1 for sweep in kept]])
    sizes = [[len(cloud) for cloud in draws["cloud"]] for draws in thin.draws]
    assert np.array_equal(sizes, thin.info["n_points"][:, thin.draw_sweep])


def test_chains_differ_from_each_other_and_not_with_their_number_or_the_processes(tmp_path):
    three = run_chains(Toy(), n_chains=3, n_sweeps=30, seed=2)
    assert len(np.unique(three.info["log_joint"][:, -1])) == 3
    assert np.array_equal(run_chains(Toy(), n_chains=1, n_sweeps=30, seed=2).stack("point")[0], three.stack("point")[0])
    assert same(three, run_chains(Toy(), n_chains=3, n_sweeps=30, seed=2, n_jobs=2), tmp_path)
    assert not same(three, run_chains(Toy(), n_chains=3, n_sweeps=30, seed=3), tmp_path)


def test_seeds_of_every_kind_give_the_same_chains_again(tmp_path):
    def run(seed):
        return run_chains(Toy(), n_chains=2, n_sweeps=5, seed=seed)

    for make in (
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.SeedSequence([1, 2]),
    ):
        assert same(run(make()), run(make()), tmp_path)
        assert same(run(run(make()).seed), run(make()), tmp_path)
    generator, sequence = np.random.default_rng(7), np.random.SeedSequence(7)
    assert not same(run(generator), run(generator), tmp_path)
    assert not same(run(sequence), run(sequence), tmp_path)
    fresh = run(None)
    assert same(run(fresh.entropy), fresh, tmp_path)
    assert not same(run(None), fresh, tmp_path)
    expected = np.random.default_rng(np.random.SeedSequence(7).spawn(2)[1]).normal(size=2)
    trace = run_chains(Still(), n_chains=2, n_sweeps=1, seed=7)
    assert np.array_equal(trace.draws[1]["point"][0], expected)


class Still(Toy):
    """A toy that stays where it starts."""

    def step(self, rng, state):
        return state, {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_chains": 0},
        {"n_sweeps": 2.0},
        {"thin": 0},
        {"burn_in": -1},
        {"burn_in": 10},
        {"burn_in": 5, "thin": 6},
        {"n_jobs": 0},
        {"checkpoint_every": -1.0},
        {"checkpoint_every": float("nan")},
        {"seed": "a"},
        {"seed": -1},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(reversed(wrong))):
        run_chains(Toy(), **({"n_sweeps": 10, "seed": 0} | wrong))


def test_memory_is_that_of_the_draws_kept():
    class Large(Still):
        def draw(self, state):
            return {"block": np.ones(100_000)}

    def peak(thin):
        tracemalloc.start()
        try:
            trace = run_chains(Large(), n_sweeps=120, thin=thin, seed=0)
            return tracemalloc.get_traced_memory()[1] / (8 * 100_000), trace.n_draws
        finally:
            tracemalloc.stop()

    few, n_few = peak(40)
    many, n_many = peak(1)
    assert (n_few, n_many) == (3, 120)
    assert few < 3 + 3
    assert many > 120


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_chain_and_sweep_and_leaves_the_checkpoint_whole(tmp_path, n_jobs):
    wanted = run_chains(Toy(), n_chains=2, n_sweeps=9, seed=0)
    settings = {"n_chains": 2, "n_sweeps": 9, "seed": 0, "checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.raises(ChainError, match=r"chain [01], sweep 6: ZeroDivisionError: oh") as caught:
        run_chains(Toy(trouble=(6, ZeroDivisionError("oh"))), n_jobs=n_jobs, **settings)
    assert caught.value.__cause__ is not None
    assert same(run_chains(Toy(), **settings), wanted, tmp_path)


def test_what_a_sampler_must_not_tell_is_refused():
    class Wrong(Toy):
        def step(self, rng, state):
            state, info = super().step(rng, state)
            return state, self.tells(int(state.sweep), info)

    def run(tells, draws=lambda n: {"a": np.zeros(n)}, n_jobs=1):
        Wrong.tells, Wrong.draw = staticmethod(tells), lambda _, state: draws(int(state.sweep))
        run_chains(Wrong(), n_chains=2, n_sweeps=5, seed=0, n_jobs=n_jobs)

    run(lambda n, info: {"log_joint": -np.inf})
    with pytest.raises(ChainError, match=r"chain 0, sweep 3: log_joint is not a number"):
        run(lambda n, info: {"log_joint": np.nan if n == 3 else 0.0})
    with pytest.raises(ChainError, match=r"sweep 2: step returned \['x'\], before \['log_joint', 'n_points'\]"):
        run(lambda n, info: info if n == 1 else {"x": 1})
    with pytest.raises(ChainError, match=r"sweep 4: draw gave \['a', 'b'\], before \['a'\]"):
        run(lambda n, info: {}, lambda n: {"a": 1} if n < 4 else {"a": 1, "b": 2})
    with pytest.raises(ChainError, match=r"sweep 2: draw gave 'a' of dtype int64"):
        run(lambda n, info: {}, lambda n: {"a": np.zeros(n, float if n == 1 else np.int64)})
    with pytest.raises(ChainError, match=r"draw gave 'a' of dtype <U1"):
        run(lambda n, info: {}, lambda n: {"a": np.array("a")})
    with pytest.raises(ChainError, match=r"cannot be sent to a process .* use n_jobs=1"):
        run(lambda n, info: {}, n_jobs=2)


class Dying(Toy):
    """A sampler whose process is killed."""

    def step(self, rng, state):
        if int(state.sweep) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(rng, state)


@posix
def test_a_killed_process_is_told_and_the_run_can_go_on(tmp_path):
    settings = {"n_chains": 2, "n_sweeps": 9, "seed": 0, "checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.raises(ChainError, match=r"a process that ran chains died: .* go on from the checkpoint"):
        run_chains(Dying(), n_jobs=2, **settings)
    assert same(run_chains(Toy(), **settings), run_chains(Toy(), n_chains=2, n_sweeps=9, seed=0), tmp_path)


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


def is_start_of(trace, full):
    """Whether each chain of a trace is the start of the same chain of another."""
    for k, n in enumerate(trace.n_sweeps):
        for name, values in trace.info.items():
            assert np.array_equal(values[k, :n], full.info[name][k, :n])
            assert np.isnan(values[k, n:]).all()
        for name, draws in full.draws[k].items():
            mine = trace.draws[k].get(name, [])
            assert len(mine) == trace.schedule.n_kept(n)
            assert all(np.array_equal(a, b) for a, b in zip(mine, draws, strict=False))
    return True


def test_an_interrupt_within_a_sweep_keeps_the_sweeps_before(tmp_path):
    settings = {"n_chains": 2, "n_sweeps": 20, "burn_in": 3, "thin": 2, "seed": 0}
    full = run_chains(Toy(), **settings)
    folder = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    trace = run_chains(Toy(trouble=(12, KeyboardInterrupt())), **settings, **folder)
    assert trace.interrupted
    assert not full.interrupted
    assert trace.n_sweeps == (11, 11)
    assert trace.n_draws == 4
    assert is_start_of(trace, full)
    assert trace.info["log_joint"].shape == (2, 11)
    assert same(load_trace_of(trace, tmp_path), trace, tmp_path)
    assert same(run_chains(Toy(), **settings, **folder), full, tmp_path)
    with pytest.raises(KeyboardInterrupt):  # there is nothing to return
        run_chains(Toy(trouble=(1, KeyboardInterrupt())), **settings)


def load_trace_of(trace, tmp_path):
    trace.save(tmp_path / "a.trace")
    return load_trace(tmp_path / "a.trace")


class Pressing(Toy):
    """A sampler that presses Ctrl-C itself, once or twice, in the midst of sweep 8."""

    times = 1

    def step(self, rng, state):
        for _ in range(self.times if int(state.sweep) == 7 else 0):
            signal.raise_signal(signal.SIGINT)
        return super().step(rng, state)


class PressingTwice(Pressing):
    times = 2


@pytest.mark.parametrize("how", [{}, {"n_chains": 2}])
def test_ctrl_c_in_the_burn_in_keeps_the_last_sweep(tmp_path, how, caplog):
    settings = {"n_sweeps": 20, "burn_in": 15, "seed": 0, **how}
    folder = {"checkpoint": tmp_path / "c", "checkpoint_every": 1e9}
    trace = run_chains(Pressing(), **settings, **folder)
    assert trace.interrupted
    assert trace.n_draws == 1
    assert "interrupted in the burn-in: keeping the last of" in caplog.text
    here = run_chains(Toy(), n_sweeps=20, seed=0, n_chains=how.get("n_chains", 1))  # with every draw
    for k, draws in enumerate(trace.draws):
        (n,) = [n for n in range(20) if all(np.array_equal(here.draws[k][x][n], draws[x][0]) for x in draws)]
        assert trace.info["log_joint"][k, -1] == here.info["log_joint"][k, n]
    assert same(load_trace_of(trace, tmp_path), trace, tmp_path)
    assert same(run_chains(Toy(), **settings, **folder), run_chains(Toy(), **settings), tmp_path)


def test_ctrl_c_ends_the_sweep_and_saves_it_and_the_second_aborts(tmp_path):
    settings = {"n_sweeps": 20, "seed": 0}
    folder = {"checkpoint": tmp_path / "c", "checkpoint_every": 1e9}
    before = signal.getsignal(signal.SIGINT)
    trace = run_chains(Pressing(), **settings, **folder)
    assert trace.interrupted
    assert trace.n_sweeps == (8,)
    assert is_start_of(trace, run_chains(Toy(), **settings))
    assert chain_on_disk(tmp_path / "c")[1]["ends"] == [0, 8]
    with pytest.raises(KeyboardInterrupt):
        run_chains(PressingTwice(), **settings)
    assert signal.getsignal(signal.SIGINT) is before
    assert same(run_chains(Toy(), **settings, **folder), run_chains(Toy(), **settings), tmp_path)


def chain_on_disk(folder, number=0):
    return read_container(folder / f"chain-{number}.arbora-chain", "chain")


def test_a_run_in_a_thread_leaves_signals_alone():
    traces = []
    thread = threading.Thread(target=lambda: traces.append(run_chains(Toy(), n_sweeps=5, seed=0)))
    thread.start()
    thread.join()
    assert traces[0].n_draws == 5


SCRIPT = """
import sys
from arbora.inference.chains import run_chains
from tests.unit.test_chain import Toy

if __name__ == "__main__":
    pause, n_jobs, n_sweeps, every, folder, out = sys.argv[1:]
    print("ready", flush=True)
    trace = run_chains(Toy(pause=float(pause)), n_chains=2, n_sweeps=int(n_sweeps), burn_in=7, thin=2, seed=3,
                       n_jobs=int(n_jobs), checkpoint=folder, checkpoint_every=float(every))
    trace.save(out)
"""


@pytest.fixture
def start(tmp_path):
    """Starts the script in a process group of its own, about to sample; none outlives the test."""
    script, told, processes = tmp_path / "script.py", tmp_path / "told", []
    script.write_text(SCRIPT)

    def started(pause, n_jobs, n_sweeps, every):
        arguments = [str(x) for x in (pause, n_jobs, n_sweeps, every, tmp_path / "folder", tmp_path / "out.trace")]
        path = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        with open(told, "wb") as file:
            process = subprocess.Popen(
                [sys.executable, str(script), *arguments],
                cwd=ROOT,
                env=os.environ | path,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        processes.append(process)
        assert wait_until(lambda: b"ready" in told.read_bytes())
        return process

    yield started
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(true, seconds=120.0):
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def is_gone(group):
    """Whether a process group has no process left but dead ones that nobody has asked after."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout  # noqa: S607
    processes = [line.split() for line in listed.splitlines()]
    return not any(pgid == str(group) and not status.startswith("Z") for pgid, status in processes)


def undisturbed(n_sweeps):
    return run_chains(Toy(), n_chains=2, n_sweeps=n_sweeps, burn_in=7, thin=2, seed=3)


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_at_a_terminal_returns_what_was_sampled(tmp_path, start, n_jobs):
    process = start(0.005, n_jobs, 100_000, 0.05)
    both = [tmp_path / "folder" / f"chain-{k}.arbora-chain" for k in range(2)]
    assert wait_until(lambda: all(path.exists() for path in both))
    assert wait_until(lambda: all(chain_on_disk(tmp_path / "folder", k)[1]["ends"][-1] > 10 for k in range(2)))
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
    assert process.wait(30) == 0, (tmp_path / "told").read_text()
    assert b"Traceback" not in (tmp_path / "told").read_bytes()
    assert wait_until(lambda: is_gone(process.pid), 5)
    trace = load_trace(tmp_path / "out.trace")
    assert trace.interrupted
    assert min(trace.n_sweeps) > 0
    assert is_start_of(trace, undisturbed(max(20, *trace.n_sweeps)))
    for k, n in enumerate(trace.n_sweeps):
        assert chain_on_disk(tmp_path / "folder", k)[1]["ends"][-1] == n


@posix
def test_a_second_ctrl_c_aborts_processes_in_the_midst_of_a_sweep(tmp_path, start):
    process = start(100.0, 2, 10, 0)
    time.sleep(1.5)  # until the processes are in their first sweep, or nearly so
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) != 0
    assert b"KeyboardInterrupt" in (tmp_path / "told").read_bytes()
    assert wait_until(lambda: is_gone(process.pid), 5)


# ---- kill -9, resume ------------------------------------------------------------------------------------------------


def kill_and_resume(tmp_path, start, n_jobs, n_kills, n_sweeps, rng):
    """Kill a run that writes after every sweep again and again, then let it end; how many kills found work begun."""
    n_begun = 0
    for _ in range(n_kills):
        process = start(0.001, n_jobs, n_sweeps, 0)
        if n_jobs > 1:  # processes take a while to start
            before = newest(tmp_path / "folder")
            wait_until(lambda before=before: newest(tmp_path / "folder") != before)
        time.sleep(rng.uniform(0, 0.25))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL, "the run ended before it was killed; make it longer"
        n_begun += (tmp_path / "folder" / "chain-0.arbora-chain").exists()
    assert not (tmp_path / "out.trace").exists()
    process = start(0.0, n_jobs, n_sweeps, 5)
    assert process.wait(120) == 0, (tmp_path / "told").read_text()
    return n_begun


def newest(folder):
    return max((path.stat().st_mtime_ns for path in folder.glob("*.arbora-chain")), default=0)


@posix
@pytest.mark.parametrize(("n_jobs", "n_kills"), [pytest.param(1, 5, marks=pytest.mark.slow), (2, 2)])
def test_a_run_killed_again_and_again_ends_as_if_undisturbed(tmp_path, start, n_jobs, n_kills):
    n_begun = kill_and_resume(tmp_path, start, n_jobs, n_kills, 1500, np.random.default_rng(n_jobs))
    assert n_begun >= n_kills - 2
    assert (tmp_path / "out.trace").read_bytes() == content(undisturbed(1500), tmp_path / "full.trace")
    assert not list((tmp_path / "folder").glob("*.tmp"))


@posix
@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_killed_thirty_times_ends_as_if_undisturbed(tmp_path, start, n_jobs):
    n_begun = kill_and_resume(tmp_path, start, n_jobs, 30, 8000, np.random.default_rng(n_jobs))
    assert n_begun >= 25
    assert (tmp_path / "out.trace").read_bytes() == content(undisturbed(8000), tmp_path / "full.trace")


@posix
def test_processes_do_not_outlive_a_killed_parent(tmp_path, start):
    process = start(0.01, 2, 100_000, 0)
    assert wait_until(lambda: newest(tmp_path / "folder") > 0)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: is_gone(process.pid), 10)


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("after", [False, True])
def test_a_death_before_or_after_any_file_is_put_in_place_loses_nothing(tmp_path, monkeypatch, after):
    settings = {"n_chains": 2, "n_sweeps": 6, "burn_in": 1, "thin": 2, "seed": 0}
    full = content(run_chains(Toy(), **settings), tmp_path / "full.trace")
    replace, calls = os.replace, 0

    def dies(source, target):
        nonlocal calls
        calls += 1
        if after:
            replace(source, target)
        if calls == fatal:
            raise Killed
        if not after:
            replace(source, target)

    for fatal in range(1, 24):
        folder, calls = tmp_path / f"{fatal}", 0
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", dies)
            with pytest.raises(Killed):
                run_chains(Toy(), **settings, checkpoint=folder, checkpoint_every=0)
        trace = run_chains(Toy(), **settings, checkpoint=folder, checkpoint_every=0)
        assert content(trace, tmp_path / "resumed.trace") == full


def test_a_finished_run_is_read_and_not_sampled_again(tmp_path):
    settings = {"n_chains": 2, "n_sweeps": 9, "seed": None, "checkpoint": tmp_path / "c"}
    first = run_chains(Toy(), **settings)
    nothing_may_run = Toy(trouble=(10, ZeroDivisionError()))
    object.__setattr__(nothing_may_run, "unpack", None)
    for n_jobs in (1, 2):
        assert same(run_chains(nothing_may_run, n_jobs=n_jobs, **settings), first, tmp_path)
    shorter = run_chains(nothing_may_run, **(settings | {"n_sweeps": 4}))
    assert same(shorter, run_chains(Toy(), n_chains=2, n_sweeps=4, seed=first.seed), tmp_path)
    assert not shorter.interrupted


def test_more_sweeps_and_more_chains_extend_a_run(tmp_path):
    settings = {"burn_in": 2, "thin": 2, "seed": 4}
    run_chains(Toy(), n_sweeps=7, **settings, checkpoint=tmp_path / "c")
    longer = run_chains(Toy(), n_chains=3, n_sweeps=15, **settings, checkpoint=tmp_path / "c")
    assert same(longer, run_chains(Toy(), n_chains=3, n_sweeps=15, **settings), tmp_path)
    assert chain_on_disk(tmp_path / "c")[1]["ends"] == [0, 7, 15]


def test_another_run_in_the_same_folder_is_refused(tmp_path):
    settings = {"n_chains": 2, "n_sweeps": 9, "burn_in": 1, "thin": 2, "seed": 0, "checkpoint": tmp_path / "c"}
    run_chains(Toy(), **settings, fingerprint="trees")
    for name, value in [("burn_in", 3), ("thin", 4), ("seed", 1), ("fingerprint", "other")]:
        for n_jobs in (1, 2):
            with pytest.raises(ChainError, match=f"was made with {name}=.*ask for the same {name}, or give another"):
                run_chains(Toy(), **({"fingerprint": "trees"} | settings | {name: value}), n_jobs=n_jobs)
    (tmp_path / "file").write_text("")
    with pytest.raises(ChainError, match=r"file: not a folder"):
        run_chains(Toy(), **(settings | {"checkpoint": tmp_path / "file"}))


def test_a_seed_drawn_afresh_is_kept_for_chains_not_begun(tmp_path):
    settings = {"n_sweeps": 5, "seed": None, "checkpoint": tmp_path / "c"}
    first = run_chains(Toy(), **settings)
    both = run_chains(Toy(), n_chains=2, **settings)
    assert both.seed == first.seed
    assert same(both, run_chains(Toy(), n_chains=2, n_sweeps=5, seed=first.entropy), tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flip", "missing", "other"])
@pytest.mark.parametrize("which", ["chain-1.arbora-chain", "chain-1.00000000-00000005.arbora-part"])
def test_a_damaged_checkpoint_is_told(tmp_path, damage, which):
    settings = {"n_chains": 2, "seed": 0, "checkpoint": tmp_path}
    run_chains(Toy(), n_sweeps=5, **settings)
    path = tmp_path / which
    whole = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(whole[:-30])
    elif damage == "flip":
        whole[whole.index(b".npy") + 60] ^= 255
        path.write_bytes(whole)
    elif damage == "other":
        write_container(path, "model", 1, {}, {})
    else:
        path.unlink()
    if damage == "missing" and which.endswith("chain"):
        run_chains(Toy(), n_sweeps=9, **settings)  # no checkpoint, so the chain starts again
        return
    with pytest.raises(ChainError, match=r"damaged.*delete chain-1.arbora-chain to start chain 1 again"):
        run_chains(Toy(), n_sweeps=9, **settings)
    (tmp_path / "chain-1.arbora-chain").unlink()
    assert same(
        run_chains(Toy(), n_sweeps=9, **settings), run_chains(Toy(), n_chains=2, n_sweeps=9, seed=0), tmp_path / ".."
    )


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    run_chains(Toy(), n_sweeps=5, seed=0, checkpoint=tmp_path)
    _, header, arrays = chain_on_disk(tmp_path)
    write_container(tmp_path / "chain-0.arbora-chain", "chain", 99, header, arrays)
    with pytest.raises(ChainError, match="version 99, wanted 1"):
        run_chains(Toy(), n_sweeps=5, seed=0, checkpoint=tmp_path)


def test_a_checkpoint_costs_the_same_however_much_was_kept(tmp_path):
    run_chains(Toy(), n_sweeps=100, seed=0, checkpoint=tmp_path, checkpoint_every=0)
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.arbora-part"))]
    assert len(sizes) == 100
    assert max(sizes[50:]) < 1.2 * max(sizes[:50])


def test_checkpoints_are_as_far_apart_as_asked(tmp_path):
    run_chains(Toy(pause=0.01), n_sweeps=30, seed=0, checkpoint=tmp_path, checkpoint_every=0.1)
    assert 1 <= len(list(tmp_path.glob("*.arbora-part"))) <= 5


# ---- the trace ------------------------------------------------------------------------------------------------------


def test_a_trace_is_saved_and_loaded_whole(tmp_path):
    trace = run_chains(Toy(), n_chains=2, n_sweeps=12, burn_in=2, thin=3, seed=np.random.default_rng(0))
    loaded = load_trace_of(trace, tmp_path)
    assert same(loaded, trace, tmp_path)
    assert (loaded.n_sweeps, loaded.schedule, loaded.seed) == (trace.n_sweeps, trace.schedule, trace.seed)
    assert is_start_of(loaded, trace)
    assert [cloud.shape for cloud in loaded.draws[1]["cloud"]] == [cloud.shape for cloud in trace.draws[1]["cloud"]]
    _, header, arrays = read_container(tmp_path / "a.trace", "trace")
    write_container(tmp_path / "b.trace", "trace", 99, header, arrays)
    with pytest.raises(ModelFileError, match="trace version 99"):
        load_trace(tmp_path / "b.trace")


def test_stack_refuses_what_does_not_stack():
    trace = run_chains(Toy(), n_chains=2, n_sweeps=12, seed=0)
    assert trace.stack("point").shape == (2, 12, 2)
    assert trace.names() == ["point", "cloud", "sweep"]
    assert trace.names(fixed=True) == ["point", "sweep"]
    with pytest.raises(ChainError, match=r"'cloud' varies in shape, \(0, 2\) to \(3, 2\); take trace.draws"):
        trace.stack("cloud")
    with pytest.raises(ChainError, match=r"nothing named 'x' was drawn; there is point, cloud, sweep"):
        trace.stack("x")


def test_arviz_tells_good_chains_from_stuck_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ warns of its own future
        az = pytest.importorskip("arviz", reason="arviz is not installed; it is in the `mcmc` extra")
    good = run_chains(Toy(), n_chains=4, n_sweeps=600, burn_in=100, thin=2, seed=0)
    stuck = run_chains(Toy(stuck=True), n_chains=4, n_sweeps=600, burn_in=100, thin=2, seed=0)
    data = good.to_arviz()
    assert sorted(data.posterior.data_vars) == ["point", "sweep"]
    assert np.array_equal(data.posterior["point"].values, good.stack("point"))
    assert data.posterior["point"].dims == ("chain", "draw", "point_dim_0")
    assert np.array_equal(data.sample_stats["log_joint"].values, good.info["log_joint"][:, good.draw_sweep])
    assert float(az.rhat(data, var_names=["point"])["point"].max()) < 1.02
    assert float(az.ess(data, var_names=["point"])["point"].min()) > 500
    assert float(az.rhat(data.sample_stats["log_joint"].values)) < 1.02
    assert float(az.rhat(stuck.to_arviz(), var_names=["point"])["point"].min()) > 2
    tree = good.to_xarray()
    assert np.array_equal(tree["posterior"]["point"].values, good.stack("point"))
    assert np.array_equal(tree["sample_stats"]["n_points"].values, data.sample_stats["n_points"].values)


@pytest.mark.parametrize("version", ["0.20.0", "0.23.4", "1.0.0", "1.3.3"])
def test_both_generations_of_arviz_get_what_they_work_on(monkeypatch, version):
    """From version 1 on, InferenceData is an old name of the DataTree, and whoever asks for it is warned."""
    pytest.importorskip("xarray", reason="xarray is not installed; it is in the `mcmc` extra")
    made = []

    class Stub(types.ModuleType):
        def __getattr__(self, name):
            if name == "InferenceData" and version.startswith("0."):
                return lambda **groups: made.append(groups) or groups
            warnings.warn(f"{name} is an old name", FutureWarning, stacklevel=2)
            raise AttributeError(name)

    stub = Stub("arviz")
    stub.__version__ = version
    monkeypatch.setitem(sys.modules, "arviz", stub)
    trace = run_chains(Toy(), n_sweeps=5, seed=0)
    data = trace.to_arviz()
    assert bool(made) == version.startswith("0.")
    assert np.array_equal(data["posterior"]["point"].values, trace.stack("point"))
    assert set(data["sample_stats"].data_vars) == set(trace.info)


def test_a_missing_package_is_named(monkeypatch):
    trace = run_chains(Toy(), n_sweeps=3, seed=0)
    monkeypatch.setitem(sys.modules, "xarray", None)
    for export in (trace.to_xarray, trace.to_arviz):
        with pytest.raises(MissingDependencyError, match=r"arbora\[mcmc\]"):
            export()


# ---- progress -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_bar_shows_sweeps_chains_and_the_latest_information(monkeypatch, n_jobs):
    shown = []

    class Bar(chain.Progress):
        def show(self):
            shown.append((self.done, self.total, self.what))

    monkeypatch.setattr(chain, "Progress", Bar)
    run_chains(Toy(pause=0.01), n_chains=2, n_sweeps=60, seed=0, n_jobs=n_jobs, progress=True)
    done, totals, words = zip(*[line for line in shown if line[0]], strict=True)
    assert set(totals) == {120}
    assert list(done) == sorted(done)
    assert max(done) > 60
    assert words[-1].startswith("2 chains, sweep ")
    assert " of 60, points " in words[-1]
    assert ", log joint -" in words[-1]


def test_a_quick_run_is_silent(capfd):
    run_chains(Toy(), n_chains=2, n_sweeps=60, seed=0)
    assert capfd.readouterr() == ("", "")
