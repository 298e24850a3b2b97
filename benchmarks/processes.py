"""Programs as processes of their own: run one, say what it took, and whether an aim was reached."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
OURS = "sitemapcrawl"


class Run(NamedTuple):
    """One crawl, by one process."""

    seconds: float
    cpu: float
    peak: float  # MB
    pages: int
    output: str


def run(command: list[str], count: Callable[[str], int]) -> Run:
    """Run *command*; *count* gets what it printed and tells the number of pages."""
    # A proxy meant for the web outside cannot reach this one.
    environment = {**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        # This process is small, and stays so: until it loads its own program, a child counts its parent's memory as its own.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        log.seek(0)
        output = out.read()
        if process.returncode:
            sys.exit(f"{' '.join(command)}\nended with status {process.returncode}:\n{output[-2000:]}{log.read()[-5000:]}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    return Run(seconds, usage.ru_utime + usage.ru_stime, peak, count(output), output)


def is_installed(package: str, python: Path) -> bool:
    """Tell whether the environment of *python* has the *package*."""
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return python.exists() and subprocess.run([str(python), "-c", probe], cwd=ROOT, check=False).returncode == 0


def median(runs: Iterable[Run], field: str) -> float:
    return statistics.median(getattr(result, field) for result in runs)


def aim(text: str, reached: bool) -> None:
    print(f"  {'reached' if reached else 'MISSED ':8} {text}", flush=True)
