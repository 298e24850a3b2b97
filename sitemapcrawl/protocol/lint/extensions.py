"""The rules of images and news, and what all extensions have in common. Videos are next door, in ``videos``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.codes import LANGUAGES
from sitemapcrawl.protocol.dates import end_of, to_datetime
from sitemapcrawl.protocol.limits import MAX_IMAGES, MAX_NEWS, MAX_NEWS_AGE
from sitemapcrawl.protocol.lint.addresses import problem_of
from sitemapcrawl.protocol.lint.context import EXTENSION_TAGS, NAMESPACE_OF, Context, value_of
from sitemapcrawl.protocol.lint.values import ascii_lower, date_problem, is_date
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapcrawl.protocol.markup import Element

# Of all other tags one is enough in its parent.
_MULTIPLE: Final = frozenset({"video:tag", "video:price", "video:content_segment_loc"})
_IMAGE_DEPRECATED: Final = ("caption", "geo_location", "title", "license")
_NEWS_DEPRECATED: Final = ("access", "genres", "keywords", "stock_tickers", "geo_locations")
_CHINESE: Final = frozenset({"zh-cn", "zh-tw"})


class Extension:
    """What the rules of every extension need: the tags of an element, by name.

    An element that the document's end left open comes with those within it that are open too, from the outside inwards
    (*unclosed*, which is ``None`` for an element that was closed): neither its value nor what it lacks is told, but what
    its complete children break.
    """

    prefix: str

    def __init__(self, context: Context) -> None:
        self._context = context
        self._add = context.add

    def _tags(self, parent: Element, name: str, containers: frozenset[str] = frozenset()) -> dict[str, list[Element]]:
        """Return the tags that belong in *parent*, by name; tell what does not, and what is there too often.

        Tags have no children, except for *containers*.
        """
        context, prefix = self._context, self.prefix
        namespace = NAMESPACE_OF[prefix]
        own = f"{prefix}:{name}"
        parents = EXTENSION_TAGS[prefix]
        found: dict[str, list[Element]] = {}
        for child in parent.children:
            local = child.name
            if child.namespace != namespace or parents.get(local) != own or context.core == namespace:
                context.stray(child, f"<{own}>")
                continue
            if child.declares:
                context.declarations(child)
            if child.children and local not in containers:
                context.strays(child, f"{prefix}:{local}")
            if local not in found:
                found[local] = [child]
                continue
            found[local].append(child)
            if f"{prefix}:{local}" not in _MULTIPLE:
                message = f"The <{own}> has a <{prefix}:{local}> already, expected one only"
                self._add(child.offset, "extension-repeated", message, value_of(child))
        return found

    def _required(
        self, parent: Element, found: dict[str, list[Element]], tag: str, rule: str, what: str, *, is_closed: bool
    ) -> None:
        """Tell where a *tag* that is required is absent, or empty."""
        name = f"{self.prefix}:{tag}"
        elements = found.get(tag)
        if elements is None:
            if is_closed:
                self._add(parent.offset, rule, f"The <{self.prefix}:{parent.name}> has no <{name}>, expected {what}", None)
            return
        for element in elements:
            if not value_of(element):
                self._add(element.offset, rule, f"The tag <{name}> is empty, expected {what}", "")

    def _deprecated(self, found: dict[str, list[Element]], tags: Sequence[str], rule: str, since: str) -> None:
        for tag in tags:
            for element in found.get(tag, ()):
                self._add(element.offset, rule, f"The tag <{self.prefix}:{tag}> {since}", value_of(element))

    def _address(self, element: Element, rule: str, tag: str) -> None:
        """Check the address in *element*; an empty one is the affair of other rules."""
        address = value_of(element)
        problem = problem_of(address) if address else None
        if problem:
            self._add(element.offset, rule, f"The address {quote(address)} of <{tag}> {problem}", address)


class Images(Extension):
    """The rules of ``image:image``."""

    prefix = "image"

    def check(self, image: Element, count: int, unclosed: Sequence[Element] | None = None) -> None:
        """Check *image*, the one of number *count* in its entry."""
        is_closed = unclosed is None
        if count == MAX_IMAGES + 1:
            message = f"The entry has more than {MAX_IMAGES:,} <image:image>, expected {MAX_IMAGES:,} at most"
            self._add(image.offset, "image-too-many", message, None)
        found = self._tags(image, "image")
        self._required(image, found, "loc", "image-loc-missing", "the address of the image", is_closed=is_closed)
        for loc in found.get("loc", ()):
            self._address(loc, "image-url", "image:loc")
        self._deprecated(found, _IMAGE_DEPRECATED, "image-deprecated", "has been without effect since 2022")
        if unclosed:
            self._context.strays(unclosed[0], f"image:{unclosed[0].name}")


class News(Extension):
    """The rules of ``news:news``, which are counted through the document."""

    prefix = "news"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._count = 0
        self._oldest = context.now - timedelta(seconds=MAX_NEWS_AGE) if context.now.year > 1 else context.now

    def check(self, news: Element, count: int, unclosed: Sequence[Element] | None = None) -> None:
        """Check *news*, the one of number *count* in its entry."""
        is_closed = unclosed is None
        if is_closed:
            self._count += 1
            if self._count == MAX_NEWS + 1:
                message = f"The sitemap has more than {MAX_NEWS:,} <news:news>, expected {MAX_NEWS:,} at most"
                self._add(news.offset, "news-too-many", message, None)
            if count > 1:
                self._add(news.offset, "news-repeated", "The entry has a <news:news> already, expected one only", None)
        found = self._tags(news, "news", frozenset({"publication"}))
        publications = found.get("publication", [])
        if is_closed and not publications:
            message = "The <news:news> has no <news:publication>, expected the name and language of the publication"
            self._add(news.offset, "news-publication-missing", message, None)
        for publication in publications:
            self._publication(publication)
        self._required(news, found, "publication_date", "news-date-missing", "the date of the article", is_closed=is_closed)
        self._required(news, found, "title", "news-title-missing", "the title of the article", is_closed=is_closed)
        for element in found.get("publication_date", ()):
            self._date(element)
        self._deprecated(found, _NEWS_DEPRECATED, "news-deprecated", "is no longer documented")
        if unclosed:
            inner = unclosed[0]
            if inner.name == "publication" and self._context.extension(inner) == "news":
                self._publication(inner, unclosed[1:])
            else:
                self._context.strays(inner, f"news:{inner.name}")

    def _publication(self, publication: Element, unclosed: Sequence[Element] | None = None) -> None:
        is_closed = unclosed is None
        found = self._tags(publication, "publication")
        self._required(publication, found, "name", "news-name-missing", "the name of the publication", is_closed=is_closed)
        what = "the language of the publication"
        self._required(publication, found, "language", "news-language-missing", what, is_closed=is_closed)
        for element in found.get("language", ()):
            value = value_of(element)
            if value and not _is_news_language(ascii_lower(value)):
                message = f"The language {quote(value)} is no code of ISO 639-1, such as 'en', nor one of three letters"
                self._add(element.offset, "news-language", message, value)
        if unclosed:
            self._context.strays(unclosed[0], f"news:{unclosed[0].name}")

    def _date(self, element: Element) -> None:
        date = value_of(element)
        if not date:
            return
        shown = quote(date)
        if not is_date(date):
            self._add(element.offset, "news-date", f"The date {shown} {date_problem(date)}", date)
        elif end_of(date) < self._oldest:
            message = f"The date {shown} is more than two days ago, expected the articles of the last two days alone"
            self._add(element.offset, "news-date-old", message, date)
        elif to_datetime(date) > self._context.now:
            self._add(element.offset, "news-date-future", f"The date {shown} is in the future", date)


def _is_news_language(code: str) -> bool:
    if code in LANGUAGES or code in _CHINESE:
        return True
    return len(code) == 3 and code.isascii() and code.isalpha()
