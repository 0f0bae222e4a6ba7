"""What threads share of a checkpoint: policies, actors, modules and pipelines, to be played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from rlconnect.bridge.actor.actor import Actor
from rlconnect.core import nest
from rlconnect.core.arrays.batching import batch
from rlconnect.legacy import batch_policy_inference, local_policy_inference
from rlconnect.legacy.policy.default_connectors import create_connectors_for_policy
from rlconnect.v2 import SingleAgentEpisode

from tests.threads.sharing import drawn

STEPS = 6
ROWS = 3

Play = Callable[[int, Any], Sequence[Any]]


def policy_plays(policy: Any, *, stages: bool = True) -> Iterator[tuple[str, Play]]:
    """Everything a policy of the old stack answers."""
    if policy.agent_connectors is None or policy.action_connectors is None:
        create_connectors_for_policy(policy, policy.config)
    raw = getattr(policy.observation_space, "original_space", policy.observation_space)

    def columns_of(number: int, at: int) -> dict[str, Any]:
        views = policy.view_requirements
        rows = ROWS + number % 3
        rng = np.random.default_rng(1000 * number + at)
        found: dict[str, Any] = {}
        for name, view in views.items():
            if not view.used_for_compute_actions:
                continue
            if name == "obs":
                seen = drawn(policy.observation_space, rows, 1000 * number + at)
                found[name] = batch(seen)
            elif name.startswith("state_in_"):
                place = int(name.rpartition("_")[2])
                state = policy.get_initial_state()[place]
                shape = (
                    state.shape
                    if view.shift_from is None
                    else (view.shift_to - view.shift_from + 1, *state.shape)
                )
                found[name] = rng.standard_normal((rows, *shape)).astype(np.float32)
            elif name == "prev_actions":
                taken = drawn(policy.action_space, rows, 1000 * number + at)
                found[name] = batch(taken)
            elif name == "prev_rewards":
                found[name] = rng.standard_normal(rows).astype(np.float32)
        return found

    def simple() -> bool:
        return all(
            view.shift_from is None
            for name, view in policy.view_requirements.items()
            if view.used_for_compute_actions and not name.startswith("state_in_")
        )

    if simple():
        batches: dict[tuple[int, int], Any] = {}

        def batch_at(number: int, at: int) -> Any:
            key = number, at
            if key not in batches:
                batches[key] = columns_of(number, at)
            return batches[key]

        def columns(number: int, name: Any) -> list[Any]:
            return [
                policy.compute_actions_from_input_dict(batch_at(number, at), explore=False)
                for at in range(STEPS)
            ]

        def values(number: int, name: Any) -> list[Any]:
            return [policy.value(batch_at(number, at)) for at in range(STEPS)]

        yield "policy.compute_actions_from_input_dict", columns
        try:
            values(0, "")
        except Exception:
            pass
        else:
            yield "policy.value", values

    seen = {number: drawn(raw, STEPS * ROWS, number) for number in range(64)}

    def local(number: int, name: Any) -> list[Any]:
        answers = []
        for at in range(STEPS):
            rest = {} if at == 0 else {"reward": 0.25 * at, "terminated": False, "truncated": False}
            answers += local_policy_inference(
                policy, name, "a", seen[number][at], **rest, explore=False
            )
        policy.reset_connectors(name)
        return answers

    def several(number: int, name: Any) -> list[Any]:
        answers = []
        envs = [f"{name}/{row}" for row in range(ROWS)]
        for at in range(STEPS):
            rows = seen[number][at * ROWS : (at + 1) * ROWS]
            rest: dict[str, Any] = {}
            if at:
                rest = {"rewards": [0.25 * at] * ROWS}
            answers += batch_policy_inference(
                policy, envs, ["a"] * ROWS, rows, **rest, explore=False
            )
        for env in envs:
            policy.reset_connectors(env)
        return answers

    yield "local_policy_inference", local
    yield "batch_policy_inference", several


def actor_plays(actor: Actor, label: str, agents: Sequence[Any] | None = None) -> Iterator[Any]:
    """An actor with sessions: of one row, and of several."""
    if actor.only is None:
        yield label, _several_players(actor)
        return
    space = actor.observation_space
    seen = {number: drawn(space, STEPS * ROWS, number) for number in range(64)}

    def one(number: int, name: Any) -> list[Any]:
        answers = []
        for at in range(STEPS):
            answers.append(actor.act(seen[number][at], env_ids=name, reward=0.25 * at))
        actor.reset([name])
        return answers

    def rows(number: int, name: Any) -> list[Any]:
        count = ROWS + number % 3
        envs = [f"{name}/{row}" for row in range(count)]
        answers = []
        for at in range(STEPS):
            obs = batch([seen[number][(at * ROWS + row) % (STEPS * ROWS)] for row in range(count)])
            answers.append(actor.act(obs, env_ids=envs, reward=np.full(count, 0.25 * at)))
        actor.reset(envs)
        return answers

    yield f"{label}.act one", one
    yield f"{label}.act rows", rows


def _several_players(actor: Actor) -> Play:
    agents = list(actor.players)
    seen = {
        (number, agent): drawn(actor.players[agent].observation_space, STEPS, number)
        for number in range(64)
        for agent in agents
    }

    def play(number: int, name: Any) -> list[Any]:
        answers = []
        for at in range(STEPS):
            obs = {agent: seen[number, agent][at] for agent in agents}
            reward = {agent: 0.25 * at for agent in agents}
            answers.append(actor.act(obs, env_ids=name, reward=reward))
        actor.reset([name])
        return answers

    return play


def module_plays(module: Any, label: str) -> Iterator[tuple[str, Play]]:
    """An RLModule's forward passes."""
    space = module.observation_space
    state = module.get_initial_state() if module.is_stateful() else None
    batches: dict[tuple[int, int], Any] = {}

    def batch_at(number: int, at: int) -> Any:
        key = number, at
        if key not in batches:
            rows = ROWS + number % 3
            obs = batch(drawn(space, rows, 1000 * number + at))
            obs = nest.map_structure(torch.as_tensor, obs)
            made: dict[str, Any] = {"obs": obs}
            if state is not None:
                made["obs"] = nest.map_structure(lambda leaf: leaf[:, None], obs)
                made["state_in"] = nest.map_structure(
                    lambda leaf: (
                        torch.as_tensor(leaf)[None].repeat_interleave(rows, 0) * (1 + 0.1 * number)
                    ),
                    state,
                )
            batches[key] = made
        return batches[key]

    for way in ("forward_inference", "forward_train"):

        def forward(number: int, name: Any, way: str = way) -> list[Any]:
            with torch.no_grad():
                return [dict(getattr(module, way)(batch_at(number, at))) for at in range(STEPS)]

        try:
            forward(0, "")
        except Exception:
            continue
        yield f"{label}.{way}", forward


def triple_plays(triple: Any, label: str) -> Iterator[tuple[str, Play]]:
    """Pipelines of the new stack around a module, each thread with episodes of its own."""
    to_module, module, to_env = triple[:3]
    space = to_module.input_observation_space
    action_space = to_env.input_action_space or to_module.input_action_space
    if space is None:
        return
    seen = {number: drawn(space, (STEPS + 1) * ROWS, number) for number in range(64)}

    def play(number: int, name: Any) -> list[Any]:
        episodes = []
        for row in range(ROWS):
            episode = SingleAgentEpisode(
                id_=f"{name}/{row}", observation_space=space, action_space=action_space
            )
            episode.add_env_reset(observation=seen[number][row])
            episodes.append(episode)
        answers = []
        for at in range(STEPS):
            shared: dict[str, Any] = {}
            common = {"rl_module": module, "episodes": episodes, "explore": False}
            given = to_module(batch={}, shared_data=shared, **common)
            with torch.no_grad():
                found = module.forward_inference(given)
            made = to_env(batch=found, shared_data=shared, **common)
            answers.append(dict(made))
            for row, episode in enumerate(episodes):
                extra = {
                    key: column[row]
                    for key, column in made.items()
                    if key not in ("actions", "actions_for_env")
                }
                episode.add_env_step(
                    observation=seen[number][(at + 1) * ROWS + row],
                    action=made["actions"][row],
                    reward=0.25,
                    extra_model_outputs=extra,
                )
        return answers

    yield label, play
