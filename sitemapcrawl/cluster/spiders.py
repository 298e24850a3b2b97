"""The spider of a cluster: a worker that takes documents, one or a few at a time, from what all workers share in Redis."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from redis.exceptions import RedisError
from scrapy.settings import default_settings as scrapy_defaults
from scrapy.utils.asyncio import run_in_thread
from scrapy_redis import defaults

from sitemapcrawl import default_settings
from sitemapcrawl.cluster.store import Document, Store, connect
from sitemapcrawl.counters import Added, Counters, DocumentLost
from sitemapcrawl.options import number
from sitemapcrawl.protocol.errors import NetworkError
from sitemapcrawl.signals import crawl_resumed, save_documents, sitemaps_listed
from sitemapcrawl.spiders import sitemap
from sitemapcrawl.spiders._call import Call
from sitemapcrawl.spiders._settings import forget_job_dir, local_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemapcrawl.cluster.scheduling import ClusterScheduler
    from sitemapcrawl.cluster.store import Claimed
    from sitemapcrawl.journal import Done
    from sitemapcrawl.protocol.records import SitemapEntry

logger = logging.getLogger(__name__)

_AT_A_TIME = 4  # documents that are claimed in one step
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 1.0  # seconds until Redis is asked for work again
_LONGEST_SILENCE = 2.0  # seconds without any request under way until those of the documents in hand count as dropped
_MOST_CONCURRENT = 16  # documents of a worker where max_concurrency is lifted
_WORKER_NAME = re.compile(r"[\w.@-]{1,100}")


@dataclass(slots=True)
class SharedCounters(Counters):
    """The counters of a call that several workers share, as they stand for one document that this worker holds."""

    store: Store | None = None
    document: Document | None = None
    key: str = ""
    depth: int = 0

    async def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        return await run_in_thread(getattr(self.store, method), self.document, *arguments, **options)

    def reach(self, limit: str) -> bool:
        """Say nothing: what was reached is known in Redis, and told at the end of the call."""
        return False

    async def serve(self, key: str) -> bool:
        return bool(await self._ask("serve", self.key, key, self.depth))

    async def add_sitemaps(
        self, found: Iterable[tuple[str, SitemapEntry, bool]], children: dict[str, None], *, at_once: bool, too_deep: bool
    ) -> Added:
        """Add the sitemaps to those that wait in Redis; none of them is a child that this worker would request."""
        return cast("Added", await self._ask("add_sitemaps", list(found), too_deep=too_deep))

    async def take_pages(self, count: int) -> tuple[int, bool]:
        return cast("tuple[int, bool]", await self._ask("take_pages", count))

    async def take_validation_errors(self, count: int) -> int:
        return int(await self._ask("take_validation_errors", count))


class SitemapSpider(sitemap.SitemapSpider):
    """A worker: the spider ``sitemap``, of which any number works on the same starts, on any number of machines.

    Each document is a :class:`~sitemapcrawl.spiders._call.Call` here, as nobody but Redis knows the others of its start.
    """

    name = "sitemap"
    takes_starts = False
    custom_settings = {
        "SCHEDULER": "sitemapcrawl.cluster.scheduling.ClusterScheduler",
        "SCHEDULER_QUEUE_CLASS": "sitemapcrawl.cluster.scheduling.LeasedQueue",
        "DUPEFILTER_CLASS": "sitemapcrawl.cluster.scheduling.KeptDupeFilter",
        # One that is dropped comes to no end of its own.
        "URLLENGTH_LIMIT": 0,
    }

    store: Store

    def _prepare(self, settings: BaseSettings) -> None:
        # Redis is the journal. Scrapyd sets it for all projects.
        self._unused_job_dir = settings.get("JOBDIR")
        forget_job_dir(settings)
        super()._prepare(settings)
        self._numbers = count(1)
        self._joined = self._told_of_starts = False
        self._beating: asyncio.Future[None] | None = None
        self._outage: str | None = None  # why Redis cannot be used
        self._most_documents = min(self.options.max_concurrency or _MOST_CONCURRENT, _MOST_CONCURRENT * 100)
        self._lease = settings.getfloat("SITEMAPCRAWL_LEASE", default_settings.SITEMAPCRAWL_LEASE)  # seconds
        self._most_deaths = settings.getint("SITEMAPCRAWL_MAX_DEATHS", default_settings.SITEMAPCRAWL_MAX_DEATHS)
        self._hold_off = 0.0  # until when no work is asked for
        self._silent_since: float | None = None  # since when no request is under way
        self.worker = settings.get("SITEMAPCRAWL_WORKER") or f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:4]}"
        self._check(settings)
        self._connect(settings)
        if self.config_errors:
            # Nothing is requested then, and Redis may be what is wrong.
            for name in ("SCHEDULER", "DUPEFILTER_CLASS"):
                settings.set(name, getattr(scrapy_defaults, name), priority="spider")
        elif self.options.lint is not None:
            self.options.lint = self.options.lint.replace("%(worker)s", self.worker)

    def _check(self, settings: BaseSettings) -> None:
        """Note what cannot be had in a cluster, as an error each."""
        options = self.options
        for name in ("url", "urls_file", "content"):
            if name in options.given:
                self.note_wrong(
                    f"option {name}: the workers of a cluster take their starts from Redis; push them: scrapy enqueue FILE"
                )
        if not options.multi_thread:
            self.note_wrong("option multi_thread: False is wrong, the workers of a cluster work side by side, expected True")
        if options.sample:
            self.note_wrong(
                f"option sample: {options.sample} is wrong, there is no sample of what many workers deliver, expected 0"
            )
        if self.requests_pages:
            self.note_wrong(
                f"spider {self.name}: a cluster delivers pages and does not request them, expected no callback for pages"
            )
        if not _WORKER_NAME.fullmatch(self.worker):
            self.note_wrong(f"setting SITEMAPCRAWL_WORKER: {self.worker!r} is wrong, expected letters, digits and . @ _ -")
        idle = settings.get("MAX_IDLE_TIME_BEFORE_CLOSE", defaults.MAX_IDLE_TIME)  # seconds; 0: no end
        try:
            self._patience = number(0)(idle)
        except ValueError as error:
            self.note_wrong(f"setting MAX_IDLE_TIME_BEFORE_CLOSE: {idle!r} is wrong, {error}")
        for name in ("REDIS_START_URLS_AS_SET", "REDIS_START_URLS_AS_ZSET"):
            if settings.getbool(name):
                self.note_wrong(f"setting {name}: True is wrong, starts are taken from a list, expected False")
        self._check_feeds(settings)

    def _connect(self, settings: BaseSettings) -> None:
        try:
            self.store = connect(settings, self.name, self.worker, uuid4().hex, self._lease)
            self.store.status()
        except RedisError as error:
            self.note_wrong(f"setting REDIS_URL: Redis cannot be used: {error}")
        except ValueError as error:
            self.note_wrong(str(error))

    # Work

    async def start(self) -> AsyncIterator[Any]:
        if self.config_errors:
            self.report(self.config_errors)
            return
        logger.info("Options: %s", self.options.describe())
        logger.info("Worker %s waits for work; stop it with Ctrl-C", self.worker)
        if self._unused_job_dir:
            logger.info("JOBDIR is not used: what a cluster has to do is in Redis")
        self.warn_if_nothing_is_kept("-o 'urls-%(worker)s.jsonl'")
        # A worker that has a name of its own may have been here before: its files go on.
        self.crawler.signals.send_catch_log(crawl_resumed, sizes=None)
        self._beating = asyncio.ensure_future(self._beat())
        wait, idle_since = _SHORTEST_WAIT, monotonic()
        while not self.is_abandoned:
            await self._until_there_is_room()
            claimed = await self._claim()
            if claimed is not None and claimed.documents:
                wait, self._silent_since = _SHORTEST_WAIT, None
                for document in claimed.documents:
                    async for request in self._begin_document(document):
                        yield request
                continue
            if claimed is None or claimed.open_calls or self.calls:
                idle_since = monotonic()
            elif self._patience and monotonic() - idle_since >= self._patience:
                logger.info("There is no work any more")
                return
            await self._pause(wait)
            await self._settle_dropped()
            wait = min(_LONGEST_WAIT, 2 * wait)

    def _check_feeds(self, settings: BaseSettings) -> None:
        """Refuse files that two workers on a machine would both write."""
        for uri in map(str, settings.getdict("FEEDS")):
            # Scrapyd names the file by the job.
            if local_path(uri) is not None and self._job is None:
                self.note_wrong(
                    f"feed {uri!r}: two workers on a machine would write the same file, expected %(worker)s in its name"
                )

    async def _until_there_is_room(self) -> None:
        while not self.is_abandoned and self._is_busy():
            await self._pause(_LONGEST_WAIT)
            await self._settle_dropped()

    def _is_busy(self) -> bool:
        engine = self.crawler.engine
        assert engine is not None
        if len(self.calls) >= self._most_documents:
            return True
        return engine.needs_backout() or (engine.scheduler is not None and engine.scheduler.has_pending_requests())

    async def _pause(self, seconds: float) -> None:
        self._room.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._room.wait()
        except TimeoutError:
            pass

    async def _claim(self) -> Claimed | None:
        """Return documents to work on; ``None`` if that cannot be known at present."""
        if monotonic() < self._hold_off:
            return None
        assert self.crawler.engine is not None
        scheduler = cast("ClusterScheduler", self.crawler.engine.scheduler)
        try:
            claimed = await scheduler.take(min(_AT_A_TIME, self._most_documents - len(self.calls)))
            if claimed is None:
                # Who takes a name has it, until another process does: the one that is replaced must not take it back.
                self._heed(await run_in_thread(self.store.beat if self._joined else self.store.join))
                self._joined = True
        except RedisError as error:
            self._note_outage(error)
            return None
        self._outage = None
        if claimed is not None and not claimed.starts_are_listed and not self._told_of_starts:
            self._told_of_starts = True
            logger.error("No start can be taken: what Redis has under the key of the starts is no list")
        return claimed

    def _note_outage(self, error: Exception) -> None:
        if self._outage is None:
            logger.warning("Redis cannot be used, and is tried again until it can: %s", error)
        self._outage = str(error)

    async def _beat(self) -> None:
        """Say that this worker is alive, several times in the time of its lease."""
        while not self.is_abandoned:
            await asyncio.sleep(self._lease / 4)
            try:
                found = await run_in_thread(self.store.beat)
            except RedisError as error:
                self._note_outage(error)
            except Exception:
                logger.error("The worker could not say that it is alive", exc_info=True)
            else:
                self._heed(found)

    def _heed(self, found: str | None) -> None:
        if found == "given up":
            logger.warning("Nothing was heard of this worker for %g s: others do again what it was at", self._lease)
        if found == "replaced" and not self.is_abandoned:
            logger.error("Another worker has taken the name %s: this one stops", self.worker)
            self.stop_for("replaced")

    # Documents

    def held(self) -> list[Document]:
        """Return the documents that this worker is at."""
        return [document_of(call) for call in list(self.calls.values())]

    async def _begin_document(self, document: Document) -> AsyncIterator[Request]:
        counters = SharedCounters(store=self.store, document=document, depth=document.depth)
        self._open_findings()
        number = next(self._numbers)
        call = self.calls[number] = Call(number, document.url, counters, document.url, document.attempt)
        self.known += 1
        counters.key = self._start_key(call) if document.is_start else document.key
        try:
            if document.deaths >= self._most_deaths:
                await self._give_up(call, document)
            elif not document.key:
                await self._end_call(call, document)
            elif document.is_start:
                counters.depth = call.depth
                async for request in self._first_requests(call):
                    yield request
            elif (made := await self._request_or_lose(call, document.key, document.depth)) is not None:
                yield made
        except Exception as error:
            await self._lose_call(call, error)

    async def _give_up(self, call: Call, document: Document) -> None:
        """Record that no worker could finish the document: it must not take down one after the other."""
        await run_in_thread(self.store.begin, document)
        key = cast("SharedCounters", call.counters).key or document.url
        error = NetworkError(key, f"given up after {document.deaths} attempts: each failed, or its worker was not heard of again")
        if document.key:
            await self._lose(call, error, document.depth, start=document.is_start)
            return
        async with self._turn():
            self.report([error], call)
            await self._conclude_call(call, document, read=False)

    async def _end_call(self, call: Call, document: Document) -> None:
        """Deliver what is known of a call at its end only."""
        ending = await run_in_thread(self.store.ending, document)
        async with self._turn():
            self.report([sitemap.limit_error(document.url, limit, most) for limit, most in ending.reached.items()], call)
            if ending.sitemaps:
                call.mark_records(ending.sitemaps)
                self.crawler.signals.send_catch_log(sitemaps_listed, sitemaps=ending.sitemaps, spider=self)
            await self._conclude_call(call, document, read=ending.read)

    async def _conclude_call(self, call: Call, document: Document, *, read: bool) -> None:
        await self._write_out()
        await run_in_thread(self.store.done, document)
        self.note_end(read=read)
        self._let_go(call)

    async def _settle(self, call: Call, done: Done) -> None:
        await self._write_out()
        document = document_of(call)
        await run_in_thread(self.store.done, document, read=call.read if document.is_start else None)
        self._let_go(call)

    async def _write_out(self) -> None:
        """Have written out what the feeds hold back: a document that is done does not come again."""
        try:
            await save_documents(self.crawler.signals)
        except OSError as error:
            if not self.is_abandoned:
                logger.error("This worker stops: %s", error)
                self.stop_for("not_written")
            raise DocumentLost(str(error)) from None

    def _let_go(self, call: Call) -> None:
        self.calls.pop(call.id, None)
        self._silent_since = None
        self._room.set()

    async def _lose_call(self, call: Call | None, error: Exception) -> None:
        """Let go of the document of *call*; if this worker has it still, it is given back with the next claim."""
        if call is None or call.id not in self.calls:
            return
        document = document_of(call)
        if isinstance(error, DocumentLost):
            logger.info("Left to others: %s of %s: %s", document.key or "the end", call.url, error)
        else:
            # A mistake of ours, or of a component of the project. It is tried as often as one that workers die of.
            logger.error("Error at %s of %s", document.key or "the end", call.url, exc_info=error)
            with suppress(RedisError):
                await run_in_thread(self.store.fail, document)
        self.count("documents/lost")
        self._hold_off = monotonic() + _LONGEST_WAIT  # if Redis or a disk is full, the next one ends like this one
        self._let_go(call)

    async def _settle_dropped(self) -> None:
        """End the documents whose requests some component has dropped: of these nothing is heard any more."""
        engine = self.crawler.engine
        assert engine is not None
        assert engine.scheduler is not None
        assert engine.scraper.slot is not None
        at_work = engine.scheduler.has_pending_requests() or engine.downloader.active or not engine.scraper.slot.is_idle()
        if at_work or not self.calls:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = monotonic()
        if self._silent_since is None or monotonic() - self._silent_since < _LONGEST_SILENCE:
            return
        for call in list(self.calls.values()):
            document = document_of(call)
            error = NetworkError(
                cast("SharedCounters", call.counters).key, "its request was dropped by a component of Scrapy or of the project"
            )
            try:
                await self._lose(call, error, document.depth, start=document.is_start)
            except Exception as problem:
                await self._lose_call(call, problem)

    async def reach_max_urls(self, call: Call, *, more: bool) -> None:
        call.stopped = True
        left_out = await run_in_thread(self.store.stop, document_of(call), more=more)
        self.count("sitemaps/left_out", left_out)

    async def _parse_sitemap(
        self, response: Response, url: str | None = None, depth: int = 0, call: int | None = None, start: bool = False
    ) -> AsyncIterator[Any]:
        try:
            async for request in super()._parse_sitemap(response, url, depth, call, start):
                yield request
        except Exception as error:
            await self._lose_call(self.calls.get(call or 0), error)

    async def failed(self, failure: Failure) -> None:
        try:
            await super().failed(failure)
        except Exception as error:
            await self._lose_call(self._call_of(failure.request), error)  # type: ignore[attr-defined]

    # The end

    @staticmethod
    def ends_well(reason: str | None) -> bool:
        """Whether a worker that was closed for *reason* has done what it was to do: it waits on until it is stopped."""
        return reason in {"finished", "shutdown"} or str(reason).startswith("closespider")

    @property
    def continues_files(self) -> bool:
        """Whether there are files of an earlier run: a worker may have been here before by the same name."""
        return True

    @property
    def keeps_journal(self) -> bool:
        """Whether a document is done when its pages are written out: always here, as Redis has those that are not."""
        return True

    @property
    def start_read(self) -> bool:
        """Whether the documents of all starts whose end this worker has delivered were read."""
        return not self._failed

    def _conclude(self, reason: str) -> None:
        if self._beating is not None:
            self._beating.cancel()
        try:
            self.store.leave(self.held())
        except RedisError as error:
            logger.warning("Redis cannot be used; others do what this worker was at when its time is over: %s", error)


def document_of(call: Call) -> Document:
    """Return the document that *call* stands for."""
    document = cast("SharedCounters", call.counters).document
    assert document is not None
    return document
