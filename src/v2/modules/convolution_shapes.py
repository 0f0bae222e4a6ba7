"""Shapes of images on their way through convolutions: paddings as TensorFlow has them, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.formulas.convolutions import CONV_DEFAULTS, pair, same_padding, valid_padding

DEFAULT_FILTERS: Final[dict[int, list[list[Any]]]] = {
    height: filters for (height, width), filters in sorted(CONV_DEFAULTS.items()) if height == width
}
"""Sides of a square image, and its default filters."""


@dataclass(frozen=True)
class Convolution:
    """One convolution, as `conv_filters` describes it.

    Args:
        channels: Channels out.
        kernel: Height and width.
        stride: Down and right.
        is_padded: Whether the image is padded so that only the stride shrinks it.
    """

    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    is_padded: bool

    @classmethod
    def read(cls, described: Sequence[Any]) -> Convolution:
        """Read `[channels, kernel, stride]`, perhaps with "same" or "valid"."""
        try:
            channels, kernel, stride, *padding = described
        except (TypeError, ValueError):
            raise ConfigError(
                "an entry of conv_filters",
                expected="[channels, kernel, stride]",
                found=repr(described),
            ) from None
        if padding and padding[0] not in ("same", "valid"):
            raise ConfigError(
                "the padding in conv_filters", expected="'same' or 'valid'", found=repr(padding[0])
            )
        return cls(int(channels), pair(kernel), pair(stride), padding[:1] != ["valid"])

    def padding(self, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Rows and columns to add: left, right, top, bottom; the odd one comes last."""
        padded = same_padding(size, self.kernel, self.stride)[0]
        return padded if self.is_padded else (0, 0, 0, 0)

    def output_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Height and width of the result."""
        shape = (size, self.kernel, self.stride)
        height, width = same_padding(*shape)[1] if self.is_padded else valid_padding(*shape)
        if height < 1 or width < 1:
            raise ConfigError(
                f"conv_filters leave nothing of an image of {size[0]} x {size[1]}",
                found=f"kernel {self.kernel}, stride {self.stride}",
            )
        return height, width


def output_shape(shape: Sequence[int], filters: Sequence[Any]) -> tuple[int, int, int]:
    """Height, width and channels after all convolutions.

    Example:
        >>> output_shape((84, 84, 4), DEFAULT_FILTERS[84])
        (11, 11, 256)
    """
    height, width, channels = shape
    for described in filters:
        layer = Convolution.read(described)
        height, width = layer.output_size((height, width))
        channels = layer.channels
    return height, width, channels


def default_filters(shape: Sequence[int]) -> list[list[Any]]:
    """The default `conv_filters` of a square image `(side, side, channels)`.

    Raises:
        ConfigError: There is none for this size.
    """
    if len(shape) == 3 and shape[0] == shape[1] and shape[0] in DEFAULT_FILTERS:
        return DEFAULT_FILTERS[shape[0]]
    raise ConfigError(
        f"there are no default conv_filters for images of shape {tuple(shape)}",
        expected=f"{', '.join(map(str, DEFAULT_FILTERS))} pixels a side",
        hint="set conv_filters in the model_config, one [channels, kernel, stride] per layer.",
    )
