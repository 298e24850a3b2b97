"""One sitemap as a document, for both directions: what is appended to it is written, what is parsed is read.

>>> from datetime import date
>>> sitemap = Sitemap()
>>> sitemap.append("https://example.com/", lastmod=date(2024, 2, 29), priority=0.8)
>>> list(sitemap)
[Page(loc='https://example.com/', lastmod='2024-02-29', priority=0.8)]
>>> Sitemap.parse(sitemap.to_bytes()).entries == sitemap.entries
True

Next door in ``reader`` is what reads every kind of document as a stream, in ``writer`` what writes any number of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from io import BytesIO
from typing import TYPE_CHECKING, Any

from sitemapcrawl.protocol.errors import ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.limits import MAX_ENTRIES, MAX_FILE_SIZE, MAX_NEWS
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.records import Page, SitemapEntry
from sitemapcrawl.protocol.rules.records import RecordRules
from sitemapcrawl.protocol.writer import Body, EntryWriter, check_stylesheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime
    from typing import Self

    from sitemapcrawl.protocol.records import Alternate, Image, News, Video

_KINDS = ("urlset", "sitemapindex")
_ROOTS = {"rss": "an RSS feed", "atom": "an Atom feed", "text": "a list of URLs"}


class Sitemap:
    """A document of *kind* ``"urlset"``, which lists pages, or ``"sitemapindex"``, which lists sitemaps.

    ``entries`` is the list of them, in order: :class:`~.records.Page` or :class:`~.records.SitemapEntry` objects. Take out or
    replace what you like; it is judged again when it is written.

    *url* is the address at which the document will be, if that is known: pages have to be on its host and in its directory or
    below. With *encode*, what an address may not hold is percent-encoded instead of refused.
    """

    def __init__(self, kind: str = "urlset", *, url: str | None = None, encode: bool = False) -> None:
        if kind not in _KINDS:
            raise ValueError(f"kind is {kind!r}, it has to be 'urlset' or 'sitemapindex'")
        if url is not None:
            RecordRules().url("url", url)
        self._kind = kind
        self._rules = RecordRules(url, encode=encode)
        self.entries: list[Any] = []
        self.errors: list[SitemapError] = []
        """What was wrong with the document that was parsed, and is not in ``entries``."""

    @property
    def kind(self) -> str:
        """``"urlset"`` or ``"sitemapindex"``."""
        return self._kind

    def append(
        self,
        loc: str | Page | SitemapEntry | Mapping[str, Any],
        *,
        lastmod: str | datetime | date | None = None,
        changefreq: str | None = None,
        priority: float | str | None = None,
        images: Iterable[Image | Mapping[str, Any] | str] = (),
        news: News | Mapping[str, Any] | None = None,
        videos: Iterable[Video | Mapping[str, Any]] = (),
        alternates: Iterable[Alternate | Mapping[str, Any]] = (),
    ) -> None:
        """Add an entry for the address *loc*; or a record, which has the other values in it.

        Raises :exc:`ValueError`, naming value and rule, for what the protocol refuses: an address that is not absolute, not in
        ASCII or longer than 2,048 characters, a date that is no W3C Datetime, a :class:`~datetime.datetime` without a
        time zone, a *changefreq* or *priority* that there is not, an extension without what it requires, a character that
        XML cannot hold; and for an entry more than 50,000. Nothing is added then.
        """
        if len(self.entries) >= MAX_ENTRIES:
            raise ValueError(f"a {self._kind} holds at most {MAX_ENTRIES:,} entries")
        values = {
            "lastmod": lastmod, "changefreq": changefreq, "priority": priority,
            "images": images, "news": news, "videos": videos, "alternates": alternates,
        }  # fmt: skip
        if not isinstance(loc, (Page, SitemapEntry, Mapping)):
            self.entries.append(self._judged({"loc": loc, **values}))
        elif any(value not in (None, ()) for value in values.values()):
            raise ValueError("a record has its values in it, no others are taken beside it")
        else:
            self.entries.append(self._judged(loc))

    def _judged(self, record: Any, faults: list[str] | None = None) -> Page | SitemapEntry:
        return self._rules.page(record, faults) if self._kind == "urlset" else self._rules.sitemap(record, faults)

    @classmethod
    def parse(cls, body: bytes | str, url: str | None = None) -> Self:
        """Read the document *body*, which was served from *url*: XML in any encoding, gzipped or not, well-formed or nearly.

        What is read is what :meth:`append` accepts. An entry without a usable address is skipped; any other value that is
        refused costs itself alone. Relative addresses are resolved against *url*; without it they are not usable. ``errors``
        has what was skipped or left out.

        Raises :exc:`~sitemapcrawl.protocol.errors.ParseError` if it is no sitemap: the message names the root element.
        """
        if isinstance(body, str):
            # The byte order mark wins over whatever encoding the text declares.
            body = body.removeprefix("\ufeff").encode("utf-8-sig", "replace")
        document = read(body, url or "", robots=False)
        if document.kind not in _KINDS:
            raise ParseError(url, f"not a sitemap: the document is {_ROOTS.get(document.kind, document.kind)}")
        sitemap = cls(document.kind)
        for record in document:
            if isinstance(record, SitemapError):
                sitemap.errors.append(record)
                continue
            faults: list[str] = []
            try:
                entry = sitemap._judged(record, faults)
                entry.sitemap = url
                sitemap.entries.append(entry)
            except ValueError as problem:
                faults.append(str(problem))
            sitemap.errors += [ValidationError(record.loc, fault) for fault in faults]
        return sitemap

    def to_bytes(self, *, stylesheet: str | None = None) -> bytes:
        """Return the document in UTF-8, with the namespaces that it uses; one without entries has a self-closing root.

        *stylesheet* is the URL of an XSL stylesheet. Raises :exc:`ValueError` if something in ``entries`` may not be written,
        or if there are more than 50,000 entries or 52,428,800 bytes.
        """
        body = Body(self._kind, stylesheet=None if stylesheet is None else check_stylesheet(stylesheet))
        writer = EntryWriter(self._rules, self._kind)
        output = BytesIO()
        with closing(body):
            for record in self.entries:
                if not body.add(writer.entry(record)):
                    raise ValueError(
                        f"{len(self.entries):,} entries do not fit one file, which may have {MAX_ENTRIES:,} entries, "
                        f"{MAX_FILE_SIZE:,} bytes and {MAX_NEWS:,} news: write them with SitemapWriter"
                    )
            body.write_to(output)
        return output.getvalue()

    def __str__(self) -> str:
        return self.to_bytes().decode()

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"Sitemap(kind={self._kind!r}, {len(self.entries)} entries)"
