"""Gzip: the content of all members of a file, under a bound on what comes out.

Source: RFC 1952. Damaged content is an error, where :func:`scrapy.utils.gz.gunzip` returns what it could unpack.
"""

from __future__ import annotations

import re
import zlib
from io import BytesIO

_MAGIC = b"\x1f\x8b"
_MAX_LAYERS = 2
_GZIP = 16 + zlib.MAX_WBITS  # makes zlib read the header, and check the length and the checksum of a member

# Bytes. A member's first slice of input is small, since zlib copies what follows the member out of it: a file of a
# million empty members would be copied a million times.
_FIRST_SLICE = 1_024
_MAX_SLICE = 262_144
_MAX_OUTPUT = 1_048_576

_skip_zeros = re.compile(rb"\x00*").match


class DamagedError(ValueError):
    """Content that cannot be unpacked to its end."""


class TooLargeError(ValueError):
    """Content of more bytes than are wanted; ``max_size`` says how many are."""

    def __init__(self, max_size: int) -> None:
        super().__init__(f"decompressed content has more than {max_size} bytes")
        self.max_size = max_size


def is_gzip(data: bytes) -> bool:
    """Tell by its first two bytes whether *data* is a gzip file; no document begins with these.

    >>> is_gzip(b"<urlset/>")
    False
    """
    return data[:2] == _MAGIC


def gunzip(data: bytes, max_size: int | None) -> bytes:
    """Return the content of all members of the gzip file *data*; of gzip within gzip, that of the inner one.

    What follows the last member and is no member is ignored. Raises :exc:`DamagedError` if a member is cut off, does
    not have the checksum or length it says, or is no gzip otherwise; :exc:`TooLargeError` as soon as there are more
    than *max_size* bytes (``None``: as many as there are), in either layer.

    >>> import gzip
    >>> gunzip(gzip.compress(b"<urlset") + gzip.compress(b"/>") + b"\\n", max_size=100)
    b'<urlset/>'
    """
    for _ in range(_MAX_LAYERS):
        output = BytesIO()
        _unpack(data, output, max_size, salvage=False)
        # The buffer is handed over, not copied.
        data = output.getvalue()
        if not is_gzip(data):
            break
    return data


def gunzip_partial(data: bytes, max_size: int | None) -> tuple[bytes, str | None]:
    """Return what of the gzip file *data* can be unpacked, and a message about what kept the rest from it, if any.

    Like :func:`gunzip`, but what was unpacked up to the damage, or up to *max_size* bytes, is returned.
    """
    message = None
    for _ in range(_MAX_LAYERS):
        output = BytesIO()
        try:
            _unpack(data, output, max_size, salvage=True)
        except (DamagedError, TooLargeError) as error:
            message = message or str(error)
        data = output.getvalue()
        if not is_gzip(data):
            break
    return data, message


def _unpack(data: bytes, output: BytesIO, max_size: int | None, *, salvage: bool) -> None:
    """Write the content of all members of *data* to *output*, at most *max_size* bytes of it."""
    view = memoryview(data)
    position = 0
    while True:
        position = _unpack_member(view, position, output, max_size, salvage=salvage)
        if data[position : position + 2] == _MAGIC:
            continue
        # Members may be padded with zeros, to the block size of a tape for one.
        padding = _skip_zeros(data, position)
        position = padding.end() if padding else position
        if data[position : position + 2] != _MAGIC:
            return


def _unpack_member(view: memoryview, position: int, output: BytesIO, max_size: int | None, *, salvage: bool) -> int:
    """Write the content of the member at *position* to *output* and return the position after it."""
    member = zlib.decompressobj(_GZIP)
    size = _FIRST_SLICE
    pending: bytes | memoryview = b""
    filled = False  # zlib holds back output when it could fill what it was given
    while not member.eof:
        if not pending and not filled:
            pending = view[position : position + size]
            if not pending:
                raise DamagedError("gzip decompression failed: unexpected end of file")
            position += len(pending)
            size = min(size * 4, _MAX_SLICE)
        room = _MAX_OUTPUT if max_size is None else min(_MAX_OUTPUT, max_size - output.tell() + 1)
        before = member.copy() if salvage else None
        try:
            unpacked = member.decompress(pending, room)
        except zlib.error as error:
            if before:
                _salvage(before, pending, output, max_size)
            raise DamagedError(f"gzip decompression failed: {_reason(error)}") from None
        if max_size is not None and output.tell() + len(unpacked) > max_size:
            output.write(unpacked[:-1])
            raise TooLargeError(max_size)
        output.write(unpacked)
        filled = len(unpacked) == room
        pending = member.unconsumed_tail
    return position - len(member.unused_data)


def _salvage(member: zlib._Decompress, pending: bytes | memoryview, output: BytesIO, max_size: int | None) -> None:
    """Write what *pending* still yields to *output*: zlib drops what it has unpacked when it meets an error."""
    for index in range(len(pending)):
        try:
            unpacked = member.decompress(pending[index : index + 1])
        except zlib.error:
            return
        if max_size is not None:
            unpacked = unpacked[: max_size - output.tell()]
        output.write(unpacked)


def _reason(error: zlib.error) -> str:
    """Return what is wrong in zlib's words: "Error -3 while decompressing data: incorrect data check"."""
    return str(error).rpartition(": ")[2]
