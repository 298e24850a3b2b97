"""Line and column of an offset in a text. What stands at the offset is the affair of :mod:`.markup` next door."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n?|\n")


class Lines:
    """The lines of a *text*, which end with LF, CRLF or CR, each counted once.

    >>> Lines("one\\r\\ntwo\\rthree").position(9)
    (3, 1)
    """

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: array[int] | None = None

    @property
    def starts(self) -> array[int]:
        """The offsets at which a line begins, in order; found when they are first asked for."""
        if self._starts is None:
            # 'q': a document of 50 MB may be all line ends, which a list of integers would turn into 1.8 GB.
            self._starts = array("q", [0])
            self._starts.extend(match.end() for match in _LINE_END.finditer(self._text))
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of *offset*, both from 1; columns count code points."""
        starts = self.starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1
