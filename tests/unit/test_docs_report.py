"""The examples of the page on reports run as they stand, and it names every picture and every limit."""

import re
import runpy
from pathlib import Path

import pytest

from arbora import plot
from arbora.report import clusters, columns, drawn, parameters, posterior, rows
from tests.pages import page_data

PAGE = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.mark.compiled
def test_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    Path("examples.py").write_text("\n".join(blocks), encoding="utf-8")
    model = runpy.run_path("examples.py")["model"]
    assert page_data(Path("report.html").read_text(encoding="utf-8"))["n_groups"] == model.n_components


def test_the_page_names_every_picture() -> None:
    helpers = {"layout_union", "new_figure", "overview", "hierarchy_overview", "png_bytes"}
    public = {name for name in plot.__all__ if name.islower()} - helpers
    assert {name for name in public if f"`{name}`" not in PAGE} == set()


def test_the_page_tells_the_limits_in_force() -> None:
    (told,) = re.findall(r"^## What is left out.*?\n\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    limits = [
        *(
            columns.MAX_ITEMS,
            clusters.MAX_SILHOUETTES,
            clusters.MAX_GROUPS,
            drawn.MAX_TREE_NODES,
            drawn.MAX_DRAWN_NODES,
        ),
        *(posterior.MAX_TOGETHER, rows.MAX_NODES, parameters.MAX_COMPONENTS, parameters.MAX_LABELS),
        *(parameters.MAX_SLOTS, columns.MAX_NAME_BYTES),
    ]
    found = [int(number.replace(",", "")) for number in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.]*\d| MB)", told)]
    assert [n for n in limits if n not in found] == []
