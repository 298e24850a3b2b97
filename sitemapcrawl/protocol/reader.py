"""The door to the protocol for any program: bytes and a URL in, records and errors out.

>>> document = read(b"<urlset><url><loc>/a</loc><lastmod>2024-02</lastmod></url></urlset>", "https://example.com/sitemap.xml")
>>> document.kind, list(document)
('urlset', [Page(loc='https://example.com/a', lastmod='2024-02', sitemap='https://example.com/sitemap.xml')])
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemapcrawl.protocol import compression, encodings, urls
from sitemapcrawl.protocol.errors import ParseError, SitemapError, ValidationError
from sitemapcrawl.protocol.formats import text, xml
from sitemapcrawl.protocol.formats.entries import EntryReader, split_tag
from sitemapcrawl.protocol.formats.references import is_worth_repair, repair_references
from sitemapcrawl.protocol.formats.vocabulary import Vocabulary
from sitemapcrawl.protocol.limits import MAX_FILE_SIZE
from sitemapcrawl.protocol.lines import Lines
from sitemapcrawl.protocol.markup import Fault, Markup
from sitemapcrawl.protocol.records import Page, PlainPages, SitemapEntry
from sitemapcrawl.protocol.rules.entries import PageRules, SitemapRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sitemapcrawl.protocol.formats.entries import AnyElement
    from sitemapcrawl.protocol.formats.raw import RawLocation

Record = Page | SitemapEntry | SitemapError

_KINDS = {"urlset": "urlset", "sitemapindex": "sitemapindex", "rss": "rss", "rdf": "rss", "RDF": "rss", "feed": "atom"}
_KNOWN_ROOT = re.compile(rb"<(?:[\w.-]{1,50}:)?(?:urlset|sitemapindex|rss|rdf|feed|(?P<html>html))[\s>/]", re.IGNORECASE)
# What a document begins with that is an HTML page, whether or not it has got an <html>.
_HTML_START = re.compile(rb"(?:\s++|<\?.*?\?>|<!--.*?-->)*+<(?:!DOCTYPE\s++)?(?:html|head|body)[\s>/]", re.IGNORECASE | re.DOTALL)
_NEITHER = "not a sitemap: it is neither XML nor a list of URLs"
# What begins like that is UTF-16 without its byte order mark (XML 1.0, appendix F).
_UNMARKED = {b"<\0": BOM_UTF16_LE, b"\0<": BOM_UTF16_BE}
_FIRST_BYTES = 65_536  # in which something that is known has to begin, whatever stands before it


class Document:
    """A document that was recognised, and is read as it is iterated over, once.

    ``kind`` is ``"urlset"``, ``"sitemapindex"``, ``"rss"``, ``"atom"``, ``"text"`` or ``"robots"``, ``url`` where it was
    served from. Iteration yields its records in the order of the document: :class:`~.records.Page` objects (of an
    index or a robots.txt :class:`~.records.SitemapEntry`), a :class:`~.errors.ValidationError` for each thing that is
    wrong with one, and at the end a :class:`~.errors.ParseError` if the document could not be read to its end.

    ``resembles_robots`` tells whether one that was read as a text sitemap has lines of a robots.txt, too.
    """

    resembles_robots = False

    def __init__(self, kind: str, url: str, groups: Iterator[Sequence[Record]]) -> None:
        self.kind = kind
        self.url = url
        self._groups = groups

    def __iter__(self) -> Iterator[Record]:
        return (record for group in self._groups for record in group)

    def batches(self, size: int = 1_000) -> Iterator[Sequence[Record]]:
        """Yield the records in lists of at most *size*.

        Where they are nothing but pages without extensions, in place of a list
        :class:`~sitemapcrawl.protocol.records.PlainPages`.
        """
        waiting: list[Record] = []
        for group in self._groups:
            if type(group) is PlainPages:
                if waiting:
                    yield waiting
                    waiting = []
                for start in range(0, len(group), size):
                    yield group[start : start + size]
                continue
            waiting += group
            while len(waiting) >= size:
                yield waiting[:size]
                waiting = waiting[size:]
        if waiting:
            yield waiting

    def __repr__(self) -> str:
        return f"Document(kind={self.kind!r}, url={self.url!r})"


def read(
    body: bytes, url: str, strict: bool = False, *, max_size: int | None = MAX_FILE_SIZE, robots: bool | None = None
) -> Document:
    """Recognise the document *body*, which was served from *url*, and return it ready to be iterated over.

    It may be a urlset, a sitemap index, an RSS or Atom feed, or a text sitemap, in any encoding of the WHATWG standard
    and compressed with gzip or not; the content decides, never a name or a content type. It is a robots.txt if
    *robots* says so; by default the last segment of *url* does.

    *max_size* is the most bytes that it may have once decompressed; ``None`` lifts the limit. Raises
    :exc:`~sitemapcrawl.protocol.errors.ParseError` if nothing of it can be read: it is no sitemap, is empty, too large
    or damaged, or in strict mode is not well-formed XML.
    """
    return _Reading(body, url, strict=strict, max_size=max_size).document(
        is_robots=urls.is_robots(url) if robots is None else robots
    )


class _Source(NamedTuple):
    """An XML document of which the root is known, and what reads the rest of it."""

    prefix: str
    name: str
    namespace: str
    elements: Callable[[str | None], Iterator[Any]]  # the children of the root, and instead of a container its children
    text_of: Callable[[Any], str]
    is_whole: Callable[[Any], bool]
    plain: Callable[[], Iterator[list[Any]]] | None = None  # the plain entries before these, if there may be any


class _Reading:
    """One document on its way from bytes to records."""

    def __init__(self, body: bytes, url: str, *, strict: bool, max_size: int | None) -> None:
        self._url = url
        self._strict = strict
        body = self._unpacked(body, max_size)
        mark = None if strict else _UNMARKED.get(body[:2])
        self._body = mark + body if mark else body
        self._replaced = False  # whether there were bytes that are not valid in the encoding of the document
        self._cut_off = False
        self._is_html = False  # what it is called if it turns out to be no sitemap

    def _error(self, message: str, limit: str | None = None) -> ParseError:
        return ParseError(self._url, message, limit)

    def _unpacked(self, body: bytes, max_size: int | None) -> bytes:
        too_large = f"the content is larger than {max_size:,} bytes" if max_size else ""
        if compression.is_gzip(body):
            try:
                return compression.gunzip(body, max_size)
            except compression.TooLargeError:
                raise self._error(f"{too_large} once it is decompressed", "max_response_size") from None
            except compression.DamagedError as problem:
                raise self._error(str(problem)) from None
        if max_size is not None and len(body) > max_size:
            raise self._error(too_large, "max_response_size")
        return body

    def document(self, *, is_robots: bool) -> Document:
        if is_robots:
            return self._lines("robots")
        try:
            start = encodings.to_utf8(self._body[:_FIRST_BYTES], declared=False, errors="replace").lstrip()
        except ValueError as problem:
            raise self._error(str(problem)) from None
        if not start and (not self._body or self._body.isspace() or len(self._body) <= _FIRST_BYTES):
            raise self._error("the document is empty")
        known = None if start.startswith(b"<") else _KNOWN_ROOT.search(start)
        self._is_html = bool(known["html"] if known else _HTML_START.match(start))
        is_xml = start.startswith(b"<") or (known and (self._is_html or not self._strict))
        return self._xml() if is_xml else self._lines("text")

    def _lines(self, kind: str) -> Document:
        body = self._utf8(declared=False)
        find = text.sitemap_lines if kind == "robots" else text.url_lines
        content = body.decode("utf-8", "surrogateescape")
        if not content.isascii():
            content = self._without_invalid_bytes(content, find)
        del body
        lines = find(content)
        if kind == "robots":
            sitemaps = SitemapRules(self._url, strict=self._strict, any_host=True)
            return Document(kind, self._url, chain([self._remarks()], map(sitemaps.location, lines)))
        first = next(lines, None)
        resembles_robots = text.resembles_robots(content)
        if first is None:
            hint = "; a robots.txt is known by its URL, which ends in /robots.txt" if resembles_robots else ""
            raise self._error(_NEITHER + hint)
        pages = PageRules(self._url, strict=self._strict)
        document = Document(kind, self._url, chain([self._remarks()], map(pages.location, chain([first], lines))))
        document.resembles_robots = resembles_robots
        return document

    def _without_invalid_bytes(self, content: str, find: Callable[[str], Iterator[RawLocation]]) -> str:
        """Return *content* with U+FFFD for the lone surrogates in it, which stand for invalid bytes.

        Those in a line that counts are a fault; others, of a comment for one, cost nothing.
        """
        for line in find(content):
            try:
                line.loc.encode("utf-8")
            except UnicodeEncodeError:
                if self._strict:
                    shown = line.loc.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                    raise self._error(f"bytes of {shown!r} are not valid in the encoding of the document, UTF-8") from None
                self._replaced = True
                break
        return content.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _repaired(self, body: bytes, problem: UnicodeDecodeError) -> bytes:
        """Return *body* with what is not UTF-8 replaced; strict mode rejects the document over it."""
        if self._strict:
            raise self._error(f"byte {problem.start:,} is not valid in the encoding of the document, UTF-8") from None
        self._replaced = True
        return body.decode("utf-8", "replace").encode("utf-8")

    def _remarks(self) -> list[Record]:
        if not self._replaced:
            return []
        return [ValidationError(self._url, "bytes that are not valid in the encoding of the document were replaced by U+FFFD")]

    def _xml(self) -> Document:
        body = self._utf8()
        source = self._source(body)
        if not self._strict and source.name.lower() not in _KINDS and (start := _start_behind_debris(body)):
            source = self._source(body[start:])
        del body
        kind = _KINDS.get(source.name if self._strict else source.name.lower())
        if source.name.lower() == "rdf":
            source = self._with_channel(source)
        if kind is None:
            page = "an HTML page, " if self._is_html else ""
            raise self._error(f"not a sitemap: {page}the root element is <{source.name[:100]}>")
        return Document(kind, self._url, self._groups(kind, source))

    def _with_channel(self, source: _Source) -> _Source:
        """Return *source*, an RDF document, if it begins with a channel, as RSS 0.90 and 1.0 do; it may be about anything."""
        elements = source.elements(None)
        first = next(elements, None)
        if first is None or split_tag(first.tag)[1] != "channel":
            raise self._error(f"not a sitemap: the root element is <{source.name}>, and it holds no channel of RSS 1.0")
        return source._replace(elements=lambda container: elements)

    def _groups(self, kind: str, source: _Source) -> Iterator[Sequence[Record]]:
        yield self._remarks()
        names = Vocabulary(strict=self._strict, root_namespace=source.namespace, root_prefix=source.prefix)
        reader = EntryReader(names, source.text_of, source.is_whole, strict=self._strict)
        if kind == "sitemapindex":
            sitemaps = SitemapRules(self._url, strict=self._strict)
            for element in source.elements(None):
                for entry in reader.entries(element, "sitemap"):
                    yield sitemaps.entry(entry)
        else:
            pages = PageRules(self._url, strict=self._strict)
            if kind == "urlset":
                if source.plain:
                    for entries in source.plain():
                        yield pages.plain(entries)
                for element in source.elements(None):
                    for entry in reader.entries(element, "url"):
                        yield pages.entry(entry)
            elif kind == "rss":
                for element in source.elements("channel"):
                    if self._is_named(element, "item"):
                        for item in reader.feed_entries(element, "item"):
                            yield pages.feed_entry(item)
            else:
                for element in source.elements(None):
                    if self._is_named(element, "entry"):
                        for item in reader.feed_entries(element, "entry"):
                            yield pages.feed_entry(item)
        if self._cut_off:
            yield [self._error("the document is cut off, or cannot be read further: it ends before its root element does")]

    def _is_named(self, element: AnyElement, name: str) -> bool:
        local = split_tag(element.tag)[1]
        return (local if self._strict else local.lower()) == name

    def _source(self, body: bytes) -> _Source:
        """Return the quickest reader for the document that can be trusted with it."""
        if not self._strict and body[:1].isspace():
            body = body.lstrip()
        head = xml.read_head(body)
        trusted = head is not None and not head.has_document_type
        problem = xml.syntax_error(body) if trusted else ""
        if head and problem is None:
            return _libxml2_source(body, head)
        if self._strict and problem:
            raise self._malformed(problem)
        try:
            content = body.decode("utf-8")
        except UnicodeDecodeError as invalid:
            body = self._repaired(body, invalid)
            content = body.decode("utf-8")
        if head and trusted and is_worth_repair(body):
            repaired = repair_references(body)
            head = xml.read_head(repaired)  # which may have been repaired too, and then ends elsewhere
            if head and xml.syntax_error(repaired) is None:
                return _libxml2_source(repaired, head)
            del repaired
        del body
        return self._tolerant_source(content)

    def _utf8(self, *, declared: bool = True) -> bytes:
        body, self._body = self._body, b""
        try:
            return encodings.to_utf8(body, declared=declared)
        except encodings.InvalidBytesError as problem:
            if self._strict:
                raise self._error(str(problem)) from None
            self._replaced = True
            return encodings.to_utf8(body, declared=declared, errors="replace")
        except ValueError as problem:
            raise self._error(str(problem)) from None

    def _tolerant_source(self, content: str) -> _Source:
        if self._strict:  # only a document type with declarations leads here, which libxml2 is not trusted with
            self._check(content)
        markup = Markup(content, html_entities=not self._strict)
        root = markup.root
        if root is None:
            raise self._error("not a sitemap: an HTML page without an element" if self._is_html else _NEITHER)

        def elements(container: str | None) -> Iterator[Any]:
            yield from markup.elements(depth=2 if container and root.name.lower() != "rdf" else 1)
            self._cut_off = not markup.complete

        return _Source(
            root.prefix or "",
            root.name,
            root.namespace or "",
            elements,
            attrgetter("text"),
            partial(xml.is_whole_in, content, not self._strict),
        )

    def _check(self, content: str) -> None:
        try:
            for _ in Markup(content, html_entities=False, report=_refuse).elements():
                pass
        except _NotWellFormedError as error:
            line, column = Lines(content).position(error.fault.offset)
            raise self._malformed(f"{error.fault.message}, line {line}, column {column}") from None

    def _malformed(self, problem: str) -> ParseError:
        page = "not a sitemap: an HTML page, and " if self._is_html else "the document is "
        return self._error(f"{page}not well-formed XML: {problem}")


def _start_behind_debris(body: bytes) -> int:
    """Return where a known root begins behind elements that ended before it; 0 if none does.

    PHP writes what it has to say before the document: ``<br />\\n<b>Warning</b>: …``. A root within another is none.
    """
    known = _KNOWN_ROOT.search(body, 0, _FIRST_BYTES)
    if known is None or known["html"]:
        return 0
    debris = body[: known.start()]
    before = Markup(debris.decode("utf-8", "replace"), html_entities=True)
    for _ in before.elements():
        pass
    return known.start() if before.complete or b"<?xml" in debris[1:] else 0


class _NotWellFormedError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _refuse(fault: Fault) -> None:
    if fault.rule != "xml-prefix":  # of a prefix that is not declared XML itself knows nothing
        raise _NotWellFormedError(fault)


def _libxml2_source(body: bytes, head: xml.Head) -> _Source:
    reached = [head.end]  # by the plain entries

    def plain() -> Iterator[list[Any]]:
        for entries, reached[0] in xml.plain_entries(body, head.end):
            yield entries

    def elements(container: str | None) -> Iterator[Any]:
        count = 0
        try:
            for element in xml.elements(body, head.name, container=container, start=reached[0], head=body[: head.end]):
                count += 1
                yield element
        except xml.TooDeepError:
            markup = Markup((body[: head.end] + body[reached[0] :]).decode("utf-8"), html_entities=False)
            yield from islice(markup.elements(2 if container else 1), count, None)

    plain_first = plain if not head.prefix else None
    return _Source(head.prefix, head.name, head.namespace, elements, xml.text_of, xml.is_whole, plain_first)
