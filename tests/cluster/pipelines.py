"""Components that tests give to workers."""

from __future__ import annotations

import os
from typing import Any


class Poison:
    """One page takes down every worker that comes upon it."""

    def process_item(self, item: Any) -> Any:
        if "poison" in item.loc:
            os._exit(137)
        return item


class FailsAtTheEnd:
    """The end of the first attempt at a document whose name is ``bad`` fails in a way that nobody knows."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> FailsAtTheEnd:
        store = crawler.spider.store
        done = store.done

        def fail(document: Any, **arguments: Any) -> None:
            if "bad" in document.key and document.attempt == 1:
                raise LookupError("nobody knows")
            done(document, **arguments)

        store.done = fail
        return cls()
