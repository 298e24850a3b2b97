"""What goes for all tests."""

from __future__ import annotations

import signal

# Where the tests are started in the background, SIGINT is ignored, and their children would inherit that: a test that
# interrupts one would wait for ever. A handler is not inherited, and leaves them the default.
signal.signal(signal.SIGINT, signal.default_int_handler)
