"""The records that sitemaps are read into: pages, what stands beside them, and listed sitemaps.

Plain slotted dataclasses, so that itemadapter, msgspec and ``dataclasses.asdict`` know them. A field that a document
does not give is ``None`` (a list: empty). Dates are W3C Datetime text at the precision of the document; turn them
into :class:`~datetime.datetime` objects with :func:`sitemapcrawl.protocol.dates.to_datetime`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Iterator


class _ShortRepr:
    """A repr that leaves out what is unset: most fields of most records are."""

    __slots__ = ()

    def __repr__(self) -> str:
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs if value or value == 0)})"


@dataclass(slots=True, repr=False)
class Image(_ShortRepr):
    """An ``<image:image>`` of Google's image extension."""

    loc: str
    title: str | None = None
    caption: str | None = None
    geo_location: str | None = None
    license: str | None = None


@dataclass(slots=True, repr=False)
class Publication(_ShortRepr):
    """The ``<news:publication>`` that a news entry appeared in; ``language`` is a BCP 47 code."""

    name: str | None = None
    language: str | None = None


@dataclass(slots=True, repr=False)
class News(_ShortRepr):
    """A ``<news:news>`` of Google's news extension."""

    publication: Publication | None = None
    publication_date: str | None = None
    title: str | None = None


@dataclass(slots=True, repr=False)
class Relation(_ShortRepr):
    """A ``<video:restriction>`` (country codes) or ``<video:platform>`` (web, mobile, tv), allowed or denied."""

    relationship: str | None = None
    value: str | None = None


@dataclass(slots=True, repr=False)
class Uploader(_ShortRepr):
    """The ``<video:uploader>``: a name, and in ``info`` the URL of a page about it."""

    info: str | None = None
    value: str | None = None


@dataclass(slots=True, repr=False)
class Video(_ShortRepr):
    """A ``<video:video>`` of Google's video extension; ``duration`` is in seconds, ``rating`` from 0.0 to 5.0."""

    thumbnail_loc: str
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: str | None = None
    duration: int | None = None
    expiration_date: str | None = None
    rating: float | None = None
    view_count: int | None = None
    publication_date: str | None = None
    family_friendly: str | None = None
    restriction: Relation | None = None
    platform: Relation | None = None
    requires_subscription: str | None = None
    uploader: Uploader | None = None
    live: str | None = None
    tags: Sequence[str] = ()


@dataclass(slots=True, repr=False)
class Alternate(_ShortRepr):
    """An ``<xhtml:link>``: another version of the page, for a language, a region or a medium."""

    rel: str | None = None
    hreflang: str | None = None
    href: str | None = None


@dataclass(slots=True, repr=False)
class Page(_ShortRepr):
    """A page: a ``<url>`` of a urlset, an item of a feed or a line of a text sitemap.

    ``sitemap`` is the URL of the document that lists it, as it was served. In a crawl of several starts, ``start`` is the
    one that led to it. Where several workers share a crawl, ``attempt`` is the number of the attempt at the document that
    delivered it: of one that a worker could not finish, the pages may come once more, with a higher number.
    """

    loc: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: float | None = None
    images: Sequence[Image] = ()
    news: News | None = None
    videos: Sequence[Video] = ()
    alternates: Sequence[Alternate] = ()
    sitemap: str | None = None
    start: str | None = None
    attempt: int | None = None


@dataclass(slots=True, repr=False)
class SitemapEntry(_ShortRepr):
    """A sitemap that a sitemap index or a robots.txt lists; ``sitemap`` is the URL of that document, as served.

    ``start`` and ``attempt`` are as those of a :class:`Page`.
    """

    loc: str
    lastmod: str | None = None
    sitemap: str | None = None
    start: str | None = None
    attempt: int | None = None


PlainRow = tuple[str, str | None, str | None, float | None, str]


class PlainPages(Sequence[Page]):
    """Pages of one document that have neither images, news, videos nor alternates, made as they are looked at.

    Nearly every page of a large sitemap is one. ``rows`` holds them as tuples of loc, lastmod, changefreq, priority and
    sitemap, which take a quarter of the time that a :class:`Page` takes; who only passes them on need not have more.
    ``start`` and ``attempt`` are those of all of them.
    """

    __slots__ = ("attempt", "rows", "start")

    def __init__(self, rows: list[PlainRow], start: str | None = None, attempt: int | None = None) -> None:
        self.rows = rows
        self.start = start
        self.attempt = attempt

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Page: ...
    @overload
    def __getitem__(self, index: slice) -> PlainPages: ...
    def __getitem__(self, index: int | slice) -> Page | PlainPages:
        if isinstance(index, slice):
            return PlainPages(self.rows[index], self.start, self.attempt)
        return _page(self.rows[index], self.start, self.attempt)

    def __iter__(self) -> Iterator[Page]:
        return map(_page, self.rows, repeat(self.start), repeat(self.attempt))

    def __repr__(self) -> str:
        return f"<{len(self.rows)} plain pages>"


def _page(row: PlainRow, start: str | None, attempt: int | None) -> Page:
    loc, lastmod, changefreq, priority, sitemap = row
    return Page(loc, lastmod, changefreq, priority, (), None, (), (), sitemap, start, attempt)


def set_fields(record: Any) -> dict[str, Any]:
    """Return what is set of *record* as plain dictionaries and lists, in the order of its fields.

    >>> set_fields(Page("https://example.com/", priority=0.0, images=[Image("https://example.com/a.png")]))
    {'loc': 'https://example.com/', 'priority': 0.0, 'images': [{'loc': 'https://example.com/a.png'}]}
    """
    found = {}
    for name in record.__slots__:
        value = getattr(record, name)
        if value is None or value == ():
            continue
        if isinstance(value, (list, tuple)):
            value = [part if isinstance(part, str) else set_fields(part) for part in value]
        elif hasattr(value, "__slots__"):
            value = set_fields(value)
        found[name] = value
    return found
