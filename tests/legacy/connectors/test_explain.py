"""A pipeline says how its connectors run."""

from gymnasium.spaces import Box, Discrete
from rlconnect.legacy import (
    AgentConnector,
    ImmutableActionsConnector,
    Policy,
    ViewRequirement,
    create_connectors_for_policy,
)


class Own(AgentConnector):
    """A user's connector."""

    def transform(self, ac_data):
        return ac_data


class Bolder(ImmutableActionsConnector):
    """A user's connector on top of a built-in."""

    def transform(self, ac_data):
        return super().transform(ac_data)


def test_what_slows_a_pipeline_down_is_named():
    """Built-ins are planned; a user's connector, a subclass and an odd view are told with why."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(2), {"seed": 0})
    policy.view_requirements["t"] = ViewRequirement("t")
    create_connectors_for_policy(policy, {})
    policy.agent_connectors.prepend(Own())
    policy.action_connectors.append(Bolder())

    agent = policy.agent_connectors.explain().splitlines()
    action = policy.action_connectors.explain().splitlines()

    assert agent == [
        "Own: not planned (Own does not define part()); one record at a time",
        "ObsPreprocessorConnector: planned; all agents at once",
        "StateBufferConnector: planned; all agents at once",
        "ViewRequirementAgentConnector: not planned (the view 't' of 't'); all agents at once",
    ]
    assert all(line.endswith(": planned; all agents at once") for line in action[:-1])
    assert action[-1] == "Bolder: not planned (Bolder does not define part()); one record at a time"
