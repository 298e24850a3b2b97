"""Serve the example site on loopback: the documents under ``site/``, with ``{base}`` replaced by the address they are served at.

``python example/serve.py [--port N]`` serves until Ctrl-C. Standard library only.
"""

from __future__ import annotations

import argparse
import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE = Path(__file__).resolve().parent / "site"

# Served under their name and ".gz".
GZIPPED = {"/shop/products.xml"}

CONTENT_TYPES = {
    ".atom": "application/atom+xml",
    ".gz": "application/gzip",
    ".rss": "application/rss+xml",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml",
}


def documents(base: str) -> dict[str, bytes]:
    """Return the site's documents by path, as they are served at *base*, such as ``http://127.0.0.1:8000``."""
    served = {}
    for file in sorted(path for path in SITE.rglob("*") if path.is_file()):
        path = "/" + file.relative_to(SITE).as_posix()
        body = file.read_bytes().replace(b"{base}", base.encode())
        if path in GZIPPED:
            path, body = f"{path}.gz", gzip.compress(body, mtime=0)
        served[path] = body
    return served


class Handler(BaseHTTPRequestHandler):
    """Answer with a document of the server's, or with 404."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        body = self.server.documents.get(self.path.partition("?")[0])
        status, content_type = 200, CONTENT_TYPES.get(Path(self.path).suffix, "text/plain; charset=utf-8")
        if body is None:
            status, content_type, body = 404, "text/plain; charset=utf-8", b"There is no such page.\n"
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the crawl's own log is what a reader is after."""


class Server(ThreadingHTTPServer):
    """The example site on loopback; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.base = f"http://127.0.0.1:{self.server_port}"
        self.documents = documents(self.base)


@contextmanager
def serving(port: int = 0) -> Iterator[Server]:
    """Serve the site from a thread of this process for as long as the ``with`` block lasts."""
    with Server(port) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the example site on loopback.")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on; a free one if left out")
    port = parser.parse_args().port
    try:
        server = Server(port)
    except (OSError, OverflowError) as error:  # it is taken, or there is no such port
        parser.exit(1, f"port {port} cannot be listened on: {getattr(error, 'strerror', None) or error}\n")
    with server:
        print(f"{server.base}/robots.txt (Ctrl-C ends)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
