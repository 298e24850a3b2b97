"""The spiders of the project. ``from sitemapcrawl.spiders import SitemapSpider`` to make one of your own."""

from sitemapcrawl.spiders.sitemap import SitemapSpider

__all__ = ["SitemapSpider"]
