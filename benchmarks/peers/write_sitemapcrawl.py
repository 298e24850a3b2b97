"""Ours: SitemapWriter. Arguments of each of these programs: a folder, the number of rows, and plain or gzip."""

import sys

from rows import SITE, rows

from sitemapcrawl.protocol.records import Page
from sitemapcrawl.protocol.writer import SitemapWriter

folder, count, form = sys.argv[1:]
with SitemapWriter(folder, SITE, gzip=form == "gzip") as writer:
    for row in rows(int(count)):
        writer.write(Page(*row))
