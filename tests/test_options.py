from __future__ import annotations

import pytest

from sitemapcrawl import default_settings
from sitemapcrawl.options import OPTIONS, SETTINGS, parse_options, parse_settings

URL = "https://example.com/sitemap.xml"


def parse(**arguments):
    options, errors = parse_options({"url": URL, **arguments})
    return options, [error.message for error in errors]


def test_defaults_are_those_of_the_settings() -> None:
    options, messages = parse()
    assert messages == []
    assert (options.max_depth, options.max_sitemaps, options.max_urls) == (10, 50_000, 10_000_000)
    assert (options.strict, options.multi_thread, options.fetch_timeout) == (False, True, None)
    assert options.given == {"url"}


def test_every_option_but_the_url_has_a_default() -> None:
    for option in OPTIONS[1:]:
        assert hasattr(default_settings, f"SITEMAPCRAWL_{option.name.upper()}"), option.name


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("strict", "True", True),
        ("strict", "0", False),
        ("strict", True, True),
        ("multi_thread", " no ", False),
        ("max_depth", "3", 3),
        ("max_depth", 3, 3),
        ("max_urls", "0", 0),
        ("max_response_size", "9223372036854775807", 9_223_372_036_854_775_807),
        ("fetch_timeout", "65535", 65_535),
        ("user_agent", "me/1", "me/1"),
        ("user_agent", "", default_settings.SITEMAPCRAWL_USER_AGENT),
        ("errors", "", None),
        ("sample", "5", 5),
    ],
)
def test_value_is_read(name: str, value: object, expected: object) -> None:
    options, messages = parse(**{name: value})
    assert (getattr(options, name), messages) == (expected, [])


@pytest.mark.parametrize(
    ("value", "patterns"),
    [
        (r"\.xml$", [r"\.xml$"]),
        ('["a", "b"]', ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ("[]", []),
        ("", []),
        ("[0-9]+", ["[0-9]+"]),  # no JSON
        ("[1]", ["[1]"]),  # JSON, but no array of text
        ("q" * 1_000, ["q" * 1_000]),
    ],
    ids=lambda value: str(value)[:12],
)
def test_patterns_are_one_or_several(value: object, patterns: list[str]) -> None:
    options, messages = parse(follow=value)
    assert ([pattern.pattern for pattern in options.follow], messages) == (patterns, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strict", "perhaps"),
        ("strict", ""),
        ("max_depth", "0"),
        ("max_depth", "-7"),
        ("max_depth", "1_0"),
        ("max_depth", "٣"),  # int() takes it
        ("max_depth", True),
        ("max_depth", "3.0"),
        ("max_sitemaps", "-1"),
        ("max_response_size", "50MB"),
        ("fetch_timeout", "65536"),
        ("follow", "(news"),
        ("rules", '["a", "x{2,1}"]'),
        ("rules", [1]),
        ("follow", "q" * 1_001),
        ("max_dept", "3"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_wrong_value_is_named_and_the_default_stands(name: str, value: object) -> None:
    options, messages = parse(**{name: value})
    assert len(messages) == 1
    assert name in messages[0]
    assert name not in options.given


def test_every_wrong_option_is_collected() -> None:
    _, messages = parse(max_depth="0", colour="red", rules="(", max_urls="5")
    assert len(messages) == 3


def test_names_that_begin_with_an_underscore_pass() -> None:
    assert parse(_job="17")[1] == []


def test_missing_url_and_unreadable_content_are_wrong() -> None:
    _, errors = parse_options({"content": "/no/such/file"})
    assert [error.url for error in errors] == [None, None]
    assert "url" in errors[0].message
    assert "'/no/such/file'" in errors[1].message


def test_setting_is_a_default_that_an_argument_overrides() -> None:
    settings = {"SITEMAPCRAWL_MAX_DEPTH": "4", "SITEMAPCRAWL_STRICT": True}
    options, errors = parse_options({"url": URL, "max_depth": "2"}, settings)
    assert (options.max_depth, options.strict, errors) == (2, True, [])
    assert options.given == {"url", "max_depth", "strict"}


def test_wrong_setting_is_named() -> None:
    _, errors = parse_options({"url": URL}, {"SITEMAPCRAWL_MAX_DEPTH": 0})
    assert "SITEMAPCRAWL_MAX_DEPTH" in errors[0].message


def test_description_is_one_line_without_what_is_unset() -> None:
    options, _ = parse(follow="news")
    assert options.describe().startswith(f"url={URL!r} strict=False follow=['news'] max_depth=10 ")
    assert "errors" not in options.describe().replace("max_validation_errors", "")


@pytest.mark.parametrize(
    ("name", "value"), [("user_agent", "me\r\nX-Other: 1"), ("user_agent", "\x00"), ("follow", "[" * 100_000)]
)
def test_value_that_would_break_something_is_refused(name: str, value: str) -> None:
    _, [message] = parse(**{name: value})
    assert message.startswith(f"option {name}: ")


def test_every_setting_that_is_no_option_is_checked_and_has_a_default_that_is_right() -> None:
    options = {f"SITEMAPCRAWL_{option.name.upper()}" for option in OPTIONS}
    names = {name for name in vars(default_settings) if name.startswith("SITEMAPCRAWL_")} - options
    assert names == set(SETTINGS)
    for name in names:
        default = getattr(default_settings, name)
        assert SETTINGS[name](default) == default


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BATCH_SIZE", "50", 50),
        ("MEMORY_TARGET", 0, 0),
        ("PROGRESS_ENABLED", "no", False),
        ("TIMEOUT_RETRIES", "5, 20.5", [5, 20.5]),
        ("TIMEOUT_RETRIES", (5,), [5]),
        ("SITEMAP_FIELDS", '{"loc": "link"}', {"loc": "link"}),
        ("SITEMAP_BASE_URL", "https://example.com", "https://example.com/"),
        ("SITEMAP_STYLESHEET", "/style.xsl", "/style.xsl"),
    ],
)
def test_setting_is_read(name: str, value: object, expected: object) -> None:
    assert parse_settings({f"SITEMAPCRAWL_{name}": value, "OTHER": 1}) == ({f"SITEMAPCRAWL_{name}": expected}, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BATCH_SIZE", "abc"),
        ("BATCH_SIZE", None),
        ("CONCURRENT_PAGES", 0),
        ("WAITING_PAGES", 1.5),
        ("MEMORY_TARGET", "40MB"),
        ("TIMEOUT_FIRST", "3s"),
        ("TIMEOUT_RETRIES", "soon"),
        ("TIMEOUT_RETRIES", 10),
        ("PROGRESS_ENABLED", "maybe"),
        ("SUMMARY_ERRORS", -1),
        ("LEASE", "soon"),
        ("MAX_DEATHS", 0),
        ("SITEMAP_FIELDS", "loc"),
        ("SITEMAP_FIELDS", {"address": "url"}),
        ("SITEMAP_BASE_URL", "example.com"),
        ("SITEMAP_STYLESHEET", "a b"),
        ("BATCHSIZE", 10),
    ],
)
def test_setting_that_is_wrong_is_told(name: str, value: object) -> None:
    values, errors = parse_settings({f"SITEMAPCRAWL_{name}": value})
    assert [f"setting SITEMAPCRAWL_{name}: " in error.message for error in errors] == [True]
    assert all(value == getattr(default_settings, name) for name, value in values.items())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("max_url", "did you mean max_urls?"),
        ("max-depth", "did you mean max_depth?"),
        ("STRICT", "did you mean strict?"),
        ("JOBDIR", "a setting is given as -s JOBDIR=…"),
    ],
)
def test_misspelt_option_gets_a_hint(name: str, hint: str) -> None:
    _, messages = parse(**{name: "1"})
    assert messages == [f"option {name}: there is no such option (value '1'); {hint}"]


def test_option_that_is_like_no_other_gets_no_hint() -> None:
    _, messages = parse(colour="red")
    assert messages == ["option colour: there is no such option (value 'red')"]


@pytest.mark.parametrize(("name", "meant"), [("MAX_URL", "MAX_URLS"), ("BATCHSIZE", "BATCH_SIZE")])
def test_misspelt_setting_gets_a_hint(name: str, meant: str) -> None:
    _, errors = parse_settings({f"SITEMAPCRAWL_{name}": 1})
    assert errors[0].message.endswith(f"there is no such setting (value 1); did you mean SITEMAPCRAWL_{meant}?")
