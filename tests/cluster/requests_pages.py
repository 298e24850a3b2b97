"""A worker that would request the pages."""

from __future__ import annotations

from typing import Any

from sitemapcrawl.cluster import spiders


class SitemapSpider(spiders.SitemapSpider):
    name = "sitemap"

    def parse(self, response: Any) -> Any:
        return None
