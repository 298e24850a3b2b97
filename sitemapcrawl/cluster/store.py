"""What the workers of a cluster share, in Redis: starts, documents that wait or are under way, counters, listings.

Each operation is one step, done by ``store.lua`` in Redis, so that nothing is counted twice and no limit is exceeded by a
unit. What a worker holds stays in Redis until it is done: of a worker that is not heard of for the time of its lease, it
is given to others. Who asks for a document that was given away meanwhile, or when Redis cannot be reached, gets
:exc:`~sitemapcrawl.counters.DocumentLost`.

The methods wait for Redis; call them in a thread.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from scrapy_redis import defaults
from scrapy_redis.connection import get_redis_from_settings

from sitemapcrawl.counters import Added, DocumentLost, moment_of
from sitemapcrawl.protocol.records import SitemapEntry
from sitemapcrawl.spiders._starts import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from redis import Redis

_decode = msgspec.msgpack.Decoder().decode

_CHUNK = 500  # sitemaps that are added in one step: nobody else is served meanwhile


class Document(NamedTuple):
    """A document that was claimed: of which call, and which attempt at it this is.

    It is the document of the start where ``is_start`` says so. Without a ``key`` it is the end of the call. ``deaths`` are
    the workers that were not heard of again while they read it.
    """

    call: str
    url: str
    key: str
    depth: int
    attempt: int
    is_start: bool
    deaths: int = 0


class Claimed(NamedTuple):
    """Documents to work on, how many calls are open in the whole cluster, and if starts are in a list as they have to be."""

    documents: list[Document]
    open_calls: int
    starts_are_listed: bool = True


class Ending(NamedTuple):
    """What is known of a call at its end: the sitemaps listed, the limits reached (name → value), whether it was read."""

    sitemaps: list[SitemapEntry]
    reached: dict[str, int]
    read: bool


class Status(NamedTuple):
    """How far the cluster is."""

    workers: int
    starts: int  # that nobody has begun
    open_calls: int
    read: int  # calls that have ended, and whose document could be read
    failed: int


def fingerprint(key: str) -> bytes:
    """Return what stands for *key*, which is compared character by character; 16 bytes take less room than a URL."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Store:
    """The keys below *prefix* in *redis*, for the worker *worker*, whose process is told from others by *token*.

    *lease* (seconds) is how long it counts as alive after the last :meth:`beat`.
    """

    def __init__(self, redis: Redis, prefix: str, starts: str, worker: str = "", token: str = "", lease: float = 60) -> None:
        self.redis = redis
        self._prefix = prefix
        self._starts = starts
        self._worker = worker
        self._token = token
        self._lease = max(1, int(lease * 1_000))
        self._turn = Lock()
        self._has_left = False
        self._script = redis.register_script(files(__package__).joinpath("store.lua").read_text("utf-8"))

    def _do(self, *arguments: Any) -> Any:
        return self._script(keys=[self._prefix], args=arguments)

    # Starts, and how far it is

    def enqueue(self, urls: Iterable[str]) -> int:
        """Push *urls* behind the starts that wait, in one step; return how many these were."""
        chunk = list(urls)
        if chunk:
            self.redis.rpush(self._starts, *chunk)
        return len(chunk)

    def status(self) -> Status:
        """Return how far the cluster is."""
        with self.redis.pipeline() as pipe:
            pipe.zcard(f"{self._prefix}:workers")
            pipe.llen(self._starts)
            pipe.hmget(f"{self._prefix}:totals", "calls", "read", "failed")
            workers, starts, totals = pipe.execute()
        calls, read, failed = (int(value or 0) for value in totals)
        return Status(workers, starts, calls - read - failed, read, failed)

    # The worker

    def _ask(self, operation: str, *arguments: Any) -> Any:
        """Do something as a worker of the cluster; nothing, and return ``None``, once it has left.

        What another thread is at while the worker leaves would bring it back, and it would be given work.
        """
        with self._turn:
            return None if self._has_left else self._do(operation, self._worker, self._token, *arguments)

    def join(self) -> None:
        """Enter the cluster. What another process of the same name holds is given back, and it will be replaced."""
        self._ask("join", self._lease)

    def beat(self) -> str:
        """Say that the worker is alive.

        Return ``"alive"``, ``"given up"`` if it did not count as alive any more, ``"replaced"``, or ``"left"``.
        """
        return str(self._ask("beat", self._lease) or b"left", "ascii")

    def leave(self, known: Iterable[Document] = ()) -> None:
        """Leave the cluster for good, and give back what the worker holds; *known* is as for :meth:`claim`."""
        with self._turn:
            self._has_left = True
            self._do("leave", self._worker, self._token, *_held(known))

    def claim(self, count: int, limits: Sequence[int], known: Iterable[Document] = ()) -> Claimed | None:
        """Return up to *count* documents to work on; none if the worker is not in the cluster any more.

        *limits* are ``max_sitemaps``, ``max_urls``, ``max_validation_errors`` and ``max_concurrency`` of the calls that
        this begins. *known* are the documents that the worker is at: what else it holds, it was never told of or has lost,
        and gives back.
        """
        open_calls, *found = self._ask("claim", self._starts, count, *limits, *_held(known)) or [-1]
        if open_calls < 0:
            return None
        kind, *documents = found
        return Claimed([_document(*document) for document in documents], open_calls, kind in (b"list", b"none"))

    # A document that is held

    def _change(self, operation: str, document: Document, *arguments: Any) -> Any:
        identity = (self._worker, document.call, _bytes(document.key), document.attempt)
        try:
            result = self._do(operation, *identity, *arguments)
        except RedisError as error:
            raise DocumentLost(f"Redis: {error}") from None
        if result is None:
            raise DocumentLost("it is not this worker's any more")
        return result

    def serve(self, document: Document, key: str, served: str, depth: int) -> bool:
        """Note that the document, requested by *key*, is read at *served*; return False if that was done already.

        *depth* is the level that it stands at, which of a start is known by its URL.
        """
        return bool(self._change("serve", document, fingerprint(key), fingerprint(served), depth))

    def take_pages(self, document: Document, count: int) -> tuple[int, bool]:
        """Count pages of the document: return how many may be delivered, and whether they are the last of the call."""
        granted, last = self._change("pages", document, count)
        return granted, bool(last)

    def take_validation_errors(self, document: Document, count: int) -> int:
        """Count validation errors of the document; return how many may be recorded."""
        granted, _ = self._change("errors", document, count)
        return int(granted)

    def add_sitemaps(self, document: Document, found: Sequence[tuple[str, SitemapEntry, bool]], *, too_deep: bool) -> Added:
        """Add sitemaps that the document lists, given as key, entry and whether it is to be fetched."""
        total = Added()
        for index in range(0, len(found), _CHUNK):
            arguments: list[Any] = [found[index][1].sitemap or "", int(too_deep)]
            for key, entry, wanted in found[index : index + _CHUNK]:
                moment = moment_of(entry.lastmod)
                arguments += (
                    fingerprint(key), int(wanted), "" if key == entry.loc else key, entry.loc,
                    entry.lastmod or "", "" if moment is None else repr(moment),
                )  # fmt: skip
            not_listed, left_out, deep, requested = self._change("add", document, *arguments)
            total.not_listed += not_listed
            total.left_out += left_out
            total.too_deep += deep
            total.requested += requested
        return total

    def stop(self, document: Document, *, more: bool) -> int:
        """Note that the pages of the call are as many as allowed; return how many documents that leaves out.

        *more* says whether this document has more of them.
        """
        return int(self._change("stop", document, int(more)))

    def done(self, document: Document, *, read: bool | None = None) -> None:
        """Note that the document is done; of a start, whether it was *read*."""
        self._change("done", document, "" if read is None else int(read))

    def begin(self, document: Document) -> None:
        """Note that something of the document is about to be delivered that no other method tells of."""
        self._change("begin", document)

    def fail(self, document: Document) -> None:
        """Give the document back as one that a worker has died of; nothing happens if this worker has it no more."""
        self._do("fail", self._worker, document.call, _bytes(document.key), document.attempt)

    def ending(self, document: Document) -> Ending:
        """Return what is known at the end of a call, which is about to be delivered."""
        self.begin(document)
        try:
            with self.redis.pipeline() as pipe:
                pipe.hgetall(f"{self._prefix}:call:{document.call}")
                pipe.hvals(f"{self._prefix}:listed:{document.call}")
                call, values = pipe.execute()
        except RedisError as error:
            raise DocumentLost(f"Redis: {error}") from None
        entries = sorted(map(_decode, values), key=lambda entry: entry[0])
        sitemaps = [SitemapEntry(loc, lastmod or None, sitemap or None) for _, loc, lastmod, _, sitemap in entries]
        names = sorted(name.removeprefix(b"reached:") for name in call if name.startswith(b"reached:"))
        return Ending(sitemaps, {str(name, "ascii"): int(call[name]) for name in names}, call.get(b"read") == b"1")


def connect(settings: Mapping[str, Any], spider: str, worker: str = "", token: str = "", lease: float = 60) -> Store:
    """Return the store in the Redis that the settings of scrapy-redis name (``REDIS_URL`` and others), for *spider*.

    Raises :exc:`ValueError` if they are wrong, with a message that does not hold the password.
    """
    starts = settings.get("REDIS_START_URLS_KEY") or defaults.START_URLS_KEY
    try:
        starts %= {"name": spider}
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"setting REDIS_START_URLS_KEY: {starts!r} is wrong, expected %(name)s and no other") from None
    try:
        redis = get_redis_from_settings(settings)
    except (TypeError, ValueError):
        problem = "setting REDIS_URL: it is no URL of a Redis (what is special in a password has to be percent-encoded)"
        raise ValueError(problem) from None
    redis.connection_pool.connection_kwargs["decode_responses"] = False
    # What it has done although its answer was lost must not be done again: pages would be counted twice.
    redis.set_retry(Retry(NoBackoff(), 0))
    return Store(redis, spider, starts, worker, token, lease)


def _document(call: bytes, url: bytes, key: bytes, depth: int, attempt: int, is_start: int, deaths: int) -> Document:
    # Anything may have been pushed as a start. As a key it has to come back as it was, as a URL it is for people.
    return Document(
        str(call, "ascii"), decoded(url), key.decode("utf-8", "surrogateescape"), depth, attempt, bool(is_start), deaths
    )


def _held(documents: Iterable[Document]) -> Iterator[Any]:
    for document in documents:
        yield document.call.encode() + b" " + _bytes(document.key)
        yield document.attempt


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")
