"""Cases of whole crawls: a small web, a crawl of it, and what the crawl must yield.

A file of ``cases/`` is a list of them:

- ``serve``: URL → what it answers. ``body`` is text in ``encoding`` (utf-8), or ``base64``; ``parts`` is a list of the
  same, joined; ``repeat`` is ``head``, then ``row`` with ``{i}`` replaced by 0 … ``count`` - 1, then ``tail``. ``gzip``
  compresses it. Further ``status``, ``headers``, ``delay`` (seconds), ``redirect`` (a URL). What is not listed is a 404.
- ``content``: the same, given to the crawl as a file, with ``url`` as its location.
- ``options`` of the crawl; ``expect``, of which every key may be left out: ``exit``; the records ``urls``, ``sitemaps``
  and ``errors``, in any order unless ``ordered``, of which only the keys named are compared (``mentions`` are words of the
  message); ``url_count``, ``sitemap_count``, ``error_count``; ``urls_subset_of``; ``requested`` and ``not_requested``;
  ``max_in_flight``; ``min_in_flight``, of the most requests that are in flight at once.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import urllib.parse
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mockweb import Answer, MockWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.crawling import Result

Case = dict[str, Any]

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?")


def all_cases() -> Iterator[Case]:
    """Yield the cases of all files."""
    for file in sorted((Path(__file__).parent / "cases").glob("*.json")):
        yield from json.loads(file.read_text("utf-8"))


def payload(spec: Case) -> bytes:
    """Return the bytes that an entry of ``serve``, or a part of one, stands for."""
    if "parts" in spec:
        data = b"".join(payload(part) for part in spec["parts"])
    elif "base64" in spec:
        data = base64.b64decode(spec["base64"])
    elif "repeat" in spec:
        repeat = spec["repeat"]
        rows = "".join(repeat["row"].replace("{i}", str(i)) for i in range(repeat["count"]))
        data = (repeat.get("head", "") + rows + repeat.get("tail", "")).encode(spec.get("encoding", "utf-8"))
    else:
        data = spec.get("body", "").encode(spec.get("encoding", "utf-8"))
    return gzip.compress(data, mtime=0) if spec.get("gzip") else data


def key(url: str) -> str:
    """Return *url* with its host in ASCII and lower case, without default port or fragment."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if not host.isascii():
        host = host.encode("idna").decode()
    netloc = host if parts.port in (None, 80) else f"{host}:{parts.port}"
    return urllib.parse.urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))


def web(case: Case) -> MockWeb:
    """Return the web of *case*."""
    serve = {key(url): spec for url, spec in case.get("serve", {}).items()}

    def answer(url: str) -> Answer:
        spec = serve.get(key(url), {"status": 404, "body": "not found"})
        if "redirect" in spec:
            return Answer(b"", 302, {"Location": spec["redirect"]}, spec.get("delay", 0))
        return Answer(payload(spec), spec.get("status", 200), spec.get("headers", {}), spec.get("delay", 0))

    return MockWeb(answer=answer)


def options(case: Case) -> dict[str, Any]:
    """Return the options of *case* as the command line gives them."""
    return {name: _text(value) for name, value in case.get("options", {}).items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list) else str(value)


def problems(case: Case, result: Result, requested: list[str], max_in_flight: int) -> list[str]:
    """Return what differs between what *case* expects and what its crawl yielded."""
    expect, found = case["expect"], []
    ordered = bool(expect.get("ordered"))
    if expect.get("exit", result.exit_status) != result.exit_status:
        found.append(f"exit: expected {expect['exit']}, got {result.exit_status}")
    if "urls" in expect:
        found += _compare("urls", expect["urls"], result.pages, _same, ordered=ordered)
    if "sitemaps" in expect:
        found += _compare("sitemaps", expect["sitemaps"], result.sitemaps, _same, ordered=ordered)
    if "errors" in expect:
        found += _compare("errors", expect["errors"], result.errors, _same_error)
    for name, actual in (("url", result.pages), ("sitemap", result.sitemaps), ("error", result.errors)):
        if expect.get(f"{name}_count", len(actual)) != len(actual):
            found.append(f"{name}_count: expected {expect[f'{name}_count']}, got {len(actual)}")
    if "urls_subset_of" in expect:
        found += [f"urls: not expected {loc}" for loc in sorted(set(result.locations) - set(expect["urls_subset_of"]))]
    asked = Counter(map(key, requested))
    if "requested" in expect and asked != Counter(map(key, expect["requested"])):
        found.append(f"requested: expected {sorted(expect['requested'])}, got {sorted(asked.elements())}")
    found += [f"requested: {url} must not be" for url in expect.get("not_requested", []) if key(url) in asked]
    if max_in_flight > expect.get("max_in_flight", max_in_flight):
        found.append(f"in flight at once: at most {expect['max_in_flight']}, got {max_in_flight}")
    if max_in_flight < expect.get("min_in_flight", 0):
        found.append(f"in flight at once: at least {expect['min_in_flight']}, got {max_in_flight}")
    return found


def _compare(
    name: str, expected: list[Any], actual: list[Any], equal: Callable[[Any, Any], bool], *, ordered: bool = False
) -> list[str]:
    if ordered:
        same = len(expected) == len(actual) and all(map(equal, expected, actual))
        return [] if same else [f"{name}: expected in this order {expected}, got {actual}"]
    left, found = list(actual), []
    for record in sorted(expected, key=lambda record: -len(json.dumps(record))):  # the most definite first
        match = next((candidate for candidate in left if equal(record, candidate)), None)
        if match is None:
            found.append(f"{name}: missing {record}")
        else:
            left.remove(match)
    return found + [f"{name}: not expected {record}" for record in left]


def _same_error(expected: Case, actual: Case) -> bool:
    rest = {key: value for key, value in expected.items() if key != "mentions"}
    message = actual["message"].lower()
    return _same(rest, actual) and all(word.lower() in message for word in expected.get("mentions", []))


def _same(expected: Any, actual: Any) -> bool:
    if expected is None:
        return actual is None or actual == [] or actual == {}
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(_same(value, actual.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return expected == [] and actual is None
        return len(actual) == len(expected) and all(map(_same, expected, actual))
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return isinstance(actual, (int, float)) and abs(expected - actual) < 1e-6
    if isinstance(expected, str) and isinstance(actual, str) and "T" in expected and _DATE.fullmatch(expected):
        return _DATE.fullmatch(actual) is not None and _moment(expected) == _moment(actual)
    return bool(expected == actual)


def _moment(text: str) -> tuple[bool, datetime]:
    moment = datetime.fromisoformat(text)
    return moment.tzinfo is not None, moment.astimezone(UTC)
