"""advertools: reads every sitemap of a robots.txt into one data frame."""

import logging
import sys

import advertools

logging.disable(logging.INFO)
frame = advertools.sitemap_to_df(sys.argv[1])
print(frame["loc"].count())
