"""The page that lays other methods beside ours counts what the corpora tables say."""

from benchmarks.corpora import versus


def test_corpora_are_counted_where_both_were_run():
    task = "Number of classes given"
    assert versus.beside([0.5, 0.5, 0.5, None], [0.53, 0.52, 0.4, 0.9], task) == "1 / 1 of 3"
    assert versus.beside([10.0, 10.0], [9.0, 10.6], "Classification") == "1 / 1 of 2"  # errors: less is better
    assert versus.beside([0.5], [None], task) == "-"


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
