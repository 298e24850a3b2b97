"""A worker of a cluster: it takes its work from Redis and shares it with all other workers, on any number of machines.

Start as many as there are cores, ``SCRAPY_PROJECT=cluster scrapy crawl sitemap -o 'urls-%(worker)s.jsonl'``, and push starts:
``SCRAPY_PROJECT=cluster scrapy enqueue FILE``. Redis is the one that the environment variable ``REDIS_URL`` names, or one on
this machine.
"""

import os
import sys
from importlib.util import find_spec

from settings.default import *  # noqa: F403

if find_spec("scrapy_redis") is None:
    print("a cluster needs scrapy-redis: pip install 'sitemapcrawl[cluster]'", file=sys.stderr)
    raise SystemExit(2)  # as for a wrong option: nothing was requested

SPIDER_MODULES = ["sitemapcrawl.cluster.spiders"]
LOG_DATEFORMAT = "%Y-%m-%d %H:%M:%S"  # a worker is there for days
REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
REDIS_PARAMS = {"socket_connect_timeout": 5}  # seconds
MAX_IDLE_TIME_BEFORE_CLOSE = 0  # seconds without any work in the whole cluster after which a worker stops; 0: it waits on
