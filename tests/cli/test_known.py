"""arbora cluster --known, --constraints and --steer: what is known holds in the result, and in the model file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for i in range(6):
        (folder / f"a{i}.xml").write_text("<a><b/><c/></a>")
        (folder / f"d{i}.xml").write_text("<d><e/><e/><f/></d>")
    return folder


def invoke(corpus: Path, *options: object) -> tuple[int, str]:
    fast = ["--sweeps", "2", "--chains", "1", "--save", str(corpus.parent / "m.arbora")]
    done = CliRunner().invoke(app, ["cluster", str(corpus), *fast, *map(str, options)])
    return done.exit_code, " ".join(done.stderr.split())


def fitted(corpus: Path, *options: object) -> ab.PatternMixture:
    code, said = invoke(corpus, *options)
    assert code == 0, said
    return ab.load(corpus.parent / "m.arbora")


def test_what_is_known_holds_and_is_kept(corpus: Path) -> None:
    free = fitted(corpus).labels_
    assert free[0] == free[1] == free[2] != free[6]
    table, pairs = corpus.parent / "some.csv", corpus.parent / "pairs.json"
    table.write_text("name,class\na0.xml,one\na1.xml,two\n")
    model = fitted(corpus, "--known", table)
    assert model.labels_[0] != model.labels_[1]
    assert set(model.class_groups_) == {"one", "two"}
    pairs.write_text(json.dumps({"must_link": [["a0.xml", "d0.xml"]], "cannot_link": [["a1.xml", "a2.xml"]]}))
    model = fitted(corpus, "--constraints", pairs)
    assert model.labels_[0] == model.labels_[6]
    assert model.labels_[1] != model.labels_[2]
    assert model.constraints_["must_link"].tolist() == [[0, 6]]
    assert model.constraints_["cannot_link"].tolist() == [[1, 2]]


def test_rows_without_a_tree_are_told(corpus: Path) -> None:
    table = corpus.parent / "some.csv"
    table.write_text("name,class\na0.xml,one\nghost.xml,two\n")
    code, said = invoke(corpus, "--known", table)
    assert code == 0
    assert "no tree is called ghost.xml" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[]", "wanted"),
        ('{"must": []}', "wanted"),
        ('{"must_link": 3}', "wanted lists"),
        ('{"must_link": [["a0.xml"]]}', "is no pair"),
        ('{"must_link": [["a0.xml", "ghost.xml"]]}', "no tree is called 'ghost.xml'"),
        ('{"must_link": [["a0.xml", "a1.xml"]], "cannot_link": [["a0.xml", "a1.xml"]]}', "cannot_link (0, 1)"),
    ],
)
def test_bad_constraints_are_refused(corpus: Path, text: str, says: str) -> None:
    pairs = corpus.parent / "pairs.json"
    pairs.write_text(text)
    code, said = invoke(corpus, "--constraints", pairs)
    assert code == 1
    assert says in said


def test_two_trees_of_one_short_name_are_refused(corpus: Path) -> None:
    (corpus / "more").mkdir()
    (corpus / "more" / "a0.xml").write_text("<a><b/></a>")
    pairs = corpus.parent / "pairs.json"
    pairs.write_text('{"must_link": [["a0.xml", "a1.xml"]]}')
    code, said = invoke(corpus, "--constraints", pairs)
    assert code == 1
    assert "2 trees are called 'a0.xml'" in said


def test_other_models_refuse_it(corpus: Path) -> None:
    code, said = invoke(corpus, "--known", "some.csv", "--model", "grammar")
    assert code == 2
    assert "--known" in said


def test_steps_are_taken_and_taken_again_from_the_model(corpus: Path) -> None:
    steps = corpus.parent / "steps.json"
    file = {
        "known": {"a0.xml": "one", "a1.xml": "two"},
        "must_link": [["a2.xml", "a3.xml"]],
        "moves": [{"split": [["d0.xml", "d1.xml"], ["d2.xml"]]}, {"merge": ["d0.xml", "a0.xml"]}],
    }
    steps.write_text(json.dumps(file))
    model = fitted(corpus, "--steer", steps)
    label = model.labels_
    assert label[0] != label[1]
    assert label[2] == label[3]
    assert label[6] == label[7] == label[0] != label[8]
    assert model.moves_ == [{"split": [[6, 7], [8]]}, {"merge": [0, 6]}]
    kept = corpus.parent / "kept.arbora"
    model.save(kept)
    again = fitted(corpus, "--steer", kept)
    assert (again.labels_ == label).all()
    assert again.moves_ == model.moves_
    assert fitted(corpus, "--steer", kept, "--components", 3).moves_ == model.moves_
    (corpus / "z.xml").write_text("<a/>")
    code, said = invoke(corpus, "--steer", kept)
    assert code == 1
    assert "other trees" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("{}", "wanted"),
        ('{"moves": [{"join": ["a0.xml", "a1.xml"]}]}', "is no move"),
        ('{"moves": [{"merge": "a0.xml"}]}', "wanted names"),
        ('{"moves": [{"merge": ["a0.xml", "ghost.xml"]}]}', "ghost.xml"),
        ('{"known": [["a0.xml", "one"]]}', "wanted classes"),
        ('{"known": {"a0.xml": "x", "a0.xml": "y"}}', "two members 'a0.xml'"),
        ('{"known": {"a0.xml": "x", "FOLDER/a0.xml": "y"}}', "by another name"),
        ('{"known": {"a0.xml": "x", "a1.xml": "y"}, "moves": [{"merge": ["a0.xml", "a1.xml"]}]}', "take out"),
    ],
)
def test_bad_steps_are_refused(corpus: Path, text: str, says: str) -> None:
    steps = corpus.parent / "steps.json"
    steps.write_text(text.replace("FOLDER", str(corpus)))
    code, said = invoke(corpus, "--steer", steps)
    assert code in (1, 2)
    assert says in said


def test_one_thing_is_said_in_one_place(corpus: Path) -> None:
    steps, table = corpus.parent / "steps.json", corpus.parent / "some.csv"
    steps.write_text('{"known": {"a0.xml": "one"}}')
    table.write_text("name,class\na0.xml,one\n")
    code, said = invoke(corpus, "--steer", steps, "--known", table)
    assert code == 2
    assert "use one" in said


@pytest.mark.parametrize("model", ["mixture -k 3 --states 2 --max-iter 5", "infinite --states 2 --sweeps 3 --chains 1"])
def test_mixtures_of_hidden_trees_take_them_too(corpus: Path, model: str) -> None:
    table, pairs = corpus.parent / "some.csv", corpus.parent / "pairs.json"
    table.write_text("name,class\na0.xml,one\nd0.xml,two\n")
    pairs.write_text(json.dumps({"cannot_link": [["a1.xml", "a2.xml"]]}))
    fast = ["--model", *model.split()]
    save = corpus.parent / "h.arbora"
    words = ["cluster", str(corpus), *fast, "--known", str(table), "--constraints", str(pairs), "--save", str(save)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    found = ab.load(save)
    assert set(found.class_groups_) == {"one", "two"}
    assert found.labels_[1] != found.labels_[2]
