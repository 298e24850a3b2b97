"""The documentation says what the code does: its examples run, and its tables are whole."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import sitemapcrawl.protocol
from sitemapcrawl import default_settings, options

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
PURE = [
    "sitemapcrawl.hints",
    "sitemapcrawl.options",
    "sitemapcrawl.counters",
    "sitemapcrawl.sampling",
    "sitemapcrawl.journal",
] + [module.name for module in pkgutil.walk_packages(sitemapcrawl.protocol.__path__, "sitemapcrawl.protocol.")]


@pytest.mark.parametrize("name", PURE)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if "```pycon" in page.read_text("utf-8")], ids=lambda page: page.name)
def test_examples_on_pages(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_every_option_is_described() -> None:
    text = (ROOT / "docs" / "options.md").read_text("utf-8")
    assert not [option.name for option in options.OPTIONS if f"`{option.name}`" not in text]


def test_every_setting_is_described() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    names = [name for name in vars(default_settings) if name.startswith("SITEMAPCRAWL_")]
    assert not [name for name in names if f"`{name}`" not in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]
