"""XML, HTML and JSON side by side, as one forest."""

import json
import logging

import pytest

import arbora as ab
from arbora.errors import SkippedFilesWarning
from arbora.io import read, read_documents, read_html, read_json, read_xml
from arbora.models.patterns.naming import name_groups

XML = {"a.xml": "<a><b/>t</a>", "c.svg": "<svg><path/><path/></svg>", "n.xml": '<x:a xmlns:x="u" k="v"><x:b/></x:a>'}
HTML = {"p.html": "<html><p>one<p>two", "q": "<!doctype html><body><h1>x</h1>"}
JSON = {"d.json": '{"k": [1, true], "svg": "s"}', "e.json": "[]"}


@pytest.fixture
def mixed(tmp_path):
    for name, text in {**XML, **HTML, **JSON}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (tmp_path / "note.txt").write_text("some words")
    return tmp_path


@pytest.mark.parametrize("options", [{}, {"attributes": True, "text": "kind", "scalars": "value"}])
def test_each_document_is_as_its_own_reader_has_it(mixed, options):
    forest = read_documents(mixed, **options)
    markup = {key: value for key, value in options.items() if key != "scalars"}
    for reader, names in (
        (lambda path: read_xml(path, **markup), XML),
        (lambda path: read_html(path, **markup), HTML),
        (lambda path: read_json(path, scalars=options.get("scalars", "kind")), JSON),
    ):
        for name in names:
            at = forest.name.tolist().index(str(mixed / name))
            assert forest[at] == reader(mixed / name)[0], name
    assert forest.n_trees == len(XML) + len(HTML) + len(JSON)


def test_read_takes_them_together_and_says_so(mixed, caplog):
    with caplog.at_level(logging.WARNING):
        forest = read(mixed)
    assert forest == read_documents(mixed)
    assert "reading 3 xml, 2 json, 2 html files side by side; format xml reads those alone" in caplog.text
    assert read(mixed, "xml").n_trees == len(XML)
    (mixed / "t.nwk").write_text("(a,b)c;")
    with pytest.raises(ab.ReadError, match=r"several formats \(html, json, newick, xml\)"):
        read(mixed)


def test_a_bad_document_takes_no_other_with_it(mixed):
    whole = read_documents(mixed)
    for name, text in (("b.xml", "<a><b></a>"), ("e.html", "<div>" * 300), ("z.json", '{"a": ')):
        (mixed / name).write_text(text)
        with pytest.raises(ab.ReadError, match=name):
            read_documents(mixed)
        with pytest.warns(SkippedFilesWarning, match="1 bad file"):
            assert read_documents(mixed, on_error="skip") == whole
        (mixed / name).unlink()
    with pytest.raises(ab.ReadError, match="neither name nor content shows XML, HTML or JSON"):
        read_documents(mixed / "note.txt")


def test_artefacts_are_in_the_notation_of_their_group(tmp_path):
    for n in range(12):
        (tmp_path / f"{n}.json").write_text(json.dumps({"name": "x", "size": [n]}))
        (tmp_path / f"{n}.xml").write_text(f"<page><head/>{'<p/>' * (1 + n % 3)}</page>")
    (tmp_path / "0.xml").write_text("<odd/>")  # among the JSON
    forest = read(tmp_path)
    in_xml = [str(name).endswith(".xml") and not str(name).endswith("/0.xml") for name in forest.name]
    in_json, xml = ab.describe_clusters(forest, [int(one) for one in in_xml])
    assert (in_json.paths.notation, xml.paths.notation) == ("JSONPath", "XPath")
    assert xml.paths.expression == "boolean(/page)"
    assert xml.json_schema is None
    assert in_json.json_schema["required"] == ["name", "size"]
    assert in_json.coverage["schema"].own == pytest.approx(12 / 13)  # <odd/> does not pass
    assert in_json.coverage["schema"].elsewhere == 0
    assert all("page" not in condition.path for condition in in_json.paths.conditions)


def test_names_and_rules_are_in_the_notation_of_their_documents(tmp_path):
    for n in range(8):
        (tmp_path / f"{n}.json").write_text(json.dumps({"name": "x", "more": {"size": n}}))
        (tmp_path / f"{n}.xml").write_text("<svg><g><path/><path/></g></svg>")
    forest = read(tmp_path)
    in_json = [int(str(name).endswith(".json")) for name in forest.name]
    xml, own = name_groups(forest, in_json, n=8)
    assert any(pattern.text == "svg(g(path, path))" for pattern in xml.patterns)
    assert not any(":" in pattern.text for pattern in xml.patterns)
    assert xml.skeleton_text == "svg(g(path, path))"
    assert own.skeleton_text == "{name: string, more: {...}}"
    assert own.patterns
    assert not any("(" in pattern.text for pattern in own.patterns)
