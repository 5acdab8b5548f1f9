"""The characters of an HTML page, found and decoded as browsers do (the WHATWG Encoding and HTML standards).

A byte order mark comes first, then a declaration in the first bytes (``<meta>``, or that of XML), then UTF-8 if the
bytes are that, and Windows-1252 if not.  A byte that stands for nothing becomes U+FFFD and ends nothing.  Two encodings
are read that browsers refuse: UTF-32 by its mark, and the Korean and Chinese ones of seven bits.
"""

import codecs
import re

PRESCAN = 1024  # bytes in which a declaration counts

# Python's codec, and the labels that stand for it. A label that is not here stands for nothing: Python has codecs
# (utf-7, unicode_escape) that no page may choose.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
    " iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8"
    " iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1"
    " iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
    "hz": "hz-gb-2312",
    "iso2022_kr": "csiso2022kr iso-2022-kr",
    "utf-16": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff unicodefffe utf-16 utf-16be utf-16le",
}
_CODEC = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before that of UTF-16, which it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_XML = ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be"))

_SPACE = b"\t\n\f\r "
_SKIPPED = re.compile(rb"<!--.*?-->|<!--.*|<[!/?][^>]*", re.DOTALL)  # comments, end tags, declarations
_TAG = re.compile(rb"<(/?[A-Za-z][^\t\n\f\r />]*)")
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />=][^\t\n\f\r />=]*|=[^\t\n\f\r />=]*)"  # a name
    rb"(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*)))?"
)
_CHARSET = re.compile(rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*))")
_OF_XML = re.compile(rb"<\?xml[^>]*?encoding[\x00-\x20]*=[\x00-\x20]*(?:\"([^\">]*)\"|'([^'>]*)')")


def decoded_page(data: bytes, sent: str | None = None) -> str:
    """The text of a page; bytes that stand for nothing, and NULs, are U+FFFD.

    `sent` is the encoding that its server named, which counts more than what the page declares.
    """
    codec, mark = page_codec(data, sent)
    return data[mark:].decode(codec, "replace").removeprefix("\ufeff").replace("\0", "\ufffd")


def page_codec(data: bytes, sent: str | None = None) -> tuple[str, int]:
    """Python's codec for a page, and the length of the byte order mark that said so."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return codec, len(mark)
    if sent is not None and (said := _CODEC.get(sent.strip().lower())) is not None:
        return _sent_wide(sent) or said, 0
    for start, codec in _WIDE_XML:
        if data.startswith(start):
            return codec, 0
    codec = _declared(data[:PRESCAN]) or _declared_in_xml(data[:PRESCAN]) or _guessed(data)
    return codec, 0


def _sent_wide(sent: str) -> str | None:
    """The byte order of UTF-16 that a server names; low bytes come first where it names none."""
    label = sent.strip().lower()
    if _CODEC[label] != "utf-16":
        return None
    return "utf-16-be" if label in ("utf-16be", "unicodefffe") else "utf-16-le"


def _guessed(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _codec_of(label: bytes | None) -> str | None:
    """The codec of a label in a declaration; UTF-16 there is a lie, since the declaration could be read."""
    if label is None:
        return None
    codec = _CODEC.get(label.strip(_SPACE).lower().decode("latin-1"))
    return "utf-8" if codec == "utf-16" else codec


def _declared_in_xml(start: bytes) -> str | None:
    found = _OF_XML.match(start)
    return _codec_of(found[1] if found[1] is not None else found[2]) if found else None


def _declared(start: bytes) -> str | None:
    """The codec that the first <meta> with a known label names, looked for tag by tag."""
    at = 0
    while (at := start.find(b"<", at)) >= 0:
        if tag := _TAG.match(start, at):
            attributes, at = _attributes(start, tag.end())
            if tag[1].lower() == b"meta" and (codec := _of_meta(attributes)):
                return codec
        elif skipped := _SKIPPED.match(start, at):
            at = skipped.end()
        else:
            at += 1
    return None


def _attributes(start: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, the first of each name, and where the tag ends."""
    found: dict[bytes, bytes] = {}
    while (attribute := _ATTRIBUTE.match(start, at)) and attribute.end() > at:
        values = [value for value in attribute.groups()[1:] if value is not None]
        found.setdefault(attribute[1].lower(), values[0] if values else b"")
        at = attribute.end()
    return found, at


def _of_meta(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _codec_of(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _CHARSET.search(attributes.get(b"content", b"").lower())
    return _codec_of(next(value for value in found.groups() if value is not None)) if found else None
