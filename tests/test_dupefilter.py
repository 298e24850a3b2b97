"""What is on record of pages that were requested, when the process is killed and when the crawl is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.test import get_crawler

from sitemapcrawl.dupefilter import DONE_PAGES, PAGE, PageDupeFilter

if TYPE_CHECKING:
    from pathlib import Path


def make(folder: Path | None) -> PageDupeFilter:
    crawler = get_crawler(settings_dict={"JOBDIR": str(folder)} if folder else {})
    return PageDupeFilter.from_crawler(crawler)


def page(name: str) -> Request:
    return Request(f"http://example.com/{name}", meta={PAGE: {"loc": name}})


def kill(dupe_filter: PageDupeFilter) -> None:
    """Let go of the files without what close() does; what was not written out by then would be lost."""
    assert dupe_filter._pages is not None
    dupe_filter._pages.close()
    if dupe_filter.file:
        dupe_filter.file.close()


def test_pages_that_are_not_done_are_requested_again_after_a_kill(tmp_path: Path) -> None:
    first, done, waiting = make(tmp_path), page("done"), page("waiting")
    assert [first.request_seen(request) for request in (done, waiting, page("done"), page("waiting"))] == [
        False,
        False,
        True,
        True,
    ]
    name = first.ended(done)
    assert name is not None
    first.write([name])
    kill(first)
    second = make(tmp_path)
    assert [second.request_seen(page(name)) for name in ("done", "waiting")] == [True, False]
    second.close("finished")


def test_a_page_is_done_when_its_last_request_is(tmp_path: Path) -> None:
    first, request = make(tmp_path), page("1")
    first.request_seen(request)
    redirected = request.replace(url="http://example.com/2")
    first.begun(redirected)
    assert not first.request_seen(redirected)
    assert first.ended(request) is None
    name = first.ended(redirected)
    assert name is not None
    first.write([name])
    kill(first)
    second = make(tmp_path)
    assert [second.request_seen(page(name)) for name in ("1", "2")] == [True, True]
    second.close("finished")


def test_when_the_crawl_is_closed_what_waits_is_in_the_queue(tmp_path: Path) -> None:
    first = make(tmp_path)
    first.request_seen(page("waiting"))
    first.close("shutdown")
    second = make(tmp_path)
    assert second.request_seen(page("waiting"))
    second.close("finished")


def test_half_a_line_does_not_count_and_spoils_no_other(tmp_path: Path) -> None:
    first = make(tmp_path)
    first.request_seen(page("1"))
    first.close("shutdown")
    path = tmp_path / DONE_PAGES
    path.write_text(path.read_text()[:-5])
    second = make(tmp_path)
    assert not second.request_seen(page("1"))
    second.close("shutdown")
    third = make(tmp_path)
    assert third.request_seen(page("1"))
    third.close("finished")


def test_without_jobdir_and_for_other_requests_it_is_that_of_scrapy(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        dupe_filter = make(folder)
        request = Request("http://example.com/") if folder else page("1")
        assert [dupe_filter.request_seen(request) for _ in range(2)] == [False, True]
        dupe_filter.close("finished")
    assert (tmp_path / "requests.seen").stat().st_size > 0
