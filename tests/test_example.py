"""The programs beside the example site, in processes of their own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "example"


def run(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLE / name), *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_port_that_is_taken_is_told_in_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve.py", "--port", str(port), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"port {port} cannot be listened on: Address already in use\n")


def test_help_crawls_nothing(tmp_path: Path) -> None:
    done = run("crawl.py", "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "python example/crawl.py" in done.stdout
    assert not list(tmp_path.iterdir())
