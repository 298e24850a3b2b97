"""The rules of addresses: what an address may look like, and where it may lead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sitemapcrawl.protocol.limits import MAX_URL_LENGTH
from sitemapcrawl.protocol.lint.context import WHITE_SPACE, Context
from sitemapcrawl.protocol.rules.values import quote
from sitemapcrawl.protocol.urls import (
    BAD_PERCENT,
    CONTROL,
    FORBIDDEN,
    NON_ASCII,
    character_faults,
    is_fine,
    origin,
    structure_fault,
)

if TYPE_CHECKING:
    from sitemapcrawl.protocol.markup import Element

# What is wrong with an address, by the names of urls.structure_fault() and urls.character_faults().
_STRUCTURE: Final = {
    "relative": "has no scheme, expected one that begins with 'http://' or 'https://'",
    "scheme": "has another scheme than http and https",
    "no-host": "names no host",
    "malformed": "cannot be taken apart: its port is no number up to 65535, or a bracket in its host is not closed",
}

# Everything before the path; what follows it begins with ? or #. Matches whatever it is given.
_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://[^/?#]*)?([^?#]*)")
_INDEX_NAME = re.compile(r"sitemap_?index", re.IGNORECASE | re.ASCII)
_NO_PREFIX: Final = "\0"  # with which no address begins


def path_of(url: str) -> str:
    """Return the path of *url*, an empty one as ``/``."""
    match = _PATH.match(url)
    assert match is not None
    return match[1] or "/"


def host_of(url: str) -> str | None:
    """Return the host of *url* in the form in which hosts are compared, ``None`` if it has none."""
    return None if structure_fault(url) else origin(url)[1]


def problem_of(url: str) -> str | None:
    """Return the first thing that is wrong with an address of an extension, to be said of it, ``None`` if nothing is."""
    if len(url) <= MAX_URL_LENGTH and is_fine(url):
        return None
    structure = structure_fault(url)
    if structure:
        return _STRUCTURE[structure]
    for fault in character_faults(url):
        return _of_characters(fault, url)
    return None


def _of_characters(fault: str, url: str) -> str:
    if fault == "space":
        return "holds a space, which is written '%20'"
    if fault == "control" and (match := CONTROL.search(url)):
        return f"holds the control character U+{ord(match[0]):04X}"
    if fault == "non-ascii" and (match := NON_ASCII.search(url)):
        return f"holds {match[0]!r}, which is not in ASCII and has to be percent-encoded (in a host name: Punycode)"
    if fault == "character" and (match := FORBIDDEN.search(url)):
        return f"holds {match[0]!r}, which is written '%{ord(match[0]):02X}'"
    if fault == "percent" and (match := BAD_PERCENT.search(url)):
        around = url[match.start() : match.start() + 3]
        return f"holds {around!r}, where two hexadecimal digits are expected after '%'"
    return f"has {len(url):,} characters, more than {MAX_URL_LENGTH:,}"


class _Site(NamedTuple):
    """Where the sitemap is published, as far as addresses have to agree with it."""

    scheme: str
    host: str
    port: int | None
    directory: str


class Addresses:
    """The rules of every ``loc`` of a document; what they have seen before is kept here."""

    def __init__(self, context: Context, url: str | None, *, is_index: bool) -> None:
        self._add = context.add
        self._is_index = is_index
        self._site: _Site | None = None
        self._first_host: str | None = None
        self._hosts: set[str] = set()
        self._seen: set[str] = set()
        # Nothing is wrong with a fine address that begins like this, wherever the document is: nearly all of them do.
        self._prefix = _NO_PREFIX
        if url is not None:
            path = path_of(url)
            self._site = _Site(*origin(url), path[: path.rfind("/") + 1])
            if is_fine(url):
                self._prefix = f"{url[: url.index('//') + 2]}{_authority(url)}{self._site.directory}"

    def is_clean(self, text: str) -> bool:
        """Tell, truly or falsely, that the text of a ``loc`` breaks none of the rules of :meth:`check`."""
        return text.startswith(self._prefix) and len(text) <= MAX_URL_LENGTH and bool(is_fine(text)) and not self._is_index

    def check(self, loc: Element, *, is_repeated: bool) -> str:
        """Check the address in *loc*, and return it; ``""`` if there is none."""
        text = loc.text
        if not is_repeated and self.is_clean(text):
            return text
        address = text.strip(WHITE_SPACE)
        offset, add = loc.offset, self._add
        if not address:
            add(offset, "loc-empty", "The element <loc> is empty, expected an absolute address", "")
            return ""
        shown = quote(address)
        if is_repeated:
            add(offset, "loc-repeated", f"The entry has a <loc> already, expected one only, got {shown} too", address)
        if len(address) != len(text):
            add(offset, "loc-whitespace", f"White space stands around the address {shown}", address)
        fault = structure_fault(address)
        if fault:
            add(offset, f"loc-{fault}", f"The address {shown} {_STRUCTURE[fault]}", address)
        for kind in character_faults(address):
            add(offset, f"loc-{kind}", f"The address {shown} {_of_characters(kind, address)}", address)
        if not fault:
            self._check_site(offset, address, shown)
        if self._is_index and _INDEX_NAME.search(path_of(address).rpartition("/")[2]):
            message = f"The address {shown} looks like that of an index, expected that of a sitemap"
            add(offset, "index-in-index", message, address)
        return address

    def check_first(self, loc: Element, address: str) -> None:
        """Compare the *address* of an entry, in its first ``loc``, with those of the entries before."""
        seen = self._seen
        size = len(seen)
        seen.add(address)
        if len(seen) == size:
            message = f"The address {quote(address)} is that of an earlier entry too"
            self._add(loc.offset, "duplicate-address", message, address)

    def _check_site(self, offset: int, address: str, shown: str) -> None:
        scheme, host, port = origin(address)
        site = self._site
        if site is None:
            if self._first_host is None:
                self._first_host = host
                self._hosts.add(host)
                if is_fine(address):
                    self._prefix = f"{address[: address.index('//') + 2]}{_authority(address)}/"
            elif host not in self._hosts:
                self._hosts.add(host)
                message = f"The address {shown} is on another host than the first one, which is on {self._first_host[:100]!r}"
                self._add(offset, "mixed-hosts", message, address)
            return
        if scheme != site.scheme:
            rule, message = "protocol-mismatch", f"has another protocol than the sitemap, {site.scheme!r}"
        elif host != site.host:
            rule, message = "host-mismatch", f"is on another host than the sitemap, {site.host[:100]!r}"
        elif port != site.port:
            rule, message = "port-mismatch", f"has another port than the sitemap, {site.port}"
        elif not path_of(address).startswith(site.directory):
            rule = "index-directory" if self._is_index else "directory-mismatch"
            what = "index" if self._is_index else "sitemap"
            message = f"is not below the directory of the {what}, {site.directory[:100]!r}"
        else:
            return
        self._add(offset, rule, f"The address {shown} {message}", address)


def _authority(url: str) -> str:
    """Return what stands between the two slashes and the path of a fine *url*."""
    return re.split("[/?#]", url.partition("//")[2], maxsplit=1)[0]
