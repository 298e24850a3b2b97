"""Files of records, line by line: JSON lines, CSV and lists of URLs, gzipped or not.

What cannot be read of a line costs that line: it comes as a :exc:`ValueError`. What keeps a file from being read raises
:exc:`OSError`, :exc:`EOFError` or :exc:`UnreadableError`.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from sitemapcrawl.protocol.records import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from io import BufferedReader

FORMATS = ("jsonl", "csv", "urls")

_BY_NAME = {".jsonl": "jsonl", ".jl": "jsonl", ".jsonlines": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "urls"}
_NESTED = frozenset({"images", "news", "videos", "alternates"})
_PLAIN = frozenset({"loc", "lastmod", "changefreq", "priority", "sitemap"})
_MAX_CELL = 100_000_000  # characters of a cell of CSV; Python's own limit is 131,072


class UnreadableError(Exception):
    """A file in which no line can be read."""


def format_of(name: str) -> str | None:
    """Return the format that a file called *name* has, by its ending; none where that does not tell."""
    plain = name.removesuffix(".gz")
    return next((form for ending, form in _BY_NAME.items() if plain.lower().endswith(ending)), None)


def read_records(file: BufferedReader, form: str | None, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Any]]:
    """Yield the records of *file*, each with the number of the line on which it begins; a :exc:`ValueError` for one that is none.

    *form* is one of :data:`FORMATS`; ``None`` has the first line tell. *names* has for each value of the protocol the fields
    in which it is looked for, in this order. The lines of a list of URLs that are blank are passed over, those of the other
    formats too.
    """
    source: Iterable[bytes] = file
    if file.peek(2)[:2] == b"\x1f\x8b":
        source = cast("BinaryIO", gzip.GzipFile(fileobj=file))
    try:
        yield from _read(enumerate(source, 1), form, names)
    except (zlib.error, gzip.BadGzipFile, EOFError) as problem:
        raise UnreadableError(f"damaged gzip: {problem}") from None


def _read(lines: Iterator[tuple[int, bytes]], form: str | None, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            form = form or _detect(line, names)
            rest = chain([(number, line)], lines)
            yield from _csv(rest, names) if form == "csv" else _json(rest, names) if form == "jsonl" else _urls(rest)
            return


def _detect(line: bytes, names: Mapping[str, Sequence[str]]) -> str:
    text = line.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        return "jsonl"
    header = next(csv.reader([text], delimiter=_delimiter(text)), [])
    return "csv" if any(cell.strip() in names["loc"] for cell in header) else "urls"


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _urls(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            yield number, ValueError(f"{line.strip()[:100]!r} is not UTF-8")
            continue
        if text:
            yield number, Page(text)


def _json(lines: Iterable[tuple[int, bytes]], names: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Any]]:
    decode = msgspec.json.Decoder().decode
    is_mapped = any(fields[0] != name for name, fields in names.items())
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            yield number, ValueError(f"no JSON: {problem}")
            continue
        if not isinstance(found, dict):
            yield number, ValueError(f"{line.strip()[:100]!r} is no JSON object")
        elif found.keys() <= _PLAIN and "loc" in found and not is_mapped:
            yield number, Page(**found)
        else:
            yield number, _mapped(found, names)


def _mapped(found: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    record = {}
    for name, fields in names.items():
        for field in fields:
            if (value := found.get(field)) is not None:
                record[name] = value
                break
    return record


def _csv(lines: Iterable[tuple[int, bytes]], names: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Any]]:
    reached = 0

    def texts() -> Iterator[str]:
        nonlocal reached
        for number, line in lines:
            reached = number
            yield line.decode("utf-8", "surrogateescape")  # what is not UTF-8 is refused with its value

    source = texts()
    first = next(source)
    csv.field_size_limit(_MAX_CELL)
    rows = csv.reader(chain([first], source), delimiter=_delimiter(first))
    header = [cell.strip() for cell in next(rows)]
    if not any(field in header for field in names["loc"]):
        raise UnreadableError(f"the header has no column {' or '.join(names['loc'])}")
    while True:
        start = reached + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as problem:
            yield start, ValueError(f"no CSV: {problem}")
            continue
        if row:
            cells = {field: cell for field, cell in zip(header, row, strict=False) if cell != ""}
            record = _mapped(cells, names)
            for name in _NESTED & record.keys():
                record[name] = _decoded(record[name])
            yield start, record


def _decoded(cell: str) -> Any:
    """Return what a cell of JSON holds; a cell of anything else as it is."""
    if not cell.startswith(("[", "{")):
        return cell
    try:
        return msgspec.json.decode(cell)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return cell
