"""A set of files that takes the place of an earlier one as a whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from secrets import token_hex
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from sitemapcrawl.protocol.errors import SitemapError
from sitemapcrawl.protocol.reader import read

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX: Final = ".tmp"
_ABANDONED: Final = 86_400  # seconds after which nobody writes to a temporary folder any more


class FileSet:
    """The files of the set *name* in *folder*: they are made in a temporary folder within, and moved from there.

    Within, since that is the same file system whatever is mounted where; a name with a dot before it is served by no one.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.index = f"{name}.xml"
        self._temporary: Path | None = None
        self._made: list[Path] = []  # folders that were not there before, the innermost first

    @property
    def temporary(self) -> Path:
        """The folder in which the files are made; it is there from the first time on that it is asked for."""
        if self._temporary is None:
            folder = self.folder
            while not folder.exists():
                self._made.append(folder)
                folder = folder.parent
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove_abandoned()
            # Known before it is there: an interruption in between would leave it behind.
            self._temporary = self.folder / f".{self.name}-{token_hex(8)}{_SUFFIX}"
            self._temporary.mkdir(mode=0o700)
        return self._temporary

    def _remove_abandoned(self) -> None:
        """Remove the temporary folders of runs that were killed."""
        for left in self.folder.glob(f".{self.name}-*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                newest = max(path.stat().st_mtime for path in (left, *left.iterdir()))
                if time.time() - newest > _ABANDONED:
                    shutil.rmtree(left)

    def publish(self, names: list[str]) -> None:
        """Move the files *names* into place, in this order, the index last, and remove what is left of the earlier set.

        If a file cannot be moved, those that were are moved back.
        """
        surplus = self._earlier() - set(names)
        kept = self.temporary / "earlier"
        kept.mkdir()
        for name in names:
            _keep(self.folder / name, kept / name)
        moved: list[str] = []
        try:
            for name in names:
                moved.append(name)
                (self.temporary / name).replace(self.folder / name)
        except BaseException:
            for name in reversed(moved):
                self._put_back(name, kept)
            raise
        self._made.clear()
        for name in surplus:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()

    def _put_back(self, name: str, kept: Path) -> None:
        if (self.temporary / name).exists():
            return  # it was not moved
        if (kept / name).exists():
            (kept / name).replace(self.folder / name)
        else:
            (self.folder / name).unlink(missing_ok=True)

    def _earlier(self) -> set[str]:
        """Return the names of the files that the index of an earlier set lists, and that are called like ours."""
        try:
            body = (self.folder / self.index).read_bytes()
            document = read(body, "https://localhost/", max_size=None, robots=False)
        except (OSError, SitemapError):
            return set()
        if document.kind != "sitemapindex":
            return set()
        is_ours = re.compile(rf"{re.escape(self.name)}-[1-9][0-9]*\.xml(?:\.gz)?").fullmatch
        names = (urlsplit(record.loc).path.rpartition("/")[2] for record in document if not isinstance(record, SitemapError))
        return {name for name in names if is_ours(name)}

    def discard(self) -> None:
        """Remove the temporary folder, and the folder of the set if it was made for a set that is not there."""
        if self._temporary is None:
            return
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary = None
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()


def _keep(path: Path, copy: Path) -> None:
    """Have the content of *path* under the name *copy* as well, if it is there."""
    try:
        os.link(path, copy)
    except FileNotFoundError:
        pass
    except OSError:  # a file system without hard links
        shutil.copy2(path, copy)
