"""What is said while a fit goes on: iterations, and how long the rest may take at most."""

import logging

import pytest

from arbora.cli import hierarchy, option_checks, sampled
from arbora.cli import terminal as tell
from arbora.inference.verdict import Verdict
from arbora.progress import in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (42.4, "42 s"), (89.0, "89 s"), (90.0, "2 min"), (5300.0, "88 min"), (5400.0, "2 h")],
)
def test_times_in_words(seconds, words):
    assert in_words(seconds) == words


def test_time_left_is_that_of_the_iterations_so_far(monkeypatch):
    clock = iter([100.0, 102.0, 106.0, 200.0, 201.0])
    monkeypatch.setattr(tell.time, "monotonic", lambda: next(clock))
    pace = tell.Pace()
    assert pace.left(1, 21) == ""  # the first also compiles, and tells nothing
    assert pace.left(2, 21) == ", at most 38 s left of this start"
    assert pace.left(3, 21) == ", at most 54 s left of this start"
    assert pace.left(1, 21) == ""  # another start
    assert pace.left(2, 21) == ", at most 19 s left of this start"


def test_iterations_of_a_fit_move_the_progress_on(monkeypatch):
    from arbora import HiddenTree
    from arbora.datasets import make_documents

    shown: list[str] = []
    teller = tell.Teller()
    teller.status, teller.doing = type("Status", (), {"update": lambda _, text: shown.append(text)})(), "fitting"
    logger = logging.getLogger("arbora")
    level = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    try:
        HiddenTree(2, max_iter=3, tol=0.0, random_state=0).fit(make_documents(2, random_state=0))
    finally:
        logger.removeHandler(teller)
        logger.setLevel(level)
    assert len(shown) == 3
    assert shown[0].startswith("fitting: iteration 1 of at most 3, objective -")
    assert shown[2].startswith("fitting: iteration 3 of at most 3, at most 1 s left of this start, objective -")


def test_a_tree_is_printed_in_one_line(capsys):
    newick = "(" + ",".join(f"'a rather long name {n}'" for n in range(40)) + ");"
    found = {"n_rows": 40, "columns": ["x"], "model": "nhcm", "levels": [], "newick": newick, "n_missing_cells": 0}
    hierarchy._show(found, Verdict("sound", "all is well"))
    assert capsys.readouterr().out.splitlines()[-1] == newick


def test_a_page_says_what_was_typed_without_folders_of_the_machine(monkeypatch):
    typed = ["cluster", "/home/me/data/corpus/", "other/docs", "--report=/home/me/r.html", "-o", "/home/me/t b.csv"]
    monkeypatch.setattr(option_checks.sys, "argv", ["arbora", *typed])
    shown = option_checks.command_line()
    assert shown == "arbora cluster .../corpus other/docs --report=.../r.html -o '.../t b.csv'"


@pytest.mark.parametrize(
    ("found", "low", "high", "words"),
    [
        (3, 2, 4, "2 to 4 groups."),
        (1, 1, 1, "1 group."),
        (6, 8, 8, "8 groups, more than the 6 shown, which are a point estimate."),
        (1, 2, 3, "2 to 3 groups, more than the 1 shown, which is a point estimate."),
        (5, 2, 3, "2 to 3 groups, fewer than the 5 shown, which are a point estimate."),
    ],
)
def test_a_number_outside_the_interval_is_said_to_be_a_point_estimate(found, low, high, words):
    assert sampled._number_told(found, low, high) == f"95 % of the sampled partitions have {words}"
