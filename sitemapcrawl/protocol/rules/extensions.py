"""What images, news, videos and alternates are worth.

Tolerant mode asks no more than that the URL is there by which one is known; strict mode checks what the specification
names, and leaves out an image, a video or an alternate whose URL is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapcrawl.protocol import urls
from sitemapcrawl.protocol.limits import MAX_URL_LENGTH, MAX_VIDEO_DURATION, MAX_VIDEO_RATING, MAX_VIDEO_TAGS
from sitemapcrawl.protocol.records import Alternate, Image, News, Publication, Relation, Uploader, Video

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapcrawl.protocol.formats.raw import RawExtension
    from sitemapcrawl.protocol.rules.values import ValueReader

Extensions = dict[str, Any]


def read_extensions(raw: Iterable[RawExtension], reader: ValueReader, *, strict: bool) -> Extensions:
    """Return the fields of a :class:`~sitemapcrawl.protocol.records.Page` that *raw* fills."""
    rules = _ExtensionRules(reader, strict=strict)
    images: list[Image] = []
    videos: list[Video] = []
    alternates: list[Alternate] = []
    fields: Extensions = {}
    for kind, values in raw:
        if kind == "alternate":
            if alternate := rules.alternate(values):
                alternates.append(alternate)
        elif kind == "image":
            if image := rules.image(values):
                images.append(image)
        elif kind == "video":
            if video := rules.video(values):
                videos.append(video)
        elif "news" not in fields:  # an entry has one; the first counts
            fields["news"] = rules.news(values)
    for name, found in (("images", images), ("videos", videos), ("alternates", alternates)):
        if found:
            fields[name] = found
    return fields


class _ExtensionRules:
    def __init__(self, reader: ValueReader, *, strict: bool) -> None:
        self._reader = reader
        self._strict = strict

    def image(self, values: dict[str, Any]) -> Image | None:
        loc = self._primary("image <loc>", values.get("loc"))
        if loc is None:
            return None
        return Image(
            loc,
            title=values.get("title") or None,
            caption=values.get("caption") or None,
            geo_location=values.get("geo_location") or None,
            license=self._other("image <license>", values.get("license")),
        )

    def alternate(self, values: dict[str, Any]) -> Alternate | None:
        href = self._primary("alternate href", values["href"])
        if href is None:
            return None
        rel, hreflang = values["rel"], values["hreflang"]
        if self._strict and rel != "alternate":
            self._reader.fault(f"strict mode: rel of an alternate link is {rel!r}, it has to be 'alternate'", href)
            return None
        if self._strict and not hreflang:
            self._reader.fault("strict mode: hreflang of an alternate link is empty or missing", href)
            return None
        return Alternate(rel or None, hreflang or None, href)

    def news(self, values: dict[str, Any]) -> News:
        reader = self._reader
        publication = values.get("publication") or {}
        name, language, title = publication.get("name"), publication.get("language"), values.get("title")
        if self._strict:
            required = {"title": title, "name": name, "language": language, "publication_date": values.get("publication_date")}
            for element, text in required.items():
                if not text:
                    reader.fault(f"strict mode: news <{element}> is empty or missing")
        return News(
            publication=Publication(name or None, language or None) if name or language else None,
            publication_date=reader.date("news:publication_date", values.get("publication_date")),
            title=title or None,
        )

    def video(self, values: dict[str, Any]) -> Video | None:
        reader = self._reader
        thumbnail_loc = self._primary("video <thumbnail_loc>", values.get("thumbnail_loc"))
        if thumbnail_loc is None:
            return None
        if self._strict:
            self._check_video(values)
        uploader = values.get("uploader")
        tags = [tag for tag in values.get("tag", ()) if tag]
        video = Video(
            thumbnail_loc,
            title=values.get("title") or None,
            description=values.get("description") or None,
            content_loc=self._other("video <content_loc>", values.get("content_loc")),
            player_loc=self._other("video <player_loc>", values.get("player_loc")),
            duration=reader.whole("video:duration", values.get("duration")),
            expiration_date=reader.date("video:expiration_date", values.get("expiration_date")),
            rating=reader.decimal("video:rating", values.get("rating")),
            view_count=reader.whole("video:view_count", values.get("view_count")),
            publication_date=reader.date("video:publication_date", values.get("publication_date")),
            family_friendly=values.get("family_friendly") or None,
            restriction=_relation(values.get("restriction")),
            platform=_relation(values.get("platform")),
            requires_subscription=values.get("requires_subscription") or None,
            uploader=None,
            live=values.get("live") or None,
            tags=tags or (),
        )
        if uploader and any(uploader):
            video.uploader = Uploader(self._other("video <uploader> info", uploader[0]), uploader[1] or None)
        if self._strict:
            self._check_range("duration", values, video.duration, 1, MAX_VIDEO_DURATION)
            self._check_range("rating", values, video.rating, 0.0, MAX_VIDEO_RATING)
            if len(tags) > MAX_VIDEO_TAGS:
                reader.fault(f"strict mode: video has {len(tags)} <tag> elements, at most {MAX_VIDEO_TAGS} are allowed")
        return video

    def _check_video(self, values: dict[str, Any]) -> None:
        for element in ("title", "description"):
            if not values.get(element):
                self._reader.fault(f"strict mode: video <{element}> is empty or missing")
        if not values.get("content_loc") and not values.get("player_loc"):
            self._reader.fault("strict mode: video has neither a <content_loc> nor a <player_loc>")

    def _check_range(self, element: str, values: dict[str, Any], value: float | None, least: float, most: float) -> None:
        if value is not None and not least <= value <= most:
            given = values[element] or value  # an empty one reads as 0
            self._reader.fault(f"strict mode: video <{element}> is {given}, it has to be from {least} to {most}")

    def _primary(self, what: str, url: str | None) -> str | None:
        """Return the URL by which an image, a video or an alternate is known, or none if it is left out over it."""
        if not url:
            if self._strict:
                self._reader.fault(f"strict mode: {what} is empty or missing")
            return None
        if self._strict:
            try:
                urls.check_strict(url, None)
            except ValueError as problem:
                self._reader.fault(str(problem), url)
                return None
            return url
        if len(url) > MAX_URL_LENGTH:
            self._reader.fault(f"{what} has {len(url):,} characters, more than {MAX_URL_LENGTH:,}", url)
            return None
        return urls.encode_absolute(url)

    def _other(self, what: str, url: str | None) -> str | None:
        """Return a URL that need not be given. In strict mode one that is none is reported, and returned all the same."""
        if not url:
            return None
        if not self._strict:
            return urls.encode_absolute(url)
        try:
            urls.check_strict(url, None)
        except ValueError as problem:
            self._reader.fault(f"{what}: {problem}", url)
        return url


def _relation(pair: Sequence[str] | None) -> Relation | None:
    return Relation(pair[0] or None, pair[1] or None) if pair and any(pair) else None
