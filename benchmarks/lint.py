"""Time and memory of the linter beside the crawl's reader on the same file, and beside xmllint: ``python -m benchmarks.lint``."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

URL = "https://www.example.com/sitemap.xml"
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt-BR", "sv", "x-default")


def plain() -> str:
    """Return 240,000 entries with the four elements of the protocol: 52 MB."""
    return HEAD + "".join(
        f"  <url>\n    <loc>https://www.example.com/category-{n % 100}/product-{n}/words.html?ref={n}</loc>\n"
        f"    <lastmod>2025-{n % 12 + 1:02}-{n % 28 + 1:02}T10:00:00+00:00</lastmod>\n    <changefreq>weekly</changefreq>\n"
        f"    <priority>0.{n % 10}</priority>\n  </url>\n"
        for n in range(240_000)
    ) + "</urlset>\n"  # fmt: skip


def alternates() -> str:
    """Return 50,000 entries with ten alternates each: 51 MB."""
    entries = []
    for n in range(5_000):
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{language}" href="https://www.example.com/{language}/p-{n}.html"/>\n'
            for language in LANGUAGES
        )
        entries += [f"<url><loc>https://www.example.com/{language}/p-{n}.html</loc>\n{links}</url>\n" for language in LANGUAGES]
    return HEAD + "".join(entries) + "</urlset>\n"


def measure(what: str, path: Path) -> None:
    """Print seconds and the peak of memory of one way to read a file; each runs in a process of its own."""
    body = path.read_bytes()
    start = time.process_time()
    if what == "lint":
        from sitemapcrawl.protocol.lint import lint

        for _ in lint(body, URL):
            pass
    else:
        from sitemapcrawl.protocol.reader import read

        list(read(body, URL))
    print(f"{time.process_time() - start:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")


def compare() -> None:
    """Print a table for each of the files."""
    with tempfile.TemporaryDirectory() as folder:
        for make in (plain, alternates):
            path = Path(folder) / "sitemap.xml"
            path.write_text(make(), "utf-8")
            print(make.__doc__)
            seconds = {}
            for what in ("reader", "lint"):
                command = [sys.executable, "-m", "benchmarks.lint", what, str(path)]
                took, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                seconds[what] = float(took)
                print(f"  {what:<18} {took:>6} s  {peak:>5} MB")
            print(f"  lint / reader      {seconds['lint'] / seconds['reader']:>6.1f}    (at most 10)")
            if shutil.which("xmllint"):
                start = time.perf_counter()
                subprocess.run(["xmllint", "--noout", "--huge", str(path)], check=True)
                print(f"  xmllint --noout    {time.perf_counter() - start:>6.2f} s  (well-formedness alone)")


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
