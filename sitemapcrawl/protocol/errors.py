"""What can go wrong, as a small tree of exceptions that are values as well: the records of the errors feed.

Each has the ``url`` that it is about, a ``message`` for people and, where a limit was reached, the ``limit``: the name
of the option that set it.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SitemapError(Exception):
    """The base of all errors; catch this one to catch any."""

    type: ClassVar[str] = ""
    start: str | None = None  # in a crawl of several starts, the one that it belongs to
    attempt: int | None = None  # where several workers share a crawl, the number of the attempt at the document

    def __init__(self, url: str | None, message: str, limit: str | None = None) -> None:
        super().__init__(url, message, limit)
        self.url = url
        self.message = message
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.type} {self.url!r}: {self.message}" if self.url else self.message

    def record(self) -> dict[str, Any]:
        """Return the error as a record of the errors feed.

        >>> NetworkError("https://example.com/", "status 404").record()
        {'type': 'network', 'url': 'https://example.com/', 'limit': None, 'message': 'status 404'}
        """
        record: dict[str, Any] = {"type": self.type, "url": self.url, "limit": self.limit, "message": self.message}
        if self.start is not None:
            record["start"] = self.start
        if self.attempt is not None:
            record["attempt"] = self.attempt
        return record


class ConfigError(SitemapError):
    """An option that does not exist, is missing or has a value that it may not have."""

    type = "config"


class NetworkError(SitemapError):
    """A document that could not be fetched; ``url`` is the one that was requested."""

    type = "network"


class ParseError(SitemapError):
    """A document that could not be read, or a limit that ended the reading; ``url`` is where the document was served.

    Of the limits of a whole crawl (and of a crawl that was cut short) ``url`` is the one that the crawl began with.
    """

    type = "parse"


class ValidationError(SitemapError):
    """A location or a value that is not as it has to be; ``url`` is the location or that of the page with the value."""

    type = "validation"
