"""XML bytes → elements of entries, by the quickest reader that can be trusted with the document.

Three readers, one meaning:

- :func:`plain_entries` reads the entries of a well-formed urlset that hold nothing but the four elements of the
  protocol, by one regular expression. Nearly every large sitemap consists of them alone, and this takes a quarter of
  the time that a tree takes.
- :func:`elements` is libxml2, in slices, in constant memory: for whatever else is well-formed.
- :class:`~sitemapcrawl.protocol.markup.Markup` is the tolerant reader, for what is not. libxml2's own recovery is never
  used on it, since that invents text: ``?a=1&b=2`` becomes ``?a=1=2``.

All of them take UTF-8. A document type with declarations never reaches libxml2, whose guards against the expansion of
entities are off as soon as documents may be large.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from lxml import etree

from sitemapcrawl.protocol.formats.references import unescape
from sitemapcrawl.protocol.markup import Element, Markup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapcrawl.protocol.formats.raw import PlainEntry

_SLICE = 65_536  # bytes that libxml2 gets at a time
_WINDOW = 262_144  # bytes that the regular expression works on at a time

_HEAD = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[<>\"']*+(?P<external>(?:\"[^\"]*+\"|'[^']*+')[^\[<>]*+)?>)*+"
    rb"<(?:(?P<prefix>[^\s/>:<&!?\"'=]++):)?(?P<name>[^\s/>:<&!?\"'=]++)(?P<attributes>(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+)>",
    re.DOTALL,
)
_NAMESPACE = re.compile(rb"\sxmlns(?::(?P<prefix>[^\s=]++))?\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)')")

# In the order in which nearly everyone writes them. [^<] is what the engine of re is quickest at; that a reference is
# one is known, since the document is well-formed. An empty priority is not the same as none, and is left to libxml2.
_PLAIN_ENTRY = re.compile(
    r"(\s*+<url>\s*+<loc>([^<]*+)</loc>\s*+"
    r"(?:<lastmod>([^<&]*+)</lastmod>\s*+)?+"
    r"(?:<changefreq>([^<&]*+)</changefreq>\s*+)?+"
    r"(?:<priority>([^<&]++)</priority>\s*+)?+"
    r"</url>)"
)
_CARRIAGE_RETURN_WITHIN = re.compile(r"[^\s<>][^\S\r]*+\r\s*+[^\s<]")  # XML has a line feed there

# The text of an element, from its start tag to its end tag or, where that is missing, to another tag.
_PIECE = r"<!\[CDATA\[.*?\]\]>|<!--[^<]*?-->|<\?[^<]*?\?>|<(?![^\W\d]|[:/!?])"
_WHOLE = re.compile(
    rf"""<(?P<name>[^\s<>/]++)(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+>(?:(?:[^<]++|{_PIECE})*+</(?P=name)\s*+(?:>|(?=<))"""
    rf"""|(?P<text>(?:[^<>]++|{_PIECE})*+)(?:<[^\W\d]|(?:</[^\s<>/]++\s*+>\s*+)++(?:<|\Z)))""",
    re.DOTALL,
)


class TooDeepError(Exception):
    """A well-formed document with elements within more than some 2,000 others, where libxml2 stops."""


class Head(NamedTuple):
    """The beginning of a document, to the end of the start tag of its root (``end``).

    ``namespace`` is that of the root, and ``""`` where it is in none or its prefix is not declared.
    """

    prefix: str
    name: str
    namespace: str
    end: int
    has_document_type: bool


def read_head(body: bytes) -> Head | None:
    """Return the beginning of *body*, or none where it is not as plain as that of nearly every document."""
    match = _HEAD.match(body)
    if match is None:
        return None
    namespace = b""
    for declaration in _NAMESPACE.finditer(match["attributes"]):
        if declaration["prefix"] == match["prefix"]:
            namespace = declaration["double"] or declaration["single"] or b""
            break
    try:
        return Head(
            prefix=(match["prefix"] or b"").decode(),
            name=match["name"].decode(),
            namespace=namespace.decode(),
            end=match.end(),
            has_document_type=match["external"] is not None,
        )
    except UnicodeDecodeError:
        return None


class _NoTarget:
    """Takes no events, so that libxml2 checks a document and keeps nothing of it."""

    def close(self) -> None:
        pass


def syntax_error(body: bytes) -> str | None:
    """Return what libxml2 says of *body* if it is not well-formed, with line and column; none if it is.

    Takes some 2 ms a megabyte, no memory, and does not hold the GIL.
    """
    # TODO: type stubs of lxml do not know a target without methods
    parser = etree.XMLParser(target=_NoTarget(), encoding="utf-8", huge_tree=True, resolve_entities=False, no_network=True)
    try:
        for start in range(0, len(body), _SLICE):
            parser.feed(body[start : start + _SLICE])
        parser.close()
    except etree.XMLSyntaxError as problem:
        # A prefix that is not declared is no error of XML, and may come first.
        fatal = next((entry for entry in parser.feed_error_log if entry.level_name == "FATAL"), None)
        message = f"{fatal.message}, line {fatal.line}, column {fatal.column}" if fatal else str(problem)
        return " ".join(message.split())
    # Once it has met such a prefix, libxml2 overlooks what follows the root.
    return _error_of_expat(body) if len(parser.feed_error_log) else None


def _error_of_expat(body: bytes) -> str | None:
    try:
        expat.ParserCreate("utf-8").Parse(body, True)
    except expat.ExpatError as problem:
        return str(problem)
    return None


def plain_entries(body: bytes, start: int) -> Iterator[tuple[list[PlainEntry], int]]:
    """Yield lists of the plain entries of *body*, well-formed, from byte *start* on; with each, where it ended.

    Their texts may have white space around them; what is not there is ``""``. Stops before the first part of the
    document that holds anything else.
    """
    position = start
    while (end := body.rfind(b"</url>", position, position + _WINDOW) + 6) > 5:
        text = body[position:end].decode("utf-8")
        entries = _PLAIN_ENTRY.findall(text)
        if sum([len(entry[0]) for entry in entries]) < len(text):  # something was passed over
            return
        if "\r" in text and _CARRIAGE_RETURN_WITHIN.search(text):
            return
        if references := text.count("&"):
            resolve = _only_ampersands if references == text.count("&amp;") else unescape
            entries = [(entry[0], resolve(entry[1]), *entry[2:]) if "&" in entry[1] else entry for entry in entries]
        position = end
        yield entries, position


def _only_ampersands(text: str) -> str:
    return text.replace("&amp;", "&")


def elements(
    body: bytes, name: str, *, container: str | None = None, start: int = 0, head: bytes = b""
) -> Iterator[etree._Element]:
    """Yield the children of the root of *body*, well-formed; of those with the local name *container*, their children.

    *name* is the local name of the root; letter case plays no part in that of the container. With *start*, *head* (what
    opens the root) and the bytes from there on are read. An element is valid until the next one is asked for.

    Raises :exc:`TooDeepError` behind the last element that could be read if libxml2 finds the next one nested too deeply.
    """
    # What is well-formed loses nothing by recover=True; it lets prefixes pass that are not declared.
    parser = etree.XMLPullParser(
        events=("start", "end"), tag=f"{{*}}{name}", encoding="utf-8", huge_tree=True, resolve_entities=False, no_network=True,
        remove_comments=True, remove_pis=True, recover=True,
    )  # fmt: skip
    root = None
    is_closed = False
    slices = (body[position : position + _SLICE] for position in range(start, len(body), _SLICE))
    for piece in chain([head], slices):
        parser.feed(piece)
        for event, element in parser.read_events():
            if root is None:
                root = element
            is_closed = is_closed or (element is root and event == "end")
        if root is not None:
            yield from _taken(root, container, is_closed=is_closed)
    if root is not None:
        root.clear()  # parser and tree are a cycle, which would keep the text of the root until the collector comes round
    if not is_closed:
        raise TooDeepError


def _taken(parent: etree._Element, container: str | None, *, is_closed: bool) -> Iterator[etree._Element]:
    """Yield what is complete of the children of *parent*, and take it out of the tree."""
    children = list(parent)
    if not children:
        return
    last = None if is_closed else children.pop()
    for child in children:
        if container and _is_named(child, container):
            yield from _taken(child, None, is_closed=True)
        else:
            yield child
        child.clear()  # what is taken out of the tree below, while someone refers to it, costs the square of its size
    if children:
        del parent[: len(children)]
    if last is not None and container and _is_named(last, container):
        yield from _taken(last, None, is_closed=False)


def _is_named(element: etree._Element, name: str) -> bool:
    return str(etree.QName(element).localname).lower() == name


def text_of(element: etree._Element | Element) -> str:
    """Return the text that stands directly in *element*, without that of the elements within."""
    if not len(element):
        return element.text or ""
    if isinstance(element, Element):
        return element.text
    return "".join([element.text or "", *(child.tail or "" for child in element)])


def is_whole(element: etree._Element | Element) -> bool:
    """Tell whether no text follows an element within *element*: what :func:`text_of` puts together was written in one piece."""
    return not any(child.tail and not child.tail.isspace() for child in element if not isinstance(child, Element))


def is_whole_in(content: str, html_entities: bool, element: Element) -> bool:
    """Tell of an *element* of the tolerant reader, which read *content*, whether its text was written in one piece.

    It was if it goes on to the end tag of the element or, where that is missing, to another tag. In ``x</b>y`` and
    ``x<!y`` something was passed over; a ``>`` is what may be left of the end tag that is missing.
    """
    match = _WHOLE.match(content, element.offset)
    if match is None or not len(element):
        return match is not None
    before = match["text"] or ""
    if "&" in before or "<" in before or "\r" in before:
        pieces = Markup(f"<a><b>{before}</b></a>", html_entities=html_entities)
        before = "".join([piece.text for piece in pieces.elements()])
    return before.strip() == element.text.strip()
