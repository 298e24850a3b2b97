"""The rules of addresses, hosts and directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.protocol.lint.addresses import host_of, path_of

if TYPE_CHECKING:
    from collections.abc import Callable


def entries(*addresses: str) -> str:
    """Return an entry a line for each of the addresses; the first is on line 2."""
    return "".join(f"\n<url><loc>{address}</loc></url>" for address in addresses)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://example.org", ""),
        ("HTTP://EXAMPLE.org:8080/a?b=c;d#e", ""),
        ("https://user:pass@example.org/", ""),
        ("https://[2001:db8::7]/", ""),
        ("https://example.org:/", ""),
        ("https://example.org/a%2fb?x[0]=1", ""),
        ("shop", "relative"),
        ("?page=2", "relative"),
        ("1http://example.org/", "relative"),
        ("//example.org/a b", "relative space"),
        ("ftp://", "scheme"),
        ("tel:+1234", "scheme"),
        ("example.org:443/", "scheme"),
        ("http:", "no-host"),
        ("https://?q", "no-host"),
        ("https://@/", "no-host"),
        ("https://:443", "no-host"),
        ("https://example.org:65535/", ""),
        ("https://example.org:65536/", "malformed"),
        ("https://example.org:8o/", "malformed"),
        ("https://[::1/x y", "malformed space"),
        ("https://example.org/a&#10;b", "control"),
        ("https://example.org/a&#x7f;b", "control"),
        ("https://example.org/ä", "non-ascii"),
        ("https://exämple.org/", "non-ascii"),
        ("https://example.org/&quot;", "character"),
        ("https://example.org/a^b`c", "character"),
        ("https://example.org/%", "percent"),
        ("https://example.org/%4", "percent"),
        ("https://example.org/%zz%20", "percent"),
        ("https://example.org/ö {x} 5%", "character non-ascii percent space"),
        ("https://example.org/" + "x" * 2_028, ""),
        ("https://example.org/" + "x" * 2_029, "too-long"),
        ("https://example.org/" + "x" * 2_026 + "&amp;&amp;", ""),
        ("x" * 2_049, "relative too-long"),
        ("", "empty"),
        ("&#32;", "empty"),
        ("\t https://example.org/ ", "whitespace"),
        ("\u00a0https://example.org/", "non-ascii relative"),  # no white space of XML
    ],
)
def test_address(address: str, expected: str, found: Callable[..., str]) -> None:
    assert found(f"<url><loc>{address}</loc></url>") == ", ".join(f"loc-{name} 1:6" for name in expected.split())
    assert found(f"<sitemap><loc>{address}</loc></sitemap>", root="sitemapindex") == ", ".join(
        f"loc-{name} 1:10" for name in expected.split()
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<url/><url></url>", "loc-missing 1:1, loc-missing 1:7"),
        ("<url><loc>http://a.org/</loc><loc>http://a.org/</loc></url>", "loc-repeated 1:30"),
        ("<url><loc>http://a.org/</loc><loc/><loc>/</loc></url>", "loc-empty 1:30, loc-relative 1:36, loc-repeated 1:36"),
        ("<url><loc/><loc>http://a.org/</loc></url>", "loc-empty 1:6, loc-repeated 1:12"),
    ],
)
def test_number_of_addresses(content: str, expected: str, found: Callable[..., str]) -> None:
    assert found(content) == expected


def test_duplicates_are_compared_character_by_character(found: Callable[..., str]) -> None:
    content = entries("http://a.org/x", "http://a.org/X", " http://a.org/x ", "http://A.org/x", "http://a.org/x", "/y", "/y")
    assert found(content, only="duplicate") == "duplicate-address 4:6, duplicate-address 6:6, duplicate-address 8:6"


def test_duplicates_are_those_of_the_first_address_of_each_entry(found: Callable[..., str]) -> None:
    content = "<url><loc>http://a.org/1</loc><loc>http://a.org/2</loc></url>" + entries("http://a.org/2", "http://a.org/1")
    assert found(content, only="duplicate") == "duplicate-address 3:6"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://a.org/dir/x", ""),
        ("HTTPS://A.org:443/dir/", ""),
        ("https://u@a.org/dir/?x", ""),
        ("https://a.org:0443/dir/x", ""),
        ("http://a.org/dir/x", "protocol-mismatch"),
        ("http://b.org:1/x", "protocol-mismatch"),
        ("https://www.a.org/dir/x", "host-mismatch"),
        ("https://b.org:1/x", "host-mismatch"),
        ("https://a.org.evil.org/dir/x", "host-mismatch"),
        ("https://a.org:444/x", "port-mismatch"),
        ("https://a.org", "directory-mismatch"),
        ("https://a.org?x=/dir/", "directory-mismatch"),
        ("https://a.org/dir", "directory-mismatch"),
        ("https://a.org/directory/", "directory-mismatch"),
        ("https://a.org/Dir/x", "directory-mismatch"),
        ("https://a.org/x y", "directory-mismatch, loc-space"),
        ("/dir/x", "loc-relative"),
        ("ftp://b.org/", "loc-scheme"),
        ("https:///x", "loc-no-host"),
        ("https://b.org:x/", "loc-malformed"),
    ],
)
def test_site(address: str, expected: str, found: Callable[..., str]) -> None:
    def positions(column: int, rules: str) -> str:
        return ", ".join(f"{rule} 1:{column}" for rule in rules.split(", ") if rule)

    url = "https://a.org/dir/sitemap.xml?v=/2/#/3/"
    assert found(f"<url><loc>{address}</loc></url>", url=url) == positions(6, expected)
    in_index = ", ".join(sorted(expected.replace("directory-mismatch", "index-directory").split(", ")))
    assert found(f"<sitemap><loc>{address}</loc></sitemap>", url=url, root="sitemapindex") == positions(10, in_index)


def test_internationalised_hosts_are_one_in_both_forms(found: Callable[..., str]) -> None:
    content = entries("https://xn--mnchen-3ya.example/", "https://MÜNCHEN.example/", "https://munchen.example/")
    assert found(content, url="https://münchen.example/s.xml") == "loc-non-ascii 3:6, host-mismatch 4:6"
    assert found(content) == "loc-non-ascii 3:6, mixed-hosts 4:6"


def test_hosts_are_compared_with_the_first(found: Callable[..., str]) -> None:
    content = entries("/x", "http://a.org/", "https://A.org:8/x y", "http://b.org/", "http://b.org/2", "http://a.org.b.org/")
    assert found(content, only="mixed") == "mixed-hosts 5:6, mixed-hosts 7:6"


@pytest.mark.parametrize(
    ("address", "is_noted"),
    [
        ("https://a.org/sitemap_index.xml", True),
        ("https://a.org/x/My-SiteMapIndex-3.xml.gz?x", True),
        ("sitemapindex", True),
        ("https://a.org/sitemap-index.xml", False),
        ("https://a.org/sitemapindex/1.xml", False),
        ("https://a.org/1.xml?of=sitemap_index.xml", False),
        ("https://sitemapindex", False),
    ],
)
def test_index_in_index(address: str, is_noted: bool, found: Callable[..., str]) -> None:
    content = f"<sitemap><loc>{address}</loc></sitemap>"
    assert found(content, root="sitemapindex", only="index-in-index") == ("index-in-index 1:10" if is_noted else "")
    assert found(content.replace("sitemap>", "url>"), only="index-in-index") == ""


@pytest.mark.parametrize(
    ("url", "path", "host"),
    [
        ("https://a.org", "/", "a.org"),
        ("https://A.org:1/b/c?d/e#f/g", "/b/c", "a.org"),
        ("https://a.org#/x", "/", "a.org"),
        ("a/b", "a/b", None),
        ("mailto:a", "a", None),
    ],
)
def test_parts(url: str, path: str, host: str | None) -> None:
    assert (path_of(url), host_of(url)) == (path, host)
