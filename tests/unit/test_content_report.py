"""Content in summaries and pages: distributions by group, lifts, average nodes, and warnings, against plain numpy."""

import json

import numpy as np
import pytest

from arbora import Column, Forest, HiddenTreeMixture
from arbora.errors import ContentWarning
from arbora.evaluate.content import Spread, Words, as_facts, columns_by_group
from arbora.report.gather import gather
from arbora.report.page import render

GROUP = np.array([0, 1, 1, 0, 1, 0])


@pytest.fixture(scope="module")
def trees():
    """Six trees of two groups; the first holds numbers near 1, red nodes and the word a."""
    rng = np.random.default_rng(0)
    forest = Forest.from_nested([("x", ["y", ("x", ["y"])])] * 6)
    group = np.repeat(GROUP, forest.sizes)
    length = rng.normal(np.where(group == 0, 1.0, 5.0), 0.3)
    length[[0, 5]] = np.nan
    colour = np.where(group == 0, "red", "blue").tolist()
    colour[1] = None
    words = [["a", "a", "b"] if g == 0 else ["b"] for g in group]
    words[2] = None
    return forest.with_content(
        {"length": length, "colour": colour, "words": words, "n": Column.counts(rng.poisson(2, len(group))),
         "ok": (group == 0)}
    )  # fmt: skip


def test_summaries_by_group_are_those_of_numpy(trees):
    found = {one.name: one for one in columns_by_group(trees, GROUP)}
    assert list(found) == ["length", "colour", "words", "n", "ok"]
    node = np.repeat(GROUP, trees.sizes)
    x = trees.content["length"].values
    for g, spread in enumerate(found["length"].groups):
        here = x[node == g]
        known = here[~np.isnan(here)]
        assert isinstance(spread, Spread)
        assert spread.known == len(known)
        assert spread.missing == pytest.approx(np.isnan(here).mean())
        assert spread.mean == pytest.approx(known.mean())
        assert spread.deviation == pytest.approx(known.std())
        np.testing.assert_allclose(spread.quantiles, np.quantile(known, [0.05, 0.25, 0.5, 0.75, 0.95]))
    first, second = found["words"].groups
    assert isinstance(first, Words)
    assert (first.words[0].word, first.words[0].share) == ("a", pytest.approx(2 / 3))
    total = 3 * first.known + second.known
    assert first.words[0].lift == pytest.approx((2 / 3) / (2 * first.known / total))
    assert [w.word for w in second.words] == ["b"]
    assert found["colour"].groups[0].missing + found["colour"].groups[1].missing == pytest.approx(1 / 12)
    assert [group.mean for group in found["ok"].groups] == [1.0, 0.0]


def test_huge_and_missing_numbers_make_finite_facts(trees):
    none = Column.numbers([None] * trees.n_nodes)
    huge = trees.with_content({"huge": np.full(trees.n_nodes, 1e300), "none": none})
    facts = as_facts(columns_by_group(huge, GROUP), [0, 1])
    json.dumps(facts, allow_nan=False)
    assert facts["huge"]["by_cluster"]["0"]["mean"] == pytest.approx(1e300)
    assert facts["huge"]["by_cluster"]["0"]["deviation"] == 0.0
    assert facts["none"]["by_cluster"]["1"]["q50"] is None
    assert facts["none"]["by_cluster"]["1"]["missing"] == 1.0


@pytest.mark.compiled
def test_pages_show_numbers_as_numbers_and_warn(trees):
    forest = Forest.concat([trees] * 4)
    spiked = forest.content["length"].values.copy()
    spiked[:30] = 0.0
    forest = forest.with_content({**forest.content, "length": spiked})
    content = {"length": "gaussian", "colour": "categorical", "n": "poisson", "ok": "flag", "words": "bag"}
    with pytest.warns(ContentWarning, match="column 'length': one value, 0"):
        model = HiddenTreeMixture(2, 2, random_state=0, content=content).fit(forest)
    page = gather(model, forest)
    assert any(line.startswith("column 'length': one value, 0, makes up") for line in page["warned"])
    shown = {one["name"]: one for one in page["content"]["columns"]}
    group = columns_by_group(forest, model.labels_)[0].groups[0]
    assert shown["length"]["rows"][0][2] == pytest.approx(group.mean, rel=1e-3)
    scores = model.column_scores(forest)
    assert [row[0] for row in page["content"]["scores"]] == list(scores)
    assert sum(row[3] for row in page["content"]["scores"]) == pytest.approx(1.0, abs=0.01)
    component = page["parameters"]["components"][0]
    assert component["columns"] == ["label", *content]
    mean = model.content_params_["length"]["mean"][0]
    assert [float(row[1].split()[0]) for row in component["average"]] == pytest.approx(mean, rel=1e-3)
    assert all("%" in row[2] and "on average" in row[3] and "true" in row[4] for row in component["average"])
    assert "contentPanel" in render(page)
    assert gather(HiddenTreeMixture(2, 2, random_state=0).fit(bare(forest)), bare(forest))["content"] == {}


def bare(forest):
    """The same trees with labels alone."""
    return forest.with_content({})
