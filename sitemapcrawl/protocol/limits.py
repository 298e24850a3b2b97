"""The numbers of the protocol and of the search engines, each with its unit and its source.

What a crawl may cost is an option of the crawl (``sitemapcrawl.default_settings``); what a document may hold is here.
"""

from __future__ import annotations

from typing import Final

# https://www.sitemaps.org/protocol.html, "XML tag definitions", <loc>: less than 2,048 characters. The readers take
# exactly 2,048 too, as they are counted in practice.
MAX_URL_LENGTH: Final = 2_048  # characters

# https://www.sitemaps.org/protocol.html, "Using Sitemap index files (to group multiple sitemap files)".
MAX_ENTRIES: Final = 50_000  # <url> of a sitemap, <sitemap> of an index
MAX_FILE_SIZE: Final = 52_428_800  # bytes, uncompressed

# https://www.sitemaps.org/protocol.html, "XML tag definitions", <priority>.
MIN_PRIORITY: Final = 0.0
MAX_PRIORITY: Final = 1.0
DEFAULT_PRIORITY: Final = 0.5

# https://www.sitemaps.org/protocol.html, "XML tag definitions", <changefreq>.
CHANGE_FREQUENCIES: Final = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
MAX_IMAGES: Final = 1_000  # <image:image> of a <url>

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
MAX_NEWS: Final = 1_000  # <news:news> of a sitemap
MAX_NEWS_AGE: Final = 172_800  # seconds: two days since the publication

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
MAX_VIDEO_TAGS: Final = 32  # <video:tag> of a video
MIN_VIDEO_DURATION: Final = 1  # seconds
MAX_VIDEO_DURATION: Final = 28_800  # seconds: eight hours
MIN_VIDEO_RATING: Final = 0.0
MAX_VIDEO_RATING: Final = 5.0
MAX_VIDEO_DESCRIPTION: Final = 2_048  # characters
MAX_VIDEO_UPLOADER: Final = 255  # characters
