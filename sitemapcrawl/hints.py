"""What somebody may have meant who wrote something that is wrong; a hint is the end of a message, or nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from sitemapcrawl.protocol.urls import is_robots, structure_fault

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEVERAL = re.compile(r"(?:,|\s)\s*https?://", re.IGNORECASE)
# A host with a dot, of which the last part is no number and no ending of a file; or this machine.
_HOST = re.compile(
    r"(?:localhost|(?:[\w-]+\.)+(?!(?:xml|txt|gz|rss|atom)\b)[^\W\d_][\w-]+)(?::[0-9]+)?(?:[/?#]|$)", re.IGNORECASE
)


def close_name(name: str, names: Iterable[str]) -> str:
    """Return a hint at the one of *names* that is most like *name*.

    >>> close_name("max_url", ["max_urls", "url"])
    '; did you mean max_urls?'
    """
    from difflib import get_close_matches  # where all names are right, nobody needs it

    found = get_close_matches(name, names, 1)
    return f"; did you mean {found[0]}?" if found else ""


def with_protocol(text: str) -> str:
    """Return a hint at the URL that *text* is but for its ``https://``.

    >>> with_protocol("example.com/sitemap.xml"), with_protocol("sitemap.xml"), with_protocol("not a url")
    ("; did you mean 'https://example.com/sitemap.xml'?", '', '')
    """
    if not _HOST.match(text) or re.search(r"\s", text) or structure_fault(f"https://{text}") is not None:
        return ""
    return f"; did you mean 'https://{text}'?"


def about_start(start: str) -> str:
    """Return a hint at what is wrong with a start that is none, or leads to nothing.

    >>> about_start("https://example.com/,https://example.org/")
    '; several starts are given as url=["URL", "URL"], or one a line in a urls_file'
    >>> about_start("[https://example.com/]")
    '; a JSON array has its URLs in double quotes: url=["URL", "URL"]'
    """
    if start.lstrip().startswith("["):
        return '; a JSON array has its URLs in double quotes: url=["URL", "URL"]'
    if _SEVERAL.search(start):
        return '; several starts are given as url=["URL", "URL"], or one a line in a urls_file'
    # "example.com:8080/" has a scheme, by the letter.
    return with_protocol(start) if structure_fault(start) in {"relative", "scheme"} else ""


def about_page(url: str, message: str) -> str:
    """Return a hint at the robots.txt of the site where the start at *url* turned out to be a web page."""
    if "an HTML page" not in message or is_robots(url):
        return ""
    return f"; sitemaps of a site are listed in its robots.txt: try {urljoin(url, '/robots.txt')!r}"
