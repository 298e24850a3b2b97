"""From the bytes of a file to its findings, in order: gzip, encoding, size and root are judged here."""

from __future__ import annotations

import heapq
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.compression import gunzip_partial, is_gzip
from sitemapcrawl.protocol.encodings import declared_encoding, decode_marked, mark_of
from sitemapcrawl.protocol.formats.text import url_lines
from sitemapcrawl.protocol.formats.vocabulary import SITEMAP_NAMESPACE
from sitemapcrawl.protocol.limits import MAX_FILE_SIZE
from sitemapcrawl.protocol.lines import Lines
from sitemapcrawl.protocol.lint.context import Context
from sitemapcrawl.protocol.lint.entries import ENTRY_OF, Entries
from sitemapcrawl.protocol.lint.finding import Collector, Finding, Found, found_at
from sitemapcrawl.protocol.lint.hreflang import Graph
from sitemapcrawl.protocol.markup import Fault, Markup, forbidden_characters
from sitemapcrawl.protocol.rules.values import quote
from sitemapcrawl.protocol.urls import check_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapcrawl.protocol.markup import Element

# Bytes. A kilobyte of gzip may hold a megabyte; what is beyond this is not read.
_MAX_UNPACKED: Final = 4 * MAX_FILE_SIZE

_ROBOTS_LINE: Final = re.compile(r"^[ \t]*(?:user-agent|disallow|allow|sitemap)[ \t]*:", re.IGNORECASE | re.MULTILINE)


class Document:
    """A file that is linted: ``text`` is what it holds, ``lines`` tell where in it a line begins.

    *url* is where it is published, an absolute http or https address, or ``None`` if that is not known; *now* is the
    time that counts as the present (with a zone), by default the clock's. Another *url* or *now* raises
    :exc:`ValueError`.
    """

    def __init__(self, body: bytes, url: str | None = None, now: datetime | None = None) -> None:
        if url is not None:
            check_start(url)
        self._url = url
        if now is not None and now.utcoffset() is None:
            raise ValueError(f"now is {now!r}, expected a time with a zone")
        self._now = now or datetime.now(UTC)
        self._of_file: list[tuple[str, str, str | None]] = []
        self._is_cut = False
        body = self._unpacked(body)
        self._check_encoding(body)
        self.text, self._invalid = decode_marked(body)
        self.lines = Lines(self.text)

    def _unpacked(self, body: bytes) -> bytes:
        if is_gzip(body):
            body, damage = gunzip_partial(body, _MAX_UNPACKED)
            if damage and len(body) == _MAX_UNPACKED:
                self._is_cut = True
            elif damage:
                self._of_file.append(("gzip-damaged", f"The file cannot be unpacked to its end: {damage}", None))
        if len(body) > MAX_FILE_SIZE:
            size = f"more than {len(body):,}" if self._is_cut else f"{len(body):,}"
            message = f"The file has {size} bytes, unpacked, expected {MAX_FILE_SIZE:,} at most"
            self._of_file.append(("file-too-large", message, None))
        return body

    def _check_encoding(self, body: bytes) -> None:
        mark = mark_of(body)
        name = mark[0] if mark and mark[0] != "UTF-8" else declared_encoding(body)
        if name is not None and name.lower() != "utf-8":
            what = "is in" if mark and mark[0] == name else "declares"
            message = f"The file {what} the encoding {quote(name)}, expected UTF-8"
            self._of_file.append(("encoding-not-utf8", message, name))

    def findings(self) -> Iterator[Finding]:
        """Yield the findings by line, column and rule id, while the document is read."""
        invalid = found_at("encoding-invalid", "Bytes are not valid in the encoding of the file", self._invalid)
        forbidden = map(_found_of, forbidden_characters(self.text, len(self.text)))
        found = Collector(self.lines, heapq.merge(invalid, forbidden))
        for rule, message, value in self._of_file:
            found.add(0, rule, message, value)

        is_open = False

        def report(fault: Fault) -> None:
            if self._is_cut and fault.rule == "xml-incomplete":
                return
            if is_open and fault.rule == "xml-outside-root":
                found.end = fault.offset
            if fault.rule == "xml-empty":
                fault = fault._replace(message=fault.message + _what_it_is(self.text))
            found.add(*_found_of(fault))

        markup = Markup(self.text, html_entities=False, report=report, report_characters=False)
        root = markup.root
        is_open = True
        if root is not None:
            yield from self._elements(markup, root, found)
        yield from found.rest()

    def _elements(self, markup: Markup, root: Element, found: Collector) -> Iterator[Finding]:
        if root.name not in ENTRY_OF:
            message = f"The root element is <{root.name[:100]}>, expected <urlset> or <sitemapindex>"
            found.add(root.offset, "root-unknown", message, root.name)
            # Two levels down, for most of an RSS feed or a web page is within one element.
            for _ in markup.elements(depth=2):
                if found:
                    yield from found.take()
            return
        context = Context(root, self._now, found.add)
        self._check_root(root, context)
        entries = Entries(context, root.name, self._url, self._graph(root, context))
        self._check_for_entries(root, entries, found)
        yield from found.take()
        for element in markup.elements():
            entries.child(element)
            if found:
                yield from found.take()
        entries.unclosed(markup.unclosed[1:])

    def _check_root(self, root: Element, context: Context) -> None:
        # A prefix that is not declared has been told as such.
        if root.namespace is None and root.prefix is None:
            message = f"The root element <{root.name}> is in no namespace, expected {SITEMAP_NAMESPACE!r}"
            context.add(root.offset, "namespace-missing", message, None)
        elif root.namespace is not None and root.namespace != SITEMAP_NAMESPACE:
            message = f"The root element is in the namespace {quote(root.namespace)}, expected {SITEMAP_NAMESPACE!r}"
            context.add(root.offset, "namespace-wrong", message, root.namespace)
        context.declarations(root)

    def _check_for_entries(self, root: Element, entries: Entries, found: Collector) -> None:
        # Told at the root, and so before all else: the document is read up to its first entry, which is at its beginning.
        reader = Markup(self.text, html_entities=False)
        if not any(map(entries.is_entry, reader.elements())) and reader.complete:
            message = f"The <{root.name}> has no <{ENTRY_OF[root.name]}>, expected one at least"
            found.add(root.offset, "no-entries", message, None)

    def _graph(self, root: Element, context: Context) -> Graph:
        # Whether an alternate leads back is known from an entry that may be further down, so these are read first.
        if root.name != "urlset" or "hreflang" not in self.text:
            return Graph((), context.is_core)
        elements = Markup(self.text, html_entities=False).elements()
        return Graph((element for element in elements if element.name == "url" and context.is_core(element)), context.is_core)


def _what_it_is(text: str) -> str:
    """Return what a document without an element is, if it may be in order as that: the rules are those of XML."""
    if _ROBOTS_LINE.search(text):
        return ": it is a robots.txt, which is not linted"
    return ": it is a text sitemap, which is not linted" if next(url_lines(text), None) is not None else ""


def _found_of(fault: Fault) -> Found:
    """Return a fault of the markup as a finding."""
    return Found(fault.offset, fault.rule, fault.message, fault.value)


def lint(body: bytes, url: str | None = None, now: datetime | None = None) -> Iterator[Finding]:
    """Yield what is wrong with the sitemap or index *body*, a file that may be compressed: every rule, at every place.

    *url* is where the file is published, an absolute http or https address; without it, the rules that compare with
    that are left out. *now* is the time that counts as the present (with a zone), by default the clock's. Findings
    come by line, column and rule id; whatever is wrong with the file, the rest is read on, and nothing is raised over it.

    >>> for finding in lint(b"<urlset><url><loc>/page</loc></url></urlset>"):
    ...     print(finding.line, finding.column, finding.rule)
    1 1 namespace-missing
    1 14 loc-relative
    """
    return Document(body, url, now).findings()
