"""URLs: what tolerant mode makes of them, what strict mode accepts, and what the linter is told of them."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from sitemapcrawl.protocol import urls
from sitemapcrawl.protocol.hosts import ascii_host
from sitemapcrawl.protocol.urls import (
    character_faults,
    check_start,
    check_strict,
    encode_absolute,
    fine_at,
    is_robots,
    origin,
    request_url,
    resolve,
    structure_fault,
)

BASE = "https://example.com/shop/sitemap.php?id=1#top"
LONG = "https://example.com/"  # 20 characters


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/page", "https://example.com/page"),
        ("page", "https://example.com/shop/page"),
        ("./here", "https://example.com/shop/here"),
        ("../up", "https://example.com/up"),
        ("../../../top", "https://example.com/top"),
        ("/a/./b/../c", "https://example.com/a/c"),
        ("/a/..", "https://example.com/"),
        ("/a/b/..", "https://example.com/a/"),
        ("/a/.", "https://example.com/a/"),
        ("/a//b", "https://example.com/a//b"),
        ("/.well-known/x", "https://example.com/.well-known/x"),
        ("?page=2", "https://example.com/shop/sitemap.php?page=2"),
        ("?", "https://example.com/shop/sitemap.php?"),
        # A fragment alone is one of the document itself, with its query.
        ("#section", "https://example.com/shop/sitemap.php?id=1#section"),
        ("sub/page.html?x=1#y", "https://example.com/shop/sub/page.html?x=1#y"),
        ("www.example.com/page", "https://example.com/shop/www.example.com/page"),
        ("sub/a:b", "https://example.com/shop/sub/a:b"),
        ("page?a:b", "https://example.com/shop/page?a:b"),
        ("//cdn.example.com/asset", "https://cdn.example.com/asset"),
        ("//cdn.example.com/a/../b", "https://cdn.example.com/b"),
        ("//bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("/gift cards?for=him and her#to p", "https://example.com/gift%20cards?for=him%20and%20her#to%20p"),
        ("pâtisserie", "https://example.com/shop/p%C3%A2tisserie"),
        ("/item/{id}?x={y}", "https://example.com/item/%7Bid%7D?x={y}"),
        ("%2e%2e/x", "https://example.com/shop/%2e%2e/x"),
    ],
)
def test_relative_location_is_resolved(location: str, expected: str) -> None:
    assert resolve(location, BASE) == expected


@pytest.mark.parametrize(
    ("base", "location", "expected"),
    [
        ("https://example.com", "page", "https://example.com/page"),
        ("https://example.com", "?q", "https://example.com?q"),
        ("http://example.com/a/../b/s.xml", "page", "http://example.com/b/page"),
        ("https://bücher.example/s.xml", "/page", "https://xn--bcher-kva.example/page"),
        ("https://bücher.example/s.xml", "page", "https://xn--bcher-kva.example/page"),
        ("https://example.com/ä/s.xml", "ö", "https://example.com/%C3%A4/%C3%B6"),
        ("http://example.com:8080/s.xml", "/a", "http://example.com:8080/a"),
        ("http://example.com//x/s.xml", "a", "http://example.com//x/a"),
    ],
)
def test_base_decides(base: str, location: str, expected: str) -> None:
    assert resolve(location, base) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "http://example.org/d?e=f#g",
        "https://example.com:8443/c",
        "https://example.com:/c",
        "https://Shop.Example.ORG/Page",
        "HTTPS://example.com/A/../b/./c",
        "https://example.com?q=1",
        "https://example.com#f",
        "https://example.com//double//slash/",
        "https://example.com/a,b;c=d!(e)*$&'@:~-_.",
        "https://example.com/list[1]?filter[size]=XL&x=it's#part[2]",
        "https://example.com/a%2Fb?c=d%26e#%c3%a9",
        "https://example.com/a+b?c+d",
        "https://example.com/?a=1&a=2&",
        'https://example.com/q?v=a"b<c>d\\e^f`g{h|i}j',
        # The query is not looked into: this one is served, as it is, by most sites that have it.
        "https://example.com/sale?off=100%",
        "https://my_shop.example/page",
        "https://user:secret@example.com/",
        "https://[2001:db8::1]:8443/page",
        "https://[fe80::1%25eth0]/",
        "https://xn--bcher-kva.example/page",
        "https://b%C3%BCcher_x.example/",
    ],
)
def test_url_without_need_is_returned_as_written(url: str) -> None:
    assert resolve(url, BASE) == url
    assert encode_absolute(url) == url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/summer sale/red shoes", "https://example.com/summer%20sale/red%20shoes"),
        ("https://example.com?q=summer sale", "https://example.com?q=summer%20sale"),
        ("https://example.com/café?q=café#é", "https://example.com/caf%C3%A9?q=caf%C3%A9#%C3%A9"),
        ("https://example.com/😀", "https://example.com/%F0%9F%98%80"),
        ("https://example.com/caf%C3%A9 menü?%C3%A4 ö", "https://example.com/caf%C3%A9%20men%C3%BC?%C3%A4%20%C3%B6"),
        ('https://example.com/a"b<c>d\\e^f`g{h|i}j', "https://example.com/a%22b%3Cc%3Ed%5Ce%5Ef%60g%7Bh%7Ci%7Dj"),
        ("https://example.com/#a|b", "https://example.com/#a%7Cb"),
        ("https://example.com/a|b?c|d é#e|f", "https://example.com/a%7Cb?c|d%20%C3%A9#e%7Cf"),
        ("https://example.com/100%", "https://example.com/100%25"),
        ("https://example.com/%zz%4/%41?%zz#%zz", "https://example.com/%25zz%254/%41?%zz#%25zz"),
        ("https://example.com/a\u00a0b\u2028c\u0085", "https://example.com/a%C2%A0b%E2%80%A8c%C2%85"),
        ("https://example.com/\ud800é\udfff", "https://example.com/%EF%BF%BD%C3%A9%EF%BF%BD"),
        ("HTTP://EXAMPLE.com/ü", "HTTP://EXAMPLE.com/%C3%BC"),
        ("https://bücher.example/größe 1", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe%201"),
        ("https://BÜCHER.example:8443", "https://xn--bcher-kva.example:8443"),
        ("https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/"),
        ("https://bücher_x.example/page", "https://b%C3%BCcher_x.example/page"),
        ("https://us er@bücher.example/", "https://us%20er@xn--bcher-kva.example/"),
        ("https://[::1]/a b", "https://[::1]/a%20b"),
    ],
)
def test_what_a_url_may_not_hold_is_encoded(url: str, expected: str) -> None:
    assert resolve(url, BASE) == expected
    assert encode_absolute(url) == expected
    assert resolve(expected, BASE) == expected


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://example.com/a\tb", "'\\t'"),
        ("https://example.com/a\nb", "'\\n'"),
        ("/a\x00b", "'\\x00'"),
        ("https://example.com/\x7f", "'\\x7f'"),
        ("ftp://example.com/", "unsupported scheme 'ftp'"),
        ("mailto:info@example.com", "unsupported scheme 'mailto'"),
        ("javascript:void(0)", "unsupported scheme 'javascript'"),
        ("localhost:8000/page", "unsupported scheme 'localhost'"),
        ("https:///page", "missing host"),
        ("https:page", "missing host"),
        ("https:", "missing host"),
        ("https://", "missing host"),
        ("https://:8080/page", "missing host"),
        ("https://user@/page", "missing host"),
        ("https:\\\\example.com\\page", "missing host"),
        ("//", "missing host"),
        ("///page", "missing host"),
        ("//?q", "missing host"),
        ("https://\u00ad/page", "missing host"),
        ("//::", "invalid port '::'"),
        ("https://example.com:port/", "invalid port ':port'"),
        ("https://example.com:80:80/", "invalid port ':80:80'"),
        ("https://example.com:²/", "invalid port"),
        ("https://example.com:-1/", "invalid port"),
        ("https://example.com:65536/", "65535"),
        ("https://example.com:" + "9" * 1000 + "/", "65535"),
        ("https://[::1/page", "missing ']'"),
        ("https://[::1]x/", "invalid port 'x'"),
        ("https://ex[am]ple.com/", "misplaced bracket"),
        ("https://]@example.com/", "invalid userinfo"),
        ("https://a:[b]@example.com/", "invalid userinfo"),
        ("https://[example.com]/", "invalid host"),
        ("https://exa mple.com/", "invalid character ' '"),
        ("https://example.com\\page", "invalid character '\\\\'"),
        ("https://ex|ample.com/", "invalid character '|'"),
        ("https://ex%41mple.com/", "invalid URL escape '%41'"),
        ("https://example%.com/", "invalid URL escape"),
        ("10:30", "colon"),
        (":page", "colon"),
        ("größe:xl", "colon"),
    ],
)
def test_what_leads_to_no_url_is_rejected(location: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        resolve(location, BASE)
    assert len(str(caught.value)) < 300
    assert encode_absolute(location) == location


def test_largest_port_is_accepted() -> None:
    assert resolve("https://example.com:65535/", BASE) == "https://example.com:65535/"
    assert resolve("https://example.com:0000443/", BASE) == "https://example.com:0000443/"


@pytest.mark.parametrize(
    ("head", "unit", "encoded"),
    [("", "a", "a"), ("", "é", "%C3%A9"), ("?", " x", "%20x"), ("", "%", "%25")],
    ids=["plain", "path", "query", "percent"],
)
def test_length_is_that_of_the_encoded_url(head: str, unit: str, encoded: str) -> None:
    count = (2048 - 20 - len(head)) // len(encoded)
    fill = "a" * (2048 - 20 - len(head) - count * len(encoded))
    given = LONG + fill + head + unit * count
    expected = LONG + fill + head + encoded * count
    assert len(expected) == 2048
    assert resolve(given, BASE) == expected == encode_absolute(given)
    assert resolve(given[19:], BASE) == expected  # the same, relative
    longer = given.replace(LONG, LONG + "a")
    assert encode_absolute(longer) == longer
    for location in (longer, longer[19:]):
        with pytest.raises(ValueError, match="2048"):
            resolve(location, BASE)


@pytest.mark.parametrize(
    "url", ["/images/summer sale.jpg", "ftp://example.com/été.jpg", "https:///é", "é", "", "https://[é", "https://a b/é"]
)
def test_anything_but_an_absolute_url_is_left_alone(url: str) -> None:
    assert encode_absolute(url) == url


@pytest.mark.parametrize(
    "location",
    [
        "https://example.com",
        "https://example.com/page?x=1#y",
        "https://EXAMPLE.com/A/../b",
        "HTTPS://example.com/",
        "https://example.com:443/",
        "https://example.com:0443/",
        "https://example.com:/",
        "https://user@example.com/",
        "https://example.com/café?é#é",
        "https://example.com/list[1]?f[]=é#ü[2]",
        "https://example.com/caf%c3%a9",
        "https://example.com/sale?off=100%",
        "https://example.com/a\u00a0b",
        "https://example.com/" + "a" * 2028,
        "https://example.com/" + "é" * 2028,
    ],
)
def test_strict_mode_accepts(location: str) -> None:
    check_strict(location, "https://example.com/sitemap.xml")
    check_strict(location, "https://Example.com:443/sitemap.xml")
    check_strict(location, None)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("/page", "strict mode: "),
        ("page", "not absolute"),
        ("//example.com/page", "not absolute"),
        ("?q", "not absolute"),
        ("ftp://example.com/", 'strict mode: unsupported scheme "ftp"'),
        ("https:///page", "missing host"),
        ("https://:8080/page", "missing host"),
        ("https://example.com:port/page", "invalid port"),
        ("https://example.com:65536/page", "65535"),
        ("https://[::1/page", "missing ']'"),
        ("https://example.com/a b", "strict mode: URL contains a space"),
        ("https://example.com/?a b", "strict mode: URL contains a space"),
        ("https://example.com/a\tb", "control character '\\t'"),
        ("https://example.com/a\x7fb", "control character '\\x7f'"),
        ("https://example.com/?a|b", "strict mode: URL contains the character '|', which it has to give as \"%7C\""),
        ("https://example.com/a%", "invalid URL escape '%'"),
        ("https://example.com/#5%x", "invalid URL escape '%x'"),
        ("https://example.com/" + "a" * 2029, "2049"),
        ("https://example.com/" + "é" * 2029, "2049"),
        ("https://ex%41mple.com/", "invalid URL escape"),
    ],
)
def test_strict_mode_rejects(location: str, words: str) -> None:
    for base in ("https://example.com/sitemap.xml", None):
        with pytest.raises(ValueError, match=re.escape(words)) as caught:
            check_strict(location, base)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("character", '"<>\\^`{|}')
@pytest.mark.parametrize("place", ["", "?q=", "#"])
def test_strict_mode_names_the_character_and_its_escape(character: str, place: str) -> None:
    with pytest.raises(ValueError, match="which it has to give as") as caught:
        check_strict(f"https://example.com/{place}a{character}b", "https://example.com/sitemap.xml")
    assert f"the character '{character}', which it has to give as \"%{ord(character):02X}\"" in str(caught.value)


@pytest.mark.parametrize(
    ("location", "base", "words"),
    [
        ("https://www.example.com/", "https://example.com/", 'host "www.example.com" does not match sitemap host "example.com"'),
        ("https://example.com.evil.test/", "https://example.com/", 'host "example.com.evil.test"'),
        (
            "https://example.com:8443/",
            "https://example.com/",
            'host "example.com:8443" does not match sitemap host "example.com"',
        ),
        ("https://example.com:80/", "https://example.com/", 'host "example.com:80"'),
        ("https://example.com@evil.test/", "https://example.com/", 'host "evil.test"'),
        ("http://example.com/", "https://example.com/", 'protocol "http" does not match sitemap protocol "https"'),
        ("http://example.com/", "http://example.com:8080/", 'sitemap host "example.com:8080"'),
        ("https://bucher.example/", "https://bücher.example/", 'host "bucher.example"'),
    ],
)
def test_strict_mode_wants_the_site_of_the_sitemap(location: str, base: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        check_strict(location, base)
    assert str(caught.value).startswith("strict mode: ")
    check_strict(location, None)


@pytest.mark.parametrize(
    ("location", "base"),
    [
        ("https://xn--bcher-kva.example/one", "https://bücher.example/s.xml"),
        ("https://BÜCHER.example/one", "https://xn--bcher-kva.example/s.xml"),
        ("https://XN--BCHER-KVA.example:443/one", "https://bücher.example/s.xml"),
        ("https://b%C3%BCcher.example/one", "https://bücher.example/s.xml"),
        ("https://bücher_x.example/one", "https://b%C3%BCcher_x.example/s.xml"),
        ("http://example.com:80/", "http://EXAMPLE.com"),
        ("http://example.com:8080/", "http://example.com:8080/s.xml"),
    ],
)
def test_strict_mode_takes_every_form_of_a_host(location: str, base: str) -> None:
    check_strict(location, base)


def test_common_locations_are_told_by_one_expression() -> None:
    assert fine_at("https://example.com/s.xml")("https://example.com/a?b=%20#c")
    assert not fine_at("https://example.com/s.xml")("https://example.com.evil.test/")
    assert not fine_at("https://exampleXcom/s.xml")("https://example.com/")
    assert fine_at(None) is urls.is_fine


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/page", "relative"),
        ("www.example.com/", "relative"),
        ("//example.com/", "relative"),
        ("1:2", "relative"),
        ("", "relative"),
        ("ftp://example.com:x/", "scheme"),
        ("mailto:a@example.com", "scheme"),
        ("https:page", "no-host"),
        ("https:///page", "no-host"),
        ("https://:8080/", "no-host"),
        ("https://example.com:x/", "malformed"),
        ("https://example.com:70000/", "malformed"),
        ("https://[2001:db8::1/", "malformed"),
        ("https://shop.example:443/b;c=1?x[]=2&y=~!$'()*+,:@#f", None),
        ("HTTPS://shop.example", None),
        ("https://a b/é|%", None),  # the rules of the characters have it
    ],
)
def test_structure_fault(url: str, expected: str | None) -> None:
    assert structure_fault(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://shop.example/%C3%BC/%20/%7c/100%25", ()),
        ("https://shop.example/?%41#%41", ()),
        ("/page", ()),
        ("https://shop.example/a b", ("space",)),
        ("https://shop.example/a\n  b", ("space", "control")),
        ("https://shöp.example/", ("non-ascii",)),
        ("https://shop.example/?q=日本", ("non-ascii",)),
        ("https://shop.example/\ufffd", ("non-ascii",)),
        ("https://shop.example/?a|b", ("character",)),
        ("https://shop.example/?50%-off", ("percent",)),
        ("https://shop.example/%u00e9", ("percent",)),
        ("https://shop.example/" + "a" * 2027, ()),
        ("https://shop.example/" + "a" * 2028, ("too-long",)),
        ("/" + "%" * 3000, ("percent", "too-long")),
    ],
)
def test_character_faults(url: str, expected: tuple[str, ...]) -> None:
    assert character_faults(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/", ("https", "example.com", 443)),
        ("http://Example.COM:8080", ("http", "example.com", 8080)),
        ("HTTPS://user@BÜCHER.example:/p", ("https", "xn--bcher-kva.example", 443)),
        ("http://[2001:DB8::1]:81/", ("http", "[2001:db8::1]", 81)),
        ("https://bücher_x.example/", ("https", "b%c3%bccher_x.example", 443)),
        ("ftp://example.com/", ("ftp", "example.com", None)),
    ],
)
def test_origin(url: str, expected: tuple[str, str, int | None]) -> None:
    assert origin(url) == expected


def test_origin_of_a_wrong_port_is_an_error() -> None:
    with pytest.raises(ValueError, match="port"):
        origin("https://example.com:x/")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("Example.COM", "Example.COM"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("www.BÜCHER.example.", "www.xn--bcher-kva.example."),
        ("bu\u0308cher.example", "xn--bcher-kva.example"),  # a letter and a combining diaeresis
        ("straße.example", "xn--strae-oqa.example"),  # IDNA 2003 makes it strasse
        ("☕.example", "xn--53h.example"),  # IDNA 2008 knows no symbols
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"),  # an ideographic full stop is one
        ("ＥＸＡＭＰＬＥ.com", "example.com"),
        ("ex\u00adämple.com", "xn--exmple-cua.com"),  # a soft hyphen is ignored
        ("пример.испытание", "xn--e1afmkfd.xn--80akhbyknj4f"),
        ("אבג.example", "xn--4dbcd.example"),
        ("אab.example", "%D7%90ab.example"),  # from right to left, but ends from left to right
        ("-ü.example", "-%C3%BC.example"),
        ("xn--ü.example", "xn--%C3%BC.example"),
        ("xn--a.ü.example", "xn--a.%C3%BC.example"),
        ("\u0308a.example", "%CC%88a.example"),
        ("a\u00a0b.example", "a%C2%A0b.example"),
        ("\ud800.example", "%EF%BF%BD.example"),
        ("%FF.example", "%FF.example"),
        ("[::1]", "[::1]"),
        ("ü" * 2000, "%C3%BC" * 2000),
    ],
)
def test_ascii_host(host: str, expected: str) -> None:
    assert ascii_host(host) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://bücher.example/café?q=ü#top", "https://xn--bcher-kva.example/caf%C3%A9?q=%C3%BC"),
        ("https://example.com/?a|b%", "https://example.com/?a|b%"),
        ("https://example.com/page#", "https://example.com/page"),
        ("https://example.com/page?#x#y", "https://example.com/page?"),
        ("https://example.com/" + "é" * 2000, "https://example.com/" + "%C3%A9" * 2000),
    ],
)
def test_request_url(url: str, expected: str) -> None:
    assert request_url(url) == expected


@pytest.mark.parametrize("url", ["http://example.com", "HTTPS://bücher.example/a b", "http://127.0.0.1:8000/robots.txt"])
def test_start_url(url: str) -> None:
    check_start(url)


@pytest.mark.parametrize(
    "url", ["", "example.com", "/sitemap.xml", "file:///etc/passwd", "ftp://example.com/", "http://", "http:x", "http://a:b/"]
)
def test_start_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL is not absolute|unsupported scheme|missing host|invalid port"):
        check_start(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/robots.txt", True),
        ("https://example.com/ROBOTS.txt?v=2", True),
        ("https://example.com/a/Robots.Txt#x/y", True),
        ("https://example.com/robots.txt?from=/sitemap.xml", True),
        ("https://example.com/sitemap.xml?from=/robots.txt", False),
        ("https://example.com/sitemap.xml#/robots.txt", False),
        ("https://example.com/robots.txt/sitemap.xml", False),
        ("https://example.com/robots.txt/", False),
        ("https://example.com/myrobots.txt", False),
        ("https://example.com/robots.txt.gz", False),
        ("https://robots.txt", False),
    ],
)
def test_is_robots(url: str, expected: bool) -> None:
    assert is_robots(url) is expected


@pytest.mark.parametrize(
    "location",
    [
        "https://example.com/" + "a" * 5_000_000,
        "https://example.com/" + "%41" * 2_000_000,
        "https://example.com/" + "%" * 5_000_000,
        "https://example.com/?" + "é" * 5_000_000,
        "https://" + "a" * 5_000_000,
        "https://" + "ü." * 2_000_000,
        "https://example.com:" + "9" * 5_000_000,
        "https://[" + ":" * 5_000_000 + "]",
        "https://" + "@" * 5_000_000,
        "a" * 5_000_000 + ":",
        "/a/.." * 1_000_000,
        "/" * 5_000_000,
        "é" * 5_000_000,
        "\x00" * 5_000_000,
        "\ud800" * 5_000_000,
    ],
    ids=lambda location: ascii(location[:24]),
)
def test_megabytes_are_refused_in_one_pass(location: str) -> None:
    tracemalloc.start()
    try:
        if "/.." not in location:
            with pytest.raises(ValueError, match=r".+") as caught:
                resolve(location, BASE)
            assert len(str(caught.value)) < 1500
        with pytest.raises(ValueError, match=r".+") as caught:
            check_strict(location, BASE)
        assert len(str(caught.value)) < 1500
        assert encode_absolute(location) == location
        structure_fault(location)
        assert "too-long" in character_faults(location)
        is_robots(location)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000_000
