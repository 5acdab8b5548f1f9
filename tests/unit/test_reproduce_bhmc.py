"""The experiments of Huang et al. 2021: figures of a run, tables and pictures."""

import json

import numpy as np
import pytest

from arbora.datasets.published import LabelledRows
from arbora.errors import DataNotFoundError
from arbora.evaluate.hierarchy_metrics import level_f_measure, separation
from papers import bhmc as experiment
from papers import bhmc_f
from papers import bhmc_pictures as pictures
from papers.codec import decode, encode
from papers.judges import judge
from papers.table import Table

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    X = np.repeat(4.0 * rng.standard_normal((3, 4)), 5, axis=0) + rng.standard_normal((15, 4))
    data = LabelledRows(X, np.repeat(["a", "b", "c"], 5), np.array([f"row {n}" for n in range(15)]))
    return experiment.Study(data, 2, 3, 3, (0.4, 1.0, 0.85), 0.1, (0.1, 10.0), (0.1,), 40)


def test_figures_of_a_run_are_those_of_its_draws(study):
    run = experiment._run(study, {"regularization": 0.1, "margin": 1.0}, 2, 40)
    levels = run.trace.stack("levels")
    assert run.rows.shape == (15, 3)
    np.testing.assert_allclose(run.distance[0, 0], np.mean([separation(run.rows, draw).inner for draw in levels[0]]))
    np.testing.assert_allclose(run.f[1], np.mean([level_f_measure(study.data.y, draw) for draw in levels[1]], axis=0))
    joint = run.trace.info["log_joint"][0, run.trace.draw_sweep]
    best = levels[0, joint.argmax()]
    np.testing.assert_allclose(run.best_f[0], level_f_measure(study.data.y, best))
    assert run.together.shape == (2, 2, 15, 15)
    gain = experiment._improvement(run, run)
    np.testing.assert_allclose(gain, 0.0, atol=1e-9)
    assert len(experiment._cells(run, run)) == len(experiment.HEADER) - 1
    assert len(experiment._ward_row(study, run.rows)) == len(experiment.HEADER)


def test_a_run_that_was_kept_is_as_good_as_new(study):
    run = experiment._sample(experiment.Chains(study, {}, 2, 20))
    again = decode(json.loads(json.dumps(encode(run))), experiment.Run)
    np.testing.assert_array_equal(again.trace.stack("levels"), run.trace.stack("levels"))
    np.testing.assert_array_equal(again.trace.draw_sweep, run.trace.draw_sweep)
    assert again.trace.seed == run.trace.seed
    assert experiment._cells(again, again) == experiment._cells(run, run)
    assert experiment._best_tree(again, study.data).to_json() == experiment._best_tree(run, study.data).to_json()


def test_pictures_are_drawn(study):
    pytest.importorskip("matplotlib")
    runs = {
        name: experiment._run(study, settings, 2, 20) for name, settings in (("one", {}), ("two", {"tree": "nested"}))
    }
    trees = {name: experiment._best_tree(run, study.data) for name, run in runs.items()}
    drawn = [
        pictures.convergence(runs),
        pictures.collapse(runs),
        pictures.grid(np.zeros((2, 3, 1, 3)), (0.1,), (0.1, 1.0, 10.0)),
        pictures.f_boxes(runs),
        pictures.heat_maps(runs, study.data.y),
        pictures.trees(trees),
    ]
    assert all(image.startswith(b"\x89PNG") for image in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["animals", "fashion", "against_ward"])
def test_quick_tables(name):
    try:
        table = getattr(experiment, name)(quick=True)
    except DataNotFoundError as error:
        pytest.skip(str(error))
    assert all(len(row) == len(table.header) for row in table.rows)
    assert len(table.rows) >= 3


def test_a_searcher_finds_what_lies_nearest_and_counts_what_he_looks_at():
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert bhmc_f.search(rows, [[0, 0, 1, 1]]) == (1.0, 4.0)  # two centroids, then two data
    assert bhmc_f.search(rows, [[0, 0, 1, 1], [0, 1, 2, 3]]) == (1.0, 5.0)  # two, two, and one datum
    found, _ = bhmc_f.search(rows, [[0, 1, 1, 1]])  # centroids 0 and 22 / 3: the second datum is nearer to the first
    assert found == 0.75
    far, looked = bhmc_f.search(np.array([[0.0], [4.0], [5.0], [30.0]]), [[0, 1, 0, 1], [0, 1, 2, 3]])
    assert far == 0.75  # the second datum is nearer to the other centroid on the first level
    assert looked == 5.0


def test_figures_9_and_16_are_judged_by_pairs():
    def row(model, saved, *f):
        return ["Animals", model, " / ".join(f"{x:.2f} (0.10 to 0.90)" for x in f), "1", "1", "1", "1", saved]

    rows = [
        row("BHMC", "0.60", 0.5, 0.6),
        row("RBHMC, own-datum rule", "0.61", 0.6, 0.61),
        row("RBHMC, paper's Algorithm 2", "0.62", 0.4, 0.7),
    ]
    table = Table("Figures", bhmc_f.HEADER, rows)
    judge("bhmc-figures9-16", table)
    verdicts = [row[2].split(":")[0] for row in table.more[0].rows]
    assert verdicts == ["matches", "differs", "differs", "differs", "matches", "matches"]


def test_a_quick_table_has_the_diffusion_tree_and_ward(study, monkeypatch):
    monkeypatch.setattr(bhmc_f, "_studies", lambda quick: {"Animals": study})
    monkeypatch.setattr(bhmc_f, "MODELS", {name: bhmc_f.MODELS[name] for name in ("BHMC, finite", "RBHMC, finite")})
    table = bhmc_f.figures9_and_16(quick=True)
    judge("bhmc-figures9-16", table)
    assert [row[1].partition(",")[0] for row in table.rows] == [
        "BHMC",
        "RBHMC",
        "Dirichlet diffusion tree",
        "Ward linkage",
    ]
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert len(table.more[0].rows) == 4
    assert all(0.0 <= float(row[-1]) < 1.0 for row in table.rows)
