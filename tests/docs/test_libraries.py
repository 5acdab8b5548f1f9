"""The examples of docs/libraries.md run where the library that they are about is installed."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text(encoding="utf-8")
# The module in brackets before a heading, and the block below the heading.
EXAMPLE = re.compile(r"^\((\w+)\)=\n## [^\n]+\n(?:(?!^## ).)*?^```\{code-block\} python\n(.*?)^```", re.M | re.S)
EXAMPLES = EXAMPLE.findall(PAGE)


def test_every_section_has_an_example():
    assert len(EXAMPLES) == PAGE.count("\n## ") == PAGE.count("```{code-block}")


@pytest.mark.filterwarnings("ignore")  # of libraries as they are imported
@pytest.mark.parametrize(("module", "code"), EXAMPLES, ids=[module for module, _ in EXAMPLES])
def test_example(module, code):
    pytest.importorskip(module)
    assert "assert " in code
    exec(compile(code, f"docs/libraries.md, {module}", "exec"), {})  # noqa: S102 (our own page)
