"""arbora watch and replay: lines, bad input, standard input, restarts, formats."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app, feeding, watch
from arbora.watch.log import WatchLog
from tests.cli.test_process import start

A, D, X = (
    '{"label":"a","children":[{"label":"b"},{"label":"c"}]}',
    '{"label":"d","children":[{"label":"e"}]}',
    ('{"label":"x","children":[{"label":"y"},{"label":"z"},{"label":"z"}]}'),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.arbora"
    trees = [("a", ["b", "c"])] * 9 + [("d", ["e"])] * 9
    ab.PatternMixture(random_state=0, n_iter=2, n_chains=1).fit(trees).save(path)
    return path


def run(*words: object, stdin: str | None = None) -> tuple[int, list[dict[str, object]], str]:
    done = CliRunner().invoke(app, list(map(str, words)), input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.exit_code, lines, " ".join(done.stderr.split())


def test_a_file_gives_a_line_per_tree_and_goes_on_where_it_stopped(model: Path, tmp_path: Path) -> None:
    stream, log = tmp_path / "s.jsonl", tmp_path / "log"
    stream.write_text("\n".join([A, D] * 5 + ["{bad", '{"nolabel": 1}'] + [A, X] * 5) + "\n")
    code, lines, said = run("watch", model, stream, "--log", log, "--window", 4)
    assert code == 0, said
    trees = [line for line in lines if "event" not in line]
    assert [line["tree"] for line in trees] == list(range(20))
    assert trees[0]["name"] == f"{stream}:1"
    assert [line["cluster"] for line in trees[:4]] == [0, 1, 0, 1]
    assert trees[11]["cluster"] is None
    assert trees[11]["opened_by"] == 11
    assert [(x["cluster"], x["opened_by"]) for x in lines if x.get("event") == "born"] == [(2, 11)]
    assert f"set aside: {stream}, line 11" in said
    assert f"set aside: {stream}, line 12" in said
    assert "2 set aside" in said
    again, nothing, _ = run("watch", model, stream, "--log", log)
    assert (again, nothing) == (0, [])
    more = tmp_path / "more.jsonl"
    more.write_text(X + "\n")
    _, (line, *_), _ = run("watch", model, more, "--log", log)
    assert (line["tree"], line["cluster"]) == (20, 2)
    code, replayed, said = run("replay", log)
    assert code == 0, said
    assert replayed == [*lines, line]
    assert "the snapshot is what the journal gives" in said
    assert run("replay", log, "--from", 20)[1] == [line]
    journal = log / "journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-1])  # without the last record, which nobody can tell from the journal alone
    code, replayed, said = run("replay", log)
    assert (code, replayed) == (1, lines)
    assert "journal ends after 20 trees, and the snapshot is of 21; the journal lost its end" in " ".join(said.split())
    journal.write_bytes(whole)
    with WatchLog(log) as there:
        assert there.n_aside == 2
        assert there.watcher.n_trees_ == 21


def test_standard_input_is_read_line_by_line(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join([A, "no json", D, X]) + "\n"
    code, lines, said = run("watch", model, "-", "--format", "jsonl", stdin=text)
    assert code == 0, said
    assert [line["name"] for line in lines if "event" not in line] == ["stdin:1", "stdin:3", "stdin:4"]
    assert "set aside: stdin, line 2" in said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, said = run("watch", model, "-")
    assert code == 2
    assert "--format" in said


def test_folders_of_files_and_traces(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.xml").write_text("<a><b/><c/></a>")
    (folder / "b.xml").write_text("<a><b/>")
    (folder / "c.xml").write_text("<d><e/></d>")
    code, lines, said = run("watch", model, folder, "--log", tmp_path / "log")
    assert code == 0, said
    assert [Path(str(line["name"])).name for line in lines] == ["a.xml", "c.xml"]
    assert "set aside:" in said
    assert "b.xml" in said
    (folder / "d.xml").write_text("<a><b/></a>")
    _, lines, _ = run("watch", model, folder, "--log", tmp_path / "log")
    assert [Path(str(line["name"])).name for line in lines] == ["d.xml"]
    span = '{"traceId": "t%d", "spanId": "s", "name": "a", "startTimeUnixNano": "1"}'
    text = "".join('{"resourceSpans": [{"scopeSpans": [{"spans": [%s]}]}]}\n' % (span % i) for i in range(3))
    text += '{"resourceSpans": 3}\n'
    code, lines, said = run("watch", model, "-", "--format", "traces", stdin=text)
    assert code == 0, said
    assert [line["name"] for line in lines] == ["stdin:1#t0", "stdin:2#t1", "stdin:3#t2"]
    assert "set aside: stdin, line 4" in said


def test_what_does_not_fit_a_log_is_refused(model: Path, tmp_path: Path) -> None:
    stream, log = tmp_path / "s.jsonl", tmp_path / "log"
    stream.write_text(A + "\n")
    assert run("watch", model, stream, "--log", log)[0] == 0
    code, _, said = run("watch", model, stream, "--log", log, "--window", 7)
    assert code == 2
    assert "began with 50" in said
    other = tmp_path / "other.arbora"
    ab.PatternMixture(random_state=1, n_iter=2, n_chains=1).fit([("q", ["r"])] * 4).save(other)
    code, _, said = run("watch", other, stream, "--log", log)
    assert code == 1
    assert "another model" in said
    ab.TreePatterns().fit([("a", ["b"])]).save(other)
    code, _, said = run("watch", other, stream)
    assert code == 1
    assert "takes a model of patterns" in said
    assert run("replay", tmp_path / "nothing")[0] == 1


def test_options_change_what_they_name(model: Path, tmp_path: Path) -> None:
    stream = tmp_path / "s.jsonl"
    stream.write_text("\n".join([A, D] * 30) + "\n")
    base = run("watch", model, stream)[1]
    kept = run("watch", model, stream, "--keep-share", 1)[1]
    assert all(line["keep"] for line in kept)
    assert not all(line["keep"] for line in base)
    assert [x["keep"] for x in run("watch", model, stream, "--seed", 5)[1]] != [x["keep"] for x in base]
    novel = run("watch", model, stream, "--keep-novel", 1)[1]
    assert all(line["weight"] == 1 for line in novel)
    assert {x["particles"] for x in run("watch", model, stream, "--particles", 1)[1]} == {1}


def test_ctrl_c_ends_after_the_batch_at_hand_and_the_log_replays(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, log = tmp_path / "s.jsonl", tmp_path / "log"
    stream.write_text("\n".join([A, D, "{bad"] * 20 + [X] * 20) + "\n")
    whole = run("watch", model, stream, "--window", 4)[1]
    monkeypatch.setattr(feeding, "MOST_NODES", 20)  # a few trees per batch
    told, n_batches = watch._print, 0

    def interrupted(batch: object, first: int) -> None:
        nonlocal n_batches
        told(batch, first)
        n_batches += 1
        if n_batches == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(watch, "_print", interrupted)
    code, lines, said = run("watch", model, stream, "--log", log, "--window", 4)
    assert code == 130, said
    assert 0 < len(lines) < len(whole) - 20
    monkeypatch.setattr(watch, "_print", told)
    code, replayed, said = run("replay", log)
    assert (code, replayed) == (0, lines)
    assert "the snapshot is what the journal gives" in said
    code, rest, said = run("watch", model, stream, "--log", log)
    assert code == 0, said
    assert lines + rest == whole
    assert run("replay", log)[:2] == (0, whole)


def test_ctrl_c_while_waiting_for_standard_input(model: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start("watch", model, "-", "--format", "jsonl", "--log", log, stdin=subprocess.PIPE)
    process.stdin.write("\n".join([A, D, A]) + "\n")
    process.stdin.flush()
    lines = [json.loads(process.stdout.readline()) for _ in range(3)]  # it waits for more
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    code, replayed, said = run("replay", log)
    assert (code, replayed) == (0, lines)
    assert "the snapshot is what the journal gives" in said
