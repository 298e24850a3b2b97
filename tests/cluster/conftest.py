"""A real Redis for a run of the tests, and a database of it for each of them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.cluster.cluster import Cluster, Forks
from tests.cluster.redis_server import DATABASES, RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.mockweb import MockWeb

_numbers = count()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of a database that is empty: what a test before has left running does not write to it."""
    return redis_server.url(next(_numbers) % DATABASES)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def cluster_of(forks: Forks, redis_url: str, tmp_path: Path) -> Iterator[Callable[[MockWeb | None], Cluster]]:
    """Makes a cluster for a web, whose processes are gone at the end of the test, whatever its end."""
    made = []

    def make(web: MockWeb | None = None) -> Cluster:
        made.append(Cluster(forks, redis_url, tmp_path, web))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()
