"""What workers share, in a real Redis; workers are objects here, which take turns as the tests have it."""

from __future__ import annotations

import contextlib
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import redis

from sitemapcrawl.cluster.store import Claimed, Document, Store, connect
from sitemapcrawl.counters import Added, DocumentLost, latest
from sitemapcrawl.protocol.records import SitemapEntry
from tests.cluster.cluster import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = "http://example.com/"
PREFIX = "sitemap"
STARTS = "sitemap:start_urls"


class Worker(Store):
    """A store, with the limits of the calls that it begins."""

    max_sitemaps = max_urls = max_validation_errors = max_concurrency = 0

    def get(self, count: int = 1) -> list[Document]:
        limits = (self.max_sitemaps, self.max_urls, self.max_validation_errors, self.max_concurrency)
        claimed = self.claim(count, limits, self.known)
        assert claimed is not None
        self.known += claimed.documents
        return claimed.documents

    known: list[Document]

    def one(self) -> Document:
        [document] = self.get()
        return document

    def list(self, document: Document, *names: str, too_deep: bool = False, lastmod: str | None = None) -> Added:
        """Add sitemaps that *document* lists, by name."""
        found = [(ROOT + name, SitemapEntry(ROOT + name, lastmod, document.url), True) for name in names]
        return self.add_sitemaps(document, found, too_deep=too_deep)

    def read(self, document: Document, served: str | None = None) -> bool:
        """Note that *document* is read; return whether it is for the first time."""
        return self.serve(document, document.key, served or document.key, document.depth)

    def finish(self, document: Document) -> None:
        self.done(document, read=True if document.is_start else None)


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def join(client: redis.Redis) -> Callable[..., Worker]:
    """Makes workers that have joined, with limits for the calls that they begin."""

    def join(name: str = "w", token: str = "t", lease: float = 60, **limits: int) -> Worker:
        worker = Worker(client, PREFIX, STARTS, name, token, lease)
        worker.known = []
        for limit, most in limits.items():
            setattr(worker, limit, most)
        worker.join()
        return worker

    return join


def die(worker: Store) -> None:
    """Have the time of *worker* be over."""
    worker.redis.zadd(f"{PREFIX}:workers", {worker._worker: 0})


def names(documents: Sequence[Document]) -> list[str]:
    return [document.key.removeprefix(ROOT) for document in documents]


def index(worker: Worker, *children: str, start: str = "i.xml") -> Document:
    """Push a start, and have *worker* be done with it, which lists *children*."""
    worker.enqueue([ROOT + start])
    document = worker.one()
    assert (document.is_start, document.key, document.depth, document.attempt) == (True, ROOT + start, 0, 1)
    assert worker.read(document)
    worker.list(document, *children)
    worker.finish(document)
    return document


def end(worker: Worker) -> dict[str, Any]:
    """Take the end of a call, which is all there is, and return what is known by then."""
    document = worker.one()
    assert (document.key, document.is_start) == ("", False)
    ending = worker.ending(document)
    worker.done(document)
    found = [(entry.loc.removeprefix(ROOT), entry.lastmod) for entry in ending.sitemaps]
    return {"sitemaps": found, "reached": ending.reached, "read": ending.read, "attempt": document.attempt}


def kept(worker: Worker) -> set[str]:
    """Return the keys that are in Redis once *worker* has left, but for the totals."""
    worker.leave()
    keys = {str(key, "utf-8") for key in worker.redis.scan_iter()}
    assert f"{PREFIX}:totals" in keys
    return keys - {f"{PREFIX}:totals"}


# Starts


def test_starts_are_taken_in_their_order_and_each_once(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    assert one.enqueue(ROOT + name for name in "abcde") == 5
    assert [document.url for worker in (one, two) for document in worker.get(2)] == [ROOT + name for name in "abcd"]
    assert len({document.call for worker in (one, two) for document in worker.known}) == 4
    assert one.status() == (2, 1, 4, 0, 0)
    assert one.claim(5, (0, 0, 0, 0), one.known) == Claimed([Document("5", ROOT + "e", ROOT + "e", 0, 1, True)], 5)


def test_blank_lines_and_comments_are_no_starts(join: Callable[..., Worker], client: redis.Redis) -> None:
    client.rpush(STARTS, "", "  \t\r", "# a comment", "  # another", ROOT, "\n", "#")
    worker = join()
    assert [document.url for document in worker.get(5)] == [ROOT]
    assert worker.status().starts == 0


def test_a_start_may_be_any_bytes(join: Callable[..., Worker], client: redis.Redis) -> None:
    starts = [
        b"\xff\xfe",
        "\ufeff \u00e9\r\n".encode(),
        b"\x00",
        b"no url at all",
        b"a" * 100_000,
        "http://ex\u00e4mple.com/ \u2028".encode(),
    ]
    client.rpush(STARTS, *starts)
    worker = join()
    documents = worker.get(len(starts))
    cut = [start[:32_772] for start in starts]  # one that is longer is too long, whatever comes behind it
    assert [document.key.encode("utf-8", "surrogateescape") for document in documents] == cut
    assert [document.url for document in documents][:3] == ["\ufffd\ufffd", "\u00e9", "\x00"]
    for document in documents:
        assert worker.take_pages(document, 1) == (1, False)
        worker.done(document, read=False)
    worker.known.clear()
    for _ in starts:
        assert end(worker)["read"] is False
    assert (worker.status().failed, kept(worker)) == (len(starts), set())


def test_a_hundred_thousand_starts_are_pushed(join: Callable[..., Worker]) -> None:
    worker = join()
    assert worker.enqueue(f"{ROOT}{number}" for number in range(100_000)) == 100_000
    assert worker.status().starts == 100_000
    assert [document.url for document in worker.get(2)] == [ROOT + "0", ROOT + "1"]


def test_other_keys_and_other_spiders_are_apart(client: redis.Redis, redis_url: str) -> None:
    from scrapy.settings import Settings

    one = connect(Settings({"REDIS_URL": redis_url}), "one", "w", "t")
    two = connect(Settings({"REDIS_URL": redis_url, "REDIS_START_URLS_KEY": "for:%(name)s"}), "two", "w", "t")
    for store in (one, two):
        store.join()
    one.enqueue([ROOT + "1"])
    two.enqueue([ROOT + "2"])
    assert {str(key, "ascii") for key in client.keys("*:*url*")} | {"for:two"} == {"one:start_urls", "for:two"}
    found = [store.claim(9, (0, 0, 0, 0)) for store in (one, two)]
    assert [document.url for claimed in found if claimed for document in claimed.documents] == [ROOT + "1", ROOT + "2"]


# Documents


def test_children_are_taken_in_their_order_before_another_start(join: Callable[..., Worker]) -> None:
    worker = join()
    index(worker, "a", "b", "c")
    worker.enqueue([ROOT + "next"])
    documents = worker.get(9)
    assert names(documents) == ["a", "b", "c", "next"]
    assert [(document.url, document.depth, document.is_start) for document in documents[:3]] == [(ROOT + "i.xml", 1, False)] * 3


def test_calls_take_turns(join: Callable[..., Worker]) -> None:
    worker = join()
    worker.enqueue([ROOT + "1", ROOT + "2"])
    for document in worker.get(2):
        worker.read(document)
        worker.list(document, *(f"{document.url[-1]}{name}" for name in "abc"))
    assert names(worker.get(6)) == ["1a", "2a", "1b", "2b", "1c", "2c"]


def test_no_more_of_a_call_is_under_way_than_its_limit_and_each_worker_has_its_share(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_concurrency=3), join("two", max_concurrency=3)
    index(one, *"abcdefgh")
    assert names(one.get(9)) == ["a", "b"]  # half of it, rounded up
    assert names(two.get(9)) == ["c"]
    assert two.get(9) == []
    one.finish(one.known[-1])
    one.known.pop()
    assert names(two.get(9)) == ["d"]
    assert one.get(9) == []
    two.leave(two.known)
    assert sorted(names(one.get(9))) == ["c", "d"]
    assert one.get(9) == []


def test_a_call_at_its_limit_does_not_keep_others_from_their_turn(join: Callable[..., Worker]) -> None:
    worker = join(max_concurrency=1)
    worker.enqueue(f"{ROOT}{number}" for number in range(40))
    for document in worker.get(40):
        worker.read(document)
        worker.list(document, f"{document.key.removeprefix(ROOT)}a", f"{document.key.removeprefix(ROOT)}b")
    assert worker.get(99) == []
    for document in list(worker.known):
        worker.finish(document)
    assert names(worker.get(99)) == [f"{number}a" for number in range(40)]


def test_a_sitemap_is_requested_once_whoever_lists_it(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b")
    first, second = one.one(), two.one()
    assert one.list(first, "c", "a", "i.xml", "b").requested == 1
    assert two.list(second, "c", "d").requested == 1
    assert names(two.get(9)) == ["c", "d"]
    assert {document.depth for document in two.known[1:]} == {2}


def test_a_document_is_read_once_wherever_redirects_lead(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b", "z", "late")
    first, second, z = one.one(), two.one(), two.one()
    assert one.read(first, ROOT + "z")
    assert one.read(first, ROOT + "z")  # the same once more, as the next attempt at it would
    assert not two.read(second, ROOT + "z")
    assert not two.read(z)
    assert two.read(second, ROOT + "late")
    for worker in (one, two):
        for document in worker.known:
            if not document.is_start:
                worker.finish(document)
        worker.known.clear()
    assert end(one)["sitemaps"] == [("a", None), ("b", None), ("z", None), ("late", None)]  # late is not asked for any more
    two.leave()
    assert kept(one) == set()


def test_the_listing_has_each_sitemap_once_in_order_with_the_latest_date(join: Callable[..., Worker]) -> None:
    dates = [
        (None, "2024-01-15"), ("2024-01-15", None), ("2024-01-15", "2024-01-15T10:00:00Z"), ("2024-01-15T10:00:00Z", "2024-01-15"),
        ("2024-01-15T10:00:00+02:00", "2024-01-15T09:00:00Z"), ("2024", "2023-12-31"), ("soon", "2024"), ("2024", "soon"),
        ("2024-01-01", "2024-01-01T00:00:00Z"), ("1969-12-31", "1960"), ("1960", "1969-12-31"), (None, "soon"), (None, None),
    ]  # fmt: skip
    worker = join()
    worker.enqueue([ROOT + "i.xml"])
    document = worker.one()
    for place in (0, 1):
        entries = [SitemapEntry(f"{ROOT}{number}", pair[place], ROOT + "i.xml") for number, pair in enumerate(dates)]
        worker.add_sitemaps(document, [(entry.loc, entry, False) for entry in entries], too_deep=False)
    worker.finish(document)
    worker.known.clear()
    assert end(worker)["sitemaps"] == [(str(number), latest(*pair)) for number, pair in enumerate(dates)]


def test_a_sitemap_keeps_its_location_as_it_was_given_and_who_listed_it(join: Callable[..., Worker]) -> None:
    worker = join()
    worker.enqueue([ROOT])
    document = worker.one()
    entry = SitemapEntry(ROOT + "a\u00e9#part", None, ROOT + "served.xml")
    worker.add_sitemaps(document, [(ROOT + "a%C3%A9", entry, True)], too_deep=False)
    worker.finish(document)
    child = worker.one()
    assert child.key == ROOT + "a%C3%A9"
    worker.finish(child)
    [listed] = worker.ending(worker.one()).sitemaps
    assert (listed.loc, listed.sitemap) == (entry.loc, entry.sitemap)


def test_an_index_of_fifty_thousand_may_be_added_twice(join: Callable[..., Worker]) -> None:
    worker = join(max_sitemaps=50_000)
    worker.enqueue([ROOT])
    document = worker.one()
    children = [f"{number}.xml" for number in range(50_001)]
    added = worker.list(document, *children)
    assert (added.requested, added.left_out, added.not_listed) == (50_000, 1, 1)
    added = worker.list(document, *children[-2_000:])
    assert (added.requested, added.left_out, added.not_listed) == (0, 1, 1)
    assert names(worker.get(3)) == children[:3]
    assert worker.take_pages(document, 5) == (5, False)
    assert worker.stop(document, more=True) == 49_997


def test_what_is_too_deep_is_listed_and_not_requested(join: Callable[..., Worker]) -> None:
    worker = join()
    document = index(worker)
    assert document
    worker.known.clear()
    assert end(worker)["sitemaps"] == []
    worker.enqueue([ROOT])
    document = worker.one()
    added = worker.list(document, "a", "b", too_deep=True)
    assert (added.too_deep, added.requested, added.left_out) == (2, 0, 0)
    worker.finish(document)
    worker.known.clear()
    assert end(worker)["sitemaps"] == [("a", None), ("b", None)]


# Limits


def test_pages_are_counted_to_the_unit(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=100), join("two")
    index(one, "a", "b", "c")
    first, second = one.one(), two.one()
    assert one.take_pages(first, 60) == (60, False)
    assert two.take_pages(second, 50) == (40, True)
    assert one.take_pages(first, 1) == (0, True)
    assert two.stop(second, more=True) == 1  # c waits
    assert one.stop(first, more=True) == 0
    one.finish(first)
    two.finish(second)
    one.known.clear()
    assert end(one)["reached"] == {"max_urls": 100}


@pytest.mark.parametrize(
    ("more", "waits", "under_way"), [(False, False, False), (True, False, False), (False, True, False), (False, False, True)]
)
def test_the_limit_of_pages_is_reached_if_anything_is_left_out(
    more: bool, waits: bool, under_way: bool, join: Callable[..., Worker]
) -> None:
    worker = join(max_urls=10)
    index(worker, "a", *(["b"] if waits or under_way else []))
    document = worker.one()
    others = worker.get() if under_way else []
    assert worker.take_pages(document, 10) == (10, True)
    assert worker.stop(document, more=more) == waits
    for held in (document, *others):
        worker.finish(held)
    worker.known.clear()
    assert end(worker)["reached"] == ({"max_urls": 10} if more or waits or under_way else {})
    assert kept(worker) == set()


def test_validation_errors_are_counted_to_the_unit(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_validation_errors=5), join("two")
    index(one, "a", "b")
    first, second = one.one(), two.one()
    assert (one.take_validation_errors(first, 3), two.take_validation_errors(second, 3)) == (3, 2)
    assert one.take_validation_errors(first, 1) == 0
    one.finish(first)
    two.finish(second)
    one.known.clear()
    assert end(one)["reached"] == {"max_validation_errors": 5}


def test_a_limit_that_leaves_nothing_out_is_not_reached(join: Callable[..., Worker]) -> None:
    worker = join(max_validation_errors=2, max_sitemaps=2, max_urls=2)
    document = index(worker, "a", "b")
    for document in worker.get(2):
        assert worker.take_validation_errors(document, 1) == 1
        worker.list(document, "a", "b")
        worker.finish(document)
    worker.known.clear()
    assert end(worker)["reached"] == {}


def test_sitemaps_requested_and_listed_are_counted_to_the_unit(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_sitemaps=3), join("two")
    index(one, "a", "b")
    first, second = one.one(), two.one()
    added, more = one.list(first, "c", "d"), two.list(second, "c", "e", "f")
    assert (added.requested, added.left_out, added.not_listed) == (1, 1, 1)
    assert (more.requested, more.left_out, more.not_listed) == (0, 2, 2)
    for worker, document in ((one, first), (two, second), (one, one.one())):
        worker.finish(document)
    one.known.clear()
    assert {**end(one), "attempt": 1} == {
        "sitemaps": [("a", None), ("b", None), ("c", None)], "reached": {"max_sitemaps": 3}, "read": True, "attempt": 1,
    }  # fmt: skip


def test_limits_are_those_of_the_worker_that_begins_the_call(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=5), join("two", max_urls=7)
    one.enqueue([ROOT + "1", ROOT + "2"])
    first, second = one.one(), two.one()
    assert (one.take_pages(first, 9), two.take_pages(second, 9)) == ((5, True), (7, True))


# Workers that come, go and die


def test_what_a_dead_worker_held_is_given_to_others_as_another_attempt(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b")
    lost, mine = one.get(2), two.get(2)
    assert (names(lost), mine) == (["a", "b"], [])
    assert one.take_pages(lost[0], 5) == (5, False)
    assert two.beat() == "alive"
    assert two.get(2) == []
    die(one)
    assert two.beat() == "alive"
    assert sorted((*names([document]), document.attempt) for document in two.get(2)) == [("a", 2), ("b", 2)]
    assert two.status().workers == 1
    for change in (
        partial(one.take_pages, lost[0], 1), partial(one.read, lost[1]), partial(one.finish, lost[0]), partial(one.list, lost[1], "c"),
        partial(one.take_validation_errors, lost[0], 1), partial(one.stop, lost[0], more=True),
    ):  # fmt: skip
        with pytest.raises(DocumentLost):
            change()
    one.fail(lost[0])  # it has nothing to give back
    assert one.claim(9, (0, 0, 0, 0)) is None
    assert one.beat() == "given up"
    assert one.beat() == "alive"
    assert one.get(9) == []
    for document in two.known:
        two.finish(document)
    two.known.clear()
    one.leave()
    end(two)
    assert kept(two) == set()


def test_a_worker_is_alive_for_the_time_of_its_lease(join: Callable[..., Worker]) -> None:
    one, two = join("one", lease=0.2), join("two")
    one.enqueue([ROOT])
    one.one()
    until(lambda: two.beat() and two.status().workers == 1)
    assert two.one().attempt == 2
    assert one.beat() == "given up"


def test_one_that_takes_again_what_it_had_lost_is_told_apart(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    one.enqueue([ROOT])
    before = one.one()
    die(one)
    two.beat()
    one.beat()
    [after] = one.claim(1, (0, 0, 0, 0), []).documents  # type: ignore[union-attr]
    assert (before.key, before.attempt, after.attempt) == (after.key, 1, 2)
    with pytest.raises(DocumentLost):
        one.take_pages(before, 1)
    assert one.take_pages(after, 1) == (1, False)


def test_a_worker_that_leaves_gives_back_what_it_held(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b", "c")
    begun, _, lost = one.get(3)
    assert one.read(begun)
    one.leave([document for document in one.known if document is not lost])
    # Of what was not begun, nothing was delivered. Of what it could not be done with, an error may be recorded.
    assert sorted((*names([document]), document.attempt) for document in two.get(3)) == [("a", 2), ("b", 1), ("c", 2)]
    with pytest.raises(DocumentLost):
        one.finish(begun)
    assert two.status().workers == 1


def test_of_documents_that_a_worker_may_have_died_of_each_worker_has_one_at_a_time(join: Callable[..., Worker]) -> None:
    one, two, three = join("one"), join("two"), join("three")
    index(one, "a", "b", "c", "d")
    for document in one.get(3)[:2]:
        one.read(document)
    die(one)
    two.beat()
    found = {
        worker: [(*names([document]), document.attempt, document.deaths) for document in worker.get(9)] for worker in (two, three)
    }
    # What was not begun is not the cause.
    assert found == {two: [("c", 2, 0), ("d", 1, 0), ("a", 2, 1)], three: [("b", 2, 1)]}
    three.read(three.known[0])
    three.leave(three.known)
    assert two.get(9) == []
    two.finish(two.known.pop())
    [document] = two.get(9)
    assert (*names([document]), document.attempt, document.deaths) == ("b", 3, 1)  # the last one has left of itself


def test_a_worker_that_has_left_does_not_come_back(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    one.leave()
    one.enqueue([ROOT])
    # What a thread was about to ask for meanwhile.
    assert (one.beat(), one.claim(1, (0, 0, 0, 0)), one.join()) == ("left", None, None)
    assert (two.status().workers, two.status().starts) == (1, 1)
    one.leave()


def test_a_document_that_cannot_be_read_is_given_back_as_one_that_a_worker_died_of(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    one.enqueue([ROOT])
    one.fail(one.one())
    again = two.one()
    assert (again.attempt, again.deaths, two.status().workers) == (2, 1, 2)


def test_what_was_not_read_because_of_a_redirect_is_read_if_that_comes_to_nothing(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b", "c", "d")
    a = one.one()
    assert names([a]) == ["a"]
    assert one.serve(a, a.key, ROOT + "b", 1)  # a redirect leads to b, which is left out because of it
    assert one.take_pages(a, 5) == (5, False)
    c = two.one()
    assert names([c]) == ["c"]
    assert not two.serve(c, c.key, ROOT + "b", 1)  # and so does the one of c
    two.finish(c)
    die(one)
    two.beat()
    d, again = two.get(2)
    assert (names([again, d]), again.attempt) == (["a", "d"], 2)
    assert two.serve(again, again.key, ROOT + "elsewhere", 1)
    two.finish(again)
    left_out = two.get(9)
    # What a has delivered of b in its first attempt does not count any more.
    assert sorted((*names([document]), document.attempt) for document in left_out) == [("b", 3), ("c", 3)]
    assert two.read(left_out[0])
    for document in (*left_out, d):
        two.finish(document)
    assert end(two)["read"]


def test_a_redirect_that_is_read_in_the_end_leaves_out_what_it_leads_to(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b")
    a = one.one()
    assert one.serve(a, a.key, ROOT + "b", 1)
    assert two.get(1) == []
    die(one)
    two.beat()
    again = two.one()
    assert two.serve(again, again.key, ROOT + "b", 1)
    two.finish(again)
    assert end(two)["read"]


def test_a_redirect_that_was_read_leaves_out_what_it_leads_to(join: Callable[..., Worker]) -> None:
    worker = join()
    index(worker, "a", "b")
    a = worker.one()
    assert worker.serve(a, a.key, ROOT + "b", 1)
    worker.finish(a)
    assert end(worker)["read"]
    assert kept(worker) == set()


def test_silence_of_all_is_no_death(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b")
    mine = one.one()
    for worker in (one, two):  # Redis was away for longer than a lease
        die(worker)
    assert (two.beat(), one.beat()) == ("alive", "alive")
    assert one.take_pages(mine, 1) == (1, False)
    die(one)
    two.beat()
    assert [document.deaths for document in two.get(2)] == [0, 1]


def test_a_start_key_that_is_no_list_holds_up_nothing_else(join: Callable[..., Worker], client: redis.Redis) -> None:
    worker = join()
    index(worker, "a")
    client.sadd(STARTS, ROOT + "set")
    claimed = worker.claim(9, (0, 0, 0, 0))
    assert claimed is not None
    assert (names(claimed.documents), claimed.starts_are_listed) == (["a"], False)
    client.delete(STARTS)


def test_blank_starts_do_not_hold_up_redis(join: Callable[..., Worker], client: redis.Redis) -> None:
    client.rpush(STARTS, *[b" "] * 2_500, ROOT.encode())
    worker = join()
    assert [len(worker.get(1)) for _ in range(3)] == [0, 0, 1]


def test_an_end_that_takes_down_workers_is_counted(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one)
    one.ending(one.one())
    die(one)
    two.beat()
    again = two.one()
    assert (again.key, again.attempt, again.deaths) == ("", 2, 1)


def test_a_worker_takes_the_place_of_one_of_its_name(join: Callable[..., Worker]) -> None:
    before = join("w", "before")
    before.enqueue([ROOT])
    document = before.one()
    after = join("w", "after")
    assert (after.one().attempt, after.status().workers) == (2, 1)
    assert before.beat() == "replaced"
    assert before.claim(1, (0, 0, 0, 0)) is None
    before.leave()
    assert after.beat() == "alive"
    with pytest.raises(DocumentLost):
        before.finish(document)
    assert after.take_pages(after.known[0], 1) == (1, False)


def test_the_end_of_a_call_is_done_by_another_if_a_worker_dies_with_it(join: Callable[..., Worker]) -> None:
    one, two = join("one"), join("two")
    index(one)
    document = one.one()
    assert document.key == ""
    die(one)
    two.beat()
    assert end(two) == {"sitemaps": [], "reached": {}, "read": True, "attempt": 2}
    for change in (one.ending, one.done):
        with pytest.raises(DocumentLost):
            change(document)
    assert two.status() == (1, 0, 0, 1, 0)


def test_what_a_dead_attempt_took_of_a_limit_is_kept_for_the_next(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=100, max_validation_errors=10), join("two")
    index(one, "a", "b", "c")
    lost, mine = one.one(), two.one()
    assert (one.take_pages(lost, 60), one.take_validation_errors(lost, 8)) == ((60, False), 8)
    die(one)
    two.beat()
    # Were it free, the feeds would have 60 pages of a and 100 of b, and nothing to tell that those of a do not count.
    assert (two.take_pages(mine, 100), two.take_validation_errors(mine, 10)) == ((40, True), 2)
    assert two.stop(mine, more=True) == 1  # c; a is to come again
    two.finish(mine)
    [again] = two.get(9)
    assert (*names([again]), again.attempt) == ("a", 2)
    assert (two.take_pages(again, 50), two.take_validation_errors(again, 9)) == ((50, False), 8)
    assert two.take_pages(again, 50) == (10, True)
    assert two.stop(again, more=True) == 0
    two.finish(again)
    two.known.clear()
    assert end(two)["reached"] == {"max_urls": 100, "max_validation_errors": 10}


def test_what_the_next_attempt_does_not_need_of_it_is_free(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=100), join("two")
    index(one, "a", "b")
    lost, mine = one.one(), two.one()
    one.take_pages(lost, 60)
    die(one)
    two.beat()
    again = two.one()
    assert two.take_pages(again, 20) == (20, False)
    two.finish(again)
    assert two.take_pages(mine, 100) == (80, True)


def test_a_start_is_read_although_what_it_leads_to_has_all_the_pages(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=3), join("two")
    one.enqueue([ROOT + "i.xml"])
    start = one.one()
    one.read(start)
    one.list(start, "a", "b")
    child = two.one()
    die(one)
    assert two.take_pages(child, 9) == (3, True)
    assert two.stop(child, more=True) == 1
    two.beat()
    two.finish(child)
    again = two.one()
    assert (again.is_start, again.attempt) == (True, 2)
    assert two.take_pages(again, 1) == (0, True)
    two.finish(again)
    two.known.clear()
    assert end(two)["read"]


def test_of_what_is_stopped_only_what_has_delivered_pages_comes_again(join: Callable[..., Worker]) -> None:
    one, two = join("one", max_urls=10), join("two")
    index(one, "a", "b", "c")
    first, second = one.get(2)
    mine = two.one()
    one.take_pages(first, 4)
    assert two.take_pages(mine, 9) == (6, True)
    assert two.stop(mine, more=False) == 0
    die(one)
    two.beat()
    two.finish(mine)
    [again] = two.get(9)
    assert again.key == first.key
    two.finish(again)
    two.known.clear()
    assert end(two)["reached"] == {"max_urls": 10}
    assert second
    assert kept(two) == set()


# Answers that are lost


class Broken(Worker):
    """A worker whose connection breaks after Redis has done what it was asked for, when *breaks* says so."""

    breaks: Callable[[], bool] = staticmethod(lambda: True)

    def _do(self, *arguments: Any) -> Any:
        result = super()._do(*arguments)
        if self.breaks():
            raise redis.ConnectionError("the answer is lost")
        return result


def test_documents_whose_names_were_lost_are_given_back(join: Callable[..., Worker], client: redis.Redis) -> None:
    one, two = join("one"), join("two")
    index(one, "a", "b")
    broken = Broken(client, PREFIX, STARTS, "one", "t")
    with pytest.raises(redis.ConnectionError):
        broken.claim(2, (0, 0, 0, 0))
    assert two.get(2) == []
    assert one.claim(0, (0, 0, 0, 0)) == Claimed([], 1)
    assert {(*names([document]), document.attempt, document.deaths) for document in two.get(2)} == {("a", 2, 0), ("b", 2, 0)}


def test_pages_that_may_have_been_counted_are_left_to_the_next_attempt(join: Callable[..., Worker], client: redis.Redis) -> None:
    one = join("one", max_urls=10)
    one.enqueue([ROOT])
    document = one.one()
    broken = Broken(client, PREFIX, STARTS, "one", "t")
    with pytest.raises(DocumentLost):
        broken.take_pages(document, 8)
    one.known.clear()
    again = one.one()
    assert (again.attempt, one.take_pages(again, 20)) == (2, (10, True))


def test_nothing_is_done_twice_where_a_connection_breaks(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from scrapy.settings import Settings

    store = connect(Settings({"REDIS_URL": redis_url}), PREFIX, "w", "t")
    store.join()
    store.enqueue([ROOT])
    [document] = store.claim(1, (0, 10, 0, 0)).documents  # type: ignore[union-attr]
    read_response = redis.connection.Connection.read_response

    def break_off(connection: Any, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(redis.connection.Connection, "read_response", read_response)
        read_response(connection, *arguments, **options)
        raise redis.ConnectionError("reset by peer")

    monkeypatch.setattr(redis.connection.Connection, "read_response", break_off)
    with pytest.raises(DocumentLost, match="reset by peer"):
        store.take_pages(document, 4)
    assert store.take_pages(document, 10) == (6, True)


def test_redis_that_is_gone_loses_the_document(redis_url: str) -> None:
    store = Store(redis.Redis(port=1, retry=None), PREFIX, STARTS, "w", "t")
    document = Document("1", ROOT, ROOT, 0, 1, True)
    for change in (partial(store.take_pages, document, 1), partial(store.done, document), partial(store.ending, document)):
        with pytest.raises(DocumentLost, match=r"Redis: .*refused"):
            change()
    with pytest.raises(redis.ConnectionError):
        store.claim(1, (0, 0, 0, 0))


# Everything at once


@dataclass
class Site:
    """What a start leads to, by key: how many pages and errors a document has, what it lists, and where it is served."""

    limits: tuple[int, int, int, int]
    pages: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    served: dict[str, str] = field(default_factory=dict)

    def documents(self) -> set[str]:
        """Return where the documents are served, each of which is to be read once."""
        return {self.served.get(key, key) for key in self.pages}


def make_site(chance: random.Random, start: str) -> Site:
    kind = chance.choice(["all", "max_urls", "max_urls", "max_sitemaps", "max_validation_errors"])
    count = chance.randint(0, 14)
    keys = [start, *(f"{start}/{number}" for number in range(count))]
    site = Site((0, 0, 0, chance.choice([0, 0, 1, 2, 3])))
    for place, key in enumerate(keys):
        site.pages[key], site.errors[key] = chance.choice([0, 1, 7, 20]), chance.choice([0, 0, 2, 5])
        if place:
            above = [start] if kind == "max_sitemaps" else keys[:place]
            for parent in chance.sample(above, k=min(len(above), chance.choice([1, 1, 2]))):
                site.children[site.served.get(parent, parent)].append(key)
            if kind == "all" and chance.random() < 0.2:
                site.served[key] = chance.choice(
                    [f"{key}-served", *(other for other in keys[1:place] if other not in site.served)]
                )
    for key, place in site.served.items():  # the same document, whoever leads to it
        site.pages[key], site.errors[key] = site.pages.get(place, site.pages[key]), site.errors.get(place, site.errors[key])
    total = sum(site.pages.values())
    limits = {
        "max_sitemaps": (chance.randint(1, count + 1), 0, 0), "max_urls": (0, chance.randint(1, total + 5), 0),
        "max_validation_errors": (0, 0, chance.randint(1, sum(site.errors.values()) + 2)),
    }.get(kind, (0, 0, 0))  # fmt: skip
    site.limits = (*limits, site.limits[3])
    return site


class Simulation:
    """Workers that take turns at random, die, stand still, leave, and whose connections break, on sites made at random."""

    def __init__(self, client: redis.Redis, seed: int) -> None:
        self.chance = random.Random(seed)
        self.client = client
        self.count = 0
        self.calm = False
        self.feed: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.finished: Counter[tuple[str, str]] = Counter()
        self.endings: dict[str, Any] = {}
        self.sites = {f"{ROOT}{number}": make_site(self.chance, f"{ROOT}{number}") for number in range(12)}
        self.workers = [self.join() for _ in range(3)]
        self.killed: list[SimulatedWorker] = []

    def breaks(self) -> bool:
        return not self.calm and self.chance.random() < 0.02

    def join(self) -> SimulatedWorker:
        self.count += 1
        return SimulatedWorker(self, f"w{self.count}")

    def run(self) -> None:
        chance = self.chance
        for start in self.sites:
            self.client.rpush(STARTS, start)
        for _ in range(800):
            worker = chance.choice(self.workers)
            roll = chance.random()
            if roll < 0.96:
                worker.step()
            elif roll < 0.97:
                die(worker.store)  # killed
                self.killed.append(worker)
                self.workers.remove(worker)
                self.workers.append(self.join())
            elif roll < 0.98:
                die(worker.store)  # stopped for a while, and does not know of it
            elif roll < 0.985:
                worker.leave()
                self.workers.remove(worker)
                self.workers.append(self.join())
            else:
                worker.beat()
            self.check()
        self.calm = True
        for _ in range(20_000):
            chance.choice(self.workers).step()
            for killed in self.killed:  # which may have got time once more, where nothing was heard of any
                self.client.zadd(f"{PREFIX}:workers", {killed.store._worker: 0}, xx=True)
            chance.choice(self.workers).beat()
            status = self.workers[0].store.status()
            if not status.starts and not status.open_calls:
                break
        for worker in self.workers:
            worker.leave()

    def check(self) -> None:
        """Hold the counters of all calls to their limits."""
        for key in self.client.scan_iter(f"{PREFIX}:call:*"):
            call = {str(name, "ascii"): value for name, value in self.client.hgetall(key).items()}
            found = {name: int(call.get(name, 0)) for name in ("pages", "errors", "requests", "active", "outstanding")}
            for name, limit in (
                ("pages", "max_urls"),
                ("errors", "max_validation_errors"),
                ("requests", "max_sitemaps"),
                ("active", "max_concurrency"),
            ):
                most = int(call[limit])
                assert 0 <= found[name] <= (most or 1 << 60), (call, name)
            assert found["outstanding"] >= 1


class SimulatedWorker:
    """One of them: it has several documents in its hands, and does one thing for one of them at a time."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self.simulation = simulation
        self.store = Broken(simulation.client, PREFIX, STARTS, name, "t")
        self.store.breaks = lambda: False
        self.store.join()
        self.store.breaks = simulation.breaks
        self.work: dict[Document, Iterator[None]] = {}

    def step(self) -> None:
        chance = self.simulation.chance
        if not self.work or chance.random() < 0.1:
            self.claim()
            return
        document = chance.choice(list(self.work))
        try:
            next(self.work[document])
        except (StopIteration, DocumentLost):
            del self.work[document]

    def beat(self) -> None:
        with contextlib.suppress(redis.RedisError):
            self.store.beat()

    def leave(self) -> None:
        with contextlib.suppress(redis.RedisError):
            self.store.leave(self.work)

    def claim(self) -> None:
        starts = self.simulation.client.lrange(STARTS, 0, 0)
        limits = self.simulation.sites[str(starts[0], "ascii")].limits if starts else (0, 0, 0, 0)
        try:
            claimed = self.store.claim(1 if starts else self.simulation.chance.randint(1, 4), limits, self.work)
        except redis.RedisError:
            return
        if claimed is None:
            self.beat()
            return
        for document in claimed.documents:
            assert document not in self.work
            self.work[document] = self.read(document)

    def read(self, document: Document) -> Iterator[None]:
        store, simulation, chance = self.store, self.simulation, self.simulation.chance
        if not document.key:
            ending = store.ending(document)
            yield
            simulation.endings[document.url] = ending
            store.done(document)
            return
        site, key = simulation.sites[document.url], document.key
        served = site.served.get(key, key)
        yield
        if not store.serve(document, key, served, document.depth):
            store.done(document)
            return
        children = site.children.get(served, [])
        if children:
            yield
            found = [(child, SitemapEntry(child, None, served), True) for child in children]
            store.add_sitemaps(document, found, too_deep=False)
        pages, errors = site.pages[key], site.errors[key]
        while pages or errors:
            yield
            if errors and chance.random() < 0.5:
                count = min(errors, chance.randint(1, 3))
                errors -= count
                taken = store.take_validation_errors(document, count)
                yield
                simulation.feed[document.url, served, "error"][document.attempt].append(taken)
            if pages:
                count = min(pages, chance.randint(1, 9))
                pages -= count
                granted, last = store.take_pages(document, count)
                yield
                simulation.feed[document.url, served, "page"][document.attempt].append(granted)
                if last:
                    store.stop(document, more=granted < count or pages > 0)
                    break
        yield
        store.done(document, read=True if document.is_start else None)
        simulation.finished[document.url, served] += 1


@pytest.mark.parametrize("seed", range(8))
def test_limits_hold_and_nothing_is_lost_whatever_workers_do(seed: int, client: redis.Redis) -> None:
    simulation = Simulation(client, seed)
    simulation.run()
    store = Store(client, PREFIX, STARTS)
    assert store.status() == (0, 0, 0, 12, 0)
    assert {str(key, "ascii") for key in client.scan_iter()} == {f"{PREFIX}:totals"}
    delivered: dict[tuple[str, str], dict[str, int]] = {
        (start, kind): {} for start in simulation.sites for kind in ("page", "error")
    }
    for (start, served, kind), attempts in simulation.feed.items():
        shown = {attempt: sum(counts) for attempt, counts in attempts.items() if sum(counts)}
        if shown:  # a reader of the feeds takes what the latest attempt has delivered
            delivered[start, kind][served] = shown[max(shown)]
    for start, site in simulation.sites.items():
        max_sitemaps, max_urls, max_validation_errors, _ = site.limits
        pages, errors = (sum(delivered[start, kind].values()) for kind in ("page", "error"))
        whole = {site.served.get(key, key): count for key, count in site.pages.items()}
        if max_urls:
            assert pages == min(max_urls, sum(whole.values())), (start, site)
        elif max_sitemaps:
            children = set(site.children[start])
            assert len({served for served in whole if simulation.finished[start, served]}) <= 1 + min(max_sitemaps, len(children))
            assert len(simulation.endings[start].sitemaps) == min(max_sitemaps, len(children))
        else:
            assert delivered[start, "page"] == {served: count for served, count in whole.items() if count}
            total = sum({site.served.get(key, key): count for key, count in site.errors.items()}.values())
            assert errors == (min(max_validation_errors, total) if max_validation_errors else total)
            assert all(simulation.finished[start, served] <= 1 for served in site.documents())
        reached = {
            name for name, most in zip(("max_sitemaps", "max_urls", "max_validation_errors"), site.limits, strict=False) if most
        }
        assert set(simulation.endings[start].reached) <= reached
