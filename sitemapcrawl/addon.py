"""All of it in other people's projects: ``ADDONS = {"sitemapcrawl.addon.SitemapAddon": 300}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapcrawl.default_settings import ADDON_PRIORITY

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_SPIDERS = "sitemapcrawl.spiders"
_SITEMAP_FORMAT = {"sitemap": "sitemapcrawl.exporters.sitemap.SitemapItemExporter"}


class SitemapAddon:
    """Make the spider ``sitemap`` known to a project, and the feed format of the same name.

    What the spider needs it brings along itself, for its own crawls and below what the project sets. So the other
    spiders of the project stay as they are.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        modules = settings.getlist("SPIDER_MODULES")
        if not any(module == _SPIDERS or _SPIDERS.startswith(f"{module}.") for module in modules):
            # The first one: of two spiders of one name Scrapy takes the last, which is the project's own.
            priority = max(settings.getpriority("SPIDER_MODULES") or 0, ADDON_PRIORITY)
            settings.set("SPIDER_MODULES", [_SPIDERS, *modules], priority=priority)

    def update_settings(self, settings: BaseSettings) -> None:
        exporters = settings.getdict("FEED_EXPORTERS")
        priority = max(settings.getpriority("FEED_EXPORTERS") or 0, ADDON_PRIORITY)
        settings.set("FEED_EXPORTERS", {**_SITEMAP_FORMAT, **exporters}, priority=priority)
