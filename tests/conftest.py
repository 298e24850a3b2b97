"""What goes for all tests."""

from __future__ import annotations

import signal

# Where the tests are started in the background, SIGINT is ignored, and their children would inherit that: a test that
# interrupts one would wait for ever. A handler is not inherited, and leaves them the default.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: those of a gzip file tell the time, and each process has to know a test by the same name."""
    return argname if isinstance(val, bytes) else None
