from __future__ import annotations

import importlib.util
import runpy
from typing import Any

import pytest
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from sitemapcrawl import default_settings


def test_components_exist() -> None:
    paths = [default_settings.SCRAPY_SETTINGS[name] for name in ("DOWNLOADER", "ITEM_PROCESSOR", "LOG_FORMATTER")]
    for name in ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "FEED_EXPORTERS"):
        for key, value in default_settings.SCRAPY_SETTINGS[name].items():
            paths.append(value if isinstance(value, str) else key)
    for path in paths:
        assert load_object(path)


def test_what_a_project_sets_stands() -> None:
    settings = Settings(
        {"REDIRECT_MAX_TIMES": 3, "EXTENSIONS": {"mine.Extension": 5}, "FEED_EXPORTERS": {"csv": "mine.Exporter"}}
    )
    default_settings.apply(settings)
    assert settings.getint("REDIRECT_MAX_TIMES") == 3
    assert settings.getint("RETRY_TIMES") == 2
    assert settings["EXTENSIONS"]["mine.Extension"] == 5
    assert settings["EXTENSIONS"]["sitemapcrawl.extensions.outcome.Outcome"] == 0
    assert settings["FEED_EXPORTERS"]["csv"] == "mine.Exporter"


def test_applied_twice_is_applied_once() -> None:
    settings = Settings()
    default_settings.apply(settings)
    once = settings.copy_to_dict()
    default_settings.apply(settings)
    assert settings.copy_to_dict() == once


@pytest.mark.parametrize("component", [RetryMiddleware, "scrapy.downloadermiddlewares.retry.RetryMiddleware"])
@pytest.mark.parametrize("order", [None, 600])
def test_a_project_that_says_what_tries_again_is_left_alone(component: Any, order: int | None) -> None:
    given = {component: order, "mine.Retry": 550}
    settings = Settings({"DOWNLOADER_MIDDLEWARES": given})
    default_settings.apply(settings)
    middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
    assert default_settings.PATIENT_RETRY_MIDDLEWARE not in middlewares
    assert {name: middlewares[name] for name in given} == given
    assert middlewares["sitemapcrawl.downloadermiddlewares.body.BodyMiddleware"] == 595


def test_cluster_without_scrapy_redis_ends_as_a_wrong_option_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "scrapy_redis" else find_spec(name))
    with pytest.raises(SystemExit) as info:
        runpy.run_module("settings.cluster")
    assert info.value.code == 2
    assert "a cluster needs scrapy-redis" in capsys.readouterr().err
