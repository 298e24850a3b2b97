"""The journal of a crawl that can be interrupted: which documents wait, which are done, and what was counted. Pure.

An SQLite database, one transaction a document. Everything that belongs to a document is in its transaction: that it is
done, the documents that it leads to, the sitemaps that it lists, what is left of the limits, and how long the files are
that its pages went to. So whenever the process ends, the journal holds whole documents; those that were under way wait.

``waiting`` is what was listed and is not done: a document is under way in the process that reads it, and nowhere else.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

VERSION = "1"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, url TEXT, requests INTEGER, pages INTEGER, validation_errors INTEGER, reached TEXT,
    read INTEGER, done INTEGER, stopped INTEGER
);
CREATE TABLE IF NOT EXISTS documents (
    position INTEGER PRIMARY KEY, call INTEGER, key TEXT, depth INTEGER, waiting INTEGER, requested INTEGER, served INTEGER,
    UNIQUE (call, key)
);
CREATE INDEX IF NOT EXISTS waiting ON documents (position) WHERE waiting;
CREATE TABLE IF NOT EXISTS listed (
    position INTEGER PRIMARY KEY, call INTEGER, key TEXT, loc TEXT, lastmod TEXT, sitemap TEXT, UNIQUE (call, key)
);
"""


class JournalError(Exception):
    """The journal cannot be opened, or does not belong to this crawl."""


class JournalInUseError(JournalError):
    """Another process has the journal."""


@dataclass(slots=True)
class CallState:
    """How far the call of one start is: what was counted, the limits that were reached, how its first document ended."""

    id: int
    url: str
    requests: int = 0
    pages: int = 0
    validation_errors: int = 0
    reached: frozenset[str] = frozenset()
    read: bool = False
    done: bool = False
    stopped: bool = False


@dataclass(slots=True)
class Done:
    """A document that is done: the *key* it was requested by, the one it was *served* at if it was read, what it led to.

    ``children`` are keys in the order in which they are scheduled, the last is to be fetched first; ``counted`` says
    whether they count as requested already. ``listed`` are key, loc, lastmod and sitemap of what it lists.
    """

    key: str
    served: str | None = None
    depth: int = 0
    children: Sequence[str] = ()
    counted: bool = True
    listed: Sequence[tuple[str, str, str | None, str | None]] = ()


class Lock:
    """The lock of the file at *path*, which is made if it does not exist, and stays empty.

    As with a journal, one process at a time can have it, another one gets a :exc:`JournalInUseError`, and it is free when
    the process ends. It is SQLite's, which is the same on every system.
    """

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, timeout=1, isolation_level=None)
        try:
            self._database.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._database.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise JournalInUseError(f"the lock {path!r} cannot be taken: another crawl is using it") from None
            raise JournalError(f"the lock {path!r} cannot be taken: {error}") from None

    def release(self) -> None:
        """Let go of the lock."""
        self._database.close()


class Journal:
    """The journal in the file at *path*, which is made if it does not exist.

    One process at a time can have it: another one gets a :exc:`JournalInUseError`. When a process ends, however it does, the
    journal is free again.
    """

    def __init__(self, path: str) -> None:
        self._begun: list[tuple[CallState, str, int]] = []
        try:
            self._database = sqlite3.connect(path, timeout=1, isolation_level=None)
        except sqlite3.Error as error:
            raise JournalError(f"the journal {path!r} cannot be used: {error}") from None
        try:
            # The lock is taken with the first transaction and kept. In this mode a commit is written to the system, not
            # to the disk: it survives the end of the process, and of a power cut all but the last documents.
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            with self._transaction():
                self._prepare()
        except sqlite3.OperationalError as error:
            self._database.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise JournalInUseError(f"the journal {path!r} cannot be used: another crawl is using it") from None
            raise JournalError(f"the journal {path!r} cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise JournalError(f"the journal {path!r} cannot be read: {error}") from None

    def _prepare(self) -> None:
        for statement in _SCHEMA.split(";"):
            self._database.execute(statement)
        version = self._fact("version", VERSION)
        if version != VERSION:
            raise sqlite3.DatabaseError(f"it is of version {version}, expected {VERSION}")
        self._set(version=VERSION)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Let go of the journal."""
        self._database.close()

    # What there is

    def _fact(self, name: str, default: str) -> str:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    def _set(self, **facts: object) -> None:
        rows = [(name, str(value)) for name, value in facts.items()]
        self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    @property
    def started(self) -> int:
        """How many starts were taken; the ids of their calls go from 1 to this number."""
        return int(self._fact("started", "0"))

    @property
    def last_start(self) -> str:
        """The URL of the start that was taken last."""
        return self._fact("last_start", "")

    @property
    def ended(self) -> int:
        """How many calls came to their end."""
        return int(self._fact("ended", "0"))

    @property
    def failed(self) -> int:
        """How many of those that ended could not read their first document."""
        return int(self._fact("failed", "0"))

    def files(self) -> dict[str, int]:
        """Return the sizes (bytes) that the files had when the last document was done."""
        return dict(self._database.execute("SELECT path, size FROM files"))

    def calls(self) -> list[CallState]:
        """Return the calls that have begun and not ended."""
        found = []
        for row in self._database.execute("SELECT * FROM calls ORDER BY id"):
            number, url, requests, pages, errors, reached, *flags = row
            names = frozenset(reached.split())
            found.append(CallState(number, url, requests, pages, errors, names, *map(bool, flags)))
        return found

    def waiting(self) -> list[tuple[int, str, int]]:
        """Return call, key and depth of the documents that wait, in the order in which they are to be fetched."""
        return list(self._database.execute("SELECT call, key, depth FROM documents WHERE waiting ORDER BY position DESC"))

    def requested(self, call: int) -> set[str]:
        """Return the keys that count as requested."""
        return {key for (key,) in self._database.execute("SELECT key FROM documents WHERE call = ? AND requested", (call,))}

    def served(self, call: int) -> set[str]:
        """Return the keys of documents that were read, whatever they were requested by."""
        return {key for (key,) in self._database.execute("SELECT key FROM documents WHERE call = ? AND served", (call,))}

    def listed(self, call: int) -> list[tuple[str, str, str | None, str | None]]:
        """Return key, loc, lastmod and sitemap of what the documents list, in the order in which it was met first."""
        select = "SELECT key, loc, lastmod, sitemap FROM listed WHERE call = ? ORDER BY position"
        return list(self._database.execute(select, (call,)))

    # What happens

    def begin(self, call: CallState, key: str, depth: int) -> None:
        """Note that the start of *call* was taken; it is written with the next document."""
        self._begun.append((call, key, depth))

    def save(self, call: CallState | None, done: Done | None, files: Mapping[str, int], *, ended: bool = False) -> None:
        """Write down that the document *done* of *call* is done, and the sizes of *files*; also whether the call *ended*.

        What belongs to a call that ended is removed, except that it did.
        """
        begun = self._begun
        with self._transaction():
            for state, key, depth in begun:
                self._save_call(state)
                self._database.execute("INSERT OR REPLACE INTO documents VALUES (NULL, ?, ?, ?, 1, 1, 0)", (state.id, key, depth))
            if begun:
                self._set(started=begun[-1][0].id, last_start=begun[-1][0].url)
            self._database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", files.items())
            if call is not None and ended:
                self._set(ended=self.ended + 1, failed=self.failed + (not call.read))
                for table in ("calls", "documents", "listed"):
                    column = "id" if table == "calls" else "call"
                    self._database.execute(f"DELETE FROM {table} WHERE {column} = ?", (call.id,))
            elif call is not None:
                self._save_call(call)
                if done is not None:
                    self._save_document(call.id, done)
        self._begun = []

    def _save_call(self, call: CallState) -> None:
        row = (call.id, call.url, call.requests, call.pages, call.validation_errors, " ".join(sorted(call.reached)))
        flags = (call.read, call.done, call.stopped)
        self._database.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row + flags)

    def _save_document(self, call: int, done: Done) -> None:
        upsert = """
            INSERT INTO documents VALUES (NULL, :call, :key, :depth, 0, :requested, :served)
            ON CONFLICT (call, key) DO UPDATE SET
                waiting = waiting AND NOT :requested, requested = requested OR :requested, served = served OR :served
        """
        document = {"call": call, "key": done.key, "depth": done.depth, "requested": 1, "served": int(done.served == done.key)}
        self._database.execute(upsert, document)
        if done.served is not None and done.served != done.key:  # a redirect led there
            self._database.execute(upsert, {**document, "key": done.served, "requested": 0, "served": 1})
        # One that waits already (sequential crawls list it twice) waits at its latest place.
        children: Iterable[tuple[object, ...]] = ((call, key, done.depth + 1, int(done.counted)) for key in done.children)
        self._database.executemany("INSERT OR REPLACE INTO documents VALUES (NULL, ?, ?, ?, 1, ?, 0)", children)
        self._database.executemany(
            "INSERT INTO listed VALUES (NULL, ?, ?, ?, ?, ?) ON CONFLICT (call, key) DO UPDATE SET lastmod = excluded.lastmod",
            ((call, *entry) for entry in done.listed),
        )
