"""Content encodings: undone to their end, or an error."""

from __future__ import annotations

import gzip
import zlib

import pytest

from tests.crawling import crawl
from tests.mockweb import Answer, MockWeb

ROOT = "http://example.com/"
TEXT = "\n".join(f"http://example.com/{number}" for number in range(500)).encode()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def fetch(body: bytes, encoding: str, **options: str):
    with MockWeb({ROOT: Answer(body, headers={"Content-Encoding": encoding})}) as web:
        return crawl(web, ROOT, {"LOG_LEVEL": "CRITICAL"}, **options)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT), "X-GZip"),
        (gzip.compress(TEXT) + b"\n", "gzip"),
        (gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]), "gzip"),
        (gzip.compress(gzip.compress(TEXT)), "gzip"),  # a .gz file
        (gzip.compress(gzip.compress(TEXT)), "gzip, gzip"),
        (zlib.compress(TEXT), "deflate"),
        (raw_deflate(TEXT), "deflate"),
        (gzip.compress(zlib.compress(TEXT)), "deflate, gzip"),
        (TEXT, "gzip"),  # not true, as the next ones
        (TEXT, "deflate"),
        (TEXT, "gzip, deflate"),
        (TEXT, "identity"),
        (TEXT, "utf-8"),
    ],
)
def test_content_encoding_is_undone(body: bytes, encoding: str) -> None:
    result = fetch(body, encoding)
    assert (len(result.pages), result.errors) == (500, [])


@pytest.mark.parametrize("end", [-1, -20, 40])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw"])
def test_content_encoding_that_is_cut_off_yields_nothing(encoding: str, end: int) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "raw": raw_deflate}[encoding]
    result = fetch(pack(TEXT)[:end], encoding.replace("raw", "deflate"))
    assert (result.pages, len(result.errors), result.exit_status) == ([], 1, 1)
    assert result.errors[0]["type"] == ("parse" if encoding == "raw" else "network")


@pytest.mark.parametrize(("pack", "encoding"), [(gzip.compress, "gzip"), (zlib.compress, "deflate"), (raw_deflate, "deflate")])
@pytest.mark.parametrize(("limit", "errors"), [(len(TEXT), 0), (len(TEXT) - 1, 1)])
def test_limit_is_that_of_what_is_unpacked(pack, encoding: str, limit: int, errors: int) -> None:
    result = fetch(pack(TEXT), encoding, max_response_size=str(limit))
    assert result.problems == [("network", ROOT, "max_response_size")] * errors


@pytest.mark.parametrize(
    ("file", "limit"), [(gzip.compress(TEXT), "max_response_size"), (gzip.compress(TEXT)[:-9], None)], ids=["large", "damaged"]
)
def test_what_is_wrong_with_a_gz_file_is_a_parse_error_whatever_the_encoding(file: bytes, limit: str | None) -> None:
    size = len(TEXT) - 1 if limit else len(TEXT)
    assert fetch(gzip.compress(file), "gzip", max_response_size=str(size)).problems == [("parse", ROOT, limit)]
