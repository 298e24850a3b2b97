"""Run ``scrapy`` in forks of this process, which has imported it: a worker begins in a fraction of the time, and no other way.

Orders are lines of JSON on standard input, and each gets a line as answer. ``{"arguments", "environment", "log"}`` begins a
process and gets its id; ``{"wait": id}`` gets its exit status, negative if a signal ended it, or null while it runs.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path

PROJECT = Path(__file__).parents[2]
# All that a worker comes to import, but for the reactor: it must be made by the process that it runs in.
IMPORTED = """
    sitemapcrawl.cluster.spiders sitemapcrawl.cluster.scheduling sitemapcrawl.commands.crawl sitemapcrawl.commands.enqueue
    sitemapcrawl.extensions.feeds sitemapcrawl.extensions.outcome sitemapcrawl.extensions.progress sitemapcrawl.downloader
    sitemapcrawl.itemprocessor sitemapcrawl.exporters.jsonlines sitemapcrawl.exporters.sitemap sitemapcrawl.scheduler
    sitemapcrawl.downloadermiddlewares.admission sitemapcrawl.downloadermiddlewares.body sitemapcrawl.downloadermiddlewares.retry
    scrapy.cmdline scrapy.crawler scrapy.core.engine scrapy.core.downloader.handlers.http11 scrapy.pqueues scrapy.squeues
    scrapy.statscollectors scrapy.extensions.corestats scrapy.extensions.logstats scrapy.extensions.memusage
    scrapy.extensions.memdebug scrapy.extensions.spiderstate scrapy.extensions.throttle scrapy.extensions.closespider
    scrapy.spidermiddlewares.start scrapy.spidermiddlewares.httperror scrapy.spidermiddlewares.referer
    scrapy.spidermiddlewares.urllength scrapy.spidermiddlewares.depth scrapy.logformatter scrapy.spiderloader
    scrapy.downloadermiddlewares.httpproxy scrapy.downloadermiddlewares.redirect scrapy.downloadermiddlewares.httpauth
    scrapy.downloadermiddlewares.downloadtimeout scrapy.downloadermiddlewares.defaultheaders
    scrapy.downloadermiddlewares.useragent scrapy.downloadermiddlewares.httpcompression
    scrapy.downloadermiddlewares.offsite scrapy.downloadermiddlewares.robotstxt
    scrapy.resolver lxml.etree settings.cluster
""".split()


def run(arguments: list[str], environment: dict[str, str], log: str) -> int:
    """Run ``scrapy`` with *arguments* as its own process would."""
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["scrapy", *arguments]
    import_module("settings.cluster").REDIS_URL = environment["REDIS_URL"]  # which it has read from another environment
    status = 1
    try:
        import_module("scrapy.cmdline").execute()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
    return status


def main() -> None:
    sys.path.insert(0, str(PROJECT))
    os.chdir(PROJECT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in IMPORTED:
        import_module(name)
    assert "twisted.internet.reactor" not in sys.modules
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            process, status = os.waitpid(order["wait"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if process else None
        else:
            answer = os.fork()
            if not answer:
                status = run(**order)
                # As the interpreter does at its end, but for taking apart what it shares with its parent, page by page.
                threading._shutdown()
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
