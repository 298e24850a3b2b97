"""The formats that findings are written in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sitemapcrawl.protocol.lint import RULES, Document, Finding
from sitemapcrawl.protocol.lint.formats import (
    GithubWriter,
    JsonWriter,
    SarifWriter,
    TextWriter,
    Writer,
    excerpt,
    is_url,
    record,
    uri_of,
)

DOCUMENT = Document(b"<urlset>\n\t<url><loc>/100%\xe2\x80\xa8a, b: c</loc></url></urlset>")
FINDING = Finding(2, 7, "loc-percent", "error", "The address '/100%', or so: wrong", "/100%")
SCHEMA = json.loads((Path(__file__).parent / "sarif-subset.schema.json").read_text("utf-8"))


def written(writer_class: type[Writer], *findings: tuple[str, Finding]) -> str:
    parts: list[str] = []
    writer = writer_class(parts.append)
    writer.begin()
    for file, finding in findings:
        writer.finding(file, finding, DOCUMENT)
    writer.end()
    return "".join(parts)


def test_json() -> None:
    assert json.loads(written(JsonWriter, ("a.xml", FINDING))) == {
        "file": "a.xml", "line": 2, "column": 7, "rule": "loc-percent", "severity": "error",
        "message": "The address '/100%', or so: wrong", "value": "/100%",
    }  # fmt: skip
    assert json.loads(record("\udcff.xml", FINDING))["file"] == "\udcff.xml"
    assert record("\udcff.xml", FINDING).isascii()
    assert "é" in record("é.xml", FINDING)
    assert written(JsonWriter) == ""


def test_text() -> None:
    line = "a\\nb.xml:2:7: error: The address '/100%', or so: wrong [loc-percent]\n"
    assert written(TextWriter, ("a\nb.xml", FINDING)) == line


def test_text_on_a_terminal() -> None:
    parts: list[str] = []
    TextWriter(parts.append, width=80).finding("a.xml", FINDING, DOCUMENT)
    assert "".join(parts).split("\n")[1:] == [
        "     2 |  <url><loc>/100%\ufffda, b: c</loc></url></urlset>",
        "       |       ^",
        "",
    ]
    parts.clear()
    TextWriter(parts.append, width=80, colours=True).finding("a.xml", FINDING, DOCUMENT)
    assert "\x1b[1;31merror:\x1b[0m" in "".join(parts)


@pytest.mark.parametrize(
    ("line", "column", "width", "expected"),
    [
        ("abc", 1, 20, "abc\n^"),
        ("abc", 4, 20, "abc\n   ^"),
        ("\ta\tb", 4, 20, " a b\n   ^"),
        ("日本<a>", 3, 20, "日本<a>\n    ^"),
        ("e\u0301<a>", 3, 20, "e\u0301<a>\n ^"),
        ("a" * 50 + "<b>" + "c" * 50, 51, 20, "…aaaaa<b>cccccccccc…\n      ^"),
        ("a" * 50 + "<b>", 51, 20, "…aaaaaaaaaaaaaaaa<b>\n                 ^"),
        ("<b>" + "c" * 50, 1, 20, "<b>cccccccccccccccc…\n^"),
        ("aa<b>" + "c" * 15, 3, 20, "aa<b>ccccccccccccccc\n  ^"),
        ("aa<b>" + "c" * 16, 3, 20, "aa<b>cccccccccccccc…\n  ^"),
    ],
)
def test_excerpt(line: str, column: int, width: int, expected: str) -> None:
    text, indent = excerpt(f"first\r\n{line}\rlast", 7, column, width)
    assert f"{text}\n{' ' * indent}^" == expected


def test_excerpt_of_a_very_long_line_takes_no_time() -> None:
    text = "a" * 50_000_000
    for _ in range(1_000):
        assert len(excerpt(text, 0, 25_000_000, 100)[0]) == 100


def test_github() -> None:
    finding = FINDING._replace(message="100%\r\n: a, b")
    expected = "::error file=C%3A%2C %25.xml,line=2,col=7,title=loc-percent::100%25%0D%0A: a, b\n"
    assert written(GithubWriter, ("C:, %.xml", finding)) == expected
    assert written(GithubWriter, ("a", finding._replace(severity="warning"))).startswith("::warning ")
    assert written(GithubWriter, ("a", finding._replace(severity="note"))).startswith("::notice ")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_sarif(count: int) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(written(SarifWriter, *[("a b.xml", FINDING), ("https://a.org/ö", FINDING)][:count]))
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert len(run["results"]) == count
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "loc-percent"
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 7}


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("sitemap.xml", "sitemap.xml"),
        ("a b/é:1.xml", "a%20b/%C3%A9%3A1.xml"),
        ("100%.xml", "100%25.xml"),
        ("\udcff.xml", "%FF.xml"),
        ("/srv/a?.xml", "file:///srv/a%3F.xml"),
        ("https://example.org/a%20b?c=d#e", "https://example.org/a%20b?c=d#e"),
        ("http://example.org/é x", "http://example.org/%C3%A9%20x"),
    ],
)
def test_uri(file: str, uri: str) -> None:
    assert uri_of(file) == uri


def test_is_url() -> None:
    assert [is_url(text) for text in ("http://a", "HTTPS://a", "https:/a", "ftp://a", "./http://a")] == [
        True,
        True,
        False,
        False,
        False,
    ]
