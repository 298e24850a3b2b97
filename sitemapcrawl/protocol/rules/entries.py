"""What entries are worth: raw entries → pages or listed sitemaps, and the errors of what is wrong with them.

In tolerant mode a value that cannot be read costs itself; in strict mode it costs the page. A location that is not
accepted costs the entry in both modes, and is reported alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapcrawl.protocol import dates
from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.limits import MAX_URL_LENGTH
from sitemapcrawl.protocol.records import Page, PlainPages, PlainRow, SitemapEntry
from sitemapcrawl.protocol.rules.extensions import read_extensions
from sitemapcrawl.protocol.rules.locations import LocationRules
from sitemapcrawl.protocol.rules.values import CHANGEFREQS, ValueReader, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapcrawl.protocol.formats.raw import FeedEntry, PlainEntry, RawEntry, RawLocation

PageRecord = Page | ValidationError
SitemapRecord = SitemapEntry | ValidationError

_USUAL_CHANGEFREQS = CHANGEFREQS | {""}
_USUAL_PRIORITIES: dict[str, float | None] = {f"{tenths / 10:.1f}": tenths / 10 for tenths in range(11)}
_USUAL_PRIORITIES |= {"0": 0.0, "1": 1.0, "": None}


class PageRules:
    """Judges the pages of one document, which was served from *url*."""

    def __init__(self, url: str, *, strict: bool) -> None:
        self._url = url
        self._strict = strict
        self._locations = LocationRules(url, strict=strict)

    def plain(self, entries: Iterable[PlainEntry]) -> PlainPages | list[PageRecord]:
        """Judge entries without extensions, whose texts may have white space around them.

        The hot loop of a crawl: what is as it should be takes four looks, and all else may take its time.
        """
        found: list[Any] = []
        is_sound = True
        is_fine, is_date, url = self._locations.is_fine, dates.is_plain, self._url
        for _, loc, lastmod, changefreq, priority in entries:
            if (
                is_fine(loc)
                and len(loc) <= MAX_URL_LENGTH
                and (not lastmod or is_date(lastmod))
                and changefreq in _USUAL_CHANGEFREQS
                and priority in _USUAL_PRIORITIES
            ):
                found.append((loc, lastmod or None, changefreq or None, _USUAL_PRIORITIES[priority], url))
            else:
                records = self._judge([loc.strip()], lastmod.strip(), changefreq.strip(), priority.strip() if priority else None)
                is_sound = is_sound and len(records) == 1 and type(records[0]) is Page
                found += [_row(record) if type(record) is Page else record for record in records]
        if is_sound:
            return PlainPages(found)
        return [PlainPages([record])[0] if type(record) is tuple else record for record in found]

    def entry(self, entry: RawEntry) -> list[PageRecord]:
        """Judge an entry of a urlset."""
        return self._judge(entry.locs, entry.lastmod, entry.changefreq, entry.priority, entry.extensions, entry.unclear)

    def feed_entry(self, entry: FeedEntry) -> list[PageRecord]:
        """Judge an item of a feed. One without a link is passed over; a date that cannot be read costs only itself."""
        if not entry.link:
            return []
        if entry.is_unclear:
            return [self._locations.unclear("link", entry.link)]
        try:
            loc = self._locations.accept(entry.link)
        except ValidationError as error:
            return [error]
        reader = ValueReader(loc)
        parse = dates.parse_rfc822 if entry.date_element == "pubDate" else dates.parse_w3c
        page = Page(loc, reader.date(entry.date_element, entry.date, parse), sitemap=self._url)
        return [*reader.errors, page]

    def location(self, line: RawLocation) -> list[PageRecord]:
        """Judge a line of a text sitemap."""
        try:
            return [Page(self._locations.accept(line.loc), sitemap=self._url)]
        except ValidationError as error:
            return [error]

    def _judge(  # type: ignore[no-untyped-def]
        self, locs, lastmod, changefreq, priority, extensions=(), unclear=()
    ) -> list[PageRecord]:
        accepted, rejected = _accept(locs, unclear, self._locations, strict=self._strict)
        if not accepted:
            return [*rejected]
        reader = ValueReader(accepted[0])
        date = reader.date("lastmod", lastmod)
        frequency = self._changefreq(changefreq, reader)
        number = reader.decimal("priority", priority)
        if self._strict and number is not None and not 0.0 <= number <= 1.0:
            reader.fault(f"strict mode: <priority> is {priority}, it has to be from 0.0 to 1.0")
        costs_the_page = self._strict and bool(reader.errors)  # the errors of the extensions that follow do not
        fields = read_extensions(extensions, reader, strict=self._strict) if extensions else {}
        if costs_the_page:
            return [*rejected, *reader.errors]
        pages = [Page(loc, date, frequency, number, sitemap=self._url, **fields) for loc in accepted]
        return [*rejected, *reader.errors, *pages]

    def _changefreq(self, text: str | None, reader: ValueReader) -> str | None:
        if not text:
            return None
        if text in CHANGEFREQS:
            return text
        if self._strict:
            reader.fault(
                f"strict mode: <changefreq> is {quote(text)}, it has to be one of always, hourly, daily, weekly, "
                "monthly, yearly and never, in lower case"
            )
            return None
        return text.lower() if text.lower() in CHANGEFREQS else text


def _row(page: Page) -> PlainRow:
    return page.loc, page.lastmod, page.changefreq, page.priority, page.sitemap or ""


class SitemapRules:
    """Judges the sitemaps that an index (or, with *any_host*, a robots.txt), which was served from *url*, lists."""

    def __init__(self, url: str, *, strict: bool, any_host: bool = False) -> None:
        self._url = url
        self._strict = strict
        self._locations = LocationRules(url, strict=strict, any_host=any_host)

    def entry(self, entry: RawEntry) -> list[SitemapRecord]:
        """Judge an entry of a sitemap index. A date that cannot be read costs only itself, in both modes."""
        accepted, rejected = _accept(entry.locs, entry.unclear, self._locations, strict=self._strict)
        if not accepted:
            return [*rejected]
        reader = ValueReader(accepted[0])
        date = reader.date("lastmod", entry.lastmod)
        return [*rejected, *reader.errors, *(SitemapEntry(loc, date, self._url) for loc in accepted)]

    def location(self, line: RawLocation) -> list[SitemapRecord]:
        """Judge a ``Sitemap:`` line of a robots.txt."""
        try:
            return [SitemapEntry(self._locations.accept(line.loc), None, self._url)]
        except ValidationError as error:
            return [error]


def _accept(
    locs: list[str], unclear: Iterable[str], rules: LocationRules, *, strict: bool
) -> tuple[list[str], list[ValidationError]]:
    """Return which locations of an entry are accepted, and the errors of those that are not.

    An entry with several is one for each of them in tolerant mode, and rejected in strict mode.
    """
    given = [loc for loc in locs if loc]
    rejected = [rules.unclear("loc", loc) for loc in unclear]
    if not given:
        return [], rejected or [rules.missing()]
    if strict and len(locs) + len(rejected) > 1:
        count = len(locs) + len(rejected)
        return [], [ValidationError(given[0], f"strict mode: an entry has {count} <loc> elements, it may have one")]
    accepted: list[str] = []
    for loc in given:
        try:
            accepted.append(rules.accept(loc))
        except ValidationError as error:
            rejected.append(error)
    return accepted, rejected
