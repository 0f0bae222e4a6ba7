"""Earlier actions and rewards reach a module from an actor's columns as from its pipelines."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.program import compile_actor
from rlconnect.bridge.triple import V2Triple
from rlconnect.v2 import FlattenObservations, PrevActionsPrevRewards, TorchRLModule
from rlconnect.v2.connectors.env_to_module.add_previous_steps import AddPreviousSteps
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline

from tests.bridge.actor.test_v2_actor import module_for, through_pipelines

SPACE = spaces.Box(-1, 1, (2,), np.float32)


class Mindful(TorchRLModule):
    """A user's module that takes earlier steps by themselves."""

    def setup(self):
        """Weights that tell the columns apart."""
        torch.manual_seed(4)
        self.own = torch.nn.Linear(4, 3)

    def _forward(self, batch, **kwargs):
        steps = [batch["prev_actions"].float()[:, None], batch["prev_rewards"][:, None]]
        return {"action_dist_inputs": self.own(torch.cat([batch["obs"], *steps], -1)) * 3}


def courses(fast, slow, rng, *, rows=3):
    """Hold both to one another, rewards included; a slot ends on the way."""
    seen = set()
    for step in range(6):
        obs = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
        reward = None if step == 0 else rng.normal(size=rows)
        ended = np.arange(rows) == 1 if step == 3 else None

        mine, its = (each.act(obs, reward=reward, terminated=ended) for each in (fast, slow))

        assert np.array_equal(mine, its), step
        seen |= set(mine.tolist())
    assert len(seen) > 1  # else the columns may not matter


@pytest.mark.parametrize(("actions", "rewards", "start"), [(1, 1, 0), (3, 2, 5), (1, 4, -1)])
@pytest.mark.parametrize("lstm", [False, True])
def test_previous_steps_in_observations(actions, rewards, start, lstm, rng):
    """One-hot rows and rewards in front of a flattening: actor, tensors and pipelines agree."""
    acts = spaces.Discrete(3, start=start)
    pieces = [
        PrevActionsPrevRewards(n_prev_actions=actions, n_prev_rewards=rewards),
        FlattenObservations(),
    ]
    to_module = env_to_module_pipeline(SPACE, acts, custom=pieces)
    torch.manual_seed(1)
    module = module_for(
        to_module.observation_space, spaces.Discrete(3), use_lstm=lstm, max_seq_len=4
    )
    for parameter in module.parameters():  # none so even that one action is always the best
        torch.nn.init.normal_(parameter, std=2.0 if parameter.ndim > 1 else 0.1)
    to_env = module_to_env_pipeline(SPACE, acts)
    actor = Actor.from_v2(to_module, module, to_env)

    assert not actor.missing
    courses(actor, through_pipelines(V2Triple(to_module, module, to_env)), rng)
    as_program(actor, rng)


def test_previous_steps_as_columns(rng):
    """A module that takes them as columns of their own finds them."""
    acts = spaces.Discrete(3)
    to_module = env_to_module_pipeline(SPACE, acts, custom=[AddPreviousSteps()])
    module = Mindful(observation_space=SPACE, action_space=acts)
    to_env = module_to_env_pipeline(SPACE, acts)
    actor = Actor.from_v2(to_module, module, to_env)

    assert not actor.missing
    courses(actor, through_pipelines(V2Triple(to_module, module, to_env)), rng)
    as_program(actor, rng)


def as_program(actor, rng):
    """Hold the compiled step to the actor."""
    program = compile_actor(actor)
    actor.reset()
    states = program.start(4)
    for step in range(4):
        obs = rng.uniform(-1, 1, (4, 2)).astype(np.float32)
        reward = rng.normal(size=4).astype(np.float32)
        first = np.full(4, step == 0)
        found, states = program(obs, states, reward=reward, first=first)
        assert np.array_equal(found.numpy(), actor.act(obs, reward=reward))


def test_rows_that_stay_rows_go_through_pipelines():
    """The piece has no batched form without a flattening behind it."""
    acts = spaces.Discrete(3)
    to_module = env_to_module_pipeline(SPACE, acts, custom=[PrevActionsPrevRewards()])
    module = module_for(spaces.Box(-1, 1, (6,), np.float32), acts)

    with pytest.warns(UserWarning, match="PrevActionsPrevRewards has no batched form"):
        Actor.from_v2(to_module, module, None)


def test_two_beginnings_have_no_batched_form():
    """A column that starts in one way for one piece and in another for the next is named."""
    acts = spaces.Discrete(3)
    pieces = [AddPreviousSteps(), PrevActionsPrevRewards(), FlattenObservations()]
    to_module = env_to_module_pipeline(SPACE, acts, custom=pieces)
    module = module_for(to_module.observation_space, acts)

    with pytest.warns(UserWarning, match="a second view of 'actions'"):
        Actor.from_v2(to_module, module, None)
