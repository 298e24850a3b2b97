"""Text sitemaps and robots.txt files: bytes → the locations that their lines give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapcrawl.protocol.formats.raw import RawLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

# A line ends with LF, CRLF or CR. Indentation is allowed; a byte order mark within the document is no white space.
_URL_LINE = re.compile(r"(?:^|(?<=[\r\n]))[^\S\r\n]*+(https?://[^\r\n]*+)", re.IGNORECASE)
_SITEMAP_LINE = re.compile(r"(?:^|(?<=[\r\n]))[^\S\r\n]*+site-?maps?[^\S\r\n]*+:([^\r\n#]*+)", re.IGNORECASE)

_DIRECTIVE = re.compile(r"(?:^|(?<=[\r\n]))[^\S\r\n]*+(?:user-?agent|(?:dis)?allow|site-?maps?)[^\S\r\n]*+:", re.IGNORECASE)
_FIRST_CHARACTERS = 65_536  # in which a robots.txt has one of its directives


def url_lines(text: str) -> Iterator[RawLocation]:
    """Yield the lines of a text sitemap that begin with ``http://`` or ``https://``."""
    for match in _URL_LINE.finditer(text):
        yield RawLocation(match[1].strip())


def sitemap_lines(text: str) -> Iterator[RawLocation]:
    """Yield the values of the ``Sitemap:`` lines of a robots.txt that have one. What follows a ``#`` is a comment."""
    for match in _SITEMAP_LINE.finditer(text):
        loc = match[1].strip()
        if loc:
            yield RawLocation(loc)


def resembles_robots(text: str) -> bool:
    """Tell whether *text* has lines of a robots.txt at its beginning, whatever it is read as."""
    return _DIRECTIVE.search(text, 0, _FIRST_CHARACTERS) is not None
