"""Images that were packed as JPEG, each measured before it is unpacked (Pillow)."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget, corrupt
from ...core.errors import LimitExceededError
from ...core.importing.torch_needed import extra_needed
from ...core.types import Array

_SCAN: Final = b"\xff\xda"
_BYTES_A_STEP: Final = 4_096
_FOREIGN_ERRORS: Final = (OSError, ValueError, SyntaxError, TypeError, IndexError, KeyError)
"""What Pillow raises over a file that is damaged."""


def unpacked(
    rows: Sequence[bytes], shape: tuple[int, ...] | None, budget: Budget, name: str
) -> Array:
    """Images as one array, `(N, height, width, channels)`.

    Without a `shape` all are to have the first one's.
    """
    images: Array | None = None
    for number, packed in enumerate(rows):
        what = f"image {number} of {name!r}"
        image = _opened(packed, what)
        image_shape = (image.height, image.width, len(image.getbands()))
        if shape is None:
            shape = image_shape
        if image_shape != tuple(shape):
            raise corrupt(
                f"{what} has another shape", expected=str(tuple(shape)), found=str(image_shape)
            )
        size = int(np.prod(image_shape, dtype=object))
        if images is None:
            budget.spend(len(rows) * size, f"{name!r}")
            images = np.empty((len(rows), *image_shape), np.uint8)
        # An image may come in many passes, each of which goes over all of it.
        budget.work(1 + packed.count(_SCAN) * size // _BYTES_A_STEP, name)
        try:
            images[number] = np.asarray(image).reshape(image_shape)
        except _FOREIGN_ERRORS as error:
            raise corrupt(f"{what} is cut or damaged", found=str(error)[:160]) from None
    return np.zeros((0, *(shape or ())), np.uint8) if images is None else images


def _opened(packed: bytes, what: str) -> Any:
    """An image whose header was read, and no more."""
    with extra_needed("PIL", f"reading {what}, a JPEG,"):
        from PIL import Image
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return Image.open(io.BytesIO(packed), formats=("JPEG",))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise LimitExceededError(f"{what} is too large", found=str(error)[:160]) from None
    except _FOREIGN_ERRORS:
        raise corrupt(f"{what} is no JPEG", found=packed[:8]) from None
