"""Every rule of the linter, in one table: what it checks, how bad it is to break it, why, an example, and its source.

``scrapy lint --list-rules`` and ``--explain``, the descriptions in SARIF and ``docs/lint.md`` are made of it. To add a
rule: a row here, and the check in the module of its subject. An example is what could stand in a sitemap: a whole
document, an entry, or a part of one; where none can be shown it is in words. A test lints them all.

It is a table, and so it is long.
"""

from __future__ import annotations

from typing import Final, NamedTuple

ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"
SEVERITIES: Final = (ERROR, WARNING, NOTE)

_GOOGLE = "https://developers.google.com/search/docs"
SOURCES: Final = {
    "protocol": "the protocol, https://www.sitemaps.org/protocol.html",
    "xml": "XML 1.0, https://www.w3.org/TR/2008/REC-xml-20081126/",
    "namespaces": "Namespaces in XML 1.0, https://www.w3.org/TR/2009/REC-xml-names-20091208/",
    "datetime": "Date and Time Formats of the W3C, https://www.w3.org/TR/NOTE-datetime",
    "build": f"Google, Build and submit a sitemap, {_GOOGLE}/crawling-indexing/sitemaps/build-sitemap",
    "large": f"Google, Manage your sitemaps, {_GOOGLE}/crawling-indexing/sitemaps/large-sitemaps",
    "images": f"Google, Image sitemaps, {_GOOGLE}/crawling-indexing/sitemaps/image-sitemaps",
    "news": f"Google, News sitemaps, {_GOOGLE}/crawling-indexing/sitemaps/news-sitemap",
    "videos": f"Google, Video sitemaps, {_GOOGLE}/crawling-indexing/sitemaps/video-sitemaps",
    "localized": f"Google, Localized versions, {_GOOGLE}/specialty/international/localized-versions",
    "2022": "Google, Spring cleaning, https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions",
    "viewer": "what viewers of sitemaps check",
    "strict": "the strict mode of this package's reader, which follows go-sitemap-parser",
    "linter": "this linter",
}  # fmt: skip


class Rule(NamedTuple):
    """A rule: its id and severity, what breaks it, why that matters, an example that does, one that does not, sources."""

    id: str
    severity: str
    summary: str
    why: str
    bad: str
    good: str
    sources: tuple[str, ...]  # keys of SOURCES


class Group(NamedTuple):
    """Rules about one subject."""

    title: str
    rules: tuple[Rule, ...]


_XML = "xml", "viewer"
_PROTOCOL = "protocol", "viewer"
_STRICT = "strict", "protocol"

_SM = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NOT_WELL_FORMED = "The file is not well-formed XML, and most readers refuse all of it."

GROUPS: Final = (
    Group(
        "XML",
        (
            Rule(
                "xml-ampersand", ERROR, "a & that begins no reference",
                "An & has to be written &amp; in XML. " + _NOT_WELL_FORMED,
                "<loc>https://example.com/?a=1&b=2</loc>", "<loc>https://example.com/?a=1&amp;b=2</loc>", (*_XML, "protocol"),
            ),
            Rule(
                "xml-entity", ERROR, "a reference to an entity that is not declared",
                "XML itself knows amp, lt, gt, quot and apos alone; the names of HTML mean nothing in it.",
                "<image:title>Caf&eacute;</image:title>", "<image:title>Caf&#233;</image:title>", _XML,
            ),
            Rule(
                "xml-character-reference", ERROR, "a numeric reference that names no character that XML allows",
                _NOT_WELL_FORMED,
                "<image:title>A&#0;</image:title>", "<image:title>A&#65;</image:title>", _XML,
            ),
            Rule(
                "xml-character", ERROR, "a character that XML does not allow, such as a control character",
                "It cannot be written in XML in any way, and often tells of damaged data. " + _NOT_WELL_FORMED,
                "<image:title>A\bB</image:title>", "<image:title>A B</image:title>", _XML,
            ),
            Rule(
                "xml-less-than", ERROR, "a < that begins no tag, or one in the value of an attribute",
                "A < has to be written &lt; in XML. " + _NOT_WELL_FORMED,
                "<image:title>3 < 4</image:title>", "<image:title>3 &lt; 4</image:title>", _XML,
            ),
            Rule(
                "xml-cdata-end", ERROR, "]]> in text outside a CDATA section",
                "It ends a CDATA section, and there is none; in text it is written ]]&gt;. " + _NOT_WELL_FORMED,
                "<image:title>[[1]]></image:title>", "<image:title>[[1]]&gt;</image:title>", _XML,
            ),
            Rule(
                "xml-attribute", ERROR, "an attribute without value, without quotes, or without white space before it",
                _NOT_WELL_FORMED,
                '<xhtml:link rel=alternate hreflang="en" href="https://example.com/"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/"/>', _XML,
            ),
            Rule(
                "xml-attribute-repeated", ERROR, "an attribute that the tag has already",
                "No reader can know which of the two is meant. " + _NOT_WELL_FORMED,
                '<xhtml:link rel="alternate" hreflang="en" hreflang="de" href="https://example.com/"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/"/>', _XML,
            ),
            Rule(
                "xml-markup", ERROR, "any other malformed markup: a tag without its >, a declaration where none may be",
                _NOT_WELL_FORMED,
                "<url><loc>https://example.com/</loc</url>", "<url><loc>https://example.com/</loc></url>", _XML,
            ),
            Rule(
                "xml-tag-mismatch", ERROR, "an end tag that is not that of the innermost open element",
                "Where an element ends is then anyone's guess. " + _NOT_WELL_FORMED,
                "<url><loc>https://example.com/</url>", "<url><loc>https://example.com/</loc></url>", _XML,
            ),
            Rule(
                "xml-incomplete", ERROR, "a document that ends before its root does",
                "The file was cut off, when it was written or on its way, and what followed is lost.",
                f'<urlset xmlns="{_SM}"><url><loc>https://exam',
                f'<urlset xmlns="{_SM}"><url><loc>https://example.com/</loc></url></urlset>', _XML,
            ),
            Rule(
                "xml-prefix", ERROR, "a namespace prefix that is not declared",
                "A prefix means nothing by itself: without xmlns:prefix=\"…\" the elements belong to nothing, and are ignored.",
                f'<urlset xmlns="{_SM}"><url><loc>https://example.com/</loc><photo:image/></url></urlset>',
                f'<urlset xmlns="{_SM}" xmlns:photo="urn:photo"><url><loc>https://example.com/</loc><photo:image/></url></urlset>',
                ("namespaces", "viewer"),
            ),
            Rule(
                "xml-outside-root", ERROR, "text or an element before or after the root",
                "Often a message of the program that writes the sitemap. " + _NOT_WELL_FORMED,
                f'Warning: no data\n<urlset xmlns="{_SM}"/>', f'<urlset xmlns="{_SM}"/>', _XML,
            ),
            Rule(
                "xml-declaration", ERROR, "an XML declaration that is malformed, or not at the very beginning",
                "An empty line before it is enough for readers to refuse the file.",
                f'\n<?xml version="1.0"?><urlset xmlns="{_SM}"/>', f'<?xml version="1.0"?>\n<urlset xmlns="{_SM}"/>', _XML,
            ),
            Rule(
                "xml-comment", ERROR, "-- within a comment",
                _NOT_WELL_FORMED,
                "<url><!-- old -- new --><loc>https://example.com/</loc></url>",
                "<url><!-- old, new --><loc>https://example.com/</loc></url>", _XML,
            ),
            Rule(
                "xml-empty", ERROR, "no root element at all",
                "There is nothing that could be a sitemap: the file is empty, or it is no XML.",
                "not found", f'<urlset xmlns="{_SM}"/>', _XML,
            ),
        ),
    ),
    Group(
        "Encoding, gzip and size",
        (
            Rule(
                "encoding-not-utf8", ERROR, "an encoding other than UTF-8, by the declaration or the byte order mark",
                "The protocol wants UTF-8; a search engine may read another encoding, or may not.",
                f'<?xml version="1.0" encoding="ISO-8859-1"?><urlset xmlns="{_SM}"/>',
                f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{_SM}"/>', _PROTOCOL,
            ),
            Rule(
                "encoding-invalid", ERROR, "bytes that are not valid in the encoding of the document",
                "Most readers refuse the file; others replace what they cannot read, which changes addresses.",
                "the byte E9 (é in ISO-8859-1) in a file in UTF-8", "the bytes C3 A9 (é in UTF-8)", (*_XML, "protocol"),
            ),
            Rule(
                "gzip-damaged", ERROR, "gzip data that cannot be unpacked to its end",
                "What follows the damage is lost, and most readers refuse the rest as well.",
                "a sitemap.xml.gz of which the upload broke off", "the whole file", ("viewer",),
            ),
            Rule(
                "file-too-large", ERROR, "more than 52,428,800 bytes, unpacked",
                "Search engines refuse a larger file, or read its beginning alone. Split it, and list the parts in an index.",
                "a sitemap of 60 MB", "two of 30 MB", (*_PROTOCOL, "large"),
            ),
            Rule(
                "too-many-urls", ERROR, "more than 50,000 entries in a sitemap",
                "Search engines refuse the file, or read the first 50,000 alone. Split it, and list the parts in an index.",
                "a sitemap with 50,001 <url>", "two sitemaps", (*_PROTOCOL, "large"),
            ),
            Rule(
                "too-many-sitemaps", ERROR, "more than 50,000 entries in an index",
                "Search engines refuse the file, or read the first 50,000 alone. Write a second index.",
                "an index with 50,001 <sitemap>", "two indexes", (*_PROTOCOL, "large"),
            ),
        ),
    ),
    Group(
        "Root, namespace and elements",
        (
            Rule(
                "root-unknown", ERROR, "a root that is neither urlset nor sitemapindex",
                "The file is something else: a feed, a web page, an error message. Letter case counts.",
                "<URLSet/>", f'<urlset xmlns="{_SM}"/>', _PROTOCOL,
            ),
            Rule(
                "namespace-missing", ERROR, "a root in no namespace",
                "A reader that goes by namespaces finds no sitemap in the file.",
                "<urlset/>", f'<urlset xmlns="{_SM}"/>', _PROTOCOL,
            ),
            Rule(
                "namespace-wrong", ERROR, "a root in another namespace than that of the protocol",
                "A namespace is a name: http, letter case and the missing slash at the end belong to it.",
                f'<urlset xmlns="{_SM}/"/>', f'<urlset xmlns="{_SM}"/>', _PROTOCOL,
            ),
            Rule(
                "url-in-index", ERROR, "a url in an index",
                "An index lists sitemaps; pages that it lists are not read.",
                f'<sitemapindex xmlns="{_SM}"><url><loc>https://example.com/</loc></url></sitemapindex>',
                f'<sitemapindex xmlns="{_SM}"><sitemap><loc>https://example.com/pages.xml</loc></sitemap></sitemapindex>',
                _PROTOCOL,
            ),
            Rule(
                "sitemap-in-urlset", ERROR, "a sitemap in a sitemap",
                "A sitemap lists pages; sitemaps that it lists are not read. They belong in an index.",
                f'<urlset xmlns="{_SM}"><sitemap><loc>https://example.com/pages.xml</loc></sitemap></urlset>',
                f'<sitemapindex xmlns="{_SM}"><sitemap><loc>https://example.com/pages.xml</loc></sitemap></sitemapindex>',
                _PROTOCOL,
            ),
            Rule(
                "no-entries", WARNING, "a root that has no entry of its own kind",
                "It is allowed, and seldom meant: Google's Search Console warns of it.",
                f'<urlset xmlns="{_SM}"></urlset>',
                f'<urlset xmlns="{_SM}"><url><loc>https://example.com/</loc></url></urlset>', ("build", "protocol"),
            ),
            Rule(
                "element-unknown", ERROR, "a sitemap element that the protocol does not define",
                "Letter case counts: <LastMod> is no <lastmod>. Elements of one's own belong in a namespace of one's own.",
                "<url><loc>https://example.com/</loc><title>Shop</title></url>",
                "<url><loc>https://example.com/</loc></url>", _PROTOCOL,
            ),
            Rule(
                "element-misplaced", ERROR, "a sitemap element where it does not belong",
                "It is ignored there: a loc outside an entry, or a priority in an index.",
                "<image:image><loc>https://example.com/1.jpg</loc></image:image>",
                "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>", _PROTOCOL,
            ),
            Rule(
                "element-no-namespace", ERROR, "an element in no namespace within a root that is in one",
                "Where the root has a prefix, its elements need that prefix too: others belong to nothing.",
                f'<s:urlset xmlns:s="{_SM}"><url><loc>https://example.com/</loc></url></s:urlset>',
                f'<s:urlset xmlns:s="{_SM}"><s:url><s:loc>https://example.com/</s:loc></s:url></s:urlset>', ("protocol",),
            ),
            Rule(
                "element-repeated", ERROR, "a second lastmod, changefreq or priority in an entry",
                "Which of them a reader takes is its own affair.",
                "<url><loc>https://example.com/</loc><priority>0.1</priority><priority>0.9</priority></url>",
                "<url><loc>https://example.com/</loc><priority>0.9</priority></url>", _PROTOCOL,
            ),
            Rule(
                "element-empty", WARNING, "an empty lastmod, changefreq or priority",
                "It says nothing, and strict readers take offence. Leave it out.",
                "<lastmod></lastmod>", "<lastmod>2026-01-15</lastmod>", ("strict",),
            ),
        ),
    ),
    Group(
        "Addresses",
        (
            Rule(
                "loc-missing", ERROR, "an entry without loc",
                "The entry names no page, and is ignored.",
                "<url><priority>0.5</priority></url>", "<url><loc>https://example.com/</loc></url>", _PROTOCOL,
            ),
            Rule(
                "loc-empty", ERROR, "an empty loc",
                "The entry names no page, and is ignored.",
                "<loc></loc>", "<loc>https://example.com/</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-repeated", ERROR, "a second loc in an entry",
                "An entry is about one page; the second address is lost.",
                "<url><loc>https://example.com/a</loc><loc>https://example.com/b</loc></url>",
                "<url><loc>https://example.com/a</loc></url><url><loc>https://example.com/b</loc></url>", _PROTOCOL,
            ),
            Rule(
                "loc-relative", ERROR, "an address without scheme",
                "An address has to be absolute, with protocol and host: nothing says what a relative one is relative to.",
                "<loc>www.example.com/page</loc>", "<loc>https://www.example.com/page</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-scheme", ERROR, "an address with another scheme than http and https",
                "Search engines fetch pages over http and https.",
                "<loc>ftp://example.com/page</loc>", "<loc>https://example.com/page</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-no-host", ERROR, "an address without host",
                "Nothing can be fetched from it.",
                "<loc>https:///page</loc>", "<loc>https://example.com/page</loc>", _STRICT,
            ),
            Rule(
                "loc-malformed", ERROR, "an address that cannot be taken apart: its port is none, or a bracket is not closed",
                "Nothing can be fetched from it.",
                "<loc>https://example.com:port/page</loc>", "<loc>https://example.com:8080/page</loc>", _STRICT,
            ),
            Rule(
                "loc-space", ERROR, "a space within an address",
                "Addresses have to be URL-escaped: a space is %20.",
                "<loc>https://example.com/summer sale</loc>", "<loc>https://example.com/summer%20sale</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-control", ERROR, "a control character within an address, such as a tab or a line end",
                "It often tells of a line break in the middle of an address; some readers drop it, some the address.",
                "<loc>https://example.com/summer\nsale</loc>", "<loc>https://example.com/summersale</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-non-ascii", ERROR, "a character that is not in ASCII, in the host too",
                "Addresses have to be URL-escaped, as UTF-8: é is %C3%A9. A host is written in Punycode.",
                "<loc>https://example.com/café</loc>", "<loc>https://example.com/caf%C3%A9</loc>", _PROTOCOL,
            ),
            Rule(
                "loc-character", ERROR, "a character that no URL holds unescaped, one of \" < > \\ ^ ` { | }",
                "Addresses have to be URL-escaped. Braces often tell of a template that was not filled in.",
                "<loc>https://example.com/{id}</loc>", "<loc>https://example.com/7</loc>", _STRICT,
            ),
            Rule(
                "loc-percent", ERROR, "a % without two hexadecimal digits after it",
                "A % begins an escape; by itself it is written %25.",
                "<loc>https://example.com/50%-off</loc>", "<loc>https://example.com/50%25-off</loc>", ("protocol",),
            ),
            Rule(
                "loc-whitespace", WARNING, "white space before or after an address",
                "Most readers remove it, and some take it for a part of the address.",
                "<loc> https://example.com/ </loc>", "<loc>https://example.com/</loc>", ("viewer",),
            ),
            Rule(
                "loc-too-long", ERROR, "an address of more than 2,048 characters",
                "Search engines ignore it.",
                "<loc>https://example.com/" + "a" * 2_030 + "</loc>", "<loc>https://example.com/a</loc>", _PROTOCOL,
            ),
            Rule(
                "duplicate-address", WARNING, "the address of an earlier entry again",
                "It costs room and tells nothing new, and the two entries may contradict each other.",
                "<url><loc>https://example.com/</loc></url><url><loc>https://example.com/</loc></url>",
                "<url><loc>https://example.com/</loc></url>", ("viewer",),
            ),
        ),
    ),
    Group(
        "Host and directory",
        (
            Rule(
                "protocol-mismatch", ERROR, "an address with another protocol than the sitemap's",
                "A sitemap speaks for the site that it is published on; http and https are two sites.",
                "<loc>http://example.com/shop/</loc>", "<loc>https://example.com/shop/</loc>", _PROTOCOL,
            ),
            Rule(
                "host-mismatch", ERROR, "an address on another host than the sitemap's",
                "A sitemap speaks for the site that it is published on; www.example.com and example.com are two.",
                "<loc>https://www.example.com/shop/</loc>", "<loc>https://example.com/shop/</loc>", _PROTOCOL,
            ),
            Rule(
                "port-mismatch", ERROR, "an address with another port than the sitemap's",
                "A sitemap speaks for the site that it is published on, and the port belongs to that.",
                "<loc>https://example.com:8443/shop/</loc>", "<loc>https://example.com/shop/</loc>", _PROTOCOL,
            ),
            Rule(
                "directory-mismatch", ERROR, "an address outside the directory of the sitemap",
                "A sitemap covers its own directory and what is below. Put it at the top of the site to cover all of it.",
                "<loc>https://example.com/blog/</loc>", "<loc>https://example.com/shop/new/</loc>", _PROTOCOL,
            ),
            Rule(
                "index-directory", WARNING, "in an index, a sitemap outside the directory of the index",
                "Google wants the sitemaps in the directory of their index or below.",
                "<sitemap><loc>https://example.com/pages.xml</loc></sitemap>",
                "<sitemap><loc>https://example.com/shop/pages.xml</loc></sitemap>", ("large",),
            ),
            Rule(
                "mixed-hosts", ERROR, "an address on another host than the first one, where it is not known where the file is",
                "All addresses of a sitemap are on its own host.",
                "<url><loc>https://a.example/</loc></url><url><loc>https://b.example/</loc></url>",
                "<url><loc>https://a.example/</loc></url><url><loc>https://a.example/b</loc></url>", _PROTOCOL,
            ),
            Rule(
                "index-in-index", NOTE, "in an index, an address that looks like that of an index",
                "The protocol does not say that an index may list another, and search engines do not read it.",
                "<sitemap><loc>https://example.com/shop/sitemap_index.xml</loc></sitemap>",
                "<sitemap><loc>https://example.com/shop/pages.xml</loc></sitemap>", ("viewer",),
            ),
        ),
    ),
    Group(
        "Values",
        (
            Rule(
                "lastmod-format", ERROR, "a date that is no W3C Datetime",
                "YYYY, YYYY-MM, YYYY-MM-DD, or the last with Thh:mm or Thh:mm:ss and a zone; others are not understood.",
                "<lastmod>15.01.2026</lastmod>", "<lastmod>2026-01-15</lastmod>", ("protocol", "datetime", "viewer"),
            ),
            Rule(
                "lastmod-calendar", ERROR, "a date or time that there is not",
                "There is no such day, or no such time, and the value is ignored.",
                "<lastmod>2025-02-30</lastmod>", "<lastmod>2025-02-28</lastmod>", ("datetime", "viewer"),
            ),
            Rule(
                "lastmod-zone", ERROR, "a time without a zone",
                "It could be any of more than 24 moments; readers ignore it or guess.",
                "<lastmod>2026-01-15T10:30:00</lastmod>", "<lastmod>2026-01-15T10:30:00+01:00</lastmod>",
                ("protocol", "datetime", "viewer"),
            ),
            Rule(
                "lastmod-future", NOTE, "a date in the future",
                "A page cannot have changed then; a search engine may stop to trust the dates of the site.",
                "<lastmod>2099-01-01</lastmod>", "<lastmod>2026-01-15</lastmod>", ("viewer",),
            ),
            Rule(
                "changefreq-case", ERROR, "a change frequency that is not in lower case",
                "The values are words of the protocol, and XML counts letter case.",
                "<changefreq>Daily</changefreq>", "<changefreq>daily</changefreq>", _PROTOCOL,
            ),
            Rule(
                "changefreq-value", ERROR, "none of always, hourly, daily, weekly, monthly, yearly and never",
                "No other word means anything to a reader.",
                "<changefreq>often</changefreq>", "<changefreq>daily</changefreq>", _PROTOCOL,
            ),
            Rule(
                "priority-format", ERROR, "a priority that is no decimal number",
                "A number as XML Schema writes it: digits and a point, without percent sign or exponent.",
                "<priority>0,5</priority>", "<priority>0.5</priority>", _PROTOCOL,
            ),
            Rule(
                "priority-range", ERROR, "a priority below 0.0 or above 1.0",
                "A value out of range is ignored, or taken for one of the bounds.",
                "<priority>10</priority>", "<priority>1.0</priority>", _PROTOCOL,
            ),
        ),
    ),
    Group(
        "Extensions",
        (
            Rule(
                "extension-namespace", WARNING, "a namespace that is nearly that of an extension",
                "A namespace is a name: with https, a slash at the end, another version or letter case it is another one, "
                "and the extension is ignored, silently.",
                f'<urlset xmlns="{_SM}" xmlns:image="https://www.google.com/schemas/sitemap-image/1.1"/>',
                f'<urlset xmlns="{_SM}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"/>', ("linter",),
            ),
            Rule(
                "extension-misplaced", ERROR, "a tag of an extension where it does not belong",
                "It is ignored there.",
                "<url><loc>https://example.com/</loc><image:loc>https://example.com/1.jpg</image:loc></url>",
                "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>", ("images", "news", "videos"),
            ),
            Rule(
                "extension-unknown", WARNING, "a tag in the namespace of images, news or videos that Google never defined",
                "It is ignored; often it is a typing error.",
                "<image:alt>A cat</image:alt>", "<image:loc>https://example.com/1.jpg</image:loc>", ("images", "news", "videos"),
            ),
            Rule(
                "extension-repeated", ERROR, "a second tag of a kind in an image, a video, a news:news or a news:publication",
                "Which of them is taken is not said.",
                "<image:image><image:loc>https://example.com/1.jpg</image:loc>"
                "<image:loc>https://example.com/2.jpg</image:loc></image:image>",
                "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>"
                "<image:image><image:loc>https://example.com/2.jpg</image:loc></image:image>", ("images", "news", "videos"),
            ),
        ),
    ),
    Group(
        "Images",
        (
            Rule(
                "image-loc-missing", ERROR, "an image without image:loc, or with an empty one",
                "The address is all that an image consists of.",
                "<image:image/>", "<image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>",
                ("images", "strict"),
            ),
            Rule(
                "image-url", ERROR, "an invalid image:loc",
                "It has to be absolute, with http or https, and URL-escaped. It may be on any host.",
                "<image:loc>/1.jpg</image:loc>", "<image:loc>https://cdn.example/1.jpg</image:loc>", ("images", "strict"),
            ),
            Rule(
                "image-too-many", ERROR, "more than 1,000 images in an entry",
                "Those beyond are ignored.",
                "an entry with 1,001 <image:image>", "1,000 of them", ("images", "viewer"),
            ),
            Rule(
                "image-deprecated", WARNING, "image:caption, geo_location, title or license",
                "Google ignores them since 2022.",
                "<image:title>Cat</image:title>", "<image:loc>https://example.com/cat.jpg</image:loc>", ("2022",),
            ),
        ),
    ),
    Group(
        "News",
        (
            Rule(
                "news-publication-missing", ERROR, "a news:news without news:publication",
                "Without the publication the article is not taken for news.",
                "<news:news><news:title>Snow</news:title></news:news>",
                "<news:news><news:publication><news:name>Daily</news:name>"
                "<news:language>en</news:language></news:publication></news:news>", ("news", "strict"),
            ),
            Rule(
                "news-name-missing", ERROR, "a publication without news:name, or with an empty one",
                "The name has to be there, as it is on the articles.",
                "<news:publication><news:language>en</news:language></news:publication>",
                "<news:publication><news:name>Daily</news:name><news:language>en</news:language></news:publication>",
                ("news", "strict"),
            ),
            Rule(
                "news-language-missing", ERROR, "a publication without news:language, or with an empty one",
                "Without it nobody knows whom the article is for.",
                "<news:publication><news:name>Daily</news:name></news:publication>",
                "<news:publication><news:name>Daily</news:name><news:language>en</news:language></news:publication>",
                ("news", "strict"),
            ),
            Rule(
                "news-date-missing", ERROR, "a news:news without news:publication_date, or with an empty one",
                "News without a date is none.",
                "<news:publication_date/>", "<news:publication_date>2026-01-30</news:publication_date>", ("news", "strict"),
            ),
            Rule(
                "news-title-missing", ERROR, "a news:news without news:title, or with an empty one",
                "The title is what is shown of the article.",
                "<news:title/>", "<news:title>Snow in April</news:title>", ("news", "strict"),
            ),
            Rule(
                "news-language", ERROR, "a language that is no code of ISO 639",
                "Two letters of ISO 639-1, or three letters; for Chinese zh-cn or zh-tw.",
                "<news:language>english</news:language>", "<news:language>en</news:language>", ("news",),
            ),
            Rule(
                "news-date", ERROR, "a publication date that is no date",
                "YYYY-MM-DD, or that with a time and its zone; a year, or a year and month, is not precise enough.",
                "<news:publication_date>2026-01</news:publication_date>",
                "<news:publication_date>2026-01-30T10:00:00Z</news:publication_date>", ("news", "datetime"),
            ),
            Rule(
                "news-date-old", WARNING, "an article of more than two days ago",
                "A news sitemap holds the articles of the last two days; older ones are ignored.",
                "<news:publication_date>2025-01-15</news:publication_date>",
                "<news:publication_date>2026-01-30</news:publication_date>", ("news", "viewer"),
            ),
            Rule(
                "news-date-future", NOTE, "a publication date in the future",
                "The article has not been published, or a clock or a zone is wrong.",
                "<news:publication_date>2099-01-01</news:publication_date>",
                "<news:publication_date>2026-01-30</news:publication_date>", ("viewer",),
            ),
            Rule(
                "news-repeated", ERROR, "a second news:news in an entry",
                "A page is one article.",
                "<news:news><news:title>A</news:title></news:news><news:news><news:title>B</news:title></news:news>",
                "<news:news><news:title>A</news:title></news:news>", ("news",),
            ),
            Rule(
                "news-too-many", ERROR, "more than 1,000 news:news in a file",
                "Those beyond are ignored. Split the sitemap, and list the parts in an index.",
                "a sitemap with 1,001 <news:news>", "two sitemaps", ("news", "viewer"),
            ),
            Rule(
                "news-deprecated", WARNING, "news:access, genres, keywords, stock_tickers or geo_locations",
                "Google no longer documents them, and ignores them.",
                "<news:genres>Blog</news:genres>", "<news:title>Snow in April</news:title>", ("news",),
            ),
        ),
    ),
    Group(
        "Videos",
        (
            Rule(
                "video-thumbnail-missing", ERROR, "a video without video:thumbnail_loc, or with an empty one",
                "A video without thumbnail is not shown.",
                "<video:thumbnail_loc/>", "<video:thumbnail_loc>https://example.com/1.jpg</video:thumbnail_loc>",
                ("videos", "strict"),
            ),
            Rule(
                "video-title-missing", ERROR, "a video without video:title, or with an empty one",
                "It is required.", "<video:title/>", "<video:title>Skiing</video:title>", ("videos", "strict"),
            ),
            Rule(
                "video-description-missing", ERROR, "a video without video:description, or with an empty one",
                "It is required.", "<video:description/>", "<video:description>How to ski</video:description>",
                ("videos", "strict"),
            ),
            Rule(
                "video-location-missing", ERROR, "a video with neither video:content_loc nor video:player_loc",
                "One of the two has to be there, with an address: where the video is, or its player.",
                "<video:video><video:content_loc/></video:video>",
                "<video:content_loc>https://example.com/1.mp4</video:content_loc>", ("videos", "strict"),
            ),
            Rule(
                "video-url", ERROR, "an invalid address in a video",
                "Addresses have to be absolute, with http or https, and URL-escaped. They may be on any host.",
                "<video:content_loc>/1.mp4</video:content_loc>",
                "<video:content_loc>https://cdn.example/1.mp4</video:content_loc>", ("videos", "strict"),
            ),
            Rule(
                "video-location-is-page", ERROR, "a video:content_loc or video:player_loc that is the address of the entry",
                "It names the video itself or its player, not the page that shows it.",
                "<url><loc>https://example.com/1</loc><video:video>"
                "<video:content_loc>https://example.com/1</video:content_loc></video:video></url>",
                "<url><loc>https://example.com/1</loc><video:video>"
                "<video:content_loc>https://example.com/1.mp4</video:content_loc></video:video></url>", ("videos",),
            ),
            Rule(
                "video-description-too-long", ERROR, "a description of more than 2,048 characters",
                "The limit is Google's.",
                "<video:description>" + "a" * 2_049 + "</video:description>",
                "<video:description>How to ski</video:description>", ("videos",),
            ),
            Rule(
                "video-duration-format", ERROR, "a duration that is no whole number of digits alone",
                "It is in seconds.",
                "<video:duration>10:30</video:duration>", "<video:duration>630</video:duration>", ("videos",),
            ),
            Rule(
                "video-duration-range", ERROR, "a duration below 1 or above 28,800 seconds",
                "The limit is Google's: eight hours.",
                "<video:duration>0</video:duration>", "<video:duration>630</video:duration>", ("videos", "strict"),
            ),
            Rule(
                "video-rating-format", ERROR, "a rating that is no decimal number",
                "Digits and a point.", "<video:rating>4/5</video:rating>", "<video:rating>4.0</video:rating>", ("videos",),
            ),
            Rule(
                "video-rating-range", ERROR, "a rating below 0.0 or above 5.0",
                "The range is Google's.",
                "<video:rating>9</video:rating>", "<video:rating>4.5</video:rating>", ("videos", "strict"),
            ),
            Rule(
                "video-view-count", ERROR, "a view count that is no whole number of digits alone",
                "Neither signs nor separators belong in it.",
                "<video:view_count>1,234</video:view_count>", "<video:view_count>1234</video:view_count>", ("videos",),
            ),
            Rule(
                "video-date", ERROR, "a publication or expiration date that is no date",
                "YYYY-MM-DD, or that with a time and its zone.",
                "<video:publication_date>2025-11</video:publication_date>",
                "<video:publication_date>2025-11-05</video:publication_date>", ("videos", "datetime"),
            ),
            Rule(
                "video-expired", NOTE, "an expiration date in the past",
                "The video is no longer shown; the entry may go.",
                "<video:expiration_date>2025-12-31</video:expiration_date>",
                "<video:expiration_date>2027-12-31</video:expiration_date>", ("videos",),
            ),
            Rule(
                "video-yes-no", ERROR, "family_friendly, requires_subscription or live that is neither yes nor no",
                "Other words mean nothing here.",
                "<video:live>true</video:live>", "<video:live>yes</video:live>", ("videos",),
            ),
            Rule(
                "video-relationship", ERROR, "a video:restriction or video:platform without relationship allow or deny",
                "Without it nobody knows whether the list names who may see the video or who may not.",
                "<video:restriction>CH</video:restriction>",
                '<video:restriction relationship="allow">CH</video:restriction>', ("videos",),
            ),
            Rule(
                "video-country", ERROR, "a video:restriction with something else than country codes",
                "Codes of two letters (ISO 3166-1), with spaces between: neither names nor commas, and GB, not UK.",
                '<video:restriction relationship="allow">CH, UK</video:restriction>',
                '<video:restriction relationship="allow">CH GB</video:restriction>', ("videos",),
            ),
            Rule(
                "video-platform", ERROR, "a video:platform with something else than web, mobile and tv",
                "No other word means anything here.",
                '<video:platform relationship="allow">desktop</video:platform>',
                '<video:platform relationship="allow">web tv</video:platform>', ("videos",),
            ),
            Rule(
                "video-uploader-too-long", ERROR, "an uploader with more than 255 characters",
                "The limit is Google's.",
                "<video:uploader>" + "a" * 256 + "</video:uploader>", "<video:uploader>Ann</video:uploader>", ("videos",),
            ),
            Rule(
                "video-uploader-info", ERROR, "the info of an uploader on another host than the page",
                "It has to be a page of the same site.",
                '<video:uploader info="https://elsewhere.example/ann">Ann</video:uploader>',
                '<video:uploader info="https://www.example.com/ann">Ann</video:uploader>', ("videos",),
            ),
            Rule(
                "video-too-many-tags", ERROR, "more than 32 video:tag in a video",
                "Those beyond are ignored.",
                "<video:video>" + "<video:tag>snow</video:tag>" * 33 + "</video:video>",
                "<video:tag>snow</video:tag>", ("videos", "strict"),
            ),
            Rule(
                "video-deprecated", WARNING, "video:category, gallery_loc, price or tvshow; allow_embed or autoplay",
                "Google ignores them since 2022.",
                "<video:category>Sports</video:category>", "<video:tag>sports</video:tag>", ("2022",),
            ),
        ),
    ),
    Group(
        "Hreflang",
        (
            Rule(
                "hreflang-rel", ERROR, "an xhtml:link whose rel is not alternate",
                "In a sitemap no other link means anything.",
                '<xhtml:link rel="canonical" hreflang="en" href="https://example.com/en"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>', ("localized", "strict"),
            ),
            Rule(
                "hreflang-missing", ERROR, "an xhtml:link without hreflang, or with an empty one",
                "It does not say which language the page is in.",
                '<xhtml:link rel="alternate" href="https://example.com/en"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>', ("localized", "strict"),
            ),
            Rule(
                "hreflang-href-missing", ERROR, "an xhtml:link without href, or with an empty one",
                "It names no page.",
                '<xhtml:link rel="alternate" hreflang="en"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>', ("localized", "strict"),
            ),
            Rule(
                "hreflang-url", ERROR, "an invalid href",
                "It has to be absolute, with http or https, and URL-escaped.",
                '<xhtml:link rel="alternate" hreflang="en" href="/en"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>', ("localized", "strict"),
            ),
            Rule(
                "hreflang-format", ERROR, "a hreflang that is not of the form en, en-GB, zh-Hant or zh-Hant-TW, nor x-default",
                "A language of two letters comes first, then perhaps a script and a region, with hyphens between.",
                '<xhtml:link rel="alternate" hreflang="en_GB" href="https://example.com/en"/>',
                '<xhtml:link rel="alternate" hreflang="en-GB" href="https://example.com/en"/>', ("localized",),
            ),
            Rule(
                "hreflang-language", ERROR, "a language that is not in ISO 639-1",
                "Languages are no countries: Japanese is ja, Chinese zh.",
                '<xhtml:link rel="alternate" hreflang="jp" href="https://example.com/ja"/>',
                '<xhtml:link rel="alternate" hreflang="ja" href="https://example.com/ja"/>', ("localized",),
            ),
            Rule(
                "hreflang-region", ERROR, "a region that is not in ISO 3166-1",
                "The United Kingdom is GB; a continent or the European Union is no region.",
                '<xhtml:link rel="alternate" hreflang="en-UK" href="https://example.com/en"/>',
                '<xhtml:link rel="alternate" hreflang="en-GB" href="https://example.com/en"/>', ("localized",),
            ),
            Rule(
                "hreflang-repeated", WARNING, "a language that an entry has an alternate for already",
                "Which of the two pages is meant is not said.",
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>'
                '<xhtml:link rel="alternate" hreflang="EN" href="https://example.com/us"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>'
                '<xhtml:link rel="alternate" hreflang="en-US" href="https://example.com/us"/>', ("localized",),
            ),
            Rule(
                "hreflang-no-self", WARNING, "an entry with alternates that does not list itself",
                "Each version has to list itself along with the others, or the links may be ignored. A warning, since the "
                "page itself may carry the link.",
                '<url><loc>https://example.com/en</loc>'
                '<xhtml:link rel="alternate" hreflang="fr" href="https://example.com/fr"/></url>',
                '<url><loc>https://example.com/en</loc>'
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>'
                '<xhtml:link rel="alternate" hreflang="fr" href="https://example.com/fr"/></url>', ("localized",),
            ),
            Rule(
                "hreflang-no-return", WARNING, "an alternate, an entry of this file, that does not lead back",
                "Links that are not returned may be ignored: anyone could claim to be a version of a page.",
                '<url><loc>https://example.com/en</loc>'
                '<xhtml:link rel="alternate" hreflang="fr" href="https://example.com/fr"/></url>'
                '<url><loc>https://example.com/fr</loc></url>',
                '<url><loc>https://example.com/en</loc>'
                '<xhtml:link rel="alternate" hreflang="fr" href="https://example.com/fr"/></url>'
                '<url><loc>https://example.com/fr</loc>'
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/></url>', ("localized",),
            ),
            Rule(
                "hreflang-no-x-default", NOTE, "an entry with alternates, none of which is x-default",
                "x-default names the page for everybody whose language is not listed.",
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>',
                '<xhtml:link rel="alternate" hreflang="en" href="https://example.com/en"/>'
                '<xhtml:link rel="alternate" hreflang="x-default" href="https://example.com/"/>', ("localized",),
            ),
        ),
    ),
)  # fmt: skip

RULES: Final[dict[str, Rule]] = {rule.id: rule for group in GROUPS for rule in group.rules}
