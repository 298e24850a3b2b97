"""The rules of images, news and videos."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LOC = "<loc>https://example.org/page</loc>"  # 35 characters: what follows "<url>" and it is at column 41
VIDEO = (
    "<video:thumbnail_loc>https://a.org/1.jpg</video:thumbnail_loc><video:title>T</video:title>"
    "<video:description>D</video:description><video:content_loc>https://a.org/1.mp4</video:content_loc>\n"
)
NEWS = (
    "<news:publication><news:name>N</news:name><news:language>de</news:language></news:publication>"
    "<news:publication_date>2026-03-15</news:publication_date><news:title>T</news:title>\n"
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<image:loc>http://cdn.org/1.jpg</image:loc>", ""),
        ("", "image-loc-missing 1:41"),
        ("\n<image:loc> </image:loc>", "image-loc-missing 2:1"),
        ("\n<image:loc/><image:loc>https://a.org</image:loc>", "image-loc-missing 2:1, extension-repeated 2:13"),
        ("\n<image:loc>https://a.org/%</image:loc>", "image-url 2:1"),
        ("\n<image:loc>a b</image:loc>\n<image:loc>http:///</image:loc>", "image-url 2:1, extension-repeated 3:1, image-url 3:1"),
        ("<image:loc>http://a.org</image:loc>\n<image:caption/><image:caption/>",
         "image-deprecated 2:1, extension-repeated 2:17, image-deprecated 2:17"),
        ("<image:loc>http://a.org</image:loc>\n<image:Loc/><image:image/>", "extension-unknown 2:1, extension-misplaced 2:13"),
        ("<image:loc>http://a.org</image:loc>\n<xhtml:link/><xhtml:b/><news:title/>",
         "extension-misplaced 2:1, extension-misplaced 2:24"),
    ],
)  # fmt: skip
def test_image(content: str, expected: str, found: Callable[..., str]) -> None:
    assert found(f"<url>{LOC}<image:image>{content}</image:image></url>") == expected


def test_images_are_counted_in_each_entry(found: Callable[..., str]) -> None:
    image = "<image:image><image:loc>https://a.org/1.jpg</image:loc></image:image>\n"
    content = f"<url>{LOC}\n{image * 1_000}</url><url><loc>https://example.org/2</loc>\n{image * 1_002}</url>"
    assert found(content) == "image-too-many 2003:1"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (NEWS, ""),
        ("", "news-date-missing 1:41, news-publication-missing 1:41, news-title-missing 1:41"),
        (f"{NEWS}<news:publication/>", "extension-repeated 2:1, news-language-missing 2:1, news-name-missing 2:1"),
        (f"{NEWS}<news:title/>", "extension-repeated 2:1, news-title-missing 2:1"),
        (f"{NEWS}<news:name/><news:image/>", "extension-misplaced 2:1, extension-unknown 2:13"),
        (f"{NEWS}<news:geo_locations/>", "news-deprecated 2:1"),
        (f"{NEWS}<loc/><x/>", "element-misplaced 2:1, element-unknown 2:7"),
    ],
)
def test_news(content: str, expected: str, found: Callable[..., str]) -> None:
    assert found(f"<url>{LOC}<news:news>{content}</news:news></url>") == expected


@pytest.mark.parametrize(
    ("language", "is_one"),
    [
        ("fr", True), ("FR", True), ("fra", True), ("xyz", True), ("ZH-CN", True), ("zh-tw", True),
        ("zh-hk", False), ("fr-FR", False), ("jp", False), ("f", False), ("f1a", False), ("french", False), ("日本語", False),
    ],
)  # fmt: skip
def test_language_of_news(language: str, is_one: bool, found: Callable[..., str]) -> None:
    content = f"<url>{LOC}<news:news>{NEWS.replace('>de<', f'>{language}<')}</news:news></url>"
    assert found(content) == ("" if is_one else "news-language 1:94")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2026-03-15", ""),
        ("2026-03-13", ""),
        ("2026-03-12", "news-date-old"),
        ("2026-03-13T12:00:00Z", ""),
        ("2026-03-13T11:59:59Z", "news-date-old"),
        ("2026-03-13T12:00:00+00:01", "news-date-old"),
        ("2026-03-16", "news-date-future"),
        ("2026-03-15T12:01Z", "news-date-future"),
        ("2026", "news-date"),
        ("2026-03", "news-date"),
        ("2026-03-15T10:00", "news-date"),
        ("2026-02-29", "news-date"),
        ("15 March 2026", "news-date"),
        ("", "news-date-missing"),
    ],
)
def test_date_of_news(date: str, expected: str, found: Callable[..., str]) -> None:
    content = f"<url>{LOC}<news:news>{NEWS.replace('2026-03-15', date)}</news:news></url>"
    assert found(content) == (f"{expected} 1:146" if expected else "")


def test_news_are_counted_in_the_whole_file(found: Callable[..., str]) -> None:
    news = f"<news:news>{NEWS}</news:news>\n"
    entries = "".join(f"<url><loc>https://example.org/{number}</loc>\n{news}</url>" for number in range(999))
    assert found(entries) == ""
    expected = "news-repeated 3001:1, news-too-many 3001:1, news-repeated 3003:1"
    assert found(f"{entries}<url>{LOC}\n{news * 3}</url>") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<video:duration>28800</video:duration>", ""),
        ("<video:duration>00001</video:duration>", ""),
        ("<video:duration>28801</video:duration>", "video-duration-range"),
        ("<video:duration>000</video:duration>", "video-duration-range"),
        ("<video:duration>+60</video:duration>", "video-duration-format"),
        ("<video:duration>6０</video:duration>", "video-duration-format"),
        ("<video:duration/>", "video-duration-format"),
        ("<video:rating>5.</video:rating>", ""),
        ("<video:rating>5.0001</video:rating>", "video-rating-range"),
        ("<video:rating>-0.1</video:rating>", "video-rating-range"),
        ("<video:rating>five</video:rating>", "video-rating-format"),
        ("<video:view_count>007</video:view_count>", ""),
        ("<video:view_count>1.5</video:view_count>", "video-view-count"),
        ("<video:publication_date>2099-01-01T00:00:00+01:00</video:publication_date>", ""),
        ("<video:publication_date>2025</video:publication_date>", "video-date"),
        ("<video:publication_date>2025-04-31</video:publication_date>", "video-date"),
        ("<video:expiration_date>2026-03-15</video:expiration_date>", ""),
        ("<video:expiration_date>2026-03-14</video:expiration_date>", "video-expired"),
        ("<video:expiration_date>2026-03-15T11:59:59Z</video:expiration_date>", "video-expired"),
        ("<video:expiration_date>2026-03-15T12:00:00Z</video:expiration_date>", ""),
        ("<video:expiration_date>2020-01-01T10:00</video:expiration_date>", "video-date"),
        ("<video:live>Yes</video:live>", ""),
        ("<video:live>yEs</video:live>", "video-yes-no"),
        ("<video:family_friendly>y</video:family_friendly>", "video-yes-no"),
        ("<video:requires_subscription/>", "video-yes-no"),
        ("<video:restriction relationship='allow'>ch\n\tDE</video:restriction>", ""),
        ("<video:restriction relationship='deny'/>", ""),
        ("<video:restriction relationship='deny'>UK FR EU</video:restriction>", "video-country"),
        ("<video:restriction relationship='ALLOW'>CH-DE</video:restriction>", "video-country, video-relationship"),
        ("<video:restriction relationship='allow'>CH\u00a0DE</video:restriction>", "video-country"),
        ("<video:platform relationship=' deny '>tv  web</video:platform>", ""),
        ("<video:platform>Web</video:platform>", "video-platform, video-relationship"),
        ("<video:uploader>" + "x" * 255 + "</video:uploader>", ""),
        ("<video:uploader>" + "x" * 256 + "</video:uploader>", "video-uploader-too-long"),
        ("<video:uploader info='https://EXAMPLE.org:8/x'/>", ""),
        ("<video:uploader info='https://a.b.example.org/'/>", ""),
        ("<video:uploader info='https://org/'/>", ""),
        ("<video:uploader info=' '/>", ""),
        ("<video:uploader info='https://myexample.org/'/>", "video-uploader-info"),
        ("<video:uploader info='example.org'/>", "video-url"),
        ("<video:player_loc>https://example.org/page</video:player_loc>", "video-location-is-page"),
        ("<video:player_loc>http:x</video:player_loc>", "video-url"),
        ("<video:player_loc autoplay='' allow_embed='no'>https://a.org/</video:player_loc>", "video-deprecated"),
        ("<video:gallery_loc>x y</video:gallery_loc>", "video-deprecated"),
        ("<video:id>1</video:id><video:content_segment_loc/><video:content_segment_loc/>", ""),
        ("<video:height>1</video:height>", "extension-unknown"),
        ("<video:video/>", "extension-misplaced"),
        ("<video:title/>", "extension-repeated, video-title-missing"),
        ("<video:tag/>" * 32, ""),
    ],
)
def test_video(content: str, expected: str, found: Callable[..., str]) -> None:
    positions = ", ".join(f"{rule} 2:1" for rule in expected.split(", ") if rule)
    assert found(f"<url>{LOC}<video:video>{VIDEO}{content}</video:video></url>") == positions


def test_what_a_video_lacks(found: Callable[..., str]) -> None:
    lacks = "video-description-missing 1:41, video-location-missing 1:41, video-thumbnail-missing 1:41, video-title-missing 1:41"
    assert found(f"<url>{LOC}<video:video/></url>") == lacks
    content = "<video:content_loc> </video:content_loc>\n<video:player_loc>https://a.org</video:player_loc>"
    assert found(f"<url>{LOC}<video:video>{content}</video:video></url>") == lacks.replace("video-location-missing 1:41, ", "")


def test_long_values_of_a_video(found: Callable[..., str]) -> None:
    content = VIDEO.replace(">D<", f">{'é' * 2_048}<") + "<video:tag/>" * 34
    assert found(f"<url>{LOC}<video:video>{content}</video:video></url>") == f"video-too-many-tags 2:{32 * 12 + 1}"
    content = VIDEO.replace(">D<", f">{'é' * 2_049}<")
    assert found(f"<url>{LOC}<video:video>{content}</video:video></url>").startswith("video-description-too-long 1:")


def test_the_address_of_the_page_may_follow_its_video(found: Callable[..., str]) -> None:
    video = VIDEO.replace("https://a.org/1.mp4", "https://example.org/page")
    assert found(f"<url>\n<video:video>{video}</video:video>{LOC}</url>").startswith("video-location-is-page 2:")
    # Without an address, or with one that has no host, nothing can be compared with it.
    video = f"{VIDEO}<video:uploader info='https://elsewhere.org/'/>"
    assert found(f"<url><video:video>{video}</video:video></url>") == "loc-missing 1:1"
    assert found(f"<url><loc>/x</loc><video:video>{video}</video:video></url>") == "loc-relative 1:6"
