"""What the tests of the linter share: how a document is linted, and how its findings are written down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.protocol.lint import lint

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


@pytest.fixture(scope="session")
def found() -> Callable[..., str]:
    """Return a function that lints a document, and gives ``rule line:column`` for each finding, with commas between.

    A text that begins with ``<?xml`` or ``<!``, and bytes, are documents; any other text is what stands in a urlset (or
    with ``root="sitemapindex"`` in an index), on line 1 behind its start tag. Columns are then those behind that tag.
    """

    def function(content: str | bytes, *, url: str | None = None, root: str = "urlset", only: str = "") -> str:
        if isinstance(content, bytes):
            body, shift = content, 0
        elif content.startswith(("<?xml", "<!")):
            body, shift = content.encode(), 0
        else:
            head = f"<{root} {NAMESPACES}>"
            body, shift = f"{head}{content}</{root}>".encode(), len(head)
        findings = list(lint(body, url, NOW))
        assert [finding[:3] for finding in findings] == sorted(finding[:3] for finding in findings)
        return ", ".join(
            f"{finding.rule} {finding.line}:{finding.column - (shift if finding.line == 1 else 0)}"
            for finding in findings
            if finding.rule.startswith(only)
        )

    return function
