"""What Ray has no class for: the parts that `rlconnect.ray_pieces` brings to it, by name."""

from __future__ import annotations

from typing import Any, Final

from ...core.trust import by_path
from ...v2.saving.class_names import RAY_PIECES

PIECE_HOMES: Final = {
    "AdaptActions": "...v2.connectors.module_to_env.adapt_actions",
    "AdaptObservations": "...v2.connectors.env_to_module.adapt_observations",
    "AdaptRewards": "...v2.connectors.learner.adapt_rewards",
    "AddPreviousSteps": "...v2.connectors.env_to_module.add_previous_steps",
    "ClipRewards": "...v2.connectors.learner.clip_rewards",
    "GetActions": "...v2.connectors.module_to_env.get_actions",
    "LegacyActionConnectorV2": "..wrap.action_connector",
    "LegacyAgentConnectorV2": "..wrap.agent_connector",
    "LegacyColumnsV2": "..wrap.legacy_columns",
    "MeanStdFilter": "...v2.connectors.env_to_module.mean_std_filter",
    "NormalizeAndClipActions": "...v2.connectors.module_to_env.normalize_and_clip_actions",
    "PreprocessObservations": "...v2.connectors.env_to_module.preprocess_observations",
    "SquashGreedyActions": "...v2.connectors.module_to_env.squash_greedy_actions",
}
"""Piece -> the module of ours it lives in."""

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

    Args:
        part: One that `has_face`; changed.
    """
    kind = type(part)
    saved_as = (RAY_PIECES, kind.__name__)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    part.__class__ = type(kind.__name__, (kind,), {**names, "saved_as": saved_as})
    return part
