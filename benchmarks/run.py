"""Run the benchmarks and print their tables: ``make bench``, or ``make bench FULL=1``. README.md says what each row means.

Every crawl is a process of its own. Its seconds are what a clock on the wall shows from start to end, its peak memory is
what the kernel reports when it ends (``ru_maxrss``).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import cluster, lint, writing
from benchmarks.processes import HERE, OURS, PEERS_PYTHON, Run, aim, is_installed, median, run
from benchmarks.web import Web, serving

STRICT = f"{OURS}, strict"

# name: (the script, the package that it needs, the Python that has it, how many times faster we mean to be)
PEERS = {
    "Scrapy's SitemapSpider, counting": ("scrapy_sitemapspider.py", "scrapy", Path(sys.executable), 2),
    "ultimate-sitemap-parser": ("ultimate_sitemap_parser.py", "usp", PEERS_PYTHON, 7),
    "advertools": ("advertools_df.py", "advertools", PEERS_PYTHON, 4),
}


class Size(NamedTuple):
    """How much is measured; every field is quick or full as a whole."""

    rounds: int
    plain: Web
    rich: Web
    small: Web  # peak memory must not grow from this one, whose documents fill what may be held at a time, …
    large: Web  # … to this one


QUICK = Size(rounds=2, plain=Web(4, 50_000), rich=Web(2, 5_000, rich=True), small=Web(4, 50_000), large=Web(12, 50_000))
FULL = Size(rounds=3, plain=Web(20, 50_000), rich=Web(5, 10_000, rich=True), small=Web(4, 50_000), large=Web(40, 50_000))
BIG_DOCUMENT = Web(1, 240_000)
RESPONSIVENESS = Web(1, 240_000, drips=12)
MANY_SMALL = Web(2_000, 20)
TINY = Web(1, 1)


Program = Callable[[str], Run]  # takes the URL of a robots.txt


# -- Programs


def ours(*arguments: str) -> Program:
    """Return this project's command line with *arguments*, writing JSON lines; ``{folder}`` is an empty one each time."""

    def program(url: str) -> Run:
        with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as folder:
            pages, errors = Path(folder, "urls.jsonl"), Path(folder, "errors.jsonl")
            command = [sys.executable, "-m", "scrapy", "crawl", "sitemap", "-a", f"url={url}", "-O", str(pages)]
            given = [argument.replace("{folder}", folder) for argument in arguments]
            result = run([*command, "-a", f"errors={errors}", *given], lambda _: lines(pages))
            if lines(errors):
                sys.exit(f"{errors.read_text()[:2000]}\nThere should be no errors.")
            return result

    return program


def lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def peer(script: str, python: Path) -> Program:
    def last_word(output: str) -> int:
        return int(output.split()[-1])

    return lambda url: run([str(python), str(HERE / "peers" / script), url], last_word)


def installed_peers() -> dict[str, Program]:
    programs = {}
    for name, (script, package, python, _) in PEERS.items():
        if is_installed(package, python):
            programs[name] = peer(script, python)
        else:
            print(f"{name} is not installed, and left out.")
    return programs


# -- Measuring


def measure(web: Web, programs: dict[str, Program], rounds: int) -> dict[str, list[Run]]:
    """Run *programs* in turn, A B C A B C, so that what disturbs the machine disturbs them alike."""
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory(prefix="sitemapcrawl-bench-") as folder, serving(Path(folder, "web"), web) as url:
        for _ in range(rounds):
            for name, program in programs.items():
                runs[name].append(program(url))
                if runs[name][-1].pages != web.pages:
                    sys.exit(f"{name} found {runs[name][-1].pages} pages, not {web.pages}.")
    return runs


def table(title: str, web: Web, runs: dict[str, list[Run]]) -> None:
    print(f"\n{title}: {web.pages:,} pages in {web.files} sitemaps, median of {len(runs[OURS])}\n")
    print(f"  {'':34}{'seconds':>9}{'CPU s':>8}{'pages/s':>10}{'peak MB':>9}{'x ours':>8}")
    for name, results in runs.items():
        seconds = median(results, "seconds")
        ratio = seconds / median(runs[OURS], "seconds")
        print(
            f"  {name:34}{seconds:9.2f}{median(results, 'cpu'):8.2f}{web.pages / seconds:10,.0f}"
            f"{median(results, 'peak'):9.0f}{ratio:8.2f}"
        )


# -- The sections


def plain(size: Size, peers: dict[str, Program]) -> None:
    runs = measure(size.plain, {OURS: ours(), STRICT: ours("-a", "strict=true"), **peers}, size.rounds)
    table("Plain", size.plain, runs)
    print()
    seconds = {name: median(results, "seconds") for name, results in runs.items()}
    peak = {name: median(results, "peak") for name, results in runs.items()}
    for name in peers:
        factor = PEERS[name][-1]
        ratio = seconds[name] / seconds[OURS]
        aim(f"at least {factor} times as fast as {name}: {ratio:.2f}", ratio >= factor)
        aim(f"less memory than {name}: {peak[OURS]:.0f} of {peak[name]:.0f} MB", peak[OURS] < peak[name])
    ratio = seconds[STRICT] / seconds[OURS]
    aim(f"strict mode at most 1.2 times as long as tolerant: {ratio:.2f}", ratio <= 1.2)


def rich(size: Size, peers: dict[str, Program]) -> None:
    table(
        "Rich (10 images, 10 alternates and news a page)",
        size.rich,
        measure(size.rich, {OURS: ours(), STRICT: ours("-a", "strict=true"), **peers}, size.rounds),
    )


def pipeline(size: Size) -> None:
    settings = json.dumps({"benchmarks.probes.TrivialPipeline": 900})
    programs = {OURS: ours(), "with a pipeline": ours("-s", f"ITEM_PIPELINES={settings}")}
    runs = measure(size.plain, programs, size.rounds + 1)
    table("One trivial pipeline of somebody else's", size.plain, runs)
    print()
    # The least of several is the one that was disturbed least; a difference of two numbers needs that.
    bare, piped = (min(result.seconds for result in results) for results in runs.values())
    cost = (piped - bare) / size.plain.pages * 1e6
    aim(f"at most 6 µs a page on top: {cost:.1f} µs", cost <= 6)


def memory(size: Size) -> None:
    webs = (size.small, size.large)
    print("\nMemory by number of pages\n")
    peaks = [median(measure(web, {OURS: ours()}, size.rounds)[OURS], "peak") for web in webs]
    for web, peak in zip(webs, peaks, strict=True):
        print(f"  {web.pages:9,} pages in {web.files:2} sitemaps {peak:9.0f} MB")
    print()
    growth = peaks[1] / peaks[0] - 1
    aim(f"within 20 %: {growth:+.0%}", growth <= 0.2)


def big_document() -> None:
    print(f"\nOne document of 52 MB, {BIG_DOCUMENT.pages:,} entries\n")
    idle = measure(TINY, {OURS: ours()}, 1)[OURS][0]
    big = measure(BIG_DOCUMENT, {OURS: ours()}, 1)[OURS][0]
    for name, result in (("a crawl of one page", idle), ("the document", big)):
        print(f"  {name:34}{result.seconds:9.2f} s{result.peak:9.0f} MB")
    print()
    above = big.peak - idle.peak
    aim(f"at most 150 MB above a crawl of one page: {above:.0f} MB", above <= 150)


def responsiveness() -> None:
    drips = RESPONSIVENESS.drips
    print(f"\nWhile the document of 52 MB is read: {drips} tiny sitemaps that take two of their three seconds to arrive\n")
    extension = json.dumps({"benchmarks.probes.LoopLag": 0})
    # A time-out would be tried again, and hide: so no second try, and it would be an error, which ends the benchmark.
    program = ours("-s", f"EXTENSIONS={extension}", "-s", "RETRY_ENABLED=false", "-a", "max_urls=0", "-a", "fetch_timeout=3")
    result = measure(RESPONSIVENESS, {OURS: program}, 1)[OURS][0]
    lag = float(result.output.split()[-1])
    aim(f"none of them timed out; the event loop was {lag:.3f} s late at most", lag < 1)


def jobdir(size: Size) -> None:
    for web in (MANY_SMALL, size.plain):
        table("With JOBDIR", web, measure(web, {OURS: ours(), "with JOBDIR": ours("-s", "JOBDIR={folder}/job")}, size.rounds))


def log(size: Size) -> None:
    programs = {OURS: ours(), "a line in the log for each page": ours("-s", "LOG_LEVEL=DEBUG")}
    table("LOG_LEVEL = DEBUG, as in a new Scrapy project", size.small, measure(size.small, programs, size.rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure speed and memory beside other programs.")
    parser.add_argument("--full", action="store_true", help="the full size: about twenty minutes")
    parser.add_argument("--rounds", type=int, help="how often each program is run")
    parser.add_argument(
        "only",
        nargs="*",
        metavar="SECTION",
        help="plain, rich, pipeline, memory, big_document, responsiveness, jobdir, log, lint, writing, cluster; all if left out",
    )
    arguments = parser.parse_args()
    size = FULL if arguments.full else QUICK
    if arguments.rounds:
        size = size._replace(rounds=arguments.rounds)
    peers = installed_peers()
    if not arguments.full:
        print("The quick size: starting up weighs more than it does in the full one, which the aims are made for.")
    sections: dict[str, Callable[[], None]] = {
        "plain": lambda: plain(size, peers),
        "rich": lambda: rich(size, peers),
        "pipeline": lambda: pipeline(size),
        "memory": lambda: memory(size),
        "big_document": big_document,
        "responsiveness": responsiveness,
        "jobdir": lambda: jobdir(size),
        "log": lambda: log(size),
        "lint": lint.compare,
        "writing": lambda: writing.compare(1_000_000 if arguments.full else 250_000, size.rounds),
        "cluster": lambda: cluster.compare(size.rounds, cluster.FULL if arguments.full else cluster.QUICK),
    }
    for name in arguments.only or sections:
        sections[name]()


if __name__ == "__main__":
    main()
