from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sitemapcrawl.journal import CallState, Done, Journal, JournalError

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B, C = "https://example.com/a.xml", "https://example.com/b.xml", "https://example.com/c.xml"
START = CallState(1, A)


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a test leaves open, as the end of a process does."""
    made: list[Journal] = []
    begin = Journal.__init__

    def note(journal: Journal, path: str) -> None:
        begin(journal, path)
        made.append(journal)

    monkeypatch.setattr(Journal, "__init__", note)
    yield
    for journal in made:
        journal.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "journal")


def reopened(journal: Journal, path: str) -> Journal:
    journal.close()
    return Journal(path)


def test_what_is_done_and_what_waits_is_kept(path: str) -> None:
    journal = Journal(path)
    journal.begin(START, A, 0)
    state = CallState(1, A, requests=2, pages=7, validation_errors=3, reached=frozenset({"max_urls"}), read=True, done=True)
    journal.save(state, Done(A, A, 0, [C, B], listed=[(B, B, "2024", A), (C, C, None, A)]), {"/p": 10})
    journal = reopened(journal, path)
    assert journal.calls() == [state]
    assert journal.waiting() == [(1, B, 1), (1, C, 1)]
    assert (journal.requested(1), journal.served(1)) == ({A, B, C}, {A})
    assert journal.listed(1) == [(B, B, "2024", A), (C, C, None, A)]
    assert journal.files() == {"/p": 10}
    assert (journal.started, journal.last_start, journal.ended) == (1, A, 0)


def test_document_under_way_waits(path: str) -> None:
    journal = Journal(path)
    journal.begin(START, A, 0)
    journal.save(None, None, {})
    assert reopened(journal, path).waiting() == [(1, A, 0)]


def test_start_that_was_taken_is_written_with_the_next_document(path: str) -> None:
    journal = Journal(path)
    journal.begin(START, A, 0)
    assert reopened(journal, path).started == 0


def test_sitemap_that_is_listed_again_keeps_its_place_and_takes_the_date(path: str) -> None:
    journal = Journal(path)
    journal.save(START, Done(A, A, listed=[(B, B, "2023", A), (C, C, None, A)]), {})
    journal.save(START, Done(B, B, listed=[(B, B, "2024", A)]), {})
    assert journal.listed(1) == [(B, B, "2024", A), (C, C, None, A)]


def test_document_that_failed_was_requested_and_not_read(path: str) -> None:
    journal = Journal(path)
    journal.save(START, Done(B), {})
    assert (journal.requested(1), journal.served(1), journal.waiting()) == ({B}, set(), [])


def test_target_of_a_redirect_was_read_and_still_waits_itself(path: str) -> None:
    journal = Journal(path)
    journal.save(START, Done(A, A, children=[C, B]), {})
    journal.save(START, Done(B, C), {})
    assert (journal.served(1), journal.waiting()) == ({A, C}, [(1, C, 1)])


def test_sitemap_that_waits_twice_waits_where_it_was_put_last(path: str) -> None:
    journal = Journal(path)
    journal.save(START, Done("i", "i", children=[C, B], counted=False), {})
    journal.save(START, Done(B, B, children=[C], depth=1, counted=False), {})
    assert (journal.waiting(), journal.requested(1)) == ([(1, C, 2)], {"i", B})


def test_nothing_is_left_of_a_call_that_ended(path: str) -> None:
    journal = Journal(path)
    for number in (1, 2):
        journal.begin(CallState(number, A), A, 0)
        journal.save(CallState(number, A, read=number == 1), Done(A, A, listed=[(B, B, None, A)]), {}, ended=True)
    assert (journal.calls(), journal.waiting(), journal.listed(1), journal.requested(1)) == ([], [], [], set())
    assert (journal.started, journal.ended, journal.failed) == (2, 2, 1)


def test_transaction_that_fails_leaves_everything_as_it_was(path: str) -> None:
    journal = Journal(path)
    journal.begin(START, A, 0)
    with pytest.raises(Exception, match="bind"):
        journal.save(START, Done(A, A, children=[object()]), {"/p": 1})  # type: ignore[list-item]
    assert (journal.calls(), journal.files()) == ([], {})
    journal.save(START, Done(A, A), {"/p": 1})
    assert (journal.started, journal.files()) == (1, {"/p": 1})


def test_one_process_at_a_time(path: str) -> None:
    journal = Journal(path)
    program = f"from sitemapcrawl.journal import Journal; Journal({path!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False
    )
    assert "another crawl is using it" in done.stderr
    reopened(journal, path)


def test_file_that_is_no_journal_is_refused(path: str) -> None:
    Path(path).write_text("not a database, and long enough to look like one" * 100)
    with pytest.raises(JournalError, match="cannot be read"):
        Journal(path)


def test_journal_of_another_version_is_refused(path: str) -> None:
    journal = Journal(path)
    journal._set(version="0")
    with pytest.raises(JournalError, match="version 0"):
        reopened(journal, path)


def test_folder_that_does_not_exist_is_refused(path: str) -> None:
    with pytest.raises(JournalError, match="cannot be used"):
        Journal(f"{path}/x/y")
