"""Which locations are accepted, and how they come back: resolved in tolerant mode, as they are given in strict mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapcrawl.protocol import urls
from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from collections.abc import Callable


# White space, and what editors and web pages leave around an address that is copied from them: zero-width spaces and
# joiners, marks of direction, a byte order mark. Within a URL they are characters like any other.
_INVISIBLE = " \t\r\n\xa0\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"


class LocationRules:
    """Judges the locations of one document, which was served from *url*.

    In strict mode a page and a sitemap have to be on the host of the document; what a robots.txt names (*any_host*)
    has not.
    """

    def __init__(self, url: str, *, strict: bool, any_host: bool = False) -> None:
        self._url = url
        self._strict = strict
        self._base = None if any_host else url
        # Tells of most locations, at once, that they are accepted as they are.
        self.is_fine: Callable[[str], object] = urls.fine_at(self._base) if strict else urls.fine_near(url)

    def accept(self, loc: str) -> str:
        """Return the location that *loc*, which is not empty, stands for.

        Raises :exc:`~sitemapcrawl.protocol.errors.ValidationError`, which names *loc* resolved where that is possible.
        """
        try:
            if self._strict:
                urls.check_strict(loc, self._base)
                return loc
            if not loc.isascii():
                loc = loc.strip(_INVISIBLE) or loc
            if loc.startswith("<![CDATA[") and loc.endswith("]]>"):
                loc = loc[9:-3].strip() or loc
            return urls.resolve(loc, self._url)
        except ValueError as problem:
            raise ValidationError(self._named(loc), str(problem)) from None

    def _named(self, loc: str) -> str:
        return loc if self._strict else urls.absolute(loc, self._url) or loc

    def unclear(self, element: str, text: str) -> ValidationError:
        """Return the error of a location with markup in it, of which *text* may be a part alone; it names the document."""
        message = f"<{element}> holds {quote(text)} and markup that has no business there, so that it is not known as a whole"
        return ValidationError(self._url, message)

    def missing(self) -> ValidationError:
        """Return the error of an entry without a location, which names the document."""
        return ValidationError(self._url, "<loc> of an entry is empty or missing")
