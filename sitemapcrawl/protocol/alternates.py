"""Alternates that are complete: every page of a group names every other and itself.

Search engines ignore a link that is not returned. What it takes to complete them is known when all pages are.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from sitemapcrawl.protocol.records import Alternate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemapcrawl.protocol.records import Page

_DEFAULT = "x-default"


class _Group:
    __slots__ = ("addresses", "links")

    def __init__(self) -> None:
        self.addresses: set[str] = set()
        self.links: dict[str, tuple[str, str]] = {}  # language in lower case → language, address


class AlternateGroups:
    """Which pages are versions of each other: those that a page links, and those that link it.

    A group has one address for a language. A page whose links would give it two is no part of it, and stays as it is: pages
    without a translation often name the home page in its stead, and would all become versions of each other. For the same
    reason ``x-default`` joins nothing; the first one of a group counts.

    The language of a page is known if any page of the group says it; a page of which none does is named by none.
    """

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    def add(self, page: Page) -> None:
        """Learn what *page* links."""
        links: dict[str, tuple[str, str]] = {}
        for link in page.alternates:
            if link.hreflang and link.href:
                links.setdefault(link.hreflang.lower(), (link.hreflang, link.href))
        if not links:
            return
        addresses = {page.loc, *(href for key, (_, href) in links.items() if key != _DEFAULT)}
        found = {id(group): group for address in addresses if (group := self._groups.get(address))}
        merged: dict[str, tuple[str, str]] = {}
        for known in (*(group.links for group in found.values()), links):
            for key, link_to in known.items():
                if merged.setdefault(key, link_to)[1] != link_to[1] and key != _DEFAULT:
                    return
        largest = max(found.values(), key=lambda group: len(group.addresses), default=None) or _Group()
        largest.links = merged
        for group in found.values():
            if group is not largest:
                addresses |= group.addresses
        largest.addresses |= addresses
        for address in addresses:
            self._groups[address] = largest

    def complete(self, page: Page) -> Page:
        """Return *page* with the links of its group; one that is in no group, or contradicts it, as it is."""
        group = self._groups.get(page.loc)
        if group is None:
            return page
        for link in page.alternates:
            known = group.links.get((link.hreflang or "").lower())
            if known is None or (known[1] != link.href and known[0].lower() != _DEFAULT):
                return page
        return replace(page, alternates=[Alternate("alternate", hreflang, href) for hreflang, href in group.links.values()])


class WaitingPages:
    """Pages that wait on the disk until the alternates of all are known."""

    def __init__(self) -> None:
        self._groups = AlternateGroups()
        self._file: IO[bytes] | None = None
        self._count = 0

    def add(self, page: Page, folder: Path) -> None:
        """Keep *page* in a file in *folder*."""
        if self._file is None:
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115 # closed by close()
        self._groups.add(page)
        pickle.dump(page, self._file, pickle.HIGHEST_PROTOCOL)
        self._count += 1

    def completed(self) -> Iterator[Page]:
        """Yield the pages in their order, with their alternates completed."""
        if self._file is None:
            return
        self._file.seek(0)
        for _ in range(self._count):
            yield self._groups.complete(pickle.load(self._file))

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
