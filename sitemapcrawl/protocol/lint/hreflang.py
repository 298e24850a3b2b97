"""The rules of alternates: the ``xhtml:link`` elements that name a page in other languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.codes import LANGUAGES, REGIONS
from sitemapcrawl.protocol.lint.addresses import problem_of
from sitemapcrawl.protocol.lint.context import NAMESPACE_OF, Context, attribute_of, value_of
from sitemapcrawl.protocol.lint.values import ascii_lower
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sitemapcrawl.protocol.markup import Element

_XHTML: Final = NAMESPACE_OF["xhtml"]
_CODE = re.compile(r"([A-Za-z]{2})(?:-[A-Za-z]{4})?(?:-([A-Za-z]{2}))?").fullmatch
_DEFAULT: Final = "x-default"
_MOST_CODES: Final = 1_000  # different ones that are remembered: a site has dozens


def _address_and_alternates(entry: Element, is_core: Callable[[Element], bool]) -> tuple[str, list[str]]:
    """Return the address of *entry* (``""`` for none) and the addresses of its alternates."""
    loc: Element | None = None
    alternates = []
    for child in entry.children:
        if child.name == "link":
            if child.namespace == _XHTML and (alternate := _alternate(child)):
                alternates.append(alternate[1])
        elif loc is None and child.name == "loc" and is_core(child):
            loc = child
    return value_of(loc) if loc is not None else "", alternates


def _alternate(link: Element) -> tuple[str, str] | None:
    """Return language and address of *link* if it is an alternate, whatever else is wrong with these."""
    rel = link.get("rel")
    if rel is None or (rel != "alternate" and ascii_lower(attribute_of(link, "rel") or "") != "alternate"):
        return None
    language, address = attribute_of(link, "hreflang"), attribute_of(link, "href")
    return (language, address) if language and address else None


class Graph:
    """Which entries of a document there are, and which of them have which as alternates."""

    def __init__(self, entries: Iterable[Element], is_core: Callable[[Element], bool]) -> None:
        # A pair is one integer, so that half a million of them take 50 MB; addresses are held once.
        self._numbers: dict[str, int] = {}
        self._entries: set[int] = set()
        self._pairs: set[int] = set()
        number_of = self._number
        for entry in entries:
            address, alternates = _address_and_alternates(entry, is_core)
            if address:
                number = number_of(address)
                self._entries.add(number)
                number <<= 32
                self._pairs.update([number | number_of(alternate) for alternate in alternates])

    def _number(self, address: str) -> int:
        return self._numbers.setdefault(address, len(self._numbers))

    def without_return(self, address: str, alternates: Iterable[tuple[Element, str]]) -> Iterator[tuple[Element, str]]:
        """Yield those *alternates* of the entry *address* that are another entry and lack it, once for each address."""
        numbers, pairs = self._numbers, self._pairs
        number = numbers.get(address)
        if number is None:
            return
        told = set()
        for link, alternate in alternates:
            other = numbers.get(alternate)
            if other is None or other == number or (other << 32 | number) in pairs or other not in self._entries or other in told:
                continue
            told.add(other)
            yield link, alternate


class Links:
    """The rules of the links of an entry."""

    def __init__(self, context: Context, graph: Graph) -> None:
        self._context = context
        self._add = context.add
        self._graph = graph
        self._codes: dict[str, tuple[str, str] | None] = {}

    def check(self, entry: Element, address: str, links: Sequence[Element], *, is_closed: bool) -> None:
        """Check the *links* of *entry*, which has the *address* (``""`` for none)."""
        alternates: list[tuple[Element, str]] = []
        languages: set[str] = set()
        for link in links:
            alternate = self._link(link)
            if alternate is None:
                continue
            language, href = alternate
            code = ascii_lower(language)
            if code in languages:
                message = f"The language {quote(language)} has an alternate in this entry already, expected one for each"
                self._add(link.offset, "hreflang-repeated", message, language)
            languages.add(code)
            alternates.append((link, href))
        if not alternates or not is_closed:
            return
        if address:
            if all(href != address for _, href in alternates):
                message = f"The entry does not list itself, {quote(address)}, among its alternates"
                self._add(entry.offset, "hreflang-no-self", message, address)
            for link, href in self._graph.without_return(address, alternates):
                message = f"The entry of {quote(href)} has no alternate that leads back here, to {quote(address)}"
                self._add(link.offset, "hreflang-no-return", message, href)
        if _DEFAULT not in languages:
            message = "The entry has alternates and none for 'x-default', the page for all other languages"
            self._add(entry.offset, "hreflang-no-x-default", message, address or None)

    def _link(self, link: Element) -> tuple[str, str] | None:
        """Check *link*, and return its language and address if it is an alternate."""
        if link.children:
            self._context.strays(link, "xhtml:link")
        rel, language, href = attribute_of(link, "rel"), attribute_of(link, "hreflang"), attribute_of(link, "href")
        if language is None and link.get("media") is not None:
            return None  # a page for mobile devices
        offset, add = link.offset, self._add
        is_alternate = rel == "alternate" or (rel is not None and ascii_lower(rel) == "alternate")
        if not is_alternate:
            problem = "is missing" if rel is None else f"is {quote(rel)}"
            add(offset, "hreflang-rel", f"The attribute rel of <xhtml:link> {problem}, expected 'alternate'", rel)
        if not language:
            problem = "is missing" if language is None else "is empty"
            message = f"The attribute hreflang of <xhtml:link> {problem}, expected a language such as 'en' or 'en-GB'"
            add(offset, "hreflang-missing", message, language)
        elif fault := self._fault(language):
            add(offset, fault[0], fault[1], language)
        if not href:
            problem = "is missing" if href is None else "is empty"
            add(offset, "hreflang-href-missing", f"The attribute href of <xhtml:link> {problem}, expected an address", href)
        elif problem_text := problem_of(href):
            add(offset, "hreflang-url", f"The address {quote(href)} of <xhtml:link> {problem_text}", href)
        return (language, href) if is_alternate and language and href else None

    def _fault(self, language: str) -> tuple[str, str] | None:
        """Return rule and message of what is wrong with a language."""
        try:
            return self._codes[language]
        except KeyError:
            if len(self._codes) >= _MOST_CODES:
                self._codes.clear()
        fault = self._codes[language] = _fault_of(language)
        return fault


def _fault_of(language: str) -> tuple[str, str] | None:
    match = _CODE(language)
    if match is None:
        if ascii_lower(language) == _DEFAULT:
            return None
        message = f"The language {quote(language)} is not of the form of 'en', 'en-GB', 'zh-Hant', 'zh-Hant-TW' or 'x-default'"
        return "hreflang-format", message
    if match[1].lower() not in LANGUAGES:
        return "hreflang-language", f"The language {match[1]!r} of {quote(language)} is not in ISO 639-1"
    if match[2] and match[2].upper() not in REGIONS:
        return "hreflang-region", f"The region {match[2]!r} of {quote(language)} is not in ISO 3166-1"
    return None
