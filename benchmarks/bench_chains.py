"""EM on chains, where a hidden tree is a hidden Markov model: against hmmlearn, pomegranate and dynamax.

    python benchmarks/bench_chains.py [--quick]
All begin with the same parameters and must reach the same log-likelihood before anything is timed; pomegranate, which
learns how chains end besides, must have the same one at the start.  CPU time of one iteration on one core, without
compiling.  Fails where a log-likelihood differs, or a ratio misses its bound.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import argparse
import logging
import warnings

import numpy as np
from measure import cpu_seconds, finish, judge, peer

from arbora import HiddenTree
from arbora.datasets import make_chains

N, LENGTH, N_STATES, N_SYMBOLS = 2000, 50, 8, 50
STEPS = 5  # of EM, before log-likelihoods are compared
SINGLE = "pomegranate, single precision"


def begin(rng):
    """Start, transitions and emissions."""
    return [rng.dirichlet(np.ones(n), k) for n, k in ((N_STATES, 1), (N_STATES, N_STATES), (N_SYMBOLS, N_STATES))]


def arbora(forest, start, transition, emission):
    """A function that makes steps of EM and, if asked, returns the log-likelihood after them."""
    uniform = np.full((1, N_STATES), 1 / N_STATES)  # for roots that are leaves, and absent children: never used

    def run(n_steps, score=False):
        model = HiddenTree.from_parameters(
            leaf_prob=np.concatenate([start, uniform]),
            emission_prob=emission,
            switch_prob=[1.0],
            transition_prob=np.concatenate([transition, uniform])[None],
        )
        if n_steps:
            model.set_params(warm_start=True, max_iter=n_steps, tol=0, prior=1.0).fit(forest)
        return float(model.score_samples(forest).sum()) if score else None

    return run


def hmmlearn(labels, start, transition, emission, implementation):
    """As `arbora`, by either implementation of hmmlearn."""
    module = peer("hmmlearn.hmm")
    if module is None:
        return None

    def run(n_steps, score=False):
        model = module.CategoricalHMM(
            N_STATES, n_features=N_SYMBOLS, n_iter=n_steps, tol=-np.inf, init_params="", implementation=implementation
        )
        model.startprob_, model.transmat_, model.emissionprob_ = start[0], transition, emission
        model.fit(labels.reshape(-1, 1), np.full(N, LENGTH))
        return model.score(labels.reshape(-1, 1), np.full(N, LENGTH)) if score else None

    return run


def pomegranate(labels, start, transition, emission):
    """As `arbora`, in torch on one thread."""
    module, torch = peer("pomegranate.hmm"), peer("torch")
    if module is None or torch is None:
        return None
    from pomegranate.distributions import Categorical

    torch.set_num_threads(1)
    data = torch.tensor(labels[:, :, None])
    start, transition, emission = (torch.tensor(x, dtype=torch.float32) for x in (start[0], transition, emission))

    def run(n_steps, score=False):
        states = [Categorical(row[None]) for row in emission]
        # Any state may end a chain, for nothing; what fit makes of that is its own affair.
        model = module.DenseHMM(states, transition, start, torch.ones(N_STATES))
        for _ in range(n_steps):  # as its fit does, which ends sooner where rounding hides what was gained
            model.summarize(data)
            model.from_summaries()
        return float(model.log_probability(data).double().sum()) if score else None

    return run


def dynamax(labels, start, transition, emission):
    """As `arbora`, in jax: the steps of its fit_em, compiled once."""
    module, jax = peer("dynamax.hidden_markov_model"), peer("jax")
    if module is None or jax is None:
        return None
    jax.config.update("jax_enable_x64", True)
    model = module.CategoricalHMM(
        N_STATES,
        1,
        N_SYMBOLS,
        initial_probs_concentration=1.0,
        transition_matrix_concentration=1.0,
        emission_prior_concentration=1.0,
    )
    params, props = model.initialize(
        initial_probs=jax.numpy.asarray(start[0]),
        transition_matrix=jax.numpy.asarray(transition),
        emission_probs=jax.numpy.asarray(emission)[:, None, :],
    )
    data = jax.numpy.asarray(labels[:, :, None])

    @jax.jit
    def step(params, state):
        stats, log_likelihood = jax.vmap(lambda one: model.e_step(params, one))(data)
        params, state = model.m_step(params, props, stats, state)
        return params, state, log_likelihood.sum()

    def run(n_steps, score=False):
        now, state = params, model.initialize_m_step_state(params, props)
        for _ in range(n_steps):
            now, state, found = step(now, state)
        found.block_until_ready()
        return float(step(now, state)[2]) if score else None

    return run


def seconds(run, n_steps):
    """Least CPU time of as many calls as take some seconds: the faster, the more a busy machine would disturb."""
    once = cpu_seconds(lambda: run(n_steps), 2)  # the first one compiles
    return min(once, cpu_seconds(lambda: run(n_steps), int(min(max(2, 4 / once), 20))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    forest = make_chains(N, LENGTH, N_SYMBOLS, random_state=0)
    labels = forest.label.reshape(N, LENGTH).astype(np.int64)  # a chain's leaf comes first and its root last
    model = begin(np.random.default_rng(0))
    runs = {
        "arbora": arbora(forest, *model),
        "hmmlearn, scaling": hmmlearn(labels, *model, "scaling"),
        "hmmlearn, log": hmmlearn(labels, *model, "log"),
        SINGLE: pomegranate(labels, *model),
        "dynamax": dynamax(labels, *model),
    }
    print(f"{N} chains of {LENGTH} nodes, {N_STATES} states, {N_SYMBOLS} symbols")
    wanted = {steps: runs["arbora"](steps, score=True) for steps in (0, STEPS)}
    times = {}
    for name, run in runs.items():
        if run is None:
            continue
        steps, tolerance = (0, 1e-6) if name == SINGLE else (STEPS, 1e-10)
        found = run(steps, score=True)
        assert abs(found / wanted[steps] - 1.0) <= tolerance, f"{name}: log-likelihood {found}, ours {wanted[steps]}"
        more = (4 if quick else 10) * (1 if "hmmlearn" in name else 4)  # enough to stand out from what comes before
        times[name] = (seconds(run, 1 + more) - seconds(run, 1)) / more
        told = f"{1e3 * times[name]:8.1f} ms per iteration, {times[name] / times['arbora']:6.1f} times ours"
        print(f"  {name:30} {told}; log-likelihood after {steps} steps {found:.6f}")
    for name, bound in (("hmmlearn, scaling", 12), ("hmmlearn, log", 80), (SINGLE, 5), ("dynamax", 10)):
        if name in times:
            judge(f"{name} / arbora", times[name] / times["arbora"], bound)
    finish()


if __name__ == "__main__":
    main()
