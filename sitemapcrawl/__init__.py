"""sitemapcrawl: crawl, check and write XML sitemaps.

``await crawl(url)``, ``crawl_sync(url)`` and ``pages(url)`` are those of :mod:`sitemapcrawl.library`. They are imported
when they are first asked for: the protocol does without Scrapy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sitemapcrawl.library import PageStream, Result, crawl, crawl_sync, pages

__version__ = "0.1.0"
__all__ = ["PageStream", "Result", "__version__", "crawl", "crawl_sync", "pages"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sitemapcrawl import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
