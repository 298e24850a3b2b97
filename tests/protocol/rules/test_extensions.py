"""Images, news, videos and alternates in both modes, from the document to the record."""

from __future__ import annotations

import pytest

from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.records import Page, set_fields

URL = "https://example.com/sitemap.xml"
PAGE = "https://example.com/page"
NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


def judge(extensions: str, *, strict: bool, namespaces: str = NAMESPACES) -> tuple[dict[str, object], list[str]]:
    """What the page holds besides its location, and the errors: "URL: words of the message"."""
    body = f"<urlset {namespaces}><url><loc>{PAGE}</loc>{extensions}</url></urlset>".encode()
    fields: dict[str, object] = {}
    errors = []
    for record in read(body, URL, strict):
        if isinstance(record, Page):
            fields = {name: value for name, value in set_fields(record).items() if name not in ("loc", "sitemap")}
        elif isinstance(record, ValidationError):
            errors.append(f"{record.url}: {record.message}")
    return fields, errors


def tags(prefix: str, **values: str) -> str:
    return "".join(f"<{prefix}:{name}>{value}</{prefix}:{name}>" for name, value in values.items())


def image(**values: str) -> str:
    return f"<image:image>{tags('image', **values)}</image:image>"


def video(more: str = "", **values: str) -> str:
    given = {
        "thumbnail_loc": "https://example.com/t.png",
        "title": "T",
        "description": "D",
        "content_loc": "https://example.com/v.mp4",
    } | values
    return f"<video:video>{tags('video', **{name: value for name, value in given.items() if value})}{more}</video:video>"


def news(publication: str = "<news:name>N</news:name><news:language>en</news:language>", **values: str) -> str:
    return f"<news:news><news:publication>{publication}</news:publication>{tags('news', **values)}</news:news>"


def link(**attributes: str) -> str:
    return f"<xhtml:link {' '.join(f'{name}={chr(34)}{value}{chr(34)}' for name, value in attributes.items())}/>"


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
def test_everything_is_read(strict: bool) -> None:
    more = (
        '<video:restriction relationship=" deny ">DE AT</video:restriction><video:platform relationship="allow">web tv</video:platform>'
        '<video:uploader info="https://example.com/u"> U </video:uploader><video:tag>a</video:tag><video:tag/><video:tag> b </video:tag>'
    )
    values = {
        "player_loc": "https://example.com/p", "duration": "600", "expiration_date": "2025", "rating": "4.5", "view_count": "7",
        "publication_date": "2024-01-15T10:30:00Z", "family_friendly": "yes", "requires_subscription": "no", "live": "no",
    }  # fmt: skip
    document = (
        image(loc="\n https://cdn.example.net/i.png\n", title="T", caption="C", geo_location="G", license="https://example.com/l")
        + image(loc="https://example.com/j.png")
        + news(publication_date="2024-01-15", title=" N ")
        + video(more, **values)
        + link(rel="alternate", hreflang=" de ", href=" https://example.com/de ")
    )
    fields, errors = judge(document, strict=strict)
    assert errors == []
    assert fields == {
        "images": [
            {
                "loc": "https://cdn.example.net/i.png",
                "title": "T",
                "caption": "C",
                "geo_location": "G",
                "license": "https://example.com/l",
            },
            {"loc": "https://example.com/j.png"},
        ],
        "news": {"publication": {"name": "N", "language": "en"}, "publication_date": "2024-01-15", "title": "N"},
        "videos": [
            {
                "thumbnail_loc": "https://example.com/t.png",
                "title": "T",
                "description": "D",
                "content_loc": "https://example.com/v.mp4",
            }
            | {"player_loc": "https://example.com/p", "duration": 600, "expiration_date": "2025", "rating": 4.5, "view_count": 7}
            | {"publication_date": "2024-01-15T10:30:00Z", "family_friendly": "yes"}
            | {
                "restriction": {"relationship": "deny", "value": "DE AT"},
                "platform": {"relationship": "allow", "value": "web tv"},
            }
            | {
                "requires_subscription": "no",
                "uploader": {"info": "https://example.com/u", "value": "U"},
                "live": "no",
                "tags": ["a", "b"],
            }
        ],
        "alternates": [{"rel": "alternate", "hreflang": "de", "href": "https://example.com/de"}],
    }


@pytest.mark.parametrize(
    ("extension", "tolerant", "error"),
    [
        pytest.param(image(), None, f"{PAGE}: strict mode: image <loc> is empty", id="image-without-loc"),
        pytest.param(image(loc=" ", title="T"), None, f"{PAGE}: strict mode: image <loc> is empty", id="image-with-empty-loc"),
        pytest.param(image(loc="/i.png"), "/i.png", "/i.png: strict mode", id="image-relative"),
        pytest.param(image(loc="ftp://e.com/i"), "ftp://e.com/i", "ftp://e.com/i: strict mode", id="image-ftp"),
        pytest.param(
            image(loc="https://e.com/a b"),
            "https://e.com/a%20b",
            "https://e.com/a b: strict mode: URL contains a space",
            id="image-space",
        ),
        pytest.param(
            link(rel="alternate", hreflang="de"), None, f"{PAGE}: strict mode: alternate href is empty", id="link-without-href"
        ),
        pytest.param(
            link(rel="alternate", href="https://e.com/é"),
            "https://e.com/%C3%A9",
            "https://e.com/é: strict mode: hreflang",
            id="link-hreflang",
        ),
        pytest.param(
            link(rel="Alternate", hreflang="de", href="https://e.com/a"),
            "https://e.com/a",
            "https://e.com/a: strict mode: rel",
            id="link-rel",
        ),
        pytest.param(link(rel="alternate", hreflang="de", href="/de"), "/de", "/de: strict mode", id="link-relative"),
        pytest.param(
            video(thumbnail_loc=""), None, f"{PAGE}: strict mode: video <thumbnail_loc> is empty", id="video-without-thumbnail"
        ),
        pytest.param(video(thumbnail_loc="t.png", duration="x"), "t.png", "t.png: strict mode", id="video-relative"),
    ],
)
def test_what_is_known_by_no_url_is_left_out(extension: str, tolerant: str | None, error: str) -> None:
    fields, errors = judge(extension, strict=False)
    found = [list(entry.values()) for name in ("images", "videos", "alternates") for entry in fields.get(name, [])]  # type: ignore[attr-defined]
    assert (tolerant in found[0]) if tolerant else not found
    assert len(errors) == ("duration>x" in extension)

    fields, errors = judge(extension, strict=True)
    assert fields == {}
    assert len(errors) == 1
    assert errors[0].startswith(error)


@pytest.mark.parametrize(
    ("extension", "expected"),
    [
        pytest.param(
            video(title="", description=""),
            [f"{PAGE}: strict mode: video <title>", f"{PAGE}: strict mode: video <description>"],
            id="missing",
        ),
        pytest.param(video(content_loc=""), [f"{PAGE}: strict mode: video has neither"], id="no-content"),
        pytest.param(video(content_loc="", player_loc="p"), ["p: video <player_loc>: strict mode"], id="player"),
        pytest.param(
            video(content_loc="ftp://e.com/v"),
            ['ftp://e.com/v: video <content_loc>: strict mode: unsupported scheme "ftp"'],
            id="content",
        ),
        pytest.param(video(content_loc="https://e.com/" + "a" * 2_048), ["https://e.com/aaaa"], id="long"),
        pytest.param(
            video('<video:uploader info="u">U</video:uploader>'), ["u: video <uploader> info: strict mode"], id="uploader"
        ),
        pytest.param(
            video(duration="28801", rating="5.1"),
            [f"{PAGE}: strict mode: video <duration>", f"{PAGE}: strict mode: video <rating>"],
            id="ranges",
        ),
        pytest.param(video(duration="0"), [f"{PAGE}: strict mode: video <duration>"], id="nothing"),
        pytest.param(video("<video:tag>a</video:tag>" * 33), [f"{PAGE}: strict mode: video has 33 <tag>"], id="tags"),
        pytest.param(image(loc="https://e.com/i", license="l"), ["l: image <license>: strict mode"], id="license"),
    ],
)
def test_strict_mode_reports_the_rest_and_leaves_nothing_out(extension: str, expected: list[str]) -> None:
    tolerant, errors = judge(extension, strict=False)
    assert errors == []
    strict, errors = judge(extension, strict=True)
    assert strict == tolerant
    assert len(errors) == len(expected)
    assert all(error.startswith(start) for error, start in zip(errors, expected, strict=True))


@pytest.mark.parametrize("values", [{"rating": "5.10"}, {"rating": "1e30"}, {"duration": "+28801"}])
def test_a_number_out_of_range_is_quoted_as_it_is_given(values: dict[str, str]) -> None:
    (error,) = judge(video(**values), strict=True)[1]
    for name, value in values.items():
        assert f"<{name}> is {value}, it has to be" in error


def test_limits_exactly_met_are_kept() -> None:
    for values in ({"duration": "1", "rating": "0"}, {"duration": "28800", "rating": "5.0"}):
        assert judge(video("<video:tag>a</video:tag>" * 32, **values), strict=True)[1] == []


def test_news_in_strict_mode_lacks_each_field_by_itself() -> None:
    fields, errors = judge(news(publication="", title="T"), strict=True)
    assert fields == {"news": {"title": "T"}}
    assert len(errors) == 3
    assert all(f"<{name}>" in error for name, error in zip(("name", "language", "publication_date"), errors, strict=True))
    assert judge(news(publication="", title="T"), strict=False) == ({"news": {"title": "T"}}, [])


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
def test_values_that_cannot_be_read_cost_themselves(strict: bool) -> None:
    document = news(publication_date="today", title="N") + video(
        duration="ten", rating="good", view_count="1,000", expiration_date="never", publication_date="2024-13"
    )
    fields, errors = judge(document, strict=strict)
    assert sorted(error.removeprefix(f"{PAGE}: invalid <").partition(">")[0] for error in errors) == [
        "news:publication_date",
        "video:duration",
        "video:expiration_date",
        "video:publication_date",
        "video:rating",
        "video:view_count",
    ]
    assert fields["news"] == {"publication": {"name": "N", "language": "en"}, "title": "N"}
    assert set(fields["videos"][0]) == {"thumbnail_loc", "title", "description", "content_loc"}  # type: ignore[index]


def test_a_long_url_by_which_something_is_known_is_dropped_and_reported_in_tolerant_mode() -> None:
    long = "https://example.com/" + "a" * 2_048
    fields, errors = judge(image(loc=long) + image(loc="https://example.com/i", license=long), strict=False)
    assert fields == {"images": [{"loc": "https://example.com/i", "license": long}]}
    assert [error.startswith(long) for error in errors] == [True]


def test_the_errors_of_extensions_do_not_cost_the_page() -> None:
    body = f"<urlset {NAMESPACES}><url><loc>{PAGE}</loc><priority>2</priority>{image()}</url></urlset>".encode()
    assert [type(record) for record in read(body, URL, strict=True)] == [ValidationError, ValidationError]
    assert len(judge(image(), strict=True)[1]) == 1


NEARLY = NAMESPACES.replace(
    "http://www.google.com/schemas/sitemap-image/1.1", "HTTPS://www.google.com/schemas/sitemap-image/1.1/"
)


@pytest.mark.parametrize(
    "namespaces", [NEARLY, 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'], ids=["nearly-right", "undeclared"]
)
def test_tolerant_mode_knows_a_namespace_that_is_nearly_right(namespaces: str) -> None:
    assert judge(image(loc="https://e.com/i"), strict=False, namespaces=namespaces) == (
        {"images": [{"loc": "https://e.com/i"}]},
        [],
    )
    assert judge(image(loc="https://e.com/i"), strict=True, namespaces=namespaces) == ({}, [])


def test_tolerant_mode_reads_past_missing_end_tags() -> None:
    fields, errors = judge(
        "<image:image><image:loc>i<image:title>I</image:image>"
        "<video:video><video:thumbnail_loc>t</video:thumbnail_loc><video:title>T<video:tag>a<video:tag>b</video:video>"
        "<news:news><news:publication><news:name>N<news:language>en<news:title>H</news:title></news:news>",
        strict=False,
    )
    assert fields == {
        "images": [{"loc": "i", "title": "I"}],
        "videos": [{"thumbnail_loc": "t", "title": "T", "tags": ["a", "b"]}],
        "news": {"publication": {"name": "N", "language": "en"}, "title": "H"},
    }
    assert errors == []


def test_another_prefix_is_as_good() -> None:
    namespaces = 'xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" xmlns:image="u:x"'
    document = (
        "<i:image><i:loc>https://e.com/i</i:loc></i:image><image:image><image:loc>https://e.com/no</image:loc></image:image>"
    )
    for strict in (False, True):
        assert judge(document, strict=strict, namespaces=namespaces) == ({"images": [{"loc": "https://e.com/i"}]}, [])


def test_the_location_of_an_image_is_never_that_of_the_page() -> None:
    fields, errors = judge(
        "<image:image><loc>https://e.com/i</loc></image:image><image><loc>https://e.com/j</loc></image>", strict=False
    )
    assert (fields, errors) == ({}, [])
