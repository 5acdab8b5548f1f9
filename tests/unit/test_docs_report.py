"""The page on reports names every picture and every limit."""

import re
from pathlib import Path

from arbora import plot
from arbora.report import clusters, columns, parameters, posterior, rows, silhouettes
from arbora.report import tree_drawings as drawn

PAGE = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_page_names_every_picture() -> None:
    helpers = {"layout_union", "new_figure", "overview", "hierarchy_overview", "png_bytes"}
    public = {name for name in plot.__all__ if name.islower()} - helpers
    assert {name for name in public if f"`{name}`" not in PAGE} == set()


def test_the_page_tells_the_limits_in_force() -> None:
    (told,) = re.findall(r"^## What is left out.*?\n\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    limits = [
        *(
            columns.MAX_ITEMS,
            silhouettes.MAX_SILHOUETTES,
            clusters.MAX_GROUPS,
            drawn.MAX_TREE_NODES,
            drawn.MAX_DRAWN_NODES,
        ),
        *(posterior.MAX_TOGETHER, rows.MAX_NODES, parameters.MAX_COMPONENTS, parameters.MAX_LABELS),
        *(parameters.MAX_SLOTS, columns.MAX_NAME_BYTES),
    ]
    found = [int(number.replace(",", "")) for number in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.]*\d| MB)", told)]
    assert [n for n in limits if n not in found] == []
