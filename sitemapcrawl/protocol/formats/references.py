"""References in XML: what they stand for, and the repair of those that XML does not know.

The five entities of XML, and character references; in tolerant mode those of HTML by their meaning as well. Any other
stays as it is written, and nothing that a document type declares is ever expanded.
"""

from __future__ import annotations

import re
from html.entities import html5

_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(r"&(?:#([0-9]{1,10})|#x([0-9a-fA-F]{1,8})|([A-Za-z][A-Za-z0-9]{0,31}));")
_MOST_REPAIRS = 1_000_000  # each takes a microsecond and some 100 bytes
_SPECIAL = re.compile(r"[&<>\"'\t\n]")  # as characters they would mean something else, in an attribute for one (&QUOT;)
_AMPERSAND = re.compile(rb"&(?:#([0-9]{1,10});|#x([0-9a-fA-F]{1,8});|([A-Za-z][A-Za-z0-9]{0,31});)?")


def is_xml_character(code: int) -> bool:
    """Tell whether XML 1.0 (section 2.2, Char) allows the character with this code point."""
    return 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF or code in (0x9, 0xA, 0xD)


def unescape(text: str) -> str:
    """Return *text* of a well-formed document without a document type, with its references resolved.

    >>> unescape("?a=1&amp;b=&#x26;amp;")
    '?a=1&b=&amp;'
    """
    return _REFERENCE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _XML_ENTITIES.get(name, match[0])
    return chr(int(decimal) if decimal else int(hexadecimal, 16))


def _as_reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def is_worth_repair(body: bytes) -> bool:
    """Tell whether :func:`repair_references` may make *body* well-formed, and takes no unreasonable time over it."""
    count = body.count(b"&") - body.count(b"&amp;")
    return 0 < count <= _MOST_REPAIRS and b"<![CDATA[" not in body


def repair_references(body: bytes) -> bytes:
    """Return *body*, UTF-8, with each ``&`` that XML would stumble over escaped, and HTML's entities by their meaning.

    Only for documents without CDATA sections, in which a ``&`` stands for itself.

    >>> repair_references(b"?a=1&b=2 caf&eacute; &nbsp &unknown; &amp; &#0;").decode()
    '?a=1&amp;b=2 café &amp;nbsp &amp;unknown; &amp; &amp;#0;'
    """
    return _AMPERSAND.sub(_repaired, body)


def _repaired(match: re.Match[bytes]) -> bytes:
    decimal, hexadecimal, name = match.groups()
    if name:
        text = name.decode("ascii")
        if text in _XML_ENTITIES:
            return match[0]
        meaning = html5.get(f"{text};")
        if meaning is None:
            return b"&amp;" + match[0][1:]
        return _SPECIAL.sub(_as_reference, meaning).encode("utf-8")
    if decimal or hexadecimal:
        code = int(decimal) if decimal else int(hexadecimal, 16)
        if is_xml_character(code):
            return match[0]
    return b"&amp;" + match[0][1:]
