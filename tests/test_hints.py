from __future__ import annotations

import pytest

from sitemapcrawl.hints import about_page, about_start, with_protocol


@pytest.mark.parametrize(
    "text", ["example.com", "localhost/robots.txt", "example.com:8080/a", "www.example.co.uk/robots.txt?a=1", "münchen.de/"]
)
def test_address_without_its_protocol_is_known(text: str) -> None:
    assert with_protocol(text) == f"; did you mean 'https://{text}'?"


@pytest.mark.parametrize(
    "text", ["not a url", "example", "sitemap.xml", "folder/sitemap.xml", "1.5", "example.com/a b", "", "a.b:x"]
)
def test_nothing_is_guessed_where_no_host_is_plausible(text: str) -> None:
    assert with_protocol(text) == ""


@pytest.mark.parametrize(
    ("start", "hint"),
    [
        ("https://a.test/,https://b.test/", "several starts"),
        ("https://a.test/, HTTP://b.test/", "several starts"),
        ("https://a.test/ https://b.test/", "several starts"),
        ("[https://a.test/, https://b.test/]", "JSON array"),
        ("https://a.test/?next=https://b.test/", ""),
        ("https://a.test/1,2", ""),
        ("ftp://example.com/", ""),
        ("example.com:8080/", "did you mean"),
    ],
)
def test_start_gets_the_hint_that_fits(start: str, hint: str) -> None:
    assert hint in about_start(start) if hint else about_start(start) == ""


def test_web_page_as_start_leads_to_the_robots_txt_of_its_site() -> None:
    message = "not a sitemap: an HTML page, the root element is <html>"
    assert about_page("https://example.com/shop/?a=1", message).endswith("try 'https://example.com/robots.txt'")
    assert about_page("https://example.com/", "the document is empty") == ""
