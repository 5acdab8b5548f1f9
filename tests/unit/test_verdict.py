"""Verdicts on cells beside published numbers, and tables that are judged when they are shown."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from papers.judges import JUDGES, judge
from papers.judges_mixtures import _clusters, _grouped, _words_of_table2
from papers.judging import fill
from papers.runs import Run, mean_silhouette
from papers.table import Picture, Table, read_tables
from papers.verdict import compare, holds, tally, with_word


@pytest.mark.parametrize(
    ("published", "ours", "wanted", "words"),
    [
        ("0.51 (0.00)", "0.52 (0.00) / 0.98", "high", "matches"),  # a unit of the last digit
        ("0.51 (0.00)", "0.53 (0.00)", "high", "better (+0.02)"),
        ("0.51 (0.00)", "0.49 (0.02)", "high", "differs (-0.02)"),
        ("0.43 (0.08)", "0.34 (0.01)", "high", "matches"),  # the paper's deviation, and a unit
        ("0.43 (0.08)", "0.33 (0.01)", "high", "differs (-0.10)"),
        ("-0.08 (0.02)", "-0.01 (0.03)", "high", "better (+0.07)"),
        ("17.66 (1.55)", "6.92 (2.25)", "low", "better (-10.74)"),
        ("17.66 (1.55)", "20.00", "low", "differs (+2.34)"),
        ("1.60 (0.55)", "6.0 (0.0)", "same", "differs (+4.40)"),
        ("20 to 25 %", "+26.0%", "high", "matches"),
        ("20 to 25 %", "+5.0%", "high", "differs (-17.5)"),
        ("20 to 25 %", "+30.0%", "high", "better (+7.5)"),
        ("7.5 %", "-1.8%", "high", "differs (-9.3)"),
        ("0.12 (0.01)", "- / 0.000 5*", "high", "undefined"),
        ("-", "0.11 (0.02)", "high", ""),  # nothing is printed there
        ("0.03 (0.00)", "", "high", ""),
    ],
)
def test_a_cell_beside_a_published_one(published, ours, wanted, words):
    assert compare(published, ours, wanted) == words


def test_better_is_not_said_of_runs_that_collapsed():
    assert compare("0.33 (0.00)", "0.42 (0.13) / 0.54") == "better (+0.09)"
    assert compare("0.33 (0.00)", "0.42 (0.13) / 0.54 2*") == "higher (+0.09)"
    assert compare("0.33 (0.00)", "0.25 (0.21) / 0.54 2*") == "differs (-0.08)"


def test_better_is_not_said_above_the_truth():
    assert compare("0.12 (0.01)", "0.16 (0.03)", truth=0.198) == "better (+0.04)"
    assert compare("0.12 (0.01)", "0.29 (0.01)", truth=0.198) == "higher (+0.17)"
    assert compare("0.12 (0.01)", "0.20 (0.01)", truth=0.198) == "better (+0.08)"  # by rounding alone
    table = Table(
        "T", ["data", "paper", "ours", "verdict"], [["A", "0.10 (0.01)", "0.30", ""], ["B", "0.10", "0.30", ""]]
    )
    fill(table, truths={"B": 0.1})
    assert [row[3] for row in table.rows] == ["better (+0.20)", "higher (+0.20)"]
    table.remarks = ["The true classes have silhouette 0.1."]
    fill(table)
    assert [row[3] for row in table.rows] == ["higher (+0.20)"] * 2


@pytest.mark.compiled
def test_collapsed_runs_count_as_failures():
    one = Run(np.zeros(4, int), None, 0.0, 0.0, 0.0, np.array([]))
    two = Run(np.array([0, 0, 1, 1]), 0.5, 1.0, 1.0, 0.0, np.array([]))
    assert mean_silhouette([two, two]) == ("0.50 (0.00)", "")
    assert mean_silhouette([one, two]) == ("0.25 (0.25)", " 1*")
    assert mean_silhouette([one, one]) == ("0.00 (0.00)", " 2*")


def test_words_are_put_before_reasons_and_counted():
    cell = with_word("differs (-0.15)", "a type split in 5")
    assert cell == "differs (-0.15): a type split in 5"
    assert with_word("matches", cell) == "matches: a type split in 5"
    assert with_word("matches", "differs (-0.15)") == "matches"
    assert holds(False, "too few") == "differs: too few"
    assert tally(["matches: x", "differs (-0.21)", "matches", "undefined", ""]) == "matches 2, differs 1, undefined 1"


def whole():
    part = Table("Part", ["paper", "x", "verdict"], [["0.5 (0.1)", "0.9 (0.0)", "why"]], ["a remark", "another"])
    table = Table("Title", ["paper: error %", "ours", "verdict"], [["7 (1)", "4.50", ""]], more=[part])
    table.pictures["shown"] = Picture(b"png", "A caption", "x\n1\n")
    table.pictures["elsewhere"] = Picture(b"png")
    return table


def test_a_page_is_read_back():
    table = whole()
    table.verdict = "all is well"
    text = table.markdown("python -m papers x", 1.0)
    again, rest = read_tables(text)
    assert rest.startswith("![A caption](shown.png)")
    assert "elsewhere" not in text
    assert sorted(table.files()) == ["elsewhere.png", "shown.csv", "shown.png"]
    assert f"{again.body()}\n{rest}" == text
    again.pictures = table.pictures
    assert again == table
    with pytest.raises(ValueError, match="not a page that python -m papers wrote"):
        read_tables("# Something else\n")


def test_judging_again_changes_nothing():
    table = whole()
    judge("encoder-causes", table)
    assert table.rows[0][2] == "better (-2.50)"
    assert table.verdict == "error %: better 1"
    again = copy.deepcopy(table)
    judge("encoder-causes", again)
    assert again == table


def claimed(row):
    """The verdicts of Huang et al. 2021's table on one regularised run."""
    header = ["model", "improvement AID / AOD", "uncertainty by level", "F of best (R)CDLL", "nodes"]
    base = ["BHMC, finite", "-", "0.76 / 0.5", "0.50 / 0.64", "17.3"]
    weak = ["RBHMC, finite, C=0.01", *row, "30"]
    table = Table("Huang 2021: Animals", header, [base, ["RBHMC, finite, C=1", *row, "12.0"], weak])
    judge("bhmc-animals", table)
    judge("bhmc-animals", table)  # in place of what was there
    part, words = table.more
    assert words.rows[0][1:] == ["RBHMC, finite, C=1: 12.0 nodes; C=0: 17.3", "matches"]
    assert len(words.rows) == 2
    both = row[0].startswith("+")
    said = f"RBHMC, finite: {2 * both} of 2 settings"
    assert words.rows[1][1:] == [said, "matches" if both else "differs"]
    return [part.rows[0][k].partition(":")[0] for k in (3, 6, 8, 10)]


def test_improvement_in_words():
    assert claimed(["+24.0% / +10.4%", "0.60 / 0.5", "0.55 / 0.66"]) == ["matches"] * 4
    assert claimed(["-3.0% / +20.0%", "0.75 / 0.5", "0.55 / 0.59"]) == [
        "differs (-25.5)",
        "better (+10.0)",
        "differs",
        "differs",
    ]


def test_margins_of_one_strength_are_compared_in_words():
    header = ["model", "improvement AID / AOD", "uncertainty by level", "F of best (R)CDLL", "nodes"]
    rows = [
        ["BHMC, nested, proposals of the prior", "-", "0.70 / 0.5", "0.50 / 0.64", "23.0"],
        ["RBHMC, own, C=0.1, eps=0.1", "+4.0% / +5.0%", "0.53 / 0.5", "0.50 / 0.64", "21.3"],
        ["RBHMC, own, C=0.1, eps=1", "+0.9% / +5.0%", "0.10 / 0.5", "0.50 / 0.64", "1.0"],
        ["RBHMC, own, C=0.1, eps=10", "-4.0% / +16.0%", "0.52 / 0.5", "0.50 / 0.64", "18.4"],
        ["RBHMC, own, C=0.01, eps=10", "+4.0% / -5.0%", "0.53 / 0.5", "0.50 / 0.64", "99.0"],
    ]
    table = Table("Huang 2021: Animals", header, rows)
    judge("bhmc-animals", table)
    assert [row[1:] for row in table.more[1].rows[1:]] == [
        ["RBHMC, own, C=0.1, eps=0.1 and 10: 21.3 and 18.4 nodes", "matches"],
        ["RBHMC, own, C=0.1, eps=0.1 and 10: 0.53 and 0.52", "differs"],  # a unit of the last digit is no evidence
        ["RBHMC, own: 1 of 4 settings", "matches"],
    ]


@pytest.mark.parametrize(("many", "infinite", "verdicts"), [(0.2, 0.3, ["matches"] * 2), (0.1, 0.2, ["differs"] * 2)])
def test_silhouettes_of_table_2_in_words(many, infinite, verdicts):
    rows = [
        [str(c), name, "0.20 (0.01)", f"{value:.2f} (0.01) / 0.5", ""]
        for c in (2, 4)
        for name, value in (("6 components", 0.1), ("11 components", 0.2), ("22 components", many))
    ]
    rows += [["2", f"alpha {a}", "0.20 (0.01)", f"{infinite:.2f} (0.01) / 0.5", ""] for a in (1, 1.2, 1.5, 2)]
    table = Table("Table 2", ["states", "model", "paper", "authors", "verdict"], rows)
    assert [verdict for *_, verdict in _words_of_table2(table)] == verdicts


def test_bananas_in_words():
    rows = [
        ["d", "NHCM paper, 10 sweeps", "3.0 (1.4)", "7.8 (2.3)", "", "", ""],
        ["d", "NHCM exact flat, 200 sweeps", "7.0 (1.0)", "9.1 (1.1)", "", "", ""],
        ["d", "DPGMM, 10 sweeps, Gibbs only", "4.0 (1.7)", "-", "", "", ""],
        ["d", "DPGMM, 200 sweeps", "6.2 (0.4)", "-", "", "", ""],
    ]
    table = Table("Mohamad 2015", ["data", "method", "clusters", "sub-clusters", "ARI", "purity", "log joint"], rows)
    judge("nhcm-banana", table)
    assert [[row[3], row[5]] for row in table.more[0].rows] == [["matches", "matches"], ["differs", "differs"]]


def test_a_drop_is_found_where_it_is():
    def row(n, noise, *pairs):
        return [str(n), f"{noise} %", *(f"{x - 0.01 * n:.2f} / {x - 0.01 * n:.2f} ({n}.0)" for x in pairs)]

    paper = {10: 1.0, 20: 0.98, 30: 0.95, 40: 0.8, 50: 0.75}
    exact = {10: 1.0, 20: 0.98, 30: 0.85, 40: 0.8, 50: 0.75}
    rows = [row(n, noise, paper[noise], exact[noise]) for n in (2, 3, 4) for noise in paper]
    table = Table("Figure 4", ["prototypes", "noise", "the paper", "exact"], rows)
    judge("unions-figure4", table)
    assert [words.split(":")[0] for *_, words in table.more[0].rows] == ["matches"] * 4 + ["differs", "matches"]
    assert table.verdict == "what the paper says in words: matches 5, differs 1"


def test_the_best_edit_distance_is_the_rival_by_structure_alone():
    names = ["mixture of unions, the paper's search and code", "edit distance, dominant sets", "one union, spectral"]
    rows = [
        [name, *[f"0.9 / {index} / 0.5 (9), 1.0 s"] * 4] for name, index in zip(names, (0.3, 0.2, 0.9), strict=True)
    ]
    table = Table("Shock", ["method", "alone", "alone, 18", "labels", "labels, 18"], rows)
    judge("unions-shock", table)
    assert [row[2].partition(":")[0] for row in table.more[0].rows] == ["matches"]


@pytest.mark.parametrize(
    ("wanted", "found", "words"),
    [
        ("{1, 2} {3}", "{1, 2} {3}", "matches"),
        ("{1, 2} {3}", "{1, 2 (80%), 10} {3, 9}", "matches"),  # the paper is not clear about 9 and 10
        ("{1, 2}", "{1} {2}", "differs: {1, 2} do not share a cluster"),
        ("{1, 2}", "{1, 2, 7, 8 (34%)}", "differs: with {1, 2} are 7, 8"),
        ("{1} {1}", "{1 (60%)} {1 (40%)} {2}", "matches"),
        ("{1} {1}", "{1} {2}", "differs: {1} has one cluster"),
        ("{1} {1}", "{1 (60%)} {1 (40%), 2}", "differs: with {1} are 2"),
    ],
)
def test_classes_that_share_a_cluster(wanted, found, words):
    assert _grouped(_clusters(wanted), _clusters(found)) == words


def test_nhcm_must_beat_the_flat_methods_that_find_the_number():
    header = ["data", "classes", "NHCM", "NHCM, sub-clusters", "DPGMM", "HDBSCAN", "spectral, number given"]
    rows = [
        ["a", "2", *(f"{x} / 0.5 (2.0)" for x in row)] for row in ((0.6, 0.9, 0.5, 0.4, 1.0), (0.4, 0.9, 0.5, 0.3, 0.2))
    ]
    rows[1][0] = "b"
    table = Table("Shapes", header, rows)
    judge("nhcm-shapes", table)
    assert [row[2] for row in table.more[0].rows] == ["matches", "differs"]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (["0.51", "11", "0.62"], "matches"),
        (["0.51", "10", "0.62"], "differs"),  # another class is its closest
        (["0.62", "11", "0.51"], "differs"),  # it is closer to itself
        (["0.62", "11", "0.62"], "differs"),
    ],
)
def test_figure_9_is_judged_by_its_numbers(cells, verdict):
    header = ["class", "trees", "within", "closest", "similarity"]
    rows = [["5", "9", "0.70", "6", "0.60"], ["6", "12", *cells], ["11", "8", "0.80", "6", cells[2]]]
    table = Table("Figure 9", header, rows)
    judge("mixtures-figure9", table)
    word, _, why = table.verdict.partition(": ")
    assert word == verdict
    assert f"{cells[0]} within, and {cells[2]} with class {cells[1]}," in why


def test_every_experiment_has_a_verdict():
    from papers import EXPERIMENTS

    assert set(JUDGES) <= set(EXPERIMENTS)
    table = Table("Evidence", ["a"], [["1"]])
    judge("defaults", table)
    assert table.verdict.startswith("not in the papers")


def test_kept_tables_have_the_verdicts_of_today():
    folder = Path(__file__).parents[2] / "docs" / "reproduction"
    for record in sorted(folder.glob("*.json")):
        text = record.with_suffix(".md").read_text(encoding="utf-8")
        table, rest = read_tables(text)
        judge(record.stem, table)
        again = "python -m papers all --output docs/reproduction judges what is kept again"
        assert f"{table.body()}\n{rest}" == text, f"{record.stem}: {again}"
        assert json.loads(record.read_text(encoding="utf-8"))["verdict"] == table.verdict, f"{record.stem}: {again}"
