"""sitemapcrawl: crawl, check and write XML sitemaps."""

__version__ = "0.1.0"
