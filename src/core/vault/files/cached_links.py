"""Links that a download cache is made of: the one kind of link in a checkpoint that is followed.

Hugging Face keeps what it downloads as `models--NAME/blobs/HASH`, and each version of it as links
below `models--NAME/snapshots/VERSION/`. Whoever has such a folder has its `blobs` beside it, so
a link into that very folder leads nowhere else on this machine.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_VERSIONS: Final = "snapshots"
_CONTENTS: Final = "blobs"


def cached_file(link: Path) -> Path | None:
    """The file that a link of a download cache stands for; None for any other path.

    It lies directly in the real folder `blobs` beside a folder `snapshots` that the link lies in,
    and is a regular file. Open what is given, not the link: that may change in between. A link in
    any of the folders above it is followed, as the caller named them.
    """
    try:
        text = os.readlink(link)
        folder = os.path.realpath(link.parent)
        target = Path(os.path.normpath(os.path.join(folder, text)))
        versions = target.parent.with_name(_VERSIONS)
        is_beside = versions in (Path(folder), *Path(folder).parents)
        if target.parent.name != _CONTENTS or not is_beside:
            return None
        is_plain = stat.S_ISDIR(os.lstat(target.parent).st_mode) and stat.S_ISREG(
            os.lstat(target).st_mode
        )
    except (OSError, ValueError):
        return None
    return target if is_plain else None
