"""The page that lays other methods beside ours counts what the corpora tables say."""

import sys

import pytest

from benchmarks.corpora import __main__ as command
from benchmarks.corpora import versus


def test_corpora_are_counted_where_both_were_run():
    task = "Number of classes given"
    one = versus.count([0.5, 0.5, 0.5, None], [0.53, 0.52, 0.4, 0.9], task)
    assert versus.beside([one]) == "1 / 1 of 3"
    assert versus.count([10.0, 10.0], [9.0, 10.6], "Classification") == (1, 1, 2)  # errors: less is better
    none = versus.count([0.5], [None], task)
    assert versus.beside([none]) == "-"
    assert versus.beside([one, none, one]) == "2 / 2 of 6"


def test_tables_are_read_by_corpus():
    tables = versus.read_tables(versus.README.read_text(encoding="utf-8"))
    assert len(tables) >= 3 * len(versus.TASKS)
    for (where, task), methods in tables.items():
        assert versus.TASKS[task][0] in methods, (where, task)
        assert len({len(figures) for figures in methods.values()}) == 1
        assert len(methods) >= 3


def test_the_page_is_that_of_the_tables():
    again = "python -m benchmarks.corpora.versus writes it anew; read docs/arbora-or.md beside it"
    assert versus.PAGE.read_text(encoding="utf-8") == versus.page(versus.README.read_text(encoding="utf-8")), again


def test_the_sentences_about_all_corpora_are_those_of_the_table():
    """Counts of better and worse that docs/arbora-or.md gives in words stand in the last column of the table."""
    said = {
        "error on 28 of 35 corpora": ("linear SVM, log counts of subtrees", "2 / 28 of 35"),
        "on 3 of 35 corpora (circuit boards": ("Louvain communities, tf-idf of pairs", "3 / 23 of 35"),
        "better on 4 of the 21 held-out ones": ("Louvain communities, root paths", "4 / 12 of 21"),
        "worse than `PatternMixture` on 34 of 35 corpora": ("HDBSCAN, root paths", "0 / 34 of 35"),
        "is worse than `PatternMixture` on six of them": ("average linkage, edit distances", "0 / 6 of 7"),
        "worse on 25 of the 29 corpora": ("spectral, Weisfeiler-Lehman kernel", "1 / 25 of 29"),
        "worse on all 14 development corpora": ("spectral, ODD kernel", "0 / 14 of 14"),
        "are better on 3 of 35 corpora": ("TreeGrammarMixture", "3 / 7 of 35"),
    }
    page = " ".join((versus.PAGE.parents[1] / "arbora-or.md").read_text(encoding="utf-8").split())
    table = versus.PAGE.read_text(encoding="utf-8").splitlines()
    for words, (method, counts) in said.items():
        assert words in page, words
        row = next(line for line in table if line.startswith(f"| {method} |"))
        assert row.endswith(f"| {counts} |"), words


@pytest.mark.parametrize(("what", "steps"), [("make", ["make"]), ("table", ["table"]), ("all", ["make", "table"])])
def test_one_command_makes_the_corpora_and_the_table(monkeypatch, tmp_path, what, steps):
    done = []
    for step in ("make", "table"):
        monkeypatch.setattr(command, f"_{step}", lambda options, step=step: done.append((step, options.folder)))
    monkeypatch.setattr(sys, "argv", ["corpora", what, str(tmp_path / "new")])
    command.main()
    assert done == [(step, tmp_path / "new") for step in steps]
