"""The project on a Scrapyd: deployed by ``make deploy``, and run by jobs that come over its API."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.crawling import PROXIES, read_records
from tests.mockweb import Answer, MockWeb, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).parents[1]
IN_THE_EGG = ("scrapy.cfg", "setup.py", "pyproject.toml", "Makefile", "README.md", "LICENSE", "settings", "sitemapcrawl")
NAMESPACE = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ROOT = "http://example.com/"
PAGES = {
    ROOT + "robots.txt": f"Sitemap: {ROOT}index.xml\n",
    ROOT + "index.xml": index(*(f"{ROOT}{name}.xml" for name in ("a", "b", "gone"))),
    ROOT + "a.xml": urlset(ROOT + "1", "http://example.org/2").replace("<urlset>", NAMESPACE),
    ROOT + "b.xml": urlset(ROOT + "3", ROOT + "4", ROOT + "5").replace("<urlset>", NAMESPACE),
    ROOT + "slow.xml": index(*(f"{ROOT}slow/{number}.xml" for number in range(200))),
}
SLOW = 0.2  # seconds for each of the 200
CONFIGURATION = """
[scrapyd]
http_port = {port}
bind_address = 127.0.0.1
items_dir = {folder}/items
logs_dir = {folder}/logs
eggs_dir = {folder}/eggs
dbs_dir = {folder}/dbs
jobs_to_keep = 100
max_proc = 2
poll_interval = 0.1
"""


def answer(url: str) -> Answer:
    return Answer(urlset(url + "/page").encode(), delay=SLOW) if "/slow/" in url else Answer(b"not found", 404)


def until(found: Callable[[], Any], seconds: float = 30) -> Any:
    """Return what *found* returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return result


@dataclass
class Scrapyd:
    """A Scrapyd that runs, with its files in *folder* and *web* as the web of its jobs."""

    url: str
    folder: Path
    web: MockWeb

    def get(self, path: str) -> bytes:
        with build_opener(ProxyHandler({})).open(self.url + path, timeout=30) as response:
            return bytes(response.read())

    def call(self, name: str, *fields: tuple[str, str], post: bool = False) -> dict[str, Any]:
        query = urlencode([("project", "sitemapcrawl"), *fields])
        with build_opener(ProxyHandler({})).open(
            f"{self.url}{name}.json" + ("" if post else f"?{query}"), query.encode() if post else None, timeout=30
        ) as response:
            reply: dict[str, Any] = json.load(response)
        assert reply["status"] == "ok", reply
        return reply

    def schedule(self, job: str, *settings: str, **options: str) -> Job:
        """Schedule a job by the name of *job*, with feeds for sitemaps and errors; *settings* are ``NAME=VALUE``."""
        feeds = {name: (self.folder / f"{job}.{name}.jsonl").as_uri() for name in ("sitemaps", "errors")}
        fields = {"spider": "sitemap", "jobid": job, **feeds, **options}
        reply = self.call("schedule", *fields.items(), *(("setting", setting) for setting in settings), post=True)
        assert reply["jobid"] == job
        return Job(self, job)


@dataclass
class Job:
    """A job that was scheduled, and what it leaves behind."""

    scrapyd: Scrapyd
    name: str

    def wait(self) -> Job:
        until(lambda: self.scrapyd.call("status", ("job", self.name))["currstate"] == "finished")
        return self

    def records(self, kind: str) -> list[dict[str, Any]]:
        return read_records(self.scrapyd.folder / f"{self.name}.{kind}.jsonl")

    @property
    def listed(self) -> dict[str, str]:
        """What Scrapyd tells of the job once it has finished: where its log and its items are, and when it ran."""
        return next(job for job in self.scrapyd.call("listjobs")["finished"] if job["id"] == self.name)

    @property
    def items(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.scrapyd.get(self.listed["items_url"].lstrip("/")).splitlines()]

    @property
    def log(self) -> str:
        return self.scrapyd.get(self.listed["log_url"].lstrip("/")).decode()


@contextmanager
def running(folder: Path, web: MockWeb, more: str = "") -> Iterator[Scrapyd]:
    """Run a Scrapyd in *folder*, with *more* in its configuration; it and its jobs are ended with the block."""
    environment = {name: value for name, value in os.environ.items() if name not in PROXIES and not name.startswith("SCRAPY")}
    environment.update(http_proxy=web.address, HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    path = folder / "scrapyd.log"
    # A port that is free may have been taken by another test when Scrapyd is to listen: it ends then, and gets another.
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        (folder / "scrapyd.conf").write_text((CONFIGURATION + more).format(port=port, folder=folder))
        with path.open("wb") as log:
            # A session of its own: its jobs are in it, and would go on without it.
            process = subprocess.Popen(
                [sys.executable, "-m", "scrapyd", "--pidfile="],
                cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            until(lambda: process.poll() is not None or f"Site starting on {port}" in path.read_text())  # noqa: B023
            if process.poll() is None:
                yield Scrapyd(f"http://127.0.0.1:{port}/", folder, web)
                return
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    raise AssertionError(path.read_text())


def copy_project(folder: Path) -> None:
    """Copy what goes into an egg to *folder*, with a version by which a job tells that it runs from there."""
    folder.mkdir()
    for name in IN_THE_EGG:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder)
    module = folder / "sitemapcrawl" / "__init__.py"
    module.write_text(re.sub(r'(__version__ = "[^"]+)"', r'\1+egg"', module.read_text()))


def deploy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in PROXIES and not name.startswith("MAKE")}
    done = subprocess.run(arguments, cwd=folder, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    """A Scrapyd to which the project is deployed."""
    folder = tmp_path_factory.mktemp("scrapyd")
    tree = folder / "tree"
    copy_project(tree)
    # A module that an egg has held, and that is gone by the time of the next.
    gone = tree / "sitemapcrawl" / "gone.py"
    gone.touch()
    deploy(tree, sys.executable, "-m", "scrapyd_client.deploy", "--build-egg", str(folder / "before.egg"))
    gone.unlink()
    with MockWeb(PAGES, answer) as web, running(folder, web) as scrapyd:
        # The stamp is taken for up to date, or make would install into the environment of the tests.
        done = deploy(tree, "make", "deploy", "-o", f"{sys.prefix}/.deploy", f"VENV={sys.prefix}", f"SCRAPYD={scrapyd.url}")
        assert json.loads(done.stdout)["spiders"] == 1
        yield scrapyd


def test_egg_is_deployed_and_holds_what_it_needs(scrapyd: Scrapyd) -> None:
    assert scrapyd.call("listspiders")["spiders"] == ["sitemap"]
    [version] = scrapyd.call("listversions")["versions"]
    with zipfile.ZipFile(scrapyd.folder / "eggs" / "sitemapcrawl" / f"{version}.egg") as egg:
        names = {name for name in egg.namelist() if not name.startswith("EGG-INFO/")}
        assert "settings = settings.scrapyd" in egg.read("EGG-INFO/entry_points.txt").decode()
    source = [file for package in ("settings", "sitemapcrawl") for file in (scrapyd.folder / "tree" / package).rglob("*.*")]
    assert names == {str(file.relative_to(scrapyd.folder / "tree")) for file in source}
    assert "sitemapcrawl/cluster/store.lua" in names


def test_wheel_holds_what_it_needs(tmp_path: Path) -> None:
    copy_project(tmp_path / "tree")
    build = "from setuptools.build_meta import build_wheel; build_wheel('wheel')"
    deploy(tmp_path / "tree", sys.executable, "-W", "ignore", "-c", build)
    [wheel] = (tmp_path / "tree" / "wheel").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = PROJECT / "sitemapcrawl"
    assert names == {str(file.relative_to(PROJECT)) for file in source.rglob("*.*") if file.suffix in {".py", ".lua", ".typed"}}
    assert "sitemapcrawl/cluster/store.lua" in names


def test_job_delivers_pages_sitemaps_errors_and_a_full_log(scrapyd: Scrapyd) -> None:
    job = scrapyd.schedule("whole", url=ROOT + "robots.txt", strict="true").wait()
    # Strict: what is on another host is no page.
    assert sorted(item["loc"] for item in job.items) == [ROOT + page for page in "1345"]
    assert [record["loc"] for record in job.records("sitemaps")] == [f"{ROOT}{name}.xml" for name in ("index", "a", "b", "gone")]
    errors = {error["type"]: error for error in job.records("errors")}
    assert errors.keys() == {"network", "validation"}
    assert errors["network"]["url"] == ROOT + "gone.xml"
    log = job.log
    assert "strict=True" in log
    assert "pages       4" in log
    assert "Traceback" not in log
    # All that Scrapy says of how it was set up, too.
    assert all(part in log for part in ("Versions:", "Overridden settings:", "Spider opened", "'finish_reason': 'finished'"))
    # Nothing listens, and nothing is displayed.
    extensions = log.partition("Enabled extensions:")[2].partition("]")[0]
    assert "Outcome" in extensions
    assert not re.search("TelnetConsole|RemoteControl|Progress", extensions)


def test_job_runs_what_is_in_the_egg(scrapyd: Scrapyd) -> None:
    scrapyd.schedule("egg", url=ROOT + "a.xml").wait()
    asked = [headers["User-Agent"] for headers in scrapyd.web.headers]
    assert asked
    assert all(agent.endswith("+egg") for agent in asked)


def test_settings_come_with_the_job(scrapyd: Scrapyd) -> None:
    timed = scrapyd.schedule("timed", "CLOSESPIDER_TIMEOUT=2", "SITEMAPCRAWL_MAX_CONCURRENCY=2", url=ROOT + "slow.xml")
    limited = scrapyd.schedule("limited", "SITEMAPCRAWL_MAX_URLS=2", "LOG_LEVEL=DEBUG", url=ROOT + "b.xml").wait()
    assert [item["loc"] for item in limited.items] == [ROOT + "3", ROOT + "4"]
    assert [error["limit"] for error in limited.records("errors")] == ["max_urls"]
    assert f"DEBUG: Crawled (200) <GET {ROOT}b.xml>" in limited.log
    timed.wait()
    assert 0 < len(timed.items) < 200
    assert "CLOSESPIDER_TIMEOUT" in timed.records("errors")[-1]["message"]


def test_job_with_wrong_options_names_each_in_its_log(scrapyd: Scrapyd) -> None:
    requested = len(scrapyd.web.requested)
    job = scrapyd.schedule(
        "wrong", "SITEMAPCRAWL_MAX_URLS=many", url=ROOT + "robots.txt", strict="maybe", max_depth="0", no_such="1"
    ).wait()
    assert len(scrapyd.web.requested) == requested
    assert job.listed["items_url"] is None
    messages = [error["message"] for error in job.records("errors") if error["type"] == "config"]
    assert [re.match(r"(?:option|setting) (\w+)", message)[1] for message in messages] == [  # type: ignore[index]
        "no_such", "strict", "max_depth", "SITEMAPCRAWL_MAX_URLS",
    ]  # fmt: skip
    log = job.log
    assert all(message in log for message in messages)
    assert "Traceback" not in log
    assert "Nothing was requested" in log


def test_cancelled_job_delivers_what_it_has(scrapyd: Scrapyd) -> None:
    job = scrapyd.schedule("cancelled", url=ROOT + "slow.xml", max_concurrency="2")
    before = len(scrapyd.web.requested)
    until(lambda: sum("/slow/" in url for url in scrapyd.web.requested[before:]) >= 6)
    assert scrapyd.call("cancel", ("job", "cancelled"), post=True)["prevstate"] == "running"
    job.wait()
    pages = [item["loc"] for item in job.items]
    assert 2 <= len(set(pages)) == len(pages) < 200
    assert len(job.records("sitemaps")) == 200
    [error] = job.records("errors")
    assert (error["type"], error["url"]) == ("parse", ROOT + "slow.xml")
    assert "cut short: it was interrupted" in error["message"]
    log = job.log
    assert f"pages       {len(pages)}" in log
    assert "Cut short: it was interrupted" in log
    assert "Traceback" not in log


def test_cancelled_job_waits_for_no_delay(scrapyd: Scrapyd) -> None:
    job = scrapyd.schedule("delayed", "DOWNLOAD_DELAY=1", "DOWNLOAD_DELAY_JITTER=0", url=ROOT + "slow.xml")
    before = len(scrapyd.web.requested)
    until(lambda: any("/slow/" in url for url in scrapyd.web.requested[before:]))
    assert scrapyd.call("cancel", ("job", "delayed"), post=True)["prevstate"] == "running"
    job.wait()
    # Sixteen wait in the downloader by then.
    assert len(scrapyd.web.requested[before:]) <= 3
    assert len(job.items) == len(scrapyd.web.requested[before:]) - 1
    assert "cut short" in job.records("errors")[-1]["message"]


def test_job_that_was_cancelled_or_killed_goes_on_under_its_name(scrapyd: Scrapyd, tmp_path: Path) -> None:
    shutil.copytree(scrapyd.folder / "eggs", tmp_path / "eggs")
    requested = scrapyd.web.requested

    def begin(again: Scrapyd) -> Job:
        before = len(requested)
        job = again.schedule("job", url=ROOT + "slow.xml", max_concurrency="4")
        until(lambda: sum("/slow/" in url for url in requested[before:]) >= 5)
        return job

    def ended(again: Scrapyd, times: int) -> bool:
        # One that was scheduled is neither pending nor running for a moment.
        return len(again.call("listjobs")["finished"]) == times

    with running(tmp_path, scrapyd.web, "jobs_dir = {folder}/jobs\n") as again:
        job = begin(again)
        again.call("cancel", ("job", "job"), post=True)
        until(lambda: ended(again, 1))
        assert (job.records("errors"), job.records("sitemaps")) == ([], [])
        job = begin(again)
        os.kill(again.call("listjobs")["running"][0]["pid"], signal.SIGKILL)
        until(lambda: ended(again, 2))
        again.schedule("job", url=ROOT + "slow.xml", max_concurrency="0")
        until(lambda: ended(again, 3))
        pages = [item["loc"] for item in job.items]
        assert len(pages) == len(set(pages)) == 200
        assert (job.records("errors"), len(job.records("sitemaps"))) == ([], 200)


def test_page_installs_what_the_egg_needs() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (PROJECT / "docs" / "scrapyd.md").read_text("utf-8")
    assert [name for name in project["dependencies"] if f"'{name}'" not in page] == []
