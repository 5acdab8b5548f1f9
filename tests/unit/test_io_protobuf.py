"""OTLP in protobuf: messages by hand, and the same spans as in JSON."""

import json

import pytest

import arbora as ab
from arbora.io import read_traces


def number(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(*fields):
    """Fields as (number, value): bytes and text with their length, whole numbers as such, floats as eight bytes."""
    out = b""
    for key, value in fields:
        if isinstance(value, int):
            out += number(key << 3) + number(value)
        elif isinstance(value, float):
            out += number(key << 3 | 1) + int(value).to_bytes(8, "little")
        else:
            value = value.encode() if isinstance(value, str) else value
            out += number(key << 3 | 2) + number(len(value)) + value
    return out


TRACE, ROOT, CHILD = bytes(range(16)), b"\1" * 8, b"\2" * 8
ATTRIBUTE = message((1, "service.name"), (2, message((1, "shop"))))
SPANS = [
    message((1, TRACE), (2, ROOT), (5, "GET"), (6, 2), (7, 1e9), (8, 3e9), (15, message((2, "why"), (3, 2)))),
    message((1, TRACE), (2, CHILD), (4, ROOT), (5, "query"), (6, 3), (7, 2e9), (8, 3e9), (9, ATTRIBUTE), (99, 7)),
]


def traces(*spans):
    resource = message((1, message((1, ATTRIBUTE))), (2, message((1, b""), *((2, span) for span in spans))))
    return message((1, resource))


def framed(*messages):
    return b"".join(len(one).to_bytes(4, "big") + one for one in messages)


WHOLE = traces(*SPANS)


@pytest.mark.parametrize("data", [WHOLE, framed(WHOLE), framed(traces(SPANS[1]), traces(SPANS[0]))])
def test_spans_of_protobuf(data, tmp_path):
    (tmp_path / "a.otlp.pb").write_bytes(data)
    forest = ab.read(tmp_path / "a.otlp.pb", content=True)
    assert [node["label"] for node in (forest[0], forest[0]["children"][0])] == ["shop:GET", "shop:query"]
    assert forest.content["duration"].nested(0, 2) == [1.0, 2.0]
    assert forest.content["kind"].nested(0, 2) == ["client", "server"]
    assert forest.content["status"].nested(0, 2) == [None, "error"]
    assert forest.name[0].endswith(f"#{TRACE.hex()}")


def test_the_same_trees_as_in_json(tmp_path):
    spans = [
        {"traceId": TRACE.hex(), "spanId": ROOT.hex(), "name": "GET", "startTimeUnixNano": "1", "endTimeUnixNano": "3"},
        {
            "traceId": TRACE.hex(),
            "spanId": CHILD.hex(),
            "parentSpanId": ROOT.hex(),
            "name": "query",
            "startTimeUnixNano": 2,
        },
    ]
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    document = {"resourceSpans": [{"resource": service, "scopeSpans": [{"spans": spans}]}]}
    (tmp_path / "a.otlp.json").write_text(json.dumps(document))
    (tmp_path / "a.otlp.pb").write_bytes(WHOLE)
    assert read_traces(tmp_path / "a.otlp.pb")[0] == read_traces(tmp_path / "a.otlp.json")[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\n\x05\x12\x7f\x12\1\0", "message 1: resourceSpans[0]: a field at byte 3 continues behind its message"),
        (b"\n\2\x0a\xff", "resourceSpans[0]: the number before byte 4 has no end"),
        (b"\n\2\x10\x05", "resourceSpans[0]: field 2 at byte 3 is of a wrong kind"),
        (b"\n\2\x3b\0", "no field begins at byte 3; the file is damaged"),
        (traces(message((1, TRACE), (5, b"\xff"))), "spans[0].name: '\u00ff' is not UTF-8"),
        (traces(message((1, TRACE), (5, "x"))), "'spanId' is not there, wanted text"),
        (framed(WHOLE)[:-1], "the message that begins at byte 0 is said to end at"),
        (framed(WHOLE, b""), None),
        (framed(b""), "there is no span in it"),
    ],
)
def test_faults_say_where(data, said, tmp_path):
    path = tmp_path / "a.otlp.pb"
    path.write_bytes(data)
    if said is None:
        assert read_traces(path).n_trees == 1
        return
    with pytest.raises(ab.ReadError) as caught:
        read_traces(path)
    assert said in str(caught.value)
