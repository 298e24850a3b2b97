"""Workers as processes, on a real Redis: they come and go, are killed and stopped, and every page is there."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.cluster import PATIENCE, PROJECT, Cluster, until
from tests.cluster.redis_server import RedisServer
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.cluster.cluster import Forks, Process

ROOT = "http://example.com/"
START = ROOT + "index.xml"
SITEMAPS, PAGES = 60, 80
SLOW = 8  # every eighth sitemap
SMALL = {"SITEMAPCRAWL_BATCH_SIZE": 10}  # so that a worker is in the middle of a document most of the time


class Web(MockWeb):
    """An index of three indexes, of twenty sitemaps each, and of one that is not there.

    Each sitemap has an entry that is no page. Sitemaps wait at the gate where it is closed; ``let(n)`` lets some pass.
    """

    def __init__(self, *, open: bool = True) -> None:
        super().__init__(answer=self._answer)
        self.is_open = open
        self._permits = threading.Semaphore(0)

    def let(self, count: int = 1) -> None:
        self._permits.release(count)

    def open(self) -> None:
        self.is_open = True
        self._permits.release(1_000)

    def __exit__(self, *args: object) -> None:
        self.open()
        super().__exit__(*args)

    def _answer(self, url: str) -> Answer:
        name = url.removeprefix(ROOT).removesuffix(".xml")
        if name == "index":
            return Answer(index(*(f"/index-{part}.xml" for part in range(3)), "/lost.xml").encode())
        if name.startswith("index-"):
            # The first of them lists some that the others list, too.
            return Answer(index(*(f"/{number}.xml" for number in [*range(int(name[-1]), SITEMAPS, 3), 0, 1])).encode())
        if not name.isdigit():
            return Answer(status=404)
        if not self.is_open:
            self._permits.acquire(timeout=30)
        delay = 0.15 if int(name) % SLOW == 0 else 0.02
        return Answer(urlset(*pages_of(int(name)), f"ftp://example.com/{name}").encode(), delay=delay)


def pages_of(number: int) -> list[str]:
    return [f"{ROOT}{number}/{page}" for page in range(PAGES)]


ALL_PAGES = Counter(location for number in range(SITEMAPS) for location in pages_of(number))
ALL_SITEMAPS = Counter(f"{ROOT}{name}.xml" for name in ("index-0", "index-1", "index-2", "lost", *range(SITEMAPS)))
ALL_ERRORS = Counter([f"ftp://example.com/{number}" for number in range(SITEMAPS)] + [f"{ROOT}lost.xml"])


@pytest.fixture
def chance() -> random.Random:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    return random.Random(seed)


def locations(records: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(record["loc"] for record in records)


def errors_of(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the errors of the latest attempts: of the same that came in several, those of the last."""
    attempts: dict[tuple[str, ...], dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for error in cluster.records("errors"):
        attempts[error["start"], error["type"], error["url"], error["message"]][error["attempt"]].append(error)
    return [error for found in attempts.values() for error in found[max(found)]]


def check_marks(cluster: Cluster) -> None:
    """What comes more than once comes in different attempts; all records say to which start they belong."""
    for kind in ("pages", "sitemaps"):
        records = cluster.records(kind)
        assert {record["start"] for record in records} <= {START}
        again = Counter((record["loc"], record["attempt"]) for record in records)
        assert {found for found, count in again.items() if count > 1} == set()


def check_all_is_there(cluster: Cluster) -> None:
    check_marks(cluster)
    assert locations(cluster.latest()) == ALL_PAGES
    assert locations(cluster.latest("sitemaps")) == ALL_SITEMAPS
    assert Counter(error["url"] for error in errors_of(cluster)) == ALL_ERRORS
    check_nothing_is_kept(cluster)


def check_nothing_is_kept(cluster: Cluster) -> None:
    kept = {"sitemap:totals"}
    if any(process.wait() == -signal.SIGKILL for process in cluster.processes):
        kept |= {"sitemap:workers", "sitemap:tokens"}  # its time may not be over yet
    assert cluster.keys() <= kept


def in_the_middle(cluster: Cluster, process: Process, chance: random.Random) -> None:
    """Wait until *process* has work in its hands, and some time more."""
    pages = chance.randrange(1, 15)
    until(lambda: len(cluster.web.requested) > pages and process.name in cluster.holders(), f"work of {process.name}")  # type: ignore[union-attr]
    threading.Event().wait(chance.uniform(0, 0.1))


@pytest.mark.parametrize("again", [False, True], ids=["for good", "and begun again"])
def test_a_killed_worker_costs_no_page(again: bool, cluster_of: Callable[..., Cluster], chance: random.Random) -> None:
    with Web() as web:
        cluster = cluster_of(web)
        workers = cluster.workers(4, SMALL)
        cluster.push(START)
        victim = chance.choice(workers)
        in_the_middle(cluster, victim, chance)
        victim.kill()
        if again:  # a supervisor begins it again at once, with the same name and the same files
            cluster.worker(victim.name, SMALL)
        cluster.until_done(1)
        statuses = [process.wait() for process in cluster.processes if process is not victim]
        cluster.end()
    assert (victim.wait(), set(statuses)) == (-signal.SIGKILL, {0})
    if again:
        # What was torn is cut off, or the first line of the new process would be glued to it.
        content = (cluster.folder / f"pages-{victim.name}.jsonl").read_bytes()
        assert len(cluster.feed("pages", victim.name)) == content.count(b"\n") == len(content.splitlines())
    check_all_is_there(cluster)


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_pages_and_errors_are_as_many_as_allowed(killed: bool, cluster_of: Callable[..., Cluster], chance: random.Random) -> None:
    most = chance.randrange(SITEMAPS * PAGES // 3, SITEMAPS * PAGES)
    with Web() as web:
        cluster = cluster_of(web)
        cluster.options = {"max_urls": most, "max_validation_errors": 7}
        workers = cluster.workers(4, SMALL)
        cluster.push(START)
        if killed:
            in_the_middle(cluster, workers[0], chance)
            workers[0].kill()
        cluster.until_done(1)
        assert {worker.wait() for worker in workers[killed:]} == {0}
        cluster.end()
    check_marks(cluster)
    pages = locations(cluster.latest())
    assert sum(pages.values()) == len(pages) == most
    assert pages <= ALL_PAGES
    errors = errors_of(cluster)
    assert sum(error["type"] == "validation" for error in errors) == 7
    assert sorted(error["limit"] for error in errors if error["limit"]) == ["max_urls", "max_validation_errors"]
    assert {error["url"] for error in errors if error["limit"]} == {START}
    check_nothing_is_kept(cluster)


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_sitemaps_are_as_many_as_allowed(killed: bool, cluster_of: Callable[..., Cluster], chance: random.Random) -> None:
    with Web() as web:
        cluster = cluster_of(web)
        cluster.options = {"max_sitemaps": 30}
        workers = cluster.workers(4, SMALL)
        cluster.push(START)
        if killed:
            in_the_middle(cluster, workers[0], chance)
            workers[0].kill()
        cluster.until_done(1)
        cluster.end()
        requested = set(web.requested)
    check_marks(cluster)
    assert len(requested - {START}) == 30
    assert sum(locations(cluster.latest("sitemaps")).values()) == len(locations(cluster.latest("sitemaps"))) == 30
    read = {int(url.removeprefix(ROOT)[:-4]) for url in requested if url.removeprefix(ROOT)[:-4].isdigit()}
    assert locations(cluster.latest()) == Counter(location for number in read for location in pages_of(number))
    assert [error["limit"] for error in errors_of(cluster) if error["limit"]] == ["max_sitemaps"]


def test_a_worker_that_is_stopped_by_a_signal_leaves_nothing_behind(
    cluster_of: Callable[..., Cluster], chance: random.Random
) -> None:
    with Web(open=False) as web:
        cluster = cluster_of(web)
        cluster.settings["SITEMAPCRAWL_LEASE"] = 600  # what they held is there for others at once, or never in this test
        cluster.options = {"max_concurrency": 9, "fetch_timeout": 60}
        by_key, by_service, stays = cluster.gather(3, SMALL)
        cluster.push(START)
        until(lambda: cluster.holders() == {"w0", "w1", "w2"}, "work for each")
        web.let(chance.randrange(1, 20))
        by_key.send(signal.SIGINT)
        by_service.send(signal.SIGTERM)
        web.open()
        assert [process.wait() for process in (by_key, by_service)] == [0, 0]
        cluster.until_done(1)
        cluster.end()
        assert stays.wait() == 0
    assert locations(cluster.records("pages")) == ALL_PAGES
    check_all_is_there(cluster)
    assert len(web.requested) == len(set(web.requested))


def test_a_worker_may_come_late(cluster_of: Callable[..., Cluster]) -> None:
    with Web(open=False) as web:
        cluster = cluster_of(web)
        cluster.options = {"max_concurrency": 9, "fetch_timeout": 60}
        cluster.gather(2)
        cluster.push(START)
        until(lambda: cluster.holders() == {"w0", "w1"}, "work for each")
        late = cluster.worker("late")
        late.says("waits for work")

        def has_work() -> bool:
            web.let()
            return "late" in cluster.holders()

        until(has_work, "work for the late one")
        web.open()
        cluster.until_done(1)
        cluster.end()
        assert [process.wait() for process in cluster.processes] == [0, 0, 0]
    assert cluster.feed("pages", late.name)
    check_all_is_there(cluster)


def test_a_worker_that_stood_still_is_replaced_and_goes_on(cluster_of: Callable[..., Cluster], chance: random.Random) -> None:
    with Web() as web:
        cluster = cluster_of(web)
        cluster.settings["MAX_IDLE_TIME_BEFORE_CLOSE"] = 0
        sleeper, other = cluster.workers(2, {**SMALL, "SITEMAPCRAWL_LEASE": 0.5})
        cluster.push(START)
        in_the_middle(cluster, sleeper, chance)
        sleeper.send(signal.SIGSTOP)
        cluster.until_done(1)
        sleeper.send(signal.SIGCONT)
        sleeper.says("Nothing was heard of this worker")
        kept = cluster.keys()
        other.send(signal.SIGTERM)
        assert other.wait() == 0
        cluster.push(ROOT + "7.xml")
        cluster.until_done(2)
        sleeper.send(signal.SIGTERM)
        assert sleeper.wait() == 0
        cluster.end()
    assert kept <= {"sitemap:totals", "sitemap:workers", "sitemap:tokens"}
    more = [page for page in cluster.feed("pages", sleeper.name) if page["start"] == ROOT + "7.xml"]
    assert locations(more) == Counter(pages_of(7))
    for kind in ("pages", "sitemaps", "errors"):  # of the first start
        for name in ("w0", "w1"):
            path = cluster.folder / f"{kind}-{name}.jsonl"
            path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if START in line))
    check_all_is_there(cluster)


def test_workers_go_on_when_redis_comes_back(forks: Forks, tmp_path: Path, chance: random.Random) -> None:
    server = RedisServer(tmp_path, durable=True)
    server.start()
    with Web() as web:
        cluster = Cluster(forks, server.url(), tmp_path, web)
        try:
            workers = cluster.gather(3, SMALL)
            cluster.push(START)
            in_the_middle(cluster, workers[0], chance)
            server.kill()
            until(lambda: any("Redis cannot be used" in worker.log for worker in workers), "the news that Redis is gone")
            server.start()
            cluster.until_done(1)
            cluster.end()
            assert [worker.wait() for worker in workers] == [0, 0, 0]
            check_all_is_there(cluster)
        finally:
            cluster.close()
            server.kill()


class GatedWeb(MockWeb):
    """A web in which some documents do not come before ``gate`` is set."""

    def __init__(self, pages: dict[str, str], *gated: str) -> None:
        super().__init__(pages)
        self.gate = threading.Event()
        self._gated = {ROOT + name for name in gated}

    def _find(self, url: str) -> Answer:
        if url in self._gated:
            self.gate.wait(PATIENCE)
        return super()._find(url)

    def __exit__(self, *args: object) -> None:
        self.gate.set()
        super().__exit__(*args)


def test_what_a_worker_has_done_is_in_its_feeds_and_is_kept_when_it_comes_again(cluster_of: Callable[..., Cluster]) -> None:
    # So little that nothing of it would be written out by itself.
    sitemaps = {f"{ROOT}{number}.xml": urlset(f"/{number}", "ftp://example.com/") for number in range(3)}
    with GatedWeb({START: index(*sitemaps), **sitemaps}, "2.xml") as web:
        cluster = cluster_of(web)
        cluster.options = {"fetch_timeout": 60}
        cluster.push(START)
        first = cluster.worker()
        until(lambda: cluster.redis.hget("sitemap:call:1", "outstanding") == b"1" and len(web.requested) == 4, "all but one")
        first.kill()
        with (cluster.folder / "pages-w0.jsonl").open("ab") as file:
            file.write(b'{"loc":"http://exam')  # as a worker leaves it that is killed while it writes
        web.gate.set()
        assert cluster.worker("w0").wait() == 0
    pages = [(page["loc"].removeprefix(ROOT), page["attempt"]) for page in cluster.feed("pages", "w0")]
    assert (sorted(pages[:2]), pages[2:]) == ([("0", 1), ("1", 1)], [("2", 2)])
    assert sorted(error["attempt"] for error in cluster.feed("errors", "w0")) == [1, 1, 2]
    assert len(web.requested) == 5


def test_a_document_that_takes_down_every_worker_is_given_up(cluster_of: Callable[..., Cluster]) -> None:
    others = {f"{ROOT}{number}.xml": urlset(f"/{number}") for number in range(3)}
    web = GatedWeb(
        {START: index(*others, "/bad.xml"), **others, ROOT + "bad.xml": urlset("/a", "/b", "/poison", "/c")},
        "0.xml",
        "1.xml",
        "2.xml",
    )
    with web:
        cluster = cluster_of(web)
        cluster.options = {"fetch_timeout": 60}
        cluster.settings |= {"SITEMAPCRAWL_MAX_DEATHS": 2, "SITEMAPCRAWL_BATCH_SIZE": 1}
        cluster.settings["ITEM_PIPELINES"] = '{"tests.cluster.pipelines.Poison": 1}'
        cluster.push(START)
        # One after the other: each has all of the documents in its hands when it dies.
        assert [cluster.worker().wait() for _ in range(2)] == [137, 137]
        last = cluster.worker()
        until(lambda: cluster.redis.hget("sitemap:call:1", "outstanding") == b"3", "giving up the one")
        web.gate.set()
        assert last.wait() == 0
    [error] = cluster.records("errors")
    assert (error["type"], error["url"], error["attempt"]) == ("network", ROOT + "bad.xml", 3)
    assert "given up after 2 attempts" in error["message"]
    pages = Counter((page["loc"].removeprefix(ROOT), page["attempt"]) for page in cluster.records("pages"))
    # What was written of the one before the workers died is there or not.
    assert pages - Counter([("a", 1), ("b", 1), ("a", 2), ("b", 2)]) == Counter([("0", 3), ("1", 3), ("2", 3)])


def test_starts_come_from_any_client_and_go_on_whatever_some_are(cluster_of: Callable[..., Cluster]) -> None:
    pages = {ROOT + f"s{number}.xml": urlset(f"/s{number}/1", f"/s{number}/2") for number in range(5)}
    pages |= {ROOT + "robots.txt": f"Sitemap: {ROOT}s0.xml\n", ROOT + "cut.xml": "<urlset><url><loc>/cut</loc></url><url>"}
    with MockWeb(pages) as web:
        cluster = cluster_of(web)
        good = [url for url in pages if "cut" not in url]
        bad = [ROOT + "gone.xml", "no url", "\ufffd\ufffd"]
        cluster.push(*good[:3], "", "# none", ROOT + "gone.xml", b"no url", b"\xff\xfe", *good[3:], ROOT + "cut.xml")
        cluster.settings["STATS_DUMP"] = True
        workers = [cluster.worker(), cluster.worker(feed="csv")]
        cluster.until_done(len(good) + len(bad) + 1)
        statuses = [worker.wait() for worker in workers]
        # It is that of the starts whose ends a worker has delivered.
        for worker, status in zip(workers, statuses, strict=True):
            assert status == ("'sitemapcrawl/starts/failed'" in worker.log)
        cluster.end()
        lines = list(csv.DictReader((cluster.folder / "pages-w1.csv").read_text().splitlines()))
    assert 1 in statuses
    found = [(page["start"], page["loc"], int(page["attempt"])) for page in [*cluster.records("pages"), *lines]]
    expected = [(ROOT + f"s{number}.xml", f"{ROOT}s{number}/{page}", 1) for number in range(5) for page in (1, 2)]
    expected += [(ROOT + "robots.txt", f"{ROOT}s0/{page}", 1) for page in (1, 2)] + [(ROOT + "cut.xml", ROOT + "cut", 1)]
    assert sorted(found) == sorted(expected)
    errors = {error["start"]: error["type"] for error in cluster.records("errors")}
    assert errors == {
        ROOT + "gone.xml": "network",
        "no url": "validation",
        "\ufffd\ufffd": "validation",
        ROOT + "cut.xml": "parse",
    }
    assert (cluster.status().read, cluster.status().failed) == (len(good), len(bad) + 1)


def test_a_worker_makes_way_for_another_of_its_name(cluster_of: Callable[..., Cluster]) -> None:
    with Web(open=False) as web:
        cluster = cluster_of(web)
        # It asks for work more often than it says that it is alive, and must not take the name back then.
        cluster.settings |= {"SITEMAPCRAWL_WORKER": "same", "MAX_IDLE_TIME_BEFORE_CLOSE": 0, "SITEMAPCRAWL_LEASE": 6}
        cluster.options = {"fetch_timeout": 60}
        before = cluster.worker("before")
        cluster.push(START)
        until(lambda: "same" in cluster.holders(), "work for the first")
        after = cluster.worker("after")
        before.says("Another worker has taken the name same")
        web.open()
        cluster.until_done(1)
        assert before.wait() == 1
        assert after.poll() is None
        assert "Another worker" not in after.log
        assert {page["attempt"] for page in cluster.feed("pages", "same")} <= {1, 2}
        after.send(signal.SIGTERM)
        assert after.wait() == 0
        cluster.end()
    cluster.processes = [process for process in cluster.processes if process is before]
    before.name = "same"  # whose files they have both written
    check_all_is_there(cluster)


def test_a_request_that_is_dropped_costs_itself(cluster_of: Callable[..., Cluster]) -> None:
    long = f"{ROOT}{'long' * 20}.xml"
    with MockWeb({START: index("/a.xml", long), ROOT + "a.xml": urlset("/1")}) as web:
        cluster = cluster_of(web)
        cluster.worker(settings={"URLLENGTH_LIMIT": 60})
        cluster.push(START)
        cluster.until_done(1)
        cluster.end()
    assert locations(cluster.records("pages")) == {ROOT + "1": 1}
    assert [(error["url"], error["message"][:23]) for error in cluster.records("errors")] == [(long, "its request was dropped")]
    check_nothing_is_kept(cluster)


def test_what_fails_in_a_way_that_nobody_knows_is_given_up(cluster_of: Callable[..., Cluster]) -> None:
    web = {START: index("/good.xml", "/bad.xml"), ROOT + "good.xml": urlset("/1"), ROOT + "bad.xml": urlset("/2")}
    with MockWeb(web) as server:
        cluster = cluster_of(server)
        worker = cluster.worker(
            settings={"EXTENSIONS": '{"tests.cluster.pipelines.FailsAtTheEnd": 1}', "SITEMAPCRAWL_MAX_DEATHS": 1}
        )
        cluster.push(START)
        assert worker.wait() == 0
    assert locations(cluster.records("pages")) == {ROOT + "1": 1, ROOT + "2": 1}
    [error] = cluster.records("errors")
    assert (error["url"], error["attempt"], error["message"][:8]) == (ROOT + "bad.xml", 2, "given up")
    assert "LookupError: nobody knows" in worker.log
    check_nothing_is_kept(cluster)


# What cannot be had

WRONG: list[tuple[str, list[str], str]] = [
    ("url", ["-a", f"url={ROOT}"], "option url: the workers of a cluster take their starts from Redis"),
    ("urls_file", ["-a", "urls_file=starts.txt"], "option urls_file: the workers"),
    ("content", ["-a", "content=file.xml"], "option content: the workers"),
    ("multi_thread", ["-a", "multi_thread=false"], "option multi_thread: False is wrong"),
    ("sample", ["-a", "sample=5"], "option sample: 5 is wrong"),
    ("lease", ["-s", "SITEMAPCRAWL_LEASE=abc"], "setting SITEMAPCRAWL_LEASE: 'abc' is wrong"),
    ("lease of none", ["-s", "SITEMAPCRAWL_LEASE=0"], "setting SITEMAPCRAWL_LEASE: '0' is wrong"),
    ("deaths", ["-s", "SITEMAPCRAWL_MAX_DEATHS=0"], "setting SITEMAPCRAWL_MAX_DEATHS: '0' is wrong"),
    ("patience", ["-s", "MAX_IDLE_TIME_BEFORE_CLOSE=abc"], "setting MAX_IDLE_TIME_BEFORE_CLOSE: 'abc' is wrong"),
    ("name", ["-s", "SITEMAPCRAWL_WORKER=a/b"], "setting SITEMAPCRAWL_WORKER: 'a/b' is wrong"),
    ("Redis", ["-s", "REDIS_URL=redis://127.0.0.1:1/0"], "setting REDIS_URL: Redis cannot be used: Error 111"),
    ("URL of Redis", ["-s", "REDIS_URL=nonsense"], "setting REDIS_URL: it is no URL of a Redis"),
    ("pages", ["-s", "SPIDER_MODULES=tests.cluster.requests_pages"], "spider sitemap: a cluster delivers pages and does not request them"),
]  # fmt: skip


def test_what_cannot_be_had_is_told_and_ends_the_worker(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(None)
    cluster.push(ROOT)
    earlier = cluster.folder / "pages.jsonl"
    earlier.write_text("of an earlier crawl")
    processes = [cluster.command("crawl", "sitemap", "-O", str(earlier), *arguments, name=name) for name, arguments, _ in WRONG]
    for process, (name, _, message) in zip(processes, WRONG, strict=True):
        assert (name, process.wait()) == (name, 2)
        assert message in process.log
        assert "Traceback" not in process.log
    assert (cluster.status(), earlier.read_text()) == ((0, 1, 0, 0, 0), "of an earlier crawl")


def test_workers_are_told_where_their_pages_would_be_lost(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(None)
    idle = ("-s", "MAX_IDLE_TIME_BEFORE_CLOSE=0.1")
    lost = cluster.command("crawl", "sitemap", *idle)
    shared = cluster.command("crawl", "sitemap", "-o", str(cluster.folder / "pages.jsonl"), *idle)
    right = cluster.worker(settings={"JOBDIR": cluster.folder / "job"})
    assert [process.wait() for process in (lost, shared, right)] == [0, 2, 0]
    assert (
        "There is neither a feed nor a pipeline: pages are counted, not kept. -o 'urls-%(worker)s.jsonl' keeps them." in lost.log
    )
    assert "two workers on a machine would write the same file, expected %(worker)s in its name" in shared.log
    assert "WARNING" not in right.log
    assert "JOBDIR is not used" in right.log
    assert not (cluster.folder / "job").exists()


# The command


def test_starts_are_enqueued(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(None)
    file = cluster.folder / "starts.txt"
    file.write_bytes(b"\xef\xbb\xbfhttp://example.com/1\r\n\n# a comment\nexample.com\n  http://example.com/2 \n\xff\n")
    first = cluster.command("enqueue", str(file))
    assert first.wait() == 1
    assert first.log.splitlines()[-2:] == [
        "2 starts enqueued", "2 starts wait, 0 are under way, 0 read, 0 failed; 0 workers",
    ]  # fmt: skip
    assert "line 4: 'example.com' is left out: " in first.log
    assert "line 6: '\ufffd' is left out: " in first.log
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "enqueue", "-"], input=b"http://example.com/3", cwd=PROJECT,
        env=cluster.environment(), capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode().splitlines() == [
        "1 starts enqueued",
        "3 starts wait, 0 are under way, 0 read, 0 failed; 0 workers",
    ]
    assert cluster.redis.lrange("sitemap:start_urls", 0, -1) == [f"{ROOT}{number}".encode() for number in (1, 2, 3)]

    commands = {
        ("enqueue",): (0, "3 starts wait"),
        ("enqueue", str(cluster.folder / "none.txt")): (2, "none.txt' cannot be read: No such file or directory"),
        ("enqueue", str(cluster.folder)): (2, "cannot be read: Is a directory"),
        ("enqueue", "a", "b"): (2, "expected one FILE at most"),
        ("enqueue", "-s", "REDIS_URL=redis://127.0.0.1:1/0"): (2, "Redis cannot be used: Error 111"),
        ("enqueue", str(file), "-s", "REDIS_URL=redis://127.0.0.1:1/0"): (2, "Redis cannot be used: Error 111"),
        ("enqueue", "-s", "REDIS_URL=nonsense"): (2, "setting REDIS_URL: it is no URL of a Redis"),
        ("enqueue", "--spider", "other"): (0, "0 starts wait"),
    }
    processes = {command: cluster.command(*command) for command in commands}
    for command, (status, text) in commands.items():
        assert (command, processes[command].wait()) == (command, status)
        assert text in processes[command].log
        assert "Traceback" not in processes[command].log
    assert cluster.status().starts == 3
