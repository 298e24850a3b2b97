"""Crawls with JOBDIR: what the spider beside this writes into the journal, and how it goes on from there."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Spider

from sitemapcrawl.journal import Journal, JournalError, JournalInUseError
from sitemapcrawl.signals import crawl_resumed, save_documents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from scrapy import Request

    from sitemapcrawl.journal import Done
    from sitemapcrawl.options import Options
    from sitemapcrawl.protocol.errors import ConfigError
    from sitemapcrawl.spiders._call import Call

logger = logging.getLogger("sitemapcrawl.spiders.sitemap")  # the spider: people need not know this module

JOURNAL = "sitemapcrawl.sqlite"  # in JOBDIR


class JournalledCalls(Spider):
    """What a crawl with JOBDIR does besides: see :mod:`sitemapcrawl.journal`."""

    # Set when the crawl starts, where JOBDIR is set.
    journal: Journal | None = None
    is_beside_another: bool = False  # whether another process works on this crawl: its files are not ours

    if TYPE_CHECKING:  # what the spider itself has
        options: Options
        config_errors: list[ConfigError]
        calls: dict[int, Call]
        known: int
        _job_dir: str | None
        _started: int
        _ended: int
        _failed: int
        _unread: str
        is_abandoned: bool

        def note_wrong(self, problem: str) -> None: ...
        def stop_for(self, reason: str) -> None: ...
        async def _next_start(self, remaining: AsyncIterator[str]) -> str | None: ...
        async def _until_there_is_room(self) -> None: ...
        def _call(self, number: int, url: str) -> Call: ...
        def _start_key(self, call: Call) -> str: ...
        def _first_requests(self, call: Call) -> AsyncIterator[Request]: ...
        async def _request_or_lose(self, call: Call, key: str, depth: int) -> Request | None: ...
        def _turn(self) -> AbstractAsyncContextManager[None]: ...
        async def _forget(self, call: Call, count: int) -> None: ...
        async def _end_or_save(self, call: Call, done: Done | None) -> None: ...

    async def _open_journal(self, remaining: AsyncIterator[str]) -> None:
        """Open the journal in JOBDIR, and pass over the starts that were taken already."""
        assert self._job_dir is not None
        try:
            journal = Journal(str(Path(self._job_dir, JOURNAL)))
            try:
                await self._pass_over(remaining, journal)
            except JournalError:
                journal.close()
                raise
        except JournalError as error:
            self.is_beside_another = isinstance(error, JournalInUseError)
            self.note_wrong(f"setting JOBDIR: {error}")
            return
        self.journal = journal
        self._started, self._ended, self._failed = journal.started, journal.ended, journal.failed
        if sizes := journal.files():
            self.crawler.signals.send_catch_log(crawl_resumed, sizes=sizes)
        await self._save(None, None)

    async def _pass_over(self, remaining: AsyncIterator[str], journal: Journal) -> None:
        """Take as many starts as were taken before from *remaining*; the last one has to be the same."""
        count, last = journal.started, None
        for _ in range(count):
            last = await self._next_start(remaining)
        if self._unread:
            raise JournalError(f"its {count:,} starts cannot be passed over: {self.options.urls_file!r} ({self._unread})")
        if count and last != journal.last_start:
            raise JournalError(
                f"its crawl had {journal.last_start!r} as start {count:,}, not {last!r}; name another folder for another crawl"
            )

    async def _resume(self) -> AsyncIterator[Request]:
        """Yield the requests that the journal has waiting."""
        if self.journal is None or not self._started:
            return
        waiting = self.journal.waiting()
        asked = Counter(number for number, _, _ in waiting)
        for state in self.journal.calls():
            call = self._call(state.id, state.url)
            call.restore(state, self.journal, 0 if state.stopped else asked[state.id])
            self._count_waiting(call, [key for number, key, _ in waiting if number == call.id])
            self.known += call.outstanding
            if not call.outstanding:
                async with self._turn():
                    await self._end_or_save(call, None)
        logger.info("%s", self._what_waits())
        for number, key, depth in waiting:
            resumed = self.calls.get(number)
            if resumed is None:
                continue
            if resumed.stopped:
                await self._forget(resumed, 1)
            elif not resumed.done and key == self._start_key(resumed):
                async for request in self._first_requests(resumed):
                    yield request
            elif (made := await self._request_or_lose(resumed, key, depth)) is not None:
                yield made
            await self._until_there_is_room()

    def _what_waits(self) -> str:
        ended = "1 start has ended" if self._ended == 1 else f"{self._ended:,} starts have ended"
        if self.known or (self.options.urls_file is None and self._started < len(self.options.urls)):
            return f"The crawl goes on: {self.known:,} sitemap{'s wait' if self.known != 1 else ' waits'}, {ended}"
        # A file of starts may have grown.
        done = "All is done" if self.options.urls_file is None else "All that was begun is done"
        return f"{done}, {ended}; to crawl anew, remove the folder {self._job_dir!r}"

    def _count_waiting(self, call: Call, keys: list[str]) -> None:
        """Count *keys* as requested where that is done beforehand: ``multi_thread`` may be another than before."""
        counters, first = call.counters, self._start_key(call)
        for key in keys:
            if self.options.multi_thread and key not in counters.requested:
                counters.request(key)
            elif not self.options.multi_thread and key in counters.requested and key != first:
                counters.unrequest(key)

    async def _save(self, call: Call | None, done: Done | None, *, ended: bool = False) -> None:
        """Write what is done into the journal, once its pages are in the feeds."""
        assert self.journal is not None
        if self.is_abandoned:
            return  # a document that was not read to its end may be in the files
        try:
            sizes = await save_documents(self.crawler.signals)
            self.journal.save(call.state() if call else None, done, sizes, ended=ended)
        except (sqlite3.Error, OSError) as error:
            # Whatever came after it would be there twice, or lost where its start ends. The crawl can go on from here.
            logger.error("The crawl ends, for its state cannot be saved in JOBDIR: %s", error)
            self.stop_for("not_saved")
