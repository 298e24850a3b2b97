"""Raw entries: what a document says about a page or a sitemap, before anything is judged.

Texts are without the white space around them. ``None`` is an element that is not there, ``""`` one that is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

# An entry of a urlset that holds one loc and at most a lastmod, a changefreq and a priority, in this order: most of them
# do. The first text is all of it, as it is written. What is not there is "", and what is empty too, except for the priority.
PlainEntry = tuple[str, str, str, str, str]


@dataclass(slots=True)
class RawEntry:
    """Any entry of a urlset or a sitemap index. ``extensions`` holds what extensions say, in the order of the document.

    ``unclear`` holds locations with an element in them that has no business there: ``http://x/?a<b`` looks like that.
    """

    locs: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    extensions: list[RawExtension] = field(default_factory=list)


class RawExtension(NamedTuple):
    """One image, news, video or alternate. ``values`` maps names of the extension to texts.

    Of a video, ``tag`` is a list, and ``restriction``, ``platform`` and ``uploader`` are a pair of an attribute's
    value and the text; of a news entry ``publication`` is a dictionary.
    """

    kind: str
    values: dict[str, Any]


class FeedEntry(NamedTuple):
    """An item of a feed: its link, and its date with the name of the element that gave it.

    The link is unclear if there is an element in it that has no business there.
    """

    link: str | None
    date: str | None
    date_element: str
    is_unclear: bool = False


class RawLocation(NamedTuple):
    """A line of a text sitemap or a ``Sitemap:`` line of a robots.txt."""

    loc: str
