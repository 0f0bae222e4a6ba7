"""What every observation filter of the old stack can do, and the one that does nothing."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ...core.types import Nest


class Filter:
    """Processes observations, and may learn from them."""

    is_concurrent: ClassVar[bool] = False

    def __call__(self, x: Nest, update: bool = True) -> Nest:
        """Filter one observation, learning from it if `update`."""
        return x

    def apply_changes(self, other: Any, *args: Any, **kwargs: Any) -> None:
        """Take over what `other` learned since it was last asked."""

    def copy(self) -> Filter:
        """An independent twin."""
        return type(self)()

    def sync(self, other: Any) -> None:
        """Become equal to `other`."""

    def reset_buffer(self) -> None:
        """Count what is learned from now on as new."""

    def clear_buffer(self) -> None:
        """An older name of `reset_buffer`."""
        self.reset_buffer()

    def as_serializable(self) -> Filter:
        """A twin without locks."""
        return self


class NoFilter(Filter):
    """Changes nothing.

    Example:
        >>> NoFilter()(3)
        3
    """

    is_concurrent: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        self.args: Final = args
