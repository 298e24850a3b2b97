"""Pipelines that tests give to workers."""

from __future__ import annotations

import os
from typing import Any


class Poison:
    """One page takes down every worker that comes upon it."""

    def process_item(self, item: Any) -> Any:
        if "poison" in item.loc:
            os._exit(137)
        return item
