"""What a URL of a sitemap may look like, and how it is brought into the form in which it can be requested.

The rules of tolerant mode are :func:`resolve` and :func:`encode_absolute`, those of strict mode :func:`check_strict`;
:func:`structure_fault` and :func:`character_faults` are the same rules, one by one, for the linter. Host names are in
``hosts``. Documents are full of URLs with which nothing is wrong: one regular expression accepts these, and all else
may take its time. What a URL is taken apart into follows Go's ``net/url``, which is stricter than :mod:`urllib.parse`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from sitemapcrawl.protocol.hosts import ascii_host, host_fault, replace_surrogates
from sitemapcrawl.protocol.limits import MAX_URL_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_PORTS = {"http": 80, "https": 443}

SPACE = " "
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NON_ASCII = re.compile(r"[^\x00-\x7f]")
# RFC 3986, section 2: neither reserved nor unreserved. (Nor are square brackets outside a host; browsers leave them.)
FORBIDDEN = re.compile(r'["<>\\^`{|}]')
BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# What is percent-encoded: in the path, the fragment and what stands before an @; and in the query, where net/url looks
# for neither the forbidden characters nor a stray %.
_UNSAFE = re.compile(r"[^!#$&-;=?-\[\]_a-z~%]+|%(?![0-9A-Fa-f]{2})")
_UNSAFE_QUERY = re.compile(r"[^!-~]+")

# Every run ends where the next one begins, so that a failure costs one pass; some 3 ns a character.
_SITE = r"https?://[A-Za-z0-9_.-]+(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?"
_CHARS = r"[!#$&-;=?-\[\]_a-z~]*"
_TAIL = rf"(?:[/?#]{_CHARS}(?:%[0-9A-Fa-f]{{2}}{_CHARS})*)?"

is_fine = re.compile(_SITE + _TAIL).fullmatch
"""Tell of an absolute http(s) URL that nothing is to be encoded in it, and that strict mode accepts it on its host.

The answer is one of ``re``, true or false; of a few such URLs it is false as well. Look at the length of the URL
first: that is not part of the answer, and megabytes of ``%41`` would take as much memory as time.
"""

# Any path, query and fragment on a host in ASCII: all that these may need is to be encoded.
_match_ordinary = re.compile(rf"({_SITE})(/[^?#\x00-\x1f\x7f]*)?(\?[^#\x00-\x1f\x7f]*)?(#[^\x00-\x1f\x7f]*)?").fullmatch


class _Parts(NamedTuple):
    """A URL reference; ``''.join`` of what is there, with ``scheme:`` and ``//authority``, is the reference again."""

    scheme: str  # as written, without the colon; '' if there is none
    authority: str | None  # without the two slashes
    path: str
    query: str  # with its question mark
    fragment: str  # with its number sign


class _Authority(NamedTuple):
    userinfo: str  # with its @
    host: str
    port: str  # with its colon; what follows the host, whether or not that is a port


def _split(url: str) -> _Parts:
    rest, mark, fragment = url.partition("#")
    fragment = mark + fragment
    scheme = ""
    if match := _SCHEME.match(rest):
        scheme, rest = match[1], rest[match.end() :]
    rest, mark, query = rest.partition("?")
    query = mark + query
    if not rest.startswith("//"):
        return _Parts(scheme, None, rest, query, fragment)
    slash = rest.find("/", 2)
    if slash < 0:
        return _Parts(scheme, rest[2:], "", query, fragment)
    return _Parts(scheme, rest[2:slash], rest[slash:], query, fragment)


def _split_authority(authority: str) -> _Authority:
    userinfo, at, host = authority.rpartition("@")
    # The first colon, not the last: "example.com:80:80" is no host with a port (net/url since Go 1.26).
    end = host.rfind("]") + 1 if host.startswith("[") else host.find(":")
    if end < 0 or (end == 0 and host.startswith("[")):
        end = len(host)
    return _Authority(userinfo + at, host[:end], host[end:])


def _short(value: str) -> str:
    """Return *value* quoted for a message, cut where a hostile document would make the message long."""
    return repr(value if len(value) <= 100 else value[:97] + "...")


def _port_fault(port: str) -> str | None:
    if not port or port == ":":
        return None
    digits = port[1:]
    if not (port[0] == ":" and digits.isascii() and digits.isdigit()):
        return f"invalid port {_short(port)} after host"
    significant = digits.lstrip("0")
    if len(significant) > 5 or int(significant or "0") > 65535:
        return f"port {_short(digits)} is above 65535"
    return None


def _fault(parts: _Parts) -> tuple[str, str] | None:
    """Return the kind of the first structural fault and a message about it, ``None`` for a sound absolute URL."""
    if not parts.scheme:
        return "relative", "URL is not absolute"
    if parts.scheme.lower() not in DEFAULT_PORTS:
        return "scheme", f"unsupported scheme {_short(parts.scheme)}"
    if not parts.authority:
        return "no-host", "missing host"
    userinfo, host, port = _split_authority(parts.authority)
    if not host:
        # net/url looks at the port first: "https://::" has an invalid port "::".
        return "no-host", _port_fault(port) or "missing host"
    message = _bracket_fault(host) or _port_fault(port)
    if not message and ("[" in userinfo or "]" in userinfo):  # what else it may not hold is percent-encoded
        message = "invalid userinfo"
    return ("malformed", message) if message else None


def _bracket_fault(host: str) -> str | None:
    if "[" not in host and "]" not in host:
        return None
    if not host.startswith("["):
        return f"misplaced bracket in host {_short(host)}"
    if not host.endswith("]"):
        return f"missing ']' in host {_short(host)}"
    return host_fault(host)


def structure_fault(url: str) -> str | None:
    """Return what keeps *url* from being an absolute http(s) URL with a host, ``None`` if nothing does.

    The first of: ``"relative"``, no scheme; ``"scheme"``, one other than http and https; ``"no-host"``;
    ``"malformed"``, a port that is no number up to 65535, or brackets that hold no IPv6 address.

    >>> structure_fault("//example.com/"), structure_fault("https:page"), structure_fault("https://example.com:x/")
    ('relative', 'no-host', 'malformed')
    """
    if len(url) <= MAX_URL_LENGTH and is_fine(url):
        return None
    fault = _fault(_split(url))
    return fault[0] if fault else None


def character_faults(url: str) -> tuple[str, ...]:
    """Return which of the rules about the characters of a URL *url* breaks, in the order of this list.

    ``"space"``, ``"control"``, ``"non-ascii"``, ``"character"`` (one of :data:`FORBIDDEN`), ``"percent"`` (a ``%``
    without two hexadecimal digits) and ``"too-long"`` (more than 2,048 characters).

    >>> character_faults("https://example.com/50% off|now")
    ('space', 'character', 'percent')
    """
    if len(url) <= MAX_URL_LENGTH and is_fine(url):
        return ()
    broken = (
        ("space", SPACE in url),
        ("control", CONTROL.search(url)),
        ("non-ascii", not url.isascii()),
        ("character", FORBIDDEN.search(url)),
        ("percent", BAD_PERCENT.search(url)),
        ("too-long", len(url) > MAX_URL_LENGTH),
    )
    return tuple(name for name, is_broken in broken if is_broken)


def resolve(location: str, base: str) -> str:
    """Return the absolute URL that *location* stands for in the document at *base*, as tolerant mode returns it.

    *location* has no white space around it and is not empty; *base* is an absolute http(s) URL. What a URL may not
    hold is percent-encoded, a host name becomes Punycode, a relative location is resolved (RFC 3986, section 5, with
    the path as Go's ``ResolveReference`` has it); nothing else changes.

    Raises :exc:`ValueError`, with a message about what is wrong, if there is a control character in *location*, if it
    does not lead to an http(s) URL with a host that can be parsed, or if that has more than 2,048 characters.

    >>> resolve("../summer sale?q=café", "https://example.com/shop/sitemap.xml")
    'https://example.com/summer%20sale?q=caf%C3%A9'
    """
    if len(location) <= MAX_URL_LENGTH:
        if is_fine(location):
            return location
        if match := _match_ordinary(location):
            return _encode_ordinary(match)
        if location[:1] == "/" and location[1:2] != "/" and "/." not in location:
            return resolve(_root(base) + location, base)
    if control := CONTROL.search(location):
        raise ValueError(f"URL contains the control character {control[0]!r}")
    parts = _split(location)
    if not parts.scheme:
        parts = _refer(parts, base)
    if fault := _fault(parts):
        raise ValueError(fault[1])
    return _encode(parts)


def absolute(location: str, base: str) -> str | None:
    """Return the URL that a relative *location* leads to in the document at *base*, with nothing encoded, whatever its length.

    ``None`` if *location* is not relative, or leads to no URL.

    >>> absolute("summer sale", "https://example.com/shop/sitemap.xml"), absolute("//", "https://example.com/sitemap.xml")
    ('https://example.com/shop/summer sale', None)
    """
    parts = _split(location)
    if parts.scheme or CONTROL.search(location):
        return None
    try:
        parts = _refer(parts, base)
    except ValueError:
        return None
    authority = parts.authority or ""
    if _fault(parts) or host_fault(_split_authority(authority).host):
        return None
    return f"{parts.scheme}://{authority}{parts.path}{parts.query}{parts.fragment}"


@lru_cache(maxsize=256)
def _root(base: str) -> str:
    """Return what every absolute path in the document at *base* is put behind."""
    parts = _split(base)
    if fault := _fault(parts):
        raise ValueError(fault[1])
    return _encode(parts._replace(path="", query="", fragment=""))


def encode_absolute(url: str) -> str:
    """Return an absolute http(s) *url* as :func:`resolve` does, and anything else exactly as it is given.

    Anything else is a URL that is relative, has another scheme or no host, cannot be parsed, or would exceed 2,048
    characters. Never raises.

    >>> encode_absolute("https://example.com/a b"), encode_absolute("/a b")
    ('https://example.com/a%20b', '/a b')
    """
    if len(url) > MAX_URL_LENGTH or is_fine(url) or CONTROL.search(url):
        return url
    parts = _split(url)
    if _fault(parts):
        return url
    try:
        return _encode(parts)
    except ValueError:
        return url


def request_url(url: str) -> str:
    """Return the form in which the absolute http(s) *url* is requested: in ASCII, and without a fragment.

    Unlike :func:`resolve`, it takes a URL of any length; one that cannot be parsed raises :exc:`ValueError`.

    >>> request_url("https://bücher.example/café?q#top")
    'https://xn--bcher-kva.example/caf%C3%A9?q'
    """
    url = url.partition("#")[0]
    if len(url) <= MAX_URL_LENGTH and is_fine(url):
        return url
    if control := CONTROL.search(url):
        raise ValueError(f"URL contains the control character {control[0]!r}")
    parts = _split(url)
    if fault := _fault(parts):
        raise ValueError(fault[1])
    return _encode(parts, limit=None)


def check_start(url: str) -> None:
    """Raise :exc:`ValueError` unless *url* is one that a crawl can begin with: http or https, with a host.

    It may be written as in a browser's address bar; :func:`request_url` gives the form that is requested.
    """
    request_url(url)


def check_strict(location: str, base: str | None) -> None:
    """Raise :exc:`ValueError` unless strict mode accepts *location*.

    It has to be an absolute http(s) URL of at most 2,048 characters that holds no space, no control character and
    none of :data:`FORBIDDEN`; and, unless *base* is ``None``, it has to have the protocol, host and port of *base*,
    the absolute URL of the document. What is not in ASCII, and square brackets, are accepted.
    """
    if len(location) <= MAX_URL_LENGTH and fine_at(base)(location):
        return
    _check_strict(location, base)


def fine_at(base: str | None) -> Callable[[str], object]:
    """Return what tells, truly or falsely, of most locations that :func:`check_strict` accepts, that it does.

    Look at the length of the location first, as for :func:`is_fine`.
    """
    return is_fine if base is None else _fine_behind(re.escape(_site_of(base)))


def fine_near(base: str) -> Callable[[str], object]:
    """Return what tells the same as :func:`is_fine`, quickest of locations on the site of *base*."""
    site = _site_of(base)
    return _fine_behind(f"(?:{re.escape(site)}|{_SITE})") if is_fine(site) else is_fine


@lru_cache(maxsize=256)
def _site_of(base: str) -> str:
    """Return the way most locations in the document at *base* begin: protocol, host and port as the URL has them."""
    parts = _split(base)
    _, host, port = _split_authority(parts.authority or "")
    return f"{parts.scheme.lower()}://{host}{port}"


@lru_cache(maxsize=256)
def _fine_behind(site: str) -> Callable[[str], object]:
    # What follows is nothing or begins with / ? or #, so that no longer host is taken for this one.
    return re.compile(site + _TAIL).fullmatch


def _check_strict(location: str, base: str | None) -> None:
    if control := CONTROL.search(location):
        raise ValueError(f"strict mode: URL contains the control character {control[0]!r}")
    parts = _split(location)
    if fault := _fault(parts):
        kind, message = fault
        if kind == "relative":
            message = f"strict mode: URL {_short(location)} is not absolute"
        elif kind == "scheme":
            message = f'strict mode: unsupported scheme "{parts.scheme[:100]}"'
        raise ValueError(message)
    if SPACE in location:
        raise ValueError("strict mode: URL contains a space")
    if match := FORBIDDEN.search(location):
        raise ValueError(f"strict mode: URL contains the character '{match[0]}', which it has to give as \"{quote(match[0])}\"")
    if len(location) > MAX_URL_LENGTH:
        raise ValueError(f"strict mode: URL has {len(location)} characters, more than {MAX_URL_LENGTH}")
    # Neither does net/url look into the query.
    for part in (parts.path, parts.fragment):
        if escape := BAD_PERCENT.search(part):
            raise ValueError(f"strict mode: invalid URL escape {part[escape.start() : escape.start() + 3]!r}")
    authority = _split_authority(parts.authority or "")
    if host_message := host_fault(authority.host):
        raise ValueError(host_message)
    if base is not None:
        _check_same_site(location, authority, base)


def _check_same_site(location: str, authority: _Authority, base: str) -> None:
    scheme, host, port = origin(location)
    base_scheme, base_host, base_port = origin(base)
    if scheme != base_scheme:
        raise ValueError(f'strict mode: protocol "{scheme}" does not match sitemap protocol "{base_scheme}"')
    if host != base_host or port != base_port:
        expected = _split_authority(_split(base).authority or "")
        given = replace_surrogates(authority.host + authority.port)
        raise ValueError(f'strict mode: host "{given}" does not match sitemap host "{expected.host}{expected.port}"')


def origin(url: str) -> tuple[str, str, int | None]:
    """Return protocol, host and port of *url* in the form in which they are compared.

    Protocol and host are in lower case, the host in Punycode; the port is the default one where *url* gives none, and
    ``None`` for a protocol without one. Raises :exc:`ValueError` for a port that is no number up to 65535.

    >>> origin("HTTPS://BÜCHER.example/page")
    ('https', 'xn--bcher-kva.example', 443)
    """
    parts = _split(url)
    authority = parts.authority or ""
    # The authority is the key, not the URL: a document has many URLs and few hosts. Long ones are not worth a place.
    read = _read_authority if len(authority) <= 255 else _read_authority.__wrapped__
    host, port = read(authority)
    scheme = parts.scheme.lower()
    return scheme, host, DEFAULT_PORTS.get(scheme) if port is None else port


@lru_cache(maxsize=1024)
def _read_authority(authority: str) -> tuple[str, int | None]:
    _, host, port = _split_authority(authority)
    if message := _port_fault(port):
        raise ValueError(message)
    return ascii_host(host).lower(), int(port[1:]) if len(port) > 1 else None


def is_robots(url: str) -> bool:
    """Tell whether *url* is that of a robots.txt, by the last segment of its path, in any letter case.

    >>> is_robots("https://example.com/ROBOTS.txt?v=2"), is_robots("https://example.com/s.xml?from=/robots.txt")
    (True, False)
    """
    return _split(url).path.rpartition("/")[2].lower() == "robots.txt"


def _encode(parts: _Parts, limit: int | None = MAX_URL_LENGTH) -> str:
    """Return the absolute URL of *parts*, encoded as tolerant mode does; raise :exc:`ValueError` if it cannot be."""
    # Encoding only makes these three longer, so that what is far too long need not be encoded to know it.
    length = len(parts.path) + len(parts.query) + len(parts.fragment)
    if limit is not None and length > limit:
        raise ValueError(f"URL has {length} characters or more, more than {limit}")
    userinfo, host, port = _split_authority(parts.authority or "")
    if message := host_fault(host):
        raise ValueError(message)
    encoded = (
        f"{parts.scheme}://{_quote(_UNSAFE, userinfo)}{ascii_host(host)}{port}"
        f"{_quote(_UNSAFE, parts.path)}{_quote(_UNSAFE_QUERY, parts.query)}{_quote(_UNSAFE, parts.fragment)}"
    )
    if limit is not None and len(encoded) > limit:
        raise ValueError(f"URL has {len(encoded)} characters, more than {limit}")
    return encoded


def _quote(unsafe: re.Pattern[str], text: str) -> str:
    return unsafe.sub(_escape, text) if text else ""


def _escape(match: re.Match[str]) -> str:
    return "%" + replace_surrogates(match[0]).encode().hex("%").upper()


def _encode_ordinary(match: re.Match[str]) -> str:
    site, path, query, fragment = match.groups("")
    encoded = site + _quote(_UNSAFE, path) + _quote(_UNSAFE_QUERY, query) + _quote(_UNSAFE, fragment)
    if len(encoded) > MAX_URL_LENGTH:
        raise ValueError(f"URL has {len(encoded)} characters, more than {MAX_URL_LENGTH}")
    return encoded


def _refer(reference: _Parts, base: str) -> _Parts:
    """Return the target of a relative *reference* (RFC 3986, section 5.2.2) in the document at *base*."""
    target = _split(base)
    if reference.authority is not None:
        return reference._replace(scheme=target.scheme, path=_resolve_path("", reference.path))
    first = reference.path.partition("/")[0]
    if ":" in first:
        # RFC 3986, section 3.3: it would be taken for a scheme.
        raise ValueError(f"first path segment {_short(first)} of a relative URL contains a colon")
    return target._replace(
        path=_resolve_path(target.path, reference.path),
        query=reference.query if reference.path or reference.query else target.query,
        fragment=reference.fragment,
    )


def _resolve_path(base: str, path: str) -> str:
    """Return the path that *path* leads to from *base*, without dot segments (``resolvePath`` of Go's ``net/url``)."""
    full = path if path.startswith("/") else base[: base.rfind("/") + 1] + path if path else base
    if not full:
        return ""
    kept: list[str] = []
    segment = ""
    for segment in full.removeprefix("/").split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    resolved = "/" + "/".join(kept)
    return resolved + "/" if segment in (".", "..") and kept else resolved
