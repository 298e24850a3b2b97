"""A uniform random sample of pages in bounded memory. Pure."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Reservoir(Generic[T]):
    """Keep *size* of the things that are added, each with the same probability, without knowing how many there will be.

    Source: Li, "Reservoir-Sampling Algorithms of Time Complexity O(n(1 + log(N/n)))" (1994), algorithm L: it draws how
    many things to skip, so that a thing that is not kept costs nothing.
    """

    def __init__(self, size: int, seed: int | None = None) -> None:
        if size < 1:
            raise ValueError(f"a sample has one thing at least, not {size}")
        self._size = size
        self._random = random.Random(seed)
        self._kept: list[T] = []
        self._weight = 1.0
        self._skip = 0

    def add(self, things: Sequence[T]) -> None:
        """Offer *things* to the sample."""
        kept, position = self._kept, 0
        if len(kept) < self._size:
            position = min(self._size - len(kept), len(things))
            kept.extend(things[:position])
            if len(kept) == self._size:
                self._draw()
        while len(kept) == self._size and position + self._skip < len(things):
            position += self._skip
            kept[self._random.randrange(self._size)] = things[position]
            position += 1
            self._draw()
        if len(kept) == self._size:
            self._skip -= len(things) - position

    def take(self) -> list[T]:
        """Return the sample in random order, and keep nothing."""
        kept, self._kept = self._kept, []
        self._random.shuffle(kept)
        self._weight = 1.0
        return kept

    def _draw(self) -> None:
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self._size)
        self._skip = math.floor(math.log(1.0 - self._random.random()) / math.log1p(-self._weight))
