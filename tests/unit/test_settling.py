"""Chains that run until they have settled: what the rule sees, what it cannot see, and that nothing else changes."""

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ChainError
from arbora.inference.chains import Settled, load_trace, run_chains
from arbora.inference.convergence import rhat
from arbora.inference.distribute import distributed
from arbora.inference.verdict import Run, judge_chains
from arbora.models.sampled import check_ending, rule_of

N_DATA = 12


class TwoModes:
    """Two partitions into two groups of six, equally probable, with a little noise; a sweep switches now and then.

    Chains start in modes of their own, by their number, or all in the first.
    """

    def __init__(self, switch, apart=True, noise=0.1, dies_at=None):
        self.switch, self.apart, self.noise, self.dies_at = switch, apart, noise, dies_at

    def init(self, rng):
        chain = rng.bit_generator.seed_seq.spawn_key[-1]
        return chain % 2 if self.apart else 0, np.zeros(N_DATA, np.int64), 0

    def step(self, rng, state):
        mode, _, sweep = state
        if sweep + 1 == self.dies_at:
            raise KeyboardInterrupt
        mode = 1 - mode if rng.random() < self.switch else mode
        label = np.arange(N_DATA) // 6 if mode == 0 else np.arange(N_DATA) % 2
        label = np.where(rng.random(N_DATA) < self.noise, 1 - label, label)
        return (mode, label, sweep + 1), {"log_joint": rng.normal(), "mode": mode}

    def draw(self, state):
        return {"label": state[1]}

    def pack(self, state):
        return {"mode": np.array(state[0]), "label": state[1], "sweep": np.array(state[2])}

    def unpack(self, arrays):
        return int(arrays["mode"]), arrays["label"], int(arrays["sweep"])


def run(sampler, seed=0, **settings):
    settings = {"n_chains": 4, "n_sweeps": 400, "burn_in": None, "until": Settled(), **settings}
    return run_chains(sampler, seed=seed, **settings)


def test_chains_that_mix_fast_settle_soon():
    ended = [run(TwoModes(0.5), seed) for seed in range(5)]
    assert all(trace.settled and not trace.interrupted for trace in ended)
    assert max(trace.n_sweeps[0] for trace in ended) <= 200
    for trace in ended:
        assert len(set(trace.n_sweeps)) == 1
        assert trace.schedule.burn_in == trace.n_sweeps[0] // 2
        assert trace.n_draws == trace.n_sweeps[0] - trace.schedule.burn_in
        settled = Run(400, False, trace.settled, trace.n_sweeps[0])
        verdict = judge_chains(trace.stack("label"), trace.info["log_joint"][:, trace.draw_sweep], settled)
        assert verdict.level == "sound"
        assert f"settled after {trace.n_sweeps[0]} of at most 400 sweeps" in verdict.reason


def test_chains_in_different_modes_have_not_settled():
    """Numbers of groups and log joints are alike in both modes: only who is with whom shows that chains sit apart."""
    for seed in range(5):
        trace = run(TwoModes(0.0), seed, n_sweeps=200)
        assert trace.settled is False
        assert trace.n_sweeps == (200,) * 4
        assert rhat(trace.info["log_joint"][:, trace.draw_sweep]) < 1.05  # so a rule by numbers alone would be wrong
        joint = trace.info["log_joint"][:, trace.draw_sweep]
        verdict = judge_chains(trace.stack("label"), joint, Run(200, False, trace.settled, 200))
        assert verdict.level == "do not trust"
        assert "had not settled after 200 sweeps" in verdict.reason


def test_rare_switches_are_seldom_called_settled():
    """A mode lasts 100 sweeps, so that no run of 200 sweeps is long enough; docs/diagnostics.md has the rate."""
    called = [run(TwoModes(0.01), seed, n_sweeps=200).settled for seed in range(20)]
    assert np.mean(called) <= 0.25


def test_a_mode_that_no_chain_visits_is_not_seen():
    """What no rule that compares chains can do: the docs say so."""
    trace = run(TwoModes(0.0, apart=False))
    assert trace.settled
    assert (trace.info["mode"] == 0).all()


def test_chains_that_never_move_and_single_chains_have_not_settled():
    class Still(TwoModes):
        def step(self, rng, state):
            return state, {"log_joint": 1.0}

    assert run(Still(0.0), n_sweeps=60).settled is False
    assert run(TwoModes(0.5), n_sweeps=60, n_chains=1).settled is False
    assert run(TwoModes(0.5), n_sweeps=60, until=None).settled is None


def same(one, other):
    assert one.n_sweeps == other.n_sweeps
    assert one.schedule == other.schedule
    assert one.settled == other.settled
    assert np.array_equal(one.stack("label"), other.stack("label"))
    assert all(np.array_equal(one.info[name], other.info[name]) for name in one.info)


def test_the_rule_changes_when_chains_end_and_nothing_else(tmp_path):
    here = run(TwoModes(0.5), thin=2)
    longer = run_chains(TwoModes(0.5), n_chains=4, n_sweeps=400, thin=2, seed=0)
    first, end = here.schedule.burn_in // 2, here.n_sweeps[0] // 2
    assert np.array_equal(here.stack("label"), longer.stack("label")[:, first:end])
    same(here, run(TwoModes(0.5), thin=2, n_jobs=2, threads=True))
    here.save(tmp_path / "trace")
    same(here, load_trace(tmp_path / "trace"))


def test_processes_settle_at_the_same_sweep(tmp_path):
    here = run(TwoModes(0.5))
    same(here, run(TwoModes(0.5), n_jobs=2, checkpoint=tmp_path))
    same(here, run(TwoModes(0.5), checkpoint=tmp_path))  # all sweeps are on disk, and none beyond the end
    assert run(TwoModes(0.5), checkpoint=tmp_path, n_sweeps=20).n_sweeps == (20,) * 4


@pytest.mark.parametrize(
    "dies_at", [pytest.param(7, marks=pytest.mark.slow), 21, pytest.param(55, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_settles_as_if_undisturbed(tmp_path, dies_at):
    whole = run(TwoModes(0.5))
    cut = run(TwoModes(0.5, dies_at=dies_at), checkpoint=tmp_path, checkpoint_every=0.0)
    assert cut.interrupted
    assert cut.settled is False
    assert max(cut.n_sweeps) < dies_at
    same(whole, run(TwoModes(0.5), checkpoint=tmp_path, checkpoint_every=0.0))


def test_chains_on_a_cluster_settle_at_the_same_sweep(tmp_path):
    dask = pytest.importorskip("distributed")
    whole = run(TwoModes(0.5))
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
        distributed(client),
    ):
        same(whole, run(TwoModes(0.5)))
        same(whole, run(TwoModes(0.5), checkpoint=tmp_path))


def test_a_limit_of_time_ends_the_run_at_a_look():
    trace = run(TwoModes(0.0), until=Settled(every=5, max_time=0.0))
    assert trace.n_sweeps == (5,) * 4
    assert trace.settled is False
    assert not trace.interrupted


class TwoLevels(TwoModes):
    """A coarse level that never changes, and the two modes as the fine one."""

    def draw(self, state):
        return {"levels": np.stack([np.zeros(N_DATA, np.int64), state[1]])}


def test_every_level_must_settle():
    assert run(TwoLevels(0.5)).settled
    assert run(TwoLevels(0.0), n_sweeps=200).settled is False  # the coarse level alone would pass


def test_a_limit_of_time_alone_is_no_rule_of_agreement():
    rule = Settled(every=5, max_time=0.0, agree=False)
    trace = run(TwoModes(0.5), until=rule)
    assert trace.n_sweeps == (5,) * 4
    assert trace.settled is None
    assert run(TwoModes(0.5), until=Settled(max_time=60.0, agree=False)).n_sweeps == (400,) * 4


SAMPLERS = [
    ab.DPGaussianMixture,
    ab.NHCM,
    ab.BHMC,
    ab.RBHMC,
    ab.PatternMixture,
    ab.TreeGrammarMixture,
    ab.InfiniteHiddenTreeMixture,
]


@pytest.mark.parametrize("kind", SAMPLERS)
def test_every_sampler_takes_the_rule(kind):
    assert rule_of(kind(until="settled", n_chains=2)) == Settled()
    assert rule_of(kind(until="settled", n_chains=1)) is None
    assert rule_of(kind(until="n_iter", n_chains=2)) is None
    assert rule_of(kind(until="settled", n_chains=2, max_time=3.0)) == Settled(max_time=3.0)
    assert rule_of(kind(until="n_iter", n_chains=2, max_time=3.0)) == Settled(max_time=3.0, agree=False)
    for wrong in ({"until": "bored"}, {"max_time": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            check_ending(kind(**wrong))


TREES = [("a", ["b", "c"])] * 6 + [("d", ["e", "e"])] * 6
TIMED = [
    ab.DPGaussianMixture(),
    pytest.param(ab.NHCM(), marks=pytest.mark.slow),
    pytest.param(ab.BHMC(depth=2, thin=1), marks=pytest.mark.slow),
    pytest.param(ab.RBHMC(depth=2, thin=1), marks=pytest.mark.slow),
    pytest.param(ab.PatternMixture(), marks=pytest.mark.slow),
    pytest.param(ab.TreeGrammarMixture(None, number="process"), marks=pytest.mark.slow),
    pytest.param(ab.InfiniteHiddenTreeMixture(2), marks=pytest.mark.slow),
]


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
@pytest.mark.parametrize("model", TIMED, ids=lambda one: type(one).__name__)
def test_fits_end_in_time(model):
    """At the first look, of a budget of a hundred sweeps, whatever the chains say."""
    rows = np.random.default_rng(0).normal(size=(20, 2))
    data = rows if type(model) in SAMPLERS[:4] else TREES
    model.set_params(n_iter=100, n_chains=2, n_jobs=None, random_state=0, max_time=0.0, until="n_iter").fit(data)
    assert model.trace_.n_sweeps == (20, 20)
    assert model.settled_ is None


def test_what_the_rule_needs_is_said():
    class Nameless(TwoModes):
        def draw(self, state):
            return {"group": state[1]}

    with pytest.raises(ChainError, match="label"):
        run(Nameless(0.5))
    for settings in ({"every": 0}, {"every": True}, {"rhat": 0.5}, {"min_ess": -1.0}, {"max_time": -1.0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            Settled(**settings)
