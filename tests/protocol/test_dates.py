"""Dates: which texts are one, and what moment they name."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from sitemapcrawl.protocol.dates import (
    end_of,
    fault_w3c,
    from_datetime,
    is_plain,
    parse_rfc822,
    parse_w3c,
    to_datetime,
)


@pytest.mark.parametrize(
    "text",
    [
        "2024",
        "0000",
        "2024-01",
        "2024-01-15",
        "2024-02-29",
        "2000-02-29",
        "2024-01-31",
        "2024-04-30",
        "2024-01-15T00:00Z",
        "2024-01-15T10:30+01:00",
        "2024-01-31T23:59:59Z",
        "2024-02-29T10:30:00-23:59",
        "2024-01-15T10:30:00.45+01:00",
        "2024-01-15T10:30:00.1234567890123Z",
        "2024-01-15T10:30:00-00:00",
    ],
)
def test_w3c_datetime_is_returned_as_written(text: str) -> None:
    assert parse_w3c(text) == text
    assert fault_w3c(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "format"),
        ("yesterday", "format"),
        ("20240115", "format"),
        ("2024-1-5", "format"),
        ("24-01-15", "format"),
        ("2024/01/15", "format"),
        ("15.01.2024", "format"),
        ("1700000000", "format"),
        ("2024-01-15 10:30:00", "format"),
        ("2024-01-15 10:30:00Z", "format"),
        ("2024-01-15t10:30:00z", "format"),  # capital letters, says the note
        ("2024-01-15T10:30:00z", "format"),
        ("2024-01-15T", "format"),
        ("2024-01-15Z", "format"),
        ("2024-01-15T10Z", "format"),
        ("2024-01-15T10:30:00.Z", "format"),
        ("2024-01-15T10:30:00,5Z", "format"),
        ("2024-01-15T10:30.5Z", "format"),
        ("2024-01-15T10:30:00+0100", "format"),
        ("2024-01-15T10:30:00+01", "format"),
        ("2024-01-15T10:30:00 +01:00", "format"),
        ("2024-01-15T10:30:00−01:00", "format"),  # a minus sign of its own
        ("-2024-01-15", "format"),
        ("12024-01-15", "format"),
        ("２０２４", "format"),  # digits, but not of ASCII
        ("2024-01-15\n", "format"),
        ("Mon, 15 Jan 2024 10:30:00 GMT", "format"),
        ("2024-13", "calendar"),
        ("2024-00", "calendar"),
        ("2024-00-10", "calendar"),
        ("2024-01-00", "calendar"),
        ("2024-01-32", "calendar"),
        ("2024-04-31", "calendar"),
        ("2023-02-29", "calendar"),
        ("1900-02-29", "calendar"),
        ("2024-02-30T10:00:00", "calendar"),
        ("2024-01-15T24:00:00Z", "calendar"),
        ("2024-01-15T10:60:00Z", "calendar"),
        ("2024-01-15T10:30:60Z", "calendar"),
        ("2024-01-15T10:30:00+24:00", "calendar"),
        ("2024-01-15T10:30:00+01:60", "calendar"),
        ("2024-01-15T10:30", "zone"),
        ("2024-01-15T10:30:00", "zone"),
        ("2024-01-15T10:30:00.5", "zone"),
    ],
)
def test_what_is_no_w3c_datetime(text: str, fault: str) -> None:
    assert fault_w3c(text) == fault
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_w3c(text)


def test_the_short_way_and_the_long_way_agree() -> None:
    days = [f"{year}-{month:02}-{day:02}" for year in (1900, 2023, 2024) for month in range(14) for day in range(34)]
    differing = [day for day in days if bool(is_plain(day)) != (fault_w3c(day) is None)]
    assert differing == ["2024-02-29"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon, 15 Jan 2024 10:30:00 GMT", "2024-01-15T10:30:00Z"),
        ("15 Jan 2024 10:30:00 GMT", "2024-01-15T10:30:00Z"),
        ("Mon, 15 Jan 2024 10:30 GMT", "2024-01-15T10:30:00Z"),
        ("15 Jan 24 10:30 UT", "2024-01-15T10:30:00Z"),
        ("5 Feb 2024 23:45:10 -0800", "2024-02-05T23:45:10-08:00"),
        ("15 Jan 24 10:30 -0330", "2024-01-15T10:30:00-03:30"),
        ("Mon, 15 Jan 2024 10:30:00 +0000", "2024-01-15T10:30:00+00:00"),
        ("Mon,15 Jan 2024 10:30:00 UTC", "2024-01-15T10:30:00Z"),
        ("Mon,  15  Jan\n 2024\t10:30:00  Z", "2024-01-15T10:30:00Z"),
        ("mon, 15 JAN 2024 10:30:00 gmt", "2024-01-15T10:30:00Z"),
        ("Sun, 15 Jan 2024 9:30:00 GMT", "2024-01-15T09:30:00Z"),  # the day of the week is not looked at
        ("1 Jan 68 00:00 GMT", "2068-01-01T00:00:00Z"),
        ("1 Jan 69 00:00 GMT", "1969-01-01T00:00:00Z"),
        ("1 Jan 99 00:00 GMT", "1999-01-01T00:00:00Z"),
        ("1 Jan 00 00:00 GMT", "2000-01-01T00:00:00Z"),
        ("29 Feb 2024 00:00 GMT", "2024-02-29T00:00:00Z"),
        *(
            (f"15 Jan 2024 10:30 {zone}", f"2024-01-15T10:30:00-0{hours}:00")
            for zone, hours in {"EST": 5, "EDT": 4, "CST": 6, "CDT": 5, "MST": 7, "MDT": 6, "PST": 8, "PDT": 7}.items()
        ),
    ],
)
def test_rfc_822_date(text: str, expected: str) -> None:
    assert parse_rfc822(text) == expected
    assert parse_w3c(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024-01-15",
        "2024-01-15T10:30:00Z",
        "15 Jan 2024",
        "15 Jan 2024 10:30:00",
        "Mon 15 Jan 2024 10:30:00 GMT",
        "Monday, 15 Jan 2024 10:30:00 GMT",
        "Mo, 15 Jan 2024 10:30:00 GMT",
        "15 January 2024 10:30:00 GMT",
        "15 Mär 2024 10:30:00 GMT",
        "Jan 15 2024 10:30:00 GMT",
        "15 Jan 124 10:30:00 GMT",
        "115 Jan 2024 10:30:00 GMT",
        "15 Jan 2024 10:3:00 GMT",
        "15 Jan 2024 10:30:00GMT",
        "15 Jan 2024 10:30:00 CET",
        "15 Jan 2024 10:30:00 A",  # a military letter other than Z
        "15 Jan 2024 10:30:00 +01:00",
        "15 Jan 2024 10:30:00 +100",
        "15 Jan 2024 10:30:00 UTC+1",
        "15 Jan 2024 10:30:00 +2400",
        "15 Jan 2024 10:30:00 +0060",
        "31 Feb 2024 10:30:00 GMT",
        "29 Feb 2023 10:30:00 GMT",
        "0 Jan 2024 10:30:00 GMT",
        "15 Jan 2024 24:00:00 GMT",
        "15 Jan 2024 10:60:00 GMT",
        "15 Jan 2024 10:30:60 GMT",
        "１５ Jan 2024 10:30:00 GMT",
        "15\u00a0Jan 2024 10:30:00 GMT",
    ],
)
def test_what_is_no_rfc_822_date(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_rfc822(text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", "2024-01-01T00:00:00+00:00", "2025-01-01T00:00:00+00:00"),
        ("2024-02", "2024-02-01T00:00:00+00:00", "2024-03-01T00:00:00+00:00"),
        ("2024-12", "2024-12-01T00:00:00+00:00", "2025-01-01T00:00:00+00:00"),
        ("2024-02-28", "2024-02-28T00:00:00+00:00", "2024-02-29T00:00:00+00:00"),
        ("2024-01-15T10:30Z", "2024-01-15T10:30:00+00:00", "2024-01-15T10:30:00+00:00"),
        ("2024-01-15T10:30:01.5-03:30", "2024-01-15T10:30:01.500000-03:30", "2024-01-15T10:30:01.500000-03:30"),
        ("2024-01-15T10:30:01.1234567Z", "2024-01-15T10:30:01.123456+00:00", "2024-01-15T10:30:01.123456+00:00"),
        # What Python's datetime has no year for.
        ("0000", "0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+00:00"),
        ("0000-02-29", "0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+00:00"),
        ("9999", "9999-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
        ("9999-12", "9999-12-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
        ("9999-12-31", "9999-12-31T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
        ("9999-12-31T23:59-23:59", "9999-12-31T23:59:00-23:59", "9999-12-31T23:59:00-23:59"),
        ("0001-01-01T00:00+23:59", "0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00+23:59"),
    ],
)
def test_moments(text: str, start: str, end: str) -> None:
    assert to_datetime(text).isoformat() == start
    assert end_of(text).isoformat() == end
    # The linter compares: neither end of time may be in the way of that.
    assert (to_datetime(text) < datetime.now(UTC)) == (text < "2026")


@pytest.mark.parametrize("text", ["", "2024-02-30", "2024-01-15T10:30", "Mon, 15 Jan 2024 10:30:00 GMT"])
def test_what_is_no_date_has_no_moment(text: str) -> None:
    for function in (to_datetime, end_of):
        with pytest.raises(ValueError, match="date"):
            function(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2024, 1, 15), "2024-01-15"),
        (datetime(2024, 1, 15, 10, 30, tzinfo=UTC), "2024-01-15T10:30:00Z"),
        (datetime(2024, 1, 15, 10, 30, 0, 45, tzinfo=UTC), "2024-01-15T10:30:00.000045Z"),
        (datetime(24, 1, 5, tzinfo=timezone(timedelta(hours=-3, minutes=-30))), "0024-01-05T00:00:00-03:30"),
        (datetime(1880, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32))), "1879-12-31T23:59:28+00:19"),
        (datetime(1880, 1, 1, tzinfo=timezone(timedelta(seconds=30))), "1879-12-31T23:59:30Z"),
    ],
)
def test_from_datetime(value: date, expected: str) -> None:
    assert from_datetime(value) == expected
    assert parse_w3c(expected) == expected


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        from_datetime(datetime(2024, 1, 15, 10, 30))


@pytest.mark.parametrize(
    "text",
    ["2" * 5_000_000, "2024-01-15T10:30:00." + "1" * 5_000_000, "Mon," + " " * 5_000_000, "15 Jan 2024" + " " * 5_000_000],
    ids=["digits", "fraction", "blanks", "blanks after a date"],
)
def test_megabytes_make_a_short_message(text: str) -> None:
    for function in (parse_w3c, parse_rfc822):
        with pytest.raises(ValueError, match="date") as caught:
            function(text)
        assert len(str(caught.value)) < 200
