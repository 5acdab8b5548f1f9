"""HTML as browsers read it: characters, damaged bytes and what follows the end, against html5lib."""

import codecs
from collections import Counter

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings import lookup
from webencodings.labels import LABELS

from arbora.errors import ReadError
from arbora.io import read_html
from arbora.io.charset import _CODEC, PRESCAN, decoded_page, page_codec
from tests.examples import preorder

# Encodings that pages declare, and bytes that stand for nothing in them: alone, before a tag, at the end.
DAMAGE = {
    "windows-1252": [b"\x81", b"\x9d"],
    "windows-1251": [b"\x98"],
    "windows-1253": [b"\xd2", b"\xff"],
    "iso-8859-7": [b"\xff"],
    "gbk": [b"\xff", b"\x81", b"\x81\x30\x81", b"\x80\xff"],
    "gb18030": [b"\xff", b"\x81", b"\x84\x31\xff"],
    "big5": [b"\xff", b"\x81", b"\xa4"],
    "shift_jis": [b"\xff", b"\x81", b"\xa0", b"\xfd"],
    "euc-jp": [b"\xff", b"\x8e", b"\x8f\xa1", b"\xa4"],
    "euc-kr": [b"\xff", b"\xb0", b"\x80"],
    "koi8-r": [b"\xff"],
    "utf-8": [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"],
    "iso-2022-jp": [b"\xff", b"\x80"],
    "utf-16": [b"\xff", b"\xe9"],
    "x-user-defined": [b"\x80"],
    "no-such-charset": [b"\x81", b"\xe9"],
}

TAIL = b"".join(b"<div><p>%02d</p><ul><li>a</li><li><b>b</b></li></ul></div>" % n for n in range(20))


def of_html5lib(data):
    """Depth and tag of every element, in document order; no text, no comment."""
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    found, stack = [], [(parser.parse(data, **({"useChardet": False} if isinstance(data, bytes) else {})), 0)]
    while stack:
        element, level = stack.pop()
        if isinstance(element.tag, str):
            found.append((level, element.tag.rpartition("}")[2]))
            stack += [(child, level + 1) for child in reversed(element)]
    return found


def of_arbora(folder, data, **options):
    path = folder / "a.html"
    path.write_bytes(data)
    return preorder(read_html(path, **options)[0])


def page(body, charset=b"utf-8", after=b""):
    head = b"<html><head><meta charset=%s><title>t</title></head>" % charset
    return b"<!DOCTYPE html>" + head + b"<body>" + body + b"</body></html>" + after


@pytest.mark.parametrize(("charset", "bad"), [(name, bad) for name, every in DAMAGE.items() for bad in every])
def test_an_invalid_byte_cuts_nothing(tmp_path, charset, bad):
    for body in (b"<p>" + bad + b"</p>" + TAIL, bad + TAIL, b"<p>x" + bad + TAIL, TAIL + b"<i>" + bad):
        data = page(body, charset.encode())
        wanted = of_html5lib(data)
        assert of_arbora(tmp_path, data) == wanted
        assert len(wanted) > 100


@pytest.mark.parametrize("charset", sorted(set(DAMAGE) - {"utf-8", "utf-16", "no-such-charset", "x-user-defined"}))
def test_every_lead_byte_leaves_the_tag_after_it(tmp_path, charset):
    """A lead byte without its trail does not swallow a sign of markup."""
    body = b"".join(b"<p>" + bytes([lead]) + b"</p>" for lead in range(0x80, 0x100))
    data = page(body, charset.encode())
    assert of_arbora(tmp_path, data) == of_html5lib(data)
    assert Counter(tag for _, tag in of_arbora(tmp_path, data))["p"] == 128


@pytest.mark.parametrize(
    "after",
    [b"<div>x<b>y</b></div><p>z", b"x<p>y", b"<script>x</script><p>q</p>", b"<!-- c --><ul><li>a", b"</body></html><p>",
     b"<body><p>", b"<html lang=x><p>", b" \n<HTML><body></body></html><p>a</p></HTML ><p>b", b"</BODY\n><i>a</i>"],
)  # fmt: skip
def test_what_follows_the_end_is_read(tmp_path, after):
    for body in (b"<p>a</p>", b"<div><section>a", b"", b"<ul><li>a"):
        data = page(body, after=after)
        assert of_arbora(tmp_path, data) == of_html5lib(data)


def test_an_end_in_a_comment_a_script_or_a_value_is_not_one(tmp_path):
    data = page(
        b"<!-- </body> --><script>'</body></html>'</script><a title='</html>'>b</a><aaaaaaaa><p>x</p></aaaaaaaa>"
    )
    assert of_arbora(tmp_path, data) == of_html5lib(data)
    assert read_html(tmp_path / "a.html", attributes=True).vocabulary.count("@title") == 1


def test_a_million_names_do_not_make_the_end_ambiguous(tmp_path):
    names = b"".join(b"<aaaaaaa%c>" % c for c in range(97, 123))
    found = of_arbora(tmp_path, page(names + b"</body><p>"))
    assert found[-1] == (29 - 1, "p")


BLOCKS = ["div", "section", "ul", "blockquote", "article"]


def element(children):
    inner = st.lists(children, max_size=4).map(b"".join)
    return st.tuples(st.sampled_from(BLOCKS), inner).map(
        lambda pair: b"<%s>%s</%s>" % (t := pair[0].encode(), pair[1], t)
    )


LEAVES = st.sampled_from(
    [b"<p>x</p>", b"<br>", b"<hr/>", b"<img src=a>", b"<h2>t</h2>", b"<script>a<b</script>", b"<!-- </p> -->",
     b"<table><tbody><tr><td>1</td></tr></tbody></table>", b"<o:p>x</o:p>", b"<span class='<p>'>x</span>", b"\xe4\xbd",
     b"&eacute;", b"\x81", b"\xff", b"\0", b"\x01", b"<p title='\x81\xff'>x</p>", b"</body>", b"</html>"]
)  # fmt: skip


@given(
    body=st.lists(st.recursive(LEAVES, element, max_leaves=12), max_size=6).map(b"".join),
    charset=st.sampled_from([name.encode() for name in DAMAGE]),
    after=st.sampled_from([b"", b"<p>x</p>", b"\x81<div>\xff</div>"]),
)
def test_random_damaged_pages_are_those_of_html5lib(tmp_path_factory, body, charset, after):
    data = page(body + TAIL[: len(TAIL) // 4], charset, after)  # the NULs and other signs stay few
    assert of_arbora(tmp_path_factory.mktemp("page"), data) == of_html5lib(data)


TAGS = ["p", "div", "b", "i", "ul", "li", "span", "a", "h1", "table", "tr", "td", "dl", "dt"]


@given(pieces=st.lists(st.sampled_from([f"<{t}>" for t in TAGS] + [f"</{t}>" for t in TAGS] + ["x", " "]), max_size=30))
def test_no_start_tag_is_lost_in_tag_soup(tmp_path_factory, pieces):
    """Where the two mend differently (tbody, misnested inline tags), the tags that the source has are all there."""
    data = page("".join(pieces).encode(), after=b"<p>x")
    source = Counter(piece[1:-1] for piece in pieces if piece[0] == "<" and piece[1] != "/") + Counter(p=1)
    found = Counter(tag for _, tag in of_arbora(tmp_path_factory.mktemp("page"), data))
    for tag, n in source.items():
        assert found[tag] >= n, tag


# ---- characters -----------------------------------------------------------------------------------------------------


def test_labels_are_those_of_the_standard():
    for label, name in LABELS.items():
        ours, theirs = _CODEC.get(label), lookup(label).codec_info.name
        if name == "gbk":  # whose decoder is that of gb18030
            assert ours == "gb18030"
        elif name.startswith("utf-16"):
            assert ours == "utf-16"
        elif name == "x-user-defined":
            assert ours == "cp1252"
        elif name == "replacement":  # browsers refuse these pages
            assert ours in ("hz", "iso2022_kr", None)
        else:
            assert codecs.lookup(ours).name == theirs
    assert set(_CODEC) <= set(LABELS)


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (b"\xef\xbb\xbf<meta charset=gbk>", "utf-8"),
        (b"\xff\xfe<\0p\0", "utf-16-le"),
        (b"\xfe\xff\0<\0p", "utf-16-be"),
        (b"\xff\xfe\0\0<\0\0\0", "utf-32-le"),
        (b"<\0?\0x\0m\0l\0", "utf-16-le"),
        (b"<meta charset='Shift_JIS'>", "cp932"),
        (b"<META CHARSET = latin1 >", "cp1252"),
        (b"<meta/charset=big5>", "big5hkscs"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=utf-7>\xe9", "cp1252"),
        (b"<meta charset=unicode_escape>", "utf-8"),
        (b"<meta charset=what><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=gbk charset=koi8-r>", "gb18030"),  # the first of two attributes
        (b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>", "cp1251"),
        (b'<meta content="text/html;CHARSET = \'euc-kr\'" http-equiv="content-type">', "cp949"),
        (b"<meta content='text/html; charset=gbk'>", "utf-8"),  # nothing says that this is a type of content
        (b"<!-- <meta charset=gbk> --><meta charset=koi8-u>", "koi8-u"),
        (b"<a title='<meta charset=gbk>'>", "utf-8"),
        (b"<a x=y/><meta name=a charset=gbk>", "gb18030"),
        (b"</meta charset=gbk>", "utf-8"),
        (b"<? <meta charset=gbk>", "utf-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?><p>", "koi8-r"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=gbk>", "gb18030"),
        (b" " * (PRESCAN - 18) + b"<meta charset=gbk>", "gb18030"),
        (b" " * PRESCAN + b"<meta charset=gbk>", "utf-8"),
        (b"<p>\xc3\xa9", "utf-8"),
        (b"<p>\xe9", "cp1252"),
    ],
)
def test_characters_are_chosen_as_browsers_do(data, codec):
    assert codecs.lookup(page_codec(data)[0]).name == codecs.lookup(codec).name


def test_bytes_that_stand_for_nothing_are_replacement_characters():
    assert decoded_page(b"<meta charset=utf-8><p\xff>\0") == "<meta charset=utf-8><p\ufffd>\ufffd"


def test_pages_of_wide_characters_are_read(tmp_path):
    text = "<html><head></head><body><p>\u4f60</p>" + "<\u00e9a>" + "</body></html><b>x</b>"
    for codec in ("utf-16", "utf-32", "utf-8-sig"):
        assert of_arbora(tmp_path, text.encode(codec)) == of_html5lib(text)
    assert decoded_page("\ufeffx".encode("utf-16")) == "\ufeffx"[1:]


def test_binary_files_stay_refused(tmp_path):
    with pytest.raises(ReadError, match="control characters"):
        of_arbora(tmp_path, bytes(range(32)) * 20)
