"""xml-sitemap-writer: checks dates, frequencies and priorities; gzips its files in any case, of 15,000 rows by default."""

import sys

from rows import MAX_ROWS, SITE, rows
from xml_sitemap_writer import XMLSitemap

folder, count, _ = sys.argv[1:]
XMLSitemap.URLS_PER_FILE = MAX_ROWS
XMLSitemap.GZIP_COMPRESSION_LEVEL = 6  # as ours
with XMLSitemap(folder, SITE) as sitemap:
    for loc, lastmod, changefreq, priority in rows(int(count)):
        sitemap.add_url(loc.removeprefix(SITE), lastmod, str(priority), changefreq)
