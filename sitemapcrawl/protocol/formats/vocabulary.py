"""The names that elements have in sitemaps and feeds, whatever prefix, namespace or letter case they are written in."""

from __future__ import annotations

import re

SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
EXTENSION_NAMESPACES = {
    "http://www.google.com/schemas/sitemap-image/1.1": "image",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
    "http://www.google.com/schemas/sitemap-video/1.1": "video",
    "http://www.w3.org/1999/xhtml": "xhtml",
}

_NEARLY = re.compile(r"(?:https?:)?//(.*?)/*", re.DOTALL)
_CORE = frozenset({"urlset", "url", "sitemapindex", "sitemap", "loc", "lastmod", "changefreq", "priority"})
_PREFIXES = frozenset(EXTENSION_NAMESPACES.values())
_MOST_TAGS = 10_000  # names that a document may make us remember, before we forget them all


def _essence(namespace: str) -> str:
    """Return what two namespaces have in common that differ in scheme, letter case or a slash at the end."""
    match = _NEARLY.fullmatch(namespace.strip().lower())
    return match[1] if match else ""


_NEARLY_EXTENSIONS = {_essence(namespace): prefix for namespace, prefix in EXTENSION_NAMESPACES.items()}


class Vocabulary(dict[str, str]):
    """Maps a tag as lxml writes it, ``{namespace}name``, to the name that this project knows it by, or to ``""``.

    Elements of the protocol are known by their own name (``loc``), in whatever namespace or none; those of the
    extensions with a prefix (``image:loc``), which is the one of their namespace and not the one that is written. In
    tolerant mode letter case plays no part in the names of the protocol, a namespace that is nearly that of an
    extension is taken for it, and so is the usual prefix where it is not declared; and where the prefix of the root is
    not (*root_prefix* is one then), what has that prefix too is of the protocol.

    >>> Vocabulary(strict=False)["{http://www.google.com/schemas/sitemap-image/1.1}loc"]
    'image:loc'
    >>> Vocabulary(strict=True)["{https://www.google.com/schemas/sitemap-image/1.1}loc"]
    ''
    """

    def __init__(self, *, strict: bool, root_namespace: str = "", root_prefix: str = "") -> None:
        super().__init__()
        self._strict = strict
        self.root_namespace = root_namespace
        self._undeclared = f"{root_prefix}:" if root_prefix and not root_namespace and not strict else None

    def __missing__(self, tag: str) -> str:
        if len(self) >= _MOST_TAGS:
            self.clear()
        self[tag] = known = self._known(tag)
        return known

    def _known(self, tag: str) -> str:
        namespace, _, name = tag[1:].partition("}") if tag.startswith("{") else ("", "", tag)
        if namespace and namespace == self.root_namespace:
            return self._core(name)  # also where the root itself has got the namespace of an extension
        prefix = EXTENSION_NAMESPACES.get(namespace)
        if prefix is None and _essence(namespace) in _NEARLY_EXTENSIONS:
            if self._strict:
                return ""
            prefix = _NEARLY_EXTENSIONS[_essence(namespace)]
        if prefix is not None:
            return f"{prefix}:{name}"
        if self._undeclared and name.startswith(self._undeclared):
            return self._core(name[len(self._undeclared) :])
        if ":" in name:  # an undeclared prefix
            return "" if self._strict or name.partition(":")[0] not in _PREFIXES else name
        return self._core(name)

    def _core(self, name: str) -> str:
        if not self._strict:
            name = name.lower()
        return name if name in _CORE else ""
