"""The examples of the page on classification run as they stand."""

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "classification.md"


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::arbora.errors.NotConvergedWarning")
def test_examples_run_in_order(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks).replace("classifier.arbora", f"{tmp_path}/classifier.arbora"), encoding="utf-8")
    names = runpy.run_path(str(script))
    assert names["model"].is_novel([("zebra", ["lion", ("gnu", ["emu"])])]).all()
    assert names["model"].score(names["test"]) > 0.9
    assert (tmp_path / "classifier.arbora").exists()


def test_the_page_names_every_encoding() -> None:
    from arbora.models.hidden_tree.encoding import ENCODINGS

    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r'^\| `"(\w+)"`', text, re.MULTILINE) == list(ENCODINGS)
