"""``scrapy build``: what it reads, what it refuses, and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sitemapcrawl.exporters.records import RecordCsvExporter
from sitemapcrawl.protocol.errors import SitemapError
from sitemapcrawl.protocol.lint import lint
from sitemapcrawl.protocol.reader import read
from sitemapcrawl.protocol.records import Alternate, Image, News, Page, Publication, Relation, Uploader, Video, set_fields
from tests.commanding import Done, command
from tests.crawling import crawl

ROOT = Path(__file__).resolve().parents[2]
BASE = "https://example.com/"
BUILD = [sys.executable, "-c", "from scrapy.cmdline import execute; execute()", "build"]

VIDEO = Video(
    f"{BASE}t.jpg", "T", "D", f"{BASE}v.mp4", f"{BASE}p?a&b", 600, "2030-01-01", 4.5, 7, "2024-01-01T00:00:00Z", "yes",
    Relation("allow", "DE AT"), Relation("deny", "tv"), "no", Uploader(f"{BASE}u", "U & Co"), "no", ["a", "b"],
)  # fmt: skip
KINDS = [
    Page(f"{BASE}plain"),
    Page(f"{BASE}all?a=1&b=2", "2024-02-29T10:30:00+01:00", "daily", 0.3),
    Page(f"{BASE}image", images=[Image(f"{BASE}i.png", 'The "<T>"', "C", "Here", f"{BASE}l")]),
    Page(f"{BASE}news", news=News(Publication("The N", "en"), "2024-01-01", "T, with a comma\nand a line")),
    Page(f"{BASE}video", videos=[VIDEO, VIDEO]),
    Page(f"{BASE}links", alternates=[Alternate("alternate", "en", f"{BASE}links"), Alternate("alternate", "x-default", BASE)]),
]


def run(*arguments: str, stdin: bytes = b"") -> Done:
    """Run the command in this process."""
    done = command("build", *arguments, stdin=stdin)
    assert not done.output or done.status == 2  # the usage
    return done


def build(*arguments: Any, stdin: bytes = b"") -> Done:
    """Run the command; the folder is the first argument."""
    folder, *rest = map(str, arguments)
    return run(*rest, "-d", folder, "--base-url", BASE, stdin=stdin)


def built(folder: Path) -> list[Page]:
    """Return the pages of the set, in which neither strict reading nor the linter may find an error."""
    pages: list[Page] = []
    for name in sorted(os.listdir(folder)):
        body = (folder / name).read_bytes()
        found = list(read(body, BASE + name, strict=True))
        assert not [record for record in found if isinstance(record, SitemapError)]
        assert not [finding for finding in lint(body, BASE + name) if finding.severity == "error"]
        pages += [record for record in found if isinstance(record, Page)]
    for page in pages:
        page.sitemap = None
    return pages


def jsonl(path: Path, pages: list[Page]) -> Path:
    path.write_text("".join(json.dumps(set_fields(page)) + "\n" for page in pages))
    return path


# -- Inputs


def test_every_kind_of_record_comes_through_from_json_lines(tmp_path: Path) -> None:
    result = build(tmp_path / "out", jsonl(tmp_path / "urls.jsonl", KINDS))
    assert (result.status, result.errors) == (0, f"6 pages in 1 file: {BASE}sitemap.xml\n")
    assert built(tmp_path / "out") == KINDS


def test_every_kind_of_record_comes_through_from_csv(tmp_path: Path) -> None:
    with (tmp_path / "urls.csv").open("wb") as file:
        exporter = RecordCsvExporter(file)
        exporter.start_exporting()
        for page in KINDS:
            exporter.export_item(page)
        exporter.finish_exporting()
    result = build(tmp_path / "out", tmp_path / "urls.csv")
    assert (result.status, result.errors) == (0, f"6 pages in 1 file: {BASE}sitemap.xml\n")
    assert built(tmp_path / "out") == KINDS


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (f"{BASE}1\r\n\n  {BASE}2  \n", []),
        (f"\ufeff{BASE}1\n{BASE}2", []),
        (f'{{"loc": "{BASE}1", "sitemap": "x", "colour": "green"}}\n\n{{"url": "{BASE}2"}}\n', []),
        (f"url,name\n{BASE}1,One\n{BASE}2,\n", []),
        (f"\ufeffname;loc\nOne;{BASE}1\n\nTwo;{BASE}2\n", []),
        (f"address\n{BASE}1\n{BASE}2\n", ["--format", "csv", "-s", 'SITEMAPCRAWL_SITEMAP_FIELDS={"loc": "address"}']),
    ],
    ids=["list", "byte order mark", "jsonl", "csv", "semicolons", "fields"],
)
def test_standard_input_and_what_it_holds(tmp_path: Path, content: str, options: list[str]) -> None:
    for number, stdin in enumerate((content.encode(), gzip.compress(content.encode()))):
        folder = tmp_path / str(number)
        assert build(folder, "-", *options, stdin=stdin).status == 0
        assert [page.loc for page in built(folder)] == [f"{BASE}1", f"{BASE}2"]


def test_several_inputs_are_one_set(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{BASE}1\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps({"loc": f"{BASE}2"}).encode()))
    result = build(tmp_path / "out", tmp_path / "a.txt", tmp_path / "b.jsonl.gz", "--gzip", "--max-urls", "1", "--name", "all")
    assert result.errors == f"2 pages in 2 files: {BASE}all.xml\n"
    assert sorted(os.listdir(tmp_path / "out")) == ["all-1.xml.gz", "all-2.xml.gz", "all.xml"]
    assert len(built(tmp_path / "out")) == 2


def test_options_reach_the_writer(tmp_path: Path) -> None:
    pages = [Page(f"{BASE}{n}", alternates=[Alternate("alternate", "de" if n else "en", f"{BASE}{1 - n}")]) for n in (0, 1)]
    pages.append(Page("https://other.example/"))
    source = jsonl(tmp_path / "urls.jsonl", pages)
    options = ["--max-bytes", "600", "--stylesheet", "/s.xsl", "--complete-alternates", "--any-location"]
    assert build(tmp_path / "out", source, *options).status == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["sitemap-1.xml", "sitemap-2.xml", "sitemap.xml"]
    first = (tmp_path / "out" / "sitemap-1.xml").read_text()
    assert "xml-stylesheet" in first
    assert first.count("<xhtml:link") == 4


# -- What is refused


def test_what_is_refused_is_listed_with_its_line_and_costs_only_itself(tmp_path: Path) -> None:
    source = tmp_path / "urls.jsonl"
    lines = [
        {"loc": f"{BASE}1"}, "{bad", [1], {"loc": "/relative"}, {"loc": "https://other.example/"}, {"name": "no address"},
        {"loc": f"{BASE}2", "priority": 3, "lastmod": "soon"}, {"loc": f"{BASE}3"},
    ]  # fmt: skip
    source.write_bytes(
        b"\n".join(line.encode() if isinstance(line, str) else json.dumps(line).encode() for line in lines) + b"\n\xff\n"
    )
    result = build(tmp_path / "out", source)
    assert result.status == 1
    assert [page.loc for page in built(tmp_path / "out")] == [f"{BASE}{number}" for number in (1, 2, 3)]
    *listed, summary = result.errors.splitlines()
    assert [int(line.removeprefix(f"{source}:").partition(":")[0]) for line in listed] == [2, 3, 4, 5, 6, 7, 7, 9]
    assert "'/relative'" in listed[2]
    assert summary.startswith("3 pages in 1 file, 6 refused, 2 values left out")


def test_lines_of_csv_are_those_of_the_file(tmp_path: Path) -> None:
    source = tmp_path / "urls.csv"
    source.write_text(f'loc,name\n{BASE}1,"two\nlines"\nnowhere,\n')
    result = build(tmp_path / "out", source)
    assert result.status == 1
    assert f"{source}:4: <loc> 'nowhere'" in result.errors


def test_addresses_are_percent_encoded_unless_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{BASE}a b/é?q=|\n")
    assert build(tmp_path / "out", tmp_path / "urls.txt").status == 0
    assert [page.loc for page in built(tmp_path / "out")] == [f"{BASE}a%20b/%C3%A9?q=%7C"]
    assert build(tmp_path / "out", tmp_path / "urls.txt", "--no-encode").status == 1


def test_where_everything_is_refused_the_earlier_set_stays(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{BASE}1\n")
    build(tmp_path / "out", tmp_path / "urls.txt")
    for content in ("nowhere\n", ""):
        (tmp_path / "urls.txt").write_text(content)
        result = build(tmp_path / "out", tmp_path / "urls.txt")
        assert result.status == 1
        assert "nothing was written" in result.errors
    assert [page.loc for page in built(tmp_path / "out")] == [f"{BASE}1"]


# -- What is wrong usage, or cannot be read


@pytest.mark.parametrize(
    "arguments",
    [
        ["urls.txt"], ["-d", "out", "urls.txt"], ["-d", "out", "--base-url", BASE],
        ["urls.txt", "-d", "out", "--base-url", "example.com"], ["urls.txt", "-d", "out", "--base-url", BASE, "--unknown"],
        ["urls.txt", "-d", "out", "--base-url", BASE, "--max-urls", "50001"],
        ["urls.txt", "-d", "out", "--base-url", BASE, "--max-bytes", "x"],
        ["urls.txt", "-d", "out", "--base-url", BASE, "--format", "xml"],
        ["urls.txt", "-d", "out", "--base-url", BASE, "-s", "SITEMAPCRAWL_SITEMAP_FIELDS={\"link\": \"x\"}"],
        ["urls.txt", "missing.txt", "-d", "out", "--base-url", BASE], ["urls.txt", ".", "-d", "out", "--base-url", BASE],
        ["urls.txt", "damaged.gz", "-d", "out", "--base-url", BASE], ["urls.txt", "other.csv", "-d", "out", "--base-url", BASE],
        ["urls.txt", "-d", "urls.txt", "--base-url", BASE],
    ],
)  # fmt: skip
def test_exit_status_2_and_nothing_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "urls.txt").write_text(f"{BASE}1\n")
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(f"{BASE}2\n".encode())[:-6])
    (tmp_path / "other.csv").write_text("name,price\nOne,1\n")
    assert run(*arguments).status == 2
    assert sorted(os.listdir(tmp_path)) == ["damaged.gz", "other.csv", "urls.txt"]


# -- What ends it early


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_the_earlier_set_and_nothing_else(tmp_path: Path, number: int) -> None:
    build(tmp_path, "-", stdin=f"{BASE}earlier\n".encode())
    command = [*BUILD, "-", "-d", str(tmp_path), "--base-url", BASE, "--max-urls", "100"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"refused\n" + b"".join(f"{BASE}{n}\n".encode() for n in range(2_000)))
        process.stdin.flush()
        process.stderr.readline()  # it is under way
        process.send_signal(number)
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert errors == "scrapy build: interrupted; nothing was written\n"
    assert [page.loc for page in built(tmp_path)] == [f"{BASE}earlier"]


def test_a_broken_pipe_leaves_the_earlier_set_and_no_traceback(tmp_path: Path) -> None:
    build(tmp_path, "-", stdin=f"{BASE}earlier\n".encode())
    source = tmp_path.parent / f"{tmp_path.name}.txt"
    source.write_text("refused\n" * 20_000 + f"{BASE}1\n")
    command = [*BUILD, str(source), "-d", str(tmp_path), "--base-url", BASE]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.close()
    assert process.returncode == 1
    assert [page.loc for page in built(tmp_path)] == [f"{BASE}earlier"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    import pty

    source = tmp_path / "urls.txt"
    source.write_text("".join(f"{BASE}{number}\n" for number in range(40_000)) + "nowhere\n")
    terminal, end = pty.openpty()
    command = [*BUILD, str(source), "-d", str(tmp_path / "out"), "--base-url", BASE]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=end, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(end)
        shown = b""
        with suppress(OSError):  # what reading raises when the other end is closed
            while part := os.read(terminal, 65_536):
                shown += part
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(terminal)
    assert process.returncode == 1
    assert b"pages/s" in shown
    assert b"urls.txt:40001: <loc> 'nowhere'" in shown.replace(b"\r\n", b"\n")
    assert b"40,000 pages in 1 file, 1 refused" in shown


# -- There and back


def test_what_was_read_from_a_set_builds_the_same_pages(tmp_path: Path) -> None:
    draw = random.Random(4)
    pages = [draw.choice(KINDS) for _ in range(200)]
    build(tmp_path / "a", jsonl(tmp_path / "a.jsonl", pages), "--max-urls", "70")
    first = built(tmp_path / "a")
    build(tmp_path / "b", jsonl(tmp_path / "b.jsonl", first), "--max-urls", "70")
    assert built(tmp_path / "b") == first == pages


@pytest.mark.parametrize("document", ["shop/languages.xml", "shop/workshops.xml", "journal/news.xml", "pages.txt"])
def test_crawl_build_crawl_gives_the_same_pages(tmp_path: Path, document: str) -> None:
    def pages(path: Path, url: str) -> list[Any]:
        found = crawl(None, url, content=str(path)).pages
        for page in found:
            del page["sitemap"]
        return found

    site = "http://shop.example/"
    (tmp_path / "served").write_text((ROOT / "example" / "site" / document).read_text().replace("{base}/", site))
    first = pages(tmp_path / "served", site + document)
    (tmp_path / "urls.jsonl").write_text("".join(json.dumps(page) + "\n" for page in first))
    assert run(str(tmp_path / "urls.jsonl"), "-d", str(tmp_path / "out"), "--base-url", site).status == 0
    assert pages(tmp_path / "out" / "sitemap-1.xml", f"{site}sitemap-1.xml") == first != []


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    done = run("missing.jsonl", "-d", str(tmp_path), "--base-url", "https://example.com/")
    assert done.status == 2
    assert done.errors == "scrapy build: missing.jsonl: No such file or directory; nothing was written\n"
