from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from sitemapcrawl.counters import NO_LIMIT, Counters, latest, location_key
from sitemapcrawl.protocol.records import SitemapEntry
from sitemapcrawl.sampling import Reservoir

A, B, C, D = (f"https://example.com/{name}.xml" for name in "abcd")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://example.com/a#top", "https://example.com/a"),
        ("https://example.com/a?b&a", "https://example.com/a?b&a"),
        ("https://bücher.example/café", "https://xn--bcher-kva.example/caf%C3%A9"),
    ],
)
def test_key_is_the_url_that_is_requested(url: str, key: str) -> None:
    assert location_key(url) == key


def test_requests_are_counted_down() -> None:
    counters = Counters(max_sitemaps=2)
    counters.request(A)
    assert (counters.sitemaps_left(), counters.is_known(A), counters.is_known(B)) == (1, True, False)
    counters.request(B)
    assert counters.sitemaps_left() == 0


def test_zero_is_no_limit() -> None:
    counters = Counters()
    assert counters.sitemaps_left() == NO_LIMIT
    assert asyncio.run(counters.take_pages(10**9)) == (10**9, False)
    assert asyncio.run(counters.take_validation_errors(10**9)) == 10**9
    assert counters.list(A, SitemapEntry(A))


def test_pages_are_granted_to_the_unit() -> None:
    counters = Counters(max_urls=5)
    taken = [asyncio.run(counters.take_pages(count)) for count in (3, 2, 1)]
    assert taken == [(3, False), (2, True), (0, True)]


def test_validation_errors_are_granted_to_the_unit() -> None:
    counters = Counters(max_validation_errors=5)
    assert [asyncio.run(counters.take_validation_errors(count)) for count in (3, 3, 1)] == [3, 2, 0]


def test_sitemaps_of_a_document_are_listed_and_requested_while_there_is_room() -> None:
    counters = Counters(max_sitemaps=2)
    children: dict[str, None] = {}
    found = [(key, SitemapEntry(key), key != B) for key in (A, B, A, C, D)]
    added = asyncio.run(counters.add_sitemaps(found, children, at_once=True, too_deep=False))
    assert (added.listed, added.not_listed, added.left_out, added.too_deep) == ([A, B, A], 2, 1, 0)
    assert list(children) == [A, C]
    assert counters.requests == 2


def test_sitemaps_are_counted_later_where_they_are_fetched_one_at_a_time() -> None:
    counters = Counters(max_sitemaps=2)
    children: dict[str, None] = {}
    found = [(key, SitemapEntry(key), True) for key in (A, B, C)]
    added = asyncio.run(counters.add_sitemaps(found, children, at_once=False, too_deep=False))
    assert (list(children), added.left_out, counters.requests) == ([A, B], 1, 0)


def test_sitemaps_that_are_too_deep_are_listed_only() -> None:
    counters = Counters()
    counters.begin(A)
    children: dict[str, None] = {}
    found = [(key, SitemapEntry(key), True) for key in (A, B)]
    added = asyncio.run(counters.add_sitemaps(found, children, at_once=True, too_deep=True))
    assert (added.listed, added.too_deep, children) == ([A, B], 1, {})


def test_sitemap_is_listed_once_with_the_latest_date() -> None:
    counters = Counters(max_sitemaps=1)
    assert counters.list(A, SitemapEntry(A, "2024-01-15"))
    assert counters.list(A, SitemapEntry(A + "#x", "2024-02"))
    assert counters.list(A, SitemapEntry(A))
    assert not counters.list(B, SitemapEntry(B))
    assert [(entry.loc, entry.lastmod) for entry in counters.listed.values()] == [(A, "2024-02")]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, None, None),
        ("2024", None, "2024"),
        (None, "2024", "2024"),
        ("2024-01-01T00:00:00+02:00", "2023-12-31T23:00:00Z", "2023-12-31T23:00:00Z"),
        ("2024", "2024-01", "2024"),
        ("2024", "soon", "2024"),
    ],
)
def test_latest_compares_points_in_time(one: str | None, other: str | None, expected: str | None) -> None:
    assert latest(one, other) == expected


def test_document_is_served_once() -> None:
    counters = Counters()
    assert asyncio.run(counters.serve(A))
    assert not asyncio.run(counters.serve(A))
    assert counters.is_known(A)


def test_limit_is_reached_the_first_time_once() -> None:
    counters = Counters()
    assert [counters.reach("max_urls"), counters.reach("max_urls"), counters.reach("max_sitemaps")] == [True, False, True]


# Samples


def test_sample_of_fewer_is_all_of_them() -> None:
    reservoir: Reservoir[int] = Reservoir(10)
    reservoir.add([1, 2])
    reservoir.add([3])
    assert sorted(reservoir.take()) == [1, 2, 3]
    assert reservoir.take() == []


@pytest.mark.parametrize("batches", [[100], [1] * 100, [7, 0, 50, 43], [3, 2, 95]])
def test_sample_is_uniform_however_things_arrive(batches: list[int]) -> None:
    drawn: Counter[int] = Counter()
    for seed in range(4_000):
        reservoir: Reservoir[int] = Reservoir(5, seed)
        start = 0
        for size in batches:
            reservoir.add(range(start, start + size))
            start += size
        sample = reservoir.take()
        assert len(set(sample)) == 5
        drawn.update(sample)
    # 4,000 samples of 5 in 100: 200 each, with a standard deviation of 14.
    assert min(drawn[number] for number in range(100)) > 130
    assert max(drawn.values()) < 270


def test_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="0"):
        Reservoir(0)
