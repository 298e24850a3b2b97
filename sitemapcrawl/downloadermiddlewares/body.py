"""What the body of a response may be: of bounded size, whole, and of use only if the status is 200."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import StopDownload
from scrapy.utils.asyncio import run_in_thread

from sitemapcrawl.downloadermiddlewares.admission import ADMITTED
from sitemapcrawl.protocol import compression

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response


class ResponseTooLargeError(Exception):
    """The body, or what its content encoding holds, has more bytes than :setting:`DOWNLOAD_MAXSIZE` allows."""


class DamagedResponseError(Exception):
    """The content encoding of the body cannot be undone to its end."""


class BodyMiddleware:
    """Stop a download that exceeds :setting:`DOWNLOAD_MAXSIZE` (bytes), and undo the content encoding gzip.

    Scrapy's own limit gives an exception that does not know the status; here the response arrives without its body, so
    that a 404 with a large page is a 404. A body whose status is not 200 is not unpacked: it is never read.

    This goes for the requests of the spider that AdmissionMiddleware has admitted; others are left alone.

    HttpCompressionMiddleware takes what it can of a gzip body that is cut off. Here that is a
    :exc:`DamagedResponseError`: a text sitemap would come out short without a word. A body that is not gzip
    although its header says so is taken as it is.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._too_large: WeakKeyDictionary[Request, bool] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        if middleware._max_size:
            crawler.signals.connect(middleware._headers_received, signals.headers_received)
            crawler.signals.connect(middleware._bytes_received, signals.bytes_received)
        return middleware

    def _headers_received(self, headers: Headers, body_length: int | None, request: Request) -> None:
        # Twisted gives a word instead of a number where the length is not known.
        if isinstance(body_length, int) and body_length > self._max_size and ADMITTED in request.meta:
            self._stop(request)

    def _bytes_received(self, data: bytes, request: Request) -> None:
        if ADMITTED not in request.meta:
            return
        received = self._received.get(request, 0) + len(data)
        self._received[request] = received
        if received > self._max_size:
            self._stop(request)

    def _stop(self, request: Request) -> None:
        self._too_large[request] = True
        raise StopDownload(fail=False)

    async def process_response(self, request: Request, response: Response) -> Response:
        if ADMITTED not in request.meta:
            return response
        self._received.pop(request, None)
        too_large = self._too_large.pop(request, False)
        if response.status != 200:
            return self._without_encoding(response, b"") if response.body else response
        if too_large:
            raise ResponseTooLargeError(f"the response is larger than {self._max_size:,} bytes")
        encodings = [name.strip().lower() for line in response.headers.getlist("Content-Encoding") for name in line.split(b",")]
        if encodings not in ([b"gzip"], [b"x-gzip"]):
            return response
        if not compression.is_gzip(response.body):
            return self._without_encoding(response, response.body)
        try:
            body = await run_in_thread(compression.gunzip, response.body, self._max_size or None)
        except compression.TooLargeError:
            raise ResponseTooLargeError(f"the response is larger than {self._max_size:,} bytes once it is unpacked") from None
        except compression.DamagedError as error:
            raise DamagedResponseError(f"content encoding: {error}") from None
        return self._without_encoding(response, body)

    @staticmethod
    def _without_encoding(response: Response, body: bytes) -> Response:
        response = response.replace(body=body)
        response.headers.pop("Content-Encoding", None)
        return response
