"""Which locations are accepted, how they come back, and what an error names."""

from __future__ import annotations

import pytest

from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.rules.locations import LocationRules

URL = "https://example.com/shop/sitemap.xml"


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        ("https://example.com/a", "https://example.com/a"),
        ("a", "https://example.com/shop/a"),
        ("../a?b#c", "https://example.com/a?b#c"),
        ("//cdn.example.com/a", "https://cdn.example.com/a"),
        ("https://BÜCHER.example/é f", "https://xn--bcher-kva.example/%C3%A9%20f"),
        # Whatever is left around an address that was copied; within it, it is a character like any other.
        ("\u200bhttps://example.com/a\u200b", "https://example.com/a"),
        ("\ufeff/a", "https://example.com/a"),
        ("\u200b \u200e/a\u2060", "https://example.com/a"),
        ("https://example.com/a\u200bb", "https://example.com/a%E2%80%8Bb"),
        ("<![CDATA[https://example.com/a]]>", "https://example.com/a"),
        ("<![CDATA[ /a ]]>", "https://example.com/a"),
    ],
)
def test_tolerant_mode_returns(loc: str, expected: str) -> None:
    assert LocationRules(URL, strict=False).accept(loc) == expected


@pytest.mark.parametrize(
    ("loc", "named"),
    [
        ("ftp://example.com/a", "ftp://example.com/a"),
        ("https:///a", "https:///a"),
        ("https://example.com/a\x00b", "https://example.com/a\x00b"),
        ("//", "//"),
        ("///page", "///page"),
        ("//::", "//::"),
        ("a" * 2_040, "https://example.com/shop/" + "a" * 2_040),
        ("../é " + "a" * 2_040, "https://example.com/é " + "a" * 2_040),
        # What cannot be resolved is named as it is given.
        ("1http://example.com/", "1http://example.com/"),
        ("'https://example.com/'", "'https://example.com/'"),
        ("/a\tb", "/a\tb"),
        ("//exa mple.com/", "//exa mple.com/"),
        ("//example.com:x/", "//example.com:x/"),
    ],
)
def test_tolerant_mode_rejects_and_names_what_it_resolves_to(loc: str, named: str) -> None:
    with pytest.raises(ValidationError) as caught:
        LocationRules(URL, strict=False).accept(loc)
    assert caught.value.url == named


@pytest.mark.parametrize("loc", ["https://example.com/a", "https://EXAMPLE.com:443/é", "https://example.com"])
def test_strict_mode_returns_what_the_document_gives(loc: str) -> None:
    assert LocationRules(URL, strict=True).accept(loc) == loc


@pytest.mark.parametrize(
    "loc",
    [
        "/a",
        "http://example.com/a",
        "https://www.example.com/a",
        "https://example.com/a b",
        "https://example.com/a|b",
        "\u200bhttps://example.com/a",
    ],
)
def test_strict_mode_rejects_and_names_what_the_document_gives(loc: str) -> None:
    with pytest.raises(ValidationError) as caught:
        LocationRules(URL, strict=True).accept(loc)
    assert caught.value.url == loc


def test_any_host_is_for_what_a_robots_txt_names() -> None:
    assert LocationRules(URL, strict=True, any_host=True).accept("http://cdn.example.net/s.xml") == "http://cdn.example.net/s.xml"


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_fine_is_accepted_as_it_is(strict: bool) -> None:
    rules = LocationRules(URL, strict=strict)
    for loc in ("https://example.com/", "https://example.com/a?b=c&d#e", "https://example.com/%C3%A9"):
        assert rules.is_fine(loc)
        assert rules.accept(loc) == loc
    for loc in (
        "/a",
        "https://example.com/a b",
        "https://example.com/a\n",
        " https://example.com/",
        "https://example.com.evil.example:x/",
    ):
        assert not rules.is_fine(loc)


def test_errors_without_a_location_name_the_document() -> None:
    rules = LocationRules(URL, strict=False)
    assert (rules.missing().url, rules.unclear("loc", "x").url) == (URL, URL)
    assert "'https://example.com/?a'" in rules.unclear("loc", "https://example.com/?a").message
