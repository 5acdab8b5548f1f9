"""XML and HTML: exact trees, options, limits, and documents that mean harm."""

import contextlib
import gzip
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from arbora import Forest, ReadError
from arbora.errors import SkippedFilesWarning
from arbora.io import read_html, read_xml
from arbora.io.formats import xml
from arbora.io.kernels import xml_scan
from tests import examples

NS = '<r xmlns="u:d" xmlns:p="u:p" p:x="1" y="2"><p:a xml:lang="en"/><b/></r>'


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def tree(reader, tmp_path, text, /, **options):
    forest = reader(put(tmp_path / "a.xml", text), **options)
    forest.validate()
    return forest.with_name(None)


def expect(*trees):
    return Forest.from_nested(trees)


# ---- XML ------------------------------------------------------------------------------------------------------------


def test_elements_become_nodes(tmp_path):
    text = """<?xml version="1.0"?><!DOCTYPE r><!-- <no/> --><?pi <no/> ?>
    <r a="&lt;b>'" c='"/>'><x>1 &lt; 2 &amp; 3 > 2<!-- <no/> --></x><y/><x ><![CDATA[<no></no>]]><z
      k="v"
    /></x ></r><!-- end -->"""
    assert tree(read_xml, tmp_path, text) == expect(("r", ["x", "y", ("x", ["z"])]))


def test_slots_are_the_places_among_the_children(tmp_path):
    forest = tree(read_xml, tmp_path, "<r>t<a/>t<b/><!-- c --><a/></r>")
    assert forest.slot.tolist() == [0, 1, 2, -1]
    assert forest.parent.tolist() == [3, 3, 3, -1]


@pytest.mark.parametrize(
    ("namespaces", "plain", "rich"),
    [
        ("strip", ("r", ["a", "b"]), ("r", ["@x", "@y", ("a", ["@lang"]), "b"])),
        ("prefix", ("r", ["p:a", "b"]), ("r", ["@p:x", "@y", ("p:a", ["@xml:lang"]), "b"])),
        (
            "keep",
            ("{u:d}r", ["{u:p}a", "{u:d}b"]),
            (
                "{u:d}r",
                ["@{u:p}x", "@y", ("{u:p}a", ["@{http://www.w3.org/XML/1998/namespace}lang"]), "{u:d}b"],
            ),
        ),
    ],
)
def test_namespaces_and_attributes(tmp_path, namespaces, plain, rich):
    assert tree(read_xml, tmp_path, NS, namespaces=namespaces) == expect(plain)
    assert tree(read_xml, tmp_path, NS, namespaces=namespaces, attributes=True) == expect(rich)


@pytest.mark.parametrize("namespaces", ["strip", "keep"])
def test_text_nodes(tmp_path, namespaces):
    text = "<r>one<!-- c -->more<a> </a>two<b>three<c/></b>\n<b><![CDATA[ x ]]></b>&#32;</r>"
    wanted = ("r", ["#text", "a", "#text", ("b", ["#text", "c"]), ("b", ["#text"])])
    assert tree(read_xml, tmp_path, text, text="kind", namespaces=namespaces) == expect(wanted)


def test_both_ways_through_a_document_agree(tmp_path):
    """Scanning the bytes (strip) and walking the elements (keep) are two programs; here they must agree."""

    @given(examples.forests(min_trees=1, max_trees=1, labels=st.sampled_from(["a", "bé", "c-d", "_e.f"]), slots=False))
    def check(forest):
        text = "".join(xml_text(forest[0]))
        for options in ({}, {"attributes": True, "text": "kind"}):
            strip, keep = (tree(read_xml, tmp_path, text, namespaces=n, **options) for n in ("strip", "keep"))
            assert strip == keep
        assert tree(read_xml, tmp_path, text) == forest

    check()


def xml_text(node):
    """A document of this shape, with attributes and texts thrown in."""
    yield f"<{node['label']} n='{len(node.get('children', ()))}>' m=\"'\">\n"
    for child in node.get("children", ()):
        yield from xml_text(child)
        yield "t " if child["label"] == "a" else "\n"
    yield f"</{node['label']}>"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "iso-8859-1", "windows-1252"])
def test_encodings(tmp_path, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><é><ü/></é>'
    assert tree(read_xml, tmp_path, text.encode(encoding)) == expect(("é", ["ü"]))


PLAIN = [
    "<b/>",
    """<b x = '>"'/>""",
    """<n:c y="='">""",
    "</n:c >",
    "t > &amp; ",
    "&#32;",
    " ",
    "\r\n",
    "!",
    "?",
    "é<é\n/>",
]
PIECES = [*PLAIN, "<!-- <b/> -->", "<?p <b/>?>", "<![CDATA[<b/>]]>"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.booleans())
@example("<!-- <b/> -->", False)
@example("".join(PLAIN), True)
@example("".join(PLAIN), False)
@example("&#32;", True)
def test_plain_documents_need_not_be_written(inside, rich):
    markup = xml.Markup("prefix", rich, "kind" if rich else None, 256)
    for prologue in ("", "\n", '<?xml version="1.0" encoding="UTF-8"?>\n', "<!DOCTYPE a>"):
        data = f'{prologue}<a xmlns:n="u">{inside}</a>'.encode()
        with contextlib.suppress(etree.XMLSyntaxError):
            root = etree.fromstring(data, etree.XMLParser(**xml._SAFE))
            plain, found = xml.plain_text(data, rich), []
            for text in (plain, None):
                columns, batch = xml.Columns(), xml._Batch(markup)
                batch.add(root, columns) if text is None else batch.add_text(text, columns)
                batch.flush(columns)
                found.append(columns.build(None)[0])
            assert found[0] == found[1]
            assert plain is None or ("<!" not in inside and not prologue.startswith("<!"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_not_plain(encoding):
    assert (xml.plain_text("<一>t<b/></一>".encode(encoding), False) is None) == (encoding != "utf-8")


def test_many_files_share_one_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "BATCH_BYTES", 50)  # so that there are several batches
    for n in range(40):
        put(tmp_path / f"{n:02d}.xml", f"<r><t{n % 3}/><t1>text</t1></r>")
    put(tmp_path / "20x.xml", "<r><bad></r>")
    with pytest.warns(SkippedFilesWarning, match="1 bad"):
        forest = read_xml(tmp_path, on_error="skip")
    assert forest.with_name(None) == expect(*[("r", [f"t{n % 3}", "t1"]) for n in range(40)])
    assert forest.name[20].endswith("20.xml")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("<r>\n<a></b></r>", r"a\.xml, line 2, column \d+: not well-formed XML \(Opening and ending tag mismatch"),
        ("<r>\n\n&nbsp;</r>", r"line 3, column \d+: not well-formed XML \(Entity 'nbsp' not defined"),
        ("", r"a\.xml.*: not well-formed XML \(Document is empty"),
        ("plain words", r"line 1, column 1: not well-formed XML"),
        (b"<r>\xff</r>", r"line 1.*: not well-formed XML"),
        (b"<r>\x00</r>", r"line 1.*: not well-formed XML"),
        ('<?xml version="1.0" encoding="klingon"?><r/>', r"line 1.*not well-formed XML \(.*klingon"),
    ],
)
def test_broken_documents_say_where(tmp_path, text, where):
    with pytest.raises(ReadError, match=where) as caught:
        read_xml(put(tmp_path / "a.xml", text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", [read_xml, read_html])
def test_any_bytes_give_a_forest_or_a_read_error(tmp_path, reader):
    pieces = st.sampled_from(
        [b"<a>", b"</a>", b"<b x='1'/>", b"<!--", b"-->", b"&amp;", b"&x;", b"<![CDATA[", b"]]>", b"\0"]
    )

    @given(st.lists(pieces | st.binary(max_size=5), max_size=12).map(b"".join))
    def check(data):
        with contextlib.suppress(ReadError):
            assert len(reader(put(tmp_path / "a.xml", data), attributes=True, text="kind")) == 1

    check()


@pytest.mark.parametrize(
    "options", [{"namespaces": "no"}, {"text": "words"}, {"max_depth": 0}, {"max_bytes": 0}], ids=str
)
def test_bad_options(tmp_path, options):
    with pytest.raises(ReadError, match="wanted"):
        read_xml(put(tmp_path / "a.xml", "<a/>"), **options)


# ---- limits ---------------------------------------------------------------------------------------------------------


def chain(n, tag="a"):
    return f"<{tag}>" * n + f"</{tag}>" * n


@pytest.mark.parametrize("max_depth", [1, 100, 256, 300, 2048, 2100])
def test_max_depth_is_exact(tmp_path, max_depth):
    assert tree(read_xml, tmp_path, chain(max_depth), max_depth=max_depth).n_nodes == max_depth
    for namespaces in ("strip", "keep"):
        with pytest.raises(ReadError, match=rf"line 1.*deeper than {max_depth}; raise max_depth"):
            tree(read_xml, tmp_path, chain(max_depth + 1), max_depth=max_depth, namespaces=namespaces)


@pytest.mark.parametrize("max_depth", [3, 256, 300, 2048, 5000])
def test_max_depth_of_html_is_exact(tmp_path, max_depth):
    """html and body are two levels of their own."""
    assert tree(read_html, tmp_path, chain(max_depth - 2, "div"), max_depth=max_depth).n_nodes == max_depth
    with pytest.raises(ReadError, match=rf"deeper than {max_depth}"):
        tree(read_html, tmp_path, chain(max_depth - 1, "div"), max_depth=max_depth)


@pytest.mark.compiled
def test_a_million_levels(tmp_path):
    forest = tree(read_xml, tmp_path, chain(1_000_000), max_depth=1_000_000)
    assert (forest.n_nodes, forest.n_slots, forest.vocabulary) == (1_000_000, 1, ("a",))
    page = tree(read_html, tmp_path, chain(1_000_000, "div"), max_depth=10_000_000)
    assert (page.n_nodes, page.n_slots, page.vocabulary) == (1_000_002, 1, ("body", "div", "html"))


@pytest.mark.parametrize("namespaces", ["strip", "keep", "prefix"])
def test_very_deep_documents_read_like_others(tmp_path, namespaces):
    """Beyond 2,048 levels another parser takes over; what it reads must not differ."""
    options = {"namespaces": namespaces, "attributes": True, "text": "kind", "max_depth": 10_000}
    core = NS.replace("<b/>", "<b>one<!-- c -->two<c/>\n</b>three").replace("<r ", '<r xmlns:q="u:q" ')
    shallow, deep = (tree(read_xml, tmp_path, f"{'<w>' * n}{core}{'</w>' * n}", **options) for n in (3, 3000))
    inner = shallow[0]["children"][0]["children"][0]["children"][0]
    assert Forest.from_nested([inner]) == Forest.from_nested([innermost(deep[0], 3000)])
    assert "xmlns" not in str(deep.vocabulary)


def innermost(node, n):
    for _ in range(n):
        (node,) = node["children"]
    return node


def test_very_deep_documents_with_faults(tmp_path):
    n = 3000
    with pytest.raises(ReadError, match=r"a\.xml, line 2, column \d+: not well-formed XML \(mismatched tag\)"):
        tree(read_xml, tmp_path, "<a>" * n + "\n<b></c>", max_depth=10_000)
    with pytest.raises(ReadError, match=r"line 1.*deeper than 2999"):
        tree(read_xml, tmp_path, chain(n), max_depth=n - 1)
    put(tmp_path / "b.xml", "<b/>")
    put(tmp_path / "c.xml", chain(n))
    put(tmp_path / "d.xml", "<d/>")
    put(tmp_path / "a.xml", "<a>" * n)
    with pytest.warns(SkippedFilesWarning, match="1 bad"):
        forest = read_xml(tmp_path, max_depth=n, on_error="skip")
    assert forest.sizes.tolist() == [1, n, 1]
    assert [forest[t]["label"] for t in (0, 1, 2)] == ["b", "a", "d"]


def test_max_bytes_counts_what_is_unpacked(tmp_path):
    text = b"<r>" + b" " * 5_000_000 + b"</r>"
    path = put(tmp_path / "a.xml.gz", gzip.compress(text))
    assert read_xml(path, max_bytes=len(text)).n_nodes == 1
    for reader in (read_xml, read_html):
        with pytest.raises(ReadError, match=r"a\.xml\.gz: the file holds more than 5000 bytes; raise max_bytes"):
            reader(path, max_bytes=5000)


def test_a_packed_bomb_is_not_unpacked(tmp_path):
    path = put(tmp_path / "a.xml.gz", gzip.compress(b"\0" * 50_000_000, 9))
    tracemalloc.start()
    with pytest.raises(ReadError, match="more than 1000 bytes"):
        read_xml(path, max_bytes=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


# ---- documents that mean harm ---------------------------------------------------------------------------------------

LAUGHS = (
    '<!DOCTYPE r [<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)
RAISED = {"max_depth": 1000}


@pytest.mark.parametrize("options", [{}, RAISED, {"max_depth": 9999}, {"namespaces": "keep", "text": "kind"}], ids=str)
@pytest.mark.parametrize("body", ["<r>&l9;</r>", "<r a='&l9;'/>", "<r>\n<a/>&l1;</r>"])
def test_entity_bombs_are_refused(tmp_path, options, body):
    tracemalloc.start()
    with pytest.raises(ReadError, match=r"a\.xml.*entit"):
        tree(read_xml, tmp_path, LAUGHS + body, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("options", [{}, RAISED, {"text": "kind", "attributes": True}], ids=str)
@pytest.mark.parametrize("body", ["<r>&x;</r>", "<r a='&x;'/>"])
def test_external_entities_are_not_read(tmp_path, options, body):
    secret = put(tmp_path / "secret.txt", "<stolen/>")
    text = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]>{body}'
    with pytest.raises(ReadError, match=r"a\.xml.*(another file|external entity|declares entities)") as caught:
        tree(read_xml, tmp_path, text, **options)
    assert "stolen" not in str(caught.value)


def test_external_declarations_are_not_read(tmp_path):
    dtd = put(tmp_path / "evil.dtd", '<!ENTITY x "<stolen/>"><!ATTLIST r stolen CDATA "yes">')
    for prologue in (
        f'<!DOCTYPE r SYSTEM "{dtd.as_uri()}">',
        f'<!DOCTYPE r [<!ENTITY % e SYSTEM "{dtd.as_uri()}"> %e;]>',
    ):
        forest = tree(read_xml, tmp_path, prologue + "<r>&x;<a/></r>", attributes=True)
        assert forest == expect(("r", ["a"]))


@pytest.mark.parametrize("namespaces", ["strip", "keep"])
def test_harmless_entities_are_text(tmp_path, namespaces):
    """Declared as plain text, or left to a DTD that is not read, as in most journals' files."""
    for text in (
        '<!DOCTYPE r SYSTEM "journal.dtd"><r><p>&eacute;</p><p>a&eacute;b<q/>&eacute; </p></r>',
        '<!DOCTYPE r [<!ENTITY eacute "&#233;">]><r><p>&eacute;</p><p>a&eacute;b<q/>&eacute; </p></r>',
    ):
        forest = tree(read_xml, tmp_path, text, text="kind", namespaces=namespaces)
        assert forest == expect(("r", [("p", ["#text"]), ("p", ["#text", "q", "#text"])]))


@pytest.mark.parametrize("content", ["<stolen/>", "&l0;", "&#60;stolen/>"])
def test_entities_that_hold_more_than_text_are_refused(tmp_path, content):
    text = f'<!DOCTYPE r [<!ENTITY l0 "x"><!ENTITY m "{content}">]>\n<r>\n&m;</r>'
    with pytest.raises(ReadError, match=r"a\.xml, line 3: the entity &m; stands for markup or other entities"):
        tree(read_xml, tmp_path, text)


# ---- names that collide ---------------------------------------------------------------------------------------------


def colliding_names(n_stages):
    """2 ** n_stages names of one length that a common hash of bytes (that of Fowler, Noll and Vo) takes for one."""
    blocks = np.unique(np.random.default_rng(0).integers(ord("a"), ord("z") + 1, (400_000, 8)), axis=0)
    names, state = [b""], np.int64(0)
    for _ in range(n_stages):
        code = np.full(len(blocks), state)
        for column in blocks.T:
            code = ((code ^ column) * 16777619) & 0x7FFFFFFF
        order = np.argsort(code, kind="stable")
        same = order[np.flatnonzero(np.diff(code[order]) == 0)[0] + np.arange(2)]
        state = code[same[0]]
        names = [name + blocks[b].astype(np.uint8).tobytes() for name in names for b in same]
    return names


def scanned(names):
    data = np.frombuffer(b"".join(b"<%s/>" % name for name in names), np.uint8)
    return data, *xml_scan.scan(data, False, False)[1:]


@pytest.mark.compiled
def test_names_made_to_collide_take_no_longer():
    names = colliding_names(14)
    rng = np.random.default_rng(0)
    plain = [bytes(rng.permutation(np.frombuffer(name, np.uint8))) for name in names]

    def seconds(names, seed):
        scan = scanned(names)
        xml_scan.distinct_names(*scan, seed)
        start = time.process_time()
        number, example = xml_scan.distinct_names(*scan, seed)
        took = time.process_time() - start
        assert np.array_equal(number, np.arange(len(names)))
        assert np.array_equal(example, np.arange(len(names)))
        return took

    assert seconds(names, xml._SEED) < 5 * seconds(plain, xml._SEED) + 0.01


def test_an_attribute_and_an_element_of_one_name_stay_apart():
    """Whatever the seed, also where both fall on one place of the table."""
    data = np.frombuffer(b"a", np.uint8)
    kind = np.array([xml_scan.ELEMENT, xml_scan.ATTRIBUTE], np.int8)
    span = np.array([[0, 1], [0, 1]])
    for seed in range(2**40, 2**40 + 10**12, 10**10):
        number, _ = xml_scan.distinct_names(data, kind, span, seed)
        assert number.tolist() == [0, 1]


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2, 2**62 - 1, 123456789012345678])
def test_labels_do_not_depend_on_the_seed(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(xml, "_SEED", seed)
    text = "<a>" + "".join(f"<n{n % 7}/><x{'y' * n}/>" for n in range(50)) + "</a>"
    assert tree(read_xml, tmp_path, text) == expect(("a", [f for n in range(50) for f in (f"n{n % 7}", f"x{'y' * n}")]))


# ---- HTML -----------------------------------------------------------------------------------------------------------


TAGS = ["html", "head", "body", "title", "p", "div", "script", "table", "td", "form", "a", "svg"]
PIECES = [
    *(f"<{tag}>" for tag in TAGS),
    *(f"</{tag}>" for tag in TAGS),
    "<br>",
    "<li>",
    "<a b=1 c>",
    "<o:p>",
    "<!-- c -->",
]
PIECES += ["<!-- c -->", "<?pi?>", "<!DOCTYPE html>", "&amp;", "x", " ", "\n", "<!", "<", ">"]


def of_elements(element):
    """What a page is by the tree that the parser builds, element by element."""
    children = [f"@{name}" for name in element.attrib] + ["#text"] * bool(element.text and element.text.strip())
    for child in element:
        children += [of_elements(child), *["#text"] * bool(child.tail and child.tail.strip())]
    return element.tag, children


@given(
    pieces=st.lists(st.sampled_from([*(piece.replace("\x01", " ") for piece in PIECES), "\n"]), min_size=1, max_size=14)
)
@example(pieces=["<html>", "<p>", "x", "</html>", "<script>", "x", "</script>", "<p>"])
def test_html_is_what_the_parser_makes_of_it(tmp_path_factory, pieces):
    folder, text = tmp_path_factory.mktemp("page"), "".join(pieces)
    root = None
    with contextlib.suppress(etree.LxmlError):
        open_end = text.replace("</html>", "</zzzz>").replace("</body>", "</zzzz>")  # which close nothing
        root = etree.fromstring(open_end, etree.HTMLParser(remove_comments=True, remove_pis=True))
    if root is None:
        with pytest.raises(ReadError, match=r"there is no element in it|not readable as HTML"):
            tree(read_html, folder, text)
    else:
        found = tree(read_html, folder, text, attributes=True, text="kind")
        assert found == expect(of_elements(root))


def test_html_takes_time_in_proportion_to_attributes(tmp_path):
    """A tree of the parser's own would take minutes for so many."""
    text = "<p " + " ".join(f"x{n}=1" for n in range(300_000)) + ">one</p>"
    page = tree(read_html, tmp_path, text, attributes=True)
    assert page.n_nodes == 300_003


def test_html_is_mended(tmp_path):
    text = "<!DOCTYPE html><TITLE>t</title><p class=x>one<br>two<p>three<!-- c --><script>if (a<b) x()</script><o:p>z"
    wanted = ("html", [("head", ["title"]), ("body", [("p", ["br"]), ("p", ["script", "o:p"])])])
    assert tree(read_html, tmp_path, text) == expect(wanted)
    rich = tree(read_html, tmp_path, text, attributes=True, text="kind")
    first = rich[0]["children"][1]["children"][0]
    assert [child["label"] for child in first["children"]] == ["@class", "#text", "br", "#text"]


@pytest.mark.parametrize("text", ["", " \n ", "<!-- only a comment -->"])
def test_html_without_elements(tmp_path, text):
    with pytest.raises(ReadError, match=r"a\.xml: (there is no element|not readable)"):
        tree(read_html, tmp_path, text)


def test_html_of_other_encodings_and_odd_bytes(tmp_path):
    text = b"<meta charset=iso-8859-1><p>\xe9</p>\x80<div"
    assert "p" in tree(read_html, tmp_path, text).vocabulary


def test_a_fault_is_one_short_sentence(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text("<a " + "b" * 20_000)
    with pytest.raises(ReadError, match=r"line 1, column \d+: not well-formed XML") as error:
        read_xml(path)
    assert len(str(error.value)) < 400 + len(str(path))
