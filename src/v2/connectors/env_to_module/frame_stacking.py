"""Frames stacked from running episodes, for acting."""

from __future__ import annotations

from ..common.frame_stacking import FrameStacking


class FrameStackingEnvToModule(FrameStacking):
    """`FrameStacking` of running episodes, for acting."""

    part = FrameStacking.part
