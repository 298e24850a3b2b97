"""django-sitemaps: a tree of lxml for each file, which its own view would send; it splits nothing and writes no index."""

import gzip
import sys
from itertools import islice

from django.conf import settings
from rows import MAX_ROWS, rows

settings.configure()

from django_sitemaps import Sitemap  # noqa: E402 # wants the settings

folder, count, form = sys.argv[1:]
waiting = rows(int(count))
number = 0
while chunk := list(islice(waiting, MAX_ROWS)):
    number += 1
    sitemap = Sitemap(build_absolute_uri=str)
    for loc, lastmod, changefreq, priority in chunk:
        sitemap.add(loc, lastmod=lastmod, changefreq=changefreq, priority=priority)
    name = f"{folder}/sitemap-{number}.xml"
    with gzip.open(f"{name}.gz", "wb", 6) if form == "gzip" else open(name, "wb") as file:
        file.write(sitemap.serialize())
