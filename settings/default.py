"""The settings of the project, for crawls from the command line.

What the spider needs anywhere is in :mod:`sitemapcrawl.default_settings`; it is put in place here for the commands that run
without the spider, ``scrapy fetch`` for one. Any ``SITEMAPCRAWL_…`` setting may be set here.
"""

from sitemapcrawl.default_settings import SCRAPY_SETTINGS as _scrapy_settings
from sitemapcrawl.default_settings import SITEMAPCRAWL_USER_AGENT

globals().update(_scrapy_settings)

BOT_NAME = "sitemapcrawl"
SPIDER_MODULES = ["sitemapcrawl.spiders"]
COMMANDS_MODULE = "sitemapcrawl.commands"
USER_AGENT = SITEMAPCRAWL_USER_AGENT

LOG_LEVEL = "INFO"
LOG_FORMAT = "%(asctime)s %(levelname)s: %(message)s"
LOG_DATEFORMAT = "%H:%M:%S"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False  # the summary at the end says what matters
LOGSTATS_INTERVAL = 0  # seconds; Scrapy's "Crawled 0 pages" counts responses, and a terminal shows the progress
