"""What the linter finds, and how findings are put into the order of the document without holding many of them."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from sitemapcrawl.protocol.lint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapcrawl.protocol.lines import Lines

    _Text = tuple[str, str, str, str | None]

_MAX_VALUE: Final = 200  # characters
_MAX_KINDS: Final = 50_000  # different texts that are remembered while they wait
_CHUNK: Final = 8_192


class Finding(NamedTuple):
    """A rule that is broken: where (from 1), which, how bad that is, a sentence about it, and the value it is about."""

    line: int
    column: int
    rule: str
    severity: str
    message: str
    value: str | None = None


class Found(NamedTuple):
    """A finding on its way: at an offset of the text, not yet at a line and column."""

    offset: int
    rule: str
    message: str
    value: str | None = None


class Collector:
    """Takes findings as they are found, and gives them back in the order of offset and rule id.

    An entry tells at its end what it lacks at its beginning, so findings wait until their entry has been read. An entry
    may have as many as the file has characters: 50 million of them, as objects, would take 15 GB. Here one takes 12 bytes,
    and its text is held once for all that have the same. Where there are too many different ones waiting, further ones
    are told in the words of their rule.

    *marks* are findings that are known beforehand, in their order; they are merged in. Where forbidden characters are
    passed over, from ``end`` on, is set when it is known.
    """

    def __init__(self, lines: Lines, marks: Iterator[Found]) -> None:
        self.end: int | None = None
        self._lines = lines
        self._marks = marks
        self._mark: Found | None = next(marks, None)
        self._offsets = array("q")
        self._kinds = array("i")
        self._table: list[_Text] = []
        self._numbers: dict[tuple[str, str, str | None], int] = {}

    def __bool__(self) -> bool:
        return bool(self._offsets)

    def add(self, offset: int, rule: str, message: str, value: str | None = None) -> None:
        """Take a finding at *offset*."""
        kind = rule, message, value
        number = self._numbers.get(kind)
        if number is None:
            number = self._number(kind)
        offsets = self._offsets
        if not offsets or offset > offsets[-1]:
            offsets.append(offset)
            self._kinds.append(number)
            return
        position = bisect_right(offsets, offset)
        while position and offsets[position - 1] == offset and self._table[self._kinds[position - 1]][0] > rule:
            position -= 1
        offsets.insert(position, offset)
        self._kinds.insert(position, number)

    def _number(self, kind: tuple[str, str, str | None]) -> int:
        if len(self._table) >= _MAX_KINDS:
            kind = kind[0], RULES[kind[0]].summary, None
            if kind in self._numbers:
                return self._numbers[kind]
        number = self._numbers[kind] = len(self._table)
        self._table.append(_text_of(*kind))
        return number

    def take(self, *, is_last: bool = False) -> Iterator[Finding]:
        """Yield what was found since the last time, and the marks before the last of it."""
        offsets, kinds, table = self._offsets, self._kinds, self._table
        # What is found while this generator is suspended goes into new containers.
        self._offsets, self._kinds, self._table, self._numbers = array("q"), array("i"), [], {}
        if not is_last and offsets and table[kinds[-1]][0].startswith("xml-"):
            # A tag that lacks its ">" is told at the "<" of the next one, of which something may be told yet.
            kept = bisect_left(offsets, offsets[-1])
            for offset, number in zip(offsets[kept:], kinds[kept:], strict=True):
                rule, _, message, value = table[number]
                self.add(offset, rule, message, value)
            del offsets[kept:], kinds[kept:]
        for start in range(0, len(offsets), _CHUNK):
            for offset, number in zip(offsets[start : start + _CHUNK], kinds[start : start + _CHUNK], strict=True):
                text = table[number]
                while (mark := self._waiting_mark()) is not None and mark[:2] < (offset, text[0]):
                    self._mark = next(self._marks, None)
                    yield self._finding(mark.offset, _text_of(*mark[1:]))
                yield self._finding(offset, text)

    def rest(self) -> Iterator[Finding]:
        """Yield all that is left, marks included."""
        yield from self.take(is_last=True)
        while (mark := self._waiting_mark()) is not None:
            self._mark = next(self._marks, None)
            yield self._finding(mark.offset, _text_of(*mark[1:]))

    def _waiting_mark(self) -> Found | None:
        """Return the next mark, passing over what stands behind the end."""
        while self._mark is not None and self.end is not None:
            if self._mark.offset < self.end or self._mark.rule != "xml-character":
                break
            self._mark = next(self._marks, None)
        return self._mark

    def _finding(self, offset: int, text: _Text) -> Finding:
        line, column = self._lines.position(offset)
        return Finding(line, column, *text)


def _text_of(rule: str, message: str, value: str | None) -> _Text:
    """Return all of a finding but its place: the message on one line, the value not too long."""
    return rule, RULES[rule].severity, " ".join(message.split()), value and value[:_MAX_VALUE]


def found_at(rule: str, message: str, offsets: Iterable[int]) -> Iterator[Found]:
    """Yield a finding for each of *offsets*."""
    for offset in offsets:
        yield Found(offset, rule, message)
