"""The starts of a crawl, one after the other: those of the option ``url``, then the lines of ``urls_file``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sitemapcrawl.options import Options


async def starts(options: Options) -> AsyncIterator[str]:
    """Yield the start URLs; of the file a line is read when it is asked for.

    Blank lines and lines that begin with ``#`` are passed over.
    """
    for url in options.urls:
        yield url
    if options.urls_file is None:
        return
    if options.urls_file == "-":
        # A pipe may have nothing yet, and the crawl goes on meanwhile.
        while line := await run_in_thread(sys.stdin.buffer.readline):
            if url := url_of(line):
                yield url
        return
    for line in _lines(options.urls_file):
        if url := url_of(line):
            yield url


def _lines(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from file


def url_of(line: bytes) -> str:
    """Return the URL in a line of a file of starts; none of a blank line and of one that begins with ``#``."""
    text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n\f\v")  # Windows begins files with a byte order mark
    return "" if text.startswith("#") else text
