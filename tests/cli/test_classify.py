"""The commands that classify: what they print and write, that every option changes what it names, and bad input."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import arbora
from arbora.cli import app, class_options
from arbora.cli.scores import class_facts
from arbora.datasets import make_documents
from arbora.io import read, write_jsonl
from arbora.models.hidden_tree.encoding import ENCODINGS
from tests.cli.test_commands import fails, run
from tests.pages import page_data

FAST = ("--components", "4", "--states", "2", "--max-iter", "4", "--readout", "logistic", "--folds", "2")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "trees.jsonl"
    write_jsonl(make_documents(8, random_state=0), path)
    return path


@pytest.fixture(scope="module")
def classifier(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "c.arbora"
    done = CliRunner().invoke(app, ["train-classifier", str(corpus), *FAST, "--save", str(path)])
    assert done.exit_code == 0, (done.stderr, done.exception)
    return path


@pytest.mark.parametrize("name", ["train-classifier", "classify"])
def test_help_has_examples(name: str) -> None:
    text = run(name, "--help")
    assert "Examples:" in text
    assert f"arbora {name} " in text
    assert name in run("--help")


def test_the_choices_are_those_of_the_library() -> None:
    assert [choice.value for choice in class_options.Encoding] == list(ENCODINGS)


def test_training_tells_what_held_out_trees_were_given(corpus: Path, tmp_path: Path) -> None:
    table, model = tmp_path / "held.csv", tmp_path / "m.arbora"
    text = run("train-classifier", corpus, *FAST, "--output", table, "--save", model)
    assert "40 trees, 5 classes" in text
    assert "known \\ given" in text
    assert "precision" in text
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 40
    error = np.mean([row["class"] != row["known"] for row in rows])
    facts = json.loads(run("train-classifier", corpus, *FAST, "--json"))
    assert facts["error"] == error
    assert facts["by_class"]["recipe"]["trees"] == 8
    assert np.sum(facts["confusion"]["table"]) == 40
    assert arbora.load(model).score(read(corpus)) > 0.9


def test_every_option_of_training_changes_what_it_names(corpus: Path, tmp_path: Path) -> None:
    def trained(*options: object) -> dict[str, object]:
        path = tmp_path / "m.arbora"
        run("train-classifier", corpus, "--max-iter", 2, "--folds", 0, *options, "--save", path)
        return arbora.load(path).get_params()

    base = trained()
    assert (base["readout"], base["encoder__n_components"], base["encoder__n_states"]) == ("auto", 10, 4)
    assert (base["encoder__encoding"], base["hidden_units"], base["encoder__max_iter"]) == ("score", 100, 2)
    assert (base["calibration"], base["class_weight"], base["novelty"], base["random_state"]) == (None, None, 0.01, 0)
    small = ("--components", 2, "--states", 2)
    assert trained(*small, "--readout", "logistic")["readout"] == "logistic"
    changed = trained(*small, "--encoding", "sum", "--hidden", "3", "--balanced", "--novelty", 0.2, "--seed", 7)
    assert (changed["encoder__n_components"], changed["encoder__n_states"]) == (2, 2)
    assert (changed["encoder__encoding"], changed["hidden_units"], changed["class_weight"]) == ("sum", 3, "balanced")
    assert (changed["novelty"], changed["random_state"]) == (0.2, 7)
    assert trained(*small, "--readout", "logistic", "--calibrate")["calibration"] == "temperature"
    assert trained(*small, "--hidden", "2,3")["hidden_units"] == [2, 3]
    single = trained("--readout", "generative", "--states", 2)
    assert single["model__n_states"] == 2
    assert "model__n_components" not in single
    assert trained("--readout", "generative", *small)["model__n_components"] == 2


def test_training_reads_patterns_unless_a_mixture_is_asked_for(corpus: Path, tmp_path: Path) -> None:
    def trained(*options: object) -> arbora.TreeClassifier:
        path = tmp_path / "m.arbora"
        run("train-classifier", corpus, "--folds", 0, *options, "--save", path)
        return arbora.load(path)

    plain = trained()
    assert isinstance(plain.encoder_, arbora.TreePatterns)
    assert (plain.readout, type(plain.readout_).__name__) == ("auto", "LogisticRegression")
    run("encode", tmp_path / "m.arbora", corpus, "--output", tmp_path / "c.npz", "--jobs", 1)
    assert sparse.load_npz(tmp_path / "c.npz").shape == (40, plain.encoder_.n_features_out_)
    run("report", tmp_path / "m.arbora", corpus, "-o", tmp_path / "r.html")
    shown = page_data((tmp_path / "r.html").read_text())
    assert len(shown["map"]["x"]) == 40
    assert shown["parameters"] is None
    assert type(trained("--readout", "mlp", "--hidden", 3).readout_).__name__ == "MLPClassifier"
    for asked in (("--encoder", "mixture", "--hidden", 2), ("--states", 2, "--max-iter", 2, "--hidden", 2)):
        mixed = trained(*asked)
        assert isinstance(mixed.encoder_, arbora.HiddenTreeMixture)
        assert type(mixed.readout_).__name__ == "MLPClassifier"
    for option in (("--states", 2), ("--components", 3), ("--max-iter", 2), ("--encoding", "sum")):
        told = fails("train-classifier", corpus, "--encoder", "patterns", *option, code=2)
        assert "patterns have none" in told
        assert option[0] in told
    assert "has no hidden units" in fails("train-classifier", corpus, "--hidden", 3, code=2)
    fails("train-classifier", corpus, "--readout", "generative", "--encoder", "mixture", code=2)


def test_classify_gives_classes_and_scores(corpus: Path, classifier: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["classify", str(classifier), str(corpus)])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 40
    model = arbora.load(classifier)
    forest = read(corpus)
    assert [row["class"] for row in rows] == model.predict(forest).tolist()
    np.testing.assert_allclose([float(row["probability"]) for row in rows], model.predict_proba(forest).max(axis=1))
    np.testing.assert_allclose([float(row["surprise"]) for row in rows], model.surprise(forest))
    assert {row["known"] for row in rows} == set(forest.target.tolist())
    assert "error" in done.stderr
    assert json.loads(run("classify", classifier, corpus, "--json"))[0]["class"] == rows[0]["class"]
    text = run("classify", classifier, corpus, "--output", tmp_path / "rows.csv")
    assert "known \\ given" in text
    assert len(list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))) == 40
    facts = json.loads(run("classify", classifier, corpus, "--output", tmp_path / "rows.json", "--json"))
    assert sum(facts["sizes"].values()) == 40
    assert facts["classes_never_trained"] == []


def test_classify_writes_a_page(corpus: Path, classifier: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    facts = json.loads(run("classify", classifier, corpus, "--report", page, "--output", tmp_path / "c.csv", "--json"))
    shown = page_data(page.read_text())
    assert shown["scores"]["table"] == facts["confusion"]["table"]
    assert shown["novel"]["n"] == facts["n_novel"]
    run("report", classifier, corpus, "-o", tmp_path / "s.html")
    assert page_data((tmp_path / "s.html").read_text()) == shown


def test_novel_trees_and_unknown_classes_are_told(classifier: Path, tmp_path: Path) -> None:
    strange = arbora.Forest.from_nested([("zebra", ["lion", ("gnu", ["emu"])])] * 2, target=["zoo", "zoo"])
    write_jsonl(strange, tmp_path / "new.jsonl")
    done = CliRunner().invoke(app, ["classify", str(classifier), str(tmp_path / "new.jsonl")])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["novel"] for row in rows] == ["true", "true"]
    assert rows[0]["nodes_with_unseen_label"] == "4"
    assert "2 trees unlike those of the training" in done.stderr
    assert done.stderr.count("labels never seen in training") == 1
    assert "known classes that the classifier has never seen: zoo" in done.stderr
    lax = json.loads(run("classify", classifier, tmp_path / "new.jsonl", "--json", "--novelty", 0))
    strict = json.loads(run("classify", classifier, tmp_path / "new.jsonl", "--json", "--novelty", 1))
    assert all(row["novel"] for row in strict)
    assert len(lax) == 2


def test_classes_by_folder(tmp_path: Path) -> None:
    for name, tag in (("one", "a"), ("two", "b")):
        (tmp_path / name).mkdir()
        for x in range(4):
            (tmp_path / name / f"{x}.xml").write_text(f"<{tag}>{'<c/>' * (x + 1)}</{tag}>")
    text = run("train-classifier", tmp_path, "--classes", "folder", *FAST, "--save", tmp_path / "m.arbora")
    assert "8 trees, 2 classes" in text
    facts = run("classify", tmp_path / "m.arbora", tmp_path / "one", "--classes", "folder", "--json")
    assert [row["class"] for row in json.loads(facts)] == ["one"] * 4
    reading = arbora.load(tmp_path / "m.arbora").provenance_["reading"]
    assert reading["format"] == "xml"


@pytest.mark.parametrize("readout", ["generative", "logistic", "mlp"])
def test_small_classes_are_no_dead_end(readout: str, tmp_path: Path) -> None:
    trees, model = tmp_path / "trees.jsonl", tmp_path / "m.arbora"
    few = [("a", ["b"] * (x % 3 + 1)) for x in range(9)]
    for n in (1, 2):
        write_jsonl(arbora.Forest.from_nested([*few, *[("c", ["d"])] * n], target=["x"] * 9 + ["y"] * n), trees)
        options = ["--readout", readout, "--states", "2", "--max-iter", "3", "--components", "1", "--save", str(model)]
        done = CliRunner().invoke(app, ["train-classifier", str(trees), *options])
        assert done.exit_code == 0, done.stderr
        assert ("the class y has 1 tree, so no tree is held out" in done.stderr) == (n == 1)
        assert ("the class y has 2 trees, so 2 parts are held out in turn" in done.stderr) == (n == 2)
        assert done.stderr.count("novel trees cannot be detected; have 3 or more of each") == (readout == "generative")
        rows = json.loads(run("classify", model, trees, "--json"))
        assert len(rows) == 9 + n
        assert {row["class"] for row in rows[:9]} == {"x"}
        assert ("novel" in rows[0]) == (readout != "generative")
    if readout == "generative":
        assert "cannot detect novel trees" in fails("classify", model, trees, "--novelty", 0.1, code=2)
        text = fails("train-classifier", trees, "--readout", "generative", "--folds", 0, "--calibrate")
        assert "holds out trees of every class in turn, and a class has 2 trees" in text


def test_bad_input(corpus: Path, classifier: Path, tmp_path: Path) -> None:
    write_jsonl(arbora.Forest.from_nested(["a", ("a", ["b"])] * 4), tmp_path / "bare.jsonl")
    assert "--classes folder" in fails("train-classifier", tmp_path / "bare.jsonl")
    write_jsonl(arbora.Forest.from_nested(["a", "b"], target=["x", "x"]), tmp_path / "one.jsonl")
    assert "all trees are of the class x" in fails("train-classifier", tmp_path / "one.jsonl")
    fails("train-classifier", corpus, "--folds", 9, code=2)
    fails("train-classifier", corpus, "--folds", 1, code=2)
    fails("train-classifier", corpus, "--hidden", "none", code=2)
    fails("train-classifier", corpus, "--readout", "logistic", "--hidden", 3, code=2)
    fails("train-classifier", corpus, "--readout", "generative", "--encoding", "sum", code=2)
    fails("train-classifier", corpus, "--folds", 0, "--output", tmp_path / "held.csv", code=2)
    fails("train-classifier", corpus, "--save", corpus, code=2)
    assert "arbora classify gives trees their classes" in fails("predict", classifier, corpus)
    run("cluster", corpus, "--components", 2, "--states", 2, "--max-iter", 2, "--save", tmp_path / "clusters.arbora")
    assert "this is no classifier; arbora predict" in fails("classify", tmp_path / "clusters.arbora", corpus)
    assert "not a model file" in fails("classify", corpus, corpus)


def test_encode_follows_the_model_and_its_option(corpus: Path, classifier: Path, tmp_path: Path) -> None:
    model = arbora.load(classifier)
    forest = read(corpus)
    run("encode", classifier, corpus, "--output", tmp_path / "c.npz")
    assert np.array_equal(sparse.load_npz(tmp_path / "c.npz").toarray(), model.transform(forest).toarray())
    run("encode", classifier, corpus, "--output", tmp_path / "c.npz", "--encoding", "weighted")
    weighted = model.encoder_.set_params(encoding="weighted").transform(forest).toarray()
    assert np.array_equal(sparse.load_npz(tmp_path / "c.npz").toarray(), weighted)
    run(
        "train-classifier",
        corpus,
        "--readout",
        "generative",
        "--max-iter",
        2,
        "--folds",
        0,
        "--save",
        tmp_path / "g.arbora",
    )
    assert "holds no mixture that encodes" in fails(
        "encode", tmp_path / "g.arbora", corpus, "--output", tmp_path / "g.npz"
    )


def test_classes_that_are_numbers_come_in_their_order() -> None:
    facts = class_facts(["10", "2", "x"], ["2", "10", "1"])
    assert facts["confusion"]["classes"] == ["1", "2", "10", "x"]
    assert facts["confusion"]["table"] == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]


def test_class_facts_by_hand() -> None:
    facts = class_facts(["a", "a", "b", "c"], ["a", "b", "b", "b"])
    assert facts["error"] == 0.5
    assert facts["confusion"] == {"classes": ["a", "b", "c"], "table": [[1, 1, 0], [0, 1, 0], [0, 1, 0]]}
    assert facts["by_class"]["b"] == pytest.approx({"trees": 1, "precision": 1 / 3, "recall": 1.0, "f1": 0.5})
    assert facts["mean_f1"] == pytest.approx((2 / 3 + 0.5 + 0.0) / 3)
