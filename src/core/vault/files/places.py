"""Where a checkpoint lies: a path, an archive, or a URL, as something on the local disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...errors import CheckpointError
from ..decode.load_limits import Limits

_ARCHIVES: Final = (".zip", ".tgz", ".tar.gz", ".tar", ".tar.bz2", ".tar.xz")

# Readers of URLs and archives are imported where one is met: a fresh process acts sooner.


def is_elsewhere(path: str | os.PathLike[str]) -> bool:
    """True if the files of `path` are on the local disk only while they are read.

    Example:
        >>> is_elsewhere("s3://bucket/run/checkpoint_000010"), is_elsewhere("C:/x")
        (True, False)
    """
    text = os.fspath(path)
    if "://" in text:
        from .remote import is_url

        return is_url(text)
    return text.lower().endswith(_ARCHIVES) and os.path.isfile(text)


@contextmanager
def on_disk(path: str | os.PathLike[str], limits: Limits) -> Iterator[Path]:
    """The folder or file that `path` names, for as long as the block lasts.

    What a URL or an archive holds lies in a folder of ours meanwhile; errors tell of `path`.
    """
    text = os.fspath(path)
    if not is_elsewhere(path):
        yield Path(os.path.abspath(text))
        return
    if "://" in text:
        from .remote import fetched

        with fetched(text, limits) as local, on_disk(local, limits) as place, _told(text, place):
            yield place
        return
    from .archives import unpacked

    with unpacked(text, limits) as local, _told(os.path.abspath(text), local):
        yield local


def named(path: str | os.PathLike[str]) -> str:
    """A path as records and messages tell it: in full, or the URL."""
    text = os.fspath(path)
    return text if "://" in text and is_elsewhere(text) else os.path.abspath(text)


@contextmanager
def _told(text: str, local: Path) -> Iterator[None]:
    try:
        yield
    except CheckpointError as error:
        error.message = error.message.replace(str(local), text)
        raise
