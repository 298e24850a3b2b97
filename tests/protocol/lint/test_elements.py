"""The rules of the root, of namespaces, and of which elements belong where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
LOC = "<loc>https://example.org/</loc>"
XML = "<?xml version='1.0'?>\n"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (f"<urlset xmlns='{SITEMAP}'><url>{LOC}</url></urlset>", ""),
        (f"<a:urlset xmlns:a='{SITEMAP}'><a:url><a:loc>https://a.org</a:loc></a:url></a:urlset>", ""),
        (f"<urlset xmlns='{SITEMAP}'/>", "no-entries 2:1"),
        ("<URLSET/>", "root-unknown 2:1"),
        ("<html><p>&nbsp;</html>", "root-unknown 2:1, xml-entity 2:10, xml-tag-mismatch 2:16"),
        (f"<urlset><url>{LOC}<x/></url></urlset>", "namespace-missing 2:1, element-unknown 2:45"),
        (f"<urlset xmlns='urn:x'><url>{LOC}<x/></url></urlset>", "namespace-wrong 2:1, element-unknown 2:59"),
        (f"<urlset xmlns='{SITEMAP}/'><url/></urlset>", "namespace-wrong 2:1, loc-missing 2:62"),
        (f"<urlset xmlns='{SITEMAP.upper()}'><url/></urlset>", "namespace-wrong 2:1, loc-missing 2:61"),
        # The root's namespace stands for that of the protocol: another one is foreign, be it the right one.
        (f"<urlset><s:url xmlns:s='{SITEMAP}'/><url>{LOC}</url></urlset>", "namespace-missing 2:1"),
        # Of an undeclared prefix nothing is known but that it is the same.
        ("<s:urlset><s:url/></s:urlset>", "xml-prefix 2:1, loc-missing 2:11"),
        ("<urlset><url><s:loc/></url></urlset>", "namespace-missing 2:1, loc-missing 2:9, xml-prefix 2:14"),
        (f"<urlset xmlns='{SITEMAP}'><x/>", "element-unknown 2:61, xml-incomplete 2:65"),  # may have had entries
        (f"<urlset xmlns='{SITEMAP}'><sitemap>{LOC}</sitemap></urlset>", "no-entries 2:1, sitemap-in-urlset 2:61"),
        (f"<sitemapindex xmlns='{SITEMAP}'><url>{LOC}</url></sitemapindex>", "no-entries 2:1, url-in-index 2:67"),
    ],
)
def test_root(document: str, expected: str, found: Callable[..., str]) -> None:
    assert found(XML + document) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<url>L</url><loc/>", "element-misplaced 1:43"),
        ("<url>L<url/></url><url>L2</url>", "element-misplaced 1:37"),
        ("<url>L<sitemapindex/><Priority>9</Priority></url>", "element-misplaced 1:37, element-unknown 1:52"),
        ("<url>L<x><loc/></x></url>", "element-unknown 1:37"),
        ("<url>L<q xmlns=''><loc/></q></url>", "element-no-namespace 1:37"),
        ("<url><loc>https://a.org/<b/><lastmod/></loc></url>", "element-unknown 1:25, element-misplaced 1:29"),
        ("<url>L<lastmod>2025<image:loc/><image:x/><q xmlns=''/></lastmod></url>",
         "extension-misplaced 1:50, extension-unknown 1:62, element-no-namespace 1:72"),
        ("<url>L<image:image><image:loc>https://a.org/<loc/></image:loc></image:image></url>", "element-misplaced 1:75"),
        ("<url>L<o:x xmlns:o='urn:o'><loc/><image:loc/></o:x></url>", ""),
        ("<o:url xmlns:o='urn:o'/><url>L</url>", ""),
        ("<url>L<priority>0</priority><priority/></url>", "element-empty 1:59, element-repeated 1:59"),
    ],
)  # fmt: skip
def test_elements(content: str, expected: str, found: Callable[..., str]) -> None:
    content = content.replace("L2", "<loc>https://example.org/2</loc>").replace("L", LOC)
    assert found(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<sitemap>L<lastmod>2025</lastmod></sitemap>", ""),
        ("<sitemap>L<changefreq/><priority>9</priority></sitemap>", "element-misplaced 1:41, element-misplaced 1:54"),
        ("<sitemap>L<xhtml:link/><xhtml:p/><video:video/></sitemap>", "extension-misplaced 1:41, extension-misplaced 1:64"),
        ("<sitemap>L<lastmod/><lastmod>x</lastmod></sitemap>", "element-empty 1:41, element-repeated 1:51, lastmod-format 1:51"),
        ("<sitemap>L</sitemap><urlset/><sitemapindex/>", "element-misplaced 1:51, element-misplaced 1:60"),
    ],
)
def test_index(content: str, expected: str, found: Callable[..., str]) -> None:
    assert found(content.replace("L", LOC), root="sitemapindex") == expected


@pytest.mark.parametrize(
    ("namespace", "is_near"),
    [
        ("http://www.google.com/schemas/sitemap-image/1.1", False),
        ("http://www.google.com/schemas/sitemap-image/1.1/", True),
        ("https://www.google.com/schemas/sitemap-news/0.9", True),
        ("http://www.google.com/schemas/sitemap-video/1.10", True),
        ("http://www.google.com/schemas/sitemap-video", True),
        ("HTTP://www.Google.com/schemas/sitemap-video/1.1", True),
        ("https://www.w3.org/1999/xhtml/", True),
        ("http://www.w3.org/1999/xhtml/2", True),
        ("http://www.w3.org/2002/xhtml", False),
        ("http://www.google.com/schemas/sitemap-pagemap/1.0", False),
        ("http://www.google.com/schemas/sitemap-image/v1.1", False),
        ("http://www.google.com/schemas/sitemap-image" + "/" * 100_000 + "x", False),
    ],
)
def test_extension_namespace(namespace: str, is_near: bool, found: Callable[..., str]) -> None:
    expected = "extension-namespace 1:1" if is_near else ""
    assert found(f"<url xmlns:p='{namespace}'>{LOC}</url>") == expected
    assert found(f"<o:x xmlns:p='{namespace}' xmlns:o='urn:o'/><url>{LOC}</url>") == expected
    assert found(f"<url>{LOC}<image:image xmlns:p='{namespace}'/></url>", only="extension").replace(":37", ":1") == expected


def test_too_many_entries_are_told_once(found: Callable[..., str]) -> None:
    rows = "".join(f"\n<url><loc>https://example.org/{number}</loc></url>" for number in range(50_002))
    assert found(rows) == "too-many-urls 50002:1"
    assert found(rows.replace("url>", "sitemap>"), root="sitemapindex") == "too-many-sitemaps 50002:1"
    assert found(rows.replace("<url>", "<x:url xmlns:x='urn:x'>", 2).replace("</url>", "</x:url>", 2)) == ""
