"""The pipeline from a module's outputs to actions, and its default order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ....core.spaces.text import short_space
from ..columnar import is_columnar
from ..common.agent_to_module_mapping import ModuleToAgentUnmapping
from ..common.tensor_to_numpy import TensorToNumpy
from ..connector import ConnectorV2
from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2
from .answering_run import answering_run
from .get_actions import GetActions
from .listify_data_for_vector_env import ListifyDataForVectorEnv
from .normalize_and_clip_actions import NormalizeAndClipActions
from .remove_time_rank import RemoveSingleTsTimeRankFromBatch
from .unbatch_to_individual_items import UnBatchToIndividualItems


class ModuleToEnvPipeline(ConnectorPipelineV2):
    """Leads from the outputs of a module to the actions of an environment's next step.

    Example:
        >>> ModuleToEnvPipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def _room(self) -> Room:
        return Room(is_columnar, answering_run)

    @override
    def _left_by(self, piece: Any) -> str:
        return short_space(getattr(piece, "action_space", None) or "")


BEFORE: Final[tuple[type[ConnectorV2], ...]] = (
    GetActions,
    TensorToNumpy,
    UnBatchToIndividualItems,
    ModuleToAgentUnmapping,  # only for several agents
    RemoveSingleTsTimeRankFromBatch,
)
"""The default pieces before the user's own."""

AFTER: Final[tuple[type[ConnectorV2], ...]] = (NormalizeAndClipActions, ListifyDataForVectorEnv)
"""The default pieces after the user's own."""


def module_to_env_pipeline(
    input_observation_space: Space[Any] | None = None,
    input_action_space: Space[Any] | None = None,
    *,
    custom: Iterable[ConnectorV2] = (),
    is_multi_agent: bool = False,
    normalize_actions: bool = True,
    clip_actions: bool = False,
    add_defaults: bool = True,
) -> ModuleToEnvPipeline:
    """Build the pipeline from a module's outputs to actions.

    Args:
        input_observation_space: The environment's.
        input_action_space: The environment's.
        custom: The user's own pieces; they come after items are apart, before normalising.
        is_multi_agent: Whether several agents act.
        normalize_actions: See `NormalizeAndClipActions`.
        clip_actions: See `NormalizeAndClipActions`.
        add_defaults: Whether there are default pieces at all.
    """
    settings: dict[type[ConnectorV2], dict[str, Any]] = {
        NormalizeAndClipActions: {
            "normalize_actions": normalize_actions,
            "clip_actions": clip_actions,
        }
    }

    def built(order: Iterable[type[ConnectorV2]]) -> list[ConnectorV2]:
        return [
            cls(**settings.get(cls, {}))
            for cls in (order if add_defaults else ())
            if cls is not ModuleToAgentUnmapping or is_multi_agent
        ]

    return ModuleToEnvPipeline(
        input_observation_space,
        input_action_space,
        connectors=[*built(BEFORE), *custom, *built(AFTER)],
    )
