"""The commands: what they print and write, that every option changes what it names, and how bad input ends."""

import csv
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score
from typer.testing import CliRunner

import arbora
from arbora.cli import app, options, reading
from arbora.cli.files import write_table
from arbora.cli.levels import supported
from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.io import FORMATS, read, write_jsonl
from arbora.io.manual import with_formats
from arbora.models.choose import choose_model
from arbora.models.patterns import name_groups
from tests.pages import page_data

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


def _stored(corpus: Path, folder: Path) -> Path:
    run("convert", corpus, folder / "stored.forest")
    return folder / "stored.forest"


def params(path: Path) -> dict[str, object]:
    return arbora.load(path).get_params()


# ---- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["info", "formats", "convert", "cluster", "predict", "encode", "demo"])
def test_help_has_examples(name: str) -> None:
    text = run(name, "--help")
    assert "Examples:" in text
    assert re.search(rf"^ +arbora {name} ", text, re.MULTILINE) or name in ("demo", "formats")


def test_help_lists_options_in_groups_and_none_twice() -> None:
    text = run("cluster", "--help")
    heads = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert heads[:3] == ["Arguments", "Model", "Hidden trees"]
    assert heads[-1] == "Other options"
    assert {"Samplers", "Unions", "Running", "Results", "Reading", "What is known"} <= set(heads)
    options_there = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
    assert len(options_there) == len(set(options_there)) > 30
    assert "Results:" in run("info", "--help")
    assert "\nOptions:" in run("warmup", "--help") or "Running:" in run("warmup", "--help")


def test_verbose_tells_of_every_iteration(corpus: Path) -> None:
    words = ["cluster", str(corpus), "--model", "mixture", "-k", "2", "--max-iter", "3", "--init", "random"]
    plain, told = CliRunner().invoke(app, words), CliRunner().invoke(app, [*words, "-v"])
    assert told.stdout == plain.stdout
    assert told.stderr.count("iteration") >= 3 > plain.stderr.count("iteration")
    assert re.search(r"fitting 2 components: \d+ s", told.stderr)
    assert "exclude each other" in fails(*words, "-v", "-q", code=2)


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
    assert json.loads(run("info", tmp_path, "--json", "--read", "text=", "--read", "attributes=no"))["n_nodes"] == 2


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("nonsense", "wanted KEY=VALUE"),
        ("nonsense=1", "has no option 'nonsense'; it has namespaces (strip, keep or prefix), attributes (true or"),
        ("vocabulary=a", "has no option 'vocabulary'"),
        ("on_error=skip", "has no option 'on_error'"),
        ("attributes=maybe", "wanted true or false"),
        ("attributes=", "wanted true or false"),
        ("attributes=1", "wanted true or false"),
        ("text=None", "wanted kind; or leave it out"),
        ("namespaces=Keep", "wanted strip, keep or prefix"),
        ("max_depth=-1", "wanted a whole number"),
        ("max_depth=1e3", "wanted a whole number"),
    ],
)
def test_reader_options_are_strict(tmp_path: Path, typed: str, wanted: str) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    said = " ".join(fails("info", tmp_path, "--read", typed, code=2).split())
    assert wanted in said
    assert "None" not in said.replace(typed, "")


def test_length_bins_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.nwk").write_text("(a:0.1,b:0.7)c;")
    facts = json.loads(run("info", tmp_path, "--json", "--read", "length_bins=0.5,1"))
    assert set(facts["top_labels"]) == {"a|0", "b|1", "c"}
    fails("info", tmp_path, "--read", "length_bins=0.5;1", code=2)


def test_formats_tells_every_option_of_every_reader() -> None:
    facts = json.loads(run("formats", "--json"))
    assert list(facts) == list(FORMATS) == [format.value for format in options.Format]
    text = run("formats")
    for format, declared in FORMATS.items():
        suffixes = declared.suffixes
        taken = set(inspect.signature(declared.reader).parameters) - {"source"}
        assert set(facts[format]["options"]) == taken - {"on_error", "vocabulary", "progress"}
        assert facts[format]["suffixes"] == list(suffixes)
        assert f"{format}  ({', '.join(suffixes)})" in text
    assert "arbora formats" in " ".join(run("cluster", "--help").split())


def test_the_manual_has_the_table_of_formats() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reading.md").read_text()
    assert page == with_formats(page), "run python -m arbora.io.manual docs/reading.md"
    for format, about in reading.formats_facts().items():
        assert f"### {format}: {', '.join(f'`{suffix}`' for suffix in about['suffixes'])}" in page


def test_help_has_the_defaults_of_the_model() -> None:
    ours = options.defaults("HiddenTreeMixture")
    theirs = arbora.HiddenTreeMixture().get_params()
    assert {key: theirs[key] for key in ours} == ours
    assert len(ours) > 15
    text = " ".join(run("cluster", "--help").split())
    assert f"Most iterations of EM. [default: {theirs['max_iter']}]" in text
    assert f"in nats per tree. [default: {theirs['tol']}]" in text
    assert "slot: position of a child among its siblings" in text


def test_format_and_skip_bad(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("(a (b x))")
    assert "neither name nor content shows the format" in fails("info", tmp_path / "a.txt")
    assert json.loads(run("info", tmp_path / "a.txt", "--format", "brackets", "--json"))["n_trees"] == 1
    (tmp_path / "good.xml").write_text("<a/>")
    (tmp_path / "good.json").write_text("[]")
    assert json.loads(run("info", tmp_path, "--json"))["n_trees"] == 2
    (tmp_path / "some.nwk").write_text("(a,b)c;(a)b;")
    (tmp_path / "more.nwk").write_text("a;")
    assert "several formats (2 documents, 2 newick); --format FORMAT reads those of one" in fails("info", tmp_path)
    assert "name files of one format" in fails("info", tmp_path / "good.xml", tmp_path / "some.nwk")
    site = tmp_path / "site"
    site.mkdir()
    for name in ("a.html", "b.html", "c.nwk"):
        (site / name).write_text("[]")
    told = CliRunner().invoke(app, ["info", str(site), "--json"])
    assert json.loads(told.stdout)["n_trees"] == 2
    assert "site: reading its 2 html files, not its 1 newick; --format chooses others" in told.stderr
    assert json.loads(run("info", tmp_path, "--format", "xml", "--json"))["n_trees"] == 1
    (tmp_path / "bad.xml").write_text("<a>")
    said = fails("info", tmp_path / "*.xml")
    assert "bad.xml" in said
    assert "read HTML by --format html, or leave bad files out by --skip-bad" in said
    assert "--skip-bad" not in fails("info", tmp_path / "bad.xml")  # nothing would be left
    done = CliRunner().invoke(app, ["info", str(tmp_path / "*.xml"), "--skip-bad", "--json"])
    assert json.loads(done.stdout)["n_trees"] == 1
    assert re.fullmatch(r"arbora: warning: 1 bad file or line was left out.*\n", done.stderr)


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_bad_input(tmp_path: Path, corpus: Path) -> None:
    assert "no such file" in fails("info", tmp_path / "missing.xml")
    assert "no file in this directory has a known suffix; arbora formats lists" in fails("cluster", tmp_path)
    assert "no file matches" in fails("info", tmp_path / "*.xml")
    (tmp_path / "bad\nname.xml").write_text("<a>")
    assert r"bad\nname.xml" in fails("info", tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    assert "no trees" in fails("info", tmp_path / "empty.jsonl")
    assert "this is not a model file" in fails("predict", corpus, corpus)
    assert "no such file" in fails("predict", tmp_path / "missing.arbora", corpus)
    load_forest_file = tmp_path / "f.forest"
    run("convert", corpus, load_forest_file)
    assert "it holds a forest" in fails("predict", load_forest_file, corpus)
    (tmp_path / "m.arbora").write_bytes(b"")
    assert "this is a model, wanted trees" in fails("info", tmp_path / "m.arbora")
    (tmp_path / "deep.xml").write_text("<a>" * 300 + "</a>" * 300)
    assert "raise it by --read max_depth=N" in fails("info", tmp_path / "deep.xml")
    assert json.loads(run("info", tmp_path / "deep.xml", "--read", "max_depth=400", "--json"))["n_nodes"] == 300


def test_what_is_no_html_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    for junk in (np.random.default_rng(0).bytes(5000), b"\x7fELF" + bytes(500), b"GIF89a\1\0\1\0\0\0\0;<p>"):
        page.write_bytes(junk)
        assert "it is not HTML" in fails("info", page)
    odd = "<p>\u00e9</p>"
    for real in (
        b"<p>a\0b\x01</p>",
        b"<p>" + b"x" * 500 + b"\0\1\2\3</p>",
        odd.encode("utf-16"),
        odd.encode("latin-1"),
    ):
        page.write_bytes(real)
        assert "p" in json.loads(run("info", page, "--json"))["top_labels"]


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
    assert "OUT: missing" in " ".join(fails("convert", corpus, code=2).split())
    assert "read whole" in fails("info", _stored(corpus, tmp_path), "--skip-bad", code=2)
    assert "no such folder" in fails("cluster", corpus, "--output", tmp_path / "no" / "x.csv", code=2)
    same = tmp_path / "x.csv"
    fails("encode", model, corpus, code=2)
    assert "--model single has none" in fails("cluster", corpus, "--model", "single", "--components", 3, code=2)
    assert "--model single has none" in fails("cluster", corpus, "--model", "single", "--init", "random", code=2)
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
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(corpus.read_bytes())
    assert json.loads(run("convert", corpus, copy, out, "--json"))["n_trees"] == 80
    assert json.loads(run("convert", corpus, corpus, out, "--json"))["n_trees"] == 40


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
    named = name_groups(read(corpus), model.labels_)
    assert [row["cluster_name"] for row in rows] == [named[k].name for k in model.labels_]
    assert f"cluster 0, {named[0].name}: " in " ".join(text.split())
    assert named[0].skeleton_text.replace(" ", "") in "".join(text.split())


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
    clusters = summary["summary"]["clusters"]
    assert np.bincount(found).tolist() == [c["size"] for c in clusters]
    assert all(c["name"] and c["skeleton"] and 0 < c["rules"][0]["coverage"] <= 1 for c in clusters)


def test_acceleration_reaches_the_model(corpus: Path, tmp_path: Path) -> None:
    models = []
    for n, more in enumerate(((), ("--acceleration", "squarem"))):
        saved = tmp_path / f"{n}.arbora"
        run("cluster", corpus, *FAST, "--init", "random", "--max-iter", 12, *more, "--save", saved)
        models.append(arbora.load(saved))
    plain, fast = models
    assert fast.acceleration == "squarem"
    assert plain.acceleration is None
    assert fast.history_[:2] == plain.history_[:2]
    assert fast.history_ != plain.history_


@pytest.mark.parametrize(
    ("option", "value", "param", "wanted"),
    [
        ("--components", "3", "n_components", 3),
        ("--states", "3", "n_states", 3),
        ("--absent", "slot", "absent", "slot"),
        ("--absent", "renormalised", "absent", "renormalised"),
        ("--structure", "none", "structure", None),
        ("--structure", "branching", "structure", "branching"),
        ("--direction", "down", "direction", "down"),
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


def test_a_map_says_at_how_many_points_the_trees_are(corpus: Path) -> None:
    result = json.loads(run("cluster", corpus, "--model", "map", "--max-iter", 2, "--n-init", 1, "--json"))
    n_points = arbora.TopographicMap().side ** 2
    assert f" of the {n_points} points of a map" in result["components"]
    assert result["components"].endswith("For groups, leave --model out.")


def test_number_of_components_is_that_of_patterns(corpus: Path) -> None:
    result = json.loads(run("cluster", corpus, "--states", 2, "--max-iter", 30, "--json"))
    found = arbora.PatternMixture(n_chains=1, n_iter=1, random_state=0).fit(read(corpus)).n_components_
    assert result["provenance"]["params"]["n_components"] == found
    assert result["components"].startswith(f"{found} components: as many as patterns of labels find groups")
    assert result["aic_by_components"] == {}


def test_number_of_components_is_chosen_by_aic_where_patterns_see_nothing(tmp_path: Path) -> None:
    slots = make_asymmetric_trees(12, random_state=0)
    write_jsonl(slots, tmp_path / "slots.jsonl")
    assert choose_model(slots).model == "infinite"
    result = json.loads(run("cluster", tmp_path / "slots.jsonl", "--states", 2, "--max-iter", 5, "--json"))
    tried = {int(k): aic for k, aic in result["aic_by_components"].items()}
    best = min(tried, key=tried.__getitem__)
    assert result["provenance"]["params"]["n_components"] == best
    assert result["provenance"]["params"]["n_init"] == 3
    assert result["components"].startswith(f"{best} components: the lowest AIC of 2, 3, ")
    assert result["aic"] == pytest.approx(tried[best])


def test_source_code_asks_for_its_format(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("f(1)")
    done = CliRunner().invoke(app, ["cluster", str(tmp_path)])
    assert done.exit_code == 1
    assert "use --format code, which reads .js" in " ".join(done.stderr.split())


def test_the_number_of_starts_also_holds_in_the_search(corpus: Path) -> None:
    result = json.loads(run("cluster", corpus, "--states", 2, "--max-iter", 3, "--tol", 0, "--n-init", 1, "--json"))
    assert result["provenance"]["params"]["n_init"] == 1


def test_infinite_model(corpus: Path, tmp_path: Path) -> None:
    out, saved = tmp_path / "clusters.csv", tmp_path / "model.arbora"
    settings = ("--model", "infinite", "--states", 2, "--sweeps", 12, "--chains", 2, "--concentration", 3)
    result = json.loads(run("cluster", corpus, *settings, "--output", out, "--save", saved, "--json"))
    assert result["sweeps"] == [12, 12]
    assert result["update"] == "gibbs"
    assert "chains" in result["chains"]
    assert sum(result["n_groups_posterior"].values()) == pytest.approx(1.0)
    model = arbora.load(saved)
    assert type(model) is arbora.InfiniteHiddenTreeMixture
    assert (model.concentration, model.n_states) == (3.0, 2)
    assert [int(row["cluster"]) for row in csv.DictReader(out.read_text().splitlines())] == model.labels_.tolist()
    by_em = json.loads(run("cluster", corpus, "--model", "infinite", "--update", "em", "--sweeps", 3, "--json"))
    assert by_em["update"] == "em"
    assert by_em["sweeps"] == [3] * 4  # chains unless asked otherwise
    said = run("cluster", corpus, "--model", "infinite", "--update", "em", "--sweeps", 3, "--states", 2)
    assert "95 % of the sampled partitions have" in " ".join(said.split())
    assert "--model infinite has none" in fails("cluster", corpus, "--model", "infinite", "-k", 3, code=2)
    assert "only patterns, infinite, grammar" in fails("cluster", corpus, "--model", "mixture", "--sweeps", 3, code=2)


def test_label_chains_with_a_number_given(corpus: Path) -> None:
    facts = json.loads(run("cluster", corpus, "--model", "grammar", "-k", 3, "--max-iter", 3, "--json"))
    assert facts["n_unexplained"] == 0
    assert [level["n_groups"] for level in facts["coarser"]] == [2, 1]


def test_label_chains_find_the_number_at_the_knee_or_sample_it(corpus: Path) -> None:
    assert "at the knee of the leave-one-out curve" in " ".join(run("cluster", corpus, "--model", "grammar").split())
    facts = json.loads(run("cluster", corpus, "--model", "grammar", "--sweeps", 4, "--chains", 1, "--json"))
    assert facts["sweeps"] == [4]
    assert sum(facts["n_groups_posterior"].values()) == pytest.approx(1.0)


def test_coarser_groupings_are_told(corpus: Path, tmp_path: Path) -> None:
    saved = tmp_path / "m.arbora"
    options = ("cluster", corpus, "--model", "patterns", "-k", 5, "--chains", 1, "--sweeps", 4)
    text = run(*options, "--save", saved)
    merges = arbora.load(saved).merges()
    a, b = sorted(merges.pair[0].tolist())
    assert f"Coarser: 4 groups, by joining {a} and {b}: {supported(merges.gain[0])}." in text
    words = [supported(gain) for gain in (2.0, 0.0, -3.0, -30.0)]
    assert len(set(words)) == 4
    assert words[0].startswith("better")
    assert text.count("Coarser: ") == 2
    splits = arbora.load(saved).splits()
    assert f"Finer: 6 groups, by parting {splits.gain.argmax()} into " in text
    facts = json.loads(run(*options, "--json"))
    assert [level["n_groups"] for level in facts["coarser"]] == [4, 3, 2, 1]
    assert facts["finer"]["gain"] == splits.gain.max()
    scores = facts["summary"]["levels"]
    assert [level["n_groups"] for level in scores] == [5, 4, 3, 2]
    assert scores[0]["ari"] == facts["summary"]["agreement"]["ari"]
    cut = arbora.load(saved).cut(3)
    assert scores[2]["nmi"] == pytest.approx(normalized_mutual_info_score(read(corpus).target, cut))


def test_one_tree_is_one_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a><b/></a>")
    assert json.loads(run("cluster", tmp_path, "--max-iter", 500, "--json"))["summary"]["clusters"][0]["size"] == 1


def test_warnings_are_one_line(corpus: Path) -> None:
    done = CliRunner().invoke(app, ["cluster", str(corpus), "--components", "2", "--max-iter", "2", "--init", "random"])
    assert done.exit_code == 0
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert lines == [
        "arbora: warning: Look again: EM had not converged after 2 iterations. Run again with --max-iter 8."
    ]
    assert done.stdout.startswith("Look again: EM had not converged after 2 iterations. ")
    assert "objective" in done.stdout
    assert "(log-likelihood plus log prior)" in " ".join(done.stdout.split())
    quiet = ["cluster", str(corpus), "--max-iter", "2", "--init", "random", "--quiet"]
    lines = CliRunner().invoke(app, quiet).stderr.splitlines()
    assert lines == [
        "arbora: warning: Look again: EM had not converged after 2 iterations. Run again with --max-iter 8."
    ]


def test_components_that_stay_empty_are_told(tmp_path: Path) -> None:
    write_jsonl(arbora.Forest.from_nested(["a", "b"] * 10), tmp_path / "t.jsonl")
    assert "4 components asked, 2 in use." in run("cluster", tmp_path, "-k", 4, "--max-iter", 100)
    write_jsonl(arbora.Forest.from_nested(["a", "b"]), tmp_path / "t.jsonl")
    assert "4 components asked for only 2 trees, " in run("cluster", tmp_path, "-k", 4, "--max-iter", 100)


def test_no_blanks_at_line_ends_of_a_pipe(corpus: Path) -> None:
    text = run("cluster", corpus, *FAST) + run("info", corpus) + run("formats")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_quiet_silences_messages_only(corpus: Path, tmp_path: Path) -> None:
    args = ["cluster", str(corpus), *FAST, "--output", str(tmp_path / "c.csv")]
    loud, quiet = CliRunner().invoke(app, args), CliRunner().invoke(app, [*args, "--quiet"])
    assert "wrote" in loud.stderr
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout


def test_same_command_same_files(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # a page tells when it was made

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

    from arbora.models.hidden_tree import fitting

    plain, calls = fitting.m_step, []

    def m_step(*args):
        calls.append(1)
        if len(calls) == 9:
            signal.raise_signal(signal.SIGINT)
        return plain(*args)

    monkeypatch.setattr(fitting, "m_step", m_step)
    saved, out = tmp_path / "m.arbora", tmp_path / "c.csv"
    args = ["cluster", str(corpus), "-k", "2", "--init", "random", "--max-iter", "50", "--tol", "0"]
    done = CliRunner().invoke(app, [*args, "--save", str(saved), "--output", str(out)])
    assert done.exit_code == 130, done.stderr
    assert "interrupted" in done.stderr
    assert "the fit was interrupted" in done.stdout
    assert arbora.load(saved).n_iter_ == 8
    assert len(out.read_text().splitlines()) == 41


def test_interrupt_before_the_first_iteration_writes_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arbora.models.hidden_tree import fitting

    def m_step(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "m_step", m_step)
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
    assert [row["nodes_with_unseen_label"] for row in rows] == ["0", "0", "2"]
    assert rows[1]["log_likelihood"] == "-inf"
    assert "1 tree cannot come from any component" in done.stderr
    assert "2 nodes in 1 tree have labels never seen" in done.stderr
    assert "do not look like" not in done.stderr
    assert json.loads(run("predict", saved, new, "--json"))[1]["log_likelihood"] is None
    write_jsonl(arbora.Forest.from_nested([tree(0, 2, label="z")]), new)
    done = CliRunner().invoke(app, ["predict", str(saved), str(new), "--quiet"])
    assert "warning: 67% of the nodes have labels never seen in training; these trees do not look like" in done.stderr


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


def test_a_model_remembers_how_its_trees_were_read(tmp_path: Path) -> None:
    train, new, saved = tmp_path / "train", tmp_path / "new", tmp_path / "m.arbora"
    for folder in (train, new):
        folder.mkdir()
        for x in range(4):
            (folder / f"{x}.xml").write_text(f"<a>{'text' * (x % 2)}<b/></a>")
    options = ("--read", "text=kind", "--read", "max_depth=300")
    run("cluster", train, *FAST, *options, "--save", saved)
    assert arbora.load(saved).provenance_["reading"] == {"format": "xml", "options": {"text": "kind"}}

    def predict(*args: object) -> tuple[str, str]:
        done = CliRunner().invoke(app, ["predict", str(saved), str(new), *map(str, args)])
        assert done.exit_code == 0, done.stderr
        return done.stdout.replace(str(new), ""), done.stderr

    rows, said = predict()
    assert rows == predict("--read", "text=kind")[0]
    assert "reading xml with text=kind, as in training" in said
    assert predict("--read", "text=kind")[1] == ""
    other, said = predict("--read", "text=", "--quiet")
    assert other != rows
    assert said == "arbora: warning: the model was trained with text=kind, these trees are read with text left out\n"
    (new / "page.html").write_text("<p>")  # several formats: that of the training
    assert predict()[0] == rows
    run("encode", saved, new, "--output", tmp_path / "e.csv")
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 5
    fitted = arbora.load(saved)
    fitted.provenance_["reading"] = {"format": "documents", "options": {}}
    fitted.save(saved)
    assert len(predict()[0].splitlines()) == len(rows.splitlines()) + 1
    for path in new.glob("*.xml"):
        path.unlink()
    told, said = predict()  # one kind alone is read as in training, too
    assert len(told.splitlines()) == 2
    assert "the model was trained on" not in said


@pytest.mark.parametrize("reading", [None, [], {"format": "no"}, {"format": "xml", "options": {"max_depth": "9999"}}])
def test_a_model_of_a_stranger_cannot_lift_limits(corpus: Path, model: Path, tmp_path: Path, reading: object) -> None:
    fitted = arbora.load(model)
    fitted.provenance_["reading"] = reading
    fitted.save(tmp_path / "m.arbora")
    (tmp_path / "deep.xml").write_text("<a>" * 300 + "</a>" * 300)
    assert "max_depth" in fails("predict", tmp_path / "m.arbora", tmp_path / "deep.xml")


# ---- folders and classes --------------------------------------------------------------------------------------------


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    for name in ("a.xml", "b.svg", "c.weird", "d"):
        (tmp_path / name).write_text("<a/>")
    (tmp_path / "note.txt").write_text("words")
    (tmp_path / "tree.nwk").write_text("(a,b)c;")
    for asked in ((), ("--format", "xml")):
        done = CliRunner().invoke(app, ["info", str(tmp_path), "--json", *asked])
        facts = json.loads(done.stdout)
        assert facts["n_trees"] == 4
        assert facts["not_read"] == {".txt": 1, ".nwk" if asked else "of format newick": 1}
        told = "2 files were not read (1 .txt, 1 .nwk)" if asked else "1 file was not read (1 .txt)"
        assert f"arbora: {tmp_path}: {told}" in done.stderr.splitlines()
    done = CliRunner().invoke(app, ["info", str(tmp_path / "a.xml"), str(tmp_path / "a.xml"), "--json"])
    assert json.loads(done.stdout)["n_trees"] == 1
    assert "1 is named twice and read once" in done.stderr
    found = json.loads(run("cluster", tmp_path, "--format", "xml", *FAST, "--json"))
    assert found["not_read"] == {".txt": 1, ".nwk": 1}


@pytest.mark.parametrize("table", ["c.json", "c.parquet", "c.csv"])
def test_results_in_the_folder_are_not_its_data(tmp_path: Path, table: str) -> None:
    if table == "c.parquet":
        pytest.importorskip("pyarrow")
    for x in range(4):
        (tmp_path / f"{x}.html").write_text(f"<p>{'<b>' * x}")
    command = ("cluster", tmp_path, *FAST, "--report", tmp_path / "r.html", "--output", tmp_path / table)
    first = run(*command)
    done = CliRunner().invoke(app, list(map(str, command)))
    assert (done.exit_code, done.stdout) == (0, first)
    assert "left out" in done.stderr
    assert "that Arbora wrote" in done.stderr
    assert json.loads(run("info", tmp_path / "r.html", "--json"))["n_trees"] == 1  # asked for by name
    assert json.loads(run("info", tmp_path / "*.html", "--json"))["n_trees"] == 5


def test_tables_of_classes_are_not_data(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    rows = {"name": ['a "b"', "c"], "class": ["x", "y"], "probability": [0.5, 1.0]}
    write_table(tmp_path / "classes.json", rows)
    assert json.loads(run("info", tmp_path, "--json"))["n_trees"] == 1


def test_classes_by_folder_and_by_table(tmp_path: Path) -> None:
    for kind in ("x", "y"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{kind}1.xml").write_text("<a/>")
        (tmp_path / kind / f"{kind}2.xml").write_text("<a><b/></a>")
    facts = json.loads(run("info", tmp_path, "--classes", "folder", "--json"))
    assert facts["classes"] == {"x": 2, "y": 2}
    assert json.loads(run("info", tmp_path, "--json"))["classes"] is None
    table = tmp_path / "t.csv"
    table.write_text(f"class,name\none,x1.xml\none,{tmp_path}/x/x2.xml\ntwo,y1.xml\ntwo,y2.xml\n")
    assert json.loads(run("info", tmp_path, "--classes", table, "--json"))["classes"] == {"one": 2, "two": 2}
    assert "adjusted Rand index" in run("cluster", tmp_path, *FAST, "--classes", table)
    run("convert", tmp_path, tmp_path / "t.jsonl", "--classes", "folder", "--format", "xml")
    assert read(tmp_path / "t.jsonl").target.tolist() == ["x", "x", "y", "y"]
    table.write_text("name,class\nx1.xml,one\nx2.xml,two\ny1.xml,two\nghost.xml,two\n")
    done = CliRunner().invoke(app, ["info", str(tmp_path / "x"), "--classes", str(table)])
    assert "rows for trees that are not here, ghost.xml and 1 other; they are not used" in done.stderr
    table.write_text("name,class\nx1.xml,one\nx2.xml,\n")
    said = fails("info", tmp_path / "x", tmp_path / "y", "--classes", table)
    assert "x2.xml and 2 others; " in said
    table.write_text("x1.xml,one\n")
    assert "wanted a table with the columns name and class" in fails("info", tmp_path / "x", "--classes", table)
    for text, told in (
        ('"a.xml,one\nb.xml,two\n', "line 2: not a row of a table"),
        ('"a.xml,one\nb.xml",two\n', "line 2: a quoted cell continues to line 3"),
        ("a.xml,one\nb.xml\n", "line 3: 1 cells; wanted 2"),
        ("a.xml,one\na.xml,two\n", "line 3: 'a.xml' is of class 'two', and of 'one' before"),
    ):
        table.write_text("name,class\n" + text)
        assert told in fails("info", tmp_path / "x", "--classes", table)
    assert "wanted folder, or FILE.csv" in " ".join(fails("info", tmp_path / "x", "--classes", "dir", code=2).split())
    (tmp_path / "two.nwk").write_text("(a,b)c; (a)c;")
    facts = json.loads(run("info", tmp_path / "two.nwk", "--classes", "folder", "--json"))
    assert facts["classes"] == {tmp_path.name: 2}


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
    assert html.count("<script") == 2  # the data and our own
    assert EVIL not in html
    assert "<b>" not in html
    assert any(name.endswith(f"{EVIL}.xml") for name in page_data(html)["items"]["name"])
    assert page_data(html)["classes"] == ["<b>x</b>", EVIL, "y"]
    assert "\x1b" not in html + text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert set(re.findall(r'(?:src|href)="([^"]*)"', html)) == {"#main"}


def test_a_file_of_an_evil_name_is_read_and_told(tmp_path: Path) -> None:
    (tmp_path / "<script>alert(1)<").mkdir()
    (tmp_path / "<script>alert(1)<" / "script>.xml").write_text("<a><b/></a>")
    (tmp_path / "good.xml").write_text("<a/>")
    page = tmp_path / "r.html"
    run("cluster", tmp_path, *FAST, "--report", page)
    html = page.read_text()
    assert html.count("<script") == 2
    assert "<script>alert(1)</script>.xml" in page_data(html)["items"]["name"]


def test_the_page_holds_manifest_and_the_hashes_of_its_policy(corpus: Path, tmp_path: Path) -> None:
    import base64
    import hashlib

    page = tmp_path / "r.html"
    run("cluster", corpus, *FAST, "--report", page, "--seed", 3)
    html = page.read_text()
    for tag in ("style", "script"):
        found = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in html
    assert "&quot;seed&quot;: 3" in html
    assert "data_sha256" in html
    assert " style=" not in html
    assert page_data(html)["items"]["name"] == read(corpus).name.tolist()
    assert 'class="warn" role' not in html
    run("cluster", corpus, "-k", 2, "--max-iter", 2, "--init", "random", "--report", page)
    assert "<span>EM had not converged after 2 iterations.</span>" in page.read_text()


def test_a_page_lists_so_many_trees_and_says_so(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arbora.report import columns

    monkeypatch.setattr(columns, "MAX_ITEMS", 7)
    run("cluster", corpus, *FAST, "--report", tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text()
    assert "7 of 40 trees, evenly spread, are on the map and in the list." in html
    assert len(page_data(html)["items"]["name"]) == len(page_data(html)["map"]["x"]) == 7


def test_report_of_a_saved_model(corpus: Path, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    run("report", model, corpus, "-o", page)
    saved = page_data(page.read_text())
    run("cluster", corpus, *FAST, "--report", page)
    fitted = page_data(page.read_text())
    assert saved == fitted
    assert "must end in" in fails("report", model, corpus, "-o", tmp_path / "x.csv", code=2)
    assert "x: the file cannot be opened (no such file or directory)" in fails(
        "report", model, corpus, "-o", page, "--names", "x"
    )


@pytest.mark.parametrize(
    ("lift", "elsewhere", "wanted"),
    [
        (1.52, 3, "a 1.5 times (9)"),
        (31.7, 3, "a 32 times (9)"),
        (431.2, 1, "a over 100 times (9)"),
        (50, 0, "a only here (9)"),
    ],
)
def test_lifts_are_rounded(lift: float, elsewhere: int, wanted: str) -> None:
    from arbora.evaluate.traits import Trait
    from arbora.evaluate.wording import trait_text

    assert trait_text(Trait("a", 9, elsewhere, lift)) == wanted


def test_report_without_matplotlib(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arbora.cli import files

    monkeypatch.setattr(files, "has_package", lambda name: name != "matplotlib")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = CliRunner().invoke(app, ["cluster", str(corpus), *FAST, "--report", str(tmp_path / "r.html")])
    assert done.exit_code == 0
    assert page_data((tmp_path / "r.html").read_text())["map"]["x"]
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
    assert len(result["summary"]["clusters"]) in (5, 6)  # entries come in two forms
    assert (folder / "clusters.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "file").write_text("")
    assert "this is a file" in fails("demo", "--output", tmp_path / "file")


def test_info_of_a_store_goes_through_it_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forest = make_documents(30, random_state=0)
    forest.save(tmp_path / "a.forest")
    store = arbora.ForestStore.write(forest, tmp_path / "a.store", shard_nodes=200)
    assert len(store.entries) > 2
    monkeypatch.setattr(arbora.ForestStore, "to_forest", None)  # it would fail
    whole, parts = (json.loads(run("info", tmp_path / name, "--json")) for name in ("a.forest", "a.store"))
    counted = ("n_files", "n_distinct_trees", "n_distinct_subtrees")  # trees of two files may be the same
    assert {key: value for key, value in parts.items() if key not in counted} == {
        key: value for key, value in whole.items() if key not in counted
    }
    assert (whole["n_files"], parts["n_files"]) == (1, len(store.entries))
    assert whole["n_distinct_subtrees"] <= parts["n_distinct_subtrees"] <= forest.n_nodes
    assert "file by file" in run("info", tmp_path / "a.store")
