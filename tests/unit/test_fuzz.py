"""Readers and loaders on bytes from hypothesis: a value that holds its promises, or one sentence; never anything else.

The targets are those of ``fuzz/``, where atheris goes on for as long as one lets it; what failed there once is in its
corpus, and runs here.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.targets import TARGETS, seeds

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]


def mutated(good: list[bytes]) -> st.SearchStrategy[bytes]:
    """Random bytes, and pieces of good files in any order with random bytes between."""

    @st.composite
    def pieces(draw: st.DrawFn) -> bytes:
        base = draw(st.sampled_from(good))
        cuts = draw(st.lists(st.tuples(st.integers(0, len(base)), st.integers(0, 40)), max_size=6))
        spans = [base[at : at + length] for at, length in cuts]
        start = draw(st.integers(0, len(base)))
        return base[:start] + b"".join(draw(st.permutations([*spans, draw(st.binary(max_size=6))]))) + base[start:]

    return st.binary(max_size=200) | pieces()


@pytest.mark.parametrize("name", TARGETS)
def test_corpus(name: str) -> None:
    for seed in seeds(name):
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=25)
@given(data=st.data())
def test_quickly(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(mutated(seeds(name))))


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=2000)
@given(data=st.data())
def test_at_length(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(mutated(seeds(name))))
