"""Run a command of the project in this process, as ``scrapy`` does: a process of its own takes half a second to start."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BufferedReader, BytesIO, StringIO, TextIOWrapper
from typing import NamedTuple

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings


class Done(NamedTuple):
    """What a command left behind."""

    status: int
    output: str
    errors: str


def command(*arguments: str, stdin: bytes = b"") -> Done:
    """Run ``scrapy`` with *arguments*; the name of the command is the first."""
    output, errors = TextIOWrapper(BytesIO(), "utf-8"), StringIO()
    before, sys.stdin = sys.stdin, TextIOWrapper(BufferedReader(BytesIO(stdin)))  # type: ignore[arg-type]
    try:
        with redirect_stderr(errors), redirect_stdout(output), pytest.raises(SystemExit) as caught:
            execute(["scrapy", *arguments], Settings({"COMMANDS_MODULE": "sitemapcrawl.commands"}))
    finally:
        sys.stdin = before
    output.flush()
    return Done(int(caught.value.code or 0), output.buffer.getvalue().decode(), errors.getvalue())  # type: ignore[attr-defined]
