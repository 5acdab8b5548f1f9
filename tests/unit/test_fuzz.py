"""Readers and loaders on bytes from hypothesis: a value that holds its promises, or one sentence; never anything else.

The targets are those of ``fuzz/``, where atheris goes on for as long as one lets it; what failed there once is in its
corpus, and runs here.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arbora as ab
from fuzz.targets import CORPUS, TARGETS, seeds

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


NEW_READERS = (
    "code",
    "decisions",
    "dotbracket",
    "glycans",
    "jsonl",
    "nexus",
    "nodes",
    "sitemap",
    "swc",
    "traces",
    "warc",
)


@pytest.mark.parametrize("name", [f"read-{format}" for format in NEW_READERS])
def test_flipped_bits(name: str) -> None:
    """One flipped bit in each eleventh byte, another bit each time."""
    if name == "read-code":
        pytest.importorskip("tree_sitter")
    for seed in seeds(name):
        for at in range(0, len(seed), 11):
            TARGETS[name](seed[:at] + bytes([seed[at] ^ 1 << at % 8]) + seed[at + 1 :])


# A word damaged by one bit, behind which nodes or names would be lost without a word.
DAMAGED = [
    ("decisions", "model.json", b'"left_children": [1', b'"left_children": [3', "row 1 is no row's child"),
    ("nexus", "samples.nex", b"tree STATE_0", b"tsee STATE_0", "line 6, column 3: found 'tsee' before what looks"),
    ("nexus", "samples.nex", b"translate", b"transla|e", "line 5, column 3: found 'transla|e' before what looks"),
    ("nexus", "samples.nex", b"taxlabels", b"taxlabelc", "line 3, column 1: the block 'taxa' that starts here has no"),
    ("jsonl", "trees.jsonl", b'"children"', b'"childrgn"', "line 1: the key 'childrgn' holds nodes"),
    ("traces", "otlp.json", b'"resourceSpans"', b'"resourceSp`ns"', "wanted OTLP with the key 'resourceSpans'"),
    ("swc", "neuron.swc", b"4 3 3 1 0 .5 3", b"4 3 3 1 0 .5 ;", "line 5"),
]


@pytest.mark.parametrize(("format", "file", "good", "bad", "said"), DAMAGED)
def test_damaged_words_lose_nothing(format: str, file: str, good: bytes, bad: bytes, said: str, tmp_path: Path) -> None:
    data = (CORPUS / f"read-{format}" / file).read_bytes()
    assert good in data
    (tmp_path / file).write_bytes(data)
    assert ab.read(tmp_path / file, format).n_trees
    (tmp_path / file).write_bytes(data.replace(good, bad, 1))
    with pytest.raises(ab.ReadError, match=re.escape(said)):
        ab.read(tmp_path / file, format)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=2000)
@given(data=st.data())
def test_at_length(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(mutated(seeds(name))))
