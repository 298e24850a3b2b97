"""Signals of a crawl of sitemaps, in addition to those of Scrapy. They are sent in lists, not one by one.

``errors_found(errors, spider)``
    What went wrong: a list of :class:`~sitemapcrawl.protocol.errors.SitemapError`.

``sitemaps_listed(sitemaps, spider)``
    The sitemaps that the documents list, each once: a list of :class:`~sitemapcrawl.protocol.records.SitemapEntry`.
    It is sent when all that a start leads to has been read, before the feeds are closed.

``pipelines_closing()``
    Item pipelines are about to be closed, and still take items. Handlers may be coroutines.

``documents_saving()``
    In a crawl with JOBDIR: a document is about to count as done. Who holds back some of what it gave writes that out
    now; a handler that raises keeps the document from counting as done. One that writes to files may return their sizes,
    ``{absolute path: bytes}``. Handlers may be coroutines.

``crawl_resumed(sizes)``
    An interrupted crawl goes on: files are continued, and cut back to these sizes, as ``documents_saving`` gave them
    last. What is behind them came from documents that are read once more. Without sizes (``None``) all of them is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.signalmanager import SignalManager

errors_found = object()
sitemaps_listed = object()
pipelines_closing = object()
documents_saving = object()
crawl_resumed = object()


async def save_documents(manager: SignalManager) -> dict[str, int]:
    """Send ``documents_saving``, and return the sizes of files: absolute path → bytes.

    Raises :exc:`OSError` if a handler failed, which the log explains: the document does not count as done then.
    """
    sizes: dict[str, int] = {}
    for _, result in await manager.send_catch_log_async(documents_saving):
        if isinstance(result, Exception):
            raise OSError(f"what was delivered could not be written out: {result}") from result
        if isinstance(result, Mapping):
            sizes.update(result)
    return sizes
