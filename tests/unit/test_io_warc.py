"""Web archives: pages as in HTML, what is no page, and every kind of damage."""

import base64
import gzip
import hashlib
import zlib

import pytest

import arbora as ab
from arbora.errors import SkippedFilesWarning
from arbora.io import read_html, read_warc
from arbora.io.charset import decoded_page, page_codec
from arbora.io.choose_reader import stream
from arbora.io.sources import Sink

PAGE = b"<html><body><p>Gr\xc3\xbc\xc3\x9fe<b>x</b></body></html>"
TREE = {
    "label": "html",
    "children": [{"label": "body", "children": [{"label": "p", "children": [{"label": "b"}]}]}],
}


def answer(body=PAGE, media="text/html", status="200 OK", more=""):
    return f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\n{more}\r\n".encode() + body


def record(block, kind="response", uri="https://example.org/a", more="", length=None):
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nContent-Length: {length or len(block)}\r\n"
    return head.encode() + more.encode() + b"\r\n" + block + b"\r\n\r\n"


@pytest.fixture
def archive(tmp_path):
    def write(*records, name="a.warc"):
        path = tmp_path / name
        path.write_bytes(b"".join(records))
        return path

    return write


def test_a_page_is_read_as_by_html(archive, tmp_path):
    forest = ab.read(archive(record(answer())))
    assert forest[0] == TREE
    assert forest.name.tolist() == ["https://example.org/a"]
    (tmp_path / "a.html").write_bytes(PAGE)
    assert forest[0] == read_html(tmp_path / "a.html")[0]


def test_members_of_gzip(archive):
    path = archive(*(gzip.compress(record(answer(), uri=f"http://x/{n}")) for n in range(3)), name="a.warc.gz")
    assert ab.read(path).name.tolist() == ["http://x/0", "http://x/1", "http://x/2"]


def test_what_is_no_page_is_counted(archive, caplog):
    others = [
        record(b"software: x\r\n", kind="warcinfo"),
        record(b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record(answer(b"\x89PNG\0", "image/png")),
        record(answer(b"{}", "application/json")),
        record(answer(status="404 Not Found")),
        record(b"HTTP/1.1 302\r\nLocation: /"),
        record(b"", kind="revisit"),
    ]
    path = archive(*others, record(answer()))
    assert read_warc(path).n_trees == 1
    told = "(1 image/png, 1 application/json, 1 of status 404, 1 of status 302, 1 revisit)"
    assert f"left out 5 records that are no pages or not wanted {told}" in caplog.text
    assert read_warc(path, errors=True).n_trees == 2


def test_resources_and_pages_without_a_type(archive):
    resource = record(PAGE, kind="resource", more="Content-Type: text/html\r\n")
    plain = record(b"HTTP/1.1 200 OK\r\n\r\n" + PAGE)
    forest = read_warc(archive(resource, plain, record(b"HTTP/1.1 200 OK\r\n\r\nno page")))
    assert [forest[0], forest[1]] == [TREE, TREE]
    assert forest.n_trees == 2


def chunked(body):
    return b"".join(b"%x\r\n%s\r\n" % (len(body[at : at + 7]), body[at : at + 7]) for at in range(0, len(body), 7))


RAW = zlib.compressobj(wbits=-15)
PACKED = {
    "chunked": ("Transfer-Encoding: chunked\r\n", chunked(PAGE) + b"0\r\n\r\n"),
    "gzip": ("Content-Encoding: gzip\r\n", gzip.compress(PAGE)),
    "zlib": ("Content-Encoding: deflate\r\n", zlib.compress(PAGE)),
    "raw deflate": ("Content-Encoding: deflate\r\n", RAW.compress(PAGE) + RAW.flush()),
    "both": ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", chunked(gzip.compress(PAGE)) + b"0\r\n\r\n"),
    "joined by the crawler": ("Transfer-Encoding: chunked\r\n", PAGE),
    "unpacked by the crawler": ("Content-Encoding: br\r\n", PAGE),
}


@pytest.mark.parametrize("name", PACKED)
def test_bodies_are_unpacked(name, archive):
    more, body = PACKED[name]
    assert read_warc(archive(record(answer(body, more=more))))[0] == TREE


def test_the_charset_of_the_header_counts_more_than_that_of_the_page(archive):
    page = "<meta charset=utf-8><p class='\u043f'>".encode("cp1251")
    path = archive(record(answer(page, 'text/html; Charset="windows-1251"')))
    assert read_warc(path, content=["@class"]).content["@class"].nested(0, 5).count("\u043f") == 1
    assert decoded_page("\u043f".encode("utf-16-be"), "utf-16be") == "\u043f"
    assert page_codec(b"\xef\xbb\xbfx", "windows-1251") == ("utf-8", 3)  # a mark counts more
    assert page_codec(b"<meta charset=koi8-r>", "unheard-of")[0] == "koi8-r"


@pytest.mark.parametrize("spell", ["hex", "base32"])
def test_digests(spell, archive):
    good = hashlib.sha1(answer(), usedforsecurity=False).digest()
    text = good.hex() if spell == "hex" else base64.b32encode(good).decode()
    assert read_warc(archive(record(answer(), more=f"WARC-Block-Digest: sha1:{text}\r\n")))[0] == TREE
    damaged = record(answer(PAGE.replace(b"<b>", b"<i>")), more=f"WARC-Block-Digest: sha1:{text}\r\n")
    with pytest.raises(ab.ReadError, match=r"record 1 \('https://example\.org/a'\): its block has not the digest"):
        read_warc(archive(damaged))
    with pytest.warns(SkippedFilesWarning, match="1 bad file or line was left out"):
        assert read_warc(archive(damaged, record(answer())), on_error="skip").n_trees == 1


FAULTS = {
    "no archive": (b"<html>", "record 1 begins with '<html>', wanted WARC/1.0 or WARC/1.1"),
    "packed": (gzip.compress(record(answer())), "it is packed by gzip, wanted a name that ends in .gz"),
    "no colon": (b"WARC/1.0\r\nnonsense\r\n\r\n", "record 1: 'nonsense' stands among its headers"),
    "cut head": (b"WARC/1.0\r\nWARC-Type: response\r\n", "record 1: the file ends within its headers"),
    "no length": (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", "its Content-Length is '', wanted a whole number"),
    "cut block": (record(answer(), length=10**6), "bytes before the record does; fetch it again"),
    "short length": (record(answer(), length=60), "record 2 begins with"),
    "no answer": (record(b"nonsense"), "its block begins with 'nonsense', wanted the headers of an HTTP response"),
    "brotli": (record(answer(b"\0\1", more="Content-Encoding: br\r\n")), "packed by 'br', wanted gzip or deflate"),
    "cut gzip": (record(answer(gzip.compress(PAGE)[:-9], more="Content-Encoding: gzip\r\n")), "body is cut short"),
    "bad gzip": (record(answer(b"\0\1\2", more="Content-Encoding: gzip\r\n")), "its packed body is damaged"),
    "cut chunks": (record(answer(chunked(PAGE), more="Transfer-Encoding: chunked\r\n")), "within the chunks"),
    "segment": (record(answer(), more="WARC-Segment-Number: 1\r\n"), "one of several segments"),
    "deep page": (record(answer(b"<div>" * 300)), "record 1 ('https://example.org/a'): elements are nested deeper"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_say_where(name, archive):
    data, said = FAULTS[name]
    path = archive(data)
    with pytest.raises(ab.ReadError) as caught:
        read_warc(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_limits(archive):
    with pytest.raises(ab.ReadError, match=r"it holds \d+ bytes, more than 200; raise max_bytes"):
        read_warc(archive(record(answer(PAGE + b" " * 400))), max_bytes=200)
    image = record(answer(b"\0" * 400, "image/png"))
    assert read_warc(archive(image, record(answer())), max_bytes=200).n_trees == 1  # nobody asked for it
    bomb = answer(gzip.compress(b" " * 10**6), more="Content-Encoding: gzip\r\n")
    with pytest.raises(ab.ReadError, match="its body unpacks to more than 5000 bytes"):
        read_warc(archive(record(bomb)), max_bytes=5000)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_what_stands_before_damage_is_kept_when_asked(name, archive):
    pack = gzip.compress if name.endswith("gz") else bytes
    path = archive(pack(record(answer())), pack(record(answer())[:-30]), name=name)
    with pytest.raises(ab.ReadError, match="what follows in this file cannot be read"):
        read_warc(path)
    with pytest.warns(SkippedFilesWarning, match="what follows in this file cannot be read"):
        assert read_warc(path, on_error="skip").n_trees == 1


def test_an_archive_is_read_part_by_part(archive):
    path = archive(*(record(answer(), uri=f"http://x/{n}") for n in range(9)))
    parts, positions = [], []
    stream([str(path)], "warc", Sink(lambda part, at: (parts.append(part), positions.append(at)), max_nodes=12))
    assert [part.n_trees for part in parts] == [3, 3, 3]
    again = []
    stream([str(path)], "warc", Sink(lambda part, at: again.append(part), max_nodes=12, start=positions[0]))
    assert [name for part in again for name in part.name] == [f"http://x/{n}" for n in range(3, 9)]
