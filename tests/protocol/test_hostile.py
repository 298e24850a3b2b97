"""Documents that mean harm: each is read to an end, in a process of its own, in memory that is in proportion to it.

Run as a program it reads those that it is told, and prints what came of each.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL = "https://example.com/sitemap.xml"
MB = 1_000_000
LOC = b"<urlset><url><loc>https://example.com/"
END = b"</loc></url></urlset>"
PAGE = b"<url><loc>https://example.com/a</loc></url>"


def _laughs(use: bytes) -> bytes:
    """Eleven levels of ten: 10 to the 11th times the text, if anyone expanded it."""
    levels = b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 12))
    return b'<!DOCTYPE urlset [<!ENTITY e0 "https://example.com/">' + levels + b"]>" + use


def _gzipped_spaces(megabytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    spaces = b" " * MB
    return b"".join(packer.compress(spaces) for _ in range(megabytes)) + packer.flush()


def _in_loc(text: bytes) -> bytes:
    return LOC + text + END


# name: the document, the pages that it yields, and how many MB above the document itself it may take.
DOCUMENTS: dict[str, tuple[Callable[[], bytes], int, int]] = {
    "zip bomb": (lambda: _gzipped_spaces(600), 0, 70),
    "zip bomb of members": (lambda: gzip.compress(b" " * MB) * 600, 0, 70),
    "members without content": (lambda: gzip.compress(b"") * 300_000, 0, 20),
    "entities in text": (lambda: _laughs(b"<urlset>" + PAGE + b"<url><loc>ftp://&e11;</loc></url></urlset>"), 1, 20),
    "entities in an attribute": (lambda: _laughs(b'<urlset a="&e11;">' + PAGE + b"</urlset>"), 1, 20),
    "external entity": (
        lambda: b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset>' + PAGE + b"<url><loc>ftp://&x;</loc></url></urlset>", 1, 20
    ),
    "parameter entities": (
        lambda: b'<!DOCTYPE urlset [<!ENTITY % a SYSTEM "file:///etc/passwd">%a;<!ENTITY % b "%a;%a;">%b;]><urlset>' + PAGE + b"</urlset>", 1, 20
    ),
    "external subset": (lambda: b'<!DOCTYPE urlset SYSTEM "file:///dev/zero"><urlset>' + PAGE + b"</urlset>", 1, 20),
    "many declarations": (lambda: b"<!DOCTYPE urlset [" + b"<!ENTITY a 'b'>" * MB + b"]><urlset>" + PAGE + b"</urlset>", 1, 60),
    "nested elements": (lambda: b"<urlset>" + b"<a>" * 100_000 + b"</a>" * 100_000 + PAGE + b"</urlset>", 1, 80),
    "nested elements without end": (lambda: b"<urlset>" + PAGE + b"<a>" * 100_000, 1, 80),
    "nested entries": (lambda: b"<urlset>" + b"<url>" * 100_000 + b"</url>" * 100_000 + PAGE + b"</urlset>", 1, 120),
    "nested prefixes in one entry": (lambda: b'<urlset xmlns:i="u:i"><url><i:x>' + b"<i:a><i:b/></i:a>" * 100_000 + b"</i:x></url>" + PAGE + b"</urlset>", 1, 120),
    "nested publications": (
        lambda: b"<urlset><url><loc>https://example.com/a</loc><news:news>" + b"<news:publication>" * 100_000 + b"</news:news></url></urlset>", 1, 80
    ),
    "nested items": (lambda: b"<rss><channel>" + b"<item>" * 100_000 + b"</channel></rss>", 0, 120),
    "nested links of a feed": (lambda: b"<feed><entry>" + b"<link>" * 100_000 + b"</entry></feed>", 0, 120),
    "attribute": (lambda: b'<urlset><url a="' + b"x" * 50 * MB + b'"/>' + PAGE + b"</urlset>", 1, 160),
    "attribute of the root": (lambda: b'<urlset a="' + b"x" * 50 * MB + b'">' + PAGE + b"</urlset>", 1, 200),
    "attribute without end": (lambda: b"<urlset>" + PAGE + b'<url a="' + b"x" * 50 * MB, 1, 160),
    "many less-thans": (lambda: b"<" * 5 * MB, 0, 60),
    "many less-thans in a location": (lambda: _in_loc(b"<" * 3 * MB), 0, 120),
    "many tags in a location": (lambda: _in_loc(b"<a" * MB), 0, 400),
    "many ampersands": (lambda: b"<urlset>" + b"&" * 5 * MB + PAGE + b"</urlset>", 1, 120),
    "many ampersands in a location": (lambda: _in_loc(b"&" * 3 * MB), 0, 200),
    "many entities to be repaired": (lambda: _in_loc(b"&eacute;" * 400_000), 0, 200),
    "many comments that begin": (lambda: b"<!--" * 12 * MB, 0, 120),
    "many comments that begin in the root": (lambda: b"<urlset>" + PAGE + b"<!--" * 12 * MB, 1, 160),
    "many comments in a location": (lambda: b"<urlset><url><loc>https://example.com/a" + b"<!---->" * 2 * MB + END, 1, 60),
    "many instructions that begin": (lambda: b"<urlset>" + PAGE + b"<?" * 20 * MB, 1, 160),
    "many sections that begin": (lambda: b"<urlset>" + PAGE + b"<![CDATA[" * 4 * MB, 1, 160),
    "many end tags": (lambda: _in_loc(b"a" + b"</b>" * MB), 1, 60),
    "many quotation marks": (lambda: _in_loc(b'<a b="' * 300_000), 0, 300),
    "many children": (lambda: b"<urlset><url><loc>https://example.com/a</loc>" + b"<a/>" * MB + b"</url></urlset>", 1, 260),
    "many children of what is not well-formed": (lambda: b"<urlset>&<url><loc>https://example.com/a</loc>" + b"<a/>" * 300_000 + b"</url></urlset>", 1, 260),
    "many images": (
        lambda: b'<urlset xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>https://example.com/a</loc>'
        + b"<i:image><i:loc>https://example.com/i</i:loc></i:image>" * 100_000
        + b"</url></urlset>",
        1, 200,
    ),
    "many entries without end tags": (lambda: b"<urlset>" + b"<url><loc>https://example.com/a" * 100_000 + b"</urlset>", 100_000, 260),
    "index": (
        lambda: b"<sitemapindex>" + b"<sitemap><loc>https://example.com/s</loc></sitemap>" * 250_000 + b"</sitemapindex>", 250_000, 10
    ),
    "entries without a location": (lambda: b"<urlset>" + b"<url/>" * 250_000 + b"</urlset>", 0, 10),
    "line": (lambda: b"https://example.com/" + b"x" * 50 * MB, 0, 220),
    "white space": (lambda: b" " * 50 * MB, 0, 20),
    "white space in a text": (lambda: b"https://example.com/a\n" + b" " * 50 * MB + b"x", 1, 120),
    "line ends": (lambda: b"https://example.com/a" + b"\r\n" * 25 * MB, 1, 120),
    "white space in the root": (lambda: b"<urlset>" + b"\n" * 50 * MB + PAGE + b"</urlset>", 1, 160),
    "location": (lambda: _in_loc(b"x" * 40 * MB), 0, 300),
    "location of dots": (lambda: b"<urlset><url><loc>" + b"../" * 3 * MB + END, 1, 400),
    "location of spaces": (lambda: _in_loc(b" " * 40 * MB + b"x"), 0, 300),
    "location of line ends": (lambda: _in_loc(b"a" + b"\r" * 200_000), 1, 60),
    "location of what is not ASCII": (lambda: _in_loc("é".encode() * 10 * MB), 0, 300),
    "host": (lambda: b"<urlset><url><loc>https://" + b"a." * 10 * MB + END, 0, 300),
    "date and number": (
        lambda: b"<urlset><url><loc>https://example.com/a</loc><lastmod>" + b"2" * 20 * MB + b"</lastmod><priority>" + b"1" * 20 * MB
        + b"</priority></url></urlset>", 1, 300
    ),
    "NULs": (lambda: b"\x00" * 50 * MB, 0, 260),
    "NULs in a location": (lambda: _in_loc(b"\x00" * 5 * MB), 0, 120),
    "bytes that are not valid": (lambda: b"<urlset>" + b"\xff" * 5 * MB + PAGE + b"</urlset>", 1, 160),
    "surrogates in UTF-16": (lambda: b"\xff\xfe" + ("<urlset>" + PAGE.decode()).encode("utf-16-le") + b"\x00\xd8" * 5 * MB, 1, 160),
    "names": (lambda: b"<urlset>" + b"".join(b"<n%d/>" % number for number in range(300_000)) + PAGE + b"</urlset>", 1, 120),
    "prefixes": (lambda: b"<urlset>" + b"".join(b"<n%d:x/>" % number for number in range(300_000)) + PAGE + b"</urlset>", 1, 260),
}  # fmt: skip


def _peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _forget_peak() -> None:
    """Begin anew with what is held now, where the system can: to make a bomb may take more than to read it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _read(name: str, *, strict: bool) -> dict[str, float]:
    """Read a document, and return what came of it."""
    from sitemapcrawl.protocol.errors import ParseError
    from sitemapcrawl.protocol.reader import read
    from sitemapcrawl.protocol.records import Page, SitemapEntry

    body = DOCUMENTS[name][0]()
    _forget_peak()
    before = _peak()
    pages = parse_errors = 0
    try:
        for batch in read(body, URL, strict).batches():
            pages += sum(isinstance(record, Page | SitemapEntry) for record in batch)
            parse_errors += sum(isinstance(record, ParseError) for record in batch)
    except ParseError:
        parse_errors += 1
    return {"pages": pages, "parse_errors": parse_errors, "megabytes": _peak() - before}


def main() -> None:
    """Read the documents that are named on standard input, each in a child of its own, which begins with little memory."""
    import sitemapcrawl.protocol.reader  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if not child:
            name, strict = json.loads(line)
            print(json.dumps(_read(name, strict=strict)), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


@pytest.fixture(scope="module")
def reader() -> Iterator[subprocess.Popen[str]]:
    """The program; to start it for each document would take longer than to read most of them."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-W", "error", __file__], env=os.environ | {"PYTHONPATH": path}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        yield process
        process.communicate()


def run(reader: subprocess.Popen[str], name: str, *, strict: bool) -> dict[str, float]:
    assert reader.stdin is not None
    assert reader.stdout is not None
    print(json.dumps([name, strict]), file=reader.stdin, flush=True)
    result: dict[str, float] = json.loads(reader.stdout.readline())
    assert "status" not in result, result
    return result


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_documents_are_read_to_an_end_in_bounded_memory(reader: subprocess.Popen[str], name: str) -> None:
    _, pages, megabytes = DOCUMENTS[name]
    result = run(reader, name, strict=False)
    assert result["pages"] == pages
    assert result["parse_errors"] <= 1
    assert result["megabytes"] <= megabytes


STRICT = (
    "entities in an attribute",
    "nested elements",
    "many children",
    "many ampersands in a location",
    "many less-thans",
    "location",
)


@pytest.mark.parametrize("name", STRICT)
def test_strict_mode_withstands_them_as_well(reader: subprocess.Popen[str], name: str) -> None:
    result = run(reader, name, strict=True)
    assert result["pages"] <= DOCUMENTS[name][1]
    assert result["megabytes"] <= DOCUMENTS[name][2]


@pytest.mark.parametrize("inner", [b"&" * 500_000, b"<b>" * 100_000, b"</b>" * 500_000], ids=["ampersands", "tags", "end-tags"])
def test_strict_mode_stops_at_the_first_fault_behind_a_document_type(inner: bytes) -> None:
    from sitemapcrawl.protocol.errors import ParseError
    from sitemapcrawl.protocol.reader import read

    with pytest.raises(ParseError, match="not well-formed"):
        read(b"<!DOCTYPE urlset [<!ENTITY a 'b'>]>" + _in_loc(inner), URL, strict=True)


if __name__ == "__main__":
    main()
