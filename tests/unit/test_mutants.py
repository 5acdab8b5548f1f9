"""The table of planted bugs stays true: each still has its one place, and its tests are still there."""

import ast

import pytest

from tests.mutation.table import MUTANTS, ROOT, Mutant, planted


def test_every_mutant_has_its_place():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 100
    for mutant in MUTANTS:
        before = (ROOT / mutant.file).read_text()
        after = planted(before, mutant)
        assert after != before
        ast.parse(after)


def test_every_test_named_exists():
    for name in {test for mutant in MUTANTS for test in (*mutant.tests, mutant.by)}:
        path, _, function = name.partition("[")[0].partition("::")
        assert not function or f"def {function}(" in (ROOT / path).read_text(), name


@pytest.mark.parametrize("text", ["a b", "a a"])
def test_a_text_that_is_not_there_once_is_an_error(text):
    wanted = Mutant("name", "file", "a" if text == "a a" else "c", "d", "", (), False)
    with pytest.raises(ValueError, match=r"wanted once"):
        planted(text, wanted)
