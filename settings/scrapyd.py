"""For crawls that Scrapyd runs: a full log to look things up in, and no display."""

from scrapy.settings.default_settings import LOG_VERSIONS as _log_versions

from settings.default import *  # noqa: F403
from sitemapcrawl.default_settings import SCRAPY_SETTINGS as _scrapy_settings

LOG_FORMAT = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"
LOG_DATEFORMAT = "%Y-%m-%d %H:%M:%S"
LOG_VERSIONS = _log_versions
STATS_DUMP = True
LOGSTATS_INTERVAL = 60.0  # seconds
SITEMAPCRAWL_PROGRESS_ENABLED = False
# The log shows what is set: as text this is one line of it, as a list a hundred.
RETRY_HTTP_CODES = ",".join(map(str, _scrapy_settings["RETRY_HTTP_CODES"]))
