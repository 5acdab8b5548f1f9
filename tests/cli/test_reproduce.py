"""`python -m papers`: what it writes, what it runs again, and how it goes on."""

import json

import pytest
from typer.testing import CliRunner

import papers as reproduce
from arbora.errors import DataNotFoundError
from papers import judges
from papers.__main__ import app
from papers.runs import run_all
from papers.table import Picture, Table, as_csv

PNG = b"\x89PNG stands for a picture"


def run(*args, code=0):
    done = CliRunner().invoke(app, [*map(str, args)])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def calls(monkeypatch):
    """Two small experiments in place of the real ones; what is called is noted."""
    made = []

    def small(quick):
        """A small table."""
        made.append(("small", quick))
        table = Table("Title", ["a"], [[str(quick)]], verdict="all within")
        table.pictures["figure"] = Picture(PNG, "A caption", as_csv(["x", "y"], [("b", 0.5)]))
        return table

    def other(quick):
        """Another table."""
        made.append(("other", quick))
        return Table("Other", ["b"], [["1"]])

    monkeypatch.setattr(reproduce, "EXPERIMENTS", {"small": small, "other": other})
    return made


def test_tables_pictures_and_numbers_are_printed_and_written(calls, tmp_path):
    done = run("small", "--quick", "--output", tmp_path)
    text = (tmp_path / "small.md").read_text()
    assert text.strip() == done.stdout.strip()
    assert "| True |" in text
    assert "Made by `python -m papers small --quick`" in text
    assert "![A caption](figure.png)" in text
    assert (tmp_path / "figure.png").read_bytes() == PNG
    assert (tmp_path / "figure.csv").read_text() == "x,y\nb,0.5\n"
    assert "| `python -m papers small --quick` | Title | all within |" in (tmp_path / "summary.md").read_text()


def test_what_is_finished_is_not_run_again_unless_asked(calls, tmp_path):
    run("all", "-o", tmp_path)
    assert calls == [("small", False), ("other", False)]
    again = run("all", "-o", tmp_path)
    assert len(calls) == 2
    assert "done before" in again.stderr
    assert "## Other" in again.stdout
    run("small", "-o", tmp_path, "--quick")  # the thorough table does not stand for the quick one
    run("other", "-o", tmp_path, "--again")
    assert calls[2:] == [("small", True), ("other", False)]


def test_the_summary_tells_of_all_that_the_folder_holds(calls, tmp_path):
    run("small", "-o", tmp_path)
    run("other", "-o", tmp_path)
    lines = (tmp_path / "summary.md").read_text().splitlines()
    assert [line.split("`")[1] for line in lines[2:4]] == ["python -m papers small", "python -m papers other"]
    assert lines[-1] == "Together 2 experiments, 0 s of processor time."


def test_a_record_cut_short_counts_for_nothing(calls, tmp_path):
    run("small", "-o", tmp_path)
    record = tmp_path / "small.json"
    record.write_text(record.read_text()[:20])
    run("small", "-o", tmp_path)
    assert len(calls) == 2


def test_an_interrupt_keeps_what_is_finished(calls, tmp_path, monkeypatch):
    def broken(quick):
        """Interrupted."""
        raise KeyboardInterrupt

    monkeypatch.setitem(reproduce.EXPERIMENTS, "other", broken)
    done = run("all", "-o", tmp_path, code=130)
    assert "the same command goes on" in done.stderr
    assert (tmp_path / "small.md").exists()
    assert not (tmp_path / "other.md").exists()


def test_absent_data_stop_their_own_experiment_only(calls, tmp_path, monkeypatch):
    def absent(quick):
        """Without data."""
        raise DataNotFoundError("no such data; set ARBORA_DATA")

    monkeypatch.setattr(reproduce, "EXPERIMENTS", {"absent": absent, **reproduce.EXPERIMENTS})
    done = run("all", "-o", tmp_path, code=1)
    assert "absent: no such data; set ARBORA_DATA" in done.stderr
    assert [name for name, _ in calls] == ["small", "other"]


def test_the_list_unknown_names_and_json(calls, tmp_path):
    assert run().stdout.splitlines() == ["small  A small table.", "other  Another table."]
    assert "no experiment 'tabel'" in run("tabel", code=2).stderr
    (record,) = json.loads(run("small", "-o", tmp_path, "--json").stdout)
    assert record["verdict"] == "all within"
    assert record["command"] == "python -m papers small"


def square(task: int) -> int:
    done.append(task)
    if task == 2 and done.count(2) == 1:
        raise KeyboardInterrupt
    return task * task


done: list[int] = []


def test_an_experiment_goes_on_at_the_run_it_stopped_at(calls, tmp_path, monkeypatch):
    def squares(quick):
        """Squares."""
        return Table("Squares", ["n"], [[str(n)] for n in run_all("squares", square, [1, 2, 3])])

    done.clear()
    monkeypatch.setitem(reproduce.EXPERIMENTS, "squares", squares)
    told = run("squares", "-o", tmp_path, code=130)
    assert "the same command goes on" in told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["squares.runs"]
    assert "| 9 |" in run("squares", "-o", tmp_path).stdout
    assert done == [1, 2, 2, 3]
    assert not list(tmp_path.glob("*.runs"))


def test_tables_made_before_are_judged_again(calls, tmp_path, monkeypatch):
    run("small", "-o", tmp_path)
    monkeypatch.setitem(judges.JUDGES, "small", lambda table: setattr(table, "verdict", f"{table.title}: new"))
    shown = run("small", "-o", tmp_path).stdout
    assert len(calls) == 1
    assert "**Verdict:** Title: new" in shown
    assert shown.strip() == (tmp_path / "small.md").read_text().strip()
    assert "![A caption](figure.png)" in shown
    assert "| Title: new |" in (tmp_path / "summary.md").read_text()
    (tmp_path / "small.md").write_text("Something else.\n")
    assert "small.md: not a page that python -m papers wrote" in run("small", "-o", tmp_path, code=1).stderr
