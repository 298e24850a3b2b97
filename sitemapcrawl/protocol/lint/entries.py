"""The rules of a root and its entries: which elements belong where, how many there may be; their values are next door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapcrawl.protocol.limits import MAX_ENTRIES
from sitemapcrawl.protocol.lint.addresses import Addresses
from sitemapcrawl.protocol.lint.context import value_of
from sitemapcrawl.protocol.lint.extensions import Images, News
from sitemapcrawl.protocol.lint.hreflang import Graph, Links
from sitemapcrawl.protocol.lint.values import Values
from sitemapcrawl.protocol.lint.videos import Videos

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapcrawl.protocol.lint.context import Context
    from sitemapcrawl.protocol.markup import Element

ENTRY_OF = {"urlset": "url", "sitemapindex": "sitemap"}


class Entries:
    """The rules of what a root holds, applied to one child after the other."""

    def __init__(self, context: Context, root: str, url: str | None, graph: Graph) -> None:
        self._context = context
        self._add = context.add
        self._root = root
        self._entry_name = ENTRY_OF[root]
        self._is_index = root == "sitemapindex"
        self._count = 0
        self._core = context.core
        self._addresses = Addresses(context, url, is_index=self._is_index)
        self._values = Values(context)
        self._images = Images(context)
        self._news = News(context)
        self._videos = Videos(context)
        self._links = Links(context, graph)

    def is_entry(self, element: Element) -> bool:
        """Tell whether *element*, a child of the root, is an entry of its kind."""
        return element.name == self._entry_name and self._context.is_core(element)

    def child(self, element: Element) -> None:
        """Check *element*, a child of the root, and all it holds."""
        if self.is_entry(element):
            if element.declares:
                self._context.declarations(element)
            self._entry(element)
        elif element.name in ("url", "sitemap") and self._context.is_core(element):
            rule = "url-in-index" if self._is_index else "sitemap-in-urlset"
            message = f"The element <{element.name}> is no entry of a <{self._root}>, expected <{self._entry_name}>"
            self._add(element.offset, rule, message, element.name)
            if element.declares:
                self._context.declarations(element)
        else:
            self._context.stray(element, f"<{self._root}>")

    def unclosed(self, elements: Sequence[Element]) -> None:
        """Check what is complete in the *elements* that the end of the document left open, from below the root inwards."""
        if elements and self.is_entry(elements[0]):
            self._entry(elements[0], elements[1:])

    def _entry(self, entry: Element, unclosed: Sequence[Element] | None = None) -> None:
        # The hot loop: a file has some hundred thousand entries, and nothing is wrong with nearly all of them.
        core, add = self._core, self._add
        loc: Element | None = None
        address = ""
        lastmod = changefreq = priority = False
        others: list[Element] = []
        for child in entry.children:
            if child.namespace != core or (core is None and not self._context.is_core(child)):
                others.append(child)
                continue
            name = child.name
            if name == "loc":
                if loc is None:
                    loc = child
                    address = self._addresses.check(child, is_repeated=False)
                    if address:
                        self._addresses.check_first(child, address)
                else:
                    self._addresses.check(child, is_repeated=True)
            elif name == "lastmod":
                if lastmod:
                    self._repeated(child)
                lastmod = True
                self._values.lastmod(child)
            elif name == "changefreq" and not self._is_index:
                if changefreq:
                    self._repeated(child)
                changefreq = True
                self._values.changefreq(child)
            elif name == "priority" and not self._is_index:
                if priority:
                    self._repeated(child)
                priority = True
                self._values.priority(child)
            else:
                self._context.stray(child, f"<{self._entry_name}>")
                continue
            if child.declares:
                self._context.declarations(child)
            if child.children:
                self._context.strays(child, name)
        if unclosed is None:
            self._count += 1
            if self._count == MAX_ENTRIES + 1:
                rule = "too-many-sitemaps" if self._is_index else "too-many-urls"
                message = f"The <{self._root}> has more than {MAX_ENTRIES:,} entries, expected {MAX_ENTRIES:,} at most"
                add(entry.offset, rule, message, None)
            if loc is None:
                message = f"The entry has no <loc>, expected the address of a {'sitemap' if self._is_index else 'page'}"
                add(entry.offset, "loc-missing", message, None)
        if others or unclosed:
            self._extensions(entry, address, others, unclosed)

    def _repeated(self, element: Element) -> None:
        message = f"The entry has a <{element.name}> already, expected one only"
        self._add(element.offset, "element-repeated", message, value_of(element))

    def _extensions(self, entry: Element, address: str, elements: list[Element], unclosed: Sequence[Element] | None) -> None:
        """Check those children of *entry* that are none of the protocol."""
        context = self._context
        links: list[Element] = []
        images = news = 0
        inner, rest = (unclosed[0], unclosed[1:]) if unclosed else (None, None)
        for element in [*elements, inner] if inner is not None else elements:
            is_open = element is inner
            prefix = context.extension(element) if not self._is_index else None
            name = element.name
            within = rest if is_open else None
            if prefix == "xhtml" and name == "link":
                if is_open:
                    context.strays(element, "xhtml:link")
                else:
                    links.append(element)
            elif prefix == "image" and name == "image":
                images += not is_open
                self._images.check(element, images if not is_open else 0, within)
            elif prefix == "news" and name == "news":
                news += not is_open
                self._news.check(element, news, within)
            elif prefix == "video" and name == "video":
                self._videos.check(element, address, within)
            elif not is_open:
                context.stray(element, f"<{self._entry_name}>")
                continue
            elif context.is_core(element) and name in ("loc", "lastmod", "changefreq", "priority"):
                context.strays(element, name)
            if element.declares and not is_open:
                context.declarations(element)
        if links:
            self._links.check(entry, address, links, is_closed=unclosed is None)
