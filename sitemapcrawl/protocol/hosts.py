"""Host names: which may stand in a URL, and their ASCII form.

Names are converted as Go's ``net/http`` does it, with the lookup profile of ``golang.org/x/net/idna``: UTS #46,
non-transitional, with the rules of STD 3. That takes an emoji, which IDNA 2008 (``idna.encode``) refuses, and keeps ß
apart from ss, which Python's ``idna`` codec (IDNA 2003) does not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address
from unicodedata import bidirectional
from urllib.parse import quote, unquote_to_bytes

import idna

_MAX_NAME = 1_024  # characters; a name in the DNS has 253, and Punycode takes quadratic time
_SAFE = "!$&'()*+,;="
_ASCII_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
# net/url refuses these in a host, save for the quotation mark and the angle brackets, which no resolver takes either.
_INVALID = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f]|%(?![89A-Fa-f][0-9A-Fa-f])')

# RFC 6874: a zone follows the address after %25.
_ADDRESS = re.compile(r"\[([0-9A-Fa-f:.]{2,45})(?:%25(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)?\]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Return *text* with U+FFFD for each surrogate, which UTF-8 has no bytes for."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def host_fault(host: str) -> str | None:
    """Return a message about what *host* (of a URL, not empty) holds and may not hold, ``None`` if nothing.

    A name may hold what is not in ASCII, also percent-encoded, but no ASCII character that way (RFC 3986 would have
    it, ``net/url`` does not). Brackets have to hold an IPv6 address.
    """
    if host.startswith("["):
        match = _ADDRESS.fullmatch(host)
        try:
            IPv6Address(match[1] if match else "")
        except ValueError:
            return f"invalid host {host[:100]!r}"
        return None
    if match := _INVALID.search(host):
        if match[0] == "%":
            return f"invalid URL escape {host[match.start() : match.start() + 3]!r} in host name"
        return f"invalid character {match[0]!r} in host name"
    # Nothing is left of a name of soft hyphens, and of other characters that are ignored.
    return None if ascii_host(host) else "missing host"


def ascii_host(host: str) -> str:
    """Return the name by which *host* is looked up: in Punycode, unless it is in ASCII, then it is as written.

    A name that is no valid domain name comes back percent-encoded.

    >>> ascii_host("bücher.example"), ascii_host("Example.COM"), ascii_host("bücher_x.example")
    ('xn--bcher-kva.example', 'Example.COM', 'b%C3%BCcher_x.example')
    """
    if host.startswith("[") or (host.isascii() and "%" not in host):
        return host
    host = replace_surrogates(host)
    if len(host) > _MAX_NAME:
        return quote(host, safe=_SAFE + "%")
    return _convert(host)


@lru_cache(maxsize=1024)
def _convert(host: str) -> str:
    try:
        name = unquote_to_bytes(host).decode()
    except UnicodeDecodeError:
        return quote(host, safe=_SAFE + "%")
    try:
        return _punycode(name)
    except ValueError:  # idna.IDNAError and UnicodeError are ones
        return quote(name, safe=_SAFE)


def _punycode(host: str) -> str:
    labels = [_unicode_label(label) for label in idna.uts46_remap(host, True, False).split(".")]
    # RFC 5893, section 2: one name from right to left puts all labels under the rule.
    if any(_is_bidi(label) for label in labels):
        for label in labels:
            if label:
                idna.check_bidi(label, check_ltr=True)
    return ".".join(label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in labels)


def _unicode_label(label: str) -> str:
    """Return a mapped *label* in Unicode; raise :exc:`ValueError` if it is not valid (UTS #46, section 4.1).

    An empty one is, as in Go: a host may end in a dot.
    """
    if label.startswith("xn--"):
        decoded = label[4:].encode("ascii").decode("punycode")
        if decoded.isascii() or idna.uts46_remap(decoded, True, False) != decoded:
            raise ValueError(f"{label!r} is no valid label")
        label = decoded
    elif label[2:4] == "--":
        raise ValueError(f"{label!r} has hyphens in the third and fourth position")
    if label.isascii():
        if label and not _ASCII_LABEL.fullmatch(label):
            raise ValueError(f"{label!r} is no valid label")
        return label
    if label[0] == "-" or label[-1] == "-":
        raise ValueError(f"{label!r} begins or ends with a hyphen")
    idna.check_initial_combiner(label)
    for position, character in enumerate(label):
        if character in "\u200c\u200d" and not idna.valid_contextj(label, position):
            raise ValueError(f"{label!r} has a joiner where none may be")
    return label


def _is_bidi(label: str) -> bool:
    return not label.isascii() and any(bidirectional(character) in {"R", "AL", "AN"} for character in label)
