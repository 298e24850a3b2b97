"""For crawls that Scrapyd runs: a full log to look things up in, and no display."""

from settings.default import *  # noqa: F403

LOG_FORMAT = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"
LOG_DATEFORMAT = "%Y-%m-%d %H:%M:%S"
STATS_DUMP = True
SITEMAPCRAWL_PROGRESS_ENABLED = False
