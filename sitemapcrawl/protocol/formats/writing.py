"""Records → the XML of their entries, and what stands around these.

What is handed in has been judged (:mod:`sitemapcrawl.protocol.rules.records`): here it is written down, and escaped.
An entry is one line; elements stand in the order of the schemas.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sitemapcrawl.protocol.formats.vocabulary import EXTENSION_NAMESPACES, SITEMAP_NAMESPACE

if TYPE_CHECKING:
    from sitemapcrawl.protocol.records import Alternate, Image, News, Page, SitemapEntry, Video

# Which extensions an entry uses, as a set of bits: that is all that is remembered of it.
IMAGE, NEWS, VIDEO, XHTML = 1, 2, 4, 8
_BITS = {"image": IMAGE, "news": NEWS, "video": VIDEO, "xhtml": XHTML}

_SPECIAL = re.compile("[&<>\r]")
_SPECIAL_IN_ATTRIBUTE = re.compile('[&<>"\r\n\t]')
# A reader turns carriage returns into line feeds, and in an attribute each white space into a space, unless they are escaped.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


_IMAGE_FIELDS = ("loc", "caption", "geo_location", "title", "license")
_VIDEO_FIELDS = (  # those before <video:tag>
    "thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "expiration_date", "rating",
    "view_count", "publication_date",
)  # fmt: skip


def escape(text: str) -> str:
    """Return *text* as it stands in an element.

    >>> escape("Tom & Jerry's <3")
    "Tom &amp; Jerry's &lt;3"
    """
    return _SPECIAL.sub(_escaped, text)


def escape_attribute(text: str) -> str:
    """Return *text* as it stands between the quotation marks of an attribute."""
    return _SPECIAL_IN_ATTRIBUTE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPES[match[0]]


def decimal(number: float) -> str:
    """Return *number* in digits, all that it takes to read the same one back, and never with an exponent.

    >>> decimal(0.5), decimal(1e-07)
    ('0.5', '0.0000001')
    """
    text = repr(float(number))
    return f"{Decimal(text):f}" if "e" in text else text


def head(kind: str, extensions: int = 0, stylesheet: str | None = None) -> str:
    """Return what stands before the entries of a ``urlset`` or ``sitemapindex`` that uses these *extensions* (bits)."""
    declared = "".join(
        f' xmlns:{prefix}="{namespace}"' for namespace, prefix in EXTENSION_NAMESPACES.items() if extensions & _BITS[prefix]
    )
    return f'{_prolog(stylesheet)}<{kind} xmlns="{SITEMAP_NAMESPACE}"{declared}>\n'


def tail(kind: str) -> str:
    """Return what stands after the entries."""
    return f"</{kind}>\n"


def empty(kind: str, stylesheet: str | None = None) -> str:
    """Return a whole document without entries."""
    return f'{_prolog(stylesheet)}<{kind} xmlns="{SITEMAP_NAMESPACE}"/>\n'


def _prolog(stylesheet: str | None) -> str:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    if stylesheet is None:
        return declaration
    # https://www.w3.org/TR/xml-stylesheet/: a reference in a pseudo-attribute is resolved as in an attribute.
    return f'{declaration}<?xml-stylesheet type="text/xsl" href="{escape_attribute(stylesheet)}"?>\n'


def extensions_of(page: Page) -> int:
    """Return which extensions *page* uses, as bits."""
    return (
        (IMAGE if page.images else 0)
        | (NEWS if page.news is not None else 0)
        | (VIDEO if page.videos else 0)
        | (XHTML if page.alternates else 0)
    )


def url_entry(page: Page) -> str:
    """Return the ``<url>`` of *page*."""
    parts = [f"<url><loc>{escape(page.loc)}</loc>", _date_element(page.lastmod)]
    if page.changefreq is not None:
        parts.append(f"<changefreq>{page.changefreq}</changefreq>")
    if page.priority is not None:
        parts.append(f"<priority>{decimal(page.priority)}</priority>")
    parts += map(_link, page.alternates)
    if page.news is not None:
        parts.append(_news(page.news))
    parts += map(_image, page.images)
    parts += map(_video, page.videos)
    parts.append("</url>\n")
    return "".join(parts)


def sitemap_entry(entry: SitemapEntry) -> str:
    """Return the ``<sitemap>`` of *entry*."""
    return f"<sitemap><loc>{escape(entry.loc)}</loc>{_date_element(entry.lastmod)}</sitemap>\n"


def _date_element(text: str | None) -> str:
    return "" if text is None else f"<lastmod>{text}</lastmod>"


def _element(name: str, value: Any, attribute: str = "") -> str:
    if value is None:
        return ""
    text = escape(value) if isinstance(value, str) else decimal(value) if isinstance(value, float) else str(value)
    return f"<{name}{attribute}>{text}</{name}>"


def _attribute(name: str, value: str | None) -> str:
    return "" if value is None else f' {name}="{escape_attribute(value)}"'


def _link(link: Alternate) -> str:
    attributes = f"{_attribute('rel', link.rel)}{_attribute('hreflang', link.hreflang)}{_attribute('href', link.href)}"
    return f"<xhtml:link{attributes}/>"


def _image(image: Image) -> str:
    values = [_element(f"image:{name}", getattr(image, name)) for name in _IMAGE_FIELDS]
    return f"<image:image>{''.join(values)}</image:image>"


def _news(news: News) -> str:
    publication = news.publication
    named = "" if publication is None else (
        f"<news:publication>{_element('news:name', publication.name)}"
        f"{_element('news:language', publication.language)}</news:publication>"
    )  # fmt: skip
    return (
        f"<news:news>{named}{_element('news:publication_date', news.publication_date)}"
        f"{_element('news:title', news.title)}</news:news>"
    )


def _video(video: Video) -> str:
    parts = [_element(f"video:{name}", getattr(video, name)) for name in _VIDEO_FIELDS]
    parts += [_element("video:tag", tag) for tag in video.tags]
    parts.append(_element("video:family_friendly", video.family_friendly))
    if (restriction := video.restriction) is not None:
        parts.append(_element("video:restriction", restriction.value, _attribute("relationship", restriction.relationship)))
    parts.append(_element("video:requires_subscription", video.requires_subscription))
    if (uploader := video.uploader) is not None:
        parts.append(_element("video:uploader", uploader.value or "", _attribute("info", uploader.info)))
    if (platform := video.platform) is not None:
        parts.append(_element("video:platform", platform.value, _attribute("relationship", platform.relationship)))
    parts.append(_element("video:live", video.live))
    return f"<video:video>{''.join(parts)}</video:video>"
