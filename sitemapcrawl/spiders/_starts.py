"""The starts of a crawl, one after the other: those of the option ``url``, then the lines of ``urls_file``."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from sitemapcrawl.protocol import urls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import BinaryIO, TypeVar

    from sitemapcrawl.options import Options

    _Result = TypeVar("_Result")

MAX_CHARACTERS = 8_192  # of a start; servers take no longer URL

_BLOCK = 65_536  # bytes that are read at a time
_LINE = 4 * (MAX_CHARACTERS + 1)  # bytes that are kept of a line: as many as make it too long, however it is encoded
_SPACE = b" \t\r\f\v"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


async def starts(options: Options) -> AsyncIterator[str]:
    """Yield the start URLs; of the file a line is read when it is asked for.

    Blank lines and lines that begin with ``#`` are passed over. Raises :exc:`OSError` if the file cannot be read, or no
    further.
    """
    for url in options.urls:
        yield url
    if options.urls_file is not None:
        async for line in lines(options.urls_file):
            if url := url_of(line):
                yield url


def check(url: str) -> None:
    """Raise :exc:`ValueError` unless *url* is one that a crawl can begin with."""
    if len(url) > MAX_CHARACTERS:
        raise ValueError(f"the start has more than {MAX_CHARACTERS:,} characters")
    if "\ufffd" in url:
        raise ValueError("the start holds bytes that are not UTF-8")  # they have become this character
    urls.check_start(url)


async def lines(path: str) -> AsyncIterator[bytes]:
    """Yield the lines of the file; of one that is too long to be a URL only the beginning is kept."""
    # A pipe has no writer yet, or has nothing to say for a while, and the crawl goes on meanwhile.
    with await _in_thread(_open, path) as file:
        line = b""
        is_first = True
        while block := await _in_thread(file.read, _BLOCK):
            if is_first and block.startswith(_UTF_16):
                raise OSError(0, "it is UTF-16, expected UTF-8")
            is_first = False
            *ends, rest = block.split(b"\n")
            for end in ends:
                yield (line + end)[:_LINE]
                line = b""
            line = (line + rest if line else rest.lstrip(_SPACE))[:_LINE]
        if line:
            yield line


def _open(path: str) -> BinaryIO:
    return open(0 if path == "-" else path, "rb", buffering=0, closefd=path != "-")


def _in_thread(function: Callable[..., _Result], *arguments: object) -> asyncio.Future[_Result]:
    """Call *function* in a thread that does not keep the process from ending, however long it waits for a pipe."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()

    def end(result: _Result | None, error: Exception | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, problem = None, None
        try:
            result = function(*arguments)
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the crawl is over, and its loop closed
            loop.call_soon_threadsafe(end, result, problem)

    Thread(target=run, name="sitemapcrawl-starts", daemon=True).start()
    return future


def url_of(line: bytes) -> str:
    """Return the URL in a line of a file of starts; none of a blank line and of one that begins with ``#``."""
    text = decoded(line)
    return "" if text.startswith("#") else text


def decoded(start: bytes) -> str:
    """Return the text of a start, for people, without what stands around it."""
    return start.decode("utf-8", "replace").strip("\ufeff \t\r\n\f\v")  # Windows begins files with a byte order mark
