"""``docs/lint.md`` has the rules as they are in the table, and its sessions are what the commands print.

Run as a program it brings both up to date: ``python tests/protocol/lint/test_docs.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sitemapcrawl.protocol.lint.rules import GROUPS, SOURCES

PROJECT = Path(__file__).parent.parent.parent.parent
PAGE = PROJECT / "docs" / "lint.md"
_TABLES = re.compile(
    r"(?<=<!-- The tables are made by tests/protocol/lint/test_docs.py -->\n).*?(?=<!-- End of the tables -->)", re.DOTALL
)
_SESSION = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_FILE = re.compile(r"`(\S+)`:\n\n```xml\n(.*?)```", re.DOTALL)


def _cell(text: str) -> str:
    return re.sub(r"([|<>&*_`\\])", r"\\\1", text)


def tables() -> str:
    """Return the tables of all rules, in Markdown."""
    lines = [""]
    for group in GROUPS:
        lines += [
            f"### {group.title}",
            "",
            "| rule | severity | what breaks it | why it matters | source |",
            "|---|---|---|---|---|",
        ]
        for rule in group.rules:
            sources = "; ".join(_linked(source) for source in rule.sources)
            lines.append(f"| `{rule.id}` | {rule.severity} | {_cell(rule.summary)} | {_cell(rule.why)} | {sources} |")
        lines.append("")
    return "\n".join(lines)


def _linked(source: str) -> str:
    name, _, address = SOURCES[source].partition(", https://")
    return f"[{name}](https://{address})" if address else name


def sessions(page: str) -> str:
    """Return *page* with the output of the commands in its sessions as it is today."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"PYTHONPATH": str(PROJECT), "SCRAPY_SETTINGS_MODULE": "settings.default", "COLUMNS": "80"}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in _FILE.findall(page):
            (Path(folder) / name).write_text(content, "utf-8")

        def played(match: re.Match[str]) -> str:
            shown = []
            for command in re.findall(r"^\$ (.*)\n", match[0], re.MULTILINE):
                script = f'scrapy() {{ "{sys.executable}" -m scrapy "$@"; }}\n{command}'
                done = subprocess.run(
                    ["bash", "-c", script],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                shown.append(f"$ {command}\n{done.stdout.decode()}")
            return "".join(shown)

        return _SESSION.sub(played, page)


def test_the_page_has_the_rules_of_the_table() -> None:
    match = _TABLES.search(PAGE.read_text("utf-8"))
    assert match is not None
    assert match[0] == tables()


def test_the_sessions_are_real() -> None:
    page = PAGE.read_text("utf-8")
    assert len(_SESSION.findall(page)) >= 3
    assert sessions(page) == page


if __name__ == "__main__":
    text = _TABLES.sub(lambda _: tables(), PAGE.read_text("utf-8"))
    PAGE.write_text(sessions(text), "utf-8")
