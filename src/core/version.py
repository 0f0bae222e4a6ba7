"""The version of rlconnect, written down here and nowhere else.

The build reads it from this file, the front door shows it, the vault writes it into checkpoints.
"""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0.dev0"
