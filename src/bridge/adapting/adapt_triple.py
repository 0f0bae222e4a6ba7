"""An adapter around the pipelines of a triple of the new stack."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from gymnasium.spaces import Space

from ...core.adapters import AdapterChain
from ...core.errors import PieceError
from ...legacy.connectors.agent.adapt_observations import AdaptObservationsAgentConnector
from ...legacy.connectors.context import ConnectorContext
from ...v2.connectors.env_to_module.adapt_observations import AdaptObservations
from ...v2.connectors.module_to_env.adapt_actions import AdaptActions
from ...v2.connectors.module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ..triple import V2Triple
from ..wrap.agent_connector import LegacyAgentConnectorV2


def adapted_triple(triple: V2Triple, chain: AdapterChain, sees: Space[Any]) -> V2Triple:
    """A copy of a triple with an adapter around it.

    `sees` is what the new environment gives. A chain that renames agents, or adapts a reward nobody
    in the triple looks at, is refused.
    """
    if chain.agents:
        raise PieceError(
            "agents of a triple cannot be renamed",
            found=f"{dict(chain.agents)}",
            hint="the policy_mapping_fn says which module an agent has.",
        )
    policy_obs, gives = triple.observation_space, triple.action_space
    adapted = copy.deepcopy(triple).with_pipelines()
    env_to_module, module_to_env = adapted.env_to_module, adapted.module_to_env
    if chain.reward:
        _adapt_rewards(env_to_module, chain, policy_obs)
    env_to_module.input_observation_space = sees
    if chain.obs:
        env_to_module.prepend(AdaptObservations(chain=AdapterChain(obs=chain.obs)))
    if chain.action:
        piece = AdaptActions(chain=AdapterChain(action=chain.action), policy_action_space=gives)
        if module_to_env[ListifyDataForVectorEnv.__name__]:
            module_to_env.insert_before(ListifyDataForVectorEnv, piece)
        else:
            module_to_env.append(piece)
    return replace(adapted, certificate={})


def _adapt_rewards(env_to_module: Any, chain: AdapterChain, space: Space[Any]) -> None:
    """Adapt the rewards that a wrapped policy sees; learners have a piece of their own."""
    if not env_to_module[LegacyAgentConnectorV2]:
        raise PieceError(
            "no piece of the triple looks at rewards",
            found=f"reward={list(chain.reward)}",
            hint="AdaptRewards in the learner pipeline adapts what a learner gets.",
        )
    connector = AdaptObservationsAgentConnector(
        ConnectorContext(observation_space=space),
        chain=AdapterChain(reward=chain.reward),
        observation_space=space,
    )
    env_to_module.prepend(LegacyAgentConnectorV2(connector=connector))
