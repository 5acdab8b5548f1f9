"""The verdict on a fit: planted good, short and stuck chains, EM, files; the same words in page, terminal and JSON."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.inference.verdict import LEVELS, Run, Verdict, chains_alike, judge_chains, judge_em, worse
from arbora.report import gather, render

RNG = np.random.default_rng(0)


def moving(n_draws: int, n_data: int = 12) -> np.ndarray:
    """Chains that draw, each time anew, which half of the data is apart and how the rest is divided."""
    labels = np.zeros((4, n_draws, n_data), np.int64)
    labels[..., : n_data // 2] = 1
    labels[..., 0] = RNG.integers(0, 3, (4, n_draws))
    return labels


def joint(labels: np.ndarray) -> np.ndarray:
    return RNG.normal(size=labels.shape[:2])


def test_good_chains_are_sound():
    labels = moving(300)
    found = judge_chains(labels, joint(labels), Run(600), n_groups=2)
    assert found == Verdict("sound", "the 4 chains agree", interval=(2, 3))
    assert found.sentence == "Sound: the 4 chains agree."


def test_short_chains_are_to_be_looked_at_again():
    labels = moving(20)
    labels[..., 0] = [(np.arange(20) // 2 + chain) % 3 for chain in range(4)]
    found = judge_chains(labels, np.random.default_rng(0).normal(size=(4, 20)), Run(40))
    assert found.level == "look again"
    assert "effective draws" in found.reason
    assert found.settings["n_iter"] == 80
    assert found.what_to_do == "fit again with n_iter=80"
    few = judge_chains(moving(2), np.zeros((4, 2)), Run(10))
    assert few.level == "do not trust"
    assert "2 draws" in few.reason


def test_stuck_chains_are_not_to_be_trusted():
    labels = moving(100)
    labels[1] = labels[1][:, ::-1].copy()
    labels[1, :, ::2] = 5
    found = judge_chains(labels, joint(labels), Run(200))
    assert found.level == "do not trust"
    assert "chain 1 disagrees" in found.reason
    assert found.typed({"n_iter": "--sweeps"}).what_to_do == "run again with --sweeps 800"


def test_chains_that_differ_in_details_are_to_be_looked_at_again():
    labels = np.repeat(np.arange(4), 50)[None, None].repeat(4, 0).repeat(60, 1)
    labels[0, :, 0] = 9  # one chain has a group more, of one datum
    found = judge_chains(labels, joint(labels[..., :1]), Run(100))
    assert found.level == "look again"
    assert "much alike" in found.reason
    assert chains_alike(labels) > 0.98


def test_chains_that_never_moved_are_to_be_looked_at_again():
    labels = np.tile(np.arange(6) % 2, (4, 20, 1))
    found = judge_chains(labels, np.ones((4, 20)), Run(40))
    assert found.level == "look again"
    assert found.reason.startswith("no chain moved")


def test_an_estimate_outside_its_posterior_says_so():
    labels = moving(300)
    found = judge_chains(labels, joint(labels), Run(600), n_groups=5)
    assert found.level == "look again"
    assert found.reason == "the partition shown has 5 groups, outside the 95% interval of its own posterior, 2 to 3"
    assert found.what_to_do == "report the interval, 2 to 3, and not the number 5"


def test_one_chain_an_interrupted_run_and_one_datum():
    labels = moving(50)
    assert judge_chains(labels[:1], np.zeros((1, 50)), Run(9)).settings == {"n_chains": 4}
    stopped = judge_chains(moving(300), joint(moving(300)), Run(600, interrupted=True))
    assert (stopped.level, stopped.reason) == ("look again", "the fit was interrupted")
    assert judge_chains(labels[..., :1], np.zeros((4, 50)), Run(9)).level == "do not trust"


@pytest.mark.parametrize(("n", "level"), [(1, "do not trust"), (2, "look again"), (3, "look again")])
@pytest.mark.parametrize("model", [ab.PatternMixture(random_state=0), ab.HiddenTreeMixture(1), ab.TreeUnionMixture()])
def test_few_trees_are_never_sound(model, n, level):
    forest = ab.Forest.from_nested([{"label": "a", "children": [{"label": "b"}]}] * n)
    found = model.fit(forest).verdict()
    assert found.level == level
    assert ("one tree" if n == 1 else f"only {n} trees") in found.reason


def test_em():
    assert judge_em(True, 12).level == "sound"
    slow = judge_em(False, 12)
    assert slow.level == "look again"
    assert slow.settings == {"max_iter": 48}
    assert judge_em(True, 1, interrupted=True).reason == "the fit was interrupted after 1 iteration"


def test_two_verdicts_are_one():
    bad, fine, doubt = Verdict("do not trust", "a", "x"), Verdict("sound", "b"), Verdict("look again", "c", "y")
    assert worse(fine, bad) == bad
    assert worse(doubt, bad) == Verdict("do not trust", "a; c", "x")


@pytest.mark.parametrize("name", ["NHCM", "DPGaussianMixture", "BHMC", "RBHMC"])
def test_models_of_rows_have_a_verdict(name, tmp_path):
    rows = np.concatenate([RNG.normal(size=(8, 2)), RNG.normal(size=(8, 2)) + 9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(ab, name)(n_iter=12, n_chains=2, random_state=0).fit(rows)
    found = model.verdict()
    assert found.level in LEVELS
    assert found.interval == model.n_groups_posterior().interval
    page = gather(model, rows)
    assert page["verdict"]["sentence"] == found.sentence
    assert f"95% of draws {found.interval[0]}" in " ".join(str(tile[1]) for tile in page["tiles"])
    model.save(tmp_path / "m.arbora")
    assert ab.load(tmp_path / "m.arbora").verdict().reason.startswith("a model file holds no chains")


def test_page_terminal_and_json_say_the_same(tmp_path):
    trees = ab.datasets.make_documents(6, random_state=0)
    ab.write_jsonl(trees, tmp_path / "t.jsonl")
    command = ["cluster", str(tmp_path / "t.jsonl"), "--model", "patterns", "--chains", "1"]
    page = tmp_path / "r.html"
    done = CliRunner().invoke(app, [*command, "--report", str(page)])
    said = CliRunner().invoke(app, [*command, "--json", "--quiet"])
    verdict = json.loads(said.stdout)["verdict"]
    assert verdict == {
        "level": "look again",
        "reason": "one chain cannot show that it is stuck",
        "what_to_do": "run again with --chains 4",
    }
    first = done.stdout.splitlines()[0]
    assert first == "Look again: one chain cannot show that it is stuck. Run again with --chains 4."
    assert "arbora: warning: Look again" in said.stderr
    shown = page.read_text()
    assert '<p class="banner maybe" id="verdict" role="status"><strong>Look again</strong>' in shown
    assert "Run again with --chains 4." in shown


@pytest.mark.parametrize(("level", "kind"), [("sound", "yes"), ("look again", "maybe"), ("do not trust", "no")])
def test_every_level_has_its_banner(level, kind):
    model = ab.TreeEditClustering(2, method="average").fit(ab.datasets.make_documents(2, random_state=0))
    page = gather(model, ab.datasets.make_documents(2, random_state=0))
    assert page["verdict"]["level"] == "look again"
    page["verdict"] = {"level": level, "reason": "<b>", "what_to_do": ""}
    assert f'<p class="banner {kind}" id="verdict" role="status">' in render(page)
    assert "&lt;b&gt;." in render(page)


def test_a_demo_page_has_the_interval_in_a_tile(tmp_path: Path):
    forest = ab.datasets.make_documents(6, random_state=0)
    model = ab.PatternMixture(n_iter=12, random_state=0).fit(forest)
    low, high = model.verdict().interval
    tiles = {what: value for value, what in gather(model, forest)["tiles"]}
    assert tiles["groups in 95% of draws"] == (f"{low} to {high}" if low < high else str(low))
