"""What the body of a response may be: of bounded size, whole, and of use only if the status is 200."""

from __future__ import annotations

import asyncio
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any
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

_GZIP = 16 + zlib.MAX_WBITS
_UNPACKED_AT_A_TIME = 2  # a bomb of a few bytes takes up the largest size that is allowed


class ResponseTooLargeError(Exception):
    """The body, or what its content encoding holds, has more bytes than :setting:`DOWNLOAD_MAXSIZE` allows."""


class DamagedResponseError(Exception):
    """The content encoding of the body cannot be undone to its end."""


class BodyMiddleware:
    """Stop a download that exceeds :setting:`DOWNLOAD_MAXSIZE` (bytes), and undo the content encodings gzip and deflate.

    Scrapy's own limit gives an exception that does not know the status; here the response arrives without its body, so
    that a 404 with a large page is a 404. A body whose status is not 200 is not unpacked: it is never read.

    This goes for the requests of the spider that AdmissionMiddleware has admitted; others are left alone.

    HttpCompressionMiddleware takes what it can of a body that is cut off. Here that is a :exc:`DamagedResponseError`: a
    text sitemap would come out short without a word, its last URL cut off. A body that is not compressed although its
    header says so is taken as it is. Other encodings, which are not asked for, are left to HttpCompressionMiddleware.
    """

    def __init__(self, crawler: Crawler, max_size: int) -> None:
        self._crawler = crawler
        self._max_size = max_size
        self._counts = False
        self._unpacking = asyncio.Semaphore(_UNPACKED_AT_A_TIME)
        self._received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._too_large: WeakKeyDictionary[Request, bool] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        # Where a spider requests pages, too, the setting is theirs.
        pages = getattr(spider, "requests_pages", False)
        middleware = cls(crawler, spider.options.max_response_size if pages else crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        if middleware._max_size:
            crawler.signals.connect(middleware._headers_received, signals.headers_received)
        return middleware

    def _headers_received(self, headers: Headers, body_length: int | None, request: Request) -> None:
        if ADMITTED not in request.meta:
            return
        if not isinstance(body_length, int):  # not known; Twisted has a word for it
            if not self._counts:  # from now on, since a signal for each piece that arrives costs time
                self._crawler.signals.connect(self._bytes_received, signals.bytes_received)
                self._counts = True
        elif body_length > self._max_size:
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
        if not encodings or not all(encoding in _DECODERS for encoding in encodings):
            return response
        body = response.body
        try:
            async with self._unpacking:
                for encoding in reversed(encodings):
                    body = await run_in_thread(_DECODERS[encoding], body, self._max_size or None)
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


def _gunzip(body: bytes, max_size: int | None) -> bytes:
    if not compression.is_gzip(body):
        return body
    with suppress(zlib.error):
        if compression.is_gzip(zlib.decompressobj(_GZIP).decompress(body, 2)):
            # A .gz file within: if it is damaged or too large, it is for the reader to say so.
            encoding = zlib.decompressobj(_GZIP)
            file = encoding.decompress(body, _room(max_size))
            if encoding.eof and (max_size is None or len(file) <= max_size):
                return file
    return compression.gunzip(body, max_size)


def _inflate(body: bytes, max_size: int | None) -> bytes:
    # With the header of zlib, as RFC 9110 has it, or without, as some servers do.
    has_header = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    decoder = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
    problem = "unexpected end of file"
    try:
        content = decoder.decompress(body, _room(max_size))
        if max_size is not None and len(content) > max_size:
            raise compression.TooLargeError(max_size)
        if decoder.eof:
            return content
    except zlib.error as error:
        problem = str(error).rpartition(": ")[2]
    if not has_header:
        return body
    raise compression.DamagedError(f"deflate decompression failed: {problem}")


def _room(max_size: int | None) -> int:
    """Return the most bytes to ask zlib for, one more than are wanted; 0 is no limit."""
    return 0 if max_size is None else min(max_size + 1, sys.maxsize)


_DECODERS = {b"gzip": _gunzip, b"x-gzip": _gunzip, b"deflate": _inflate}
