"""Character encodings: from the bytes of a document, whatever it is in, to UTF-8 or to text.

The encoding of a document is that of its byte order mark, else the one that its XML declaration names, else UTF-8.
Names are those of the WHATWG Encoding Standard, in which ISO-8859-1 is a label of windows-1252; the table of them is
``encoding_labels``.
"""

from __future__ import annotations

import codecs
import re
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.encoding_labels import ENCODINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    _Handler = Callable[[UnicodeError], tuple[str | bytes, int]]
    _Read = Callable[[UnicodeDecodeError], tuple[str, int] | None]

# Characters that may stand for an invalid sequence in between: no decoder yields a lone surrogate.
_MARK = "\udcff"
REPLACEMENT: Final = "\ufffd"

# UTF-32 before UTF-16: the mark of UTF-16LE is the beginning of that of UTF-32LE.
_MARKS: Final = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)

# Blanks between the attributes may be missing: a reader that refuses that does so later, and names it.
_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?[ \t\r\n]*<\?xml(?=[ \t\r\n])"""
    rb"""(?:[ \t\r\n]*(?!encoding\b)[A-Za-z]+[ \t\r\n]*=[ \t\r\n]*(?:"[^"<>]*"|'[^'<>]*'))*"""
    rb"""[ \t\r\n]*encoding[ \t\r\n]*=[ \t\r\n]*(?:"([^"<>]*)"|'([^'<>]*)')"""
)
_HEAD_SIZE: Final = 1_024  # bytes in which a declaration has to stand

# A declaration that could be read byte by byte is in none of these; it was left over when the document was converted.
_WIDE = re.compile(r"(?:utf|ucs|iso-10646-ucs)-?(?:16|32|2|4)(?:[lb]e)?", re.IGNORECASE)

_CODECS: Final = {
    "Big5": "big5hkscs",
    "EUC-KR": "cp949",
    "GBK": "gb18030",
    "IBM866": "cp866",
    "ISO-2022-JP": "iso2022_jp_ext",
    "ISO-8859-8-I": "iso8859_8",
    "Shift_JIS": "cp932",
    "UTF-16BE": "utf_16_be",
    "UTF-16LE": "utf_16_le",
    "UTF-32BE": "utf_32_be",
    "UTF-32LE": "utf_32_le",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}

# Where Python's codecs of one byte a character differ from the standard's indexes, apart from the controls.
_DIFFERENCES: Final = {
    "KOI8-U": {0xAE: "\u045e", 0xBE: "\u040e"},
    "windows-1255": {0xCA: "\u05ba"},
    "x-mac-cyrillic": {0xA2: "\u0490", 0xB6: "\u0491", 0xFF: "\u20ac"},
}

# What Python makes of the bytes A0 and FD to FF, and of nothing else; in the standard's Shift_JIS they are not valid.
_NO_SHIFT_JIS: Final = re.compile("[\uf8f0-\uf8f3]")

# Python reads these as JIS X 0208 has them, the standard as Windows does.
_JIS_DIFFERENCES: Final = str.maketrans("\u301c\u2016\u2212\u00a2\u00a3\u00ac", "\uff5e\u2225\uff0d\uffe0\uffe1\uffe2")


class UnknownEncodingError(ValueError):
    """An encoding that is not in the standard, or is not supported; ``encoding`` is its name as it is given."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"unsupported encoding {encoding[:100]!r}")
        self.encoding = encoding


class InvalidBytesError(ValueError):
    """Bytes that are not valid in the encoding of the document; ``offset`` is that of the first of them."""

    def __init__(self, encoding: str, offset: int) -> None:
        super().__init__(f"invalid bytes in encoding {encoding} at offset {offset}")
        self.encoding = encoding
        self.offset = offset


def declared_encoding(head: bytes) -> str | None:
    """Return the encoding that the XML declaration in *head* names, as it is written; ``None`` if it names none.

    The beginning of a document will do for *head*. White space and a UTF-8 byte order mark may stand before the
    declaration. A declaration in UTF-16 is not seen: the byte order mark tells that.

    >>> declared_encoding(b"<?xml version='1.0' encoding='ISO-8859-1'?>")
    'ISO-8859-1'
    """
    match = _DECLARATION.match(head[:_HEAD_SIZE])
    if not match:
        return None
    name = (match[1] if match[1] is not None else match[2]).decode("utf-8", "replace").strip(" \t\r\n\f")
    return name or None


def mark_of(body: bytes) -> tuple[str, int] | None:
    """Return the encoding of the byte order mark that *body* begins with and the number of its bytes, if it has one."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return encoding, len(mark)
    return None


def encoding_of(body: bytes, *, declared: bool = True) -> str:
    """Return the encoding of *body* by its byte order mark, its XML declaration (if *declared*), or UTF-8.

    A declared UTF-16 or UTF-32 is UTF-8: in one of these the declaration could not have been read. Raises
    :exc:`UnknownEncodingError` if the name that is declared is none of the standard's.
    """
    if mark := mark_of(body):
        return mark[0]
    name = declared_encoding(body) if declared else None
    return lookup(name) if name else "UTF-8"


def lookup(label: str) -> str:
    """Return the name of the encoding that *label* stands for; UTF-8 for UTF-16 and UTF-32 (see :func:`encoding_of`).

    Raises :exc:`UnknownEncodingError` for what is no label of the standard, and for the encodings that it knows only
    to refuse them.

    >>> lookup("latin1")
    'windows-1252'
    """
    key = label.strip(" \t\r\n\f").lower()
    encoding = ENCODINGS.get(key, "UTF-8" if _WIDE.fullmatch(key) else "replacement")
    if encoding == "replacement":
        raise UnknownEncodingError(label)
    return "UTF-8" if encoding.startswith("UTF-16") else encoding


def to_utf8(body: bytes, *, declared: bool = True, errors: str = "strict") -> bytes:
    """Return the document *body* in UTF-8, without a byte order mark.

    If *declared* is false only the byte order mark counts, as in text sitemaps and robots.txt files. Invalid bytes
    raise :exc:`InvalidBytesError`, or become U+FFFD if *errors* is ``"replace"``. Of UTF-8 nothing is checked and, but
    for a mark, nothing copied unless they are to be replaced: whoever reads it finds out.

    Raises :exc:`UnknownEncodingError` for an encoding that is unknown, and for UTF-32.
    """
    mark = mark_of(body)
    encoding = encoding_of(body, declared=declared)
    if encoding.startswith("UTF-32"):
        raise UnknownEncodingError("UTF-32")
    if mark:
        body = body[mark[1] :]
    if encoding == "UTF-8" and (errors == "strict" or is_utf8(body)):
        return body
    return _decode(body, encoding, errors, mark[1] if mark else 0).encode()


def is_utf8(body: bytes) -> bool:
    """Tell whether *body* is valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode(body: bytes, *, declared: bool = True, errors: str = "strict") -> str:
    """Return the text of the document *body*, without a byte order mark; UTF-8 is checked, otherwise as to_utf8."""
    mark = mark_of(body)
    encoding = encoding_of(body, declared=declared)
    size = mark[1] if mark else 0
    return _decode(body[size:], encoding, errors, size)


def decode_marked(body: bytes, *, declared: bool = True) -> tuple[str, array[int]]:
    """Return the text of the document *body*, and where in it the invalid sequences are, as indexes of the text.

    Each of them is one character U+FFFD of the text, which has no byte order mark. Never raises: an unknown encoding
    is read as UTF-8, and UTF-32 with a mark is read.

    >>> decode_marked(b"Caf\\xe9!")
    ('Caf\\ufffd!', array('q', [3]))
    """
    try:
        encoding = encoding_of(body, declared=declared)
    except UnknownEncodingError:
        encoding = "UTF-8"
    mark = mark_of(body)
    text = _decode(body[mark[1] :] if mark else body, encoding, "sitemapcrawl.mark", 0)
    positions = array("q", (match.start() for match in re.finditer(_MARK, text)))
    return (text.replace(_MARK, REPLACEMENT) if positions else text), positions


def _decode(body: bytes, encoding: str, errors: str, offset: int) -> str:
    """Return the text of *body*, which begins *offset* bytes after the beginning of the document."""
    try:
        if table := _table(encoding):
            return codecs.charmap_decode(body, errors, table)[0]
        if encoding == "EUC-JP":
            return body.decode("euc_jp", f"sitemapcrawl.euc-jp.{errors}").translate(_JIS_DIFFERENCES)
        if encoding in ("GBK", "gb18030"):
            return body.decode("gb18030", f"sitemapcrawl.gb.{errors}")
        text = body.decode(_CODECS.get(encoding, encoding), errors)
        if encoding == "Shift_JIS" and (invalid := _NO_SHIFT_JIS.search(text)):
            if errors == "strict":
                raise InvalidBytesError(encoding, offset + len(text[: invalid.start()].encode("cp932")))
            return _NO_SHIFT_JIS.sub(REPLACEMENT if errors == "replace" else _MARK, text)
        return text.translate(_JIS_DIFFERENCES) if encoding == "ISO-2022-JP" else text
    except UnicodeDecodeError as error:
        raise InvalidBytesError(encoding, offset + error.start) from None


@lru_cache(maxsize=64)
def _table(encoding: str) -> str | None:
    """Return the 256 characters of an *encoding* of one byte a character, U+FFFE for none; else ``None``."""
    if encoding == "x-user-defined":
        return "".join(chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(256))
    if not re.match("windows-|ISO-8859-|KOI8-|IBM|mac|x-mac", encoding):
        return None
    codec = _CODECS.get(encoding, encoding)
    different = _DIFFERENCES.get(encoding, {})
    characters = []
    for byte in range(256):
        character = different.get(byte) or bytes([byte]).decode(codec, "replace")
        # The standard's windows encodings have controls where Windows has nothing, from 80 to 9F.
        characters.append(character if character != REPLACEMENT else chr(byte) if byte < 0xA0 else "\ufffe")
    return "".join(characters)


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _MARK, error.end


def _read_euc_jp(error: UnicodeDecodeError) -> tuple[str, int] | None:
    """Read the characters of NEC and IBM that the standard's index jis0208 has and Python's EUC-JP does not (①, ㈱)."""
    lead, trail = (*error.object[error.start : error.start + 2], 0, 0)[:2]
    if not (0xA1 <= lead <= 0xFE and 0xA1 <= trail <= 0xFE):
        return None
    row, cell = lead - 0xA1, trail - 0xA1
    first = row // 2 + (0x81 if row < 62 else 0xC1)
    second = cell + (0x9F if row % 2 else 0x40 if cell < 63 else 0x41)
    try:
        return bytes([first, second]).decode("cp932"), error.start + 2
    except UnicodeDecodeError:
        return None


def _read_gb(error: UnicodeDecodeError) -> tuple[str, int] | None:
    """Read the euro sign of Windows, which is a byte of its own."""
    return ("\u20ac", error.start + 1) if error.object[error.start] == 0x80 else None


def _otherwise(read: _Read, errors: str) -> _Handler:
    """Return an error handler of a codec that lets *read* try first, and the handler named *errors* after it."""
    handler = codecs.lookup_error(errors)

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        assert isinstance(error, UnicodeDecodeError)
        return read(error) or handler(error)

    return handle


codecs.register_error("sitemapcrawl.mark", _mark)
for _name, _reader in (("euc-jp", _read_euc_jp), ("gb", _read_gb)):
    for _errors in ("strict", "replace", "sitemapcrawl.mark"):
        codecs.register_error(f"sitemapcrawl.{_name}.{_errors}", _otherwise(_reader, _errors))
