"""Sweeps of RBHMC on Animals (33 x 7, depth 3): the kernels against their plain twin, and 75,000 sweeps on one core.

Fails if a sweep is less than 15 times as fast as the twin's.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from measure import finish, judge

from arbora import datasets
from arbora.errors import DataNotFoundError
from arbora.models.bhmc.estimator import principal_axes
from arbora.models.bhmc.kernels.mixture_tree import EXACT, OWN, SweepSettings
from arbora.models.bhmc.sampler import HierarchySampler
from tests.reference.bhmc import Twin


def rows():
    """Seven principal components of Animals, or as many random numbers of their variances."""
    try:
        X = datasets.load_animals().X
    except DataNotFoundError:
        print("Animals not found; random rows of the same size instead")
        return np.random.default_rng(0).standard_normal((33, 7)) * np.sqrt([3.6, 2.2, 1.7, 1.5, 1.0, 0.8, 0.6])
    X = X - X.mean(axis=0)
    return np.ascontiguousarray(X @ principal_axes(X, 7))


def settings():
    """The paper's hyperparameters, finite and nested, with and without regulariser."""
    base = SweepSettings(0.4, 1.0, 0.85, 0.0, 1.0, 1.0, 5, EXACT)
    return {
        "BHMC, finite": base,
        "RBHMC, finite, C=0.1": base._replace(regularization=0.1),
        "BHMC, nested": base._replace(branching=0),
        "RBHMC, own, C=0.1": base._replace(branching=0, regularization=0.1, procedure=OWN),
    }


def main():
    """Time sweeps by CPU time, kernels and twin in turn on the same states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=2000, help="sweeps of the kernels; the twin makes 4")
    parser.add_argument("--long", action="store_true", help="also run 75,000 sweeps of RBHMC")
    options = parser.parse_args()
    X = rows()
    for name, setting in settings().items():
        chain = HierarchySampler(X, 3, setting, (1.0, 1.0))
        rng = np.random.default_rng(0)
        state = chain.init(rng)
        for _ in range(200):  # compile, and leave the start
            state, _ = chain.step(rng, state)
        start = time.process_time()
        for _ in range(options.sweeps):
            state, _ = chain.step(rng, state)
        ours = (time.process_time() - start) / options.sweeps
        twin = Twin.of(X, state, setting)
        start = time.process_time()
        for _ in range(4):
            twin.sweep(rng)
        theirs = (time.process_time() - start) / 4
        told = f"{1e3 * ours:.3f} ms per sweep, twin {1e3 * theirs:.0f} ms, {theirs / ours:.0f} times faster"
        print(f"{name}: {told}; 75,000 sweeps {75000 * ours:.0f} s")
        judge("twin / ours", theirs / ours, 15)
    if options.long:
        chain = HierarchySampler(X, 3, settings()["RBHMC, finite, C=0.1"], (1.0, 1.0))
        rng = np.random.default_rng(0)
        state = chain.init(rng)
        start = time.process_time()
        for _ in range(75000):
            state, _ = chain.step(rng, state)
        print(f"75,000 sweeps of RBHMC, measured: {time.process_time() - start:.0f} s of one core")
    finish()


if __name__ == "__main__":
    main()
