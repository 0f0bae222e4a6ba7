"""Components that Ray does not have, provided by `rlconnect.ray_pieces`, by name."""

from __future__ import annotations

from typing import Any, Final

from ...core.trust import by_path
from ...v2.saving.class_names import RAY_PIECES, pieces_without_rays

PIECE_HOMES: Final = {
    **{name: f"...v2{home}" for name, home in pieces_without_rays().items()},
    # Ray has a class of that name, which cannot do all that ours does.
    "GetActions": "...v2.connectors.module_to_env.get_actions",
    "MeanStdFilter": "...v2.connectors.env_to_module.mean_std_filter",
    "NormalizeAndClipActions": "...v2.connectors.module_to_env.normalize_and_clip_actions",
    "LegacyActionConnectorV2": "..wrap.action_connector",
    "LegacyAgentConnectorV2": "..wrap.agent_connector",
    "LegacyColumnsV2": "..wrap.legacy_columns",
}
"""Piece -> its module in rlconnect; its name has no path in Ray."""

MODULE_HOMES: Final = {
    "DescribedTorchRLModule": "...v2.modules.described",
    "LegacyPolicyModule": "..wrap.policy_module",
}
"""Module of a network -> the module of ours it lives in."""


own_class: Final = by_path({**PIECE_HOMES, **MODULE_HOMES}, __package__)
"""Our class behind a name of `rlconnect.ray_pieces`; None if there is none."""


def has_face(part: Any) -> bool:
    """Whether a piece or module is one that `rlconnect.ray_pieces` brings to Ray."""
    return type(part) is own_class(type(part).__name__)


def use_face(part: Any) -> Any:
    """Let a piece or module be saved as the class of `rlconnect.ray_pieces`; it computes as before.

    It is one that `has_face`, and is changed.
    """
    kind = type(part)
    saved_as = (RAY_PIECES, kind.__name__)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    part.__class__ = type(kind.__name__, (kind,), {**names, "saved_as": saved_as})
    return part
