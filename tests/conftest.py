"""Settings of the whole suite."""

import gc
import os
import signal
from pathlib import Path

# Before numba is imported: compiled kernels go to one place in the project, out of the source tree.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache"))

import pytest
from hypothesis import HealthCheck, settings

from arbora import Forest
from tests import examples

# The first call of a kernel compiles it, so a deadline for one example means nothing.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=60, **_COMMON)
settings.register_profile("ci", max_examples=40, derandomize=True, **_COMMON)
settings.register_profile("brief", max_examples=8, derandomize=True, **_COMMON)
settings.register_profile("thorough", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


# Compilation makes millions of short-lived objects beside the lasting ones of all test modules: search less often.
gc.set_threshold(20_000, 20, 50)


# A shell starts what runs in the background with Ctrl-C ignored, and processes inherit that: the tests of Ctrl-C fail.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave what collection made out of every later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=sorted(examples.AWKWARD))
def awkward(request: pytest.FixtureRequest) -> Forest:
    """Each of the awkward forests in turn."""
    return examples.AWKWARD[request.param]()


@pytest.fixture(params=sorted(examples.SMALL))
def awkward_small(request: pytest.FixtureRequest) -> Forest:
    """Each of the awkward forests that enumeration or plain Python can handle."""
    return examples.SMALL[request.param]()
