"""Resized frames equal what OpenCV and scikit-image made of them."""

from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.arrays.resizing import AreaResizer, SmoothResizer
from rlconnect.core.errors import SpaceError

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "formulas" / "pixels.npz")
SHRINKING = [(160, 84), (84, 42), (84, 20), (60, 15)]
SIZES = [*SHRINKING, (40, 50)]


@pytest.mark.parametrize(("old", "new"), SHRINKING)
def test_area_equals_opencv_to_the_bit(old, new):
    """Where frames shrink, 8-bit counts are OpenCV's own."""
    result = AreaResizer((old, old), (new, new))(RECORDED[f"{old}/{new}/frame"])

    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, RECORDED[f"{old}/{new}/area"])


def test_area_is_within_one_count_of_opencv_where_frames_grow():
    """OpenCV enlarges in fixed point; floats end at most one count away."""
    result = AreaResizer((40, 40), (50, 50))(RECORDED["40/50/frame"])

    gap = np.abs(result.astype(int) - RECORDED["40/50/area"])
    assert gap.max() <= 1


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_area_of_floats_equals_opencv(old, new):
    """Float frames stay floats, within float32 rounding."""
    unit = (RECORDED[f"{old}/{new}/frame"][..., :1] / 255).astype(np.float32)

    result = AreaResizer((old, old), (new, new))(unit)

    assert result.dtype == np.float32
    np.testing.assert_allclose(result, RECORDED[f"{old}/{new}/area_float"], atol=1e-6)


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_smooth_equals_skimage(old, new):
    """Frames of 8 bits come out in 0..1, floats as they are, as scikit-image gives them."""
    frame = RECORDED[f"{old}/{new}/frame"]
    unit = (frame[..., :1] / 255).astype(np.float32)
    resizer = SmoothResizer([(old, old), (new, new)])

    counts, floats = resizer(frame), resizer(unit)

    assert counts.dtype == np.float64
    assert floats.dtype == np.float32
    np.testing.assert_allclose(counts, RECORDED[f"{old}/{new}/smooth"], atol=1e-6)
    np.testing.assert_allclose(floats, RECORDED[f"{old}/{new}/smooth_float"], atol=1e-6)


@pytest.mark.parametrize(
    "resizer", [AreaResizer((12, 9), (5, 4)), SmoothResizer([(12, 9), (5, 4)])]
)
def test_frames_may_have_leading_axes_and_be_tensors(resizer, rng):
    """A batch holds its frames, and torch gives numpy's numbers."""
    torch = pytest.importorskip("torch")
    frames = rng.integers(0, 256, (2, 3, 12, 9, 2), dtype=np.uint8)

    batch = resizer(frames)

    assert batch.shape == (2, 3, 5, 4, 2)
    np.testing.assert_allclose(batch[1, 2], resizer(frames[1, 2]), rtol=1e-12)
    np.testing.assert_allclose(resizer(torch.from_numpy(frames)).numpy(), batch, rtol=1e-12)


def test_frames_of_unknown_scale_are_refused():
    """Only 8-bit counts and floats say what full brightness is."""
    with pytest.raises(SpaceError, match="int16"):
        SmoothResizer([(2, 2), (1, 1)])(np.zeros((2, 2, 1), np.int16))
