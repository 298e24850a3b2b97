"""The rules of alternates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.protocol.codes import LANGUAGES, REGIONS

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = "https://a.org/en"
LOC = f"<loc>{PAGE}</loc>"


def link(language: str | None, href: str | None = None, rel: str | None = "alternate") -> str:
    attributes = {"rel": rel, "hreflang": language, "href": f"https://a.org/{language}" if href is None else href}
    return "<xhtml:link" + "".join(f' {name}="{value}"' for name, value in attributes.items() if value is not None) + "/>"


FINE = link("en") + link("x-default")


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (link("fr"), ""),
        (link(" fr ", f" {PAGE} ", " Alternate "), ""),
        (link("fr", "http://b.org/"), ""),
        (link("fr", rel=None), "rel"),
        (link("fr", rel="alternate stylesheet"), "rel"),
        (link("fr", rel=""), "rel"),
        (link(None), "missing"),
        (link(" "), "missing"),
        ('<xhtml:link rel="alternate" hreflang="fr"/>', "href-missing"),
        (link("fr", " "), "href-missing"),
        (link("fr", "//a.org/"), "url"),
        (link("fr", "https://a.org/%"), "url"),
        (link("fr", "https://a.org/" + "x" * 2_040), "url"),
        ("<xhtml:link/>", "href-missing, missing, rel"),
        ("<xhtml:link media='handheld'/>", ""),
        ("<xhtml:link media='handheld' hreflang='fr'/>", "href-missing, rel"),
        ("<xhtml:link media='handheld' hreflang=''/>", "href-missing, missing, rel"),
        ("<xhtml:a/><xhtml:Link/>", ""),
        (link("EN", "http://b.org/"), "repeated"),
        (link("X-DEFAULT", "http://b.org/"), "repeated"),
        (link("en", "http://b.org/", rel="canonical"), "rel"),  # no alternate
        (link("en", " "), "href-missing"),  # nor is this
    ],
)
def test_link(links: str, expected: str, found: Callable[..., str]) -> None:
    rules = ", ".join(f"hreflang-{rule} 2:1" for rule in expected.split(", ") if rule)
    assert found(f"<url>{LOC}{FINE}\n{links}</url>") == rules


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", ""), ("DE-ch", ""), ("zh-hant", ""), ("zh-Hant-HK", ""), ("az-Qqqq", ""), ("be", ""),
        ("d", "format"), ("deu", "format"), ("de_CH", "format"), ("de-", "format"), ("-CH", "format"), ("es-419", "format"),
        ("de-CH-Latn", "format"), ("de-CHE", "format"), ("x-defaults", "format"), ("*", "format"), ("dé", "format"),
        ("jp", "language"), ("iw", "language"), ("uk-UK", "region"), ("cz-UK", "language"), ("es-LA", ""), ("es-XX", "region"),
        ("zh-Hans-EU", "region"),
    ],
)  # fmt: skip
def test_language(language: str, expected: str, found: Callable[..., str]) -> None:
    content = f"<url>{LOC}{FINE}\n{link(language, 'http://b.org/')}</url>"
    assert found(content) == (f"hreflang-{expected} 2:1" if expected else "")


def test_codes() -> None:
    assert (len(LANGUAGES), len(REGIONS)) == (183, 249)
    assert all(len(code) == 2 and code.islower() for code in LANGUAGES)
    assert all(len(code) == 2 and code.isupper() for code in REGIONS)


def entry(address: str, *alternates: str) -> str:
    """Return an entry on a line of its own, with its links on the lines after it."""
    languages = ("de", "en", "fr", "it", "pl")
    links = "".join("\n" + link(language, href) for language, href in zip(languages, alternates, strict=False))
    return f"\n<url><loc>{address}</loc>{links}{link('x-default', 'http://d.org/') if alternates else ''}</url>"


def test_return(found: Callable[..., str]) -> None:
    content = (
        entry("http://a.org/1", "http://a.org/1", "http://a.org/2", "http://a.org/3", "http://a.org/3", "http://a.org/4")
        + entry("http://a.org/2", "http://a.org/2", "http://a.org/1")
        + entry(" http://a.org/3 ")
    )
    # 4 is no entry; 3 has two links, and is told once.
    assert found(content, only="hreflang") == "hreflang-no-return 5:1"


def test_return_is_looked_for_in_all_entries_of_an_address(found: Callable[..., str]) -> None:
    first = entry("http://a.org/1", "http://a.org/1", "http://a.org/2")
    second = entry("http://a.org/2") + entry("http://a.org/2", "http://a.org/2", "http://a.org/1")
    assert found(first + second, only="hreflang") == ""


def test_links_that_are_no_alternates_do_not_lead_back(found: Callable[..., str]) -> None:
    back = link("bb", "http://a.org/1", rel="canonical") + link("bb", "http://a.org/1", rel=None) + link("", "http://a.org/1")
    content = entry("http://a.org/1", "http://a.org/1", "http://a.org/2") + f"<url><loc>http://a.org/2</loc>{back}</url>"
    assert found(content, only="hreflang-no") == "hreflang-no-return 4:1"


def test_what_an_entry_lacks(found: Callable[..., str]) -> None:
    assert found(f"<url>{LOC}{link('de')}</url>") == "hreflang-no-self 1:1, hreflang-no-x-default 1:1"
    assert found(f"<url>{LOC}{link('en')}</url>") == "hreflang-no-x-default 1:1"
    assert found(f"<url>{link('de')}</url>") == "hreflang-no-x-default 1:1, loc-missing 1:1"
    assert found(f"<url>{LOC}{link('de', rel='x')}</url>") == "hreflang-rel 1:33"
    assert found(f"<url>{LOC}{link('x_y', PAGE)}</url>") == "hreflang-no-x-default 1:1, hreflang-format 1:33"


def test_content_of_a_link(found: Callable[..., str]) -> None:
    inner = link("fr").replace("/>", "><loc/></xhtml:link>")
    assert found(f"<url>{LOC}{FINE}\n{inner}</url>").startswith("element-misplaced 2:")
