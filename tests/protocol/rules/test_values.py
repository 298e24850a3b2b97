"""Numbers, and how a value that cannot be read is told."""

from __future__ import annotations

import pytest

from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.rules.values import ValueReader, parse_decimal, parse_whole, quote


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.5", 0.5), ("1", 1.0), (".5", 0.5), ("5.", 5.0), ("-0.1", -0.1), ("+1", 1.0), ("1e-1", 0.1), ("007", 7.0), ("", 0.0)],
)
def test_decimals(text: str, expected: float) -> None:
    assert parse_decimal(text) == expected


# Python's float() and int() read most of these.
NO_NUMBERS = [
    "nan",
    "NaN",
    "inf",
    "Infinity",
    "-Infinity",
    "0x1p-2",
    "1_0",
    "٠.٥",
    "0,5",
    "80%",
    "1 0",
    "high",
    "--1",
    ".",
    "e5",
    "1e",
    "0.5\x00",
]


@pytest.mark.parametrize("text", [*NO_NUMBERS, "1e400", "1e99999", "1" * 201])
def test_no_decimals(text: str) -> None:
    with pytest.raises(ValueError):
        parse_decimal(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("600", 600), ("-5", -5), ("+5", 5), ("007", 7), ("", 0), ("9" * 18, 10**18 - 1)]
)
def test_whole_numbers(text: str, expected: int) -> None:
    assert parse_whole(text) == expected


@pytest.mark.parametrize("text", [*NO_NUMBERS, "1.0", "1e3", "9" * 19, "9" * 5_000])
def test_no_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError):
        parse_whole(text)


def test_what_is_missing_or_empty() -> None:
    reader = ValueReader("https://example.com/")
    assert [reader.date("lastmod", None), reader.date("lastmod", "")] == [None, None]
    assert [reader.decimal("priority", None), reader.decimal("priority", "")] == [None, 0.0]
    assert [reader.whole("video:duration", None), reader.whole("video:duration", "")] == [None, 0]
    assert reader.errors == []


def test_a_value_that_cannot_be_read_is_none_and_an_error_of_its_own() -> None:
    reader = ValueReader("https://example.com/")
    assert [reader.date("lastmod", "soon"), reader.decimal("priority", "high"), reader.whole("video:duration", "1:30")] == [
        None
    ] * 3
    assert [(error.url, error.message) for error in reader.errors] == [
        ("https://example.com/", "invalid <lastmod> value 'soon'"),
        ("https://example.com/", "invalid <priority> value 'high'"),
        ("https://example.com/", "invalid <video:duration> value '1:30'"),
    ]
    assert all(isinstance(error, ValidationError) for error in reader.errors)


def test_a_long_value_is_cut_in_a_message() -> None:
    assert quote("a" * 200) == repr("a" * 200)
    assert quote("a" * 1_000_000) == repr("a" * 200) + "…"
