"""The rules of single values: dates, change frequencies, numbers."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from sitemapcrawl.protocol.dates import fault_w3c, is_plain, to_datetime
from sitemapcrawl.protocol.limits import CHANGE_FREQUENCIES, MAX_PRIORITY, MIN_PRIORITY
from sitemapcrawl.protocol.lint.context import WHITE_SPACE, Context
from sitemapcrawl.protocol.rules.values import quote

if TYPE_CHECKING:
    from sitemapcrawl.protocol.markup import Element

_FREQUENCIES = frozenset(CHANGE_FREQUENCIES)
_FINE_PRIORITY = re.compile(r"0(?:\.[0-9]{1,9})?|1(?:\.0{1,9})?").fullmatch

# XML Schema 1.1, part 2, section 3.3.3: decimal. Neither an exponent nor a comma.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)").fullmatch
_WHOLE = re.compile(r"[0-9]+").fullmatch


def ascii_lower(text: str) -> str:
    """Return *text* with the letters of ASCII in lower case: ``"K"`` (the Kelvin sign) is none of them."""
    return text.lower() if text.isascii() else re.sub("[A-Z]+", lambda match: match[0].lower(), text)


def is_decimal(text: str) -> bool:
    """Tell whether *text* is a decimal number as XML Schema writes it."""
    return _DECIMAL(text) is not None


def is_within(text: str, least: float, most: float) -> bool:
    """Tell whether the decimal number *text* is from *least* to *most*, however many digits it has."""
    # Not float: 1.00000000000000000001 is above 1.
    return Decimal(str(least)) <= Decimal(text) <= Decimal(str(most))


def is_whole(text: str) -> bool:
    """Tell whether *text* is a whole number of digits alone."""
    return _WHOLE(text) is not None


def is_whole_within(text: str, least: int, most: int) -> bool:
    """Tell whether the whole number *text* is from *least* to *most*, however many digits it has."""
    digits = text.lstrip("0") or "0"
    return len(digits) <= len(str(most)) and least <= int(digits) <= most


def is_date(text: str) -> bool:
    """Tell whether *text* is a date as the extensions want it: YYYY-MM-DD, perhaps with a time and its zone."""
    return len(text) >= 10 and fault_w3c(text) is None


def date_problem(text: str) -> str:
    """Return what is to be said of a *text* that :func:`is_date` refuses."""
    return {
        "calendar": "is not in the calendar or on the clock",
        "zone": "has a time and no zone, such as 'Z' or '+01:00'",
    }.get(fault_w3c(text) or "", "is no date, expected YYYY-MM-DD, perhaps with a time and its zone")


class Values:
    """The rules of ``lastmod``, ``changefreq`` and ``priority``."""

    def __init__(self, context: Context) -> None:
        self._add = context.add
        self._now = context.now
        # Dates that compare as lower texts are past, in whatever zones both are: no two are more than two days apart.
        self._past = "" if context.now.year < 2 else (context.now - timedelta(days=3)).date().isoformat()

    def is_clean_lastmod(self, text: str) -> bool:
        """Tell, truly or falsely, that nothing is to be said of the text of a ``lastmod``."""
        return text < self._past and is_plain(text) is not None

    def lastmod(self, element: Element) -> None:
        text = element.text
        if self.is_clean_lastmod(text):
            return
        date = text.strip(WHITE_SPACE)
        if not date:
            self._empty(element)
            return
        offset, shown = element.offset, quote(date)
        fault = fault_w3c(date)
        if fault == "format":
            message = f"The date {shown} is no W3C Datetime, expected YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ"
        elif fault == "calendar":
            message = f"The date {shown} is not in the calendar or on the clock"
        elif fault == "zone":
            message = f"The date {shown} has a time and no zone, expected 'Z' or an offset such as '+01:00' at its end"
        elif to_datetime(date) > self._now:
            fault, message = "future", f"The date {shown} is in the future"
        else:
            return
        self._add(offset, f"lastmod-{fault}", message, date)

    def changefreq(self, element: Element) -> None:
        if element.text in _FREQUENCIES:
            return
        value = element.text.strip(WHITE_SPACE)
        if not value:
            self._empty(element)
        elif value in _FREQUENCIES:
            pass
        elif ascii_lower(value) in _FREQUENCIES:
            message = f"The change frequency {quote(value)} is not in lower case, expected {ascii_lower(value)!r}"
            self._add(element.offset, "changefreq-case", message, value)
        else:
            message = f"The change frequency {quote(value)} is none of {', '.join(CHANGE_FREQUENCIES)}"
            self._add(element.offset, "changefreq-value", message, value)

    def priority(self, element: Element) -> None:
        if _FINE_PRIORITY(element.text):
            return
        value = element.text.strip(WHITE_SPACE)
        if not value:
            self._empty(element)
        elif not is_decimal(value):
            message = f"The priority {quote(value)} is no decimal number, expected one from 0.0 to 1.0"
            self._add(element.offset, "priority-format", message, value)
        elif not is_within(value, MIN_PRIORITY, MAX_PRIORITY):
            message = f"The priority {quote(value)} is out of range, expected a number from 0.0 to 1.0"
            self._add(element.offset, "priority-range", message, value)

    def _empty(self, element: Element) -> None:
        message = f"The element <{element.name}> is empty, and is read as if it were not there"
        self._add(element.offset, "element-empty", message, "")
