"""Names of groups: what they say, that no two are the same, and that the same data give the same names."""

import numpy as np
import pytest

from arbora import Forest
from arbora.datasets import make_documents
from arbora.errors import SettingError
from arbora.evaluate.summary import summarise
from arbora.evaluate.wording import rule_text
from arbora.models.patterns import name_groups
from arbora.models.patterns.phrases import numbered

pytestmark = pytest.mark.compiled


def test_coverage_and_skeleton_are_those_of_the_trees() -> None:
    trees = [("a", ["b", "c"])] * 9 + [("a", ["b"])] + [("d", [("e", ["f"])])] * 2
    first, second = name_groups(trees, [0] * 10 + [1] * 2)
    assert set(first.name.split(", ")) == {"a", "b", "c"}
    assert first.patterns[0].text == "a(..., b, c, ...)"
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


def named(*groups: list[object]) -> list[str]:
    """Names of groups of trees."""
    return [
        one.name
        for one in name_groups(
            [tree for group in groups for tree in group], np.repeat(np.arange(len(groups)), [len(g) for g in groups])
        )
    ]


def test_names_say_where_things_are_if_labels_do_not_tell() -> None:
    one, two = ("r", [("p", ["a"]), "q"]), ("r", ["p", ("q", ["a"])])
    assert named([one] * 4, [two] * 4) == ["a in p", "a in q"]
    assert named([("r", ["a", "b"])] * 4, [("r", ["b", "a"])] * 4) == ["r with only a and b", "r with only b and a"]
    assert named([("r", [("p", ["a", "b"])])] * 4, [("r", [("p", ["a"])])] * 4) == ["b", "p with only a"]


def test_names_list_three_children_as_one_says_them() -> None:
    short, full = ("r", ["a", "b"]), ("r", ["b", "a", "c"])
    other = ("r", ["c", "b", "a"])
    assert "r with only c, b and a" in named([full] * 4, [other] * 4, [short] * 4)


def test_names_tell_of_what_is_missing_and_of_sizes() -> None:
    full, bare = ("r", ["a", "b", "c"]), ("r", ["a", "b"])
    assert named([full] * 4, [bare] * 4) == ["c", "r with only a and b"]
    leaves = [[("r", ["a"] * n)] * 4 for n in (4, 9, 10)]
    assert named(*leaves) == ["small, about 5 nodes", "mixed, about 10 nodes", "mixed, about 11 nodes"]


def test_keys_of_json_are_words() -> None:
    def document(key: str, value: object) -> tuple[str, list[object]]:
        return ("{}", [(key, [value]), ("id", ["#number"])])

    names = named(
        [document("tags", ("[]", ["#string"]))] * 3, [document("name", "#string")] * 3, [document("tags", "#null")] * 3
    )
    assert names[1] == "name"
    assert names[0] == "tags: list"
    assert names[2] == "tags: null"
    assert not any(mark in name for name in names for mark in ("{}", "[]", "#", "^", "$"))


def test_rules_and_skeletons_of_json_are_json() -> None:
    document = ("{}", [("tags", [("[]", ["#string", "#string"])]), ("name", ["#string"]), ("on", ["#boolean"])])
    other = ("{}", [("id", ["#number"])])
    first, second = name_groups([document] * 4 + [other] * 4, [0] * 4 + [1] * 4)
    assert first.skeleton_text == "{tags: [string, string], name: string, on: boolean}"
    assert first.patterns[0].text == "{tags: [...], name: string, on: boolean}"
    assert second.skeleton_text == "{id: number}"


def test_groups_of_one_name_are_told_apart() -> None:
    one = [("r", ["a", "b"])] * 4 + [("r", ["a", "c"])] * 4
    two = [("r", ["a", "b"])] * 5 + [("r", ["a", "c"])] * 3
    rest = [("s", ["x"])] * 8
    names = named(one, two, rest)
    assert set(names[2].split(", ")) == {"s", "x"}
    assert len(set(names)) == 3
    assert all(name.startswith("a") for name in names[:2])


def test_a_name_that_comes_again_is_numbered() -> None:
    assert numbered(["a", "a", "a (2)"]) == ["a", "a (3)", "a (2)"]
    assert numbered(["(no trees)"] * 2) == ["(no trees)", "(no trees) (2)"]


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
