"""The formats that findings are written in: text for people, JSON lines, SARIF, and the workflow commands of GitHub.

A writer takes findings one by one and keeps none, so that a million of them take no memory.
"""

from __future__ import annotations

import json
import os
import unicodedata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_from_bytes

from sitemapcrawl import __version__
from sitemapcrawl.protocol.lint.rules import ERROR, GROUPS, NOTE, SOURCES, WARNING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sitemapcrawl.protocol.lint.document import Document
    from sitemapcrawl.protocol.lint.finding import Finding

    Write = Callable[[str], object]

_TOOL: Final = "sitemapcrawl"
_GITHUB_LEVELS: Final = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

# Select Graphic Rendition, ECMA-48.
_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_COLOURS: Final = {ERROR: "\x1b[1;31m", WARNING: "\x1b[1;33m", NOTE: "\x1b[1;36m"}
_CARET: Final = "\x1b[1;32m"


def is_url(argument: str) -> bool:
    """Tell whether an argument of the command is an address, and not a path."""
    return argument[:8].lower().startswith(("http://", "https://"))


class Writer:
    """Writes findings with *write*; the base of the formats."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def begin(self) -> None:
        """Write what stands before the first finding."""

    def finding(self, file: str, finding: Finding, document: Document) -> None:
        """Write a *finding* about *document*, which *file* names as the user did."""
        raise NotImplementedError

    def end(self) -> None:
        """Write what stands after the last finding."""


def record(file: str, finding: Finding) -> str:
    """Return a finding about *file* as a line of JSON, without its end."""
    line = json.dumps({"file": file, **finding._asdict()}, ensure_ascii=False)
    # A file name that is not valid in the encoding of the file system has surrogates in it.
    return line if line.isascii() or _is_encodable(line) else json.dumps(json.loads(line))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class JsonWriter(Writer):
    """A JSON object a line."""

    def finding(self, file: str, finding: Finding, document: Document) -> None:
        self._write(record(file, finding) + "\n")


class GithubWriter(Writer):
    """Workflow commands of GitHub Actions, which become annotations."""

    def finding(self, file: str, finding: Finding, document: Document) -> None:
        level = _GITHUB_LEVELS[finding.severity]
        self._write(
            f"::{level} file={_property(file)},line={finding.line},col={finding.column},"
            f"title={_property(finding.rule)}::{_data(finding.message)}\n"
        )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


class SarifWriter(Writer):
    """One SARIF 2.1.0 document, written bit by bit.

    Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """

    def begin(self) -> None:
        driver = {
            "name": _TOOL,
            "semanticVersion": __version__,
            "rules": [_sarif_rule(rule.id) for group in GROUPS for rule in group.rules],
        }
        head = json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0"}, indent=2)[:-2]
        self._write(head + ',\n  "runs": [{"tool": ' + json.dumps({"driver": driver}, ensure_ascii=False))
        self._write(', "columnKind": "unicodeCodePoints", "results": [')
        self._separator = "\n"

    def finding(self, file: str, finding: Finding, document: Document) -> None:
        place = {
            "artifactLocation": {"uri": uri_of(file)},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
        result = {
            "ruleId": finding.rule,
            "ruleIndex": _RULE_INDEXES[finding.rule],
            "level": finding.severity,
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": place}],
        }
        self._write(self._separator + json.dumps(result, ensure_ascii=False))
        self._separator = ",\n"

    def end(self) -> None:
        self._write("\n]}]}\n")


_RULE_INDEXES: Final = {rule.id: index for index, rule in enumerate(rule for group in GROUPS for rule in group.rules)}


def _sarif_rule(rule_id: str) -> Mapping[str, Any]:
    group, rule = next((group, rule) for group in GROUPS for rule in group.rules if rule.id == rule_id)
    return {
        "id": rule.id,
        "shortDescription": {"text": _sentence(rule.summary)},
        "fullDescription": {"text": rule.why},
        "help": {"text": "Source: " + "; ".join(SOURCES[source] for source in rule.sources) + "."},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [group.title]},
    }


def _sentence(summary: str) -> str:
    first = summary.split()[0]
    return f"{first.capitalize() if first.isalpha() else first}{summary[len(first) :]}."


def uri_of(file: str) -> str:
    """Return the URI reference of a path as it was given (an absolute one as ``file:``), or of an address."""
    if is_url(file):
        return quote(file, safe="!#$%&'()*+,/:;=?@[]~", errors="replace")
    path = os.fsencode(file)
    if os.sep != "/":
        path = path.replace(os.fsencode(os.sep), b"/")
    reference = quote_from_bytes(path, safe="/")
    if os.path.isabs(file):
        return f"file://{reference}" if reference.startswith("/") else f"file:///{reference}"
    return reference


class TextWriter(Writer):
    """A line for each finding, as compilers write them; on a terminal with the place in the document and in colours.

    *width* is the number of columns that the excerpt of a line may take; 0 for no excerpt.
    """

    def __init__(self, write: Write, *, width: int = 0, colours: bool = False) -> None:
        super().__init__(write)
        self._width = width
        self._colours = colours

    def finding(self, file: str, finding: Finding, document: Document) -> None:
        line, column, rule, severity, message, _ = finding
        # One line, whatever the file is called.
        place = f"{file}:{line}:{column}:".replace("\r", "\\r").replace("\n", "\\n")
        place, level, rule = self._in(_BOLD, place), self._in(_COLOURS[severity], f"{severity}:"), self._in(_DIM, f"[{rule}]")
        self._write(f"{place} {level} {message} {rule}\n")
        if self._width:
            gutter = f"{line:>6} | "
            text, indent = excerpt(document.text, document.lines.starts[line - 1], column, max(20, self._width - len(gutter) - 1))
            empty = " " * (len(gutter) - 2) + "| "
            self._write(f"{self._in(_DIM, gutter)}{text}\n{self._in(_DIM, empty)}{' ' * indent}{self._in(_CARET, '^')}\n")

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_RESET}" if self._colours else text


def excerpt(text: str, start: int, column: int, width: int) -> tuple[str, int]:
    """Return what is to be shown of the line that begins at *start*, and how many columns are before *column* in it.

    It takes at most *width* columns of a terminal: of a longer line the surroundings of the column are shown, with an
    ellipsis where something is left out.
    """
    place = start + column - 1
    end = place
    while end < len(text) and end - place < width and text[end] not in "\r\n":
        end += 1
    before = _shown(text[max(start, place - width) : place])
    after = _shown(text[place:end])
    is_cut = place - width > start
    room = width // 3
    if is_cut or sum(_columns(char) for char in before + after) > width:
        # A third of the room is for what stands before, more where less is needed behind.
        behind = sum(_columns(char) for char in after)
        room = max(room, width - behind)
        kept = len(before)
        used = 1
        while kept and used + _columns(before[kept - 1]) <= room:
            kept -= 1
            used += _columns(before[kept])
        if kept or is_cut:
            before = "…" + before[kept:]
    indent = sum(_columns(char) for char in before)
    used = indent
    for index, char in enumerate(after):
        used += _columns(char)
        if used > width - 1 and (index + 1 < len(after) or _goes_on(text, end)):
            after = after[:index] + "…"
            break
    return before + after, indent


def _goes_on(text: str, end: int) -> bool:
    return end < len(text) and text[end] not in "\r\n"


def _shown(text: str) -> str:
    """Return *text* with a space for a tab, and U+FFFD for what a terminal would take for a command."""
    return "".join(" " if char == "\t" else char if char.isprintable() else "\ufffd" for char in text)


def _columns(char: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def explanation(rule_id: str) -> str:
    """Return what is to be known of a rule: what it is about, why it matters, two examples, where it comes from."""
    group, rule = next((group, rule) for group in GROUPS for rule in group.rules if rule.id == rule_id)
    lines = [f"{rule.id} ({rule.severity})", "", f"  {group.title}: {rule.summary}.", "", f"  {rule.why}", ""]
    for title, example in (("Bad", rule.bad), ("Good", rule.good)):
        lines += [f"  {title}:", *(f"      {line}" for line in shown_example(example).split("\n")), ""]
    lines += ["  Source:", *(f"      {SOURCES[source]}" for source in rule.sources)]
    return "\n".join(lines)


def shown_example(example: str) -> str:
    """Return an example in the shape in which it can be shown: without characters that cannot be seen, not too long."""
    visible = "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in example)
    return visible if len(visible) <= 1_000 else f"{visible[:60]}…{visible[-40:]}"


def list_of_rules() -> str:
    """Return a line for each rule, by subject."""
    lines = []
    width = max(len(rule.id) for group in GROUPS for rule in group.rules)
    for group in GROUPS:
        lines += [group.title, *(f"  {rule.id:<{width}}  {rule.severity:<7}  {rule.summary}" for rule in group.rules), ""]
    return "\n".join(lines[:-1])
