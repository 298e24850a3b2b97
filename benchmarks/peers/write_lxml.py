"""lxml's xmlfile, used plainly: an element is opened and closed for each value. It judges nothing, and writes no index."""

import gzip
import sys
from itertools import islice

from lxml import etree
from rows import MAX_ROWS, rows

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
URLSET, URL, *NAMES = (f"{{{NAMESPACE}}}{name}" for name in ("urlset", "url", "loc", "lastmod", "changefreq", "priority"))

folder, count, form = sys.argv[1:]
waiting = rows(int(count))
number = 0
while chunk := list(islice(waiting, MAX_ROWS)):
    number += 1
    name = f"{folder}/sitemap-{number}.xml"
    with (
        gzip.open(f"{name}.gz", "wb", 6) if form == "gzip" else open(name, "wb") as file,
        etree.xmlfile(file, encoding="utf-8") as xml,
    ):
        xml.write_declaration()
        with xml.element(URLSET, nsmap={None: NAMESPACE}):
            for row in chunk:
                with xml.element(URL):
                    for element, value in zip(NAMES, row, strict=True):
                        with xml.element(element):
                            xml.write(str(value))
