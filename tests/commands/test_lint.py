"""``scrapy lint``, mostly in a process of its own. What it finds is tested elsewhere."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commanding import command

PROJECT = Path(__file__).parent.parent.parent
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
BAD = f"{HEAD}\n<url><loc>/a</loc><lastmod>2099-01-01</lastmod></url>\n</urlset>"
GOOD = f"{HEAD}\n<url><loc>https://example.org/</loc></url>\n</urlset>"


def run(*arguments: str, cwd: Path = PROJECT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-m", "scrapy", "lint", *arguments]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.xml").write_text(BAD)
    return str(tmp_path / "bad.xml")


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "good.xml").write_text(GOOD)
    return str(tmp_path / "good.xml")


def test_text(bad: str, good: str) -> None:
    done = run(bad, good)
    assert done.returncode == 1
    assert done.stdout == (
        f"{bad}:2:6: error: The address '/a' has no scheme, expected one that begins with 'http://' or 'https://' [loc-relative]\n"
        f"{bad}:2:19: note: The date '2099-01-01' is in the future [lastmod-future]\n"
    )
    assert done.stderr == (
        "\n"
        "       1  error    loc-relative                 an address without scheme\n"
        "       1  note     lastmod-future               a date in the future\n"
        "2 files: 1 error, 0 warnings, 1 note\n"
    )


def test_nothing_found(good: str) -> None:
    assert command("lint", good) == (0, "", "1 file: 0 errors, 0 warnings, 0 notes\n")


def test_least_severity(bad: str) -> None:
    done = command("lint", "--min-severity", "error", bad)
    assert done.output.count("\n") == 1
    assert done.errors.endswith("1 file: 1 error, 0 warnings, 1 note (1 not listed)\n")


def test_options_may_stand_anywhere(bad: str, good: str) -> None:
    options = ["--url=https://example.org/x/", "--now", "2100-01-01T00:00:00+01:00"]
    done = command("lint", bad, "--format", "json", good, *options)
    findings = [json.loads(line) for line in done.output.splitlines()]
    assert [(finding["file"], finding["rule"]) for finding in findings] == [(bad, "loc-relative"), (good, "directory-mismatch")]
    assert done.errors == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to lint"),
        (["--fromat", "json", "FILE"], "--fromat"),
        (["--format", "xml", "FILE"], "invalid choice: 'xml'"),
        (["--min-severity", "fatal", "FILE"], "invalid choice: 'fatal'"),
        (["--url", "example.org/sitemap.xml", "FILE"], "--url has to be an absolute http or https address"),
        (["--url", "ftp://example.org/", "FILE"], "--url has to be"),
        (["--url", "https:///sitemap.xml", "FILE"], "--url has to be"),
        (["--url", "", "FILE"], "--url has to be"),
        (["--now", "2026-01-31", "FILE"], "--now is '2026-01-31'"),
        (["--now", "2026-01-31T00:00:00", "FILE"], "--now is"),
        (["--now", "2026-02-30T00:00:00Z", "FILE"], "--now is"),
        (["--now", "now", "FILE"], "--now is"),
        (["--explain", "loc-spaces"], "is it loc-space"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, bad: str) -> None:
    done = command("lint", *(bad if argument == "FILE" else argument for argument in arguments))
    assert (done.status, done.output) == (2, "")
    assert message in done.errors


def test_wrong_usage_shows_no_traceback(bad: str) -> None:
    done = run("--format", "xml", bad)
    assert (done.returncode, done.stdout) == (2, "")
    assert "invalid choice: 'xml'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_read_does_not_keep_the_rest_from_being_linted(bad: str, tmp_path: Path) -> None:
    done = run(str(tmp_path / "missing.xml"), str(tmp_path), "http://127.0.0.1:1/s.xml", bad)
    assert done.returncode == 2
    assert done.stdout.count("\n") == 2
    assert f"{tmp_path / 'missing.xml'}: cannot be read: No such file or directory\n" in done.stderr
    assert f"{tmp_path}: cannot be read: Is a directory\n" in done.stderr
    assert "http://127.0.0.1:1/s.xml: cannot be read: " in done.stderr
    assert done.stderr.endswith("1 file: 1 error, 0 warnings, 1 note\n")


def test_names_that_begin_with_a_hyphen(tmp_path: Path) -> None:
    (tmp_path / "-x.xml").write_text(BAD)
    variables = {"PYTHONPATH": str(PROJECT), "SCRAPY_SETTINGS_MODULE": "settings.default"}
    done = run("--format", "github", "--", "-x.xml", cwd=tmp_path, **variables)
    assert done.stdout.startswith("::error file=-x.xml,line=2,col=6,title=loc-relative::")


def test_it_needs_no_project(tmp_path: Path, bad: str) -> None:
    # As the package is once it is installed: its entry points are found beside it.
    (tmp_path / "site" / "sitemapcrawl-0.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "sitemapcrawl").symlink_to(PROJECT / "sitemapcrawl")
    metadata = tmp_path / "site" / "sitemapcrawl-0.dist-info"
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sitemapcrawl\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[scrapy.commands]\nlint = sitemapcrawl.commands.lint:Command\n")
    done = run("--format", "json", bad, "http://127.0.0.1:1/s.xml", cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert [json.loads(line)["rule"] for line in done.stdout.splitlines()] == ["loc-relative", "lastmod-future"]
    assert done.returncode == 2
    assert done.stderr.startswith("http://127.0.0.1:1/s.xml: cannot be read: ")


def test_explain_and_list() -> None:
    done = command("lint", "--explain", "loc-space")
    assert done.status == 0
    assert done.output.startswith("loc-space (error)\n")
    listed = command("lint", "--list-rules")
    assert "  hreflang-no-return " in listed.output
    assert listed.status == 0


def test_it_ends_quietly_when_nobody_reads_on(tmp_path: Path) -> None:
    (tmp_path / "many.xml").write_text(HEAD + "<url/>" * 50_000)
    command = [sys.executable, "-m", "scrapy", "lint", str(tmp_path / "many.xml")]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_on_a_terminal(bad: str) -> None:
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "lint", bad], cwd=PROJECT, env=environment, stdout=child, stderr=subprocess.DEVNULL
    )
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 65_536):
            shown += part
    except OSError:  # the other side was closed
        pass
    os.close(parent)
    process.wait(60)
    assert b"\x1b[1;31merror:\x1b[0m" in shown
    assert b"<url><loc>/a</loc>" in shown
    assert b"^" in shown


def test_it_starts_in_less_than_a_second(good: str) -> None:
    def seconds_of_work() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def take() -> float:
        before = seconds_of_work()
        run(good)
        return seconds_of_work() - before

    # Of the processor, not of the clock, and once in three times: what else the machine does is not its fault.
    assert any(take() < 1 for _ in range(3))


def test_an_address_without_its_protocol_gets_a_hint() -> None:
    done = command("lint", "example.com/sitemap.xml", "no-such-folder/sitemap.xml")
    assert done.status == 2
    told, other = done.errors.splitlines()[:2]
    assert told.endswith("did you mean 'https://example.com/sitemap.xml'?")
    assert "did you mean" not in other
