"""The file that a crawl writes what the linter finds in its documents to: one JSON object a line."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sitemapcrawl.exporters.records import cut_to_line
from sitemapcrawl.protocol.lint import lint
from sitemapcrawl.protocol.lint.formats import record

if TYPE_CHECKING:
    from datetime import datetime


class FindingsFile:
    """A file at *path* for the findings of documents, in the form of ``scrapy lint --format json``.

    It is written anew, or with *append* continued behind its last whole line. *now* is the time that counts as the present,
    by default the clock's. Raises :exc:`OSError` if it cannot be written.
    """

    def __init__(self, path: str, now: datetime | None = None, *, append: bool = False) -> None:
        self._now = now
        self._lock = Lock()
        # Cut when there is something to add: until then another process may turn out to be writing to it.
        self._torn = path if append else None
        self._file = Path(path).open("a" if append else "w", encoding="utf-8", newline="\n")  # noqa: SIM115 # closed by close()

    def add(self, body: bytes, url: str) -> int:
        """Lint the document *body*, served from *url*, and return how many findings were written.

        It takes seconds for a large document; a caller with an event loop gives it a thread. Several threads may call
        this: the findings of one document stay together.
        """
        count = 0
        with self._lock:
            if self._torn is not None:
                cut_to_line(self._torn)
                self._torn = None
            for finding in lint(body, url, self._now):
                self._file.write(record(url, finding) + "\n")
                count += 1
            self._file.flush()
        return count

    def close(self) -> None:
        """Close the file; nothing can be added any more."""
        self._file.close()
