"""The cases of the linter: documents with every finding that they have, in ``lint_cases/``.

A case is linted in this process; one that is about the command line runs the command, in a process of its own where it
fetches. Its keys: ``file`` or ``files`` (a document as ``body`` with ``encoding``, ``base64``, ``repeat`` or ``parts``, and
``gzip``), ``args``, ``options``, ``serve`` (what URLs answer), and ``expect``.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from sitemapcrawl.protocol.dates import to_datetime
from sitemapcrawl.protocol.lint import RULES, lint
from tests.commanding import command
from tests.mockweb import Answer, MockWeb

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]

FOLDER = Path(__file__).parent / "lint_cases"
PROJECT = Path(__file__).parent.parent
NOW = "2026-01-31T00:00:00Z"
CASES = {case["id"]: case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text("utf-8"))}
TEXT_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+):(?P<column>\d+): (?P<severity>\w+): (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]")
GITHUB_LINE = re.compile(
    r"::(?P<severity>\w+) file=(?P<file>.*),line=(?P<line>\d+),col=(?P<column>\d+),title=(?P<rule>[a-z0-9-]+)::(?P<message>.*)"
)


def payload(document: Record) -> bytes:
    """Return the bytes of a document."""
    if "parts" in document:
        data = b"".join(map(payload, document["parts"]))
    elif "base64" in document:
        data = base64.b64decode(document["base64"])
    else:
        text = document.get("body", "")
        if "repeat" in document:
            repeat = document["repeat"]
            rows = "".join(repeat["row"].replace("{i}", str(number)) for number in range(repeat["count"]))
            text = repeat.get("head", "") + rows + repeat.get("tail", "")
        data = text.encode(document.get("encoding", "utf-8"))
    return gzip.compress(data, mtime=0) if document.get("gzip") else data


def files_of(case: Record) -> Record:
    return case["files"] if "files" in case else {"sitemap.xml": case["file"]} if "file" in case else {}


def is_about_the_command(case: Record) -> bool:
    keys = {"args", "serve"} & set(case) | {"format", "min_severity"} & set(case.get("options", {}))
    return bool(keys) or (bool(case.get("options")) and case["expect"].get("exit") == 2)


def judge(case: Record, found: list[Record]) -> None:
    """Compare the findings with those that are expected."""
    expect = case["expect"]
    for finding in found:
        assert finding["severity"] == RULES[finding["rule"]].severity
        assert finding["message"] == " ".join(finding["message"].split()) != ""
        assert finding["rule"] not in expect.get("none_of", ())
    places = [*case.get("args", files_of(case))]
    order = [(places.index(finding["file"]), finding["line"], finding["column"], finding["rule"]) for finding in found]
    assert order == sorted(order)
    if "findings" not in expect:
        return
    left = [finding for finding in found if finding["rule"] in expect.get("only", [finding["rule"]])]
    missing = []
    for expected in sorted(expect["findings"], key=len, reverse=True):
        match = next((finding for finding in left if expected.items() <= finding.items()), None)
        if match is None:
            missing.append(expected)
        else:
            left.remove(match)
    assert (missing, left) == ([], [])


@pytest.mark.parametrize("case_id", [case_id for case_id, case in CASES.items() if not is_about_the_command(case)])
def test_case(case_id: str) -> None:
    case = CASES[case_id]
    options = case.get("options", {})
    found = [
        {"file": name, **finding._asdict()}
        for name, document in files_of(case).items()
        for finding in lint(payload(document), options.get("url"), to_datetime(options.get("now") or NOW))
    ]
    judge(case, found)
    if "exit" in case["expect"]:
        assert case["expect"]["exit"] == any(finding["severity"] == "error" for finding in found)


def web(answers: Record) -> MockWeb:
    """Return the web of a case."""
    pages: dict[str, str | bytes | Answer] = {
        url: Answer(payload(answer), 302, {"Location": answer["redirect"]})
        if "redirect" in answer
        else Answer(payload(answer), answer.get("status", 200))
        for url, answer in answers.items()
    }
    return MockWeb(pages)


@pytest.mark.parametrize("case_id", [case_id for case_id, case in CASES.items() if is_about_the_command(case)])
def test_command(case_id: str, tmp_path: Path) -> None:
    case = CASES[case_id]
    for name, document in files_of(case).items():
        (tmp_path / name).write_bytes(payload(document))
    options = {"now": NOW, "format": "json", **case.get("options", {})}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    names = {name if name.startswith("http") else str(tmp_path / name): name for name in case.get("args", files_of(case))}
    if "serve" in case:
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        with web(case["serve"]) as served:
            process = subprocess.run(
                [sys.executable, "-m", "scrapy", "lint", *arguments, *names],
                cwd=PROJECT, env={**environment, "http_proxy": served.address, "PYTHONIOENCODING": "utf-8"}, capture_output=True,
                timeout=60, check=False,
            )  # fmt: skip
        status, output = process.returncode, process.stdout.decode()
    else:
        status, output, _ = command("lint", *arguments, *names)
    found = list(read_back(output, options["format"]))
    for finding in found:
        finding["file"] = names[finding["file"]]
    judge(case, found)
    assert status == case["expect"].get("exit", int(any(finding["severity"] == "error" for finding in found)))


def read_back(output: str, format: str) -> Iterator[Record]:
    """Yield the findings that were written in a format."""
    if format == "json":
        yield from map(json.loads, output.splitlines())
    elif format == "sarif":
        for result in json.loads(output)["runs"][0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            yield {
                "file": unquote(place["artifactLocation"]["uri"].removeprefix("file://")),
                "line": place["region"]["startLine"], "column": place["region"]["startColumn"],
                "rule": result["ruleId"], "severity": result["level"], "message": result["message"]["text"],
            }  # fmt: skip
    else:
        for line in output.splitlines():
            match = (TEXT_LINE if format == "text" else GITHUB_LINE).fullmatch(line)
            assert match, line
            finding: Record = match.groupdict()
            finding.update(
                line=int(match["line"]), column=int(match["column"]), severity=match["severity"].replace("notice", "note")
            )
            finding["file"] = unquote(match["file"])
            yield finding
