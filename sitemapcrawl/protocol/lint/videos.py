"""The rules of videos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sitemapcrawl.protocol.codes import REGIONS
from sitemapcrawl.protocol.dates import end_of
from sitemapcrawl.protocol.limits import (
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_DURATION,
    MAX_VIDEO_RATING,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_UPLOADER,
    MIN_VIDEO_DURATION,
    MIN_VIDEO_RATING,
)
from sitemapcrawl.protocol.lint.addresses import host_of, problem_of
from sitemapcrawl.protocol.lint.context import WHITE_SPACE, attribute_of, value_of
from sitemapcrawl.protocol.lint.extensions import Extension
from sitemapcrawl.protocol.lint.values import date_problem, is_date, is_decimal, is_whole, is_whole_within, is_within
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapcrawl.protocol.markup import Element

_REQUIRED: Final = (
    ("thumbnail_loc", "video-thumbnail-missing", "the address of a thumbnail"),
    ("title", "video-title-missing", "the title of the video"),
    ("description", "video-description-missing", "a description of the video"),
)
_LOCATIONS: Final = ("content_loc", "player_loc")
_YES_NO: Final = frozenset({"yes", "Yes", "YES", "no", "No", "NO"})
_PLATFORMS: Final = frozenset({"web", "mobile", "tv"})
_DEPRECATED: Final = ("category", "gallery_loc", "price", "tvshow")
_DEPRECATED_ATTRIBUTES: Final = ("allow_embed", "autoplay")


class Videos(Extension):
    """The rules of ``video:video``."""

    prefix = "video"

    def check(self, video: Element, page: str, unclosed: Sequence[Element] | None = None) -> None:
        """Check *video*, which an entry with the address *page* (``""`` for none) holds."""
        is_closed = unclosed is None
        found = self._tags(video, "video")
        for tag, rule, what in _REQUIRED:
            self._required(video, found, tag, rule, what, is_closed=is_closed)
        if is_closed and not any(value_of(element) for tag in _LOCATIONS for element in found.get(tag, ())):
            message = "The <video:video> has neither a <video:content_loc> nor a <video:player_loc>, expected one of them"
            self._add(video.offset, "video-location-missing", message, None)
        self._check_addresses(found, page)
        self._check_numbers(found)
        self._check_dates(found)
        self._check_words(found)
        for element, text in self._values(found, "description"):
            self._check_length(element, text, MAX_VIDEO_DESCRIPTION, "video-description-too-long", "description")
        for element, text in self._values(found, "uploader"):
            self._check_length(element, text, MAX_VIDEO_UPLOADER, "video-uploader-too-long", "name of the uploader")
            self._check_info(element, page)
        tags = found.get("tag", [])
        if len(tags) > MAX_VIDEO_TAGS:
            message = f"The <video:video> has {len(tags):,} <video:tag>, expected {MAX_VIDEO_TAGS} at most"
            self._add(tags[MAX_VIDEO_TAGS].offset, "video-too-many-tags", message, None)
        self._deprecated(found, _DEPRECATED, "video-deprecated", "has been without effect since 2022")
        for element in found.get("player_loc", ()):
            for name in _DEPRECATED_ATTRIBUTES:
                if (value := attribute_of(element, name)) is not None:
                    message = f"The attribute {name} of <video:player_loc> has been without effect since 2022"
                    self._add(element.offset, "video-deprecated", message, value)
                    break
        if unclosed:
            self._context.strays(unclosed[0], f"video:{unclosed[0].name}")

    def _values(self, found: dict[str, list[Element]], *tags: str) -> Iterator[tuple[Element, str]]:
        for tag in tags:
            for element in found.get(tag, ()):
                yield element, value_of(element)

    def _check_addresses(self, found: dict[str, list[Element]], page: str) -> None:
        for element in found.get("thumbnail_loc", ()):
            self._address(element, "video-url", "video:thumbnail_loc")
        for element, address in self._values(found, *_LOCATIONS):
            self._address(element, "video-url", f"video:{element.name}")
            if page and address == page:
                message = f"The address {quote(address)} of <video:{element.name}> is that of the page, not that of the video"
                self._add(element.offset, "video-location-is-page", message, address)

    def _check_info(self, uploader: Element, page: str) -> None:
        info = attribute_of(uploader, "info")
        if not info:
            return
        shown = quote(info)
        if problem := problem_of(info):
            self._add(uploader.offset, "video-url", f"The address {shown} in the info of <video:uploader> {problem}", info)
            return
        host, expected = host_of(info), host_of(page)
        if host is None or expected is None or host == expected:
            return
        if not host.endswith(f".{expected}") and not expected.endswith(f".{host}"):
            message = f"The address {shown} in the info of <video:uploader> is on another host than the page, {expected[:100]!r}"
            self._add(uploader.offset, "video-uploader-info", message, info)

    def _check_numbers(self, found: dict[str, list[Element]]) -> None:
        add = self._add
        for element, text in self._values(found, "duration"):
            shown = f"The duration {quote(text)}"
            limits = f"expected {MIN_VIDEO_DURATION} to {MAX_VIDEO_DURATION:,} seconds"
            if not is_whole(text):
                add(element.offset, "video-duration-format", f"{shown} is no whole number of digits alone, {limits}", text)
            elif not is_whole_within(text, MIN_VIDEO_DURATION, MAX_VIDEO_DURATION):
                add(element.offset, "video-duration-range", f"{shown} is out of range, {limits}", text)
        for element, text in self._values(found, "rating"):
            shown = f"The rating {quote(text)}"
            limits = f"expected one from {MIN_VIDEO_RATING} to {MAX_VIDEO_RATING}"
            if not is_decimal(text):
                add(element.offset, "video-rating-format", f"{shown} is no decimal number, {limits}", text)
            elif not is_within(text, MIN_VIDEO_RATING, MAX_VIDEO_RATING):
                add(element.offset, "video-rating-range", f"{shown} is out of range, {limits}", text)
        for element, text in self._values(found, "view_count"):
            if not is_whole(text):
                message = f"The view count {quote(text)} is no whole number, expected digits alone"
                add(element.offset, "video-view-count", message, text)

    def _check_dates(self, found: dict[str, list[Element]]) -> None:
        for element, text in self._values(found, "publication_date", "expiration_date"):
            if not is_date(text):
                message = f"The date {quote(text)} of <video:{element.name}> {date_problem(text)}"
                self._add(element.offset, "video-date", message, text)
            elif element.name == "expiration_date" and end_of(text) < self._context.now:
                self._add(element.offset, "video-expired", f"The video has expired on {quote(text)}", text)

    def _check_words(self, found: dict[str, list[Element]]) -> None:
        add = self._add
        for element, text in self._values(found, "family_friendly", "requires_subscription", "live"):
            if text not in _YES_NO:
                message = f"The value {quote(text)} of <video:{element.name}> is neither 'yes' nor 'no'"
                add(element.offset, "video-yes-no", message, text)
        for element, text in self._values(found, "restriction", "platform"):
            relationship = attribute_of(element, "relationship")
            if relationship not in ("allow", "deny"):
                problem = "is missing" if relationship is None else f"is {quote(relationship)}"
                message = f"The relationship of <video:{element.name}> {problem}, expected 'allow' or 'deny'"
                add(element.offset, "video-relationship", message, relationship)
            words = text.translate(_SPACES).split(" ")
            if element.name == "restriction":
                wrong = next((word for word in words if word and not (word.isascii() and word.upper() in REGIONS)), None)
                rule, expected = "video-country", "country codes of ISO 3166-1 such as 'CH', with spaces between"
            else:
                wrong = next((word for word in words if word and word not in _PLATFORMS), None)
                rule, expected = "video-platform", "'web', 'mobile' and 'tv', with spaces between"
            if wrong is not None:
                message = f"The value {quote(text)} of <video:{element.name}> holds {quote(wrong)}, expected {expected}"
                add(element.offset, rule, message, text)

    def _check_length(self, element: Element, text: str, most: int, rule: str, what: str) -> None:
        if len(text) > most:
            self._add(element.offset, rule, f"The {what} has {len(text):,} characters, expected {most:,} at most", text)


_SPACES: Final = str.maketrans(dict.fromkeys(WHITE_SPACE, " "))
