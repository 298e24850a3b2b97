"""Dates: W3C Datetime and the dates of RFC 822, checked, and kept at the precision at which they are written.

A date of a record is W3C Datetime text. :func:`to_datetime` turns it into a :class:`~datetime.datetime` for whoever
wants one, :func:`from_datetime` is the way back.

Sources: https://www.w3.org/TR/NOTE-datetime, and RFC 822, section 5, with the years of four digits of RFC 1123.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

_TIME = r"(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]))?"

is_plain = re.compile(
    r"[0-9]{4}(?:-(?:"
    rf"(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1[0-9]|2[0-8]){_TIME})?"
    rf"|(?:0[13-9]|1[0-2])-(?:29|30){_TIME}"
    rf"|(?:0[13578]|1[02])-31{_TIME}"
    r"))?"
).fullmatch
"""Tell of a text that it is a W3C Datetime; false of 29 February as well, for which the year has to be looked at."""

# The letters T and Z are capital ones, as the W3C note has them; Atom (RFC 4287, section 3.3) requires that too.
_match_w3c = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?)?)?"
).fullmatch

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS_OF_MONTH: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# RFC 822, section 5.1; the military letters other than Z have their signs wrong there and mean nothing since.
_ZONES: Final = {
    **dict.fromkeys(("UT", "GMT", "UTC", "Z"), "Z"),
    **{"EST": "-05:00", "EDT": "-04:00", "CST": "-06:00", "CDT": "-05:00"},
    **{"MST": "-07:00", "MDT": "-06:00", "PST": "-08:00", "PDT": "-07:00"},
}

# The day of the week is not compared with the date: many feeds have it wrong, and it tells nothing new.
_match_rfc822 = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun),[ \t\r\n]*)?"
    rf"(?P<day>[0-9]{{1,2}})[ \t\r\n]+(?P<month>{'|'.join(_MONTHS)})[ \t\r\n]+(?P<year>[0-9]{{4}}|[0-9]{{2}})[ \t\r\n]+"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?[ \t\r\n]+"
    rf"(?P<zone>[+-][0-9]{{4}}|{'|'.join(_ZONES)})",
    re.IGNORECASE | re.ASCII,
).fullmatch

# The first two-digit year of the last century: 69 is 1969, 68 is 2068.
_PIVOT: Final = 69

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def parse_w3c(text: str) -> str:
    """Return *text*, a W3C Datetime, as it is written.

    The forms are YYYY, YYYY-MM, YYYY-MM-DD, and the last with ``Thh:mm``, ``Thh:mm:ss`` or ``Thh:mm:ss.s…`` and a
    zone, ``Z`` or ±hh:mm. Another form, what the calendar or the clock does not have, and a time without a zone raise
    :exc:`ValueError`.
    """
    if is_plain(text):
        return text
    if fault := fault_w3c(text):
        reason = {
            "format": "is no W3C Datetime",
            "calendar": "is not in the calendar or on the clock",
            "zone": "has a time and no zone",
        }[fault]
        raise ValueError(f"date {_short(text)} {reason}")
    return text


def fault_w3c(text: str) -> str | None:
    """Return what keeps *text* from being a W3C Datetime, ``None`` if nothing does.

    The first of: ``"format"``, none of the forms of :func:`parse_w3c`, the zone aside; ``"calendar"``, a month, day,
    hour, minute, second or offset that there is not; ``"zone"``, a time without a zone.

    >>> fault_w3c("2024-1-5"), fault_w3c("2023-02-29"), fault_w3c("2024-01-15T10:30"), fault_w3c("2024-02-29")
    ('format', 'calendar', 'zone', None)
    """
    match = _match_w3c(text)
    if not match:
        return "format"
    year, month, day, hour, minute, second, _, zone = match.groups()
    if not (_is_day(int(year), int(month or 1), int(day or 1)) and _is_time(hour or "0", minute or "0", second or "0")):
        return "calendar"
    if zone is None:
        return "zone" if hour is not None else None
    if zone != "Z" and not _is_time(zone[1:3], zone[4:6]):
        return "calendar"
    return None


def parse_rfc822(text: str) -> str:
    """Return *text*, a date and time of RFC 822, as a W3C Datetime to the second.

    The day of the week and the seconds may be left out, the year has four digits or two (69 to 99 are 1969 to 1999,
    00 to 68 are 2000 to 2068), the zone is an offset or one of UT, GMT, UTC, Z, EST, EDT, CST, CDT, MST, MDT, PST and
    PDT. The letter case of names makes no difference. Anything else raises :exc:`ValueError`.

    >>> parse_rfc822("Mon, 15 Jan 24 10:30 +0100"), parse_rfc822("15 Jan 2024 10:30:00 EST")
    ('2024-01-15T10:30:00+01:00', '2024-01-15T10:30:00-05:00')
    """
    match = _match_rfc822(text)
    if not match:
        raise ValueError(f"date {_short(text)} is no date and time of RFC 822")
    year, month = int(match["year"]), _MONTHS.index(match["month"].lower()) + 1
    if len(match["year"]) == 2:
        year += 1900 if year >= _PIVOT else 2000
    day, hour, minute, second = match["day"], match["hour"], match["minute"], match["second"] or "00"
    zone = match["zone"].upper()
    if zone in _ZONES:
        zone = _ZONES[zone]
    elif _is_time(zone[1:3], zone[3:]):
        zone = f"{zone[:3]}:{zone[3:]}"
    else:
        raise ValueError(f"date {_short(text)} is not in the calendar or on the clock")
    if not (_is_day(year, month, int(day)) and _is_time(hour, minute, second)):
        raise ValueError(f"date {_short(text)} is not in the calendar or on the clock")
    return f"{year:04}-{month:02}-{day:0>2}T{hour:0>2}:{minute}:{second}{zone}"


def to_datetime(text: str) -> datetime:
    """Return the moment at which *text*, a W3C Datetime, begins, as an aware :class:`~datetime.datetime`.

    A time keeps its offset; without one it is 00:00 UTC of the first day. A fraction is cut after microseconds. What
    lies before the year 1, which only the year 0000 does, is the first moment of the year 1. Raises
    :exc:`ValueError` for anything else than a W3C Datetime.

    >>> to_datetime("2024-02").isoformat()
    '2024-02-01T00:00:00+00:00'
    """
    match = _match_w3c(parse_w3c(text))
    assert match is not None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if year == "0000":
        return _FIRST
    return datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0),
        int(minute or 0),
        int(second or 0),
        int((fraction or "0")[:6].ljust(6, "0")),
        _zone(zone),
    )


def end_of(text: str) -> datetime:
    """Return the moment at which the period that *text*, a W3C Datetime, names has passed.

    For a date that is 24:00 UTC of its day, for a year or a month that of its last day; a time is a moment, and is
    returned as :func:`to_datetime` does. What ends after the year 9999 ends with its last microsecond.

    >>> end_of("2024-02-28").isoformat(), end_of("2024").isoformat()
    ('2024-02-29T00:00:00+00:00', '2025-01-01T00:00:00+00:00')
    """
    start = to_datetime(text)
    if text.startswith("0000") or len(text) > 10:
        return start
    try:
        if len(text) == 10:
            return start + timedelta(days=1)
        if len(text) == 7 and start.month < 12:
            return start.replace(month=start.month + 1)
        return start.replace(year=start.year + 1, month=1)
    except (OverflowError, ValueError):
        return _LAST


def from_datetime(value: datetime | date) -> str:
    """Return *value* as a W3C Datetime: a date as YYYY-MM-DD, a time to the second or, if it has any, microseconds.

    UTC is written ``Z``. A time without a zone raises :exc:`ValueError`, since it could be any.

    >>> from_datetime(datetime(2024, 1, 15, 10, 30, tzinfo=UTC)), from_datetime(date(2024, 1, 15))
    ('2024-01-15T10:30:00Z', '2024-01-15')
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    offset = value.utcoffset()
    if offset is None:
        raise ValueError(f"{value!r} has a time and no zone")
    if offset % timedelta(minutes=1):
        # The local mean times of before 1900: a W3C Datetime has no seconds in its zone.
        value = value.astimezone(timezone(timedelta(minutes=offset // timedelta(minutes=1))))
        offset = value.utcoffset()
    text = value.isoformat()
    return text if offset else text[: -len("+00:00")] + "Z"


def _zone(zone: str | None) -> timezone:
    if zone is None or zone == "Z":
        return UTC
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return timezone(-offset if zone[0] == "-" else offset)


def _is_day(year: int, month: int, day: int) -> bool:
    if not (1 <= month <= 12 and 1 <= day <= _DAYS_OF_MONTH[month - 1]):
        return False
    return month != 2 or day < 29 or (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))


def _is_time(hour: str, minute: str, second: str = "0") -> bool:
    return int(hour) <= 23 and int(minute) <= 59 and int(second) <= 59


def _short(text: str) -> str:
    """Return *text* quoted for a message, cut where it is far too long for a date."""
    return repr(text if len(text) <= 100 else text[:97] + "...")
