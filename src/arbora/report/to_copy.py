"""What a card offers to copy: skeleton, paths and JSON Schema of its group, with their coverage in words."""

import json
from typing import Any

from ..artefacts import ClusterArtefacts, describe_clusters
from .grouped import Grouped

MOST_TREES = 1_000  # looked at
MOST_GROUPS = 60
MOST_LETTERS = 8_000  # of one artefact
MOST_OF_ALL = 250_000  # of all artefacts of a page


def gather_to_copy(grouped: Grouped, groups: list[dict[str, Any]], numbers: list[int]) -> None:
    """Put artefacts into the cards of groups; what is too long for a page is left out, and the card says so."""
    if len(numbers) > MOST_GROUPS or not groups:
        return
    found = {one.cluster: one for one in describe_clusters(grouped.forest, grouped.label, most_trees=MOST_TREES)}
    room = MOST_OF_ALL
    for group in groups:
        one = found.get(numbers[group["index"]])
        if one is not None:
            group["copy"] = _blocks(one, room)
            room -= sum(len(block["text"] or "") for block in group["copy"])


def _blocks(one: ClusterArtefacts, room: int) -> list[dict[str, Any]]:
    texts = {"skeleton": one.skeleton_text(), "paths": one.paths.expression}
    titles = {"skeleton": "Skeleton with probabilities", "paths": one.paths.notation, "schema": "JSON Schema"}
    if one.json_schema is not None:
        texts["schema"] = json.dumps(one.json_schema, indent=1, ensure_ascii=False)
    blocks = []
    for what, text in texts.items():
        fits = len(text) <= min(MOST_LETTERS, room)
        room -= len(text) if fits else 0
        about = one.coverage_text(what)
        blocks.append({"title": titles[what], "about": about[0].upper() + about[1:], "text": text if fits else None})
    return blocks
