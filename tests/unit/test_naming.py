"""Names of groups: what they say, that no two are the same, and that the same data give the same names."""

import numpy as np
import pytest

from arbora import Forest
from arbora.datasets import make_documents
from arbora.errors import SettingError
from arbora.evaluate.summary import summarise
from arbora.evaluate.wording import rule_text
from arbora.models.patterns import name_groups
from arbora.models.patterns.naming import PatternLift, _names

pytestmark = pytest.mark.compiled


def test_coverage_and_skeleton_are_those_of_the_trees() -> None:
    trees = [("a", ["b", "c"])] * 9 + [("a", ["b"])] + [("d", [("e", ["f"])])] * 2
    first, second = name_groups(trees, [0] * 10 + [1] * 2)
    assert first.name == first.patterns[0].text == "a: b c"
    assert first.patterns[0].coverage == 0.9
    assert first.patterns[0].lift > 1
    assert first.skeleton_text == "a(b, c)"
    assert second.skeleton == {"label": "d", "children": [{"label": "e", "children": [{"label": "f"}]}]}
    assert second.skeleton_text == "d(e(f))"


def test_a_skeleton_begins_with_what_roots_have() -> None:
    user = ("{}", ["login", "id"])  # more frequent than the root, with its label
    trees = [("{}", ["action", ("sender", [user]), ("owner", [user])])] * 6
    (one,) = name_groups(trees, [0] * 6)
    assert one.skeleton_text == '"{}"(action, sender("{}"), owner("{}"))'
    several = [("{}", ["action", ("sender", [user]), f"extra{i}"]) for i in range(6)]
    (one,) = name_groups(several, [0] * 6)
    assert one.skeleton_text == '"{}"(action, sender("{}"))'


def test_the_same_data_and_labels_give_the_same_names() -> None:
    trees = make_documents(20, random_state=1)
    labels = np.arange(trees.n_trees) % 7
    assert name_groups(trees, labels) == name_groups(trees, labels)


@pytest.mark.parametrize("n_groups", [2, 9])
def test_no_two_groups_share_a_name(n_groups: int) -> None:
    same = Forest.from_nested([("a", ["b"])] * 3 * n_groups)
    names = [group.name for group in name_groups(same, np.arange(3 * n_groups) % n_groups)]
    assert len(set(names)) == n_groups
    nothing = [group.name for group in name_groups(["a", "b"], [0, 4])]
    assert len(set(nothing)) == 5


def test_names_add_patterns_and_only_then_numbers() -> None:
    def of(*texts: str) -> list[PatternLift]:
        return [PatternLift(text, 2.0, 1.0) for text in texts]

    assert _names([of("a", "b"), of("a", "c"), of("d", "b")]) == ["a + b", "a + c", "d"]
    assert _names([of("a", "b", "x"), of("a", "b", "y")]) == ["a + b + x", "a + b + y"]
    assert _names([of("a"), of("a"), of("a (2)")]) == ["a", "a (3)", "a (2)"]
    assert _names([[], []]) == ["(nothing in common)", "(nothing in common) (2)"]


def test_labels_must_fit() -> None:
    with pytest.raises(SettingError, match="wanted the group of each of 2 trees"):
        name_groups(["a", "b"], [0])


def test_a_summary_takes_names_over() -> None:
    trees, labels = [("a", ["b", "c"])] * 3 + ["d"], [0, 0, 0, 2]
    named = name_groups(trees, labels)
    plain = summarise(trees, labels).clusters
    assert [(c.name, c.rules, c.skeleton) for c in plain] == [(None, (), None)] * 2
    found = summarise(trees, labels, named=named)
    assert [c.name for c in found.clusters] == [named[0].name, named[2].name]
    assert found.clusters[0].skeleton == "a(b, c)"
    assert rule_text(found.clusters[0].rules[0]).endswith("(in 100%)")
    assert found.as_dict()["clusters"][0]["rules"][0]["coverage"] == 1.0
