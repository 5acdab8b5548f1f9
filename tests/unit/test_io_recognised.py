"""Files whose name says less than how they begin: traces, decision trees and arrays of records called .json."""

import gzip
import json

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.io.sniffing import format_of

OTLP = [
    {"traceId": t, "spanId": s, "parentSpanId": p, "name": s, "startTimeUnixNano": "1"}
    for t in "tu"
    for s, p in [("a", ""), ("b", "a")]
]
OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": OTLP}]}]}
SPAN = {"traceID": "t", "spanID": "a", "operationName": "GET", "startTime": 1, "duration": 5, "processID": "p"}
JAEGER = {"traceID": "t", "spans": [SPAN], "processes": {"p": {"serviceName": "shop"}}}
SPLIT = {
    "nodeid": 0,
    "split": "f0",
    "yes": 1,
    "no": 2,
    "children": [{"nodeid": 1, "leaf": 1}, {"nodeid": 2, "leaf": 2}],
}
LIGHTGBM = {
    "name": "tree",
    "max_feature_idx": 0,
    "feature_names": ["x"],
    "tree_info": [{"tree_structure": {"leaf_value": 1.0}}],
}
RECORDS = [{"id": n, "tags": ["x"] * n} for n in range(5)]


@pytest.mark.parametrize(
    ("value", "format", "n_trees"),
    [
        (OTLP, "traces", 2),
        ({"data": [JAEGER]}, "traces", 1),
        ({"total": 0, "errors": None, "data": [JAEGER]}, "traces", 1),
        (JAEGER, "traces", 1),
        ([SPLIT, SPLIT], "decisions", 2),
        (LIGHTGBM, "decisions", 1),
        (RECORDS, "json", 5),
        ({"data": [{"traceID": "t", "spans": 3}], "operationName": "a query of GraphQL"}, "json", 1),
        ({"nodeid": 3, "learner": "me", "resourceSpans": "words"}, "json", 1),
        ({"log": OTLP}, "json", 1),
    ],
)
@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
def test_the_beginning_of_a_file_called_json_decides(tmp_path, value, format, n_trees, name):
    data = json.dumps(value, indent=1).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert format_of(str(path)) == format
    assert ab.read(path).n_trees == n_trees


def test_lines_of_traces_are_no_documents(tmp_path, caplog):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(OTLP) + "\n" + json.dumps(OTLP).replace('"t"', '"v"').replace('"u"', '"w"'))
    assert ab.read(path).n_trees == 4
    assert "it begins like the format traces, and is read so and not as jsonl" in caplog.text


def test_whoever_asks_for_documents_gets_them_and_a_word(tmp_path, caplog):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(OTLP))
    assert ab.read_json(path).n_trees == 1
    assert "1 of the files read as documents of JSON seem to be traces; format=traces reads them so" in caplog.text
    caplog.clear()
    assert ab.read_json(path, label="spanId").n_trees == 4
    assert not caplog.text


def test_an_array_of_records_is_taken_apart_unless_told_otherwise(tmp_path, caplog):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(RECORDS))
    assert ab.read(path).n_trees == 5
    assert "it seems to hold several trees, so it is read with unit=item" in caplog.text
    assert ab.read(path, unit="file").n_trees == ab.read_json(path).n_trees == 1
    assert ab.read(path, label="id").n_trees == 5
    (tmp_path / "y.json").write_text("{}")
    assert ab.read(tmp_path).n_trees == 2  # a folder of documents


def run(*words):
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_commands_read_records_and_models_keep_how_they_were_trained(tmp_path):
    records, folder = tmp_path / "x.json", tmp_path / "documents"
    records.write_text(json.dumps(RECORDS))
    folder.mkdir()
    for n in range(4):
        (folder / f"{n}.json").write_text(json.dumps(RECORDS[: n + 1]))
    assert run("info", records)["n_trees"] == 5
    assert run("info", records, "--read", "unit=file")["n_trees"] == 1
    of_records, of_documents = tmp_path / "records.arbora", tmp_path / "documents.arbora"
    assert run("cluster", records, "--save", of_records)["provenance"]["n_trees"] == 5
    assert run("cluster", folder, "--save", of_documents)["provenance"]["n_trees"] == 4
    assert ab.load(of_records).provenance_["reading"]["options"] == {"unit": "item"}
    assert len(run("predict", of_records, folder / "3.json")) == 4
    assert len(run("predict", of_documents, records)) == 1
