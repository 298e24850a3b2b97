"""Records → sitemaps: entries, files within the limits, and sets of files with an index.

>>> import tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     with SitemapWriter(folder, "https://example.com/") as writer:
...         writer.write({"loc": "https://example.com/?a=1&b=2", "lastmod": "2024-02-29"})
...     print(Path(folder, "sitemap-1.xml").read_text(), end="")
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.com/?a=1&amp;b=2</loc><lastmod>2024-02-29</lastmod></url>
</urlset>

What may be written is in ``rules.records``, how it is written in ``formats.writing``, and how a set of files takes the place
of an earlier one in ``fileset``.
"""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from urllib.parse import urljoin

from sitemapcrawl.protocol import dates
from sitemapcrawl.protocol.alternates import WaitingPages
from sitemapcrawl.protocol.fileset import FileSet
from sitemapcrawl.protocol.formats import writing
from sitemapcrawl.protocol.limits import CHANGE_FREQUENCIES, MAX_ENTRIES, MAX_FILE_SIZE, MAX_NEWS, MAX_URL_LENGTH
from sitemapcrawl.protocol.records import Page, SitemapEntry
from sitemapcrawl.protocol.rules.records import RecordRules
from sitemapcrawl.protocol.urls import fine_at

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType
    from typing import Self

_PENDING: Final = 262_144  # bytes of entries that are put together before they go to the spool
_SPOOL: Final = 8 * 1024 * 1024  # bytes of a file that stay in memory; what is more waits on the disk
_COMPRESSION_LEVEL: Final = 6  # 9 takes twice as long, for a hundredth of the size
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

# What nearly every entry has: its element is looked up, which judges it as well.
_CHANGEFREQS: dict[Any, str] = {text: f"<changefreq>{text}</changefreq>" for text in CHANGE_FREQUENCIES} | {None: ""}
_PRIORITIES: dict[Any, str] = {tenths / 10: f"<priority>{tenths / 10}</priority>" for tenths in range(11)} | {None: ""}


class SetTooLargeError(Exception):
    """More records than the 50,000 files of one index hold."""


# What is written of a record: its XML, the number of bytes that it takes, the extensions in it (bits of formats.writing), and
# its lastmod. A plain tuple: a named one takes 0.3 µs, a tenth of the time that a record takes.
Entry = tuple[str, int, int, str | None]


class EntryWriter:
    """Judges records and writes them down, each as an entry of a document of *kind*."""

    def __init__(self, rules: RecordRules, kind: str = "urlset") -> None:
        self.rules = rules
        self._is_urlset = kind == "urlset"
        self._is_fine = fine_at(rules.base)
        base = rules.base or ""
        self._prefix = base[: base.rfind("/") + 1] if base.count("/") > 3 else ""

    def entry(self, record: Any, faults: list[str] | None = None) -> Entry:
        """Return the entry of *record*; raise :exc:`ValueError` as :meth:`.RecordRules.page` does."""
        if type(record) is Page and self._is_urlset:
            # The hot path, of pages that are as they should be and have no extensions; all others may take their time.
            loc, lastmod = record.loc, record.lastmod
            try:
                if (
                    not (record.images or record.alternates or record.videos or record.news)
                    and len(loc) <= MAX_URL_LENGTH
                    and self._is_fine(loc)
                    and loc.startswith(self._prefix)
                    and (lastmod is None or dates.is_plain(lastmod))
                ):
                    rest = _CHANGEFREQS[record.changefreq] + _PRIORITIES[record.priority]
                    if "&" in loc:  # the only character of such a location that XML has escaped
                        loc = loc.replace("&", "&amp;")
                    date = "" if lastmod is None else f"<lastmod>{lastmod}</lastmod>"
                    text = f"<url><loc>{loc}</loc>{date}{rest}</url>\n"
                    return text, len(text), 0, lastmod  # all of it is ASCII
            except (KeyError, TypeError):  # a value that is unusual, or not of the type that it has in records
                pass
        if self._is_urlset:
            return self.page_entry(self.rules.page(record, faults))
        entry = self.rules.sitemap(record, faults)
        text = writing.sitemap_entry(entry)
        return text, len(text.encode()), 0, entry.lastmod

    def page_entry(self, page: Page) -> Entry:
        """Return the entry of *page*, which has been judged."""
        text = writing.url_entry(page)
        return text, len(text.encode()), writing.extensions_of(page), page.lastmod


class Body:
    """The entries of one file, as many as fit.

    They wait in a spool, up to 8 MiB of it in memory and the rest in *folder*: which namespaces the file declares is
    known with its last entry.
    """

    def __init__(
        self,
        kind: str = "urlset",
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_FILE_SIZE,
        stylesheet: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self.kind = kind
        self.count = 0
        self.lastmod: str | None = None  # the latest
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._stylesheet = stylesheet
        self._extensions = 0
        self._news = 0
        self._size = self._frame = len(writing.head(kind, 0, stylesheet) + writing.tail(kind))
        self._pending: list[str] = []
        self._pending_size = 0
        self._folder = None if folder is None else str(folder)
        self._spool: SpooledTemporaryFile[bytes] | None = None

    def add(self, entry: Entry) -> bool:
        """Take *entry*, and tell whether there was room for it."""
        text, size, extensions, lastmod = entry
        if self.count >= self._max_entries:
            return False
        if extensions:
            if extensions & ~self._extensions:
                frame = len(writing.head(self.kind, self._extensions | extensions, self._stylesheet) + writing.tail(self.kind))
            else:
                frame = self._frame
            if extensions & writing.NEWS and self._news >= MAX_NEWS:
                return False
            if self._size - self._frame + frame + size > self._max_bytes:
                return False
            self._news += bool(extensions & writing.NEWS)
            self._size += frame - self._frame
            self._frame = frame
            self._extensions |= extensions
        elif self._size + size > self._max_bytes:
            return False
        self._size += size
        self.count += 1
        self._pending.append(text)
        self._pending_size += size
        if self._pending_size >= _PENDING:
            self._flush()
        if lastmod is not None and lastmod != self.lastmod:
            self._compare(lastmod)
        return True

    def _compare(self, lastmod: str) -> None:
        latest = self.lastmod
        if latest is None:
            self.lastmod = lastmod
        elif len(latest) == len(lastmod) and (
            len(latest) <= 10 or latest[-6:] == lastmod[-6:] or latest[-1] == lastmod[-1] == "Z"
        ):
            # The same form and, where there is one, the same zone: then the order of the texts is that of the moments.
            if lastmod > latest:
                self.lastmod = lastmod
        elif dates.to_datetime(lastmod) > dates.to_datetime(latest):
            self.lastmod = lastmod

    def _flush(self) -> None:
        if self._spool is None:
            self._spool = SpooledTemporaryFile(_SPOOL, dir=self._folder)  # noqa: SIM115 # closed by close()
        self._spool.write(self._taken())

    def _taken(self) -> bytes:
        text = "".join(self._pending)
        self._pending.clear()
        self._pending_size = 0
        return text.encode()

    def write_to(self, output: BinaryIO) -> None:
        """Write the whole document to *output*."""
        if not self.count:
            output.write(writing.empty(self.kind, self._stylesheet).encode())
            return
        output.write(writing.head(self.kind, self._extensions, self._stylesheet).encode())
        if self._spool is not None:
            self._spool.seek(0)
            shutil.copyfileobj(self._spool, output, 1 << 20)
        output.write(self._taken())
        output.write(writing.tail(self.kind).encode())

    def write_gzip_to(self, output: BinaryIO) -> None:
        """Write the whole document to *output*, compressed: to the same bytes each time, since no name and no time is in them."""
        with gzip.GzipFile("", "wb", _COMPRESSION_LEVEL, output, mtime=0) as file:
            self.write_to(cast("BinaryIO", file))

    def close(self) -> None:
        """Let go of the spool."""
        if self._spool is not None:
            self._spool.close()


def check_stylesheet(reference: str) -> str:
    """Return *reference* to an XSL stylesheet; raise :exc:`ValueError` if an instruction cannot hold it."""
    if not re.fullmatch(r"[!#-;=?-~]+", reference) or "?>" in reference:
        raise ValueError(f"stylesheet {reference!r} is no URL")
    return reference


def check_base(url: str) -> str:
    """Return the *url* of a folder with a slash at its end; raise :exc:`ValueError` if it is none."""
    if "?" in url or "#" in url:
        raise ValueError(f"base URL {url!r} is that of a folder, it has neither a query nor a fragment")
    try:
        RecordRules().url("base URL", url)
    except ValueError as problem:
        raise ValueError(str(problem)) from None
    return url if url.endswith("/") else url + "/"


class SitemapWriter:
    """Writes any number of records to ``sitemap-1.xml``, ``sitemap-2.xml``, … in *folder*, and the index ``sitemap.xml``.

    *base_url* is the address at which the folder is published. Records have to be on its host and in its directory or
    below, as the protocol has it, unless they may be at *any_location*: then the robots.txt of their host has to name the
    index. With *gzip* the files are compressed (``sitemap-1.xml.gz``), the index is not. A file ends before it has more than
    *max_urls* entries, *max_bytes* bytes (uncompressed) or 1,000 news. *stylesheet* is the URL of an XSL stylesheet, *name*
    takes the place of ``sitemap``. With *encode*, what addresses may not hold is percent-encoded instead of refused.

    With *complete_alternates* every page of a group of alternates names every other and itself
    (:class:`~sitemapcrawl.protocol.alternates.AlternateGroups`); the pages wait on the disk for that until all are known, and
    their addresses in memory. Otherwise memory does not grow with the number of records.

    The set appears in the folder as a whole, when the ``with`` block ends or :meth:`close` is called, the index last; files of
    an earlier, longer set are removed then. If an exception ends the block, the earlier set stays.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        base_url: str,
        *,
        gzip: bool = False,
        max_urls: int = MAX_ENTRIES,
        max_bytes: int = MAX_FILE_SIZE,
        stylesheet: str | None = None,
        name: str = "sitemap",
        complete_alternates: bool = False,
        encode: bool = False,
        any_location: bool = False,
    ) -> None:
        if not 1 <= max_urls <= MAX_ENTRIES:
            raise ValueError(f"max_urls is {max_urls}, it has to be from 1 to {MAX_ENTRIES:,}")
        if not 1 <= max_bytes <= MAX_FILE_SIZE:
            raise ValueError(f"max_bytes is {max_bytes}, it has to be from 1 to {MAX_FILE_SIZE:,}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"name is {name!r}, it has to consist of letters, digits and . _ -")
        self.base_url = check_base(base_url)
        self._gzip = gzip
        self._max_urls = max_urls
        self._max_bytes = max_bytes
        self._stylesheet = None if stylesheet is None else check_stylesheet(stylesheet)
        self._set = FileSet(Path(folder), name)
        self._entries = EntryWriter(RecordRules(None if any_location else self.base_url, encode=encode))
        self._index_entries = EntryWriter(RecordRules(self.base_url), "sitemapindex")
        self._index = Body("sitemapindex", stylesheet=self._stylesheet)
        self._body: Body | None = None
        self._waiting = WaitingPages() if complete_alternates else None
        self._is_closed = False
        self.count = 0
        self.files: list[str] = []

    @property
    def index_url(self) -> str:
        """The address of the index, as a robots.txt has to name it."""
        return urljoin(self.base_url, self._set.index)

    def write(self, record: Any, faults: list[str] | None = None) -> None:
        """Write *record*: a page, or a mapping or an object with its fields.

        Raises :exc:`ValueError`, naming value and rule, if anything of it may not be written; the record is left out then, and
        writing goes on with the next. With *faults* a wrong location does that; any other wrong value is left out by itself,
        and a message about it is added to the list.
        """
        if self._is_closed:
            raise RuntimeError("the set is closed")
        if self._waiting is not None:
            self._waiting.add(self._entries.rules.page(record, faults), self._set.temporary)
        else:
            entry = self._entries.entry(record, faults)
            if self._body is None or not self._body.add(entry):
                self._start_file(entry)
        self.count += 1

    def _start_file(self, entry: Entry) -> None:
        """Go on in a new file, of which *entry* is the first."""
        fresh = self._new_body()
        if not fresh.add(entry):
            fresh.close()
            raise ValueError(f"the entry has {entry[1]:,} bytes, more than a file of at most {self._max_bytes:,} holds")
        self._finish_file()
        self._body = fresh

    def _new_body(self) -> Body:
        return Body(
            max_entries=self._max_urls, max_bytes=self._max_bytes, stylesheet=self._stylesheet, folder=self._set.temporary
        )

    def _finish_file(self) -> None:
        body, self._body = self._body, None
        if body is None:
            return
        if body.count:
            name = f"{self._set.name}-{len(self.files) + 1}.xml{'.gz' if self._gzip else ''}"
            entry = SitemapEntry(urljoin(self.base_url, name), body.lastmod)
            if not self._index.add(self._index_entries.entry(entry)):
                raise SetTooLargeError(f"an index holds at most {MAX_ENTRIES:,} files and {MAX_FILE_SIZE:,} bytes")
            with (self._set.temporary / name).open("wb") as file:
                (body.write_gzip_to if self._gzip else body.write_to)(file)
            self.files.append(name)
        body.close()

    def close(self) -> None:
        """Finish the set and put it in its place. Whatever fails, the earlier set stays."""
        if self._is_closed:
            return
        try:
            if self._waiting is not None:
                for page in self._waiting.completed():
                    entry = self._entries.page_entry(page)
                    if self._body is None or not self._body.add(entry):
                        self._start_file(entry)
            self._finish_file()
            with (self._set.temporary / self._set.index).open("wb") as file:
                self._index.write_to(file)
            self._set.publish([*self.files, self._set.index])
        finally:
            self.abort()

    def abort(self) -> None:
        """Remove what was written, unless the set is in its place; the earlier set stays."""
        self._is_closed = True
        for part in (self._body, self._index, self._waiting):
            if part is not None:
                part.close()
        self._body = None
        self._set.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()
