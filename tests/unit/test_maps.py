"""Maps of a page: near trees stay near, the same rows give the same places, and every map says what it shows."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.errors import SettingError
from arbora.evaluate.neighbour_map import neighbour_map
from arbora.evaluate.projection import discriminant_plane
from arbora.models.patterns import name_groups
from arbora.report import gather
from tests.pages import page_data

INEX = Path(__file__).parents[3] / "shared" / "data" / "inex2005" / "inex05.train.elastic.tree"


def purity(page: dict, kind: np.ndarray, k: int = 15) -> float:
    """Share of the k nearest marks on the map that are of the same kind."""
    place = np.column_stack([page["map"]["x"], page["map"]["y"]]).astype(float)
    found = []
    for i in range(len(place)):
        away = np.abs(place - place[i]).max(axis=1) + np.linalg.norm(place - place[i], axis=1)
        away[i] = np.inf
        found.append(kind[np.argpartition(away, k)[:k]] == kind[i])
    return float(np.mean(found))


@pytest.fixture(scope="module")
def demo():
    forest = ab.datasets.load_demo()
    return forest, ab.PatternMixture(n_chains=1, random_state=0).fit(forest)


def test_the_map_of_the_demo_parts_its_kinds(demo):
    forest, model = demo
    page = gather(model, forest)
    assert page["map"]["name"] == "neighbours"
    assert "does not look at the clusters" in page["map"]["about"]
    assert purity(page, forest.target) >= 0.9
    shuffled = {"map": {axis: np.random.default_rng(0).permutation(page["map"][axis]) for axis in "xy"}}
    assert purity(shuffled, forest.target) < 0.5
    assert [other["name"] for other in page["map"]["others"]] == ["what parts the clusters", "principal components"]
    assert "no evidence" in page["map"]["others"][0]["about"]
    again = gather(model, forest)
    assert again["map"]["x"] == page["map"]["x"]


@pytest.mark.slow
@pytest.mark.skipif(not INEX.exists(), reason="INEX 2005 is not there")
def test_the_map_of_inex_parts_its_classes():
    forest = ab.read(INEX, "elastic")
    model = ab.PatternMixture(n_chains=1, random_state=0).fit(forest)
    assert purity(gather(model, forest), forest.target) >= 0.75


def test_equal_rows_have_one_place_and_the_seed_decides():
    rows = np.repeat(np.random.default_rng(0).normal(size=(40, 5)), 2, axis=0)
    place = neighbour_map(rows, rows[:, :2], seed=3)
    assert np.array_equal(place[::2], place[1::2])
    assert np.array_equal(place, neighbour_map(rows, rows[:, :2], seed=3))
    assert not np.array_equal(place, neighbour_map(rows, rows[:, :2], seed=4))
    assert np.isfinite(place).all()


@pytest.mark.parametrize("n", [1, 3, 4, 5, 17])
def test_few_rows_have_places(n):
    rows = np.random.default_rng(n).normal(size=(n, 3))
    assert np.isfinite(neighbour_map(rows, rows[:, :2])).all()


def test_discriminant_directions_part_what_principal_ones_do_not():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 30)
    rows = np.column_stack([rng.normal(0, 9, (90, 2)), np.eye(3)[label] + rng.normal(0, 0.05, (90, 3))])
    place = discriminant_plane(rows, label)
    middle = np.stack([place[label == g].mean(axis=0) for g in range(3)])
    near = np.linalg.norm(place[:, None] - middle, axis=2).argmin(axis=1)
    assert (near == label).all()
    assert discriminant_plane(rows, label % 2) is None
    assert discriminant_plane(np.zeros((9, 2)), label[::10]) is None


def test_names_do_not_depend_on_numbers():
    forest = ab.datasets.load_demo()
    label = np.unique(forest.target, return_inverse=True)[1]
    turned = label.max() - label
    assert [one.name for one in name_groups(forest, label)] == [one.name for one in name_groups(forest, turned)][::-1]


def test_names_can_be_given(demo, tmp_path):
    forest, model = demo
    page = gather(model, forest)
    assert page["group_names"][0].startswith("0 \u00b7 ")
    model.report(forest, tmp_path / "r.html", group_names={0: "letters <b>"})
    assert page_data((tmp_path / "r.html").read_text())["group_names"][0] == "0 \u00b7 letters <b>"
    with pytest.raises(SettingError, match="there is no cluster 77"):
        model.report(forest, tmp_path / "r.html", group_names={77: "none"})
    model.save(tmp_path / "m.arbora")
    forest.save(tmp_path / "t.forest")
    command = ["report", "m.arbora", "t.forest", "-o", "n.html", "--names", "n.csv", "-q"]
    for text, said in (
        ("cluster,name\n1,invoices\n", None),
        ("number,name\n1,invoices\n", "n.csv, line 1: wanted a table with the columns cluster and name"),
        ("cluster,name\n--5,a\n", "n.csv, line 2: cluster '--5'; wanted a whole number"),
        ("cluster,name\n\u0661,a\n", "n.csv, line 2: cluster '\u0661'; wanted a whole number"),
        ("cluster,name\n0,a,b\n", "n.csv, line 2: 3 cells; wanted 2"),
        ('cluster,name\n0,"a\n1,"b"\n', "n.csv, line 2: not a row"),
        ("cluster,name\nx,invoices\n", "n.csv, line 2: cluster 'x'; wanted a whole number"),
        ("cluster,name\n1,a\n1,b\n", "n.csv, line 3: cluster 1 has a name already"),
        ("cluster,name\n", "n.csv: no names"),
        ("cluster,name\n50,a\n", "there is no cluster 50"),
    ):
        (tmp_path / "n.csv").write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            done = CliRunner().invoke(app, command)
        assert done.exit_code == (0 if said is None else 1), done.output
        assert said is None or said in done.stderr
    assert page_data((tmp_path / "n.html").read_text())["group_names"][1] == "1 \u00b7 invoices"


def test_trees_that_are_not_sure_list_their_groups():
    forest = ab.datasets.make_documents(8, random_state=0)
    model = ab.HiddenTreeMixture(3, 2, max_iter=1, tol=0, init="random", random_state=0).fit(forest)
    proba = model.predict_proba(forest)
    likely = gather(model, forest)["items"]["likely"]
    assert {int(i) for i in likely} == set(np.flatnonzero(proba.max(axis=1) < 0.995).tolist())
    assert likely
    for i, rows in likely.items():
        best = proba[int(i)].argmax()
        assert rows[0][0].startswith(f"{best} ")
        assert rows[0][1] == pytest.approx(proba[int(i)].max(), rel=0.01)
