"""Crawl the example site: serve it, run ``scrapy crawl sitemap`` on its robots.txt, and end with the crawl's exit status.

``python example/crawl.py [OUT [ARGUMENT ...]]``: pages go to OUT (``urls.jsonl``), further arguments to the command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from serve import serving


def main(out: str = "urls.jsonl", *arguments: str) -> int:
    with serving() as server:
        url = f"{server.base}/robots.txt"
        print(f"Crawling the example site, {url}, into {out}", file=sys.stderr, flush=True)
        crawl = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-a", f"url={url}", "-O", out, *arguments],
            # A proxy that is meant for the web outside cannot reach this one.
            env={**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"},
        )
        # The terminal sends Ctrl-C to both processes: the crawl winds up, and this one waits for it.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: crawl.terminate())
        return crawl.wait()


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        sys.exit()
    sys.exit(main(*sys.argv[1:]))
