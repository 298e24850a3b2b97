"""Imports point one way, and the pure half of the project does without Scrapy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sitemapcrawl"
PURE = ("protocol", "hints", "options", "counters", "sampling", "journal", "default_settings")
FRAMEWORKS = ("scrapy", "twisted", "itemadapter", "itemloaders", "parsel", "rich", "msgspec")

# What a part may import of the project, besides its own modules. What is not named here may import everything.
ALLOWED = {
    "protocol.limits": (),
    "protocol.errors": (),
    "protocol.records": (),
    "protocol.codes": (),
    "protocol.lines": (),
    "protocol.encoding_labels": (),
    "protocol.hosts": ("protocol.limits",),
    "protocol.dates": ("protocol.limits",),
    "protocol.compression": ("protocol.limits",),
    "protocol.encodings": ("protocol.encoding_labels",),
    "protocol.markup": ("protocol.lines",),
    "protocol.urls": ("protocol.hosts", "protocol.limits"),
    # Rules know of formats what passes between them, and formats know nothing of rules.
    "protocol.formats": ("protocol.markup", "protocol.lines", "protocol.records", "protocol.errors", "protocol.limits"),
    "protocol.rules": (
        "protocol.formats.raw", "protocol.urls", "protocol.dates", "protocol.records", "protocol.errors", "protocol.limits", "protocol.codes",
    ),
    "protocol": ("__version__",),
    "default_settings": ("__version__",),
    "hints": ("protocol",),
    "options": ("protocol", "default_settings", "hints"),
    "counters": ("protocol",),
    "sampling": ("protocol",),
    "journal": ("protocol",),
    "scheduler": (),
    "items": ("protocol",),
    "signals": ("protocol", "items"),
}  # fmt: skip


def modules() -> dict[str, Path]:
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__") if name != "__init__" else ""] = file
    return found


MODULES = modules()


def imports(name: str) -> set[str]:
    """Return what the module *name* imports, with the package's own modules as ``.name``; typing-only imports count too."""
    found = set()
    package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                base = ["sitemapcrawl", *package][: len(package) + 2 - node.level]
                source = ".".join([*base, source]).rstrip(".")
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                is_module = whole.removeprefix("sitemapcrawl.") in MODULES
                found.add(whole if is_module or source == "sitemapcrawl" else source)
    return {f".{target.removeprefix('sitemapcrawl.')}" if target.startswith("sitemapcrawl.") else target for target in found}


def is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


@pytest.mark.parametrize("name", [name for name in MODULES if any(is_in(name, part) for part in PURE)])
def test_the_pure_half_imports_no_framework(name: str) -> None:
    assert not {target for target in imports(name) if target.partition(".")[0] in FRAMEWORKS}


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name: str) -> None:
    rules = [part for part in ALLOWED if is_in(name, part)]
    if not rules:
        return
    part = max(rules, key=len)
    allowed = (part, *ALLOWED[part])
    ours = {target[1:] for target in imports(name) if target.startswith(".")}
    assert not {target for target in ours if not any(is_in(target, other) for other in allowed)}


def test_nothing_imports_the_settings_profiles() -> None:
    assert not [name for name in MODULES if any(is_in(target, "settings") for target in imports(name))]


def test_the_pure_half_runs_without_scrapy() -> None:
    names = [f"sitemapcrawl.{name}".rstrip(".") for name in MODULES if any(is_in(name, part) for part in PURE)]
    program = (
        f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\n"
        f"print([name for name in {FRAMEWORKS} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_profiles_come_from_this_project() -> None:
    program = "import scrapy.utils.project as p; p.get_project_settings(); import settings.default as d; print(d.__file__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == ROOT / "settings" / "default.py"
