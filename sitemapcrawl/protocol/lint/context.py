"""What every group of rules needs to know of the document that is read, and how elements that belong nowhere are told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.formats.vocabulary import EXTENSION_NAMESPACES, SITEMAP_NAMESPACE
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sitemapcrawl.protocol.markup import Element

WHITE_SPACE: Final = " \t\r\n"  # XML 1.0, production [3]

CORE_NAMES: Final = frozenset({"urlset", "url", "sitemapindex", "sitemap", "loc", "lastmod", "changefreq", "priority"})

# The tags that Google has defined, by the prefix that stands for their namespace here, with the parent of each.
EXTENSION_TAGS: Final[dict[str, dict[str, str]]] = {
    "image": {"image": "url", **dict.fromkeys(("loc", "caption", "geo_location", "title", "license"), "image:image")},
    "news": {
        "news": "url",
        **dict.fromkeys(("name", "language"), "news:publication"),
        **dict.fromkeys(
            ("publication", "publication_date", "title", "access", "genres", "keywords", "stock_tickers", "geo_locations"),
            "news:news",
        ),
    },
    "video": {
        "video": "url",
        **dict.fromkeys(
            (
                "thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "expiration_date", "rating",
                "view_count", "publication_date", "family_friendly", "restriction", "platform", "requires_subscription",
                "uploader", "live", "tag", "category", "gallery_loc", "price", "tvshow", "content_segment_loc", "id",
            ),
            "video:video",
        ),
    },
    "xhtml": {"link": "url"},
}  # fmt: skip
_DESCRIPTIONS: Final = {"image": "images", "news": "news", "video": "videos"}
NAMESPACE_OF: Final = {prefix: namespace for namespace, prefix in EXTENSION_NAMESPACES.items()}

_NEARLY = re.compile(r"https?://(.*?)(?:/[0-9]+(?:\.[0-9]+)*)?/*", re.DOTALL)


def _essence(namespace: str) -> str | None:
    """Return what is left of a namespace without letter case, http or https, a slash at the end and a version."""
    namespace = namespace.strip(WHITE_SPACE)
    # The longest that is known has 47 characters; the expression takes quadratic time on thousands of slashes.
    match = _NEARLY.fullmatch(namespace.lower()) if len(namespace) <= 200 else None
    return match[1] if match else None


_ESSENCES: Final = {_essence(namespace): namespace for namespace in EXTENSION_NAMESPACES}


def value_of(element: Element) -> str:
    """Return the value of *element*: its text, without the white space around it."""
    return element.text.strip(WHITE_SPACE)


def attribute_of(element: Element, name: str) -> str | None:
    """Return the value of an attribute without the white space around it, ``None`` if it is absent."""
    value = element.get(name)
    return None if value is None else value.strip(WHITE_SPACE)


class Context:
    """The document's namespace, the present, and where findings go: ``add(offset, rule, message, value)``."""

    def __init__(self, root: Element, now: datetime, add: Callable[..., None]) -> None:
        self.add = add
        self.now = now
        self.core = root.namespace
        # The prefix tells elements apart that are in no known namespace: one that is not declared leads to none.
        self._core_prefix = root.prefix if root.namespace is None else None
        self._extensions = {space: prefix for space, prefix in EXTENSION_NAMESPACES.items() if space != root.namespace}

    def is_core(self, element: Element) -> bool:
        """Tell whether *element* is in the namespace of the protocol, or in that of the root, which stands for it."""
        return element.namespace == self.core and (self.core is not None or element.prefix == self._core_prefix)

    def extension(self, element: Element) -> str | None:
        """Return the prefix that stands for the extension that *element* belongs to."""
        return None if element.namespace is None else self._extensions.get(element.namespace)

    def declarations(self, element: Element) -> None:
        """Look at the namespaces that the start tag of *element* declares."""
        for namespace in element.declares.values():
            if namespace is None or namespace in EXTENSION_NAMESPACES or namespace == SITEMAP_NAMESPACE:
                continue
            expected = _ESSENCES.get(_essence(namespace))
            if expected is not None:
                message = f"The namespace {quote(namespace)} is not that of the extension, expected {expected!r}"
                self.add(element.offset, "extension-namespace", message, namespace)

    def stray(self, element: Element, parent: str) -> None:
        """Tell what is wrong with an *element* that *parent* does not hold; it is passed over with all it holds."""
        name = element.name
        if element.declares:
            self.declarations(element)
        if self.is_core(element):
            shown = name[:100]
            if name in CORE_NAMES:
                message = f"The element <{shown}> does not belong in {parent}"
                self.add(element.offset, "element-misplaced", message, name)
            else:
                hint = f"; it is written <{name.lower()}>" if name.lower() in CORE_NAMES else ""
                message = f"The element <{shown}> is none that the protocol defines{hint}"
                self.add(element.offset, "element-unknown", message, name)
        elif element.namespace is None:
            if element.prefix is None and self.core is not None:
                message = f"The element <{name[:100]}> is in no namespace, expected {self.core[:100]!r} as for the root"
                self.add(element.offset, "element-no-namespace", message, name)
        elif (prefix := self.extension(element)) is not None:
            tag = f"{prefix}:{name}"
            expected = EXTENSION_TAGS[prefix].get(name)
            if expected is not None:
                message = f"The tag <{tag}> does not belong in {parent}, expected it in <{expected}>"
                self.add(element.offset, "extension-misplaced", message, tag)
            elif prefix in _DESCRIPTIONS:
                message = f"The tag <{tag[:100]}> is none that Google has defined for {_DESCRIPTIONS[prefix]}"
                self.add(element.offset, "extension-unknown", message, tag)

    def strays(self, element: Element, name: str) -> None:
        """Look at the children of an *element* called *name* that holds nothing but text."""
        for child in element.children:
            self.stray(child, f"<{name}>")
