"""What a record has to be like for a sitemap to hold it: records → the records that are written, and what was wrong.

The strict rules of reading, and beyond them what no reader refuses and every validator reports: an address has to be in
ASCII, a video has to have a title, ``en-UK`` is no language and region. Whatever passes is read back as it is, by both
modes, and breaks no rule of the protocol, of XML or of an extension.

Next door in ``entries`` and ``extensions`` are the rules of reading, in ``values`` those of single values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote as percent_encode
from urllib.parse import urlsplit

from sitemapcrawl.protocol import dates, limits, urls
from sitemapcrawl.protocol.codes import LANGUAGES, REGIONS
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, Publication, Relation, SitemapEntry, Uploader, Video
from sitemapcrawl.protocol.rules.values import CHANGEFREQS, parse_decimal, parse_whole, quote

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# Everything but the Char of XML 1.0, section 2.2. Python's strings may hold lone surrogates; UTF-8 has no bytes for them.
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_DIGITS = 18  # of a whole number, as the reader has it
_HREFLANG = re.compile(r"([a-z]{2})(?:-[a-z]{4})?(?:-([a-z]{2}))?", re.IGNORECASE | re.ASCII)
_THREE_LETTERS = re.compile(r"[a-z]{3}", re.ASCII)
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")
_YES_NO = frozenset({"yes", "Yes", "YES", "no", "No", "NO"})
_PLATFORMS = frozenset({"web", "mobile", "tv"})


class RecordRules:
    """Judges records that are to be written.

    *base* is the address at which the sitemap will be: pages have to be on its host and in its directory or below, unless
    they may be anywhere (``None``). With *encode*, what an address may not hold is percent-encoded, as tolerant reading
    does; without, such an address is refused.
    """

    def __init__(self, base: str | None = None, *, encode: bool = False) -> None:
        self.base = base
        self.encode = encode
        self._directory = ""
        if base is not None:
            self._directory = urlsplit(base).path.rpartition("/")[0] + "/"

    def page(self, record: Any, faults: list[str] | None = None) -> Page:
        """Return the page to be written for *record*: a page, or whatever has its fields, as keys or as attributes.

        Raises :exc:`ValueError` for what may not be written, naming value and rule. With *faults* only a location that is
        refused does: any other value is left out, and what is wrong with it is added to the list.
        """
        return _Judge(self, _getter(record), faults).page()

    def sitemap(self, record: Any, faults: list[str] | None = None) -> SitemapEntry:
        """Return the entry of a sitemap index to be written for *record*, as :meth:`page` does."""
        return _Judge(self, _getter(record), faults).sitemap()

    def location(self, value: Any) -> str:
        """Return the location that is written for *value*; raise :exc:`ValueError` if none is."""
        loc = self.url("<loc>", value, self.base)
        if len(self._directory) > 1 and not (urlsplit(loc).path or "/").startswith(self._directory):
            raise ValueError(f"<loc> {quote(loc)} is not in the directory of the sitemap, {self._directory}, nor below it")
        return loc

    def url(self, what: str, value: Any, base: str | None = None) -> str:
        """Return the address that is written for *value*; raise :exc:`ValueError` if none is."""
        if value is None or value == "":
            raise ValueError(f"{what} is empty or missing")
        if not isinstance(value, str):
            raise ValueError(f"{what} is {value!r}, it has to be text")
        if len(value) <= limits.MAX_URL_LENGTH and urls.fine_at(base)(value):
            return value
        url = _encoded(value.strip()) if self.encode else value
        try:
            urls.check_strict(url, base)
            _check_characters(url)
        except ValueError as problem:
            raise ValueError(f"{what} {quote(value)} is refused: {str(problem).removeprefix('strict mode: ')}") from None
        return url


def _encoded(url: str) -> str:
    """Return *url* percent-encoded, its query too: that is left as it is by tolerant reading, and holds no ``|`` by RFC 3986."""
    url = urls.encode_absolute(url)
    if urls.CONTROL.search(url):
        return url
    start = url.find("?")
    query = urls.BAD_PERCENT.sub("%25", urls.FORBIDDEN.sub(lambda match: percent_encode(match[0]), url[start:]))
    return url if start < 0 else url[:start] + query


def _check_characters(url: str) -> None:
    """Raise for what strict reading lets pass and RFC 3986 does not."""
    for fault in urls.character_faults(url):
        if fault == "non-ascii":
            found = urls.NON_ASCII.findall(url)[0]
            raise ValueError(f"URL contains {found!r}, which it has to give in ASCII ({percent_encode(found, errors='replace')})")
        if fault == "percent":
            raise ValueError("URL contains a % without two hexadecimal digits after it")
        raise ValueError(f"URL breaks the rule {fault!r}")


def _getter(record: Any) -> Callable[[str], Any]:
    return record.get if isinstance(record, Mapping) else lambda name: getattr(record, name, None)


class _Judge:
    """One record on its way to what is written of it."""

    def __init__(self, rules: RecordRules, get: Callable[[str], Any], faults: list[str] | None) -> None:
        self._rules = rules
        self._get = get
        self._faults = faults
        self._loc = ""

    def page(self) -> Page:
        get, attempt = self._get, self._attempt
        self._loc = loc = self._rules.location(get("loc"))
        return Page(
            loc,
            lastmod=attempt(self._date, "<lastmod>", get("lastmod")),
            changefreq=attempt(self._changefreq, get("changefreq")),
            priority=attempt(self._decimal, "<priority>", get("priority"), limits.MIN_PRIORITY, limits.MAX_PRIORITY),
            images=self._images(_several(get("images"))),
            news=attempt(self._news, get("news")),
            videos=self._each(self._video, _several(get("videos"))),
            alternates=self._each(self._alternate, _several(get("alternates"))),
        )

    def sitemap(self) -> SitemapEntry:
        for name in ("changefreq", "priority", "images", "news", "videos", "alternates"):
            if self._get(name) not in (None, "", (), []):
                self._fault(f"an entry of a sitemap index has no {name}")
        loc = self._rules.location(self._get("loc"))
        return SitemapEntry(loc, lastmod=self._attempt(self._date, "<lastmod>", self._get("lastmod")))

    # -- What is wrong

    def _fault(self, message: str) -> None:
        if self._faults is None:
            raise ValueError(message)
        self._faults.append(message)

    def _attempt(self, read: Callable[..., T], *arguments: Any) -> T | None:
        """Return what *read* makes of a value, which is left out if it is refused and faults are collected."""
        if self._faults is None:
            return read(*arguments)
        try:
            return read(*arguments)
        except ValueError as problem:
            self._faults.append(str(problem))
            return None

    def _each(self, read: Callable[[Any], T], values: Iterable[Any]) -> Any:
        found = [record for value in values if (record := self._attempt(read, value)) is not None]
        return found or ()

    # -- Single values

    def _text(self, what: str, value: Any) -> str | None:
        """Return a text without the white space around it, none where nothing is left.

        Where faults are collected, characters that XML cannot hold are dropped; they cost no more than themselves.
        """
        if value is None:
            return None
        if not isinstance(value, str):
            raise ValueError(f"{what} is {value!r}, it has to be text")
        if found := NO_XML.search(value):
            self._fault(f"{what} {quote(value)} contains {found[0]!r}, which XML cannot hold")
            value = NO_XML.sub("", value)
        return value.strip() or None

    def _date(self, what: str, value: Any, *, with_day: bool = False) -> str | None:
        if value is None or value == "":
            return None
        try:
            if isinstance(value, str):
                text = dates.parse_w3c(value.strip())
            elif isinstance(value, date):
                text = dates.from_datetime(value)
            else:
                raise ValueError(f"{value!r} is neither text nor a date")
        except ValueError as problem:
            raise ValueError(f"{what} is refused: {problem}") from None
        if with_day and len(text) < len("YYYY-MM-DD"):
            raise ValueError(f"{what} is {text!r}, it has to have a day")
        return text

    def _changefreq(self, value: Any) -> str | None:
        text = self._text("<changefreq>", value)
        if text is None or text in CHANGEFREQS:
            return text
        raise ValueError(f"<changefreq> is {quote(text)}, it has to be one of {', '.join(limits.CHANGE_FREQUENCIES)}")

    def _decimal(self, what: str, value: Any, least: float, most: float) -> float | None:
        if value is None or value == "":
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
                raise ValueError
            number = parse_decimal(value.strip()) if isinstance(value, str) else float(value)
        except (ValueError, OverflowError):
            raise ValueError(f"{what} is {_short(value)}, it has to be a number") from None
        if not least <= number <= most:  # NaN is not either
            raise ValueError(f"{what} is {_short(value)}, it has to be from {least} to {most}")
        return number + 0.0  # -0.0 becomes 0.0

    def _whole(self, what: str, value: Any, least: int, most: int) -> int | None:
        if value is None or value == "":
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise ValueError
            number = parse_whole(value.strip()) if isinstance(value, str) else int(value)
            if number != value and not isinstance(value, str):
                raise ValueError
        except (ValueError, OverflowError):
            raise ValueError(f"{what} is {_short(value)}, it has to be a whole number") from None
        if not least <= number <= most:
            raise ValueError(f"{what} is {_short(value)}, it has to be from {least:,} to {most:,}")
        return number

    def _url(self, what: str, value: Any) -> str | None:
        return None if value is None or value == "" else self._rules.url(what, value)

    def _required(self, what: str, value: Any) -> str:
        text = self._text(what, value)
        if text is None:
            raise ValueError(f"{what} is empty or missing")
        return text

    # -- Extensions

    def _images(self, values: Iterable[Any]) -> Any:
        images = self._each(self._image, values)
        if len(images) > limits.MAX_IMAGES:
            self._fault(f"the page has {len(images):,} images, at most {limits.MAX_IMAGES:,} are allowed")
            images = images[: limits.MAX_IMAGES]
        return images

    def _image(self, value: Any) -> Image:
        if isinstance(value, str):
            return Image(self._rules.url("<image:loc>", value))
        get, attempt = _getter(value), self._attempt
        # What Scrapy's ImagesPipeline puts into the field "images" has a "url".
        return Image(
            self._rules.url("<image:loc>", get("loc") or get("url")),
            title=attempt(self._text, "<image:title>", get("title")),
            caption=attempt(self._text, "<image:caption>", get("caption")),
            geo_location=attempt(self._text, "<image:geo_location>", get("geo_location")),
            license=attempt(self._url, "<image:license>", get("license")),
        )

    def _news(self, value: Any) -> News | None:
        if value in (None, "", {}):
            return None
        get = _getter(value)
        publication = _getter(get("publication") or {})
        name = self._required("<news:name>", publication("name"))
        language = self._required("<news:language>", publication("language"))
        code = language.lower() if language.isascii() else ""
        if code not in LANGUAGES and code not in ("zh-cn", "zh-tw") and not _THREE_LETTERS.fullmatch(code):
            raise ValueError(f"<news:language> is {quote(language)}, it has to be a code of ISO 639, zh-cn or zh-tw")
        published = self._date("<news:publication_date>", get("publication_date"), with_day=True)
        if published is None:
            raise ValueError("<news:publication_date> is empty or missing")
        return News(Publication(name, language), published, self._required("<news:title>", get("title")))

    def _alternate(self, value: Any) -> Alternate:
        get = _getter(value)
        href = self._rules.url("href of an alternate", get("href"))
        rel = get("rel") or "alternate"
        if rel != "alternate":
            raise ValueError(f"rel of the alternate {href} is {rel!r}, it has to be 'alternate'")
        hreflang = self._required(f"hreflang of the alternate {href}", get("hreflang"))
        match = _HREFLANG.fullmatch(hreflang)
        if hreflang.lower() != "x-default" and not (
            match and match[1].lower() in LANGUAGES and (match[2] is None or match[2].upper() in REGIONS)
        ):
            raise ValueError(
                f"hreflang of the alternate {href} is {quote(hreflang)}, it has to be x-default or a language of ISO 639-1, "
                "which a script and a region of ISO 3166-1 may follow"
            )
        return Alternate(rel, hreflang, href)

    def _video(self, value: Any) -> Video:
        get, attempt = _getter(value), self._attempt
        most = 10**_MOST_DIGITS - 1
        video = Video(
            self._rules.url("<video:thumbnail_loc>", get("thumbnail_loc")),
            title=self._required("<video:title>", get("title")),
            description=self._at_most("<video:description>", get("description"), limits.MAX_VIDEO_DESCRIPTION),
            content_loc=attempt(self._content, "<video:content_loc>", get("content_loc")),
            player_loc=attempt(self._content, "<video:player_loc>", get("player_loc")),
            duration=attempt(
                self._whole, "<video:duration>", get("duration"), limits.MIN_VIDEO_DURATION, limits.MAX_VIDEO_DURATION
            ),
            expiration_date=attempt(self._day, "<video:expiration_date>", get("expiration_date")),
            rating=attempt(self._decimal, "<video:rating>", get("rating"), limits.MIN_VIDEO_RATING, limits.MAX_VIDEO_RATING),
            view_count=attempt(self._whole, "<video:view_count>", get("view_count"), 0, most),
            publication_date=attempt(self._day, "<video:publication_date>", get("publication_date")),
            family_friendly=attempt(self._yes_no, "<video:family_friendly>", get("family_friendly")),
            restriction=attempt(self._relation, "<video:restriction>", get("restriction"), _is_region, "codes of ISO 3166-1"),
            platform=attempt(self._relation, "<video:platform>", get("platform"), _PLATFORMS.__contains__, "web, mobile, tv"),
            requires_subscription=attempt(self._yes_no, "<video:requires_subscription>", get("requires_subscription")),
            uploader=attempt(self._uploader, get("uploader")),
            live=attempt(self._yes_no, "<video:live>", get("live")),
            tags=self._each(self._tag, _several(get("tags"))),
        )
        if video.description is None:
            raise ValueError("<video:description> is empty or missing")
        if video.content_loc is None and video.player_loc is None:
            raise ValueError(f"the video {quote(video.title or '')} has neither a <video:content_loc> nor a <video:player_loc>")
        if len(video.tags) > limits.MAX_VIDEO_TAGS:
            self._fault(f"the video has {len(video.tags)} tags, at most {limits.MAX_VIDEO_TAGS} are allowed")
            video.tags = video.tags[: limits.MAX_VIDEO_TAGS]
        return video

    def _tag(self, value: Any) -> str | None:
        return self._text("<video:tag>", value)

    def _day(self, what: str, value: Any) -> str | None:
        return self._date(what, value, with_day=True)

    def _at_most(self, what: str, value: Any, most: int) -> str | None:
        text = self._text(what, value)
        if text is not None and len(text) > most:
            raise ValueError(f"{what} has {len(text):,} characters, at most {most:,} are allowed")
        return text

    def _content(self, what: str, value: Any) -> str | None:
        url = self._url(what, value)
        if url is not None and url == self._loc:
            raise ValueError(f"{what} is the address of the page itself, {quote(url)}")
        return url

    def _yes_no(self, what: str, value: Any) -> str | None:
        if isinstance(value, bool):
            return "yes" if value else "no"
        text = self._text(what, value)
        if text is not None and text not in _YES_NO:
            raise ValueError(f"{what} is {quote(text)}, it has to be yes or no")
        return text

    def _relation(self, what: str, value: Any, is_known: Callable[[str], bool], expected: str) -> Relation | None:
        if value is None or value == "":
            return None
        get = _getter(value)
        relationship = self._text(f"relationship of {what}", get("relationship"))
        if relationship not in ("allow", "deny"):
            raise ValueError(f"relationship of {what} is {relationship!r}, it has to be allow or deny")
        text = self._required(what, get("value"))
        for word in _WHITE_SPACE.split(text):
            if not is_known(word):
                raise ValueError(f"{what} holds {quote(word)}, it has to hold {expected}, with white space between")
        return Relation(relationship, text)

    def _uploader(self, value: Any) -> Uploader | None:
        if value is None or value == "":
            return None
        get = _getter(value)
        name = self._at_most("<video:uploader>", get("value"), limits.MAX_VIDEO_UPLOADER)
        info = self._attempt(self._info, get("info"))
        return Uploader(info, name) if info or name else None

    def _info(self, value: Any) -> str | None:
        url = self._url("info of <video:uploader>", value)
        if url is not None:
            one, other = urls.origin(url)[1], urls.origin(self._loc)[1]
            if one != other and not one.endswith(f".{other}") and not other.endswith(f".{one}"):
                raise ValueError(f"info of <video:uploader> {quote(url)} is not on the domain of the page, {other}")
        return url


def _is_region(word: str) -> bool:
    return word.isascii() and word.upper() in REGIONS


def _several(value: Any) -> Iterable[Any]:
    """Return *value*, one thing or several, as several; nothing as none."""
    if value is None or value == "":
        return ()
    return value if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)) else [value]


def _short(value: Any) -> str:
    return quote(value) if isinstance(value, str) else repr(value)
