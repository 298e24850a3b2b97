"""What single values are worth: dates and numbers of entries and of the extensions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from sitemapcrawl.protocol import dates
from sitemapcrawl.protocol.errors import ValidationError
from sitemapcrawl.protocol.limits import CHANGE_FREQUENCIES

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGEFREQS = frozenset(CHANGE_FREQUENCIES)

# Python's float() and int() take more than decimal text: "1_000", "nan", "infinity", digits that are not in ASCII.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
T = TypeVar("T")
_MOST_CHARACTERS = 200  # of a value that a message quotes


def parse_decimal(text: str) -> float:
    """Return the number that *text* gives in decimal digits; an empty one is 0. Raises :exc:`ValueError`."""
    if not text:
        return 0.0
    if len(text) > _MOST_CHARACTERS or not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def parse_whole(text: str) -> int:
    """Return the whole number of at most 18 digits that *text* gives; an empty one is 0. Raises :exc:`ValueError`."""
    if not text:
        return 0
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def quote(value: str) -> str:
    """Return *value* in quotation marks, cut to a length that a message may have."""
    return repr(value) if len(value) <= _MOST_CHARACTERS else repr(value[:_MOST_CHARACTERS]) + "…"


class ValueReader:
    """Reads the values of one page (or sitemap): what cannot be read is ``None``, and an error in ``errors``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.errors: list[ValidationError] = []

    def fault(self, message: str, url: str | None = None) -> None:
        """Record an error about the page, or about another *url*."""
        self.errors.append(ValidationError(url or self.url, message))

    def date(self, element: str, text: str | None, parse: Callable[[str], str] = dates.parse_w3c) -> str | None:
        """Return the date of ``<element>``; none where it is missing or empty."""
        return self._read(element, text, parse) if text else None

    def decimal(self, element: str, text: str | None) -> float | None:
        """Return the number of ``<element>``; 0 where it is empty, as the specification has it."""
        return None if text is None else self._read(element, text, parse_decimal)

    def whole(self, element: str, text: str | None) -> int | None:
        """Return the whole number of ``<element>``; 0 where it is empty, as the specification has it."""
        return None if text is None else self._read(element, text, parse_whole)

    def _read(self, element: str, text: str, parse: Callable[[str], T]) -> T | None:
        try:
            return parse(text)
        except ValueError:
            self.fault(f"invalid <{element}> value {quote(text)}")
            return None
