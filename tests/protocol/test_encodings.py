"""Encodings: which one a document is in, and its text."""

from __future__ import annotations

import codecs

import pytest

from sitemapcrawl.protocol.encoding_labels import ENCODINGS
from sitemapcrawl.protocol.encodings import (
    InvalidBytesError,
    UnknownEncodingError,
    declared_encoding,
    decode,
    decode_marked,
    encoding_of,
    lookup,
    to_utf8,
)


def marked(body: bytes, *, declared: bool = True) -> tuple[str, list[int]]:
    text, positions = decode_marked(body, declared=declared)
    return text, positions.tolist()


def declare(encoding: str, content: bytes = b"") -> bytes:
    return b'<?xml version="1.0" encoding="' + encoding.encode() + b'"?>' + content


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'<?xml version="1.0" encoding="UTF-8"?>', "UTF-8"),
        (b"<?xml version='1.0' encoding='iso-8859-1' standalone='yes'?>", "iso-8859-1"),
        (b'<?xml version = "1.0"\n\tencoding = "x"?>', "x"),
        (b'<?xml encoding="x"?>', "x"),
        (b'<?xml standalone="no" encoding="x" version="1.0"?>', "x"),
        (b'<?xml version="1.0"encoding="x"?>', "x"),
        (b'\xef\xbb\xbf<?xml version="1.0" encoding="x"?>', "x"),
        (b'\n \t<?xml version="1.0" encoding="x"?>', "x"),
        (b'\xef\xbb\xbf\n<?xml version="1.0" encoding=" x "?>', "x"),
        (b'<?xml version="1.0" encoding="x y"?>', "x y"),
        (b'<?xml version="1.0"?>', None),
        (b'<?xml version="1.0" encoding=""?>', None),
        (b'<?xml version="1.0" encoding=x?>', None),
        (b'<?xml version="1.0" encoding="x', None),
        (b"<?xml version=\"encoding='x'\"?>", None),
        (b'<?xml version="1.0"?><a encoding="x"/>', None),
        (b'<?xml-stylesheet encoding="x"?>', None),
        (b'<!-- <?xml version="1.0" encoding="x"?> -->', None),
        (b'<urlset encoding="x">', None),
        (b"", None),
        (b" " * 2000 + b'<?xml version="1.0" encoding="x"?>', None),
        ('<?xml version="1.0" encoding="utf-16"?>'.encode("utf-16"), None),
    ],
)
def test_declared_encoding(head: bytes, expected: str | None) -> None:
    assert declared_encoding(head) == expected


def test_megabytes_of_a_declaration() -> None:
    assert declared_encoding(b"<?xml " + b'a="1" ' * 1_000_000) is None
    assert declared_encoding(b"<?xml " + b" " * 5_000_000) is None


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("UTF8", "UTF-8"),
        (" Latin1\n", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("ISO-8859-9", "windows-1254"),
        ("tis-620", "windows-874"),
        ("gb2312", "GBK"),
        ("SJIS", "Shift_JIS"),
        ("ks_c_5601-1987", "EUC-KR"),
        ("big5-hkscs", "Big5"),
        ("koi8-ru", "KOI8-U"),
        # A declaration that can be read is in neither of these.
        ("UTF-16", "UTF-8"),
        ("utf-16be", "UTF-8"),
        ("UTF-32LE", "UTF-8"),
        ("ISO-10646-UCS-4", "UTF-8"),
    ],
)
def test_labels_are_those_of_the_standard(label: str, expected: str) -> None:
    assert lookup(label) == expected


@pytest.mark.parametrize("label", ["x-klingon", "EBCDIC-FOO", "utf-7", "utf-64", "hz-gb-2312", "iso-2022-kr", "cp037", "rot13"])
def test_other_encodings_are_refused_by_name(label: str) -> None:
    with pytest.raises(UnknownEncodingError) as caught:
        to_utf8(declare(label, b"<urlset/>"))
    assert label in str(caught.value)
    assert caught.value.encoding == label


def test_every_label_can_be_read() -> None:
    assert len(ENCODINGS) == 228
    for label, encoding in ENCODINGS.items():
        if encoding != "replacement":
            document = declare(label, b"<urlset/>")
            assert to_utf8(document) == document
            assert decode(document) == document.decode()


@pytest.mark.parametrize(
    ("encoding", "content", "text"),
    [
        ("ISO-8859-1", b"caf\xe9 \x80\x93", "café €“"),
        ("windows-1252", b"\x81\x8d\x8f\x90\x9d", "\x81\x8d\x8f\x90\x9d"),
        ("ISO-8859-2", b"\xb1\xe6\x80", "ąć\x80"),
        ("ISO-8859-7", b"\xa4\xe1", "€α"),
        ("ISO-8859-8-I", b"\xe0", "א"),
        ("ISO-8859-9", b"\xfd\x80", "ı€"),
        ("ISO-8859-11", b"\xa1", "ก"),
        ("ISO-8859-15", b"\xa4", "€"),
        ("ISO-8859-16", b"\xaa", "Ș"),
        ("windows-1251", b"\xec\xe8\xf0", "мир"),
        ("windows-1253", b"\xe1\x81", "α\x81"),
        ("windows-1255", b"\xca", "\u05ba"),
        ("KOI8-R", b"\xcd\xc9\xd2", "мир"),
        ("KOI8-U", b"\xa4\xae\xbe", "єўЎ"),
        ("IBM866", b"\xac\xa8\xe0", "мир"),
        ("macintosh", b"\x8e\xdb", "é€"),
        ("x-mac-cyrillic", b"\xa2\xb6\xff", "Ґґ€"),
        ("x-user-defined", b"\x80\xff", "\uf780\uf7ff"),
        ("Shift_JIS", "表①㈱～".encode("cp932"), "表①㈱～"),
        ("EUC-JP", b"\xc9\xbd\xad\xa1\xad\xea\xa1\xc1", "表①㈱～"),
        ("ISO-2022-JP", b"\x1b$BI=!A\x1b(B", "表～"),
        ("gb2312", "朱镕基".encode("gbk") + b"\x80", "朱镕基€"),
        ("gb18030", "朱镕基😀".encode("gb18030"), "朱镕基😀"),
        ("Big5", "功能".encode("big5"), "功能"),
        ("EUC-KR", "똠방각하".encode("cp949"), "똠방각하"),
    ],
)
def test_content_is_read_as_the_standard_has_it(encoding: str, content: bytes, text: str) -> None:
    document = declare(encoding, content)
    assert to_utf8(document) == declare(encoding, text.encode())
    assert to_utf8(document, errors="replace") == declare(encoding, text.encode())
    assert marked(document) == (declare(encoding).decode() + text, [])


def test_utf_8_is_neither_copied_nor_checked() -> None:
    for document in (declare("UTF-8", b"<a>\xff</a>"), b"<a>\xff</a>", declare("utf-16", b"\xc3\xa9"), b""):
        assert to_utf8(document) is document
        assert to_utf8(document, declared=False) is document
    valid = declare("UTF-8", "é".encode())
    assert to_utf8(valid, errors="replace") is valid


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
@pytest.mark.parametrize("label", ["UTF-8", "utf-16", "ISO-8859-1", "x-klingon"])
def test_the_byte_order_mark_wins(mark: bytes, codec: str, label: str) -> None:
    text = f'<?xml version="1.0" encoding="{label}"?>\ufeffé😀'
    document = mark + text.encode(codec)
    for declared in (True, False):
        assert to_utf8(document, declared=declared) == text.encode()
        assert decode(document, declared=declared) == text
        assert marked(document, declared=declared) == (text, [])


def test_without_declarations_only_the_mark_counts() -> None:
    document = declare("ISO-8859-1", b"\xe9")
    assert encoding_of(document, declared=False) == "UTF-8"
    assert to_utf8(document, declared=False) is document
    assert to_utf8(document, declared=False, errors="replace") == declare("ISO-8859-1", b"\xef\xbf\xbd")


def test_utf_32_is_not_supported() -> None:
    for codec, mark in (("utf-32-le", codecs.BOM_UTF32_LE), ("utf-32-be", codecs.BOM_UTF32_BE)):
        document = mark + "<urlset/>".encode(codec)
        with pytest.raises(UnknownEncodingError, match="UTF-32"):
            to_utf8(document)
        # The linter reads it all the same.
        assert marked(document) == ("<urlset/>", [])


@pytest.mark.parametrize(
    ("document", "offset", "replaced", "positions"),
    [
        (declare("windows-1253", b"a\xaab"), 46, "a\ufffdb", [45 + 1]),
        (declare("ISO-8859-6", b"\xa1\xa1"), 43, "\ufffd\ufffd", [43, 44]),
        (declare("Shift_JIS", b"a\x81"), 43, "a\ufffd", [43]),
        (declare("Shift_JIS", "表".encode("cp932") + b"\xffa\xa0"), 44, "表\ufffda\ufffd", [43, 45]),
        (declare("EUC-JP", b"a\xffb"), 40, "a\ufffdb", [40]),
        (declare("gb2312", b"a\xffb"), 40, "a\ufffdb", [40]),
        (declare("EUC-KR", b"\xff"), 39, "\ufffd", [39]),
        (declare("Big5", b"\xff"), 37, "\ufffd", [37]),
        (codecs.BOM_UTF16_LE + b"a\x00\x00\xd8b\x00", 4, "a\ufffdb", [1]),
        (codecs.BOM_UTF16_BE + b"\x00a\x00", 4, "a\ufffd", [1]),
    ],
)
def test_invalid_bytes(document: bytes, offset: int, replaced: str, positions: list[int]) -> None:
    for function in (to_utf8, decode):
        with pytest.raises(InvalidBytesError) as caught:
            function(document)
        assert caught.value.offset == offset
        assert str(offset) in str(caught.value)
    assert to_utf8(document, errors="replace").decode().endswith(replaced)
    assert decode(document, errors="replace").endswith(replaced)
    text, found = marked(document)
    assert text == decode(document, errors="replace")
    assert found == positions


def test_invalid_utf_8_is_marked_by_sequence() -> None:
    document = "\ufeff<a>\ufffd".encode() + b"\xe9 \xc3( \xf0\x9f\x98 \xc0\x80\xed\xa0\x80"
    text, positions = marked(document)
    assert text == "<a>\ufffd\ufffd \ufffd( \ufffd \ufffd\ufffd\ufffd\ufffd\ufffd"
    assert positions == [4, 6, 9, 11, 12, 13, 14, 15]
    with pytest.raises(InvalidBytesError) as caught:
        decode(document)
    assert caught.value.offset == 9
    assert to_utf8(document, errors="replace") == text.encode()


def test_an_unknown_encoding_is_marked_as_utf_8() -> None:
    assert marked(declare("x-klingon", "é".encode())) == (declare("x-klingon").decode() + "é", [])
