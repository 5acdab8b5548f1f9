"""The commands: what they print and write, that every option changes what it names, and how bad input ends."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import arbora
from arbora.cli import app
from arbora.datasets import make_documents
from arbora.io import read, write_jsonl

FAST = ("--components", "2", "--states", "2", "--max-iter", "4", "--tol", "0")
Run = Callable[..., str]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "trees.jsonl"
    write_jsonl(make_documents(8, random_state=0), path)
    return path


@pytest.fixture(scope="module")
def model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.arbora"
    done = CliRunner().invoke(app, ["cluster", str(corpus), *FAST, "--save", str(path)])
    assert done.exit_code == 0, done.stderr
    return path


def run(*args: object, code: int = 0) -> str:
    """Stdout of a command that ends with this code."""
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    return done.stdout


def fails(*args: object, code: int = 1) -> str:
    """Stderr of a command that is refused: one line for bad input, no traceback, nothing on stdout."""
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("arbora: ")
    return done.stderr


def params(path: Path) -> dict[str, object]:
    return arbora.load(path).get_params()


# ---- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["info", "convert", "cluster", "predict", "encode", "demo"])
def test_help_has_examples(name: str) -> None:
    text = run(name, "--help")
    assert "Examples:" in text
    assert re.search(rf"^ +arbora {name} ", text, re.MULTILINE) or name == "demo"


def test_version_and_bare_command() -> None:
    assert run("--version") == f"arbora {arbora.__version__}\n"
    assert "cluster" in run("--help")
    fails("no-such-command", code=2)


# ---- info -----------------------------------------------------------------------------------------------------------


def test_info(corpus: Path) -> None:
    text = run("info", corpus)
    assert "40, of which" in text
    assert "recipe (8)" in text
    facts = json.loads(run("info", corpus, "--json"))
    forest = read(corpus)
    assert facts["n_nodes"] == forest.n_nodes
    assert facts["classes"]["article"] == 8
    assert facts["n_distinct_subtrees"] < forest.n_nodes
    assert len(facts["top_labels"]) == 10
    assert len(json.loads(run("info", corpus, "--json", "--top", 3))["top_labels"]) == 3


def test_reader_options_reach_the_reader(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a x='1'>text<b/></a>")
    assert json.loads(run("info", tmp_path, "--json"))["n_nodes"] == 2
    assert json.loads(run("info", tmp_path, "--json", "--read", "text=kind"))["n_nodes"] == 3
    both = run("info", tmp_path, "--json", "--read", "text=kind", "--read", "attributes=true")
    assert json.loads(both)["n_nodes"] == 4
    assert "no such option" in fails("info", tmp_path, "--read", "nonsense=1")
    fails("info", tmp_path, "--read", "nonsense", code=2)
    fails("info", tmp_path, "--read", 'max_depth="deep"')


def test_format_and_skip_bad(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("(a (b x))")
    assert "cannot be told" in fails("info", tmp_path / "a.txt")
    assert json.loads(run("info", tmp_path / "a.txt", "--format", "brackets", "--json"))["n_trees"] == 1
    (tmp_path / "good.xml").write_text("<a/>")
    (tmp_path / "good.json").write_text("[]")
    assert "several formats (json, xml); choose one by --format" in fails("info", tmp_path)
    assert json.loads(run("info", tmp_path, "--format", "xml", "--json"))["n_trees"] == 1
    (tmp_path / "bad.xml").write_text("<a>")
    assert "bad.xml" in fails("info", tmp_path / "*.xml")
    done = CliRunner().invoke(app, ["info", str(tmp_path / "*.xml"), "--skip-bad", "--json"])
    assert json.loads(done.stdout)["n_trees"] == 1
    assert re.fullmatch(r"arbora: warning: 1 bad files .*\n", done.stderr)


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_bad_input(tmp_path: Path, corpus: Path) -> None:
    assert "no such file" in fails("info", tmp_path / "missing.xml")
    assert "no file in this directory" in fails("cluster", tmp_path)
    assert "no file matches" in fails("info", tmp_path / "*.xml")
    (tmp_path / "bad\nname.xml").write_text("<a>")
    assert r"bad\nname.xml" in fails("info", tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    assert "no trees" in fails("info", tmp_path / "empty.jsonl")
    assert "damaged" in fails("predict", corpus, corpus)
    assert "no such file" in fails("predict", tmp_path / "missing.arbora", corpus)
    load_forest_file = tmp_path / "f.forest"
    run("convert", corpus, load_forest_file)
    assert "it holds a forest" in fails("predict", load_forest_file, corpus)


def test_wrong_use(tmp_path: Path, corpus: Path, model: Path) -> None:
    fails("cluster", code=2)
    fails("cluster", corpus, "--components", 0, code=2)
    fails("cluster", corpus, "--prior", 0.5, code=2)
    fails("cluster", corpus, "--jobs", 0, code=2)
    fails("cluster", corpus, "--absent", "nonsense", code=2)
    assert "must end in" in fails("cluster", corpus, "--output", tmp_path / "x.txt", code=2)
    assert "must end in" in fails("cluster", corpus, "--save", tmp_path / "x.csv", code=2)
    assert "must end in" in fails("cluster", corpus, "--report", tmp_path / "x.csv", code=2)
    assert "must end in" in fails("cluster", corpus, "--picture", tmp_path / "x.jpg", code=2)
    assert "must end in" in fails("encode", model, corpus, "--output", tmp_path / "x.txt", code=2)
    assert "must end in" in fails("convert", corpus, tmp_path / "x.xml", code=2)
    assert "no such folder" in fails("cluster", corpus, "--output", tmp_path / "no" / "x.csv", code=2)
    same = tmp_path / "x.csv"
    fails("encode", model, corpus, code=2)
    assert "a single model has none" in fails("cluster", corpus, "--model", "single", "--components", 3, code=2)
    assert "a single model has none" in fails("cluster", corpus, "--model", "single", "--init", "random", code=2)
    assert not same.exists()


def test_inputs_are_never_overwritten(tmp_path: Path, corpus: Path, model: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_bytes(corpus.read_bytes())
    (tmp_path / "link.jsonl").symlink_to(data)
    assert "would be overwritten" in fails("convert", data, data, code=2)
    assert "would be overwritten" in fails("convert", tmp_path / "link.jsonl", data, code=2)
    assert data.read_bytes() == corpus.read_bytes()
    table = tmp_path / "t.json"
    table.write_text('{"a": [1]}')
    assert "would be overwritten" in fails("cluster", table, "--output", table, code=2)
    assert "would be overwritten" in fails("predict", model, table, "--output", table, code=2)


# ---- convert --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".forest", ".parquet"])
def test_convert_keeps_the_trees(corpus: Path, tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"out{suffix}"
    run("convert", corpus, out)
    assert read(out) == read(corpus)
    assert json.loads(run("convert", corpus, corpus, out, "--json"))["n_trees"] == 80


# ---- cluster --------------------------------------------------------------------------------------------------------


def test_cluster_prints_and_writes(corpus: Path, tmp_path: Path) -> None:
    out, saved = tmp_path / "c.csv", tmp_path / "m.arbora"
    text = run("cluster", corpus, *FAST, "--output", out, "--save", saved)
    assert "2 components, as asked." in text
    assert "adjusted Rand index" in text
    rows = list(csv.DictReader(out.read_text().splitlines()))
    model = arbora.load(saved)
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    np.testing.assert_array_equal([float(r["log_likelihood"]) for r in rows], model.score_samples(read(corpus)))
    assert {row["class"] for row in rows} == set(read(corpus).target)
    assert [row["name"] for row in rows] == read(corpus).name.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_tables_of_every_suffix_agree(corpus: Path, tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"c{suffix}"
    summary = json.loads(run("cluster", corpus, *FAST, "--output", out, "--json"))
    if suffix == ".csv":
        found = [int(row["cluster"]) for row in csv.DictReader(out.read_text().splitlines())]
    elif suffix == ".json":
        found = [row["cluster"] for row in json.loads(out.read_text())]
    else:
        from pyarrow import parquet

        found = parquet.read_table(out)["cluster"].to_pylist()
    assert np.bincount(found).tolist() == [c["size"] for c in summary["summary"]["clusters"]]


@pytest.mark.parametrize(
    ("option", "value", "param", "wanted"),
    [
        ("--components", "3", "n_components", 3),
        ("--states", "3", "n_states", 3),
        ("--absent", "slot", "absent", "slot"),
        ("--absent", "renormalised", "absent", "renormalised"),
        ("--structure", "none", "structure", None),
        ("--structure", "branching", "structure", "branching"),
        ("--prior", "1.7", "prior", 1.7),
        ("--init", "random", "init", "random"),
        ("--n-init", "3", "n_init", 3),
        ("--max-iter", "7", "max_iter", 7),
        ("--tol", "50", "tol", 50.0),
        ("--n-slots", "2", "n_slots", 2),
        ("--seed", "5", "random_state", 5),
        ("--jobs", "2", "n_jobs", 2),
    ],
)
def test_every_setting_reaches_the_model(
    corpus: Path, model: Path, tmp_path: Path, option: str, value: str, param: str, wanted: object
) -> None:
    saved = tmp_path / "m.arbora"
    run("cluster", corpus, *FAST, option, value, "--save", saved)  # the last of two equal options counts
    assert params(saved)[param] == wanted
    # and changes the fit, unless it says that it does not, or says what is the default
    default = getattr(arbora.HiddenTreeMixture(), param, None) == wanted
    same = arbora.load(saved).history_ == arbora.load(model).history_
    if option == "--n-init":  # the first start may be the best
        assert arbora.load(saved).history_[-1] >= arbora.load(model).history_[-1]
    else:
        assert same == (option == "--jobs" or default)


def test_settings_left_out_are_those_of_the_model(corpus: Path, tmp_path: Path) -> None:
    saved = tmp_path / "m.arbora"
    run("cluster", corpus, "--components", 2, "--max-iter", 2, "--tol", 0, "--save", saved)
    ours, theirs = params(saved), arbora.HiddenTreeMixture().get_params()
    changed = {key for key in ours if ours[key] != theirs[key]}
    assert changed == {"n_components", "max_iter", "tol", "random_state"}


def test_single_model(corpus: Path, tmp_path: Path) -> None:
    saved, out = tmp_path / "m.arbora", tmp_path / "c.csv"
    settings = ("--model", "single", "--states", 3, "--max-iter", 5, "--tol", 0)
    text = run("cluster", corpus, *settings, "--save", saved, "--output", out)
    assert "state of the root" in text
    single = arbora.load(saved)
    assert type(single) is arbora.HiddenTree
    assert [int(row["cluster"]) for row in csv.DictReader(out.read_text().splitlines())] == single.predict(
        read(corpus)
    ).tolist()


def test_number_of_components_is_chosen_and_told(corpus: Path) -> None:
    result = json.loads(run("cluster", corpus, "--states", 2, "--max-iter", 30, "--json"))
    tried = {int(k): aic for k, aic in result["aic_by_components"].items()}
    best = min(tried, key=tried.__getitem__)
    assert result["provenance"]["params"]["n_components"] == best
    assert result["provenance"]["params"]["n_init"] == 3
    assert result["components"].startswith(f"{best} components: the lowest AIC of 2, 3, ")
    assert result["aic"] == tried[best]


def test_the_number_of_starts_also_holds_in_the_search(corpus: Path) -> None:
    result = json.loads(run("cluster", corpus, "--states", 2, "--max-iter", 3, "--tol", 0, "--n-init", 1, "--json"))
    assert result["provenance"]["params"]["n_init"] == 1


def test_one_tree_is_one_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a><b/></a>")
    assert json.loads(run("cluster", tmp_path, "--max-iter", 500, "--json"))["summary"]["clusters"][0]["size"] == 1


def test_warnings_are_one_line(corpus: Path) -> None:
    done = CliRunner().invoke(app, ["cluster", str(corpus), "--components", "2", "--max-iter", "2"])
    assert done.exit_code == 0
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("arbora: warning: EM stopped after max_iter=2")


def test_quiet_silences_messages_only(corpus: Path, tmp_path: Path) -> None:
    args = ["cluster", str(corpus), *FAST, "--output", str(tmp_path / "c.csv")]
    loud, quiet = CliRunner().invoke(app, args), CliRunner().invoke(app, [*args, "--quiet"])
    assert "wrote" in loud.stderr
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout


def test_same_command_same_files(corpus: Path, tmp_path: Path) -> None:
    def go(folder: str, *more: object) -> dict[str, bytes]:
        where = tmp_path / folder
        where.mkdir()
        names = {"--output": "c.csv", "--save": "m.arbora", "--report": "r.html", "--picture": "p.png"}
        given = [part for option, name in names.items() for part in (option, where / name)]
        run("cluster", corpus, *FAST, "--init", "random", *more, *given)
        return {path.name: path.read_bytes() for path in sorted(where.iterdir())}

    pytest.importorskip("matplotlib")
    first = go("one")
    assert go("two") == first
    other = go("three", "--seed", 1)
    assert [name for name in first if other[name] == first[name]] == []


def test_interrupt_keeps_the_last_iteration(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from arbora.models import mixture

    plain, calls = mixture.HiddenTreeMixture._m_step, []

    def m_step(self, *args):
        calls.append(1)
        if len(calls) == 9:
            signal.raise_signal(signal.SIGINT)
        return plain(self, *args)

    monkeypatch.setattr(mixture.HiddenTreeMixture, "_m_step", m_step)
    saved, out = tmp_path / "m.arbora", tmp_path / "c.csv"
    args = ["cluster", str(corpus), "-k", "2", "--init", "random", "--max-iter", "50", "--tol", "0"]
    done = CliRunner().invoke(app, [*args, "--save", str(saved), "--output", str(out)])
    assert done.exit_code == 130, done.stderr
    assert "interrupted" in done.stderr
    assert "interrupted" in done.stdout
    assert arbora.load(saved).n_iter_ == 8
    assert len(out.read_text().splitlines()) == 41


def test_interrupt_before_the_first_iteration_writes_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arbora.models import mixture

    def m_step(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mixture.HiddenTreeMixture, "_m_step", m_step)
    out = tmp_path / "c.csv"
    assert "interrupted" in fails("cluster", corpus, *FAST, "--output", out, code=130)
    assert not out.exists()


# ---- predict and encode ---------------------------------------------------------------------------------------------


def test_predict_gives_back_the_clusters(corpus: Path, model: Path, tmp_path: Path) -> None:
    fitted = arbora.load(model)
    rows = list(csv.DictReader(run("predict", model, corpus).splitlines()))
    assert [int(row["cluster"]) for row in rows] == fitted.labels_.tolist()
    assert [float(row["probability"]) for row in rows] == fitted.predict_proba(read(corpus)).max(axis=1).tolist()
    as_json = json.loads(run("predict", model, corpus, "--json"))
    assert [row["log_likelihood"] for row in as_json] == fitted.score_samples(read(corpus)).tolist()
    out = tmp_path / "p.json"
    facts = json.loads(run("predict", model, corpus, "--output", out, "--json", "--jobs", 2))
    assert json.loads(out.read_text()) == as_json
    assert sum(facts["sizes"].values()) == 40
    assert "cluster" in run("predict", model, corpus, "--output", out)


def test_predict_flags_what_the_model_does_not_know(tmp_path: Path) -> None:
    train, new, saved = tmp_path / "train.jsonl", tmp_path / "new.jsonl", tmp_path / "m.arbora"

    def tree(*slots: int, label: str = "b") -> dict[str, object]:
        return {"label": "a", "children": [{"label": label, "slot": slot} for slot in slots]}

    # No node has a child in slot 1, so without a prior the model of shapes rules it out.
    write_jsonl(arbora.Forest.from_nested([tree(0, 2), tree(2)] * 4), train)
    run("cluster", train, "--structure", "branching", "--prior", 1, "-k", 2, "--max-iter", 5, "--save", saved)
    write_jsonl(arbora.Forest.from_nested([tree(0, 2), tree(1), tree(0, 2, label="z")]), new)
    done = CliRunner().invoke(app, ["predict", str(saved), str(new)])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["explained"] for row in rows] == ["true", "false", "true"]
    assert [row["unseen_labels"] for row in rows] == ["0", "0", "2"]
    assert rows[1]["log_likelihood"] == "-inf"
    assert "1 trees cannot come from any component" in done.stderr
    assert "2 labels in 1 trees were never seen" in done.stderr
    assert json.loads(run("predict", saved, new, "--json"))[1]["log_likelihood"] is None


def test_encode(corpus: Path, model: Path, tmp_path: Path) -> None:
    wanted = arbora.load(model).transform(read(corpus))
    npz, table = tmp_path / "e.npz", tmp_path / "e.csv"
    facts = json.loads(run("encode", model, corpus, "--output", npz, "--json"))
    assert (facts["n_trees"], facts["n_columns"]) == wanted.shape
    np.testing.assert_array_equal(sparse.load_npz(npz).toarray(), wanted)
    run("encode", model, corpus, "--output", table, "--jobs", 2)
    head, *rows = csv.reader(table.read_text().splitlines())
    assert head == ["name", *arbora.load(model).get_feature_names_out()]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], float), wanted)


# ---- report and demo ------------------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>"


def test_names_cannot_harm_the_report(tmp_path: Path) -> None:
    trees = [("a", ["b"]), ("a", ["b", "c"]), ("a", [EVIL, EVIL])] * 3
    names = [f"{x}{EVIL}.xml" for x in range(8)] + ["\x1b[31m&\udc80\n'\"" + EVIL]
    classes = ["<b>x</b>", "y", EVIL] * 3
    write_jsonl(arbora.Forest.from_nested(trees, target=classes, name=names), tmp_path / "t.jsonl")
    page = tmp_path / "r.html"
    text = run("cluster", tmp_path / "t.jsonl", *FAST, "--report", page)
    html = page.read_text()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.xml" in html
    assert "\x1b" not in html + text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,)', html) == []


def test_a_file_of_an_evil_name_is_read_and_told(tmp_path: Path) -> None:
    (tmp_path / "<script>alert(1)<").mkdir()
    (tmp_path / "<script>alert(1)<" / "script>.xml").write_text("<a><b/></a>")
    (tmp_path / "good.xml").write_text("<a/>")
    page = tmp_path / "r.html"
    run("cluster", tmp_path, *FAST, "--report", page)
    assert "<script" not in page.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.xml" in page.read_text()


def test_the_page_holds_manifest_and_style_of_its_policy(corpus: Path, tmp_path: Path) -> None:
    import base64
    import hashlib

    page = tmp_path / "r.html"
    run("cluster", corpus, *FAST, "--report", page, "--seed", 3)
    html = page.read_text()
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    assert base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode() in html
    assert "&quot;seed&quot;: 3" in html
    assert "data_sha256" in html
    assert " style=" not in html


def test_report_without_matplotlib(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arbora.cli import files

    monkeypatch.setattr(files, "has_package", lambda name: name != "matplotlib")
    done = CliRunner().invoke(app, ["cluster", str(corpus), *FAST, "--report", str(tmp_path / "r.html")])
    assert done.exit_code == 0
    assert "no picture; install arbora[plot]" in done.stderr
    assert "<img" not in (tmp_path / "r.html").read_text()
    assert "arbora[plot]" in fails("cluster", corpus, *FAST, "--picture", tmp_path / "p.png")


@pytest.mark.compiled
def test_demo_finds_the_known_classes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "demo"
    result = json.loads(run("demo", "--output", folder, "--json"))
    assert sorted(path.name for path in folder.iterdir()) == [
        "clusters.csv",
        "clusters.png",
        "model.arbora",
        "report.html",
    ]
    assert result["converged"]
    assert result["summary"]["agreement"]["ari"] > 0.9
    assert len(result["summary"]["clusters"]) == 5
    assert (folder / "clusters.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "file").write_text("")
    assert "this is a file" in fails("demo", "--output", tmp_path / "file")
