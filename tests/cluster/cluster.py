"""A cluster for a test: real worker processes on a database of a real Redis and a small web."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis

from sitemapcrawl.cluster.store import Status, Store
from tests.crawling import PROXIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.mockweb import MockWeb

PROJECT = Path(__file__).parents[2]
KINDS = ("pages", "sitemaps", "errors")
PATIENCE = 60  # seconds; nothing takes nearly as long, however busy the machine is


def until(found: Callable[[], Any], what: str = "it") -> Any:
    """Return what *found* returns as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while not (result := found()):
        assert time.monotonic() < end, f"{what} takes too long"
        time.sleep(0.01)
    return result


class Forks:
    """Begins processes that run ``scrapy``; see :mod:`tests.cluster.forking`."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forking.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip

    def ask(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Process:
    """A process that runs ``scrapy``; what it says goes to the file *log*."""

    def __init__(self, forks: Forks, log: Path, arguments: Iterable[str], environment: dict[str, str]) -> None:
        self._forks = forks
        self._log = log
        self.name = log.stem
        self.pid: int = forks.ask(arguments=list(arguments), environment=environment, log=str(log))
        self._status: int | None = None

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8") if self._log.exists() else ""

    def poll(self) -> int | None:
        if self._status is None:
            self._status = self._forks.ask(wait=self.pid)
        return self._status

    def wait(self) -> int:
        """Return the exit status, once there is one."""
        until(lambda: self.poll() is not None, f"the end of {self.name}")
        assert self._status is not None
        return self._status

    def send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it by ``kill -9``."""
        self.send(signal.SIGKILL)
        self.wait()

    def says(self, text: str) -> None:
        """Wait until its log has *text*."""
        until(lambda: text in self.log or self.poll() is not None, f"{text!r} in the log of {self.name}")
        assert text in self.log, self.log


class Cluster:
    """Workers that share the database *url*, in *folder*; *web* is their web."""

    def __init__(self, forks: Forks, url: str, folder: Path, web: MockWeb | None = None) -> None:
        self._forks = forks
        self.url = url
        self.folder = folder
        self.web = web
        self.redis = redis.Redis.from_url(url)
        self.processes: list[Process] = []
        self.options: dict[str, Any] = {}  # of all workers
        # A worker that has nothing to do ends soon, and one that is gone is soon found out.
        self.settings: dict[str, Any] = {"MAX_IDLE_TIME_BEFORE_CLOSE": 0.2, "SITEMAPCRAWL_LEASE": 1}

    def environment(self, **more: str) -> dict[str, str]:
        found = {name: value for name, value in os.environ.items() if name not in PROXIES and not name.startswith("SCRAPY")}
        found |= {"SCRAPY_PROJECT": "cluster", "REDIS_URL": self.url, **more}
        if self.web is not None:
            found["http_proxy"] = self.web.address
        return found

    def command(self, *arguments: str, name: str | None = None, **more: str) -> Process:
        """Begin ``scrapy`` with *arguments*, and *more* in its environment."""
        name = name or f"command{len(self.processes)}"
        process = Process(self._forks, self.folder / f"{name}.log", arguments, self.environment(**more))
        self.processes.append(process)
        return process

    def arguments(
        self, name: str, settings: dict[str, Any] | None = None, feed: str = "jsonl", options: dict[str, Any] | None = None
    ) -> list[str]:
        """Return the arguments of the worker *name*, which writes ``pages-NAME.jsonl``, and two more feeds."""
        arguments = ["crawl", "sitemap", "-o", str(self.folder / f"pages-%(worker)s.{feed}")]
        given = {kind: str(self.folder / f"{kind}-%(worker)s.jsonl") for kind in KINDS[1:]} | self.options | (options or {})
        for key, value in given.items():
            arguments += ["-a", f"{key}={value}"]
        for key, value in {"SITEMAPCRAWL_WORKER": name, **self.settings, **(settings or {})}.items():
            arguments += ["-s", f"{key}={value}"]
        return arguments

    def worker(self, name: str | None = None, settings: dict[str, Any] | None = None, **more: Any) -> Process:
        """Begin a worker."""
        name = name or f"w{len(self.processes)}"
        return self.command(*self.arguments(name, settings, **more), name=name)

    def workers(self, count: int, settings: dict[str, Any] | None = None) -> list[Process]:
        return [self.worker(settings=settings) for _ in range(count)]

    def gather(self, count: int, settings: dict[str, Any] | None = None) -> list[Process]:
        """Begin *count* workers that wait until they are stopped, and return when all are there.

        Work is for those that are there: one alone takes as much as a start may have under way.
        """
        self.settings["MAX_IDLE_TIME_BEFORE_CLOSE"] = 0
        found = self.workers(count, settings)
        until(lambda: self.status().workers == count, "the workers")
        return found

    def push(self, *starts: str | bytes) -> None:
        """Push *starts* as any client of Redis may."""
        self.redis.rpush("sitemap:start_urls", *starts)

    def status(self) -> Status:
        return Store(self.redis, "sitemap", "sitemap:start_urls").status()

    def until_done(self, starts: int) -> None:
        """Wait until so many starts have come to their end."""

        def done() -> bool:
            status = self.status()
            return status.read + status.failed == starts and not status.open_calls

        until(done, "the end of the crawl")

    def holders(self) -> set[str]:
        """Return the names of the workers that hold documents."""
        return {key.decode().rpartition(":")[2] for key in self.redis.scan_iter("sitemap:held:*")}

    # What they leave behind

    def feed(self, kind: str, name: str) -> list[dict[str, Any]]:
        """Return the records in a feed of the worker *name*; only its last line may be torn."""
        path = self.folder / f"{kind}-{name}.jsonl"
        if not path.exists():
            return []
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records in the feeds of all workers."""
        names = dict.fromkeys(process.name for process in self.processes)
        return [record for name in names for record in self.feed(kind, name)]

    def latest(self, kind: str = "pages") -> list[dict[str, Any]]:
        """Return what a reader is to take of the records of all workers: of each document those of its latest attempt."""
        return list(latest(self.records(kind)))

    def keys(self) -> set[str]:
        return {key.decode() for key in self.redis.scan_iter()}

    def end(self) -> None:
        """Have the workers end, and look at what they have said."""
        for process in self.processes:
            process.send(signal.SIGCONT)
            process.send(signal.SIGTERM)
        for process in self.processes:
            process.wait()
            assert "Traceback" not in process.log, process.log

    def close(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                process.kill()
        self.redis.close()


def latest(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records of the latest attempt at each document of each start."""
    attempts: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        attempts[record["start"], record.get("sitemap", "")][record["attempt"]].append(record)
    for found in attempts.values():
        yield from found[max(found)]
