"""The table of rules: it is complete, and its examples are what they say."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sitemapcrawl.protocol import lint as package
from sitemapcrawl.protocol.lint import RULES, lint
from sitemapcrawl.protocol.lint.formats import explanation, list_of_rules
from sitemapcrawl.protocol.lint.rules import GROUPS, SEVERITIES, SOURCES

NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


def test_ids_are_unique() -> None:
    assert len(RULES) == sum(len(group.rules) for group in GROUPS)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rule(rule: package.Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
    assert rule.severity in SEVERITIES
    assert not rule.summary.endswith(".")
    assert rule.why.endswith(".")
    assert rule.sources
    assert set(rule.sources) <= set(SOURCES)
    text = explanation(rule.id)
    assert rule.summary in text
    assert all(SOURCES[source] in text for source in rule.sources)
    assert f"  {rule.id} " in list_of_rules()


def test_every_rule_is_told_somewhere_in_the_code() -> None:
    folder = Path(package.__file__).parent
    paths = [path for path in folder.glob("*.py") if path.name != "rules.py"] + [folder.parent / "markup.py"]
    sources = "".join(path.read_text("utf-8") for path in paths)
    # These are made of the names of the faults of URLs and dates.
    made = re.compile(r"loc-(relative|scheme|no-host|malformed|space|control|non-ascii|character|percent|too-long)|lastmod-.*")
    assert [rule for rule in RULES if f'"{rule}"' not in sources and not made.fullmatch(rule)] == []


# Their examples are in words: what breaks them is no text, or thousands of lines.
IN_WORDS = {
    "encoding-invalid", "gzip-damaged", "file-too-large", "too-many-urls", "too-many-sitemaps", "image-too-many", "news-too-many",
}  # fmt: skip


def document_of(example: str) -> str:
    """Return a document with the example in it, where it belongs."""
    start = re.match(r"<(?:(\w+):)?(\w+)", example)
    if start is None or start[2].lower() in ("urlset", "sitemapindex"):
        return example
    prefix, name = start.groups()
    if name == "sitemap":
        return f"<sitemapindex {NAMESPACES}>{example}</sitemapindex>"
    if prefix == "news" and name in ("name", "language"):
        example = f"<news:publication>{example}</news:publication>"
    if prefix in ("image", "news", "video") and name != prefix:
        example = f"<{prefix}:{prefix}>{example}</{prefix}:{prefix}>"
    if prefix or name not in ("url", "loc"):
        example = f"<loc>https://example.com/shop/</loc>{example}"
    if name != "url":
        example = f"<url>{example}</url>"
    return f"<urlset {NAMESPACES}>{example}</urlset>"


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.id not in IN_WORDS], ids=lambda rule: rule.id)
def test_examples(rule: package.Rule) -> None:
    url = None if rule.id == "mixed-hosts" else "https://example.com/shop/sitemap.xml"
    now = datetime(2026, 1, 31, tzinfo=UTC)
    broken = [{finding.rule for finding in lint(document_of(example).encode(), url, now)} for example in (rule.bad, rule.good)]
    assert rule.id in broken[0]
    assert rule.id not in broken[1]
