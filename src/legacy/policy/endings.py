"""Episodes that have ended and that have not been reset.

A stateful policy that continues into the next episode silently computes wrong actions. After
`terminated` or `truncated` was passed, the environment has to be reset before its next
observation.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ...core.errors import PipelineError
from ...core.runtime.sessions import MAX_SESSIONS

if TYPE_CHECKING:
    from .policy import Policy

_NOW = ("obs", "new_obs")


def remembers(policy: Policy) -> bool:
    """Whether what a policy answers depends on more than the observation at hand.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.legacy import Policy
        >>> lstm = {"model": {"use_lstm": True}}
        >>> remembers(Policy(Box(-1, 1, (2,)), Discrete(2), lstm))
        True
        >>> remembers(Policy(Box(-1, 1, (2,)), Discrete(2)))
        False
    """
    if policy.is_recurrent():
        return True
    config = policy.config
    if config.get("_enable_rl_module_api") or config.get("enable_rl_module_and_learner"):
        return False  # RLModule policies list every column and read the observation
    return any(
        view.used_for_compute_actions
        and ((view.data_col or name) not in _NOW or any(shift != 0 for shift in view.shift_arr))
        for name, view in policy.view_requirements.items()
    )


class Endings(OrderedDict[Any, dict[Any, Any]]):
    """The slots of one policy whose episode is over and whose memory is still there.

    By environment: its agents, each with what stood for its episode when that ended.
    """

    def note(self, policy: Policy, env_id: Any, agent_id: Any) -> None:
        """Take note that the episode of a slot is over."""
        if remembers(policy):
            self.setdefault(env_id, {})[agent_id] = _memory(policy, env_id, agent_id)
            if len(self) > MAX_SESSIONS:  # environments that never return are never checked
                self.popitem(last=False)

    def forget(self, env_id: Any) -> None:
        """An environment was reset."""
        self.pop(env_id, None)

    def check(self, policy: Policy, env_id: Any, agent_id: Any) -> None:
        """Raise an error if the episode of this agent has ended."""
        agents = self.get(env_id, {})
        memory = agents.get(agent_id)
        if memory is None or memory is not _memory(policy, env_id, agent_id):
            agents.pop(agent_id, None)
            if not agents:
                self.pop(env_id, None)
            return  # it was reset since: what is remembered is no longer the same
        raise PipelineError(
            f"the episode of agent {agent_id!r} in environment {env_id!r} is over, but policy "
            f"{policy.name!r} still remembers it",
            expected="a reset between two episodes of a policy with a memory",
            found="terminated or truncated at the last step, and now another observation",
            hint=f"call policy.reset_connectors({env_id!r}) when an episode ends.",
            env_id=env_id,
            agent_id=agent_id,
        )


def _memory(policy: Policy, env_id: Any, agent_id: Any) -> Any:
    """Return an object that identifies a running episode; it changes at each reset."""
    pipeline = policy.agent_connectors
    for connector in pipeline.connectors if pipeline is not None else ():
        episode = connector.episode(env_id, agent_id)
        if episode is not None:
            return episode
    return None
