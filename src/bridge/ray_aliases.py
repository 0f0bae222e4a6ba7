"""The earlier place of `rlconnect.compat.ray_aliases`, for imports and commands that name it."""

from __future__ import annotations

import sys

from ..compat.ray_aliases import *  # noqa: F403
from ..compat.ray_aliases import main

if __name__ == "__main__":
    sys.exit(main())
