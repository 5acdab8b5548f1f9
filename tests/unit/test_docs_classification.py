"""The page on classification names what there is; `tests/docs` runs its examples."""

import re
from pathlib import Path

from arbora.models.hidden_tree.encoding import ENCODINGS

PAGE = Path(__file__).parents[2] / "docs" / "classification.md"


def test_the_page_names_every_encoding() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r'^\| `"(\w+)"`', text, re.MULTILINE) == list(ENCODINGS)
