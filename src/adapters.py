"""Steps that absorb a change of environment, for `rlconnect.adapt`: see `core/adapters`."""

from .core.adapters import *  # noqa: F403  # what it exports, under the name that users know
from .core.adapters import __all__ as __all__
