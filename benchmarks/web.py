"""The web that is crawled: its documents are written to a folder, then served from it on loopback by a process of its own.

The server hands each file to the kernel (``sendfile``) and is never what a crawl waits for, with one exception: documents
named ``drip-…`` are sent a few bytes at a time, over two seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
CHANGEFREQS = ("daily", "weekly", "monthly", "yearly")
LANGUAGES = ("en", "de", "fr", "it", "es", "pt", "nl", "pl", "cs", "sv")
DRIP_SECONDS = 2.0


class Web(NamedTuple):
    """What to serve: *files* sitemaps of *rows* pages each, plain or *rich*, and *drips* tiny sitemaps that arrive slowly.

    Of *sites* above 0 there are as many, each in a folder of its own. An answer comes after *delay* milliseconds.
    """

    files: int
    rows: int
    rich: bool = False
    drips: int = 0
    sites: int = 0
    delay: int = 0

    @property
    def pages(self) -> int:
        return (self.files * self.rows + self.drips) * (self.sites or 1)

    @property
    def documents(self) -> int:
        """How many documents are fetched: robots.txt and index of each site, and their sitemaps."""
        return (self.files + self.drips + 2) * (self.sites or 1)

    def starts(self, url: str) -> list[str]:
        """Return the URL of the robots.txt of each site, *url* being the one of the server."""
        base = url.removesuffix("/robots.txt")
        return [f"{base}/{_site(number)}/robots.txt" for number in range(self.sites)] or [url]


def _site(number: int) -> str:
    return f"site-{number:05}"


# -- Writing


def plain_row(base: str, number: int) -> str:
    """Return a page with lastmod, changefreq and priority, in 217 bytes or so. No two have the same date in a file."""
    second = number % 86400
    date = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00:00"
    return (
        f"  <url>\n    <loc>{base}/products/category-{number % 97:02}/another-item-{number:07}.html</loc>\n"
        f"    <lastmod>{date}T{clock}</lastmod>\n"
        f"    <changefreq>{CHANGEFREQS[number % 4]}</changefreq>\n    <priority>0.{number % 10}</priority>\n  </url>\n"
    )


def rich_row(base: str, number: int) -> str:
    """Return a page with ten images, ten alternates and news, in 3 kB or so."""
    images = "".join(
        f"    <image:image><image:loc>{base}/images/{number:07}-{i}.jpg</image:loc>"
        f"<image:title>Picture {i} of {number}</image:title></image:image>\n"
        for i in range(10)
    )
    alternates = "".join(
        f'    <xhtml:link rel="alternate" hreflang="{language}" href="{base}/{language}/story-{number:07}.html"/>\n'
        for language in LANGUAGES
    )
    return (
        f"  <url>\n    <loc>{base}/en/story-{number:07}.html</loc>\n    <lastmod>2026-05-{number % 28 + 1:02}</lastmod>\n"
        f"    <news:news><news:publication><news:name>The Daily Bench</news:name><news:language>en</news:language>"
        f"</news:publication><news:publication_date>2026-05-{number % 28 + 1:02}T09:00:00Z</news:publication_date>"
        f"<news:title>Story {number} &amp; what came of it</news:title></news:news>\n{images}{alternates}  </url>\n"
    )


def write(folder: Path, base: str, web: Web) -> None:
    """Write the documents of *web*, which will be served at *base*, into *folder*."""
    if web.sites:
        for number in range(web.sites):
            (folder / _site(number)).mkdir()
            write(folder / _site(number), f"{base}/{_site(number)}", web._replace(sites=0))
        return
    drips = [f"drip-{number:03}.xml" for number in range(web.drips)]
    names = [f"sitemap-{number:03}.xml" for number in range(web.files)]
    (folder / "robots.txt").write_text(f"User-agent: *\nDisallow:\n\nSitemap: {base}/sitemap.xml\n")
    entries = "".join(f"  <sitemap><loc>{base}/{name}</loc></sitemap>\n" for name in drips[::2] + names + drips[1::2])
    (folder / "sitemap.xml").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {NAMESPACES}>\n{entries}</sitemapindex>\n'
    )
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACES}>\n'
    row = rich_row if web.rich else plain_row
    for index, name in enumerate(names):
        with (folder / name).open("w") as file:
            file.write(head)
            file.writelines(row(base, number) for number in range(index * web.rows, (index + 1) * web.rows))
            file.write("</urlset>\n")
    for number, name in enumerate(drips):
        (folder / name).write_text(f"{head}  <url><loc>{base}/drip/{number}</loc></url>\n</urlset>\n")


# -- Serving


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body of a small document would wait for the head to be acknowledged, 40 ms
    server: Server

    def do_GET(self) -> None:
        if self.server.delay:
            time.sleep(self.server.delay)
        path = self.server.folder / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if path.suffix == ".txt" else "application/xml")
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()
        if path.name.startswith("drip-"):
            self._drip(path.read_bytes())
        else:
            with path.open("rb") as file:
                self.connection.sendfile(file)

    def do_HEAD(self) -> None:
        self.send_error(405)

    def _drip(self, body: bytes, parts: int = 20) -> None:
        size = -(-len(body) // parts)
        for start in range(0, len(body), size):
            time.sleep(DRIP_SECONDS / parts)
            self.wfile.write(body[start : start + size])

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path, delay: float = 0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.delay = delay  # seconds
        self.base = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(folder: Path, web: Web) -> Iterator[str]:
    """Write and serve *web* from a process of its own, and yield the URL of its robots.txt."""
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.web", str(folder), *(str(int(number)) for number in web)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()  # said once everything is written
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a web of sitemaps into FOLDER and serve it on loopback.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "numbers", type=int, nargs=6, metavar="NUMBER", help="files, rows, rich (0 or 1), drips, sites, delay in ms"
    )
    arguments = parser.parse_args()
    files, rows, rich, *others = arguments.numbers
    web = Web(files, rows, bool(rich), *others)
    with Server(arguments.folder, web.delay / 1000) as server:
        write(arguments.folder, server.base, web)
        print(f"{server.base}/robots.txt", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
