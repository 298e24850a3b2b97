"""A filter of duplicates that survives ``kill -9``: with JOBDIR, a page is on record when it is done."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.dupefilters import RFPDupeFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

PAGE = "sitemapcrawl_page"  # the request meta key with the entry of the page, plain values that can be stored
DONE_PAGES = "sitemapcrawl.pages"  # in JOBDIR: a fingerprint a line

_CHAIN = "sitemapcrawl_fingerprints"  # the request meta key for those of a page: its own, and of where redirects led


class PageDupeFilter(RFPDupeFilter):
    """Scrapy's, but for when it writes down, with JOBDIR, that a page was requested.

    Scrapy does so when a request is made, and writes out the queue of those that wait when a crawl is closed: after
    ``kill -9``, what waited is lost, and is never requested again. Here a page is written down when it is done, and those
    that are not when the crawl is closed and the queue has them. So after a kill they are requested again, since the
    documents that list them are read again.
    """

    def __init__(self, path: str | None = None, debug: bool = False, **kwargs: Any) -> None:
        super().__init__(path, debug, **kwargs)
        self._under_way: Counter[str] = Counter()  # by the first fingerprint of a page: its requests that have not ended
        self._chains: dict[str, set[str]] = {}
        self._done: set[str] = set()
        self._pages = None
        self.resumed = bool(path) and Path(path or "", DONE_PAGES).exists()  # whether the crawl was begun before
        if path:
            self._pages = Path(path, DONE_PAGES).open("a+", encoding="ascii")  # noqa: SIM115 # until close()
            self._pages.seek(0)
            # The last line may have been cut off.
            self._done.update(line.rstrip("\n") for line in self._pages if line.endswith("\n"))
            self._pages.write("\n")

    @property
    def keeps_pages(self) -> bool:
        """Whether pages are written down."""
        return self._pages is not None

    def request_seen(self, request: Request) -> bool:
        if self._pages is None:
            return super().request_seen(request)
        fingerprint = self.fingerprinter.fingerprint(request).hex()
        if fingerprint in self._done:
            return True
        if PAGE not in request.meta:
            return super().request_seen(request)
        file, self.file = self.file, None  # it is known in memory only
        try:
            if super().request_seen(request):
                return True
        finally:
            self.file = file
        if _CHAIN not in request.meta:
            request.meta[_CHAIN] = fingerprint
            self._under_way[fingerprint] += 1
        self._chains.setdefault(request.meta[_CHAIN], set()).add(fingerprint)
        return False

    def begun(self, request: Request) -> None:
        """Note that *request*, which comes of one for a page (a retry, a redirect), has been made."""
        if (page := request.meta.get(_CHAIN)) in self._chains:
            self._under_way[page] += 1

    def ended(self, request: Request) -> str | None:
        """Note that *request* has come to an end; return what to call its page for :meth:`write` if that is done."""
        page = request.meta.get(_CHAIN)
        if page not in self._chains:
            return None
        self._under_way[page] -= 1
        return page if self._under_way[page] <= 0 else None

    def write(self, pages: Iterable[str]) -> None:
        """Write down that *pages* are done."""
        assert self._pages is not None
        for page in pages:
            self._under_way.pop(page, None)
            self._pages.writelines(f"{fingerprint}\n" for fingerprint in self._chains.pop(page, ()))
        self._pages.flush()

    def close(self, reason: str) -> None:
        if self._pages is not None:
            self.write(list(self._chains))  # the others are in the queue on disk
            self._pages.close()
        super().close(reason)
