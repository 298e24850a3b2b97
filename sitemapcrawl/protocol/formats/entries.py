"""Elements → raw entries: what the children of a urlset, a sitemap index or a feed say.

Elements are those of lxml or of the tolerant reader (:mod:`sitemapcrawl.protocol.markup`): both have a ``tag``, a
``get`` for attributes and can be iterated over; how to get at their text is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sitemapcrawl.protocol.formats.raw import FeedEntry, RawEntry, RawExtension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemapcrawl.protocol.formats.vocabulary import Vocabulary


class AnyElement(Protocol):
    """What an element has, whichever reader made it."""

    @property
    def tag(self) -> Any: ...
    def get(self, name: str) -> str | None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...


_ITEM = frozenset(
    {"item", "title", "link", "description", "author", "category", "comments", "enclosure", "guid", "pubdate", "source"}
)
# Of an item or an entry, what holds no elements of its kind; of descriptions nobody knows what they hold.
_FEED_TEXTS = frozenset(
    {"title", "link", "guid", "id", "category", "comments", "pubdate", "published", "issued", "updated", "modified"}
)
_ROOTS = {"url": "urlset", "sitemap": "sitemapindex"}
_URLS = frozenset({"loc", "license", "thumbnail_loc", "content_loc", "player_loc"})
_PAIRED = {"video:restriction": "relationship", "video:platform": "relationship", "video:uploader": "info"}


class EntryReader:
    """Makes raw entries of elements.

    ``text_of`` returns the text that stands directly in an element, ``is_whole`` tells whether it was written in one piece.
    """

    def __init__(
        self, vocabulary: Vocabulary, text_of: Callable[[Any], str], is_whole: Callable[[Any], bool], *, strict: bool
    ) -> None:
        self._names = vocabulary
        self._text_of = text_of
        self._is_whole = is_whole
        self._strict = strict

    def entries(self, element: AnyElement, kind: str) -> Iterator[RawEntry]:
        """Yield the entries of *element*, a child of the root: one if it is of this *kind* (``url`` or ``sitemap``), or none.

        In tolerant mode an entry that was not closed holds the next ones; they come after it, each as one of its own.
        So do those of a root within the root, which comes of documents that were put together.
        """
        waiting = [element]
        while waiting:
            element = waiting.pop()
            name = self._names[element.tag]
            if name == kind:
                entry = RawEntry()
                nested: list[AnyElement] = []
                self._fill(entry, element, kind, nested)
                waiting.extend(reversed(nested))
                yield entry
            elif name == _ROOTS[kind] and not self._strict:
                waiting.extend(reversed(list(element)))

    def _fill(self, entry: RawEntry, element: AnyElement, kind: str, nested: list[AnyElement]) -> None:
        names, text_of = self._names, self._text_of
        parents = [element]
        for parent in parents:  # grows while it is walked through
            for child in parent:
                name = names[child.tag]
                if not name:
                    continue
                if name == "loc":
                    text = text_of(child).strip()
                    (entry.locs if self._is_clear(child, text) else entry.unclear).append(text)
                elif name == "lastmod":
                    if entry.lastmod is None:
                        entry.lastmod = text_of(child).strip()
                elif name == "changefreq":
                    if entry.changefreq is None:
                        entry.changefreq = text_of(child).strip()
                elif name == "priority":
                    if entry.priority is None:
                        entry.priority = text_of(child).strip()
                elif name == kind:
                    if not self._strict:
                        nested.append(child)
                    continue
                elif name == "xhtml:link":
                    values = {key: (child.get(key) or "").strip() for key in ("rel", "hreflang", "href")}
                    entry.extensions.append(RawExtension("alternate", values))
                elif name in ("image:image", "video:video", "news:news"):
                    entry.extensions.append(self._extension(name.partition(":")[0], child))
                    continue
                if len(child) and not self._strict:
                    parents.append(child)  # <loc>…<lastmod>…</url>: an end tag is missing, and what follows stands within

    def _is_clear(self, loc: AnyElement, text: str) -> bool:
        """Tell whether *text* is all that was meant to stand in *loc*.

        It may not be if there is an element in it that is neither of an entry nor of an extension: in
        ``<loc>http://x/?a<b</loc>`` there is one, ``<b``, and the text is a URL that nobody wrote.
        """
        if not text:
            return True
        if len(loc):
            ours = ("", self._names.root_namespace, split_tag(loc.tag)[0])
            if any(not self._names[child.tag] and split_tag(child.tag)[0] in ours for child in loc):
                return False
        return self._is_whole(loc)

    def _extension(self, kind: str, element: AnyElement) -> RawExtension:
        values: dict[str, Any] = {}
        prefix = f"{kind}:"
        is_publication = self._names[element.tag] == "news:publication"
        parents = [element]
        for parent in parents:  # grows while it is walked through
            for child in parent:
                name = self._names[child.tag]
                if not name.startswith(prefix):
                    continue
                key = name[len(prefix) :]
                if len(child) and not self._strict and key != kind:
                    parents.append(child)  # an end tag is missing, and what follows stands within
                if name == "video:tag":
                    values.setdefault("tag", []).append(self._text_of(child).strip())
                elif key in values:
                    continue
                elif name in _PAIRED:
                    values[key] = ((child.get(_PAIRED[name]) or "").strip(), self._text_of(child).strip())
                elif name == "news:publication":
                    values[key] = {} if is_publication else self._extension(kind, child).values
                else:
                    text = self._text_of(child).strip()
                    values[key] = text if key not in _URLS or self._is_clear(child, text) else ""
        return RawExtension(kind, values)

    def feed_entries(self, element: AnyElement, kind: str) -> Iterator[FeedEntry]:
        """Yield what *element*, an ``item`` of RSS or an ``entry`` of Atom, says.

        As of :meth:`entries`, in tolerant mode one that was not closed holds the next ones, which come after it.
        """
        waiting = [element]
        while waiting:
            element = waiting.pop()
            nested: list[AnyElement] = []
            children = self._feed_children(element, kind, nested)
            yield self._rss_item(element, children) if kind == "item" else self._atom_entry(children)
            waiting.extend(reversed(nested))

    def _feed_children(self, element: AnyElement, kind: str, nested: list[AnyElement]) -> Iterator[tuple[str, AnyElement]]:
        """Yield the children of *element* that are in its namespace, with their names; extensions of feeds have links too."""
        own, _ = split_tag(element.tag)
        parents = [element]
        for parent in parents:  # grows while it is walked through
            for child in parent:
                namespace, name = split_tag(child.tag)
                if namespace != own:
                    continue
                if not self._strict:
                    name = name.lower()
                    if name == kind:
                        nested.append(child)
                        continue
                    if len(child) and name in _FEED_TEXTS:
                        parents.append(child)  # an end tag is missing, and what follows stands within
                yield name, child

    def _rss_item(self, element: AnyElement, children: Iterator[tuple[str, AnyElement]]) -> FeedEntry:
        """Return what an RSS ``<item>`` says: its first ``<link>`` that is not empty, and its ``<pubDate>``."""
        link: str | None = None
        date: str | None = None
        is_unclear = False
        own, _ = split_tag(element.tag)
        pub_date = "pubDate" if self._strict else "pubdate"
        for name, child in children:
            if name == "link" and not link:
                link = self._text_of(child).strip()
                is_unclear = any(_is_strange_in_item(within.tag, own) for within in child) or not self._is_whole(child)
            elif name == pub_date and date is None:
                date = self._text_of(child).strip()
        return FeedEntry(link, date, "pubDate", is_unclear)

    def _atom_entry(self, children: Iterator[tuple[str, AnyElement]]) -> FeedEntry:
        """Return what an Atom ``<entry>`` says: its first ``<link>`` to the page itself, and its ``<updated>``.

        Atom 0.3 calls the date ``<modified>``.
        """
        link: str | None = None
        date: str | None = None
        date_element = "updated"
        for name, child in children:
            if name == "link" and not link and (child.get("rel") or "").strip() in ("", "alternate"):
                link = (child.get("href") or "").strip()
            elif name in ("updated", "modified") and date is None:
                date, date_element = self._text_of(child).strip(), name
        return FeedEntry(link, date, date_element)


def _is_strange_in_item(tag: str, own: str) -> bool:
    """Tell whether an element is neither one of an RSS item nor of an extension of RSS; *own* is the namespace of the item."""
    namespace, name = split_tag(tag)
    return namespace in ("", own) and name.lower() not in _ITEM


def split_tag(tag: str) -> tuple[str, str]:
    """Split a tag as lxml writes it into namespace and local name.

    >>> split_tag("{http://www.w3.org/2005/Atom}link"), split_tag("link")
    (('http://www.w3.org/2005/Atom', 'link'), ('', 'link'))
    """
    if tag.startswith("{"):
        namespace, _, name = tag[1:].partition("}")
        return namespace, name
    return "", tag
