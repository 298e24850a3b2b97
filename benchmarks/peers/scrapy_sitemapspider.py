"""Scrapy's own SitemapSpider: reads every sitemap, counts the entries, requests no page and yields no item."""

import sys

from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider


class CountingSpider(SitemapSpider):
    name = "counting"
    count = 0

    def sitemap_filter(self, entries):
        if entries.type == "sitemapindex":
            yield from entries
        else:
            for _ in entries:
                CountingSpider.count += 1


process = CrawlerProcess({"LOG_LEVEL": "ERROR", "ROBOTSTXT_OBEY": False, "TELNETCONSOLE_ENABLED": False})
process.crawl(CountingSpider, sitemap_urls=[sys.argv[1]])
process.start()
print(CountingSpider.count)
