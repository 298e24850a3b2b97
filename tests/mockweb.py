"""A small web on loopback, a dictionary of URLs, served as an HTTP proxy: any ``http://`` host name works without DNS."""

from __future__ import annotations

import http.server
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO


@dataclass
class Answer:
    """What the web answers for a URL; ``chunks`` are sent one by one, with ``pause`` seconds between them."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    length: int | None = None  # another Content-Length than that of the body; -1: none, the connection is closed at the end
    chunks: int = 1
    pause: float = 0
    write: Callable[[BinaryIO], None] | None = None  # writes all that is sent, from the status line on


class MockWeb:
    """A web while the ``with`` block lasts; ``requested`` are the URLs in the order in which they were asked for."""

    def __init__(
        self, pages: Mapping[str, str | bytes | Answer] | None = None, answer: Callable[[str], Answer] | None = None
    ) -> None:
        self.pages = dict(pages or {})
        self.answer = answer
        self.requested: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.max_in_flight = 0
        self.lock = threading.Lock()

    def _find(self, url: str) -> Answer:
        found = self.pages.get(url)
        if found is None:
            return self.answer(url) if self.answer else Answer(b"not found", 404)
        if isinstance(found, str):
            return Answer(found.encode())
        return Answer(found) if isinstance(found, bytes) else found

    def __enter__(self) -> MockWeb:
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The body is written after the headers, and would wait some 40 ms until the client confirms them.
            disable_nagle_algorithm = True

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                url = self.path
                if url.startswith("/"):
                    url = f"http://{self.headers.get('Host')}{url}"
                with web.lock:
                    web.requested.append(url)
                    web.headers.append(dict(self.headers))
                    web.in_flight += 1
                    web.max_in_flight = max(web.max_in_flight, web.in_flight)
                answer = web._find(url)
                time.sleep(answer.delay)
                with web.lock:
                    web.in_flight -= 1
                try:
                    self._send(answer)
                except OSError:
                    self.close_connection = True

            def _send(self, answer: Answer) -> None:
                if answer.write is not None:
                    self.close_connection = True
                    answer.write(self.wfile)
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.length == -1:
                    self.send_header("Connection", "close")
                else:
                    self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
                self.end_headers()
                size = max(1, -(-len(answer.body) // answer.chunks))
                for start in range(0, len(answer.body), size):
                    self.wfile.write(answer.body[start : start + size])
                    time.sleep(answer.pause)
                if answer.length is not None:
                    self.close_connection = True

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a client that goes away in the middle is no news

        self.server = Server(("127.0.0.1", 0), Handler)
        # It is looked that often whether the web is to end, which each of a thousand crawls waits for.
        threading.Thread(target=self.server.serve_forever, args=(0.005,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *args: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def urlset(*locations: str) -> str:
    """Return a urlset of *locations*."""
    return f"<urlset>{''.join(f'<url><loc>{location}</loc></url>' for location in locations)}</urlset>"


def index(*locations: str) -> str:
    """Return a sitemap index of *locations*."""
    return f"<sitemapindex>{''.join(f'<sitemap><loc>{location}</loc></sitemap>' for location in locations)}</sitemapindex>"
