"""Gzip: every member, nothing but members, and no more than is wanted."""

from __future__ import annotations

import gzip
import os
import tracemalloc

import pytest

from sitemapcrawl.protocol.compression import DamagedError, TooLargeError, gunzip, gunzip_partial, is_gzip

DOCUMENT = b"<urlset>" + b"<url/>" * 1000 + b"</urlset>"
MEMBER = gzip.compress(DOCUMENT, mtime=0)
EMPTY = gzip.compress(b"", mtime=0)
NAMED = MEMBER[:3] + b"\x08" + MEMBER[4:10] + b"sitemap.xml\x00" + MEMBER[10:]


@pytest.mark.parametrize(
    ("data", "expected"),
    [(MEMBER, True), (b"\x1f\x8b", True), (b"\x1f", False), (b"", False), (b"<urlset/>", False), (b"PK\x03\x04", False)],
)
def test_is_gzip(data: bytes, expected: bool) -> None:
    assert is_gzip(data) is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MEMBER, DOCUMENT),
        (EMPTY, b""),
        (NAMED, DOCUMENT),
        (MEMBER + MEMBER, DOCUMENT * 2),
        (EMPTY + MEMBER + EMPTY, DOCUMENT),
        (MEMBER + b"\n", DOCUMENT),
        (MEMBER + b"\x00" * 1000, DOCUMENT),
        (MEMBER + b"<!-- generated -->", DOCUMENT),
        (MEMBER + b"\x1f", DOCUMENT),
        (MEMBER + b"\n" + MEMBER, DOCUMENT),  # a stray line ends the file
        (MEMBER + b"\x00" * 500 + MEMBER, DOCUMENT * 2),  # padding does not
        (gzip.compress(MEMBER), DOCUMENT),
        (gzip.compress(MEMBER + MEMBER) + b"\n", DOCUMENT * 2),
        (gzip.compress(gzip.compress(MEMBER)), MEMBER),  # two layers at most
    ],
    ids=[
        "one member",
        "empty",
        "with a file name",
        "two members",
        "empty members around",
        "newline",
        "zeros",
        "comment",
        "half a magic",
        "member after a newline",
        "member after zeros",
        "two layers",
        "two layers, two members",
        "three layers",
    ],
)
def test_content_is_that_of_all_members(data: bytes, expected: bytes) -> None:
    assert gunzip(data, None) == expected
    assert gunzip(data, len(expected) + len(MEMBER)) == expected
    assert gunzip_partial(data, None) == (expected, None)


@pytest.mark.parametrize("size", [0, 1, 1_048_575, 1_048_576, 1_048_577, 3_000_000])
@pytest.mark.parametrize("fill", ["zeros", "noise"])
def test_sizes_around_those_of_the_steps(size: int, fill: str) -> None:
    document = b"<" + (bytes(size) if fill == "zeros" else os.urandom(size))
    assert gunzip(gzip.compress(document, 1), len(document)) == document


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (MEMBER[:-1], "unexpected end of file"),
        (MEMBER[:-8], "unexpected end of file"),
        (MEMBER[:30], "unexpected end of file"),
        (MEMBER[:5], "unexpected end of file"),
        (MEMBER[:2], "unexpected end of file"),
        (MEMBER + MEMBER[:-3], "unexpected end of file"),
        (MEMBER + b"\x1f\x8b", "unexpected end of file"),
        (MEMBER[:-8] + b"\x00\x00\x00\x00" + MEMBER[-4:], "incorrect data check"),
        (MEMBER[:-4] + b"\x00\x00\x00\x00", "incorrect length check"),
        (MEMBER[:2] + b"\x09" + MEMBER[3:], "unknown compression method"),
        (MEMBER[:12] + b"\xff\xff\xff\xff" + MEMBER[16:], ""),
        (gzip.compress(MEMBER[:-1]), "unexpected end of file"),
    ],
)
def test_damaged_content_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(DamagedError) as caught:
        gunzip(data, None)
    assert str(caught.value).startswith("gzip decompression failed: ")
    assert words in str(caught.value)
    assert gunzip_partial(data, None)[1] == str(caught.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MEMBER[:-1], DOCUMENT),
        (MEMBER[:-8] + b"\x00" * 8, DOCUMENT),
        (MEMBER + MEMBER[:-4] + b"\x00" * 4, DOCUMENT * 2),
        (MEMBER[:2], b""),
        (gzip.compress(MEMBER[:-1]), DOCUMENT),
    ],
)
def test_what_could_be_unpacked_of_it(data: bytes, expected: bytes) -> None:
    unpacked, message = gunzip_partial(data, None)
    assert unpacked == expected
    assert message


def test_what_stands_before_the_damage() -> None:
    document = b"".join(b"<url><loc>https://example.com/%d</loc></url>" % number for number in range(100_000))
    data = bytearray(gzip.compress(document))
    middle = len(data) // 2
    data[middle : middle + 64] = b"\xff" * 64
    unpacked, message = gunzip_partial(bytes(data), None)
    assert message
    # How much garbage follows depends on when zlib notices: at the latest by the checksum.
    assert unpacked[: len(document) // 3] == document[: len(document) // 3]


@pytest.mark.parametrize(
    "data", [MEMBER, EMPTY + MEMBER, gzip.compress(DOCUMENT[:100]) + gzip.compress(DOCUMENT[100:]), gzip.compress(MEMBER)]
)
def test_the_limit_is_on_all_members_together(data: bytes) -> None:
    assert gunzip(data, len(DOCUMENT)) == DOCUMENT
    with pytest.raises(TooLargeError, match=str(len(DOCUMENT) - 1)) as caught:
        gunzip(data, len(DOCUMENT) - 1)
    assert caught.value.max_size == len(DOCUMENT) - 1
    assert gunzip_partial(data, len(DOCUMENT) - 1) == (DOCUMENT[:-1], str(caught.value))


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(200_000_000), 9)
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            gunzip(bomb, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_one_copy_of_the_content_is_held() -> None:
    document = b"<url>" * 4_000_000
    data = gzip.compress(document)
    tracemalloc.start()
    try:
        assert len(gunzip(data, 50_000_000)) == len(document)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.4 * len(document)


def test_a_hundred_thousand_members() -> None:
    assert gunzip(EMPTY * 100_000 + MEMBER, 100_000) == DOCUMENT
    assert gunzip_partial(EMPTY * 10_000 + MEMBER, 100_000) == (DOCUMENT, None)
