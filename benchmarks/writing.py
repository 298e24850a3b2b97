"""Records to files, side by side: ours, lxml's xmlfile used plainly, and the quickest writers of PyPI.

Every program is a process of its own (``peers/write_….py``), makes the same rows itself and writes files of 50,000. The time
that making the rows takes is in that of each.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import HERE, OURS, PEERS_PYTHON, Run, aim, is_installed, median, run

LXML = "lxml's xmlfile, used plainly"

# name: (the script, the package that it needs, the Python that has it, the forms that it writes)
WRITERS = {
    OURS: ("write_sitemapcrawl.py", "sitemapcrawl", Path(sys.executable), ("plain", "gzip")),
    LXML: ("write_lxml.py", "lxml", Path(sys.executable), ("plain", "gzip")),
    "xml-sitemap-writer": ("write_xml_sitemap_writer.py", "xml_sitemap_writer", PEERS_PYTHON, ("gzip",)),
    "django-sitemaps": ("write_django_sitemaps.py", "django_sitemaps", PEERS_PYTHON, ("plain", "gzip")),
}


def write(name: str, count: int, form: str) -> Run:
    """Have the program *name* write *count* rows; the pages of the result are those that are in its files."""
    script, _, python, _ = WRITERS[name]
    with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as folder:
        command = [str(python), str(HERE / "peers" / script), folder, str(count), form]
        result = run(command, lambda _: entries(Path(folder)))
    if result.pages != count:
        sys.exit(f"{name} wrote {result.pages} entries, not {count}.")
    return result


def entries(folder: Path) -> int:
    return sum(
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).count(b"</url>")
        for path in folder.iterdir()
    )


def compare(count: int, rounds: int) -> None:
    """Measure every writer, plain and gzipped, in turn, and print the tables."""
    names = []
    for name, (_, package, python, _) in WRITERS.items():
        if is_installed(package, python):
            names.append(name)
        else:
            print(f"{name} is not installed, and left out.")
    for form in ("plain", "gzip"):
        runs: dict[str, list[Run]] = {name: [] for name in names if form in WRITERS[name][-1]}
        for _ in range(rounds):
            for name, found in runs.items():
                found.append(write(name, count, form))
        seconds = {name: median(found, "seconds") for name, found in runs.items()}
        print(f"\nWriting, {form}: {count:,} records to files of 50,000, median of {rounds}\n")
        print(f"  {'':34}{'seconds':>9}{'CPU s':>8}{'records/s':>11}{'peak MB':>9}{'x ours':>8}")
        for name, found in runs.items():
            print(
                f"  {name:34}{seconds[name]:9.2f}{median(found, 'cpu'):8.2f}{count / seconds[name]:11,.0f}"
                f"{median(found, 'peak'):9.0f}{seconds[name] / seconds[OURS]:8.2f}"
            )
        print()
        for name in runs:
            if name != OURS:
                aim(f"quicker than {name}: {seconds[name] / seconds[OURS]:.2f} times", seconds[name] > seconds[OURS])
        if form == "plain":
            rate = count / seconds[OURS]
            aim(f"at least 100,000 records a second: {rate:,.0f}", rate >= 100_000)
    few, many = (write(OURS, number, "gzip").peak for number in (count // 5, count))
    aim(f"memory within 10 % of that of a fifth of the records: {few:.0f} and {many:.0f} MB", many <= few * 1.1)
