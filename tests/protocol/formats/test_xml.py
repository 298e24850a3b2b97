"""One meaning by three readers: plain entries and libxml2, libxml2 alone, and the tolerant reader, on random documents.

And what is left of a document that is damaged at random: never a URL that nobody wrote.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from sitemapcrawl.protocol import reader as door
from sitemapcrawl.protocol import urls
from sitemapcrawl.protocol.errors import ParseError, SitemapError
from sitemapcrawl.protocol.formats import xml
from sitemapcrawl.protocol.records import set_fields

URL = "https://example.com/shop/sitemap.xml"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
EXTENSIONS = (
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:mobile="u:m"'
)
LOCS = (
    "https://example.com/a", "https://example.com/?a=1&b=2", "https://example.com/é", "/relative", "https://example.com/a b", "",
    "https://example.com/<x>", "ftp://example.com/", "https://bücher.example/", "https://example.com/a\rb", "https://example.com/a\n b",
    "https://example.com/]]", "https://example.com/&amp;", "https://example.com/" + "x" * 2_050, "https://example.com/😀",
)  # fmt: skip
VALUES = {
    "loc": LOCS,
    "lastmod": ("2024-01-01", "2024", "2024-02-30", "", "x", "2024-01-15T10:30:00Z"),
    "changefreq": ("daily", "Daily", "x", ""),
    "priority": ("0.5", "1", "2", "", "x", "0.50"),
}
SPACES = ("", "", " ", "\n", "\r\n", "\t", "  \n", "\r", "\xa0", "\u2003")


class Writer:
    """Writes random well-formed documents: whatever a person or a program may do to a sitemap, and some things nobody does."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_index = self.random.random() < 0.2
        self.prefix = "s:" if self.random.random() < 0.2 else ""
        self.plainness = self.random.random()

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def space(self) -> str:
        return self.random.choice(SPACES)

    def between(self) -> str:
        if self.maybe(0.8):
            return self.space() if self.maybe(0.5) else ""
        comment = f"<!-- <url><loc>{LOCS[0]}/no</loc></url> -->"
        return self.random.choice(["<!-- c -->", "<?pi x?>", comment, "text", "<![CDATA[ <url> ]]>", "&amp;", "<!--\r-->"])

    def text(self, value: str) -> str:
        return self.space() + "".join(self.character(character) for character in value) + self.space()

    def character(self, character: str) -> str:
        if character in "&<":
            return self.random.choice(
                [{"&": "&amp;", "<": "&lt;"}[character], f"&#{ord(character)};", f"<![CDATA[{character}]]>"]
            )
        if self.maybe(0.95):
            return character
        ways = ["&#x{0:x};", "<!-- x -->{1}", "<?p q?>{1}", "<![CDATA[{1}]]>"]
        if self.maybe(0.1):
            ways = ["<junk/>{1}", "<x:junk xmlns:x='u:x'>https://example.com/no</x:junk>{1}"]
        return self.random.choice(ways).format(ord(character), character)

    def element(self, name: str, content: str, prefix: str | None = None) -> str:
        prefix = self.prefix if prefix is None else prefix
        attributes = ""
        if not self.maybe(self.plainness):
            ways = ["", "", ' a="b"', ' xml:lang="en"', " b='&amp;&#10;>'", ' xmlns:q="u:q" q:a="1"', ' c="\r\n x"', ' xmlns=""']
            attributes = self.random.choice([*ways, "" if self.prefix else f' xmlns="{SITEMAP}"'])
        if not content and self.maybe(0.3):
            return f"<{prefix}{name}{attributes}/>"
        return f"<{prefix}{name}{attributes}>{content}</{prefix}{name}{' ' if self.maybe(0.2) else ''}>"

    def extension(self) -> str:
        def field(name: str, prefix: str, *values: str) -> str:
            return self.element(name, self.text(self.random.choice(values)), prefix) if self.maybe(0.8) else ""

        kind = self.random.choice(["image", "link", "news", "video", "mobile"])
        if kind == "link":
            rel, lang = self.random.choice(["alternate", " alternate ", "x", ""]), self.random.choice(["de", ""])
            href = self.random.choice(
                ["https://example.com/é", "", "https://example.com/&amp;&#x20;b", "  https://example.com/x "]
            )
            return f'<xhtml:link rel="{rel}" hreflang="{lang}" href="{href}"/>'
        prefix = f"{kind}:"
        if kind == "image":
            inner = field("loc", prefix, "https://example.com/a b", "/i", "", "https://example.com/?a&b") + field(
                "title", prefix, "T & t"
            )
        elif kind == "news":
            publication = self.element("publication", field("name", prefix, "N") + field("language", prefix, "en", ""), prefix)
            inner = publication + field("publication_date", prefix, "2024", "x", "") + field("title", prefix, "t")
        elif kind == "video":
            fields = [field("thumbnail_loc", prefix, "https://example.com/t", ""), field("duration", prefix, "5", "x", "")]
            fields += [
                field("tag", prefix, "a"),
                field("tag", prefix, "b"),
                '<video:platform relationship="allow">web</video:platform>',
            ]
            inner = "".join(self.random.sample(fields, 4))
        else:
            inner = ""
        return self.element(kind, inner + self.between(), prefix)

    def plain_entry(self, name: str) -> str:
        space = self.space()
        loc = self.random.choice(LOCS).replace("&", "&amp;").replace("<", "&lt;")
        values = {"loc": loc, "lastmod": "2024-01-01", "changefreq": "daily", "priority": "0.5"}
        names = ["loc", *(key for key in ("lastmod", "changefreq", "priority") if self.maybe(0.7))]
        fields = [f"<{self.prefix}{key}>{self.space()}{values[key]}{self.space()}</{self.prefix}{key}>" for key in names]
        return f"<{self.prefix}{name}>{space}{space.join(fields)}{space}</{self.prefix}{name}>"

    def entry(self) -> str:
        name = "sitemap" if self.is_index else "url"
        if self.maybe(self.plainness):
            return self.plain_entry(name)
        names = [key for key in VALUES if self.maybe(0.8)]
        if self.maybe(0.1):
            names.append(self.random.choice(names or ["loc"]))
        if self.maybe(0.4):
            self.random.shuffle(names)
        fields = [self.element(key, self.text(self.random.choice(VALUES[key]))) for key in names]
        for _ in range(self.random.choice([0, 0, 1, 2])):
            fields.insert(self.random.randrange(len(fields) + 1), self.extension())
        loc = self.element("loc", self.text(self.random.choice(LOCS)))
        for odd in (
            self.element(name, loc),
            self.element("other", loc),
            self.element("lastmod", self.element("priority", "0.1")),
        ):
            if self.maybe(0.04):
                fields.append(odd)
        return self.element(name, self.between().join(fields) + self.between())

    def odd(self) -> str:
        foreign = "<url xmlns='u:x'><loc>https://example.com/foreign</loc></url>"
        root = self.element("sitemapindex" if self.is_index else "urlset", self.entry())
        return self.random.choice(
            [self.element("other", "x"), root, self.element("sitemap", self.element("loc", LOCS[0])), foreign]
        )

    def document(self) -> str:
        name = self.prefix + ("sitemapindex" if self.is_index else "urlset")
        entries = [self.entry() if self.maybe(0.95) else self.odd() for _ in range(self.random.choice([0, 1, 3, 8]))]
        namespace = f' xmlns{":s" if self.prefix else ":z" if self.maybe(0.1) else ""}="{SITEMAP}"'
        nearly = ' xmlns:image="https://www.google.com/schemas/sitemap-image/1.1/"'
        declarations = [
            "",
            '<?xml version="1.0"?>',
            '<?xml version="1.0" encoding="UTF-8"?>\r\n',
            "<!-- x -->\n",
            "<?a b?>\n<!DOCTYPE urlset>",
        ]
        return (
            f"{self.random.choice(declarations)}<{name}{namespace}{self.random.choice(['', EXTENSIONS, nearly])}>"
            f"{self.between()}{self.between().join(entries)}{self.between()}</{name}>{self.random.choice(['', chr(10), '<!-- e -->', '<?x y?>'])}"
        )


def as_records(body: bytes, way: str, *, strict: bool) -> list[dict[str, Any]]:
    reading = door._Reading(body, URL, strict=strict, max_size=None)
    source = reading._source(reading._utf8())
    if way == "libxml2":
        source = source._replace(plain=None)
    elif way == "markup":
        source = reading._tolerant_source(body.decode())
    groups = reading._groups(door._KINDS[source.name], source)
    return [record.record() if isinstance(record, SitemapError) else set_fields(record) for group in groups for record in group]


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
@pytest.mark.parametrize(("size", "window"), [(65_536, 524_288), (64, 300), (7, 1_000)])
def test_three_readers_agree(size: int, window: int, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "_SLICE", size)
    monkeypatch.setattr(xml, "_WINDOW", window)
    count = 0
    for seed in range(250):
        body = Writer(seed).document().encode()
        assert xml.syntax_error(body) is None, body
        expected = as_records(body, "markup", strict=strict)
        count += len(expected)
        for way in ("plain", "libxml2"):
            assert as_records(body, way, strict=strict) == expected, (way, seed, body)
    assert count > 500


# -- damage ----------------------------------------------------------------------------------------------------------

HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n'


def row(number: int) -> str:
    return f"<url><loc>https://example.com/page-{number}/x</loc><lastmod>2024-01-0{number}</lastmod></url>\n"


def read_locs(body: bytes, *, strict: bool = False) -> tuple[list[str], list[ParseError]]:
    try:
        records = list(door.read(body, URL, strict))
    except ParseError as error:
        records = [error]
    pages = [record.loc for record in records if not isinstance(record, SitemapError)]
    return pages, [record for record in records if isinstance(record, ParseError)]


WHOLE = {
    "urlset": HEAD + "".join(row(number) for number in range(1, 5)) + "</urlset>",
    "references": HEAD + "".join(
        f"<url><loc>https://example.com/{number}?a=1&b=caf&eacute;é</loc><image:image><image:loc>https://example.com/?{number}&x"
        "</image:loc></image:image></url>" for number in range(3)
    ) + "</urlset>",
    "missing-ends": HEAD + "<url><loc>https://example.com/1</loc><url><loc>https://example.com/2<lastmod>2024-01-01</lastmod></url>"
    "<!-- <url><loc>https://example.com/no</loc></url> --><url><loc><![CDATA[https://example.com/3]]></loc></url></urlset>",
    "rss": "<rss><channel><title>a&nbsp;b</title>" + "".join(
        f"<item><title>x & y</title><link>https://example.com/{number}</link></item>" for number in range(3)
    ) + "</channel></rss>",
    "atom": "<feed xmlns='http://www.w3.org/2005/Atom'>" + "".join(
        f"<entry><link href='https://example.com/{number}?a&b'/><updated>2024</updated></entry>" for number in range(3)
    ) + "</feed>",
    "index": "<!DOCTYPE x [<!ENTITY a 'b'>]><sitemapindex>" + "".join(
        f"<sitemap><loc>https://example.com/{number}&a;</loc></sitemap>" for number in range(3)
    ) + "</sitemapindex>",
}  # fmt: skip


@pytest.mark.parametrize("document", WHOLE.values(), ids=WHOLE)
def test_what_is_cut_off_yields_what_stood_before_the_cut_and_one_error(document: str) -> None:
    body = document.encode()
    whole, errors = read_locs(body)
    assert len(whole) >= 3
    assert not errors
    for size in range(len(body)):
        pages, errors = read_locs(body[:size])
        assert pages == whole[: len(pages)], body[:size]
        assert len(errors) == 1, body[:size]
        assert read_locs(body[:size], strict=True)[0] == []


JUNK = (
    "&", "&nbsp;", "&eacute", "&#0;", "\x00", "\x08", "<", ">", "</loc>", '"', "'", "<!--", "-->", "<![CDATA[", "]]>", "<?", "</", "<b",
    "\ufeff", "\u200b", "<!", "\r", "&lt;", "<br>", "<b/>", "</b>",
)  # fmt: skip


def damaged(seed: int) -> str:
    choice = random.Random(seed)
    text = WHOLE["urlset"]
    for _ in range(choice.choice([1, 1, 1, 2])):
        position = choice.randrange(len(HEAD), len(text))
        if choice.random() < 0.7:
            text = text[:position] + choice.choice(JUNK) + text[position:]
        else:
            text = text[:position] + choice.choice('<>&/"x \x01') + text[position + 1 :]
    return text


def written_in(text: str) -> set[str]:
    """What a careful human reads as locations: from <loc> to </loc>, or to the tag that follows where that is missing."""
    found = set()
    text += re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)  # what is well-formed means what XML says it does
    for match in re.finditer(r"<loc[^>]*>(.*?)(?:</loc|(?=</?[a-z]{3,}))", text, re.DOTALL):
        given = match[1].strip().strip("\u200b\ufeff")
        for meaning in (
            given,
            given.replace("&nbsp;", "\xa0").replace("&lt;", "<"),
            re.sub(r"<!\[CDATA\[|]]>|<!--.*?-->", "", given),
        ):
            try:
                found.add(urls.resolve(meaning.strip(), URL))
            except (ValueError, IndexError):
                continue
    return found


def test_damage_invents_no_url() -> None:
    intact = set(read_locs(WHOLE["urlset"].encode())[0])
    kept = 0
    for seed in range(3_000):
        text = damaged(seed)
        pages, _ = read_locs(text.encode())
        kept += len(pages)
        assert set(pages) <= intact | written_in(text), (seed, text)
    assert kept > 3 * 3_000  # of four pages each


@pytest.mark.parametrize("start", ["<a>", "<a xmlns='b c'>", "<a><i:b/>", "<a i:b=''>", "<a xmlns:i=''>"])
def test_a_fault_of_namespaces_is_none_of_xml_and_hides_none(start: str) -> None:
    for rest in ("</a>", "</a>\n<!-- c --><?p?>\n"):
        assert xml.syntax_error(f"{start}{rest}".encode()) is None
    for rest, words in (
        ("</a>b", ("content at the end", "junk")),
        ("</a><b/>", ("content at the end", "junk")),
        ("</a></a>", ("content at the end", "not well-formed", "junk")),
        ("</a>\0", ("content at the end", "not well-formed")),
        ("", ("Premature end",)),
        ("<b></a>", ("mismatch",)),
        ("&</a>", ("EntityRef",)),
    ):
        problem = xml.syntax_error(f"{start}{rest}".encode())
        assert problem is not None
        assert any(word in problem for word in words), problem
        assert "line 1, column " in problem
